"""What a body adds to cotangents of variables from around it.

    generate [n, m] (i, j => .. xs[j, i] ..)      Sink(xs, dims=(1, 0), value: f64[n, m])
    generate [n] (i => .. xs[k[i]] ..)            Sink(xs, dims=(at: i64[n],), value: f64[n])
    generate [n] (i => .. xs[i + 3] ..)           Sink(xs, dims=(Along(0, 3),), value: f64[n])
    generate [n] (i => .. s ..)                   Sink(s, dims=(), value: f64[n])

A sink has for each axis of its target the axis of its values that it goes along, perhaps from some
index on or down from one, an index that is the same for all of them, or the index of each. Where no
index is computed the contributions are the values read the other way round, summed over the axes
that the target does not have. Else they are written by `permute add`.

A body of one element has sinks for that element; `carry` makes those for all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from flatweave.access import variables_in
from flatweave.access.analyse import scalar_values, write_sum
from flatweave.base.records import record, replace
from flatweave.gradients.values import (
    dtype_of,
    generate,
    owned,
    read,
    shape_of,
    total,
    zero_tangent,
)
from flatweave.ops import Permute, Reshape, Span
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import Atom, Var, constant

NOWHERE: Mapping[Atom, int] = {}


@record
class Along:
    """The indices `start + i`, or `start - i` going down, at index `i` along an axis."""

    axis: int
    start: Atom
    down: bool = False

    def index(self, b: Builder, i: Atom) -> Atom:
        """The index in the target."""
        return b.sub(self.start, i) if self.down else b.add(self.start, i)

    def back(self, b: Builder, at: Atom) -> Atom:
        """The index along the axis, given that in the target."""
        return b.sub(self.start, at) if self.down else b.sub(at, self.start)


Dim = int | Along | Atom


@record
class Sink:
    """Contributions to a variable: values, and where in it each goes."""

    target: Var
    dims: tuple[Dim, ...]
    value: Atom

    @property
    def batch(self) -> tuple[Atom, ...]:
        """The shape of the values."""
        return shape_of(self.value)


def whole(target: Var, value: Atom) -> Sink:
    """A contribution to all of a variable."""
    return Sink(target, tuple(range(len(shape_of(target)))), value)


def is_whole(sink: Sink) -> bool:
    """Whether it contributes a value of the target's shape."""
    return sink.dims == tuple(range(len(sink.batch))) and sink.batch == shape_of(sink.target)


def is_plain(sink: Sink) -> bool:
    """Whether no index is computed: each value is known by the index in the target."""
    axes = [_axis(dim) for dim in sink.dims if isinstance(dim, int | Along)]
    fixed = all(isinstance(dim, int | Along) or not shape_of(dim) for dim in sink.dims)
    return fixed and len(set(axes)) == len(axes)


def _axis(dim: Dim) -> int | None:
    """The axis that a dimension goes along."""
    return dim.axis if isinstance(dim, Along) else dim if isinstance(dim, int) else None


def gathered(b: Builder, sink: Sink) -> Atom:
    """The contributions as one value of the target's type."""
    if not sink.dims:
        return total(b, sink.value)
    if is_plain(sink):
        return _transposed(b, sink)
    return permuted(b, sink, zero_tangent(b, sink.target))


