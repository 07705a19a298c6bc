"""Elementwise functions: on scalars in element functions, on arrays of any shapes elsewhere.

    add(x, y)      x + y, promoted as NumPy 2 does          select(p, a, b)      where

Each is one row of the scalar table; reductions and others build on `apply`, which takes scalars.
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import bool_, i8, i64, u8
from flatweave.base.errors import ArgumentError, DTypeError, UserError
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import cast, compared, must_fit, strong, zipped
from flatweave.frontend.trace.extents import ZERO
from flatweave.frontend.trace.run_time_checks import check_message
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values import untraceable
from flatweave.frontend.values.arguments import common, dtype_of, operand_dtype
from flatweave.frontend.values.array import METHODS, Array, Tracer, describe
from flatweave.frontend.values.exchange import on_device
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Node
from flatweave.ops import Check
from flatweave.scalar.ops import SYMBOLS
from flatweave.terms.syntax import Const

NO_BOOLS = {"sub": "Use ^ for the difference of bools.", "neg": "Use ~ for the opposite of a bool."}


def apply(fn: str, *values: Tracer) -> Tracer:
    """A scalar function of the table on traced scalars, brought to their common dtype."""
    dtype, weak = common(values)
    found = compared(fn, values, dtype)
    if found is not None:
        return found
    scope = current()
    try:
        wanted = operand_dtype(fn, values)
        if not wanted.is_float:
            for value in values:
                must_fit(value, dtype)
        atoms = [cast(value, wanted).atom for value in values]
        result = scope.apply(fn, *atoms)
    except DTypeError as failure:
        raise _refused(fn, values, failure) from None
    return Tracer(result, scope.home((result,)), weak and result.type is not bool_)


def _refused(fn: str, values: tuple[Tracer, ...], failure: DTypeError) -> UserError:
    """The table's DTypeError with the user's line, types and spelling."""
    if failure.where is not None:
        return failure
    kinds = " and ".join(describe(value) for value in values)
    return DTypeError.here(
        f"{SYMBOLS.get(fn, fn)} is not defined for {kinds}.",
        NO_BOOLS.get(fn, "Convert it first: x.astype(fw.i8).")
        if values[0].element is bool_ else
        "Convert the operands first, for instance with xs.astype(fw.i64).",
    )


def select(condition: Tracer, a: Tracer, b: Tracer) -> Tracer:
    """a where the condition holds, else b: on traced scalars."""
    dtype, weak = common((a, b))
    scope = current()
    atom = scope.apply("select", condition.atom, cast(a, dtype).atom, cast(b, dtype).atom)
    return Tracer(atom, scope.home((atom,)), weak)


def truth(value: Tracer) -> Tracer:
    """A scalar as a bool: whether it is not zero."""
    if value.element is bool_:
        return value
    zero = as_tracer(0.0) if value.element.is_float else as_tracer(0)
    return apply("ne", value, zero)


def operand(fn: str) -> str:
    """What messages call an operand."""
    return f"an operand of {SYMBOLS.get(fn, fn)}"


def elementwise(fn: str, *values: Any) -> Tracer:
    """A scalar function of the table on arrays of any shapes."""
    traced = [as_tracer(value, operand(fn)) for value in values]
    return zipped(lambda *xs: apply(fn, *xs), traced, SYMBOLS.get(fn, fn))[0]


def power_of(x: Tracer, y: Tracer) -> Tracer:
    """x ** y; a square is a product and a power of 0.5 a root, as NumPy's."""
    if isinstance(y.atom, Const) and y.weak and x.element is not bool_:
        if y.atom.value == 2 and (x.element.is_float or not y.element.is_float):
            return apply("mul", x, x)
        if y.atom.value == 0.5 and x.element.is_float:
            return apply("sqrt", x)
    if not operand_dtype("pow", (x, y)).is_float:
        _need_whole(y)
    return apply("pow", x, y)


NEGATIVE_POWER = "an integer to a negative power is no integer: the power is {0}."
TO_FLOATS = "Make the base a float: x.astype(fw.f64) ** y."


def _need_whole(power: Tracer) -> None:
    """Refuse powers below 0: here and now, or where the program computes them."""
    scope, atom = current(), power.atom
    if isinstance(atom, Const) and atom.value < 0:
        raise ArgumentError.here(NEGATIVE_POWER.format(atom.value), TO_FLOATS)
    if not power.element.is_signed or scope.is_natural(atom):
        return
    value = scope.cast(atom, i64)
    holds = scope.apply("ge", value, ZERO)
    if not isinstance(holds, Const):
        # where the power is used, not where it is known: a branch that is not taken checks nothing
        scope.emit(Check(holds, "argument", (value,), check_message(NEGATIVE_POWER, [], TO_FLOATS)))


