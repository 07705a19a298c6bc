"""Arrays of complex numbers: arrangement, creation and sums, of each part separately, and products,
which are reductions and scans of pairs.

    reshape(z, (2, 3))        Complex(reshape(z.real, (2, 3)), reshape(z.imag, (2, 3)))
    concat([z, x]), z + x     x becomes a complex array first
    zeros(3, dtype=c64)       Complex(zeros(3, dtype=f32), ..)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from flatweave.base.dtypes import PARTS, DType, f64
from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.frontend.arrays.axes import along, axes_of
from flatweave.frontend.arrays.replacing import placed, update
from flatweave.frontend.arrays.row_scans import scan_along
from flatweave.frontend.arrays.shapes import axis_of, raveled, reshaped
from flatweave.frontend.complex.rules import RULES, first_value, rule, whole, zeros_like
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.trace.trace import pairs_in, parts_of
from flatweave.frontend.trace.tracers import as_tracer, emit, flag_of
from flatweave.frontend.values.array import METHODS, Array, Tracer
from flatweave.frontend.values.number_formats import Complex, complex_dtype
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Node, is_irregular
from flatweave.ops import Reduce, Weave
from flatweave.terms.build import index
from flatweave.terms.syntax import Lambda, constant

T = TypeVar("T")
MOVED = (
    "getitem", "reshape", "transpose", "reverse", "rotate", "expand_dims", "broadcast",
    "broadcast_to", "unstack", "squeeze", "moveaxis", "permute_dims", "matrix_transpose", "flip",
    "roll", "repeat", "take", "take_along_axis", "tril", "triu", "diagonal", "fftshift",
    "ifftshift", "neg", "positive", "round", "rint",
)  # fmt: skip
# functions that are linear in these parameters, which may be real as well
LINEAR = {
    "add": "x y", "sub": "x y", "where": "a b", "concat": "arrays", "stack": "arrays",
    "shift": "xs fill", "gather": "xs default", "diff": "x prepend append",
}  # fmt: skip
SUMMED = ("sum", "cumsum", "cumulative_sum", "mean", "trace")
MADE = {"zeros": "zeros", "ones": "ones", "eye": "eye", "empty": "zeros"}
LIKE = ("zeros_like", "ones_like", "empty_like")


def portion(value: Any, name: str) -> Any:
    """A part of each complex value, in lists and tuples, too, and the dtype of the parts of a
    complex one; other values as they are."""
    if isinstance(value, Complex):
        return getattr(value, name)
    if type(value) in (tuple, list):
        return type(value)(portion(each, name) for each in value)
    if isinstance(value, Mapping):
        return {k: each if k == "order" else portion(each, name) for k, each in value.items()}
    dtype = complex_dtype(value)
    return value if dtype is None else PARTS[dtype]


def together(real: Any, imag: Any) -> Any:
    """What a function gave for both parts, as complex values."""
    if type(real) in (tuple, list):
        return type(real)(together(a, b) for a, b in zip(real, imag, strict=True))
    if real is imag:
        return real
    if isinstance(real, Tracer) and not real.element.is_float:  # moved, and not computed with
        real, imag = (METHODS["astype"](part, f64) for part in (real, imag))
    return Complex(real, imag)


def by_parts(name: str) -> Callable[..., Complex]:
    """A function of this name, done to each part."""

    def moved(*args: Any, **kwargs: Any) -> Complex:
        function = METHODS[name]
        found = [
            function(*portion(args, part), **portion(kwargs, part)) for part in ("real", "imag")
        ]
        whole: Complex = together(*found)
        return whole

    return moved


def _linear(name: str, params: Sequence[str]) -> Callable[..., Complex]:
    """The same, with the arguments of these parameters as complex numbers."""

    def linear(*args: Any, **kwargs: Any) -> Complex:
        given = inspect.signature(METHODS[name]).bind(*args, **kwargs)
        for param in params:
            value = given.arguments.get(param)
            if value is not None:
                several = param == "arrays" and type(value) in (tuple, list)
                given.arguments[param] = [*map(whole, value)] if several else whole(value)
        return by_parts(name)(*given.args, **given.kwargs)

    return linear


for _name in MOVED:
    rule(_name)(by_parts(_name))
for _name, _params in LINEAR.items():
    rule(_name)(_linear(_name, _params.split()))


def _joined(name: str) -> Callable[..., Any]:
    """A function of several arrays: of their pairs, or into pairs, where it can; else of parts."""
    by_part = RULES[name]

    def joined(arrays: Any, axis: Any = 0) -> Any:
        numbers = [*map(whole, arrays)] if any(isinstance(x, Complex) for x in arrays) else []
        if len({(z.ndim, z.real.element) for z in numbers}) != 1 or current().depth:
            return by_part(arrays, axis)
        first, pairs = numbers[0].real, [*map(pairs_in, numbers)]
        by_row = axis == 0 or (axis, name, first.ndim) == (None, "concat", 1)
        if by_row and first.ndim and None not in pairs:
            return parts_of(as_tracer(METHODS[name](pairs, 0)))
        if name == "concat" or axis not in (-1, first.ndim) or not first.ndim:
            return by_part(arrays, axis)
        METHODS[name]([z.real for z in numbers], axis)  # compares extents
        parts = tuple(part.atom for z in numbers for part in (z.real, z.imag))
        return parts_of(emit(Weave((*first.extents, index(len(pairs)), index(2)), parts))[0])

    return joined


rule("concat")(_joined("concat"))
rule("stack")(_joined("stack"))


@rule("tile")
def repeated(x: Complex, repetitions: Any) -> Any:
    """The array repeated: one of one axis as `concat` does it, else each part."""
    times = repetitions if isinstance(repetitions, tuple | list) else [repetitions]
    if x.ndim == len(times) == 1 and type(times[0]) is int and times[0] > 0:
        return METHODS["concat"]([x] * times[0])
    return by_parts("tile")(x, repetitions)


rule("real")(attrgetter("real"))
rule("imag")(attrgetter("imag"))


def _side_by_side(name: str) -> Callable[..., Any]:
    """A function of arrays of which only some may be complex: each keeps its kind."""

    def side_by_side(*arrays: Any, **options: Any) -> tuple[Array, ...]:
        real: Any = METHODS[name](*portion(arrays, "real"), **options)
        imag: Any = METHODS[name](*portion(arrays, "imag"), **options)
        return tuple(
            Complex(a, b) if isinstance(array, Complex) else a
            for array, a, b in zip(arrays, real, imag, strict=True)
        )

    return side_by_side


for _name in ("meshgrid", "broadcast_arrays"):
    rule(_name)(_side_by_side(_name))


@rule("replace")
def replaced(xs: Any, key: Any, values: Any) -> Node:
    """Some elements changed, of a complex array or to complex numbers."""
    if is_irregular(xs):
        rows: Node = METHODS["with_row"](xs, key, values)
        return rows
    xs, values = whole(xs), whole(values)
    return Complex(*(METHODS["replace"](portion(xs, part), key, portion(values, part))
                     for part in ("real", "imag")))  # fmt: skip


@rule("update")
def updated(xs: Any, key: Any, values: Any, how: str) -> Complex:
    """Some elements changed by sums, part by part, or by products of complex numbers."""
    if how not in UPDATES:
        raise Unsupported.here(
            f"at[..].{how} of complex numbers, which have no order.",
            "Do it with the real and the imaginary part: fw.real(x), fw.imag(x).",
        )
    x, value = whole(xs), whole(values)
    return UPDATES[how]([(x.real, value.real), (x.imag, value.imag)], key)


def _added(parts: Sequence[tuple[Tracer, Tracer]], key: Any) -> Complex:
    return Complex(*(update(x, key, value, "add") for x, value in parts))


def _multiplied(parts: Sequence[tuple[Tracer, Tracer]], key: Any) -> Complex:
    found = [placed(x, key, value) for x, value in parts]
    flat = Complex(*(raveled(x) for x, _ in parts))
    factors = Complex(*(value for _, value in found))
    made = METHODS["permute"](METHODS["mul"], flat, found[0][0], factors)
    shape = parts[0][0].extents
    return Complex(reshaped(made.real, shape), reshaped(made.imag, shape))


UPDATES = {"add": _added, "multiply": _multiplied}


@rule("linspace")
def evenly_spaced(
    start: Any, stop: Any, num: int, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Array:
    """Numbers on the line between two complex ones."""
    ends = whole(start), whole(stop)
    found = by_parts("linspace")(*ends, num, device=device, endpoint=endpoint)
    return found if dtype is None else METHODS["astype"](found, dtype)


@rule("arange")
def counted(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> Array:
    """Real numbers in a complex dtype."""
    if any(isinstance(number, Complex) for number in (start, stop, step)):
        raise ArgumentError.here(
            "arange from, to or by a complex number.",
            "Write start + step * fw.arange(n) for n numbers.",
        )
    found = METHODS["arange"](start, stop, step, device=device)
    return METHODS["astype"](found, dtype)


def _summed(name: str) -> Callable[..., Any]:
    """A sum: each part separately, in the requested dtype."""
    moved = by_parts(name)

    def summed(xs: Any, *args: Any, dtype: Any = None, **options: Any) -> Array:
        array = whole(xs) if dtype is None else METHODS["astype"](whole(xs), dtype)
        if not isinstance(array, Complex):  # bools
            return METHODS[name](array, *args, dtype=dtype, **options)
        if options.get("initial") is not None:
            options["initial"] = first_value(options["initial"], xs, dtype)
        return moved(array, *args, **options)

    return summed


for _name in SUMMED:
    rule(_name)(_summed(_name))


def _made(name: str) -> Callable[..., Any]:
    """An array of a real number: the imaginary part is 0."""

    def made(*args: Any, **kwargs: Any) -> Complex:
        real = as_tracer(METHODS[name](*portion(args, "real"), **portion(kwargs, "real")))
        return Complex(real, zeros_like(real))

    return made


for _name, _real in MADE.items():
    rule(_name)(_made(_real))


def _made_like(name: str) -> Callable[..., Any]:
    """An array of a real number and the shape of another."""

    def made(x: Any, dtype: Any = None, *, device: Any = None) -> Array:
        shape = x.real if isinstance(x, Complex) else x
        wanted = complex_dtype(dtype) if dtype is not None else None
        if dtype is not None and wanted is None:
            return METHODS[name](shape, dtype=dtype, device=device)
        part = None if wanted is None else PARTS[wanted]
        real = as_tracer(METHODS[name](shape, dtype=part, device=device))
        return Complex(real, zeros_like(real))

    return made


for _name in LIKE:
    rule(_name)(_made_like(_name))


@rule("full")
def filled(
    shape: Any, fill_value: Any = None, dtype: Any = None, *, device: Any = None, v: Any = None
) -> Array:
    """An array of one complex number."""
    return _filled("full", shape, whole(v if fill_value is None else fill_value), dtype, device)


def _filled(name: str, shape: Any, value: Any, dtype: Any, device: Any) -> Array:
    """Both parts; in a real array a complex number is refused as astype refuses it."""
    wanted = None if dtype is None else complex_dtype(dtype)
    if dtype is not None and wanted is None:
        real = METHODS["astype"](value, dtype) if isinstance(value, Complex) else value
        return METHODS[name](shape, real, dtype=dtype, device=device)
    value, part = whole(value), None if wanted is None else PARTS[wanted]
    return Complex(*(
        METHODS[name](shape, each, dtype=part, device=device) for each in (value.real, value.imag)
    ))  # fmt: skip


@rule("full_like")
def filled_like(x: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of one complex number and the shape of another; its dtype, too, if it is complex."""
    shape = x.real if isinstance(x, Complex) else as_tracer(x)
    return _filled("full_like", shape, fill_value, x.dtype if dtype is None else dtype, device)


