"""Products of matrices and vectors, under the standard's names, and dot.

    dot(a, b)     generate [n, m] (i j => reduce add 0 (generate [l] (k => mul a[i, k] b[k, j])))
    @operation(host=by_numpy(np.matmul, of_stacks))     outside of traces: calls of NumPy's
"""

from __future__ import annotations

import contextvars
import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.library_products import FEW, FEW_RESULTS, LONG, MANY, SMALL
from flatweave.base.plan import Values
from flatweave.frontend.arrays.axes import reduced_by
from flatweave.frontend.arrays.shapes import axis_of, reshape
from flatweave.frontend.arrays.sources import broadcast_to
from flatweave.frontend.call.direct import values_of
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, read, zipped
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.reductions import sum
from flatweave.frontend.standard.arrangement import moveaxis, permute_dims
from flatweave.frontend.standard.library import kept
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ZERO, origin_line
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.number_formats import Complex
from flatweave.terms.syntax import Atom, constant

Sizes = Callable[..., tuple[int, int, int, int]]
"""How many products, and the rows, columns and steps of each."""


def of_stacks(a: Values, b: Values) -> tuple[int, int, int, int]:
    """The sizes of products of matrices and vectors, one by one."""
    left, right = a.shape, b.shape
    rows = left[-2] if len(left) > 1 else 1
    columns = right[-1] if len(right) > 1 else 1
    if len(left) <= 2 >= len(right):
        return 1, rows, columns, left[-1]
    return max(math.prod(left[:-2]), math.prod(right[:-2])), rows, columns, left[-1]


def of_tensors(a: Values, b: Values, axes: Any = 1) -> tuple[int, int, int, int]:
    """The sizes of one product, along the last axes or along named ones."""
    if axes == 1:
        steps = a.shape[-1]
        return 1, a.size // max(steps, 1), b.size // max(steps, 1), steps
    along = range(a.ndim - axes, a.ndim) if isinstance(axes, int) else np.ravel(axes[0])
    steps = math.prod(a.shape[axis] for axis in along)
    return 1, a.size // max(steps, 1), b.size // max(steps, 1), steps