@operation(elementwise=True)
def power(x: Any, y: Any) -> Array:
    """`x ** y`, promoted as NumPy 2 does; of bools an i8.

    Raises ArgumentError (a ValueError) for an integer to a negative power.

    Types: `x: s[..], y: t[..] -> r[..]`, broadcast and promoted. Source: `numpy.power`.

        >>> fw.power([2, 3], 2)
        Array([4, 9], dtype=int64)
    """
    return zipped(power_of, [as_tracer(x, operand("pow")), as_tracer(y, operand("pow"))], "**")[0]


@operation(elementwise=True)
def positive(x: Any) -> Array:
    """`+x`: the array itself. Raises DTypeError for bools, as NumPy does.

    Types: `x: t[..] -> t[..]`. Source: `numpy.positive`.

        >>> fw.positive([1, -2])
        Array([ 1, -2], dtype=int64)
    """
    value = as_tracer(x, operand("positive"))
    if value.element is bool_:
        raise DTypeError.here(
            f"+ is not defined for {describe(value)}.", "Convert it first: x.astype(fw.i8)."
        )
    return value


def rounding(fn: str, x: Any) -> Tracer:
    """A whole number near x, in its dtype; bools are whole numbers."""
    value = as_tracer(x, operand(fn))
    return value if value.element is bool_ else elementwise(fn, value)


@operation(elementwise=True)
def floor(x: Any) -> Array:
    """The greatest whole number that is not above; element by element.

    Types: `x: t[..] -> t[..]`. Raises Unsupported for complex numbers. Source: `numpy.floor`.

        >>> fw.floor([1.8, -1.2])
        Array([ 1., -2.], dtype=float64)
    """
    return rounding("floor", x)


@operation(elementwise=True)
def ceil(x: Any) -> Array:
    """The least whole number that is not below; element by element.

    Types: `x: t[..] -> t[..]`. Raises Unsupported for complex numbers. Source: `numpy.ceil`.

        >>> fw.ceil([1.2, -1.2])
        Array([ 2., -1.], dtype=float64)
    """
    return rounding("ceil", x)


@operation(elementwise=True)
def trunc(x: Any) -> Array:
    """The whole number toward 0; element by element.

    Types: `x: t[..] -> t[..]`. Raises Unsupported for complex numbers. Source: `numpy.trunc`.

        >>> fw.trunc([1.8, -1.8])
        Array([ 1., -1.], dtype=float64)
    """
    return rounding("trunc", x)


@operation(elementwise=True)
def rint(x: Any) -> Array:
    """The nearest whole number as a float, halves to the even one; element by element.

    Types: `x: t[..] -> t[..]`, t a float; integers become f64. Raises Unsupported for complex
    numbers. Source: `numpy.rint`.

        >>> fw.rint([0.5, 1.5])
        Array([0., 2.], dtype=float64)
    """
    value = as_tracer(x, operand("rint"))
    wide = operand_dtype("sqrt", (value,))
    return elementwise("round", zipped(lambda v: strong(v, wide), [value], "rint")[0])


@operation(elementwise=True, static="decimals")
def round(x: Any, decimals: int = 0) -> Array:
    """The nearest multiple of 10 to the power of `-decimals`, halves to the even one; element by
    element. Integers stay integers.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for decimals that are no whole number.
    Source: `numpy.round`.

        >>> fw.round([0.5, 1.5, 2.4])
        Array([0., 2., 2.], dtype=float64)
        >>> fw.round([1.26, 2.31], 1)
        Array([1.3, 2.3], dtype=float64)
    """
    if not isinstance(decimals, int):
        raise ArgumentError.here(
            f"decimals of round must be a whole number, got {decimals!r}.", "Use 2 for hundredths."
        )
    value = as_tracer(x, operand("round"))
    if not decimals or (decimals > 0 and not value.element.is_float):
        return elementwise("round", value)
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return elementwise("round", value * power) / power
    return (elementwise("round", value / power) * power).astype(value.element)


@operation(elementwise=True)
def bitwise_count(x: Any) -> Array:
    """The number of bits that are 1, as NumPy counts: of the absolute value, in u8.

    Types: `x: t[..] -> u8[..]`, t an integer or bool. Raises DTypeError for floats.
    Source: `numpy.bitwise_count`.

        >>> fw.bitwise_count([7, -8])
        Array([3, 1], dtype=uint8)
    """
    def count(value: Tracer) -> Tracer:
        return value if value.element is bool_ else apply("popcount", apply("abs", value))

    value = as_tracer(x, operand("bitwise_count"))
    return zipped(lambda v: strong(count(v), u8), [value], "bitwise_count")[0]


