"""Threads of a block that take q elements each, with the meaning of threads that take one.

    for_all thread n (i => f) each=q    for_all thread n/q (t =>
                                            for 0 q 1 (j => i = t + j * n/q; f))
    reduce_all, scan_all each=q         tiles, chunks in registers, sums of chunks
                                        (`folds_in_chunks.py`)

The rules are those of efficient sequentialization (Marslev and Grønborg 2024), with two changes:
a map or scatter needs no tile, as its threads go on side by side; and what must be in order goes
through a tile of elements, whatever they are computed from. So a scatter to any positions stores
in warps what it stored before. Where q does not divide, the last elements of some threads are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import DType
from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, ForAll, ReduceAll, ScanAll, Values
from flatweave.kernel_ir.syntax import Kernel, Load, Store
from flatweave.kernel_passes.chunks import pad_memory, side_by_side
from flatweave.kernel_passes.distribute import BlockShape, Writer
from flatweave.kernel_passes.folds_in_chunks import Fold, write_reduction, write_scan
from flatweave.kernel_passes.registers import MOST_BYTES
from flatweave.terms.build import Builder, Names
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, map_field, walk_lets, with_bodies, with_lets

# -- How many elements a thread takes where the machine decides: `fk.sequential()` -----------------
#
#     lanes are threads   4, which Marslev and Grønborg found best; more where a block has too few
#                         threads for all elements, fewer where 64 threads would not have work, or
#                         where a thread's elements do not fit its registers
#     a CPU               enough that threads fill a few vector registers; a thread is sequential
#
# A kernel has one such number, so that a thread finds its earlier values in its registers.


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
    """Elements for each thread, of `count` of `size` bytes each; a count of 0 is unknown."""
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
        let = with_bodies(let, lambda fn: _with(fn, q))
        if isinstance(let.op, ForAll | ReduceAll | ScanAll) and let.op.each == CHOSEN:
            let = replace(let, op=let.op.replace(each=q))
        lets.append(let)
    return with_lets(body, lets)


def sequentialize(kernel: Kernel, names: Names, shape: BlockShape) -> Kernel:
    """A kernel in which it is said what each thread does; the machine's blocks have this shape."""
    if not any(_is_shared_work(let.op) for let in walk_lets(kernel.body)):
        return kernel
    b = Builder(names)
    body = with_factor(without_unused(kernel.body), shape)
    body = pad_memory(body)
    _Sequential(shape, b).body(b, body.lets)
    return replace(kernel, body=Lambda((), tuple(b.lets), ()))


def _is_shared_work(op: Op) -> bool:
    return isinstance(op, ReduceAll | ScanAll) or (isinstance(op, ForAll) and op.each != 1)


class _Sequential(Writer):
    """Emits code of a block in which it is said what each thread does."""

    def let(self, b: Builder, let: Let) -> None:
        """Emit a let: what threads share as what each of them does."""
        match let.op:
            case ForAll(level=level, each=each) if LEVELS[level] is THREAD and each > 1:
                self._for_all(b, let.op)
            case ReduceAll():
                write_reduction(b, self._fold(b, let.op), self.shape)
            case ScanAll():
                before = tuple(self.renaming.atom(atom) for atom in let.op.before)
                write_scan(b, replace(self._fold(b, let.op), before=before), self.shape)
            case op if op.name in ("if", "while", "for"):
                made = map_field(op, self.renaming.atom, lambda fn: self.function(b, fn))
                self.renaming.mapping.update(zip(let.vars, b.emit(made), strict=True))
            case _:
                b.inline_let(let, self.renaming)

    def _for_all(self, b: Builder, op: ForAll) -> None:
        count = self.renaming.atom(op.count)

        def unit(c: Builder, i: Atom) -> None:
            self._inline(c, op.body, i)

        side_by_side(b, count, op.each, unit)

    def _inline(self, b: Builder, fn: Lambda, *args: Atom) -> Values:
        return b.inline(fn, args, around=self.renaming)

    def _fold(self, b: Builder, op: ReduceAll | ScanAll) -> Fold:
        neutral = tuple(self.renaming.atom(atom) for atom in op.neutral)

        def combine(c: Builder, left: Values, right: Values) -> Values:
            return self._inline(c, op.fn, *left, *right)

        def element(c: Builder, i: Atom) -> Values:
            return self._inline(c, op.element, i)

        def put(c: Builder, i: Atom, values: Values) -> None:
            self._inline(c, op.body, i, *values)

        return Fold(op, Operator(combine, neutral), element, put)


# -- Unused loads and scalars are removed: those of unused components of tuples --------------------


def without_unused(fn: Lambda) -> Lambda:
    """A body, and the bodies in it, of which every load and scalar is read."""
    read: set[Var] = {atom for atom in fn.results if isinstance(atom, Var)}
    kept: list[Let] = []
    for let in reversed(fn.lets):
        if isinstance(let.op, Load | Apply | Cast) and not read.intersection(let.vars):
            continue
        kept.append(with_bodies(let, without_unused))
        read.update(free_vars(kept[-1].op))
    return with_lets(fn, kept[::-1])
