"""Nested maps: over the rows of a matrix or of a Ragged, and folds inside element functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.data import Rows
from tests.oracle.elementwise import filled, length_of
from tests.oracle.expressions import Function, Name, call, function_text, results_text
from tests.oracle.folding import (
    Columns,
    apply,
    as_value,
    columns_of,
    element,
    prefixes,
    reduced_rows,
    turned,
)
from tests.oracle.folds import elements, operator_for, start_of
from tests.oracle.operators import Operator, element_text, scalar_operators
from tests.oracle.program import OPERATIONS, Operation
from tests.oracle.writer import Known, Writer


def folded(op: Operator, ne: Any, parts: list[Columns], n: int) -> Columns:
    """`n` folds side by side, over their elements in a row."""
    found = tuple(np.full(n, e) for e in element(op, ne))
    for part in parts:
        found = apply(op, found, filled(part, n) if len(part) > 1 else (filled(part[0], n),))
    return found


# -- rows of a matrix ------------------------------------------------------------------------------


def row_fold_source(x: str, *, op: Operator, ne: Any, function: Function) -> str:
    inner = f"fw.map({function_text(function)}, r)"
    return f"fw.map(lambda r: fw.reduce({op.source}, {element_text(ne)}, {inner}), {x})"


def row_fold_meaning(env: Any, x: Any, *, op: Operator, ne: Any, function: Function) -> Any:
    parts = [columns_of(call(function, env, x[:, j])) for j in range(x.shape[1])]
    return as_value(folded(op, ne, parts, len(x)))


def choose_row_fold(w: Writer) -> Known:
    x = w.matrix()
    op = operator_for(w, x.dtype)
    made = elements(w, op, w.expression(w.element_env(("x", x)), w.random.choice([0, 1, 2])))
    return w.emit("row fold", x, length=x.length, op=op, ne=start_of(w, op),
                  function=Function(("x",), made))  # fmt: skip


# -- a fold of a fold of a row ---------------------------------------------------------------------


def deep_source(x: str, *, op: Operator, ne: Any, inner: Function, outer: Function) -> str:
    start = element_text(ne)
    deepest = f"fw.reduce({op.source}, {start}, fw.map(lambda y: {results_text(inner.results)}, r))"
    middle = f"fw.map(lambda x: (lambda f: {results_text(outer.results)})({deepest}), r)"
    return f"fw.map(lambda r: fw.reduce({op.source}, {start}, {middle}), {x})"


def deep_meaning(
    env: Any, x: Any, *, op: Operator, ne: Any, inner: Function, outer: Function
) -> Any:
    n, width = x.shape
    middle: list[Columns] = []
    for j in range(width):
        deepest = [columns_of(call(inner, env, x[:, j], x[:, k])) for k in range(width)]
        found = as_value(folded(op, ne, deepest, n))
        middle.append(columns_of(call(outer, env, x[:, j], found)))
    return as_value(folded(op, ne, middle, n))


def choose_deep(w: Writer) -> Known:
    x = w.matrix()
    op = operator_for(w, x.dtype)
    env = w.element_env(("x", x), ("y", x))
    inner = Function(("x", "y"), elements(w, op, w.expression(env, 1)))
    f = Known("f", tuple(np.zeros(3, d) for d in op.dtypes) if len(op.dtypes) > 1
              else np.zeros(3, op.dtypes[0]), "")  # fmt: skip
    xs = Known("x", np.zeros(3, x.dtype), "")
    outer_env = {**w.element_env(("x", xs), ("f", f))}
    outer = Function(("x", "f"), elements(w, op, w.expression(outer_env, 1, control=False)))
    return w.emit("deep fold", x, length=x.length, op=op, ne=start_of(w, op), inner=inner,
                  outer=outer)  # fmt: skip


# -- a fold of another array for each element ------------------------------------------------------


def beside_fold_source(x: str, y: str, *, op: Operator, ne: Any, function: Function) -> str:
    inner = f"fw.map(lambda y: {results_text(function.results)}, {y}[:5])"
    return f"fw.map(lambda x: fw.reduce({op.source}, {element_text(ne)}, {inner}), {x})"


def beside_fold_meaning(
    env: Any, x: Any, y: Any, *, op: Operator, ne: Any, function: Function
) -> Any:
    parts = [columns_of(call(function, env, x, value)) for value in y[:5]]
    return as_value(folded(op, ne, parts, len(x)))


def choose_beside_fold(w: Writer) -> Known:
    x, y = w.vector(), w.vector()
    op = operator_for(w, x.dtype)
    env = w.element_env(("x", x), ("y", Known("y", np.resize(y.sample, 1), "")))
    function = Function(("x", "y"), elements(w, op, w.expression(env, w.random.choice([1, 2]))))
    return w.emit("fold of others", x, y, length=x.length, op=op, ne=start_of(w, op),
                  function=function)  # fmt: skip


# -- rows of a Ragged ------------------------------------------------------------------------------


def begins_of(lengths: np.ndarray) -> np.ndarray:
    """Where rows begin among their values; empty ones leave no flag."""
    begin = np.zeros(int(lengths.sum()), bool)
    begin[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
    return begin


def ragged_fold_source(x: str, *, op: Operator, ne: Any, function: Function) -> str:
    return row_fold_source(x, op=op, ne=ne, function=function)


def ragged_fold_meaning(env: Any, x: Any, *, op: Operator, ne: Any, function: Function) -> Any:
    values = filled(call(function, env, x.values), len(x.values))
    return as_value(reduced_rows(op, element(op, ne), columns_of(values), x.lengths))


def choose_ragged_fold(w: Writer) -> Known:
    x = w.one_of(lambda x: isinstance(x.sample, Rows))
    values = Known("x", x.sample.values, "")
    op = operator_for(w, values.dtype)
    made = elements(w, op, w.expression(w.element_env(("x", values)), w.random.choice([0, 1, 2])))
    return w.emit("ragged fold", x, length=f"rows of {x.length}", op=op, ne=start_of(w, op),
                  function=Function(("x",), made))  # fmt: skip


def ragged_scan_source(x: str, *, op: Operator, ne: Any, function: Function, reverse: bool) -> str:
    inner = f"fw.map({function_text(function)}, r)"
    turn = ", reverse=True" * reverse
    scan = f"fw.map(lambda r: fw.scan({op.source}, {element_text(ne)}, {inner}{turn}), {x})"
    return f"{scan}.values" if len(op.dtypes) == 1 else f"tuple(part.values for part in {scan})"


def ragged_scan_meaning(
    env: Any, x: Any, *, op: Operator, ne: Any, function: Function, reverse: bool
) -> Any:
    values = columns_of(filled(call(function, env, x.values), len(x.values)))
    if not reverse:
        return as_value(prefixes(op, element(op, ne), values, begins_of(x.lengths)))
    begin = begins_of(x.lengths[::-1])
    found = prefixes(turned(op), element(op, ne), tuple(v[::-1] for v in values), begin)
    return as_value(tuple(v[::-1] for v in found))


def choose_ragged_scan(w: Writer) -> Known:
    x = w.one_of(lambda x: isinstance(x.sample, Rows))
    op = operator_for(w, x.sample.values.dtype.name)
    function = Function(("x",), elements(w, op, Name("x")))
    return w.emit("ragged scan", x, length=f"values of {x.length}", op=op, ne=start_of(w, op),
                  function=function, reverse=w.chance(0.3))  # fmt: skip


def ragged_whole_source(x: str, *, op: Operator, ne: Any, function: Function) -> str:
    inner = f"fw.map(lambda x: {results_text(function.results)}, r)"
    fold = f"fw.reduce({op.source}, {element_text(ne)}, r)"
    return f"fw.map(lambda r: (lambda f: {inner})({fold}), {x}).values"


def ragged_whole_meaning(env: Any, x: Any, *, op: Operator, ne: Any, function: Function) -> Any:
    folds = reduced_rows(op, element(op, ne), (x.values,), x.lengths)[0]
    found = call(function, env, x.values, np.repeat(folds, x.lengths))
    return filled(found, len(x.values))


def choose_ragged_whole(w: Writer) -> Known:
    """The elements of a row with what all of the row combine to."""
    x = w.one_of(lambda x: isinstance(x.sample, Rows))
    values = Known("x", x.sample.values, "")
    dtype = values.dtype
    names = ("minimum", "maximum") if values.kind == "f" and w.exact else None
    some = [op for op in scalar_operators(dtype) if names is None or op.name in names]
    op = w.random.choice(some)
    function = w.function((("x", values), ("f", Known("f", x.sample.values[:1], ""))))
    return w.emit("ragged whole", x, length=f"values of {x.length}", op=op, ne=start_of(w, op),
                  function=function)  # fmt: skip


def ragged_part_source(x: str, *, part: str) -> str:
    return f"{x}.{part}"


def ragged_part_meaning(env: Any, x: Any, *, part: str) -> Any:
    if part == "flags":
        return begins_of(x.lengths)
    if part == "offsets":
        return np.concatenate([[0], np.cumsum(x.lengths)]).astype(np.int64)
    return getattr(x, part)


def choose_ragged_part(w: Writer) -> Known:
    x = w.one_of(lambda x: isinstance(x.sample, Rows))
    part = w.random.choice(["values", "lengths", "flags", "offsets"])
    length = {"lengths": "rows of", "offsets": "offsets of"}.get(part, "values of")
    return w.emit("ragged part", x, length=f"{length} {x.length}", part=part)


def ragged_map_source(x: str, y: str, *, function: Function) -> str:
    body = results_text(function.results)
    return f"fw.map(lambda r, y: fw.map(lambda x: {body}, r), {x}, {y}).values"


def ragged_map_meaning(env: Any, x: Any, y: Any, *, function: Function) -> Any:
    length_of(x.lengths, y)
    return filled(call(function, env, x.values, np.repeat(y, x.lengths)), len(x.values))


def choose_ragged_map(w: Writer) -> Known:
    """The elements of a row with a number of its row's."""
    x = w.one_of(lambda x: isinstance(x.sample, Rows))
    if not any(y.length == f"rows of {x.length}" for y in w.known):
        w.emit("ragged part", x, length=f"rows of {x.length}", part="lengths")
    y = w.one_of(lambda y: y.rank == 1 and y.length == f"rows of {x.length}")
    one = Known("y", np.resize(y.sample, 1), "")
    function = w.function((("x", Known("x", x.sample.values, "")), ("y", one)))
    return w.emit("ragged map", x, y, length=f"values of {x.length}", function=function)


OPERATIONS |= {
    "row fold": Operation(row_fold_source, row_fold_meaning),
    "deep fold": Operation(deep_source, deep_meaning),
    "fold of others": Operation(beside_fold_source, beside_fold_meaning),
    "ragged fold": Operation(ragged_fold_source, ragged_fold_meaning),
    "ragged scan": Operation(ragged_scan_source, ragged_scan_meaning),
    "ragged whole": Operation(ragged_whole_source, ragged_whole_meaning),
    "ragged part": Operation(ragged_part_source, ragged_part_meaning),
    "ragged map": Operation(ragged_map_source, ragged_map_meaning),
}
CHOICES = {choose_row_fold: 3, choose_deep: 1, choose_beside_fold: 2, choose_ragged_fold: 4,
           choose_ragged_scan: 2, choose_ragged_whole: 2, choose_ragged_part: 3,
           choose_ragged_map: 2}  # fmt: skip
