"""Numbers in rows, indices, matrices and integers' divisors, under NumPy's names.

    logspace(0, 3, 4)      10 ** linspace(0, 3, 4)
    diag(x)                generate (n, n) (i, j => x[i] if i == j else 0)
    gcd(a, b)              while b: a, b = b, a % b
"""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.numpy_functions import each, floating, operand, strong, whole


@fw.operation(static="num endpoint dtype")
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None
) -> fw.Array:
    """`base` to the powers of `linspace(start, stop, num)`.

    Types: numbers `-> f64[num]`, or of a dtype. Raises NegativeExtentError for a negative `num`.
    Source: `numpy.logspace`.

        >>> fw.logspace(0, 2, 3)
        Array([  1.,  10., 100.], dtype=float64)
    """
    found = fw.power(base, fw.linspace(start, stop, num, endpoint=endpoint))
    return found if dtype is None else found.astype(dtype)


@fw.operation(static="k dtype")
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> fw.Array:
    """Ones at and below the diagonal `k`, zeros above it.

    Types: extents `-> f64[N, M]`, or of a dtype. Raises NegativeExtentError for a negative extent.
    Source: `numpy.tri`.

        >>> fw.tri(2)
        Array([[1., 0.],
               [1., 1.]], dtype=float64)
    """
    shape = (N, N if M is None else M)
    return fw.generate(shape, lambda i, j: j <= i + k).astype(fw.f64 if dtype is None else dtype)


@fw.operation(static="dtype")
def indices(shape: Any, dtype: Any = None) -> fw.Array:
    """The index of each element along each axis, first axis the axes.

    Types: extents `-> i64[k, ..]`, or of a dtype. Raises NegativeExtentError for a negative extent.
    Source: `numpy.indices`, where `shape` is named `dimensions`.

        >>> fw.indices((1, 2))
        Array([[[0, 0]],
        <BLANKLINE>
               [[0, 1]]], dtype=int64)
    """
    found = fw.stack([fw.generate(shape, lambda *at, k=k: at[k]) for k in range(len(shape))])
    return found if dtype is None else found.astype(dtype)


@fw.operation(static="equal_nan")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> fw.Array:
    """Whether two arrays have one shape, and equal elements; with `equal_nan` NaN equals NaN.

    Types: `a1: t[..], a2: t[..] -> bool`. Raises ArgumentError for what is no array.
    Source: `numpy.array_equal`.

        >>> fw.array_equal([1, 2], [1, 2])
        Array(True, dtype=bool)
    """
    x, y = fw.asarray(a1), fw.asarray(a2)
    if x.ndim != y.ndim:
        return fw.asarray(False)
    fits = fw.asarray(True)
    for own, other in zip(x.shape, y.shape, strict=True):
        fits = fits & fw.asarray(own == other)

    def alike(a: Any, b: Any) -> Any:
        return (a == b) | ((a != a) & (b != b)) if equal_nan else a == b

    return fw.cond(fits, lambda: fw.all(each(alike, x, y)), lambda: fw.asarray(False))


@fw.operation(any_dtype=True, static="k axes")
def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> fw.Array:
    """The array turned `k` times by 90 degrees, from the first of two axes to the second.

    Types: `x: t[m, n, ..] -> t[n, m, ..]` for odd k. Raises AxisError for an axis that is not
    there, ArgumentError for one named twice. Source: `numpy.rot90`.

        >>> fw.rot90([[1, 2], [3, 4]])
        Array([[2, 4],
               [1, 3]], dtype=int64)
    """
    array, turns = fw.asarray(x), whole(k, "k of rot90") % 4
    (first,), (second,) = (fw.normalize_axes(array, axis, "rot90") for axis in axes)
    if first == second:
        raise fw.ArgumentError.here(
            f"rot90 rotates from one axis to another, got axes={tuple(axes)}.",
            "Name two axes, as in axes=(0, 1).",
        )
    found = fw.flip(array, axis=((), second, (first, second), first)[turns])
    return fw.swapaxes(found, first, second) if turns % 2 else found


@fw.operation(any_dtype=True, static="k")
def diag(x: Any, k: int = 0) -> fw.Array:
    """A matrix with these elements on its diagonal, or the diagonal of a matrix; `k` above it.

    Types: `x: t[n] -> t[n + |k|, n + |k|]`, or `x: t[m, n] -> t[l]`. Raises ShapeError for other
    ranks. Source: `numpy.diag`.

        >>> fw.diag([1, 2])
        Array([[1, 0],
               [0, 2]], dtype=int64)
        >>> fw.diag([[1, 2], [3, 4]])
        Array([1, 4], dtype=int64)
    """
    array, k = fw.asarray(x), whole(k, "k of diag")
    down, right = max(-k, 0), max(k, 0)
    if array.ndim == 2:
        size = fw.minimum(array.shape[0] - down, array.shape[1] - right)
        return fw.generate(fw.maximum(size, 0), lambda i: array[i + down, i + right])
    if array.ndim != 1:
        raise fw.ShapeError.here(
            f"diag takes a row or a matrix, got an array of {array.ndim} axes.",
            "Of stacks of matrices take fw.linalg.diagonal.",
        )
    n = array.shape[0]
    zero = fw.astype(0, array.dtype)

    def element(i: Any, j: Any) -> fw.Array:
        own = i - down
        on = (own == j - right) & (own >= 0) & (own < n)
        return fw.cond(on, lambda: array[own], lambda: zero)

    return fw.generate((n + abs(k), n + abs(k)), element)


