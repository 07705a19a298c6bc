"""Scans down arrays of a few columns: as flat scans whose elements are rows.

    m is 1   reshape [n, m] (scan op ne (reshape [n] xs))
    m is 2   weave [n, m] (scan (a b c d => op a c, op b d) ne ne xs[.., 0] xs[.., 1])

Lanes along so short a row would be idle, most of them. How many columns an argument has is known
when the program runs: a branch for each number, whose kernels are made when a run first needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.frontend.arrays.small_rows import rows_of
from flatweave.frontend.elements.branches import branch
from flatweave.frontend.elements.broadcast import generated, read, read_stretched
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Generate, Map, Scan
from flatweave.terms.build import index
from flatweave.terms.syntax import Const, Lambda

MOST = 4
"""So many columns are one element, as many as lanes read and write at once where they stand in
turn (`InTurn`), and so many values at most."""
Scanned = Callable[[], list[Tracer]]


def narrow_or(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], exclusive: bool, reverse: bool,
    wide: Callable[[list[Tracer]], list[Tracer]],
) -> list[Tracer]:  # fmt: skip
    """The scan of the rows of arrays of rank 2 by an operator on numbers; `wide` for many columns.

    In element functions, loops and branches of the user's it is always `wide`, as in a program that
    is to be divided.
    """
    if current().outer or current().trace.in_chunks or any(x.ndim != 2 for x in arrays):
        return wide(list(arrays))
    most = MOST // len(arrays)
    columns = arrays[0].extents[1]

    def from_(count: int) -> list[Tracer]:
        """The branches for so many columns and for more."""
        if count > most:
            return wide([_again(x) for x in arrays])
        is_so_many = tracer_of(current().apply("eq", columns, index(count)))
        return _either(
            is_so_many, lambda: _scan(fn, start, arrays, exclusive, reverse, count),
            lambda: from_(count + 1),
        )  # fmt: skip

    if not isinstance(columns, Const):
        return from_(1) if most else wide(list(arrays))
    if 1 <= columns.value <= most:
        return _scan(fn, start, arrays, exclusive, reverse, int(columns.value))
    return wide(list(arrays))


def _either(condition: Tracer, then: Scanned, other: Scanned) -> list[Tracer]:
    found: list[Tracer] = list(branch(condition, lambda: tuple(then()), lambda: tuple(other())))
    return found


def _scan(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], exclusive: bool, reverse: bool,
    columns: int,
) -> list[Tracer]:  # fmt: skip
    """The scan where so many columns are known to be there."""
    length, rows = arrays[0].extents[0], [_again(x) for x in arrays]
    places = [index(c) for c in range(columns)]
    elements = generated((length,), lambda i: [read(x, (i, c)) for c in places for x in rows])
    neutral = [read_stretched(e, (c,)).atom for c in places for e in start]
    atoms = tuple(x.atom for x in elements)
    of_row = _each_column(fn, len(arrays), columns)
    results = emit(Scan(of_row, tuple(neutral), atoms, exclusive, reverse))
    return [rows_of(results[part :: len(arrays)], x) for part, x in enumerate(arrays)]


def _again(array: Tracer) -> Tracer:
    """An array that is computed by elements, once more: in this branch, not in front of it."""
    made = current().builder.definition(array.atom)
    return emit(made)[0] if isinstance(made, Generate | Map) else array


def _each_column(fn: Lambda, parts: int, columns: int) -> Lambda:
    """The operator on rows: `fn` for each column."""
    types = [param.type for param in fn.params[:parts]] * columns

    def combine(*both: Tracer) -> list[Tracer]:
        results: list[Tracer] = []
        for k in range(0, len(types), parts):
            args = [*both[k : k + parts], *both[len(types) + k : len(types) + k + parts]]
            copy = current().builder.copy(fn)
            made = current().builder.inline(copy, [x.atom for x in args])
            results += [tracer_of(atom) for atom in made]
        return results

    return combine_lambda(combine, types)
