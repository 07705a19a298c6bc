"""Reductions and scans: with any operator, by segments, and by their usual names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.oracle.elementwise import length_of
from tests.oracle.expressions import Cast, Expression, Function, Literal, Name, literal_text
from tests.oracle.folding import apply, as_value, columns_of, element, prefixes, reduced, scanned
from tests.oracle.operators import (
    Operator,
    choosing_operators,
    element_text,
    linear,
    matrix,
    plain,
    scalar_operators,
    tuple_operators,
)
from tests.oracle.program import OPERATIONS, Operation
from tests.oracle.writer import Known, Writer


def operator_for(w: Writer, dtype: str, commuting: bool = False) -> Operator:
    """An operator on elements made of numbers of a dtype."""
    wide = tuple_operators(dtype)
    if not w.exact and np.dtype(dtype).kind == "f":
        wide += [linear(dtype), matrix(dtype)]
    if w.chance(0.1) and not commuting:
        return w.random.choice(choosing_operators(dtype))
    found = scalar_operators(dtype) if w.chance(0.5) else wide
    found = [op for op in found if op.commutes or not commuting] or scalar_operators(dtype)
    return w.random.choice(found)


def start_of(w: Writer, op: Operator) -> tuple[Literal, ...]:
    """What a reduction begins with: its neutral element, or another."""
    return op.other if w.chance(0.3) else op.neutral


def elements(w: Writer, op: Operator, made: Expression) -> tuple[Expression, ...]:
    """A number as an element; where bits are compared, one that rounding changes."""
    return op.prepare(made) if w.exact else tuple(Cast(dtype, made) for dtype in op.dtypes)


def operand(w: Writer, op: Operator, x: Known) -> Known:
    """An array's numbers as elements on which an operator is exact."""
    made = elements(w, op, Name("x"))
    if made == (Cast(x.dtype, Name("x")),):
        return x
    return w.emit("elements", x, length=x.length, function=Function(("x",), made))


def prepared(w: Writer, commuting: bool = False) -> tuple[Operator, Known]:
    """An operator and an array for it."""
    x = w.vector()
    op = operator_for(w, x.dtype, commuting)
    return op, operand(w, op, x)


# -- reduce, scan ----------------------------------------------------------------------------------


def reduce_source(x: str, *, op: Operator, ne: Any) -> str:
    return f"fw.reduce({op.source}, {element_text(ne)}, {x})"


def reduce_meaning(env: Any, x: Any, *, op: Operator, ne: Any) -> Any:
    return as_value(reduced(op, element(op, ne), columns_of(x)))


def choose_reduce(w: Writer) -> Known:
    op, x = prepared(w)
    return w.emit("reduce", x, op=op, ne=start_of(w, op))


def scan_source(x: str, *, op: Operator, ne: Any, exclusive: bool, reverse: bool) -> str:
    options = ", exclusive=True" * exclusive + ", reverse=True" * reverse
    return f"fw.scan({op.source}, {element_text(ne)}, {x}{options})"


def scan_meaning(env: Any, x: Any, *, op: Operator, ne: Any, exclusive: bool, reverse: bool) -> Any:
    return as_value(scanned(op, element(op, ne), columns_of(x), exclusive, reverse))


def choose_scan(w: Writer) -> Known:
    op, x = prepared(w)
    return w.emit(
        "scan", x, length=x.length, op=op, ne=start_of(w, op), exclusive=w.chance(0.3),
        reverse=w.chance(0.3),
    )  # fmt: skip


# -- by segments -----------------------------------------------------------------------------------


def flags_for(w: Writer, x: Known) -> Known:
    """Where segments start, from any array as long."""
    y = w.as_long(x)
    if y.kind == "b":
        return y
    function = Function(("x",), (w.boolean({"x": y.sample}),))
    return w.emit("map", y, length=x.length, function=function)


def segmented_reduce_source(flags: str, x: str, *, op: Operator, ne: Any) -> str:
    return f"fw.segmented_reduce({op.source}, {element_text(ne)}, {flags}, {x})"


def segmented_reduce_meaning(env: Any, flags: Any, x: Any, *, op: Operator, ne: Any) -> Any:
    if not length_of(flags, x):
        return x
    found = prefixes(op, element(op, ne), columns_of(x), flags)
    is_last = np.append(flags[1:], True)
    return as_value(tuple(column[is_last] for column in found))


def segmented_scan_source(flags: str, x: str, *, op: Operator, ne: Any) -> str:
    return f"fw.segmented_scan({op.source}, {element_text(ne)}, {flags}, {x})"


def segmented_scan_meaning(env: Any, flags: Any, x: Any, *, op: Operator, ne: Any) -> Any:
    length_of(flags, x)
    return as_value(prefixes(op, element(op, ne), columns_of(x), flags))


def choose_segmented(w: Writer) -> Known:
    op, x = prepared(w)
    flags, ne = flags_for(w, x), start_of(w, op)
    if w.chance(0.5):
        return w.emit("segmented_scan", flags, x, length=x.length, op=op, ne=ne)
    return w.emit("segmented_reduce", flags, x, op=op, ne=ne)


def segmented_iota_source(flags: str) -> str:
    return f"fw.segmented_iota({flags})"


def segmented_iota_meaning(env: Any, flags: Any) -> Any:
    place = np.arange(len(flags))
    return place - np.maximum.accumulate(np.where(flags, place, 0)).astype(np.int64)


