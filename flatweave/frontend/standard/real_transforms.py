"""Fourier transforms of real rows, by complex rows of half as many elements where their number is
even: z[j] = x[2 j] + i x[2 j + 1].

    of_reals(x: f64[rows, n], sign)        the first n // 2 + 1 numbers of the transform of each row
    to_reals(value, rows, n, f64, sign)    the rows whose transforms begin with value(row, k)

With w = e^(sign 2 pi i / n) and m = n / 2, and E and O the transforms of the elements of even and
of odd numbers, of which fourier(z) = E + i O,

    X[k] = E[k] + w^k O[k],   E[k] + i O[k] = (X[k] + conj X[m - k]) + i w^k (X[k] - conj X[m - k])

the second for the way back, where what is wanted is not divided by 2. Rows of an odd number of
elements are complex ones whose imaginary part is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import DType
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.standard.transforms import either, fourier, unit
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.number_formats import Complex


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
        return either(is_even, even + roots[k] * odd, a)

    made: Complex = generate((rows, n // 2 + 1), element)
    return made


def to_reals(
    value: Callable[[Any, Any], Complex], rows: Any, length: Any, part: DType, sign: int
) -> Any:
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
        return either(is_even, both, Complex(a.real, where(is_first, a.imag, -a.imag)))

    z = fourier(generate((rows, m), line), sign)

    def element(row: Any, j: Any) -> Any:
        found = z[row, where(is_even, j >> 1, j)]
        return where(is_even & ((j & 1) == 1), found.imag, found.real)

    return generate((rows, n), element)


def _halved(n: Any) -> tuple[Any, Any]:
    """Whether a number is even, and its half if it is."""
    is_even = (n & 1) == 0
    return is_even, where(is_even, n >> 1, n)


def _roots(n: Any, part: Any, sign: int) -> Any:
    """w^k up to the middle, where it is -1."""

    def root(k: Any) -> Complex:
        found = unit(k * (sign * 2 * math.pi) / n, part)
        return either(2 * k == n, Complex(-1.0, 0.0), found)

    return generate(n // 2 + 1, root)
