"""The state of a loop in every row: one slot for each of its scalars and arrays.

A slot represents several atoms of the host's loop: flat values for the rows that are left, and
results for all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.ops import Concat, Reshape, Scatter
from flatweave.passes.nests.rows import Flat, Rows
from flatweave.passes.nests.segments import Uneven, array_of, at, each, from_lengths, from_offsets
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import ArrayType, Atom, Var, array_type, constant
from flatweave.terms.traverse import Substitution


class Slot:
    """One scalar or array of the state."""

    result_width: int = 1

    def entered(self, rows: Rows, value: Atom) -> list[Atom]:
        """Its atoms for rows whose functions give `value`."""
        raise NotImplementedError

    def bind(self, b: Builder, count: Atom) -> list[Var]:
        """Parameters of the loop for `count` rows that are left."""
        raise NotImplementedError

    def read(
        self, b: Builder, group: Sequence[Atom], k: Atom, before: Sequence[Atom],
        renaming: Substitution,
    ) -> Atom:  # fmt: skip
        """The state of the row at position `k`; `before` are the slots before this one."""
        raise NotImplementedError

    def results_before(self, b: Builder, count: Atom) -> list[Atom]:
        """The results of all rows before the first iteration: zeros, or arrays without values."""
        raise NotImplementedError

    def bind_results(self, b: Builder, count: Atom) -> list[Var]:
        """Parameters of the loop for the results of rows."""
        raise NotImplementedError

    def give(
        self, b: Builder, group: Sequence[Atom], result: Sequence[Atom], done: Atom, gone: Atom,
        numbers: Atom,
    ) -> list[Atom]:  # fmt: skip
        """The results, with those of the `done` rows at the positions `gone`."""
        raise NotImplementedError

    def left(self, rows: Rows, result: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        """The current row's value after its loop has ended, from the results of all rows."""
        raise NotImplementedError

    def kept(self, rows: Rows, group: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        """The current row's value, from its atoms for all rows."""
        raise NotImplementedError


def slots_of(rows: Rows, params: Sequence[Var]) -> list[Slot]:
    """The slots of a loop's state, by the parameters of its body."""
    own = {param: k for k, param in enumerate(params)}
    slots: list[Slot] = []
    for param in params:
        if isinstance(param.type, DType):
            slots.append(Scalar(param.type))
            continue
        type_ = array_type(param)
        if any(extent in own or rows.varies(extent) for extent in type_.shape):
            slots.append(Varying(type_.dtype, type_.shape, own))
        else:
            slots.append(Fixed(type_.dtype, type_.shape))
    return slots


@record(eq=True)
class Scalar(Slot):
    """A scalar: an array with one value for each row."""

    dtype: DType

    def entered(self, rows: Rows, value: Atom) -> list[Atom]:
        return rows.column([value])

    def bind(self, b: Builder, count: Atom) -> list[Var]:
        return [b.param("s", ArrayType(self.dtype, (count,)))]

    def read(
        self, b: Builder, group: Sequence[Atom], k: Atom, before: Sequence[Atom],
        renaming: Substitution,
    ) -> Atom:  # fmt: skip
        return at(b, group[0], k)

    def results_before(self, b: Builder, count: Atom) -> list[Atom]:
        return [each(b, count, lambda c, i: constant(0, self.dtype))]

    def bind_results(self, b: Builder, count: Atom) -> list[Var]:
        return self.bind(b, count)

    def give(
        self, b: Builder, group: Sequence[Atom], result: Sequence[Atom], done: Atom, gone: Atom,
        numbers: Atom,
    ) -> list[Atom]:  # fmt: skip
        places = each(b, done, lambda c, q: at(c, numbers, at(c, gone, q)))
        values = each(b, done, lambda c, q: at(c, group[0], at(c, gone, q)))
        return list(b.emit(Scatter((result[0],), places, (values,))))

    def left(self, rows: Rows, result: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        return rows.scalar(result[0])

    def kept(self, rows: Rows, group: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        return rows.scalar(group[0])


@record(eq=True)
class Fixed(Slot):
    """An array of one shape for all rows: an array with one more axis."""

    dtype: DType
    shape: tuple[Atom, ...]

    def entered(self, rows: Rows, value: Atom) -> list[Atom]:
        (flat,) = rows.flat([value])
        if len(rows.shape) == 1:
            return [flat.array]
        return list(rows.b.emit(Reshape(flat.array, (rows.count, *self.shape))))

    def bind(self, b: Builder, count: Atom) -> list[Var]:
        return [b.param("s", ArrayType(self.dtype, (count, *self.shape)))]

    def read(
        self, b: Builder, group: Sequence[Atom], k: Atom, before: Sequence[Atom],
        renaming: Substitution,
    ) -> Atom:  # fmt: skip
        return array_of(b, self.shape, lambda c, place: at(c, group[0], k, *place), hint="row")

    def _flat(self, b: Builder, count: Atom) -> Atom:
        return b.mul(count, b.product(self.shape))

    def results_before(self, b: Builder, count: Atom) -> list[Atom]:
        return [each(b, self._flat(b, count), lambda c, i: constant(0, self.dtype))]

    def bind_results(self, b: Builder, count: Atom) -> list[Var]:
        return [b.param("s", ArrayType(self.dtype, (self._flat(b, count),)))]

    def give(
        self, b: Builder, group: Sequence[Atom], result: Sequence[Atom], done: Atom, gone: Atom,
        numbers: Atom,
    ) -> list[Atom]:  # fmt: skip
        size = b.product(self.shape)
        total = b.mul(done, size)

        def place(c: Builder, p: Atom) -> Atom:
            q, j = c.unravel(p, (done, size))
            return c.add(c.mul(at(c, numbers, at(c, gone, q)), size), j)

        def value(c: Builder, p: Atom) -> Atom:
            q, *j = c.unravel(p, (done, *self.shape))
            return at(c, group[0], at(c, gone, q), *j)

        places, values = each(b, total, place), each(b, total, value)
        return list(b.emit(Scatter((result[0],), places, (values,))))

    def left(self, rows: Rows, result: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        segments = rows.segments(self.shape)
        return rows.bind_line(segments, result[0], self.shape)

    def kept(self, rows: Rows, group: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        (whole,) = rows.b.emit(Reshape(group[0], (*rows.shape, *self.shape)))
        return rows.bind(Flat(whole), self.shape)


@record(eq=True)
class Varying(Slot):
    """An array whose extents differ between rows or iterations: rows in a flat array.

    Its extents are slots before it, or scalars of the row; `own` numbers the state's parameters.
    """

    dtype: DType
    shape: tuple[Atom, ...]
    own: dict[Var, int]
    result_width: int = 3

    def entered(self, rows: Rows, value: Atom) -> list[Atom]:
        segments, (line,) = rows.line([value])
        offsets = segments.offsets_in(rows.b)
        return [rows.b.add(rows.count, index(1)), offsets, segments.total, line]

    def bind(self, b: Builder, count: Atom) -> list[Var]:
        entries, total = b.param("n", i64), b.param("n", i64)
        offsets = b.param("offsets", ArrayType(i64, (entries,)))
        values = b.param("s", ArrayType(self.dtype, (total,)))
        return [entries, offsets, total, values]

    def _extents(self, before: Sequence[Atom], renaming: Substitution) -> list[Atom]:
        return [
            before[self.own[e]] if isinstance(e, Var) and e in self.own else renaming.atom(e)
            for e in self.shape
        ]

    def read(
        self, b: Builder, group: Sequence[Atom], k: Atom, before: Sequence[Atom],
        renaming: Substitution,
    ) -> Atom:  # fmt: skip
        _, offsets, total, values = group
        return _row_from(b, values, at(b, offsets, k), self._extents(before, renaming))

    def results_before(self, b: Builder, count: Atom) -> list[Atom]:
        begins = each(b, count, lambda c, i: index(0))
        return [index(0), each(b, index(0), lambda c, i: constant(0, self.dtype)), begins]

    def bind_results(self, b: Builder, count: Atom) -> list[Var]:
        total = b.param("n", i64)
        values = b.param("s", ArrayType(self.dtype, (total,)))
        return [total, values, b.param("begins", ArrayType(i64, (count,)))]

    def give(
        self, b: Builder, group: Sequence[Atom], result: Sequence[Atom], done: Atom, gone: Atom,
        numbers: Atom,
    ) -> list[Atom]:  # fmt: skip
        _, offsets, _, values = group
        before, given, begins = result

        def length(c: Builder, q: Atom) -> Atom:
            k = at(c, gone, q)
            return c.sub(at(c, offsets, c.add(k, index(1))), at(c, offsets, k))

        cut: Uneven = from_lengths(b, done, each(b, done, length))

        def value(c: Builder, p: Atom) -> Atom:
            q, start = cut.locate(c, p)
            begin = at(c, offsets, at(c, gone, q))
            return at(c, values, c.add(begin, c.sub(p, start)))

        more = each(b, cut.total, value)
        total = b.add(before, cut.total)
        (all_values,) = b.emit(Concat(total, (given, more)))
        places = each(b, done, lambda c, q: at(c, numbers, at(c, gone, q)))
        starts = each(b, done, lambda c, q: c.add(before, at(c, cut.offsets, q)))
        (all_begins,) = b.emit(Scatter((begins,), places, (starts,)))
        return [total, all_values, all_begins]

    def left(self, rows: Rows, result: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        _, values, begins = result
        extents = self._extents(before, Substitution())
        return _row_from(rows.body, values, rows.scalar(begins), extents)

    def kept(self, rows: Rows, group: Sequence[Atom], before: Sequence[Atom]) -> Atom:
        _, offsets, _, values = group
        extents = self._extents(before, Substitution())
        segments = from_offsets(rows.b, rows.count, offsets)
        if len(extents) == 1:
            rows.know(extents, segments)
        return rows.bind(Flat(values, segments), extents)


def _row_from(b: Builder, values: Atom, begin: Atom, shape: Sequence[Atom]) -> Atom:
    """An array of some shape out of a flat one, from where it begins."""
    return array_of(
        b, shape, lambda c, place: at(c, values, c.add(begin, c.ravel(place, shape))), hint="row"
    )
