"""Writes at computed indices: scatter, permute, reduce_by_index, histogram.

    scatter(dest, idx, vals)       dest[idx[k]] = vals[k], in a copy
    permute(op, dest, idx, vals)   dest[idx[k]] = dest[idx[k]] op vals[k], in a copy

An index outside the array, or below 0, drops its element. Arrays of higher rank are written through
their flat form; an index for the leading axes alone writes whole rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.reading import check_rank, index_arrays, index_atom
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import independent, restricted
from flatweave.frontend.elements.broadcasting import (
    broadcast_to,
    common_shape,
    generated,
    read,
    read_stretched,
    taken,
)
from flatweave.frontend.elements.elementwise import add
from flatweave.frontend.elements.lambdas import (
    expect_neutral,
    neutral,
    operator,
    shape_text,
    with_zeros,
)
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import arrays_of, as_tracers, emit, flag_of, restructured
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Tree, paths, unflatten
from flatweave.ops import Permute, Reshape, Scatter
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Lambda


class Writes:
    """Where elements go: flat destinations, a flat index for each element, and the elements.

    `dest` are arrays of one shape, `parts` which parts of the element they are.
    """

    def __init__(self, given: Given, parts: Sequence[int]) -> None:
        self.who = given.who
        self.parts = parts
        self.dest = [given.dest[k] for k in parts]
        self.indices = given.indices
        self.values = [given.values[k] for k in parts]
        self.shape = self.dest[0].extents
        for leaf in self.dest:
            check_rank(leaf, len(self.indices), self.who)
            for x, y in zip(self.shape, leaf.extents, strict=True):
                message = f"{self.who} needs destinations of one shape, got {{0}} and {{1}}."
                extents.same(x, y, message)
        self.rest = self.shape[len(self.indices) :]
        self.places = self._places()
        self._check_values([given.names[k] for k in parts])

    def _places(self) -> tuple[Atom, ...]:
        """The shape of the index arrays; scalars for all write one element."""
        return common_shape(self.indices, f"indexing in {self.who}")

    def _check_values(self, names: Sequence[str]) -> None:
        """Each value's shape is that of the indices and a row, or a row alone, for all."""
        rank = len(self.places)
        for value, path in zip(self.values, names, strict=True):
            own = value.extents
            if value.ndim == rank + len(self.rest):
                wanted = (*self.places, *self.rest)
            elif value.ndim == len(self.rest):
                wanted = self.rest
            elif not value.ndim:
                continue
            else:
                raise ShapeError.here(
                    f"{self.who} needs one value for each index, or one for all; {path} is"
                    f" {describe(value)} for indices of rank {rank} into {describe(self.dest[0])}.",
                    "Give vals the shape of idx.",
                )
            for axis, (a, b) in enumerate(zip(wanted, own, strict=True)):
                is_row = axis >= len(wanted) - len(self.rest)
                extents.same(
                    a, b,
                    f"{self.who} writes rows of {{0}} elements, got rows of {{1}}." if is_row else
                    f"{self.who} needs as many values as indices, got {{1}} for {{0}}.",
                    [extents.origin_line(value, path, "{1}", axis)],
                    "Give values whose rows have the shape of the destination's." if is_row else
                    "Cut both to one length.",
                )  # fmt: skip

    def flat_dest(self) -> list[Tracer]:
        """The destinations as rank-1 arrays."""
        if len(self.shape) == 1:
            return self.dest
        total = extents.known_extent(extents.product(self.shape))
        return [emit(Reshape(x.atom, (total,)))[0] for x in self.dest]

    def flat_writes(self) -> tuple[Tracer, list[Tracer]]:
        """A flat index for each element written, -1 for none, and the elements."""
        whole = (*self.places, *self.rest)
        if len(whole) == 1 and len(self.shape) == 1:
            return self._rank_one(whole)
        total = extents.known_extent(extents.product(whole))

        def one(k: Atom) -> list[Tracer]:
            at = extents.unravel(k, whole) if whole else []
            place = self._linear(at)
            return [place, *(self._value(value, at) for value in self.values)]

        found = generated((total,), one, "k")
        return found[0], found[1:]

    def _rank_one(self, shape: Sequence[Atom]) -> tuple[Tracer, list[Tracer]]:
        """Rank 1 throughout: indices and values need no flattening."""
        idx = self.indices[0]
        plain = idx
        if idx.element is not i64 or idx.extents != tuple(shape):
            plain = generated(shape, lambda k: _i64(read_stretched(idx, (k,))), "k")[0]
        spread = [
            value if value.ndim else generated(shape, lambda k, v=value: v)[0]
            for value in self.values
        ]
        return plain, spread

    def _linear(self, at: Sequence[Atom]) -> Tracer:
        """The flat index that an element goes to; -1 when an index is outside its axis."""
        scope = current()
        rank = len(self.places)
        leading = [_i64(read_stretched(i, at[:rank])).atom for i in self.indices]
        inside: Atom | None = None
        linear: Atom = index(0)
        for place, extent in zip([*leading, *at[rank:]], self.shape, strict=True):
            linear = extents.add(extents.mul(linear, extent), place)
        for place, extent in zip(leading, self.shape, strict=False):
            ok = scope.apply("and", scope.apply("ge", place, extents.ZERO),
                             scope.apply("lt", place, extent))  # fmt: skip
            inside = ok if inside is None else scope.apply("and", inside, ok)
        assert inside is not None
        atom = scope.apply("select", inside, linear, index(-1))
        return Tracer(atom, scope.home((atom,)))

    def _value(self, value: Tracer, at: Sequence[Atom]) -> Tracer:
        """The element that a write stores."""
        if not value.ndim:
            return value
        return read(value, at[len(at) - value.ndim :])

    def result(self, flat: Sequence[Tracer]) -> list[Tracer]:
        """The destinations in their own shape."""
        if len(self.shape) > 1:
            return [emit(Reshape(x.atom, tuple(self.shape)))[0] for x in flat]
        return list(flat)