def _truth(value: T) -> T | Array:
    """Whether each complex number is not 0; anything else as it is."""
    return (value.real != 0) | (value.imag != 0) if isinstance(value, Complex) else value


def _of_truth(name: str) -> Callable[..., Any]:
    """A function that asks of each element only whether it is 0."""
    return lambda *args, **kwargs: METHODS[name](*map(_truth, args), **kwargs)


for _name in ("any", "all", "count_nonzero", "nonzero", "logical_not", "logical_and", "logical_or",
              "logical_xor"):  # fmt: skip
    rule(_name)(_of_truth(_name))


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
) -> Array:  # fmt: skip
    """The product of all elements, or along axes."""
    initial = first_value(initial, xs, dtype)
    z = whole(xs)
    if where is not None:  # a part of 1 and one of 0 are neutral
        masked = METHODS["masked"]
        z = Complex(masked("prod", z.real, where), masked("sum", z.imag, where))
    numbers: Array = z if dtype is None else METHODS["astype"](z, dtype)
    if not isinstance(numbers, Complex):  # bools
        return METHODS["prod"](numbers, axis, dtype, keepdims, initial=initial)
    z = numbers
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
def running_product(xs: Any, axis: Any = None, dtype: Any = None) -> Array:
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
) -> Array:
    """The product of the elements up to each one; with `include_initial` a 1 before them."""
    z = whole(x)
    if axis is None and z.ndim > 1:
        METHODS["cumulative_prod"](z.real)  # which asks for the axis
    numbers: Array = z if dtype is None else METHODS["astype"](z, dtype)
    if not isinstance(numbers, Complex):  # bools
        return METHODS["cumulative_prod"](
            numbers, axis=axis, dtype=dtype, include_initial=include_initial
        )
    found = whole(running_product(z, 0 if axis is None or not z.ndim else axis, dtype))
    if not include_initial:
        return found
    at = axis_of(found.real, 0 if axis is None else axis, "cumulative_prod")
    shape = tuple(1 if k == at else extent for k, extent in enumerate(found.shape))
    first = METHODS["ones"](shape, dtype=found.real.dtype)
    return METHODS["concat"]([first, found], at)
