"""Memory that threads use in chunks of q leaves a word out where all banks had one.

    lane        0   1   2   3   4   5
    element     0   8  16  24  32  40       q = 8, elements of a word
    bank        0   8  16  24   0   8       of 32: lanes 0 and 4 meet
    place       0   8  16  24  33  41       a word is left out after each 32
    its bank    0   8  16  24   1   9

Threads side by side use elements q apart, of which many are in one bank where q has a divisor in
common with the number of banks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import ReduceAll, ScanAll
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Load, Shared, Store
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, map_field, walk_lets

ROW_BYTES = 128
"""32 banks of 4 bytes; of elements of 8 bytes, half a warp takes them all."""
WORD_BYTES = 4


def _row(dtype: DType) -> int:
    """Elements that fill all banks once."""
    return ROW_BYTES // dtype.bytes


def _gap(dtype: DType) -> int:
    """Elements that are left out behind each row: a word of them."""
    return max(1, WORD_BYTES // dtype.bytes)


def is_padded(each: int, dtype: DType) -> bool:
    """Whether threads side by side that use elements so far apart would meet in banks."""
    return math.gcd(each, _row(dtype)) > _gap(dtype)


def place(b: Builder, i: Atom, dtype: DType) -> Atom:
    """Where element i of padded memory stands."""
    row = b.apply("shr", i, index(_row(dtype).bit_length() - 1))
    return b.add(i, b.mul(row, index(_gap(dtype))))


def room(count: int, dtype: DType) -> int:
    """Elements of padded memory for so many."""
    return count + (count - 1) // _row(dtype) * _gap(dtype)


def pad_memory(body: Lambda) -> Lambda:
    """Code of a block in which shared memory is padded that reductions and scans use in chunks."""
    wanted = {
        var: let.op.each
        for let in walk_lets(body)
        if isinstance(let.op, ReduceAll | ScanAll)
        for fn in (let.op.element, let.op.body)
        if not uses_grid(fn)
        for var in free_vars(fn)
    }
    padded = {
        let.vars[0] for let in walk_lets(body)
        if isinstance(let.op, Shared) and let.op.count > _row(let.op.dtype)
        and is_padded(wanted.get(let.vars[0], 1), let.op.dtype)
        and _is_indexed(body, let.vars[0])
    }  # fmt: skip
    return _Padder(padded).function(body) if padded else body


def uses_grid(fn: Lambda) -> bool:
    """Whether a function uses memory of the grid."""
    types = [var.type for var in free_vars(fn)]
    return any(isinstance(type_, BufferType) and type_.space == "global" for type_ in types)


def _is_indexed(body: Lambda, var: Var) -> bool:
    """Whether all uses of memory are of single elements."""
    return all(
        isinstance(let.op, Load | Store | Atomic)
        for let in walk_lets(body)
        if var in atoms_in(let.op)
    )


class _Padder:
    """Code with other places for the elements of some memory."""

    def __init__(self, padded: Collection[Var]) -> None:
        self.padded = padded

    def function(self, fn: Lambda) -> Lambda:
        """A body anew."""
        return replace(fn, lets=tuple(new for let in fn.lets for new in self._let(let)))

    def _let(self, let: Let) -> Iterator[Let]:
        op = let.op
        if let.vars and let.vars[0] in self.padded:
            assert isinstance(op, Shared)
            yield replace(let, op=op.replace(count=room(op.count, op.dtype)))
        elif isinstance(op, Load | Store | Atomic) and op.buffer in self.padded:
            b = Builder()
            at = place(b, op.index, dtype_in(op.buffer))
            yield from (replace(new, where=let.where) for new in b.lets)
            yield replace(let, op=op.replace(index=at))
        else:
            yield replace(let, op=map_field(op, lambda atom: atom, self.function))