class Given:
    """What a function that writes is given: destinations, indices, values; one each for a part."""

    def __init__(self, dest: Any, idx: Any, vals: Any, who: str) -> None:
        self.who = who
        self.dest, self.tree = _destinations(dest, who)
        self.indices = index_arrays(idx, who)
        self.values = _elements(vals, self.tree, self.dest, who)
        self.names = list(paths(self.tree, "vals"))

    def each(self, write: Callable[[Writes], Sequence[Tracer]]) -> Array:
        """What `write` gives for the destinations of each rank, in the structure of all."""
        ranks = list(dict.fromkeys(x.ndim for x in self.dest))
        found: dict[int, Tracer] = {}
        for rank in ranks:
            writes = Writes(self, [k for k, x in enumerate(self.dest) if x.ndim == rank])
            found.update(zip(writes.parts, writes.result(write(writes)), strict=True))
        return restructured(self.tree, [found[k] for k in range(len(self.dest))])


def _i64(value: Tracer) -> Tracer:
    atom = index_atom(value)
    return Tracer(atom, current().home((atom,)))


def _destinations(dest: Any, who: str) -> tuple[list[Tracer], Tree]:
    """The arrays written to, and their tree."""
    leaves, tree = arrays_of(dest, f"the destination of {who}")
    for leaf in leaves:
        if not leaf.ndim:
            raise ShapeError.here(
                f"{who} writes into arrays, got {describe(leaf)}.",
                "Give an array of rank 1 or more.",
            )
    return leaves, tree


def _elements(vals: Any, tree: Tree, dest: Sequence[Tracer], who: str) -> list[Tracer]:
    """The values' leaves in the dtypes of the destinations."""
    leaves, given = as_tracers(vals, f"the values of {who}")
    fitting = with_zeros(iter(leaves), given, tree)
    if fitting is None:
        raise ArgumentError.here(
            f"{who} writes {shape_text(given, leaves)} into {shape_text(tree, dest)}.",
            "Give the values the structure of the destination.",
        )
    return [taken(leaf, x.element, who) for leaf, x in zip(fitting, dest, strict=True)]


@operation()
def scatter(dest: Any, idx: Any, vals: Any) -> Array:
    """A copy of `dest` with `vals[k]` written at `idx[k]`; an index outside `[0, n)` drops it.

    So -1 writes nothing. NumPy's `dest[idx] = vals`, where -1 is the last element, is
    `fw.replace(dest, idx, vals)`, or `dest.at[idx].set(vals)`.
    `idx` is an integer array, or a tuple of them, one for each leading axis; `vals` may be one
    element for all. Of elements with equal indices the last one wins, whole.
    Raises ShapeError when there are not as many values as indices.

    Types: `dest: t[n, ..], idx: integer[m], vals: t[m, ..] -> t[n, ..]`.
    Source: Futhark's `scatter`.

        >>> fw.scatter(np.array([1, 2, 3]), [2, 0, 9, -1], np.array([30, 10, 90, 70]))
        Array([10,  2, 30], dtype=int64)
    """

    def write(writes: Writes) -> Sequence[Tracer]:
        target = writes.flat_dest()
        places, values = writes.flat_writes()
        atoms = tuple(x.atom for x in values)
        return emit(Scatter(tuple(x.atom for x in target), places.atom, atoms))

    return Given(dest, idx, vals, "scatter").each(write)


def _combined(given: Given, fn: Lambda, identity: Sequence[Tracer]) -> Array:
    """The values combined into the destinations, the parts of each rank by themselves.

    A neutral element that is a row is left out: it could only begin private copies, of numbers.
    """

    def write(writes: Writes) -> Sequence[Tracer]:
        own = restricted(fn, writes.parts) if len(writes.parts) < len(given.dest) else fn
        first = [identity[k] for k in writes.parts] if identity else []
        first = [] if any(e.ndim for e in first) else first
        target = writes.flat_dest()
        places, values = writes.flat_writes()
        return emit(
            Permute(
                own,
                tuple(e.atom for e in first),
                tuple(x.atom for x in target),
                places.atom,
                tuple(x.atom for x in values),
            )
        )

    for group in independent(fn):
        if len({given.dest[k].ndim for k in group}) > 1:
            raise ShapeError.here(
                f"{given.who} combines parts that need one another in arrays of one shape, got"
                f" {shape_text(given.tree, given.dest)}.",
                "Broadcast the parts of lower rank, fw.broadcast_to, to the shape of the others.",
            )
    return given.each(write)


