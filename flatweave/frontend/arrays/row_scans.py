"""Scans over arrays of short rows: of a few columns, or of small matrices by any operator.

    m is 1   reshape [n, m] (scan op ne (reshape [n] xs))
    m is 2   weave [n, m] (scan (a b c d => op a c, op b d) ne ne xs[.., 0] xs[.., 1])
    scan op ne (xs: f64[n, 1, 2])     weave [n, 1, 2] (scan (a b, c d => ..) .. xs[.., 0, 0] ..)

Lanes along so short a row would be idle, most of them. How many columns an argument has is known
when the program runs: a branch for each number, whose kernels are made when a run first needs them.

An operator of the user's on arrays reads each number at an index that is known, so that nothing but
scalar work is left of it: small matrices stay in registers.

Scans down the columns of an array, by blocks of a few rows.

    totals[b, j]  = xs[8 b, j] + .. + xs[8 b + 7, j]          each block of rows
    before[b, j]  = totals[0, j] + .. + totals[b, j]          the same, of an eighth of the rows
    result[i, j]  = before[i // 8 - 1, j] + xs[i // 8 * 8, j] + .. + xs[i, j]

Every read is one of neighbours along the last axis, and all of it is element by element. A row is
read some five times, most of them from caches; going down one column after the other would read a
line of memory for each element. After three times there are 512 times fewer rows: these go that
way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from flatweave.base.dtypes import i64
from flatweave.frontend.arrays.shapes import transposed
from flatweave.frontend.elements.bodies import branch
from flatweave.frontend.elements.broadcasting import generated, read, read_stretched
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Generate, Map, Reduce, Reshape, Scan, Weave
from flatweave.terms.build import index
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Type, constant

MOST_NUMBERS = 16
"""Numbers of an element: those of two elements and their product have room in registers."""


def scan_small_rows(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], exclusive: bool, reverse: bool
) -> list[Tracer] | None:
    """The scan, where the extents of rows are known and small; not in an element function."""
    shapes = [_known(result) for result in fn.results]
    parts = [_places(shape) for shape in shapes if shape is not None]
    if current().outer or len(parts) < len(shapes) or not 0 < sum(map(len, parts)) <= MOST_NUMBERS:
        return None
    length = arrays[0].extents[0]
    pairs = list(zip(parts, arrays, start, strict=True))
    elements = generated(
        (length,), lambda i: [read(x, (i, *at)) for places, x, _ in pairs for at in places]
    )
    neutral = [read_stretched(e, at).atom for places, _, e in pairs for at in places]
    operator = _on_numbers(fn, [s for s in shapes if s is not None], parts)
    atoms = tuple(x.atom for x in elements)
    results = list(emit(Scan(operator, tuple(neutral), atoms, exclusive, reverse)))
    return [rows_of(_take(results, len(places)), x) for places, x, _ in pairs]


def _known(atom: Atom) -> tuple[int, ...] | None:
    """The extents of a part of an element, if they are known; none for a number."""
    shape = atom.type.shape if isinstance(atom.type, ArrayType) else ()
    known = [_constant(extent) for extent in shape]
    return None if None in known else tuple(extent for extent in known if extent is not None)


def _constant(extent: Atom) -> int | None:
    """An extent that is a constant, or was found to be one by a check."""
    if isinstance(extent, Const):
        return int(extent.value)
    for scope in current().around():
        for condition in scope.checked:
            test = scope.builder.definition(condition)
            if isinstance(test, Apply) and test.fn == "eq" and extent in test.args:
                (other,) = (arg for arg in test.args if arg != extent)
                if isinstance(other, Const):
                    return int(other.value)
    return None


def _places(shape: Sequence[int]) -> list[tuple[Atom, ...]]:
    """All indices of a row, in row-major order."""
    if prod(shape) > MOST_NUMBERS:
        return [()] * (MOST_NUMBERS + 1)  # too many, whatever they are
    return [tuple(map(index, at)) for at in product(*map(range, shape))]


def _take(values: list[Tracer], count: int) -> list[Tracer]:
    taken = values[:count]
    del values[:count]
    return taken


def rows_of(values: Sequence[Tracer], array: Tracer) -> Tracer:
    """The numbers of all elements, an array for each, as rows like those of `array`."""
    if array.ndim == 1:
        return values[0]
    if len(values) == 1:
        return emit(Reshape(values[0].atom, tuple(array.extents)))[0]
    return emit(Weave(tuple(array.extents), tuple(value.atom for value in values)))[0]


def _on_numbers(
    fn: Lambda, shapes: Sequence[tuple[int, ...]], parts: Sequence[Sequence[tuple[Atom, ...]]]
) -> Lambda:
    """The operator on the numbers of two elements."""
    types = [_dtype(result) for result, places in zip(fn.results, parts, strict=True)
             for _ in places]  # fmt: skip

    def combine(*both: Tracer) -> list[Tracer]:
        numbers = list(both)
        args = [
            _row(_take(numbers, len(places)), shape).atom
            for _ in range(2) for shape, places in zip(shapes, parts, strict=True)
        ]  # fmt: skip
        made = current().builder.inline(current().builder.copy(fn), args)
        return [
            read(tracer_of(row), at)
            for row, places in zip(made, parts, strict=True) for at in places
        ]  # fmt: skip

    return combine_lambda(combine, types)


def _dtype(atom: Atom) -> Type:
    return atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type


def _row(numbers: Sequence[Tracer], shape: Sequence[int]) -> Tracer:
    """An array of numbers in row-major order."""
    if not shape:
        return numbers[0]

    def chosen(*at: Atom) -> Tracer:
        place: Atom = index(0)
        for i, extent in zip(at, shape, strict=True):
            scope = current()
            place = scope.apply("add", scope.apply("mul", place, index(extent)), i)
        value = numbers[-1].atom
        for number, other in enumerate(numbers[:-1]):
            here = current().apply("eq", place, index(number))
            value = current().apply("select", here, other.atom, value)
        return tracer_of(value)

    return generated([index(extent) for extent in shape], chosen)[0]


MOST_COLUMNS = 4
"""The maximum number of columns that form one element: as many as lanes read and write at once
with interleaved stores (`InTurn`)."""
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
    most = MOST_COLUMNS // len(arrays)
    columns = arrays[0].extents[1]

    def from_(count: int) -> list[Tracer]:
        """The branches for this number of columns and for more."""
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
    return list(branch(condition, lambda: tuple(then()), lambda: tuple(other())))


def _scan(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], exclusive: bool, reverse: bool,
    columns: int,
) -> list[Tracer]:  # fmt: skip
    """The scan for a known number of columns."""
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


ROWS = 8
"""Of a block. Down 2^17 x 1024 f32 with AVX-512 on two threads, ms: 75 with 8 rows and 3 levels, 85
with 4 and 4, 91 with 6 and 3, 87 with 16 and 2; around the caches once in and once out takes 19."""
LEVELS = 3
SIZE, MORE = constant(ROWS, i64), constant(ROWS - 1, i64)


def scan_along(
    fn: Lambda, identity: Sequence[Atom], arrays: Sequence[Tracer], axis: int
) -> list[Tracer]:
    """Every prefix along an axis.

    By blocks where totals are stored: in an element function they would be computed where they are
    read, again and again.
    """
    if axis == arrays[0].ndim - 1:
        return scan_last_axis(fn, identity, arrays, False, False)
    levels = levels_here()
    if axis:
        return down(fn, identity, arrays, axis, levels)
    start = [tracer_of(value) for value in identity]
    return narrow_or(
        fn, start, arrays, False, False, lambda rows: down(fn, identity, rows, 0, levels)
    )


def levels_here() -> int:
    """How often totals of blocks are scanned by blocks: not in an element function, nor in a
    program that is to be divided, whose chunks do so (`cluster/rules.py`)."""
    return 0 if current().outer or current().trace.in_chunks else LEVELS


def down(
    fn: Lambda, identity: Sequence[Atom], arrays: Sequence[Tracer], axis: int, levels: int
) -> list[Tracer]:
    """By blocks, their totals by blocks of these, and so on."""
    if levels:
        blocks = _Blocks(fn, identity, arrays, axis)
        return blocks.results(down(fn, identity, blocks.totals(), axis, levels - 1))
    order = [a for a in range(arrays[0].ndim) if a != axis] + [axis]
    turned = [transposed(x, order) for x in arrays]
    results = scan_last_axis(fn, identity, turned, False, False)
    return [transposed(x, [order.index(a) for a in range(len(order))]) for x in results]


class _Blocks:
    """Arrays whose rows along an axis are taken `ROWS` at a time."""

    def __init__(
        self, fn: Lambda, identity: Sequence[Atom], arrays: Sequence[Tracer], axis: int
    ) -> None:
        self.fn = fn
        self.identity = tuple(identity)
        self.arrays = arrays
        self.axis = axis

    def totals(self) -> list[Tracer]:
        """Each block combined."""
        shape, length = list(self.arrays[0].extents), self.arrays[0].extents[self.axis]
        blocks = extents.known_extent(extents.floordiv(extents.add(length, MORE), SIZE))
        shape[self.axis] = blocks

        def total(*at: Atom) -> list[Tracer]:
            first = extents.mul(at[self.axis], SIZE)
            return self._combined(at, first, extents.least(SIZE, extents.sub(length, first)))

        return generated(shape, total)

    def results(self, before: Sequence[Tracer]) -> list[Tracer]:
        """Every prefix, given what all blocks up to each one combine to."""

        def result(*at: Atom) -> list[Tracer]:
            block = extents.floordiv(at[self.axis], SIZE)
            first = extents.mul(block, SIZE)
            mine = self._combined(at, first, extents.add(extents.sub(at[self.axis], first), ONE))
            place = extents.greatest(extents.sub(block, ONE), ZERO)
            there = current().apply("gt", block, ZERO)
            known = [
                current().apply("select", there, read(x, self._at(at, place)).atom, e)
                for x, e in zip(before, self.identity, strict=True)
            ]
            copy = current().builder.copy(self.fn)
            joined = current().builder.inline(copy, [*known, *(x.atom for x in mine)])
            return [tracer_of(atom) for atom in joined]

        return generated(self.arrays[0].extents, result)

    def _combined(self, at: Sequence[Atom], first: Atom, count: Atom) -> list[Tracer]:
        """So many rows of a column, from the first on."""
        extents.known_extent(count)
        column = generated(
            (count,), lambda k: [read(x, self._at(at, extents.add(first, k))) for x in self.arrays]
        )
        copy = current().builder.copy(self.fn)
        return emit(Reduce(copy, self.identity, tuple(x.atom for x in column)))

    def _at(self, at: Sequence[Atom], row: Atom) -> list[Atom]:
        return [row if axis == self.axis else i for axis, i in enumerate(at)]


def scan_last_axis(
    fn: Lambda, start: Sequence[Atom], arrays: Sequence[Tracer], exclusive: bool, reverse: bool
) -> list[Tracer]:
    """A segmented scan along the last axis: in row-major order, restarted in every row."""
    shape = arrays[0].extents
    starts: tuple[Atom, ...] = ()
    if len(shape) > 1:
        first = extents.sub(shape[-1], extents.ONE) if reverse else extents.ZERO
        flags = generated(shape, lambda *at: tracer_of(current().apply("eq", at[-1], first)))
        starts = (flags[0].atom,)
    atoms = tuple(x.atom for x in arrays)
    return emit(Scan(fn, tuple(start), atoms, exclusive, reverse, starts))
