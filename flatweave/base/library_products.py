"""Products of matrices by a BLAS, NumPy's or a device's, and from what size on programs have them
there.

    PRODUCTS[True, False, "", False, False]     matmul_3f2a..(a: f64[k, m], b: f64[k, n]): a.T @ b

The functions are registered when this is imported: a process that recalls a program from disk calls
them by their names.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from flatweave.base.host_functions import FILLS, Values, register
from flatweave.base.records import record

BLAS = "NumPy's BLAS where the product is large"
LEFT, RIGHT, NEITHER = "left", "right", ""
"""Which factor makes a product 0 where it is 0, even if the other one is infinite or NaN: the
cotangent in a gradient."""


@np.errstate(all="ignore")
def matmul(
    left: bool, right: bool, zeros: str, left_conjugated: bool, right_conjugated: bool,
    factors: Sequence[Values], out: Values,
) -> None:  # fmt: skip
    """Write the product of two matrices to `out`; the left and the right one may be transposed, and
    conjugated."""
    a, b = factors
    a, b = a.T if left else a, b.T if right else b
    a, b = np.conj(a) if left_conjugated else a, np.conj(b) if right_conjugated else b
    np.matmul(a, b, out=out)
    if zeros == LEFT:
        _leave_out(a, b, out)
    elif zeros == RIGHT:
        _leave_out(b.T, a.T, out.T)


def _leave_out(a: Values, b: Values, found: Values) -> None:
    """Correct a product for zeros of `a` that meet infinite elements of `b`, or NaN."""
    if not np.isnan(found).any():
        return
    finite = np.isfinite(b).all(axis=1)
    if finite.all():
        return
    found[...] = np.matmul(a[:, finite], b[finite])
    for step in np.flatnonzero(~finite):
        column = a[:, step, None]
        found += np.where(column == 0, 0, column * b[step])


def _registered(
    left: bool, right: bool, zeros: str, left_conjugated: bool, right_conjugated: bool
) -> str:
    fill = functools.partial(matmul, left, right, zeros, left_conjugated, right_conjugated)

    def call(factors: Sequence[Values]) -> Sequence[Any]:
        a, b = factors
        shape = a.shape[1 if left else 0], b.shape[0 if right else 1]
        found = np.empty(shape, np.result_type(a, b))
        fill(factors, found)
        return [found]

    conjugated = f" {left_conjugated} {right_conjugated}" * (left_conjugated or right_conjugated)
    name = register(matmul, call, f"{left} {right} {zeros}{conjugated}", BLAS)
    FILLS[name] = fill
    return name


PRODUCTS = {
    kind: _registered(*kind)
    for kind in product(
        (False, True), (False, True), (NEITHER, LEFT, RIGHT), (False, True), (False, True)
    )
    if kind[2] == NEITHER or not any(kind[3:])
}
"""The names for programs: whether the left and the right one are transposed, whose zeros count,
and whether the left and the right one are conjugated."""
KINDS = {name: kind for kind, name in PRODUCTS.items()}
"""What each of these names means."""


@record(eq=True)
class ProductSizes:
    """The library computes products of at least `multiplications`, if each of the extents is
    large enough. One that is BLAS alone conjugates only what it transposes, and knows no factor
    whose zeros count more than what is infinite; but it multiplies stacks of matrices."""

    extent: int
    multiplications: int
    is_blas: bool = False

    def has(self, *, turned: bool, conjugated: bool) -> bool:
        """Whether it takes a matrix so."""
        return turned or not (conjugated and self.is_blas)

    def admits(self, extent: int, multiplications: int) -> bool:
        """Whether the library computes a product of these sizes; `extent` is its smallest one."""
        return extent >= self.extent and multiplications >= self.multiplications


LARGE = ProductSizes(extent=32, multiplications=1 << 17)
"""For programs, where a step of the library takes some 4.5 us more than its work, and what it gives
is stored; a complex multiplication counts as four. Microseconds of calls by a program's own
kernels, by the step, and by NumPy alone, one thread of a Zen 4 with AVX-512:

    extents    f32                f64                c64                 c128
    32         2.5   6.0   1.6    4.1   6.6   2.2    65    10.8  4.4     10.4  14.0  7.6
    48         7.1   7.4   3.0    10.2  9.3   4.9    245   17.5  11.1    99    27.4  21.0
    64         11.3  10.0  5.6    21.2  14.5  10.3   31    30.3  24.1    77    55.6  48.3
    96         33    20.6  16.5   63    36.8  31.7   852   80.5  73.2    258   158   149
    128        79    48.6  43.4   162   93.8  88.5   331   182   169     678   379   357
"""
ON_DEVICES = ProductSizes(extent=32, multiplications=1 << 18, is_blas=True)
"""For cuBLAS: a product of 64 x 64 matrices is as long as a launch."""
FEW = 1 << 17
"""Outside of programs: products with so few multiplications take less time than a call of one."""
MANY, SMALL = 1000, 1 << 12
"""A program computes stacks of at least `MANY` products of at most `SMALL` multiplications each:
NumPy calls its BLAS once for each product. CPU time of a product of a large stack in ns, program
and NumPy, one thread of a Zen 4 with AVX-512:

    extents    4           8           12          16          24          32
    f32        9    30     18   49     49   66     76   102    355  373    605   643
    f64        11   31     23   48     91   117    175  193    649  567    2263 1327
"""
FEW_RESULTS, LONG = 64 * 64, 4096
"""Few sums of this many products are computed by a program: 8 x 8 of 10^6 f64 take 4 ms, and 18 by
the library."""