@operation(elementwise=True, parts="a b")
def where(p: Any, a: Any, b: Any) -> Array:
    """`a` where `p` holds, else `b`, element by element, broadcast; both are computed.

    Two tuples, dicts, NamedTuples or dataclasses of one structure give a third, each part chosen.
    Numbers hold where they are not zero. For one of two computations see `cond`.

    Types: `p: bool[..], a: s[..], b: t[..] -> r[..]`, broadcast and promoted. Raises ShapeError for
    shapes that do not fit. Source: `numpy.where`.

        >>> fw.where([True, False], 1, [10, 20])
        Array([ 1, 20], dtype=int64)
    """
    condition = as_tracer(p, "the condition of where")
    choices = [as_tracer(value, "a choice of where") for value in (a, b)]
    return zipped(lambda c, v, w: select(truth(c), v, w), [condition, *choices], "where")[0]


@operation(elementwise=True, renamed="a_min=min a_max=max")
def clip(x: Any, min: Any = None, max: Any = None) -> Array:
    """Values below `min` become `min`, values above `max` become `max`; None sets no bound.

    Types: `x: t[..], min, max: broadcast to it -> t[..]`, promoted. Raises ShapeError for shapes
    that do not fit. Source: `numpy.clip`.

        >>> fw.clip([1, 5, 9], 2, 6)
        Array([2, 5, 6], dtype=int64)
    """
    found = as_tracer(x, "x of clip")
    least = None if min is None else as_tracer(min, "the least value of clip")
    most = None if max is None else as_tracer(max, "the greatest value of clip")
    if least is not None and most is not None:  # one dtype for all: a Python number takes it
        dtype, _ = common((found, least, most))
        found, least, most = (
            v if v.weak else as_tracer(astype(v, dtype)) for v in (found, least, most)
        )
    if least is not None:
        found = elementwise("maximum", found, least)
    return found if most is None else elementwise("minimum", found, most)


@operation(static="dtype copy device", elementwise=True)
def astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Array:
    """The values in another dtype; memory is copied by assignment alone, so `copy` changes nothing.

    Floats become integers toward zero, at the nearest end where they do not fit, and 0 for NaN;
    integers keep their low bits; anything but 0 becomes True.

    Types: `x: s[..] -> t[..]`, t the dtype given. Raises DTypeError for what is no dtype.
    Source: `numpy.astype`.

        >>> fw.astype([1.9, -1.9], fw.i64)
        Array([ 1, -1], dtype=int64)
    """
    on_device(device, "astype")
    wanted = dtype_of(dtype)
    value = as_tracer(x, "x of astype")
    if value.element is wanted and not value.weak:
        return value
    return zipped(lambda v: strong(v, wanted), [value], "astype")[0]


@operation(elementwise=True)
def square(x: Any) -> Array:
    """`x * x`

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array. Source: `numpy.square`.

        >>> fw.square([2, -3])
        Array([4, 9], dtype=int64)
    """
    value = as_tracer(x, operand("square"))
    if value.element is bool_:  # NumPy squares bools as i8
        value = zipped(lambda v: strong(v, i8), [value], "square")[0]
    return elementwise("mul", value, value)


@operation(elementwise=True)
def reciprocal(x: Any) -> Array:
    """`1 / x`

    Types: `x: t[..] -> t[..]`, t a float; integers become f64. Raises ArgumentError for what is no
    array. Source: `numpy.reciprocal`.

        >>> fw.reciprocal([2.0, 4.0])
        Array([0.5 , 0.25], dtype=float64)
    """
    return elementwise("truediv", 1, x)


def foreign_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Any) -> object:
    """A NumPy function without a counterpart: on host arrays NumPy's own, else refused."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    given = (*inputs, *options.values())
    tracers = [value for value in given if isinstance(value, Tracer)]
    for value in tracers:
        if value.is_gone:
            raise value.escaped()
    if tracers and "out" in options:
        raise untraceable.written_to("an array of NumPy takes no traced values")
    if any(isinstance(value, Array) for value in options.get("out", ())):
        raise untraceable.written_to("an array of Flatweave cannot be written to")
    if tracers:
        raise ArgumentError.here(
            f"numpy.{name} has no counterpart that can be traced.",
            "Write it with functions of fw, or call it outside the compiled function.",
        )
    if any(isinstance(value, Node) for value in inputs):
        raise ArgumentError.here(
            f"numpy.{name} has no counterpart for a Ragged.",
            "Call it on rows.values, and cut the result with fw.ragged(.., offsets=..).",
        )
    plain = [x.to_numpy() if hasattr(x, "to_numpy") else x for x in inputs]
    rest = {key: x.to_numpy() if isinstance(x, Array) else x for key, x in options.items()}
    return getattr(ufunc, method)(*plain, **rest)


METHODS["foreign_ufunc"] = foreign_ufunc
