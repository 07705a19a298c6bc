"""Which rule a function has for complex numbers, and the values that rules are given.

    on_complex(add, (z, 1.0), {})      RULES["add"](z, 1.0), where z: Complex(real, imag)
    whole(x)                           Complex(x, zeros_like(x))

The rules here are those of products, of matrices too, quotients, sizes and comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flatweave.base.dtypes import PARTS
from flatweave.base.errors import Unsupported
from flatweave.frontend.elements.broadcasting import generated
from flatweave.frontend.elements.elementwise import abs, hypot, isfinite, isinf, isnan
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.trace.trace import lifted
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.arguments import any_dtype_of, common
from flatweave.frontend.values.array import METHODS, Array, Tracer, describe
from flatweave.frontend.values.asarray import is_number_list, list_values, no_array
from flatweave.frontend.values.number_formats import (
    Complex,
    Composed,
    Traced,
    complex_dtype,
    not_real,
    speaks_of_complex,
)
from flatweave.terms.syntax import constant

Rule = Callable[..., Any]
T = TypeVar("T", bound=Rule)
RULES: dict[str, Rule] = {}
# functions of arrays of any elements: tuples, and pairs just so
ANY_ELEMENTS = frozenset({
    "map", "zip_with", "reduce", "scan", "filter", "partition", "generate", "cond", "while_loop",
    "fori_loop", "backpermute", "scatter", "permute", "reduce_by_index", "expand",
    "expand_reduce", "segmented_scan", "segmented_reduce", "replicate", "vmap", "stencil",
    "histogram", "ragged", "row", "store", "jvp", "vjp", "grad", "value_and_grad",
    "stop_gradient", "linearize", "linear_transpose",
})  # fmt: skip


# functions of several arrays in a list or tuple
OF_SEVERAL = frozenset({"concat", "stack"})
# functions written for numbers of either kind
FOR_COMPLEX: set[str] = set()


def for_complex(function: T) -> T:
    """Declare that a function is written for complex numbers as well as for real ones."""
    FOR_COMPLEX.add(function.__name__)
    return function


def either(value: Any, name: str) -> Traced:
    """An argument as a traced array, real or complex, or of floats of 16 bits."""
    return value if isinstance(value, Composed) else as_tracer(value, name)


def rule(*names: str) -> Callable[[T], T]:
    """Declare what functions of these names mean for complex numbers."""

    def declare(meaning: T) -> T:
        for name in names:
            RULES[name] = meaning
        return meaning

    return declare


def on_complex(body: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """A public function called with complex numbers; Unsupported where it has no meaning for them.
    """
    name = body.__name__
    level = None if name in ANY_ELEMENTS else int(name in OF_SEVERAL)
    given = [lifted_in(arg, level) for arg in args]
    named = {key: lifted_in(value, level) for key, value in kwargs.items()}
    if name in RULES:
        for value in (*given, *named.values()):
            if type(value) is tuple and name not in OF_SEVERAL and speaks_of_complex(value):
                raise no_array(value, f"an argument of {name}")
        return RULES[name](*given, **named)
    if name in ANY_ELEMENTS or name in FOR_COMPLEX:
        return body(*given, **named)
    raise Unsupported.here(
        f"{name} of complex numbers.",
        "Do it with the real and the imaginary part: fw.real(x), fw.imag(x).",
    )


def composed(body: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> object:
    """A function that is written on public ones, with values of the trace for complex numbers."""
    named = {key: lifted_in(value, level) for key, value in kwargs.items()}
    return body(*(lifted_in(arg, level) for arg in args), **named)


def lifted_in(value: Any, level: int | None = None) -> object:
    """A value of the trace for each complex one from outside, in lists and tuples, too; at a level
    of these, from 0, a list of numbers is one array."""
    if level == 0 and is_number_list(value):
        return lifted(list_values(value)) if speaks_of_complex(value) else value
    if type(value) in (tuple, list):
        below = level - 1 if level else None
        return type(value)(lifted_in(part, below) for part in value)
    return lifted(value)


def whole(value: Any, name: str = "") -> Complex:
    """A number or array as a complex one; the imaginary part of a real one is 0."""
    found = lifted(value)
    if isinstance(found, Complex):
        return found
    real = as_tracer(value, name)
    if real.weak:
        return Complex(real, as_tracer(0.0))
    return Complex(real, zeros_like(real))


def first_value(initial: Any, xs: Any, dtype: Any) -> Complex | None:
    """The initial value of a sum or product; DTypeError for a complex one of real numbers."""
    if initial is None:
        return None
    value = whole(initial)
    if not isinstance(xs, Complex) and dtype is None:
        raise not_real(describe(value), as_tracer(xs).element)
    return value


def zeros_like(x: Tracer) -> Tracer:
    """An array of 0 of the same shape and dtype."""
    zero = tracer_of(constant(x.element.numpy.type(0).item(), x.element))
    return generated(x.extents, lambda *at: zero)[0]


def number(value: float, like: Any) -> Array:
    """A number in the dtype of a traced array, real or complex."""
    if isinstance(like, Complex):
        return Complex(number(value, like.real), number(0, like.imag))
    return tracer_of(constant(like.element.numpy.type(value).item(), like.element))


@rule("mul")
def multiplied(x: Any, y: Any) -> Complex:
    """(ac - bd) + i(ad + bc); with a real number each part separately."""
    if not isinstance(x, Complex):
        x, y = y, x
    if not isinstance(y, Complex):
        return Complex(x.real * y, x.imag * y)
    return Complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


@rule("truediv")
def divided(x: Any, y: Any) -> Complex:
    """The quotient by Smith's method, whose squares do not overflow."""
    z = whole(x)
    if not isinstance(y, Complex):
        return Complex(z.real / y, z.imag / y)
    part = common((z.real, z.imag, y.real, y.imag))[0]
    c, d = (v if v.weak or v.element is part else v.astype(part) for v in (y.real, y.imag))
    is_flat = abs(c) >= abs(d)
    most, least = where(is_flat, c, d), where(is_flat, d, c)
    is_zero = most == 0  # then the parts are divided by 0
    ratio = least / where(is_zero, 1, most)
    size = where(is_zero, most, most + least * ratio)
    real = where(is_flat, z.real + z.imag * ratio, z.real * ratio + z.imag)
    imag = where(is_flat, z.imag - z.real * ratio, z.imag * ratio - z.real)
    return Complex(real / size, imag / size)