def choose_segmented_iota(w: Writer) -> Known:
    x = w.vector()
    return w.emit("segmented_iota", flags_for(w, x), length=x.length)


# -- over the rows of a matrix, and of two arrays -------------------------------------------------


def rows_source(x: str, *, how: str, op: Operator, ne: Any) -> str:
    return f"fw.{how}({op.source}, {element_text(ne)}, {x})"


def rows_meaning(env: Any, x: Any, *, how: str, op: Operator, ne: Any) -> Any:
    start = np.full(x.shape[1], element(op, ne)[0])
    prefixes = list(itertools.accumulate(x, lambda a, b: apply(op, (a,), (b,))[0], initial=start))
    return prefixes[-1] if how == "reduce" else np.array(prefixes[1:], x.dtype).reshape(x.shape)


def choose_rows(w: Writer) -> Known:
    """Rows combined element by element."""
    x = w.matrix()
    op = w.random.choice(scalar_operators(x.dtype))
    if w.exact and x.kind == "f":
        op = next(op for op in scalar_operators(x.dtype) if op.name == "maximum")
    how = w.random.choice(["reduce", "scan"])
    length = x.length if how == "scan" else ""
    return w.emit("rows combined", x, length=length, how=how, op=op, ne=start_of(w, op))


def dot_source(x: str, y: str) -> str:
    return f"fw.dot({x}, {y})"


def dot_meaning(env: Any, x: Any, y: Any) -> Any:
    length_of(x, y)
    return np.add.reduce(x * y, dtype=np.result_type(x, y), initial=0)


def choose_dot(w: Writer) -> Known:
    x = w.vector("iuf" if not w.exact else "iu")
    # of i64 and u64 the product is a float, whose sum is near only
    return w.emit("dot", x, w.as_long(x, "iuf" if not w.exact else x.kind))


# -- by name ---------------------------------------------------------------------------------------

WIDE = {"b": "int64", "i": "int64", "u": "uint64"}


def named_source(x: str, *, name: str, axis: int | None) -> str:
    return f"fw.{name}({x})" if axis is None else f"fw.{name}({x}, axis={axis})"


def named_meaning(env: Any, x: Any, *, name: str, axis: int | None) -> Any:
    if name in ("any", "all"):
        return getattr(np, name)(x != 0, axis=axis)
    wide = x.astype(WIDE.get(x.dtype.kind, x.dtype))
    if name in ("cumsum", "cumprod"):
        return getattr(np, name)(wide, axis=axis)
    start = 0 if name == "sum" else 1
    return np.asarray((np.add if name == "sum" else np.multiply).reduce(
        wide, axis=axis, initial=start)).astype(wide.dtype)  # fmt: skip


def choose_named(w: Writer) -> Known:
    name = w.random.choice(["sum", "prod", "any", "all", "cumsum", "cumprod"])
    x = w.vector()
    if name not in ("any", "all"):
        op = plain("mul" if "prod" in name else "add", x.dtype, Literal(0), Literal(0))
        x = operand(w, op, x)
    length = x.length if name.startswith("cum") else ""
    return w.emit("named", x, length=length, name=name, axis=None)


def choose_along(w: Writer) -> Known:
    """The same along an axis of a matrix."""
    x = w.matrix()
    axis = w.random.randrange(2)
    name = w.random.choice(["sum", "any", "all", "cumsum"] if x.kind != "f" else ["any", "all"])
    length = x.length if axis or name == "cumsum" else f"k{x.sample.shape[1]}"
    return w.emit("named", x, length=length, name=name, axis=axis)


def extremum_source(x: str, *, name: str, first: Any, dtype: str) -> str:
    return f"fw.{name}(fw.concat([fw.full(1, np.{dtype}({literal_text(first)})), {x}]))"


def extremum_meaning(env: Any, x: Any, *, name: str, first: Any, dtype: str) -> Any:
    values = np.concatenate([np.array([first], dtype), x])
    if name.startswith("arg"):
        return np.int64(getattr(np, name)(values))
    best = (np.fmin if name == "min" else np.fmax).reduce(values)
    if values.dtype.kind == "f" and np.isnan(values).any():
        return values.dtype.type(np.nan)
    equal = values[values == best]
    negative = np.signbit(equal) if values.dtype.kind == "f" else equal < 0
    return equal[np.argmax(negative == (name == "min"))]  # of zeros -0.0 is the least


def choose_extremum(w: Writer) -> Known:
    x = w.vector()
    name = w.random.choice(["min", "max", "argmin", "argmax"])
    return w.emit("extremum", x, name=name, first=w.number(x.sample.dtype), dtype=x.dtype)


OPERATIONS |= {
    "reduce": Operation(reduce_source, reduce_meaning),
    "scan": Operation(scan_source, scan_meaning),
    "segmented_reduce": Operation(segmented_reduce_source, segmented_reduce_meaning),
    "segmented_scan": Operation(segmented_scan_source, segmented_scan_meaning),
    "segmented_iota": Operation(segmented_iota_source, segmented_iota_meaning),
    "rows combined": Operation(rows_source, rows_meaning),
    "dot": Operation(dot_source, dot_meaning),
    "named": Operation(named_source, named_meaning),
    "extremum": Operation(extremum_source, extremum_meaning),
}
CHOICES = {choose_reduce: 6, choose_scan: 6, choose_segmented: 5, choose_segmented_iota: 1,
           choose_rows: 2,
           choose_dot: 1, choose_named: 4, choose_along: 3, choose_extremum: 2}  # fmt: skip