def _transposed(b: Builder, sink: Sink) -> Atom:
    """The values read at the indices in the target, summed over the other axes."""
    shape, batch = shape_of(sink.target), sink.batch
    used = {_axis(dim) for dim in sink.dims}
    rest = [axis for axis in range(len(batch)) if axis not in used]
    if not rest and sink.dims == tuple(range(len(shape))) and shape == batch:
        return sink.value
    dtype = dtype_of(sink.value.type)

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        guards: list[Atom] = []
        places: dict[int, Atom] = {}
        for i, extent, dim in zip(at, shape, sink.dims, strict=True):
            if isinstance(dim, Along):
                near = dim.back(inner, i)
                places[dim.axis] = near
                guards.append(inner.apply("ge", near, index(0)))
                guards.append(inner.apply("lt", near, batch[dim.axis]))
                continue
            if not isinstance(dim, int):
                guards += [] if extent == index(1) else [inner.apply("eq", i, dim)]
                continue
            places[dim] = i
            if batch[dim] != extent:
                guards.append(inner.apply("lt", i, batch[dim]))
        if not guards:
            return [_summed(inner, sink, places, rest)]
        holds = guards[0]
        for guard in guards[1:]:
            holds = inner.apply("and", holds, guard)
        nothing = constant(0.0, dtype)
        if not batch:
            return [inner.apply("select", holds, sink.value, nothing)]
        found = inner.choose(
            holds, lambda c: [_summed(c, sink, places, rest)], lambda _: [nothing]
        )
        return list(found)

    return generate(b, shape, write)[0]


def _summed(b: Builder, sink: Sink, places: dict[int, Atom], rest: Sequence[int]) -> Atom:
    """The values at these indices, summed over the axes that have none."""
    batch = sink.batch
    if not rest:
        return read(b, sink.value, [places[axis] for axis in range(len(batch))])

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        every = {**places, **dict(zip(rest, at, strict=True))}
        return [read(inner, sink.value, [every[axis] for axis in range(len(batch))])]

    (values,) = generate(b, [batch[axis] for axis in rest], write)
    return total(b, values)


def permuted(b: Builder, sink: Sink, into: Atom) -> Atom:
    """The contributions added to `into`, each at its index."""
    shape, dtype = shape_of(sink.target), dtype_of(sink.value.type)
    sink = flat(b, sink)
    (count,) = sink.batch

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        return [inner.ravel([_index(inner, dim, at) for dim in sink.dims], shape)]

    (places,) = generate(b, [count], write)
    size = shape[0] if len(shape) == 1 else b.product(shape)
    dest = into if len(shape) == 1 else b.emit(Reshape(into, (size,)))[0]
    nothing = constant(0.0, dtype)
    op = Permute(lambda_of("add", dtype), (nothing,), (dest,), places, (sink.value,))
    (found,) = b.emit(op)
    return found if len(shape) == 1 else b.emit(Reshape(found, shape))[0]


def _index(b: Builder, dim: Dim, at: Sequence[Atom]) -> Atom:
    """The index in the target of the value at these indices."""
    if isinstance(dim, int):
        return at[dim]
    if isinstance(dim, Along):
        return dim.index(b, at[dim.axis])
    return read(b, dim, at) if shape_of(dim) else dim


def flat(b: Builder, sink: Sink) -> Sink:
    """The same with values of rank 1 and the indices of each."""
    batch = sink.batch
    if not batch:
        (value,) = generate(b, [index(1)], lambda *_: [sink.value])
        return replace(sink, value=value)
    if len(batch) == 1:
        return sink
    size = b.product(batch)

    def reshaped(array: Atom) -> Atom:
        return b.emit(Reshape(array, (size,)))[0]

    def along(dim: Dim) -> Atom:
        if not isinstance(dim, int | Along):
            return reshaped(dim) if shape_of(dim) else dim
        return generate(
            b, [size], lambda inner, at: [_index(inner, dim, inner.unravel(at[0], batch))]
        )[0]

    return Sink(sink.target, tuple(map(along, sink.dims)), reshaped(sink.value))


def is_ragged(inner: Builder, sink: Sink) -> bool:
    """Whether the values of a sink differ in number from element to element."""
    return any(extent in inner.own for extent in sink.batch)


@record
class Carried:
    """What a body gives of a sink: its results, and how the indices follow from these."""

    sink: Sink
    results: list[Atom]
    dims: list[Callable[[Sequence[Atom]], Dim]]

    def rebuild(self, arrays: Sequence[Atom]) -> Sink:
        """The sink of all elements, given the arrays of their results."""
        return Sink(self.sink.target, tuple(dim(arrays) for dim in self.dims), arrays[0])


