"""stencil: a function of each element's neighbourhood.

    stencil(f, xs, (3, 3), "clamp")      generate [n, m] (i j => f(neighbours of xs[i, j]))

The boundaries are NumPy's pad modes: clamp `edge`, mirror `reflect`, wrap `wrap`, constant. An
index beyond an edge is folded back once for each step that it may lie beyond, which needs no
division and is right for every extent; reads stay inside, so none is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from flatweave.base.dtypes import i64
from flatweave.base.errors import ArgumentError, IndexOutOfBounds, ShapeError
from flatweave.base.pretty import counted, listed
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import check_regular
from flatweave.frontend.elements.broadcasting import read, taken
from flatweave.frontend.elements.lambdas import need_function, shape_text
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import arrays_of, as_tracers, emit, restructured
from flatweave.frontend.values.array import Array, Tracer, describe, kind_of, shown
from flatweave.frontend.values.asarray import no_array
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import LEAF, Tree, spelled
from flatweave.ops import Generate
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Var

MODES = ("clamp", "mirror", "wrap", "constant")
FOLDS = 8  # a wider reach costs a division instead


class Neighbourhood:
    """What a stencil's function receives: `n[di, dj]` is the element at that distance."""

    instead_of_array = (
        "Read its elements: n[-1], n[0, 1]; a list of them is an array, fw.sum([n[i] for i in"
        " (-1, 0, 1)])."
    )

    def __init__(
        self, arrays: Sequence[Tracer], tree: Tree, at: Sequence[Atom], reach: Sequence[int],
        mode: str, constants: Sequence[Tracer],
    ) -> None:
        self._arrays = arrays
        self._tree = tree
        self._at = at
        self._reach = reach
        self._mode = mode
        self._constants = constants

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the neighbourhood, all odd."""
        return tuple(2 * reach + 1 for reach in self._reach)

    def _no_array(self, *args: Any, **options: Any) -> NoReturn:
        """Python would read n[0], n[1], .. up to the edge, and leave out what is before them."""
        raise no_array(self)

    __iter__ = __array__ = __contains__ = _no_array

    def __getitem__(self, distance: Any) -> Array:
        """The element at a distance from the centre, one constant for each axis."""
        steps = distance if isinstance(distance, tuple) else (distance,)
        self._check(steps)
        shape = self._arrays[0].extents
        scope = current()
        place: list[Atom] = []
        inside: list[Atom] = []
        for i, extent, step in zip(self._at, shape, steps, strict=True):
            moved = extents.add(i, index(int(step)))
            if self._mode == "constant" and step:
                bound = ("ge", moved, ZERO) if step < 0 else ("lt", moved, extent)
                inside.append(scope.apply(*bound))
            place.append(_folded(moved, extent, int(step), self._mode))
        values = [read(array, place) for array in self._arrays]
        if inside:
            condition = inside[0]
            for other in inside[1:]:
                condition = scope.apply("and", condition, other)
            values = [
                Tracer(scope.apply("select", condition, value.atom, outside.atom), scope)
                for value, outside in zip(values, self._constants, strict=True)
            ]
        return restructured(self._tree, values)

    def _check(self, steps: Sequence[Any]) -> None:
        """Refuse distances that are not constants inside the declared shape."""
        if any(isinstance(step, Tracer) or not hasattr(step, "__index__") for step in steps):
            raise ArgumentError.here(
                "a neighbourhood is indexed by constants relative to its centre.",
                "Write n[-1], n[0, 1]; loop over distances with Python's range.",
            )
        if len(steps) != len(self._reach):
            raise ShapeError.here(
                f"a neighbourhood of {counted(len(self._reach), 'axis', 'axes')} got"
                f" {counted(len(steps), 'index', 'indices')}.",
                "Give one distance for each axis.",
            )
        for axis, (step, reach) in enumerate(zip(steps, self._reach, strict=True)):
            if abs(step) > reach:
                raise IndexOutOfBounds.here(
                    f"distance {step} is outside a neighbourhood of {2 * reach + 1} elements"
                    f" along axis {axis}.",
                    f"Distances go from {-reach} to {reach}; declare a wider shape.",
                )


def _folded(place: Atom, extent: Atom, step: int, mode: str) -> Atom:
    """An index up to `step` beyond an edge, mapped inside as the boundary mode says."""
    if step == 0:
        return place
    last = extents.sub(extent, ONE)
    if mode in ("clamp", "constant"):
        return extents.greatest(place, ZERO) if step < 0 else extents.least(place, last)
    if mode == "wrap":
        return _wrapped(place, extent, step)
    return _mirrored(place, last, abs(step))


def _wrapped(place: Atom, extent: Atom, step: int) -> Atom:
    scope = current()
    if abs(step) > FOLDS:
        return extents.mod(place, extent)
    for _ in range(abs(step)):
        if step < 0:
            beyond = scope.apply("lt", place, ZERO)
            place = scope.apply("select", beyond, extents.add(place, extent), place)
        else:
            beyond = scope.apply("ge", place, extent)
            place = scope.apply("select", beyond, extents.sub(place, extent), place)
    return place


def _mirrored(place: Atom, last: Atom, reach: int) -> Atom:
    """Reflected at 0 and at `last`, neither repeated; 0 for an array of one element."""
    scope = current()
    if reach > FOLDS:
        period = extents.mul(last, index(2))
        place = extents.mod(place, period)
        return extents.least(place, extents.sub(period, place))
    for _ in range(reach):
        place = scope.apply("abs", place)
        place = extents.sub(last, scope.apply("abs", extents.sub(last, place)))
    return extents.least(scope.apply("abs", place), last)


def _declared(shape: Any, rank: int) -> list[int]:
    """How far a neighbourhood reaches along each axis."""
    parts = list(shape) if isinstance(shape, tuple | list) else [shape]
    if not all(isinstance(part, int | np.integer) for part in parts):
        raise ArgumentError.here(
            f"the shape of a stencil must be constant, got {shown(shape)}.",
            "Give Python integers: (3, 3).",
        )
    if len(parts) != rank:
        raise ShapeError.here(
            f"a stencil of {counted(len(parts), 'axis', 'axes')} over an array of rank {rank}.",
            "Give one extent for each axis of the array.",
        )
    if any(part < 1 or part % 2 == 0 for part in parts):
        raise ShapeError.here(
            f"a stencil needs odd extents, got {tuple(parts)}.",
            "The centre is in the middle: use 3, 5, 7, ..",
        )
    return [int(part) // 2 for part in parts]


def _boundary(boundary: Any) -> tuple[str, Any]:
    """The mode and, for constant, the value beyond the edges."""
    if isinstance(boundary, str) and boundary in MODES[:3]:
        return boundary, None
    pair = boundary if isinstance(boundary, tuple) and len(boundary) == 2 else ("", None)
    if isinstance(pair[0], str) and pair[0] == "constant":
        return "constant", pair[1]
    what = repr(boundary) if isinstance(boundary, str) else kind_of(boundary)
    raise ArgumentError.here(
        f"{what} is not a boundary of stencil.",
        f"Use {listed([repr(m) for m in MODES[:3]], 'or')}, or ('constant', value).",
    )


@operation(static="shape")
def stencil(f: Callable[[Any], Any], xs: Any, shape: Any, boundary: Any = "clamp") -> Array:
    """`f` of the neighbourhood of every element: `n[di, dj]`, constants relative to the centre.

    `shape` has an odd extent for each axis. Beyond the edges: "clamp" repeats the edge, "mirror"
    reflects without repeating it, "wrap" goes round, ("constant", v) gives v.

    Types: `f: neighbourhood -> r, xs: t[..], shape: odd ints -> r[..]`. Raises ShapeError for an
    even extent, ArgumentError for another boundary. Source: Accelerate's `stencil`.

        >>> fw.stencil(lambda n: n[-1] + n[1], np.array([1, 2, 3]), (3,))
        Array([3, 4, 5], dtype=int64)
    """
    need_function(f, "stencil")
    arrays, tree = arrays_of(xs, "xs of stencil")
    for array in arrays:
        if not array.ndim or array.ndim != arrays[0].ndim:
            raise ShapeError.here(
                f"a stencil goes over arrays of one rank, at least 1, got {describe(array)}.",
                "Give the arrays one shape.",
            )
        for a, b in zip(arrays[0].extents, array.extents, strict=True):
            extents.same(a, b, "stencil needs arrays of one shape, got extents {0} and {1}.")
    reach = _declared(shape, arrays[0].ndim)
    mode, value = _boundary(boundary)
    constants: list[Tracer] = []
    if mode == "constant":
        leaves, given = as_tracers(value, "the constant of stencil")
        if given not in (tree, LEAF) or any(leaf.ndim for leaf in leaves):
            raise ArgumentError.here(
                f"the constant of stencil is {shape_text(given, leaves)} for elements that are"
                f" {spelled(tree, [x.element.name for x in arrays])}.",
                "Give one scalar, or one for each array.",
            )
        if given != tree:
            leaves = leaves * len(arrays)
        pairs = zip(leaves, arrays, strict=True)
        constants = [taken(v, x.element, "stencil") for v, x in pairs]
    sizes = arrays[0].extents
    found: list[Any] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        inside.natural.update(params)
        near = Neighbourhood(arrays, tree, params, reach, mode, constants)
        results, result_tree = as_tracers(
            f(near), "the result of stencil's function", structured=True
        )
        found.extend([result_tree, results])
        return [result.atom for result in results]

    fn = current().function([i64] * len(sizes), body, "i")
    for leaf in found[1]:
        check_regular(leaf, f, "stencil")
    return restructured(found[0], emit(Generate(sizes, fn)))
