"""Operations that move, keep or order elements: filter, gather, concat, shapes, stencil, sorts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.elementwise import length_of
from tests.oracle.expressions import (
    Call,
    Cast,
    Expression,
    Function,
    Name,
    Read,
    call,
    function_text,
    literal_text,
)
from tests.oracle.folding import as_value, columns_of
from tests.oracle.program import OPERATIONS, Meaningless, Operation
from tests.oracle.writer import Known, NoChoice, Writer


def taken(x: Any, at: np.ndarray | slice) -> Any:
    """Elements of an array, or of a tuple of arrays."""
    return as_value(tuple(column[at] for column in columns_of(x)))


# -- filter, partition -----------------------------------------------------------------------------


def filter_source(x: str, *, function: Function, side: int | None) -> str:
    if side is None:
        return f"fw.filter({function_text(function)}, {x})"
    return f"fw.partition({function_text(function)}, {x})[{side}]"


def filter_meaning(env: Any, x: Any, *, function: Function, side: int | None) -> Any:
    holds = np.broadcast_to(call(function, env, x), (length_of(x),))
    return taken(x, np.flatnonzero(~holds if side == 1 else holds))


def choose_filter(w: Writer) -> Known:
    x = w.one_of(lambda x: x.rank == 1 or x.is_tuple)
    condition = w.boolean(w.element_env(("x", x)))
    side = w.random.choice([None, None, 0, 1])
    return w.emit("filter", x, function=Function(("x",), (condition,)), side=side)


# -- gather ----------------------------------------------------------------------------------------


def place_in(x: Known, value: Expression, dtype: str = "int64") -> Expression:
    """An index inside an array that is not empty."""
    return Cast(dtype, Call("mod", (Cast("int64", value), Name(f"{x.name}.shape[0]"))))


def gather_source(x: str, places: str, *, spelling: str) -> str:
    return spelling.format(x, places)


def gather_meaning(env: Any, x: Any, places: Any, *, spelling: str) -> Any:
    n = length_of(x)
    if len(places) and not (places.min() >= -n and places.max() < n):
        raise Meaningless("a place outside")
    return taken(x, places)


def choose_gather(w: Writer) -> Known:
    x = w.one_of(lambda x: x.rank == 1)
    places = w.as_long(x)
    dtype = w.random.choice(["int64", "int64", "int32"])
    made = place_in(x, Name("i"), dtype)
    if w.chance(0.3):  # counted from the end
        made = Cast(dtype, Call("sub", (made, Name(f"{x.name}.shape[0]"))))
    y = w.emit("map", places, length=x.length, function=Function(("i",), (made,)))
    return w.emit("gather", x, y, length=x.length,
                  spelling=w.random.choice(["fw.gather({0}, {1})", "{0}[{1}]"]))  # fmt: skip


def choose_read(w: Writer) -> Known:
    """A read at a computed index inside an element function."""
    x = w.vector()
    y = w.as_long(x)
    env = {"y": y.sample, "r": x.sample}
    made = w.cast(w.expression(env, 2, control=False), env, x.dtype)
    made = substituted(made, Read(x.name, place_in(x, Name("y"))))
    return w.emit("map", y, length=x.length, function=Function(("y",), (made,)))


def substituted(made: Expression, read: Read) -> Expression:
    """The expression with a read instead of `r`."""
    match made:
        case Name("r"):
            return read
        case Call(function, args):
            return Call(function, tuple(substituted(arg, read) for arg in args))
        case Cast(dtype, value):
            return Cast(dtype, substituted(value, read))
    return made


# -- the same elements otherwise -------------------------------------------------------------------


def concat_source(*xs: str) -> str:
    return f"fw.concat([{', '.join(xs)}])"


def concat_meaning(env: Any, *xs: Any) -> Any:
    if len({x.dtype for x in xs}) > 1:
        raise Meaningless("dtypes differ")
    return np.concatenate(xs)


def choose_concat(w: Writer) -> Known:
    x = w.vector()
    xs = [x, *(w.one_of(lambda y: y.rank == 1 and y.dtype == x.dtype) for _ in range(2))]
    xs = xs[: w.random.choice([2, 3])]
    return w.emit("concat", *xs, growth=sum(x.growth for x in xs))


MOVES = {
    "reverse": ("fw.reverse({0})", lambda x: x[::-1]),
    "store": ("fw.store({0})", lambda x: x),
    "rotate by 3": ("fw.rotate({0}, 3)", lambda x: np.roll(x, -3)),
    "rotate back": ("fw.rotate({0}, -1)", lambda x: np.roll(x, 1)),
    "backward": ("{0}[::-1]", lambda x: x[::-1]),
    "behind the first": ("{0}[1:]", lambda x: x[1:]),
    "but the last": ("{0}[:-1]", lambda x: x[:-1]),
    "every second": ("{0}[::2]", lambda x: x[::2]),
    "every third back": ("{0}[-2::-3]", lambda x: x[-2::-3]),
    "the first hundred": ("{0}[:100]", lambda x: x[:100]),
    "from the middle": ("{0}[5:-7]", lambda x: x[5:-7]),
    "reversed by index": (
        "fw.backpermute({0}.shape[0], lambda i: {0}.shape[0] - 1 - i, {0})", lambda x: x[::-1]
    ),
    "places": ("fw.iota({0}.shape[0])", lambda x: np.arange(len(x))),
    "places by three": ("fw.generate({0}.shape[0], lambda i: i * 3)",
                        lambda x: 3 * np.arange(len(x))),
    "nines": ("fw.replicate({0}.shape[0], np.int16(9))", lambda x: np.full(len(x), 9, np.int16)),
}  # fmt: skip
KEEP_LENGTH = ("reverse", "store", "rotate by 3", "rotate back", "backward", "reversed by index",
               "places", "places by three", "nines")  # fmt: skip


def move_source(x: str, *, move: str) -> str:
    return MOVES[move][0].format(x)


def move_meaning(env: Any, x: Any, *, move: str) -> Any:
    return np.ascontiguousarray(MOVES[move][1](x))


def choose_move(w: Writer) -> Known:
    x = w.vector()
    move = w.random.choice(list(MOVES))
    return w.emit("move", x, length=x.length if move in KEEP_LENGTH else "", move=move)


# -- rank 2 ----------------------------------------------------------------------------------------

SHAPES = {
    "transposed": ("fw.transpose({0})", lambda x: x.T),
    "flat": ("fw.reshape({0}, (-1,))", lambda x: x.reshape(-1)),
    "first of each": ("{0}[:, 0]", lambda x: x[:, 0]),
    "flipped": ("{0}[::-1, 1:]", lambda x: x[::-1, 1:]),
}


def rows_source(x: str, *, k: int) -> str:
    return f"fw.reshape({x}[:{x}.shape[0] // {k} * {k}], (-1, {k}))"


def rows_meaning(env: Any, x: Any, *, k: int) -> Any:
    return x[: len(x) // k * k].reshape(-1, k)


def shape_source(x: str, *, shape: str) -> str:
    return SHAPES[shape][0].format(x)


def shape_meaning(env: Any, x: Any, *, shape: str) -> Any:
    return np.ascontiguousarray(SHAPES[shape][1](x))


def choose_shape(w: Writer) -> Known:
    x = w.matrix()
    shape = w.random.choice(list(SHAPES))
    if shape == "first of each" and not x.sample.shape[1]:
        raise NoChoice
    k = x.sample.shape[1]
    if x.length.startswith("k"):  # the second axis is the long one: the kept number is unknown
        if shape != "flat":
            raise NoChoice
        return w.emit("shape", x, shape=shape)
    lengths = {"transposed": f"k{k}", "first of each": x.length, "flipped": x.length}
    return w.emit("shape", x, length=lengths.get(shape, ""), shape=shape)


# -- stencil ---------------------------------------------------------------------------------------

BOUNDARIES = {"clamp": "edge", "mirror": "reflect", "wrap": "wrap"}


def stencil_source(x: str, *, function: Function, reach: int, boundary: Any) -> str:
    shown = repr(boundary)
    if isinstance(boundary, tuple):
        shown = f"('constant', {literal_text(boundary[1])})"
    return f"fw.stencil({function_text(function)}, {x}, ({2 * reach + 1},), {shown})"


def stencil_meaning(env: Any, x: Any, *, function: Function, reach: int, boundary: Any) -> Any:
    n = len(x)
    at = np.arange(-reach, n + reach)
    inside = (at >= 0) & (at < n)
    if boundary == "wrap":
        at = at % max(n, 1)
    elif boundary == "mirror":
        at = np.abs(at) % max(2 * (n - 1), 1)
        at = np.minimum(at, 2 * (n - 1) - at)
    padded = x[np.clip(at, 0, max(n - 1, 0))] if n else np.zeros(2 * reach, x.dtype)
    if isinstance(boundary, tuple):
        padded = np.where(inside, padded, x.dtype.type(boundary[1]))
    near = {f"n[{d}]": padded[d + reach : d + reach + n] for d in range(-reach, reach + 1)}
    from_outside = {**env, **near}
    found = call(Function((), function.results), from_outside)
    return np.broadcast_to(np.asarray(found), (n,)).copy()


def choose_stencil(w: Writer) -> Known:
    x = w.vector()
    reach = w.random.choice([1, 1, 2, 9])
    boundary = w.random.choice([*BOUNDARIES, ("constant", w.number(x.sample.dtype))])
    env = {f"n[{d}]": x.sample for d in {-1, 0, 1, reach, -reach}}
    made = w.expression(env, w.random.choice([1, 2, 3]), control=False)
    return w.emit("stencil", x, length=x.length, function=Function(("n",), (made,)), reach=reach,
                  boundary=boundary)  # fmt: skip


def square_source(x: str, *, function: Function, boundary: str) -> str:
    return f"fw.stencil({function_text(function)}, {x}, (3, 3), {boundary!r})"


def square_meaning(env: Any, x: Any, *, function: Function, boundary: str) -> Any:
    if not x.size:
        near = {f"n[{i}, {j}]": x for i in (-1, 0, 1) for j in (-1, 0, 1)}
    else:
        padded = np.pad(x, 1, BOUNDARIES[boundary])
        rows, columns = x.shape
        near = {
            f"n[{i}, {j}]": padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]
            for i in (-1, 0, 1) for j in (-1, 0, 1)
        }  # fmt: skip
    found = call(Function((), function.results), {**env, **near})
    return np.broadcast_to(np.asarray(found), x.shape).copy()


def choose_square(w: Writer) -> Known:
    """A stencil over rank 2."""
    x = w.matrix()
    places = w.random.sample([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)], 3)
    made = w.expression({f"n[{i}, {j}]": x.sample for i, j in places}, 2, control=False)
    return w.emit("square stencil", x, length=x.length, function=Function(("n",), (made,)),
                  boundary=w.random.choice(list(BOUNDARIES)))  # fmt: skip


# -- sorts -----------------------------------------------------------------------------------------


def order_of(keys: Any, descending: bool) -> np.ndarray:
    """Where the elements come from when they are sorted: stable, NaN last, zeros equal."""
    ranks = []
    for key in columns_of(keys):
        values, rank = np.unique(key, return_inverse=True)
        rank = rank.reshape(-1)
        is_nan = np.isnan(key) if key.dtype.kind == "f" else np.zeros(len(key), bool)
        ranks.append(np.where(is_nan, len(values), -rank if descending else rank))
    return np.lexsort(ranks[::-1])


def sort_source(x: str, *, how: str, function: Function | None, descending: bool) -> str:
    key = "" if function is None else f", key={function_text(function)}"
    return f"fw.{how}({x}{key}{', descending=True' * descending})"


def sort_meaning(
    env: Any, x: Any, *, how: str, function: Function | None, descending: bool
) -> Any:
    n = length_of(x)
    keys = x if function is None else call(function, env, x)
    keys = tuple(np.broadcast_to(np.asarray(key), (n,)) for key in columns_of(keys))
    if how == "sort" and function is None and not isinstance(x, tuple):
        # values alone are sorted with -0.0 before 0.0
        keys = (*keys, (x == 0) & ~np.signbit(x)) if x.dtype.kind == "f" else keys
    order = order_of(keys, descending)
    return order.astype(np.int64) if how == "argsort" else taken(x, order)


def choose_sort(w: Writer) -> Known:
    x = w.one_of(lambda x: x.rank == 1 or x.is_tuple)
    function = None
    if w.chance(0.4):
        env = w.element_env(("x", x))
        keys = tuple(w.expression(env, 1, control=False) for _ in range(w.random.choice([1, 2])))
        function = Function(("x",), keys)
    how = w.random.choice(["sort", "sort", "argsort"])
    return w.emit("sort", x, length=x.length, how=how, function=function,
                  descending=w.chance(0.4))  # fmt: skip


def by_key_source(keys: str, x: str, *, descending: bool) -> str:
    return f"fw.sort_by_key({keys}, {x}{', descending=True' * descending})"


def by_key_meaning(env: Any, keys: Any, x: Any, *, descending: bool) -> Any:
    length_of(keys, x)
    order = order_of(keys, descending)
    return keys[order], x[order]


def choose_by_key(w: Writer) -> Known:
    keys = w.vector()
    return w.emit("sort_by_key", keys, w.as_long(keys), length=keys.length,
                  descending=w.chance(0.3))  # fmt: skip


OPERATIONS |= {
    "filter": Operation(filter_source, filter_meaning),
    "gather": Operation(gather_source, gather_meaning),
    "concat": Operation(concat_source, concat_meaning),
    "move": Operation(move_source, move_meaning),
    "rows": Operation(rows_source, rows_meaning),
    "shape": Operation(shape_source, shape_meaning),
    "stencil": Operation(stencil_source, stencil_meaning),
    "square stencil": Operation(square_source, square_meaning),
    "sort": Operation(sort_source, sort_meaning),
    "sort_by_key": Operation(by_key_source, by_key_meaning),
}
CHOICES = {choose_filter: 5, choose_gather: 3, choose_read: 3, choose_concat: 3, choose_move: 5,
           choose_shape: 3, choose_stencil: 3, choose_square: 1,
           choose_sort: 4,
           choose_by_key: 2}  # fmt: skip
