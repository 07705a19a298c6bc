"""Products of many complex numbers: reductions and scans of pairs; products of vectors and matrices
as four of their parts."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType
from flatweave.frontend.arrays.axes import along, axes_of
from flatweave.frontend.arrays.down import scan_along
from flatweave.frontend.arrays.shapes import axis_of, raveled
from flatweave.frontend.complex.rules import first_value, rule, whole
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.trace.tracers import emit, flag_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.operators import METHODS
from flatweave.ops import Reduce
from flatweave.terms.syntax import Lambda, constant


def _product(part: DType) -> Lambda:
    """The product of two pairs."""

    def combine(a: Tracer, b: Tracer, c: Tracer, d: Tracer) -> list[Tracer]:
        def times(x: Tracer, y: Tracer) -> Tracer:
            return apply("mul", x, y)

        return [
            apply("sub", times(a, c), times(b, d)), apply("add", times(a, d), times(b, c)),
        ]  # fmt: skip

    return combine_lambda(combine, [part, part])


@rule("prod")
def product(
    xs: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *,
    initial: Any = None, where: Any = None,
) -> Any:  # fmt: skip
    """The product of all elements, or along axes."""
    initial = first_value(initial, xs, dtype)
    z = whole(xs) if where is None else METHODS["where"](where, xs, 1.0)
    z = whole(z) if dtype is None else METHODS["astype"](whole(z), dtype)
    part = z.real.element
    one = constant(1.0, part), constant(0.0, part)
    axes = axes_of(z.real, axis, "prod")
    if not axes:
        return z if initial is None else METHODS["mul"](initial, z)

    def reduction(parts: list[Tracer]) -> list[Tracer]:
        return emit(Reduce(_product(part), one, tuple(x.atom for x in parts)))

    found = Complex(*along([z.real, z.imag], axes, flag_of(keepdims, "keepdims"), reduction))
    return found if initial is None else METHODS["mul"](initial, found)


@rule("cumprod")
def running_product(xs: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The product of the elements up to each one."""
    z = whole(xs) if dtype is None else METHODS["astype"](whole(xs), dtype)
    if not isinstance(z, Complex):  # bools
        return METHODS["cumprod"](z, axis, dtype)
    parts = [z.real, z.imag]
    if axis is None:
        parts = [raveled(part) for part in parts]
    element = parts[0].element
    one = constant(1.0, element), constant(0.0, element)
    at = 0 if axis is None else axis_of(parts[0], axis, "cumprod")
    return Complex(*scan_along(_product(element), one, parts, at))


@rule("cumulative_prod")
def cumulative_product(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The product of the elements up to each one; with `include_initial` a 1 before them."""
    z = whole(x)
    if axis is None and z.ndim > 1:
        METHODS["cumulative_prod"](z.real)  # which asks for the axis
    found: Any = running_product(z, 0 if axis is None or not z.ndim else axis, dtype)
    if not include_initial:
        return found
    at = axis_of(found.real, 0 if axis is None else axis, "cumulative_prod")
    shape = tuple(1 if k == at else extent for k, extent in enumerate(found.shape))
    first = METHODS["ones"](shape, dtype=found.real.dtype)
    return METHODS["concat"]([first, found], at)


def _of_matrices(name: str) -> Any:
    """A bilinear function: four of it on the parts."""

    def bilinear(x: Any, y: Any, **options: Any) -> Complex:
        fn = METHODS[name]
        if not isinstance(x, Complex):
            return Complex(fn(x, y.real, **options), fn(x, y.imag, **options))
        if not isinstance(y, Complex):
            return Complex(fn(x.real, y, **options), fn(x.imag, y, **options))
        real = fn(x.real, y.real, **options) - fn(x.imag, y.imag, **options)
        return Complex(real, fn(x.real, y.imag, **options) + fn(x.imag, y.real, **options))

    return bilinear


for _name in ("dot", "matmul", "tensordot", "outer", "cross"):
    rule(_name)(_of_matrices(_name))


@rule("vecdot")
def inner_product(x1: Any, x2: Any, *, axis: int = -1) -> Complex:
    """The sum of conj(x1) * x2"""
    conjugate = METHODS["conj"](x1)
    found: Complex = _of_matrices("vecdot")(conjugate, x2, axis=axis)
    return found