@rule("reciprocal")
def inverted(x: Any) -> Complex:
    """1 / x"""
    return divided(1.0, x)


@rule("square")
def squared(x: Complex) -> Complex:
    """x * x"""
    return multiplied(x, x)


@rule("conj")
def conjugated(x: Complex) -> Complex:
    """a - ib"""
    return Complex(x.real, -x.imag)


@rule("abs")
def size(x: Complex) -> Array:
    """The distance from 0, without overflow."""
    return hypot(x.real, x.imag)


@rule("sign")
def direction(x: Complex) -> Complex:
    """x / |x|; 0 for 0."""
    length = size(x)
    none = length == 0
    by = where(none, 1, length)
    return Complex(where(none, 0, x.real / by), where(none, 0, x.imag / by))


@rule("equal")
def equals(x: Any, y: Any) -> Array:
    """Whether both parts are equal."""
    z, w = whole(x), whole(y)
    return (z.real == w.real) & (z.imag == w.imag)


@rule("not_equal")
def differs(x: Any, y: Any) -> Array:
    """Whether one of the parts differs."""
    z, w = whole(x), whole(y)
    return (z.real != w.real) | (z.imag != w.imag)


@rule("isnan")
def is_nan(x: Complex) -> Array:
    """Whether a part is NaN."""
    return isnan(x.real) | isnan(x.imag)


@rule("isinf")
def is_infinite(x: Complex) -> Array:
    """Whether a part is infinite."""
    return isinf(x.real) | isinf(x.imag)


@rule("isfinite")
def is_finite(x: Complex) -> Array:
    """Whether both parts are finite."""
    return isfinite(x.real) & isfinite(x.imag)


@rule("astype")
def converted(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Array:
    """The values in another dtype; DTypeError for a real one, which has no imaginary part."""
    wanted = complex_dtype(dtype)
    if wanted is not None:
        z = whole(x)
        return Complex(astype(z.real, PARTS[wanted]), astype(z.imag, PARTS[wanted]))
    if any_dtype_of(dtype).kind == "b":
        z = whole(x)
        return (z.real != 0) | (z.imag != 0)
    raise not_real(describe(x), any_dtype_of(dtype))


def _of_matrices(name: str) -> Callable[..., Complex]:
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


for _product_name in ("dot", "matmul", "tensordot", "outer", "cross"):
    rule(_product_name)(_of_matrices(_product_name))


@rule("vecdot")
def inner_product(x1: Any, x2: Any, *, axis: int = -1) -> Array:
    """The sum of conj(x1) * x2"""
    METHODS["vecdot"](*(x.real if isinstance(x, Complex) else x for x in (x1, x2)), axis=axis)
    if axis != -1:  # of arrays whose ranks may differ
        x1, x2 = (METHODS["moveaxis"](x, axis, -1) for x in (x1, x2))
    return METHODS["sum"](METHODS["mul"](METHODS["conj"](x1), x2), axis=-1)
