"""Discrete Fourier transforms of every row of a matrix, of any length.

    fourier(z: c128[rows, n], sign)       sum over j of z[.., j] e^(sign 2 pi i j k / n)

A length of 2^k is done by Stockham's steps: each halves the transforms and doubles their number,
and leaves the results in order. Another length is a convolution with a chirp, of a length of 2^k
(Bluestein); the squares in the chirp's angles are taken modulo 2 n, so that they stay exact.
"""

from __future__ import annotations

import math
from typing import Any

from flatweave.frontend.elements.elementwise import clz, cos, sin
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import cond, fori_loop
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.complex import Complex


def _unit(angle: Any, part: Any) -> Complex:
    """e^(i angle), computed in f64."""
    return Complex(cos(angle).astype(part), sin(angle).astype(part))


def _bits(n: Any) -> Any:
    """The least k with 2^k >= n."""
    return where(n <= 1, 0, 64 - clz(where(n <= 1, 1, n - 1)))


def fourier(z: Complex, sign: int) -> Complex:
    """The transform of each row; of a row of no elements nothing."""
    n = as_tracer(z.shape[1])
    exact = n == (as_tracer(1) << _bits(n))
    found: Complex = cond(
        exact, lambda z: _of_powers(z, _bits(n), sign), lambda z: _by_chirp(z, sign), z
    )
    return found


def _of_powers(z: Complex, bits: Any, sign: int) -> Complex:
    """Rows of 2^bits elements."""
    rows, n = z.shape
    part = z.real.dtype
    half = as_tracer(n) // 2
    roots = generate(half, lambda k: _unit(k * (sign * 2 * math.pi) / n, part))

    def step(turn: Any, z: Complex) -> Complex:
        stride = as_tracer(1) << turn

        def element(row: Any, at: Any) -> Complex:
            inner, outer = at & (stride - 1), at >> turn
            first = inner + stride * (outer >> 1)
            a, b = z[row, first], z[row, first + half]
            is_odd = (outer & 1) == 1
            turned = (a - b) * roots[(outer >> 1) * stride]
            straight = a + b
            return Complex(
                where(is_odd, turned.real, straight.real), where(is_odd, turned.imag, straight.imag)
            )

        made: Complex = generate((rows, n), element)
        return made

    found: Complex = fori_loop(0, bits, step, z)
    return found


def _by_chirp(z: Complex, sign: int) -> Complex:
    """Rows of any length: z[j] c[j], convolved with the inverse chirp, times c[k], where
    c[j] = e^(sign pi i j^2 / n)."""
    rows, n = z.shape
    part = z.real.dtype
    bits = _bits(2 * as_tracer(n) - 1)
    length = as_tracer(1) << bits

    def chirp(j: Any) -> Complex:
        return _unit(((j * j) % (2 * n)) * (sign * math.pi) / n, part)

    chirps: Complex = generate(n, chirp)

    def padded(row: Any, j: Any) -> Complex:
        inside = j < n
        at = where(inside, j, 0)
        product = z[row, at] * chirps[at]
        return Complex(where(inside, product.real, 0), where(inside, product.imag, 0))

    def inverse(_: Any, j: Any) -> Complex:
        at = where(j < n, j, length - j)
        inside = at < n
        value = chirps[where(inside, at, 0)]
        return Complex(where(inside, value.real, 0), where(inside, -value.imag, 0))

    signal = _of_powers(generate((rows, length), padded), bits, sign)
    kernel = _of_powers(generate((1, length), inverse), bits, sign)
    products = generate((rows, length), lambda row, j: signal[row, j] * kernel[0, j])
    found = _of_powers(products, bits, -sign)
    result: Complex = generate((rows, n), lambda row, k: found[row, k] * chirps[k] / length)
    return result
