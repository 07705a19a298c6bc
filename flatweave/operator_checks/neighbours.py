"""The few elements on which an operator is tried: the first ones, and some from the middle and the
end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from flatweave.array_ir import operators
from flatweave.operator_checks.lazy_arrays import Array, Unknown, read, row_of, unraveled
from flatweave.operator_checks.lazy_interp import LazyInterp
from flatweave.ops import Permute
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.syntax import ArrayType, Atom, Lambda

FIRST, MORE = 64, 16  # elements from the start, and from the middle and the end
FEW = 8  # where those take long, or there are fewer
SHARE = 2  # of the lets that are left, one in so many may go into the elements
ROWS = 3  # elements of which each is an array; rows of a map, turns of a loop
WRITES = 64


class Neighbours(LazyInterp):
    """Finds the elements for each operator."""

    def neighbours(
        self, fn: Lambda, arrays: Sequence[Array], flags: Sequence[Array]
    ) -> tuple[Values, Value]:
        """A few elements, and where one of them has no neighbour before it."""
        shape = arrays[0].shape
        if any(isinstance(param.type, ArrayType) for param in fn.params):
            return self._few_rows(arrays, flags)
        size = arrays[0].size
        for at in _positions(size):
            indices = unraveled(shape, at)
            with suppress(Unknown), self.within(SHARE):
                columns = tuple(read(x, indices) for x in arrays)
                begins = np.diff(at, prepend=-2) != 1
                for flag in flags:
                    begins |= read(flag, indices if flag.ndim == len(shape) else [at])
                return columns, begins
        raise Unknown

    def after_initial(
        self, env: Env, initial: Sequence[Atom], columns: Values, begins: Value
    ) -> tuple[Values, Value]:
        """The elements with the initial one before them, where it is known."""
        try:
            first = tuple(map(self._whole, self.atoms(env, initial)))
        except Unknown:
            return columns, begins
        pairs = list(zip(first, columns, strict=True))
        if not begins.size or any(f.shape != x.shape[1:] for f, x in pairs):
            return columns, begins
        joined = tuple(np.concatenate([f[None], x]) for f, x in pairs)
        return joined, np.concatenate([[True, False], begins[1:]])

    def _few_rows(
        self, arrays: Sequence[Array], flags: Sequence[Array]
    ) -> tuple[Values, Value]:
        """The first elements, of which some are arrays."""
        count = ROWS if arrays[0].shape[0] is None else min(ROWS, arrays[0].shape[0])
        rows = [[self._whole(row_of(x, i)) for i in range(count)] for x in arrays]
        begins = np.arange(count) == 0
        for flag in flags:
            begins |= read(flag, [np.arange(count)])
        return tuple(np.stack(row) for row in rows if row), begins

    def try_writes(self, env: Env, op: Permute) -> bool:
        """Try what meets at one index: what is there, then what is written, in order."""
        targets, values = self._arrays(env, op.dest), self._arrays(env, op.xs)
        (indices,) = self._arrays(env, (op.indices,))
        extent, count = targets[0].shape[0], indices.shape[0]
        if extent is None:
            raise Unknown
        at = np.arange(WRITES if count is None else min(count, WRITES))
        index = read(indices, [at])
        inside = (index >= 0) & (index < extent)
        if not inside.any():
            return False
        # the elements that are written to, renumbered
        places, index = np.unique(index[inside], return_inverse=True)
        there = tuple(read(x, [places]) for x in targets)
        columns, begins = operators.met(there, index, tuple(read(x, [at[inside]]) for x in values))
        if op.neutral:
            self.is_neutral(env, op.fn, self.atoms(env, op.neutral), columns)
        return self.associates(env, op.fn, columns, begins, commutes=True)


def _positions(size: int | None) -> Iterator[Value]:
    """Where elements are read, until that is known of all of them."""
    if size is None or size > FIRST + 2 * MORE:
        first = np.arange(FIRST)
        if size is not None:
            yield np.concatenate(
                [first, np.arange(size // 2, size // 2 + MORE), np.arange(size - MORE, size)]
            )
        yield first
    elif size > FEW:
        yield np.arange(size)
    for count in (FEW, 3):
        if size is None or count < size:
            yield np.arange(count)
    if size is not None:
        yield np.arange(max(size - FEW, 0), size)
