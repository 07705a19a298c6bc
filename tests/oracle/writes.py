"""Operations that write at computed indices, and expansions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.elementwise import filled, length_of
from tests.oracle.expressions import Call, Cast, Function, Literal, Name, call, function_text
from tests.oracle.folding import as_value, columns_of, combined, element, reduced_rows
from tests.oracle.folds import elements, operand, operator_for, start_of
from tests.oracle.operators import Operator, element_text
from tests.oracle.program import OPERATIONS, Operation
from tests.oracle.writer import Known, Writer


def places_for(w: Writer, size: Any, y: Known) -> Known:
    """Indices from one before the first to one after the last."""
    span = Call("add", (size, Literal(2))) if isinstance(size, Name) else Literal(size + 2)
    inside = Call("mod", (Cast("int64", Name("i")), span))
    made = Call("sub", (inside, Literal(1)))
    return w.emit("map", y, length=y.length, function=Function(("i",), (made,)))


# -- scatter ---------------------------------------------------------------------------------------


def scatter_source(dest: str, places: str, x: str) -> str:
    return f"fw.scatter({dest}, {places}, {x})"


def scatter_meaning(env: Any, dest: Any, places: Any, x: Any) -> Any:
    length_of(places, x)
    inside = (places >= 0) & (places < length_of(dest))
    at = places[inside]
    # of equal indices the last one counts: the first one in reverse
    where, first = np.unique(at[::-1], return_index=True)
    found = []
    for column, values in zip(columns_of(dest), columns_of(x), strict=True):
        written = column.copy()
        written[where] = values[inside][::-1][first]
        found.append(written)
    return as_value(tuple(found))


def choose_scatter(w: Writer) -> Known:
    dest = w.vector()
    y = w.vector()
    values = w.emit("map", y, length=y.length,
                    function=w.function((("x", y),), dest.dtype))  # fmt: skip
    places = places_for(w, Name(f"{dest.name}.shape[0]"), w.as_long(y))
    return w.emit("scatter", dest, places, values, length=dest.length, growth=dest.growth)


# -- combining writes ------------------------------------------------------------------------------


def permute_source(dest: str, places: str, x: str, *, op: Operator, ne: Any) -> str:
    if ne is None:
        return f"fw.permute({op.source}, {dest}, {places}, {x})"
    return f"fw.reduce_by_index({dest}, {op.source}, {element_text(ne)}, {places}, {x})"


def permute_meaning(env: Any, dest: Any, places: Any, x: Any, *, op: Operator, ne: Any) -> Any:
    length_of(places, x)
    length_of(dest)
    return as_value(combined(op, columns_of(dest), places, columns_of(x)))


def choose_permute(w: Writer) -> Known:
    first, y = w.vector(), w.vector()
    op = operator_for(w, first.dtype, commuting=True)
    dest, values = operand(w, op, first), operand(w, op, y)
    places = places_for(w, Name(f"{first.name}.shape[0]"), w.as_long(y))
    ne = op.neutral if w.chance(0.5) else None
    return w.emit("permute", dest, places, values, length=dest.length, growth=dest.growth,
                  op=op, ne=ne)  # fmt: skip


def histogram_source(places: str, *x: str, bins: int, op: Operator | None) -> str:
    if op is None:
        return f"fw.histogram({bins}, {places})"
    return f"fw.histogram({bins}, {places}, {x[0]}, {op.source}, {element_text(op.neutral)})"


def histogram_meaning(env: Any, places: Any, *x: Any, bins: int, op: Operator | None) -> Any:
    if op is None:
        inside = places[(places >= 0) & (places < bins)]
        return np.bincount(inside, minlength=bins).astype(np.int64)
    length_of(places, x[0])
    dest = tuple(np.full(bins, e) for e in element(op, op.neutral))
    return as_value(combined(op, dest, places, columns_of(x[0])))


def choose_histogram(w: Writer) -> Known:
    bins, y = w.random.choice([1, 7, 300]), w.vector()
    places = places_for(w, bins, y)
    if w.chance(0.4):
        return w.emit("histogram", places, length=f"k{bins}", bins=bins, op=None)
    x = w.as_long(y)
    op = operator_for(w, x.dtype, commuting=True)
    return w.emit("histogram", places, operand(w, op, x), length=f"k{bins}", bins=bins, op=op)


# -- expand ----------------------------------------------------------------------------------------


def expand_source(x: str, *, size: Function, get: Function) -> str:
    return f"fw.expand({function_text(size)}, {function_text(get)}, {x})"


def expanded(env: Any, x: Any, size: Function, get: Function) -> tuple[Any, np.ndarray]:
    """The results of all elements concatenated, and the number of each."""
    sizes = filled(call(size, env, x), length_of(x))
    source = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    elements = as_value(tuple(column[source] for column in columns_of(x)))
    return filled(call(get, env, elements, place.astype(np.int64)), len(source)), sizes


def expand_meaning(env: Any, x: Any, *, size: Function, get: Function) -> Any:
    return expanded(env, x, size, get)[0]


def choose_size(w: Writer, x: Known) -> Function:
    """How many results an element has: few, now and then one of them many."""
    env = w.element_env(("x", x))
    made = w.count(env, w.random.choice([1, 3]))
    if w.chance(0.3):
        made = Call("where", (w.boolean(env), made, Literal(0)))
    return Function(("x",), (made,))


def getter(w: Writer, x: Known, op: Operator | None = None) -> Function:
    """A result from an element and an index."""
    env = {**w.element_env(("x", x)), "i": np.arange(len(columns_of(x.sample)[0]))}
    made = w.expression(env, w.random.choice([1, 2, 3]), control=w.chance(0.3))
    return Function(("x", "i"), (made,) if op is None else elements(w, op, made))


def choose_expand(w: Writer) -> Known:
    x = w.one_of(lambda x: x.rank == 1 or x.is_tuple)
    size = choose_size(w, x)
    return w.emit("expand", x, growth=3 * x.growth, size=size, get=getter(w, x))


def expand_reduce_source(x: str, *, size: Function, get: Function, op: Operator, ne: Any) -> str:
    parts = f"{function_text(size)}, {function_text(get)}, {op.source}, {element_text(ne)}"
    return f"fw.expand_reduce({parts}, {x})"


def expand_reduce_meaning(
    env: Any, x: Any, *, size: Function, get: Function, op: Operator, ne: Any
) -> Any:
    values, sizes = expanded(env, x, size, get)
    return as_value(reduced_rows(op, element(op, ne), columns_of(values), sizes))


def choose_expand_reduce(w: Writer) -> Known:
    x = w.vector()
    op = operator_for(w, x.dtype)
    size, get = choose_size(w, x), getter(w, x, op)
    return w.emit("expand_reduce", x, length=x.length, growth=3 * x.growth, size=size, get=get,
                  op=op, ne=start_of(w, op))  # fmt: skip


def replicated_source(x: str) -> str:
    return f"fw.replicated_iota({x})"


def replicated_meaning(env: Any, x: Any) -> Any:
    return np.repeat(np.arange(len(x)), x).astype(np.int64)


def choose_replicated(w: Writer) -> Known:
    x = w.vector()
    sizes = Function(("x",), (w.count({"x": x.sample}, 3),))
    y = w.emit("map", x, length=x.length, function=sizes)
    return w.emit("replicated_iota", y, growth=3 * x.growth)


OPERATIONS |= {
    "scatter": Operation(scatter_source, scatter_meaning),
    "permute": Operation(permute_source, permute_meaning),
    "histogram": Operation(histogram_source, histogram_meaning),
    "expand": Operation(expand_source, expand_meaning),
    "expand_reduce": Operation(expand_reduce_source, expand_reduce_meaning),
    "replicated_iota": Operation(replicated_source, replicated_meaning),
}
CHOICES = {choose_scatter: 4, choose_permute: 5, choose_histogram: 4, choose_expand: 4,
           choose_expand_reduce: 4, choose_replicated: 1}  # fmt: skip
