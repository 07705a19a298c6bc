"""Discrete Fourier transforms of every row of a matrix, of any length, and their frequencies.

    fourier(z: c128[rows, n], sign)        sum over j of z[.., j] e^(sign 2 pi i j k / n)
    of_reals(x: f64[rows, n], sign)        the first n // 2 + 1 numbers of the transform of each row
    to_reals(value, rows, n, f64, sign)    the rows whose transforms begin with value(row, k)

A length of 2^k is done by Stockham's steps of four elements, which leave the results in order: of
short rows all side by side, as the columns of the matrix transposed; a long one as the columns of a
matrix of its own, and then its rows as columns. Another length is a convolution
with a chirp, of a length of 2^k (Bluestein); the squares in the chirp's angles are taken modulo
2 n, so that they stay exact.

Real rows are transformed by complex rows of half as many elements where their number is even:
z[j] = x[2 j] + i x[2 j + 1]. With w = e^(sign 2 pi i / n) and m = n / 2, and E and O the transforms
of the elements of even and of odd numbers, of which fourier(z) = E + i O,

    X[k] = E[k] + w^k O[k],   E[k] + i O[k] = (X[k] + conj X[m - k]) + i w^k (X[k] - conj X[m - k])

the second for the way back, where what is wanted is not divided by 2. Rows of an odd number of
elements are complex ones whose imaginary part is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.arrays.shapes import reshape, transpose
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex, whole
from flatweave.frontend.elements.elementwise import clz, cos, sin
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.control import cond, fori_loop
from flatweave.frontend.standard.arrangement import roll
from flatweave.frontend.trace.trace import read_again
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.arguments import dtype_of
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.exchange import on_device
from flatweave.frontend.values.number_formats import Complex

LONG = 8
"""From rows of so many bits on their columns are long enough to be worked on side by side."""


def unit(angle: Any, part: Any) -> Complex:
    """e^(i angle), computed in f64."""
    return Complex(cos(angle).astype(part), sin(angle).astype(part))


def _bits(n: Any) -> Array:
    """The least k with 2^k >= n."""
    return where(n <= 1, 0, 64 - clz(where(n <= 1, 1, n - 1)))


def fourier(z: Complex, sign: int) -> Complex:
    """The transform of each row; of a row of no elements nothing."""
    n = as_tracer(z.shape[1])
    exact = n == (as_tracer(1) << _bits(n))
    return cond(
        exact, lambda: _of_powers(z, _bits(n), sign), lambda: _by_chirp(read_again(z), sign)
    )


def _of_powers(z: Complex, bits: Any, sign: int) -> Complex:
    """Rows of 2^bits elements, always as columns of matrices, which are transformed side by side.

    long rows:    x[j1, j2], n1 x n2: columns, times e^(sign 2 pi i k1 j2 / n), transposed, columns
    short ones:   all of them transposed are one matrix; columns, transposed back
    """
    rows, n = z.shape
    is_long = bits >= LONG
    first = where(is_long, bits >> 1, bits)
    n1 = as_tracer(1) << first
    n2 = where(is_long, as_tracer(1) << (bits - first), rows)
    count = where(is_long, rows, 1)
    total = rows * n

    def half(turn: Any, flat: Complex) -> Complex:
        again = turn == 1
        length, beside = where(again, n2, n1), where(again, n1, n2)
        done = _columns(flat, count, length, beside, sign)
        matrices = _shaped(done, (count, length, beside))

        def turned(row: Any, j: Any, k: Any) -> Complex:
            root = unit(j * k * (sign * 2 * math.pi) / n, z.real.dtype)
            return matrices[row, k, j] * root

        return cond(
            is_long & ~again,
            lambda: _shaped(generate((count, beside, length), turned), (total,)), lambda: done,
        )  # fmt: skip

    given = cond(
        is_long,
        lambda: _shaped(read_again(z), (total,)),
        lambda: _shaped(_turned(read_again(z)), (total,)),
    )  # fmt: skip
    found = fori_loop(0, where(is_long, 2, 1), half, given)
    return cond(
        is_long, lambda: _shaped(found, (rows, n)), lambda: _turned(_shaped(found, (n, rows)))
    )  # fmt: skip


def _turned(z: Complex) -> Complex:
    """A matrix with its axes exchanged."""
    return Complex(transpose(z.real), transpose(z.imag))


def _shaped(z: Complex, shape: Any) -> Complex:
    """Complex numbers under another shape."""
    return whole(reshape(z, shape))


def _columns(z: Complex, rows: Any, length: Any, beside: Any, sign: int) -> Complex:
    """The columns of matrices, all elements in one row: length x beside of them in each of `rows`.

    Stockham's steps, each of four elements, after one of two where log2(length) is odd. With each
    step four times as many elements stay beside each other, so that lanes go along memory.
    """
    total = z.shape[0]
    part = z.real.dtype
    roots = generate(length, lambda k: unit(k * (sign * 2 * math.pi) / length, part))
    bits = _bits(length)
    odd = bits & 1

    def two(_: Any, z: Complex) -> Complex:
        half = length // 2
        parts = _shaped(z, (rows, 2, half, beside))

        def element(row: Any, o: Any, r: Any, i: Any) -> Complex:
            a, b = parts[row, 0, o, i], parts[row, 1, o, i]
            return chosen(r == 0, a + b, (a - b) * roots[o])

        return _shaped(generate((rows, half, 2, beside), element), (total,))

    def four(turn: Any, z: Complex) -> Complex:
        done = 2 * turn + odd
        width, quarter = beside << done, (length >> done) >> 2
        parts = _shaped(z, (rows, 4, quarter, width))

        def element(row: Any, o: Any, r: Any, i: Any) -> Complex:
            a, b, c, d = (parts[row, q, o, i] for q in range(4))
            even = chosen((r & 1) == 0, a + c, a - c)
            rest = chosen((r & 1) == 0, b + d, b - d)
            quarters = chosen((r & 1) == 0, rest, Complex(-sign * rest.imag, sign * rest.real))
            made = chosen(r < 2, even + quarters, even - quarters)
            return made * roots[(o * r) << done]

        return _shaped(generate((rows, quarter, 4, width), element), (total,))

    once = fori_loop(0, odd, two, z)
    return fori_loop(0, bits >> 1, four, once)


def chosen(p: Any, a: Complex, b: Complex) -> Complex:
    """One of two complex numbers."""
    return Complex(where(p, a.real, b.real), where(p, a.imag, b.imag))


def _by_chirp(z: Complex, sign: int) -> Complex:
    """Rows of any length: z[j] c[j], convolved with the inverse chirp, times c[k], where
    c[j] = e^(sign pi i j^2 / n)."""
    rows, n = z.shape
    part = z.real.dtype
    bits = _bits(2 * as_tracer(n) - 1)
    length = as_tracer(1) << bits

    def chirp(j: Any) -> Complex:
        return unit(((j * j) % (2 * n)) * (sign * math.pi) / n, part)

    chirps = generate(n, chirp)

    def padded(row: Any, j: Any) -> Complex:
        """The numbers times the chirp; in the last row the inverse chirp, on both sides of 0."""
        is_chirp = row == rows
        at = where(is_chirp & (j >= n), length - j, j)
        inside = at < n
        near = where(inside, at, 0)
        value = chirps[near]
        found = cond(
            is_chirp, lambda: Complex(value.real, -value.imag), lambda: z[row, near] * value
        )
        return Complex(where(inside, found.real, 0), where(inside, found.imag, 0))

    def both(turn: Any, z: Complex) -> Complex:
        """There; times the chirp; and back: with both parts exchanged the way back is the same."""
        found = _of_powers(z, bits, sign)

        def convolved(row: Any, j: Any) -> Complex:
            product = found[row, j] * found[rows, j]
            return Complex(product.imag, product.real)

        return cond(turn == 0, lambda: generate((rows + 1, length), convolved), lambda: found)

    found = fori_loop(0, 2, both, generate((rows + 1, length), padded))

    def element(row: Any, k: Any) -> Complex:
        return Complex(found.imag[row, k], found.real[row, k]) * chirps[k] / length

    return generate((rows, n), element)


def of_reals(x: Tracer, sign: int) -> Complex:
    """The first half of the transform of each row, of which the other is the mirror image."""
    rows, n = x.shape[0], as_tracer(x.shape[1])
    is_even, m = _halved(n)
    roots = _roots(n, x.element, sign)

    def pair(row: Any, j: Any) -> Complex:
        at = where(is_even, 2 * j, j)
        other = x[row, where(is_even, at + 1, at)]
        return Complex(x[row, at], where(is_even, other, 0))

    z = fourier(generate((rows, m), pair), sign)

    def element(row: Any, k: Any) -> Complex:
        a, b = z[row, where(k == m, 0, k)], z[row, where(k == 0, 0, m - k)]
        even = Complex((a.real + b.real) * 0.5, (a.imag - b.imag) * 0.5)
        odd = Complex((a.imag + b.imag) * 0.5, (b.real - a.real) * 0.5)
        return chosen(is_even, even + roots[k] * odd, a)

    return generate((rows, n // 2 + 1), element)


def to_reals(
    value: Callable[[Any, Any], Complex], rows: Any, length: Any, part: Any, sign: int
) -> Array:
    """Rows of `length` real elements from the first half of what is to be transformed; the
    imaginary parts of the first number, and of one in the middle, mean nothing."""
    n = as_tracer(length)
    is_even, m = _halved(n)
    roots = _roots(n, part, sign)

    def line(row: Any, k: Any) -> Complex:
        is_first = is_even | (k <= n // 2)
        a = value(row, where(is_first, k, n - k))
        b = value(row, where(is_even, m - k, 0))
        ends = is_even & (k == 0)
        up, down = where(ends, 0, a.imag), where(ends, 0, b.imag)
        turned = Complex(a.real - b.real, up + down) * roots[where(is_even, k, 0)]
        both = Complex(a.real + b.real - turned.imag, up - down + turned.real)
        return chosen(is_even, both, Complex(a.real, where(is_first, a.imag, -a.imag)))

    z = fourier(generate((rows, m), line), sign)

    def element(row: Any, j: Any) -> Array:
        found = z[row, where(is_even, j >> 1, j)]
        return where(is_even & ((j & 1) == 1), found.imag, found.real)

    return generate((rows, n), element)


def _halved(n: Any) -> tuple[Any, Any]:
    """Whether a number is even, and its half if it is."""
    is_even = (n & 1) == 0
    return is_even, where(is_even, n >> 1, n)


def _roots(n: Any, part: Any, sign: int) -> Complex:
    """w^k up to the middle, where it is -1."""

    def root(k: Any) -> Complex:
        found = unit(k * (sign * 2 * math.pi) / n, part)
        return chosen(2 * k == n, Complex(-1.0, 0.0), found)

    return generate(n // 2 + 1, root)


@operation(static="dtype device")
def fftfreq(n: Any, /, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of `fft`, in its order: 0, 1, .., -2, -1, divided by n * d.

    They are cycles per unit of `d`.

    Types: `n: extent, d: float -> f64[n]`. Raises NegativeExtentError for n below 0.
    Source: `numpy.fft.fftfreq`.

        >>> fw.fft.fftfreq(4)
        Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float64)
    """
    on_device(device, "fftfreq")
    places = iota(n)
    return _frequencies(where(places < (as_tracer(n) + 1) // 2, places, places - n), n, d, dtype)


@operation(static="dtype device")
def rfftfreq(n: Any, /, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of `rfft`: 0, 1, .., n // 2, divided by n * d; cycles per unit of `d`.

    Types: `n: extent, d: float -> f64[n // 2 + 1]`. Raises NegativeExtentError for n below -2.
    Source: `numpy.fft.rfftfreq`.

        >>> fw.fft.rfftfreq(4)
        Array([0.  , 0.25, 0.5 ], dtype=float64)
    """
    on_device(device, "rfftfreq")
    return _frequencies(iota(as_tracer(n) // 2 + 1), n, d, dtype)


def _frequencies(counts: Array, n: Any, d: Any, dtype: Any) -> Array:
    wanted = f64 if dtype is None else dtype_of(dtype)
    return (counts / (as_tracer(n) * as_tracer(d))).astype(wanted)


def _shifted(x: Any, axes: Any, who: str, inverse: bool) -> Array:
    array: Array = either(x, f"x of {who}")
    plain = array.real if isinstance(array, Complex) else array
    for axis in axes_named(plain, axes, who):
        half = array.shape[axis] // 2
        array = roll(array, -half if inverse else half, axis=axis)
    return array


@for_complex
@operation(static="axes")
def fftshift(x: Any, /, axes: Any = None) -> Array:
    """The frequency 0 moved to the middle, along all axes or those given.

    Types: `x: t[..] -> t[..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.fftshift`.

        >>> fw.fft.fftshift([0, 1, -2, -1])
        Array([-2, -1,  0,  1], dtype=int64)
    """
    return _shifted(x, axes, "fftshift", False)


@for_complex
@operation(static="axes")
def ifftshift(x: Any, /, axes: Any = None) -> Array:
    """The inverse of `fftshift`.

    Types: `x: t[..] -> t[..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.ifftshift`.

        >>> fw.fft.ifftshift([-2, -1, 0, 1])
        Array([ 0,  1, -2, -1], dtype=int64)
    """
    return _shifted(x, axes, "ifftshift", True)