@fw.operation(static="offset axis1 axis2 dtype")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> fw.Array:
    """The sum of the diagonal of the matrices along two axes.

    Types: `x: t[m, n, ..] -> t[..]`. Raises ShapeError for fewer than two axes, AxisError for an
    axis that is not there. Source: `numpy.trace`.

        >>> fw.trace([[1, 2], [3, 4]])
        Array(5, dtype=int64)
    """
    matrices = fw.moveaxis(fw.asarray(x), (axis1, axis2), (-2, -1))
    return fw.asarray(fw.linalg.trace(matrices, offset=offset, dtype=dtype))


@fw.operation()
def outer(a: Any, b: Any) -> fw.Array:
    """The products of every element of the one array with every one of the other.

    Types: `a: t[m], b: t[n] -> t[m, n]`; arrays of more axes are one row. Raises ArgumentError for
    what is no array. Source: `numpy.outer`.

        >>> fw.outer([1, 2], [3, 4])
        Array([[3, 4],
               [6, 8]], dtype=int64)
    """
    return fw.asarray(fw.linalg.outer(fw.reshape(strong(a), -1), fw.reshape(strong(b), -1)))


@fw.operation()
def divmod(x1: Any, x2: Any) -> tuple[fw.Array, fw.Array]:
    """`(x1 // x2, x1 % x2)`, element by element, broadcast.

    Types: `x1: t[..], x2: t[..] -> (t[..], t[..])`. Raises ShapeError for shapes that do not fit.
    Source: `numpy.divmod`.

        >>> fw.divmod([7, 8], 3)
        (Array([2, 2], dtype=int64), Array([1, 2], dtype=int64))
    """
    return fw.floordiv(x1, x2), fw.mod(x1, x2)


@fw.operation()
def polyfit(x: Any, y: Any, deg: Any) -> fw.Array:
    """The coefficients of the polynomial of least squares, highest power first.

    Types: `x: t[n], y: t[n] -> f64[deg + 1]`. Raises ShapeError where there are not as many `y` as
    `x`. Source: `numpy.polyfit`, without its weights.

        >>> fw.round(fw.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1))
        Array([2., 1.], dtype=float64)
    """
    at, values = floating(x).astype(fw.f64), floating(y)
    powers = fw.generate(
        (at.shape[0], deg + 1), lambda i, k: fw.power(at[i], (deg - k).astype(fw.f64))
    )
    scale = fw.sqrt(fw.sum(powers * powers, axis=0))
    return fw.matmul(fw.asarray(fw.linalg.pinv(powers / scale)), values) / scale


@fw.operation(elementwise=True)
def gcd(x1: Any, x2: Any) -> fw.Array:
    """The greatest common divisor of the absolute values, by Euclid; 0 of 0 and 0; element by
    element, broadcast.

    Types: `x1: t[..], x2: t[..] -> t[..]`, t an integer. Raises DTypeError for other dtypes,
    ShapeError for shapes that do not fit. Source: `numpy.gcd`.

        >>> fw.gcd([12, -9, 0], 6)
        Array([6, 3, 6], dtype=int64)
    """
    return each(_divisor, *_whole_pair(x1, x2, "gcd"))


@fw.operation(elementwise=True)
def lcm(x1: Any, x2: Any) -> fw.Array:
    """The least common multiple of the absolute values, 0 where one is 0; element by element,
    broadcast. One that does not fit wraps.

    Types: `x1: t[..], x2: t[..] -> t[..]`, t an integer. Raises DTypeError for other dtypes,
    ShapeError for shapes that do not fit. Source: `numpy.lcm`.

        >>> fw.lcm([4, -6], 10)
        Array([20, 30], dtype=int64)
    """
    return each(lambda a, b: a // _divisor(a, b) * b, *_whole_pair(x1, x2, "lcm"))


def _whole_pair(x1: Any, x2: Any, who: str) -> tuple[fw.Array, ...]:
    """The absolute values of integers, of one shape and dtype."""
    dtype = fw.result_type(operand(x1), operand(x2))
    if not fw.isdtype(dtype, "integral"):
        raise fw.DTypeError.here(
            f"{who} is of integers of one kind, got {dtype}.", "Convert both: x.astype(fw.i64)."
        )
    zero = fw.zeros((), dtype)  # adding it refuses a Python integer that does not fit the dtype
    return fw.broadcast_arrays(*(fw.abs(fw.add(x, zero)) for x in (x1, x2)))


def _divisor(a: fw.Array, b: fw.Array) -> fw.Array:
    """By Euclid. The least number is its own absolute value, so a divisor may be negative."""
    found = fw.while_loop(lambda p: p[1] != 0, lambda p: (p[1], p[0] % p[1]), (a, b))
    return fw.abs(fw.asarray(found[0]))