def by_numpy(compute: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    """The short cut of a product, for floats and complex numbers of sizes at which NumPy's is the
    faster one; what it refuses goes the way of traced arrays, which tell what is wrong."""

    def host(x: Any, y: Any, /, *axes: Any, **options: Any) -> object:
        a, b = values_of(x), values_of(y)
        if type(a) is not np.ndarray or type(b) is not np.ndarray:
            return NotImplemented
        switches = config.current
        if switches.target != "cpu" or switches.schedule.product == "kernels":
            return NotImplemented
        left, right = a.dtype.char, b.dtype.char
        if left not in "fdFD" or right not in "fdFD" or not a.ndim or not b.ndim:
            return NotImplemented
        try:
            is_real = left in "fd" and right in "fd"
            if is_real and not _is_numpys(*sizes(a, b, *axes, **options)):
                return NotImplemented
            return kept(QUIETLY.run(compute, a, b, *axes, **options))
        except (TypeError, ValueError, IndexError):
            return NotImplemented

    return host


class Quietly(threading.local):
    """Runs functions of NumPy without warnings, in a context made once for each thread: entering
    `np.errstate` takes as long as a product of 10 x 10."""

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


QUIETLY = Quietly()


def _is_numpys(count: int, rows: int, columns: int, steps: int) -> bool:
    """Whether NumPy takes less time than a program for `count` products of these sizes."""
    if count >= MANY:
        return rows * columns * steps > SMALL
    few = count == 1 and rows * columns <= FEW_RESULTS and steps >= LONG
    return not few or rows * columns * steps <= FEW


@operation(host=by_numpy(np.dot, of_tensors))
def dot(x: Any, y: Any) -> Array:
    """The inner product of vectors; of matrices, and of a matrix with a vector, their product; of
    arrays of more axes the sums over the last axis of `x` and the last but one of `y`.

    Scalars multiply. Raises ShapeError when the extents that meet differ.

    Types: `x: t[.., k], y: t[.., k, n] -> t[.., .., n]`; of a vector y `t[..]`.
    Source: `numpy.dot`.

        >>> fw.dot([1, 2, 3], [4, 5, 6])
        Array(32, dtype=int64)
    """
    a, b = as_tracer(x, "the left of dot"), as_tracer(y, "the right of dot")
    if not a.ndim or not b.ndim:
        return zipped(lambda v, w: apply("mul", v, w), [a, b], "dot")[0]
    meets = max(b.ndim - 2, 0)  # this axis of b
    inner = extents.same(
        a.extents[-1],
        b.extents[meets],
        "a product needs extents that meet to be equal, got {0} and {1}.",
        [extents.origin_line(a, "left", "{0}", -1), extents.origin_line(b, "right", "{1}", meets)],
        "Transpose one of them with .T, or cut both to one length.",
    )

    def one(*at: Atom) -> Tracer:
        left, right = at[: a.ndim - 1], at[a.ndim - 1 :]
        outer, column = right[:meets], right[meets:]
        products = generated(
            (inner,), lambda k: apply("mul", read(a, (*left, k)), read(b, (*outer, k, *column)))
        )[0]
        ne = constant(0, products.element)
        return reduced_by("add", ne, products)

    rest = b.extents[:meets] + b.extents[meets + 1 :]
    return generated((*a.extents[:-1], *rest), one)[0]


@operation(host=by_numpy(np.matmul, of_stacks))
def matmul(x1: Any, x2: Any) -> Array:
    """The product of matrices, of a matrix and a vector, or of vectors; over the axes before the
    last two, which are broadcast. Raises ShapeError for numbers and for extents that differ.

    Types: `x1: t[.., m, k], x2: t[.., k, n] -> t[.., m, n]`. Source: `numpy.matmul`.

        >>> fw.matmul([[1, 2], [3, 4]], [1, 1])
        Array([3, 7], dtype=int64)
    """
    a, b = as_tracer(x1, "the left of matmul"), as_tracer(x2, "the right of matmul")
    if not a.ndim or not b.ndim:
        raise ShapeError.here(
            f"matmul takes vectors and matrices, got {describe(a)} and {describe(b)}.",
            "Multiply a number with *.",
        )
    if a.ndim <= 2 and b.ndim <= 2:
        return dot(a, b)
    return _stacks(a, b)


def _stacks(a: Any, b: Any) -> Array:
    """The products of stacks of matrices, one by one."""
    left = a.shape[:-2] if a.ndim > 2 else ()
    right = b.shape[:-2] if b.ndim > 2 else ()
    outer = _outer(a, b, len(left), len(right))
    a = broadcast_to(a, (*outer, *a.shape[-2:])) if a.ndim > 1 else a
    b = broadcast_to(b, (*outer, *b.shape[-2:])) if b.ndim > 1 else b
    rank = len(outer)

    def product(x: Any, y: Any, depth: int) -> Array:
        if not depth:
            return dot(x, y)
        if a.ndim == 1:
            return map(lambda row: product(x, row, depth - 1), y)
        if b.ndim == 1:
            return map(lambda row: product(row, y, depth - 1), x)
        return map(lambda row, other: product(row, other, depth - 1), x, y)

    return product(a, b, rank)


def _outer(a: Tracer, b: Tracer, left: int, right: int) -> tuple[Any, ...]:
    """The extents of the stacks, broadcast."""
    stacks = [
        generated(x.extents[:count], lambda *at: tracer_of(ZERO))[0]
        for x, count in ((a, left), (b, right)) if count
    ]  # fmt: skip
    return zipped(lambda *values: values[0], stacks, "matmul")[0].shape


@operation(static="axis")
def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Array:
    """The inner products of vectors along an axis of both arrays, broadcast over the others.

    Types: `x1, x2: t[.., n] -> t[..]`. Raises ShapeError for vectors of two lengths, also where one
    of these is 1, AxisError for a number. Source: `numpy.vecdot`.

        >>> fw.vecdot([[1, 2], [3, 4]], [1, 1])
        Array([3, 7], dtype=int64)
    """
    a, b = as_tracer(x1, "the left of vecdot"), as_tracer(x2, "the right of vecdot")
    left, right = axis_of(a, axis, "vecdot"), axis_of(b, axis, "vecdot")
    extents.same(
        a.extents[left], b.extents[right],
        "vecdot needs vectors of one length, got {0} and {1} elements.",
        [origin_line(a, "the left", "{0}", left), origin_line(b, "the right", "{1}", right)],
        "Cut both to one length; only the other axes are broadcast.",
    )  # fmt: skip
    if left - a.ndim != right - b.ndim:
        a, b = as_tracer(moveaxis(a, left, -1)), as_tracer(moveaxis(b, right, -1))
        axis = -1
    products = zipped(lambda v, w: apply("mul", v, w), [a, b], "vecdot")[0]
    wanted = products.element.numpy
    return sum(products, axis=axis_of(products, axis, "vecdot"), dtype=wanted)


@operation(static="axes", host=by_numpy(np.tensordot, functools.partial(of_tensors, axes=2)))
def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Array:
    """The sums of products over some axes of both: the last of the one with the first of the other,
    or two lists of axes.

    Types: `x1: t[..a, ..k], x2: t[..k, ..b] -> t[..a, ..b]`. Raises ShapeError where the extents
    that meet differ. Source: `numpy.tensordot`.

        >>> fw.tensordot([1, 2], [3, 4], axes=1)
        Array(11, dtype=int64)
    """
    a = as_tracer(x1, "the left of tensordot")
    b = as_tracer(x2, "the right of tensordot")
    if isinstance(axes, int):
        ours = list(range(a.ndim - axes, a.ndim))
        theirs = list(range(axes))
    else:
        ours, theirs = (
            [axis_of(x, each, "tensordot")
             for each in (some if isinstance(some, tuple | list) else (some,))]
            for x, some in zip((a, b), axes, strict=True)
        )  # fmt: skip
    if len(ours) != len(theirs) or min(ours, default=0) < 0 or max(theirs, default=-1) >= b.ndim:
        raise ArgumentError.here(
            "tensordot needs as many axes of one array as of the other.",
            "For instance axes=1, or axes=((1, 2), (0, 1)).",
        )
    for at, its in zip(ours, theirs, strict=True):
        extents.same(
            a.extents[at], b.extents[its],
            "tensordot needs axes that meet to have one extent, got {0} and {1}.",
        )  # fmt: skip
    kept = [axis for axis in range(a.ndim) if axis not in ours]
    left = [axis for axis in range(b.ndim) if axis not in theirs]
    rows = [a.shape[axis] for axis in kept]
    columns = [b.shape[axis] for axis in left]
    inner: Any = 1
    for axis in ours:
        inner = inner * a.shape[axis]
    count: Any = 1
    for extent in rows:
        count = count * extent
    width: Any = 1
    for extent in columns:
        width = width * extent
    one = reshape(permute_dims(a, (*kept, *ours)), (count, inner))
    other = reshape(permute_dims(b, (*theirs, *left)), (inner, width))
    return reshape(dot(one, other), (*rows, *columns))


def shape_of_both(a: Any, b: Any) -> tuple[Any, ...]:
    """The extents before the last two of both arrays, broadcast."""
    one, other = (x.real if isinstance(x, Complex) else x for x in (a, b))
    left, right = one.ndim - 2, other.ndim - 2
    return _outer(one, other, left, right) if left or right else ()
