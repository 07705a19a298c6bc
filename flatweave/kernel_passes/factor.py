"""How many elements a thread takes where it is left to the machine: `fk.sequential()`.

    lanes are threads   4, which Marslev and Grønborg found best; more where a block has too few
                        threads for so many elements, fewer where 64 of them would not have work,
                        or where a thread's elements do not fit its registers
    a CPU               so many that threads fill some vector registers: all else is one by one

It is one number for a kernel, so that a thread finds in its registers what it left there.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import ForAll, ReduceAll, ScanAll
from flatweave.kernel_ir.syntax import Store
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.kernel_passes.registers import MOST_BYTES
from flatweave.terms.syntax import BufferType, Const, Lambda, Let
from flatweave.terms.traverse import map_field, walk_lets

CHOSEN = 0
"""What `each` is where it is left open."""
USUAL = 4
LEAST_THREADS = 64
REGISTERS = 4
"""Of a CPU that the threads of a step fill: additions that do not wait for each other."""


def with_factor(body: Lambda, shape: BlockShape) -> Lambda:
    """Code of a block in which each operation says how many elements its threads take."""
    work = [(count, size) for let in walk_lets(body) for count, size in _open(let)]
    if not work:
        return body
    counts, sizes = zip(*work, strict=True)
    return _with(body, factor(max(counts), max(sizes), shape))


def factor(count: int, size: int, shape: BlockShape) -> int:
    """Elements for each thread, of so many of so many bytes; 0 elements are any number."""
    if not shape.simt:
        vector = 8 * shape.width if shape.registers is None else shape.registers.size
        threads = max(1, REGISTERS * vector // size)
        return max(1, -(-count // threads))
    few = -(-count // (shape.warps * shape.width))
    q = USUAL
    while q > 1 and (0 < count < q * LEAST_THREADS or q * size > MOST_BYTES):
        q //= 2
    return max(q, few)


def _open(let: Let) -> Iterator[tuple[int, int]]:
    """How many elements an operation has that leaves it open, and the bytes of one."""
    op = let.op
    if not isinstance(op, ForAll | ReduceAll | ScanAll) or op.each != CHOSEN:
        return
    if isinstance(op, ForAll):
        known = int(op.count.value) if isinstance(op.count, Const) else 0
        stored = [
            inner.op.buffer.type for inner in walk_lets(op.body) if isinstance(inner.op, Store)
        ]
        yield known, max([t.dtype.bytes for t in stored if isinstance(t, BufferType)], default=4)
    else:
        types = [atom.type for atom in op.neutral]
        yield op.count, sum(type_.bytes for type_ in types if isinstance(type_, DType))


def _with(body: Lambda, q: int) -> Lambda:
    lets = []
    for let in body.lets:
        op = map_field(let.op, lambda atom: atom, lambda fn: _with(fn, q))
        if isinstance(op, ForAll | ReduceAll | ScanAll) and op.each == CHOSEN:
            op = op.replace(each=q)
        lets.append(replace(let, op=op))
    return replace(body, lets=tuple(lets))