@operation(static="check")
def permute(
    op: Callable[[Any, Any], Any], defaults: Any, idx: Any, vals: Any, *, check: bool = True
) -> Array:
    """A copy of `defaults` with `vals[k]` combined into `idx[k]` by `op`.

    An index outside `[0, n)`, -1 too, drops its element (Accelerate's permute; van Gils 2023).
    NumPy's `np.add.at(xs, idx, vals)`, where -1 is the last element, is `xs.at[idx].add(vals)`.
    `op` is associative and commutative, on elements of any type. Raises OperatorError when `op`
    gives no element, or is neither on a few elements, which the first call tries unless
    `check=False`.

    Types: `op: (t, t) -> t, defaults: t[n], idx: integer[m], vals: t[m] -> t[n]`.
    Source: Accelerate's `permute`.

        >>> fw.permute(fw.add, np.array([10, 20]), [0, 0, 1, -1], np.array([1, 2, 3, 4]))
        Array([13, 23], dtype=int64)
    """
    given = Given(defaults, idx, vals, "permute")
    types = [x.element for x in given.dest]
    fn = operator(op, given.tree, types, "permute", flag_of(check, "check"))
    return _combined(given, fn, ())


@operation(static="check", renamed="ne=identity")
def reduce_by_index(
    dest: Any, op: Callable[[Any, Any], Any], identity: Any, idx: Any, vals: Any, *,
    check: bool = True,
) -> Array:
    """As `permute`, with the neutral element `identity`, so that private copies are allowed.

    `identity` must leave every other operand of `op` as it is: it is applied any number of times.
    An index outside `[0, n)`, -1 too, drops its element.

    Types: `dest: t[n], op: (t, t) -> t, identity: t, idx: integer[m], vals: t[m] -> t[n]`. Raises
    ShapeError when there are not as many values as indices, OperatorError when `op` gives no
    element. Source: Futhark's `reduce_by_index`.

        >>> fw.reduce_by_index(np.zeros(2, int), fw.add, 0, [0, 0, 1], np.array([1, 2, 3]))
        Array([3, 3], dtype=int64)
    """
    return _by_index(dest, op, identity, idx, vals, "reduce_by_index", check)


def _by_index(
    dest: Any, op: Callable[[Any, Any], Any], identity: Any, idx: Any, vals: Any, who: str,
    check: bool,
) -> Array:
    """The common part of `reduce_by_index` and `histogram`; messages name the one called."""
    given = Given(dest, idx, vals, who)
    start = neutral(identity, given.tree, given.dest, who)
    fn = operator(op, given.tree, [x.element for x in given.dest], who, flag_of(check, "check"))
    if check:
        expect_neutral(fn, start)
    return _combined(given, fn, start)


@operation(static="check", renamed="ne=identity")
def histogram(
    n: Any, idx: Any, vals: Any = 1, op: Callable[[Any, Any], Any] = add, identity: Any = 0, *,
    check: bool = True,
) -> Array:
    """`n` bins, each with the elements of `vals` that `idx` sends to it combined by `op`.

    A bin that nothing is sent to is `identity`, which must be neutral. By default it counts. This
    is not NumPy's `histogram`, which finds bins by their edges (`fw.digitize`). An index outside
    `[0, n)`, -1 too, drops its element, where `bincount` raises an error.

    Types: `n: extent, idx: integer[m], vals: t[m], op: (t, t) -> t, identity: t -> t[n]`. Raises
    NegativeExtentError for n below 0, ShapeError when there are not as many values as indices.
    Source: `numpy.histogram`.

        >>> fw.histogram(3, [0, 2, 2, 5, -1])
        Array([1, 0, 2], dtype=int64)
    """
    if getattr(n, "ndim", 0):
        raise ArgumentError.here(
            "histogram needs the number of bins first, and then the index of each element's bin.",
            "Write fw.histogram(bins, indices). For bins by their"
            " edges use np.histogram(x, edges), or the indices of fw.digitize(x, edges).",
        )
    values, tree = arrays_of(vals, "the values of histogram")
    rank = max(i.ndim for i in index_arrays(idx, "histogram"))
    rows = [x.extents[rank:] for x in values]
    start = neutral(identity, tree, values, "histogram")
    length = extents.scalar_i64(extents.length_of(n, "the number of bins"))
    shapes = [(length.atom, *row) for row in rows]
    dest = [broadcast_to(e, shape) for e, shape in zip(start, shapes, strict=True)]
    return _by_index(unflatten(tree, dest), op, identity, idx, vals, "histogram", check)
