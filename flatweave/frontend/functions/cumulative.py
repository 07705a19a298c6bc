"""Sums and products of all elements up to each one, along an axis: cumsum, cumprod.

    cumsum(xs, axis=1)   one flat scan that starts anew with every row
    cumsum(xs, axis=0)   by blocks of rows (arrays/down.py)
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType
from flatweave.frontend.arrays.axes import converted
from flatweave.frontend.arrays.down import scan_along
from flatweave.frontend.arrays.shapes import axis_of, raveled, reshaped
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.lambdas import combine_lambda, single
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.trace import extents
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.promotion import dtype_of, wide_dtype
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import constant


@operation(static="axis dtype", axial=True)
def cumsum(xs: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The sum of the elements up to each one, in flat order or along `axis`; dtypes as `sum`'s.

    Types: `xs: t[..] -> t[..]`, small integers in i64 or u64; of rank 1 without an axis. Raises
    AxisError for an axis that is not there.

        >>> fw.cumsum([[1, 2], [3, 4]], axis=1)
        Array([[1, 3],
               [3, 7]], dtype=int64)
    """
    return _cumulative("cumsum", "add", xs, axis, dtype)


@operation(static="axis dtype", axial=True)
def cumprod(xs: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The product of the elements up to each one, in flat order or along `axis`.

    Types: `xs: t[..] -> t[..]`, small integers in i64 or u64; of rank 1 without an axis. Raises
    AxisError for an axis that is not there.

        >>> fw.cumprod([2, 3, 4])
        Array([ 2,  6, 24], dtype=int64)
    """
    return _cumulative("cumprod", "mul", xs, axis, dtype)


def _cumulative(who: str, fn: str, xs: Any, axis: Any, dtype: Any) -> Any:
    array = single(xs, who)
    wanted = wide_dtype(array.element) if dtype is None else dtype_of(dtype)
    array = converted(array, wanted)
    if axis is None:
        array = raveled(array)
    number = 0 if axis is None else axis_of(array, axis, who)
    if array.extents[number] == extents.ONE:
        return array
    if all(array.extents[a] == extents.ONE for a in range(array.ndim) if a != number):
        flat = reshaped(array, [array.extents[number]])
        return reshaped(_scanned(fn, wanted, flat, 0), array.extents)
    return _scanned(fn, wanted, array, number)


def _scanned(fn: str, wanted: DType, array: Tracer, axis: int) -> Tracer:
    """The prefixes along one axis, from the identity on."""
    lambda_ = combine_lambda(lambda a, b: [apply(fn, a, b)], [wanted])
    start = [constant(scalar.identity(fn, wanted), wanted)]
    return scan_along(lambda_, start, [array], axis)[0]
