"""Products of matrices by a BLAS, NumPy's or a device's, and from what size on programs have them
there.

    PRODUCTS[True, False, "", False, False]     matmul_3f2a..(a: f64[k, m], b: f64[k, n]): a.T @ b

The functions are registered when this is imported: a process that recalls a program from disk calls
them by their names. Machine code calls NumPy's own loop where it knows its address (`loop_of`).
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from flatweave.base.dtypes import as_dtype
from flatweave.base.plan import FILLS, HostCall, Values, register
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
    a, b = a.mT if left else a, b.mT if right else b
    a, b = np.conj(a) if left_conjugated else a, np.conj(b) if right_conjugated else b
    np.matmul(a, b, out=out)
    if zeros == LEFT:
        _leave_out(a, b, out)
    elif zeros == RIGHT:
        _leave_out(b.mT, a.mT, out.mT)


def _leave_out(a: Values, b: Values, found: Values) -> None:
    """Correct a product for zeros of `a` that meet infinite elements of `b`, or NaN."""
    if not np.isnan(found).any():
        return
    if found.ndim > 2:
        around = found.shape[:-2]
        a, b = (np.broadcast_to(x, (*around, *x.shape[-2:])) for x in (a, b))
        for at in np.ndindex(around):
            _leave_out(a[at], b[at], found[at])
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
        around = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = a.shape[-1 if left else -2], b.shape[-2 if right else -1]
        found = np.empty((*around, *shape), np.result_type(a, b))
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


# NumPy's own loop of a product: what np.matmul calls for each stack, with the same bits.
#
#     void loop(char **data, intp *sizes, intp *strides, void *state)
#
# Machine code of a program calls it without Python and without its lock (`fw_call_host` in
# runtime/launch.ll). Python makes the call for conjugated factors, for NaN in a product where zeros
# count, and where the fields of np.matmul are not known.


class _Ufunc(ctypes.Structure):
    """The first fields of PyUFuncObject in NumPy's C interface, after the object's head."""

    _fields_ = [
        ("taken", ctypes.c_int), ("given", ctypes.c_int), ("arguments", ctypes.c_int),
        ("identity", ctypes.c_int), ("loops", ctypes.POINTER(ctypes.c_void_p)),
        ("states", ctypes.POINTER(ctypes.c_void_p)), ("count", ctypes.c_int),
        ("reserved", ctypes.c_int), ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_ubyte)),
    ]  # fmt: skip


@functools.cache
def loops() -> dict[str, tuple[int, int]]:
    """np.matmul's loop and its state for each dtype; empty where its fields are not known."""
    if sys.implementation.name != "cpython":
        return {}
    fields = _Ufunc.from_address(id(np.matmul) + object.__basicsize__)
    known = fields.taken, fields.given, fields.arguments, fields.count
    if known != (2, 1, 3, np.matmul.ntypes) or fields.name != b"matmul":
        return {}
    found = {}
    for dtype in map(np.dtype, "fdFD"):
        at = np.matmul.types.index(f"{dtype.char}{dtype.char}->{dtype.char}")
        loop, types = fields.loops[at], fields.types[3 * at : 3 * at + 3]
        if not loop or types != [dtype.num] * 3:
            return {}
        found[dtype.name] = loop, fields.states[at] or 0
    return found


ONE = -1
"""Instead of the number of a word: 1."""
Triple = tuple[int, ...]
"""The numbers of two words of a call, and a factor, which are multiplied."""


def loop_of(call: HostCall) -> list[int]:
    """NumPy's loop for a product, its state, the bytes of an element if Python makes the call for
    NaN, and triples for the three addresses, four sizes and nine strides. Empty where Python makes
    every call: also for stacks along more than two axes."""
    if call.fn not in KINDS:
        return []
    left, right, zeros, *conjugated = KINDS[call.fn]
    dtype = as_dtype(call.results[0].dtype).dtype
    pair = dtype.kind == "c"
    ranks = [len(each.varying or ()) - pair for each in (*call.operands, *call.results)]
    if any(conjugated) or dtype.name not in loops() or ranks[2] > 4:
        return []
    size, a = dtype.itemsize, 0  # words of an operand: data, owner, extents; then of the result
    b = a + 2 + ranks[0] + pair
    out = b + 2 + ranks[1] + pair
    extents = [range(at, at + rank) for at, rank in zip((a + 2, b + 2, out), ranks, strict=True)]
    *stack, rows, columns = extents[2]
    turned = left, right, False
    found = [_strides(each, size, turns) for each, turns in zip(extents, turned, strict=True)]
    triples: list[Triple] = [
        (a, ONE, 1), (b, ONE, 1), (out + ranks[2] + pair, ONE, 1),
        (*(*stack, ONE, ONE)[:2], 1), (rows, ONE, 1), (extents[0][-2 if left else -1], ONE, 1),
        (columns, ONE, 1), *(between for between, _ in found),
        *itertools.chain(*(along for _, along in found)),
    ]  # fmt: skip
    return [*loops()[dtype.name], size if zeros else 0, *itertools.chain(*triples)]


def _strides(extents: Sequence[int], size: int, turned: bool) -> tuple[Triple, list[Triple]]:
    """How far matrices are from each other, one for all from itself, and elements along each axis
    of a matrix that may be transposed; `extents` are the words that have them."""
    *stack, rows, columns = extents
    between = (rows, columns, size) if stack else (ONE, ONE, 0)
    along: list[Triple] = [(columns, ONE, size), (ONE, ONE, size)]
    return between, along[::-1] if turned else along


@record(eq=True)
class ProductSizes:
    """The library computes products of at least `multiplications`, if each of the extents is
    large enough; those of stacks if each has `of_stacks`. One that is BLAS alone conjugates only
    what it transposes, and knows no factor whose zeros count more than what is infinite."""

    extent: int
    multiplications: int
    of_stacks: int = 0
    is_blas: bool = False

    def has(self, *, turned: bool, conjugated: bool) -> bool:
        """Whether it takes a matrix so."""
        return turned or not (conjugated and self.is_blas)

    def admits(self, extent: int, multiplications: int) -> bool:
        """Whether the library computes a product of these sizes; `extent` is its smallest one."""
        return extent >= self.extent and multiplications >= self.multiplications


LARGE = ProductSizes(extent=8, multiplications=1 << 12, of_stacks=1 << 20)
"""For programs; a complex multiplication counts as four. What the library gives is stored. Of
a stack the library multiplies one matrix at a time; a program shares them out among its threads.
Microseconds of calls, by a program's own kernels and by the library's loop, one thread of a Zen 3
with AVX2. `np.matmul` takes as long as the second, and a step by Python 4 us more:

    extents    f32            f64            c64            c128
    8          1.3   1.3      1.3   1.3      2.7   1.4      2.8   1.4
    16         2.1   1.5      1.6   1.6      9.8   1.9      3.1   2.4
    24         3.8   1.8      2.8   2.3      23    3.0      16    4.4
    32         3.3   2.4      4.3   3.4      12    5.0      18    8.1
    64         11    7.9      33    15       45    26       97    50
    128        51    49       165   101      287   185      513   364
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