def carry(inner: Builder, sink: Sink, rank: int, places: Mapping[Atom, int]) -> Carried:
    """The sink of all elements, given the sink of one. Elements have `rank` axes; `places` maps an
    index of an element to its axis."""
    results: list[Atom] = [owned(inner, sink.value)]
    dims: list[Callable[[Sequence[Atom]], Dim]] = []
    for dim in sink.dims:
        moved = None if isinstance(dim, int | Along) else _along(inner, dim, places)
        if isinstance(dim, int):
            dims.append(_always(dim + rank))
        elif isinstance(dim, Along) and dim.start not in inner.own:
            dims.append(_always(replace(dim, axis=dim.axis + rank)))
        elif moved is not None:
            dims.append(_always(moved))
        elif not isinstance(dim, Along) and dim in places:
            dims.append(_always(places[dim]))
        elif not isinstance(dim, Along) and dim not in inner.own:
            dims.append(_always(dim))
        else:
            dims.append(operator.itemgetter(len(results)))
            results.append(spread(inner, dim, sink.batch))
    return Carried(sink, results, dims)


def _along(b: Builder, dim: Atom, places: Mapping[Atom, int]) -> Along | None:
    """An index that is a parameter of the body and an offset from around it."""
    if dim in places or dim not in b.own:
        return None
    value = scalar_values(b.own.get).of(dim)
    axes = [(i, n) for i, n in value.terms.items() if isinstance(i, Var) and i in places]
    if len(axes) != 1:
        return None
    ((i, sign),) = axes
    rest = value.plus(Sum({i: 1}), -sign)
    if abs(sign) != 1 or any(var in b.own for var in variables_in(rest)):
        return None
    assert b.outer is not None
    start = write_sum(b.outer, rest)
    return None if start is None else Along(places[i], start, down=sign < 0)


def _whole_rows(inner: Builder, sink: Sink, dim: Along, places: Mapping[Atom, int]) -> Along | None:
    """Rows that are cut by offsets, one row for each element: concatenated, they are all elements
    from the first offset on."""
    for let in inner.lets:
        match let.op:
            case Span(offsets=offsets, row=row) if row in places and offsets not in inner.own:
                if let.vars == (dim.start, sink.batch[0]) and not (dim.axis or dim.down):
                    assert inner.outer is not None
                    return Along(0, read(inner.outer, offsets, [index(0)]))
    return None


def carry_rows(inner: Builder, sink: Sink, places: Mapping[Atom, int] = NOWHERE) -> Carried:
    """The same where elements differ in their number of values, which are concatenated along their
    first axis."""
    if any(extent in inner.own for extent in sink.batch[1:]):
        sink = flat(inner, sink)
    results: list[Atom] = [owned(inner, sink.value)]
    dims: list[Callable[[Sequence[Atom]], Dim]] = []
    for dim in sink.dims:
        rows = _whole_rows(inner, sink, dim, places) if isinstance(dim, Along) else None
        if rows is not None:
            dims.append(_always(rows))
        elif isinstance(dim, int) and dim:
            dims.append(_always(dim))
        elif isinstance(dim, int | Along) or dim in inner.own:
            dims.append(operator.itemgetter(len(results)))
            results.append(spread(inner, dim, sink.batch))
        else:
            dims.append(_always(dim))
    return Carried(sink, results, dims)


def _always(dim: Dim) -> Callable[[Sequence[Atom]], Dim]:
    return lambda _: dim


def spread(b: Builder, dim: Dim, batch: Sequence[Atom]) -> Atom:
    """The index of each value."""
    if not isinstance(dim, int | Along) and (shape_of(dim) or not batch):
        return owned(b, dim)
    if not isinstance(dim, int | Along):
        return generate(b, batch, lambda *_: [dim])[0]
    return generate(b, batch, lambda inner, at: [_index(inner, dim, at)])[0]
