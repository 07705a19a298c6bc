"""What the primitives mean, in plain Python loops over lists: written from the language's page.

An array is a list, of NumPy scalars or of lists. An array of tuples is a tuple of lists.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Values = Any  # a list, or a tuple of lists that are equally long


def elements(xs: Values) -> list[Any]:
    """The elements of an array; tuples of those of a tuple."""
    if isinstance(xs, tuple):
        return list(zip(*map(elements, xs), strict=True))
    return xs


def like(xs: Values, found: Sequence[Any]) -> Values:
    """Elements as an array of the same structure as `xs`."""
    if isinstance(xs, tuple):
        return tuple(like(x, [element[k] for element in found]) for k, x in enumerate(xs))
    return list(found)


def columns(count: int | None, found: Sequence[Any]) -> Values:
    """Elements as an array: of tuples of `count` parts, or of scalars or rows."""
    if count is None:
        return list(found)
    return tuple([element[k] for element in found] for k in range(count))


def cast(dtype: str, x: Any) -> Any:
    """Floats to integers: the ends of the range for what is beyond; integers wrap."""
    kind = np.dtype(dtype)
    if isinstance(x, kind.type):
        return x
    if kind.kind in "iu" and isinstance(x, np.floating):
        info = np.iinfo(kind)
        return kind.type(max(info.min, min(info.max, int(x))))
    return np.asarray(x).astype(kind)[()]


def let(value: Any, f: Callable[[Any], Any]) -> Any:
    return f(value)


def map_(count: int | None, f: Callable[..., Any], *xs: Values) -> Values:
    return columns(count, [f(*each) for each in zip(*map(elements, xs), strict=True)])


def generate(count: int | None, n: Any, f: Callable[[Any], Any]) -> Values:
    return columns(count, [f(np.int64(i)) for i in range(n)])


def iota(n: Any) -> list[Any]:
    return [np.int64(i) for i in range(n)]


def full(n: Any, value: Any) -> Values:
    return [value for _ in range(n)]


# -- folds -----------------------------------------------------------------------------------------


def reduce(op: Callable[..., Any], ne: Any, xs: Values) -> Any:
    return functools.reduce(op, elements(xs), ne)


def scan(exclusive: bool, reverse: bool, op: Callable[..., Any], ne: Any, xs: Values) -> Values:
    given = elements(xs)
    if reverse:
        turned = itertools.accumulate(given[::-1], lambda a, b: op(b, a), initial=ne)
        found = list(turned)
    else:
        found = list(itertools.accumulate(given, op, initial=ne))
    kept = found[:-1] if exclusive else found[1:]
    return like(xs, kept[::-1] if reverse else kept)


def segments(flags: list[Any], xs: Values) -> list[list[Any]]:
    """The elements of each segment."""
    found: list[list[Any]] = []
    for flag, x in zip(flags, elements(xs), strict=True):
        if flag or not found:
            found.append([])
        found[-1].append(x)
    return found


def segmented_scan(op: Callable[..., Any], ne: Any, flags: list[Any], xs: Values) -> Values:
    found = [
        x
        for segment in segments(flags, xs)
        for x in list(itertools.accumulate(segment, op, initial=ne))[1:]
    ]
    return like(xs, found)


def segmented_reduce(op: Callable[..., Any], ne: Any, flags: list[Any], xs: Values) -> Values:
    return like(xs, [functools.reduce(op, part, ne) for part in segments(flags, xs)])


def segmented_iota(flags: list[Any]) -> list[Any]:
    return [np.int64(i) for part in segments(flags, flags) for i in range(len(part))]


def total(dtype: str, function: Callable[[Any, Any], Any], start: Any, xs: list[Any]) -> Any:
    """A sum or product in a wider dtype."""
    return functools.reduce(function, [cast(dtype, x) for x in xs], cast(dtype, start))


def totals(dtype: str, function: Callable[[Any, Any], Any], xs: list[Any]) -> list[Any]:
    return list(itertools.accumulate([cast(dtype, x) for x in xs], function))


def extreme(function: Callable[[Any, Any], Any], xs: list[Any], initial: Any) -> Any:
    return functools.reduce(function, xs, initial)


def place_of(best: Callable[..., Any], xs: list[Any]) -> Any:
    """Where the least or greatest element is first found."""
    return np.int64(xs.index(best(xs)))


def expand_reduce(
    size: Callable[[Any], Any], get: Callable[..., Any], op: Callable[..., Any], ne: Any,
    xs: Values,
) -> list[Any]:  # fmt: skip
    return [
        functools.reduce(op, [get(x, np.int64(i)) for i in range(size(x))], ne)
        for x in elements(xs)
    ]


# -- elements chosen, moved, ordered ---------------------------------------------------------------


def filter_(p: Callable[[Any], Any], xs: Values) -> Values:
    return like(xs, [x for x in elements(xs) if p(x)])


def partition(p: Callable[[Any], Any], xs: Values) -> tuple[Values, Values]:
    return filter_(p, xs), filter_(lambda x: not p(x), xs)


def expand(
    count: int | None, size: Callable[[Any], Any], get: Callable[..., Any], xs: Values
) -> Values:
    found = [get(x, np.int64(i)) for x in elements(xs) for i in range(size(x))]
    return columns(count, found)


def replicated_iota(reps: list[Any]) -> list[Any]:
    return [np.int64(i) for i, n in enumerate(reps) for _ in range(n)]


def rotate(xs: list[Any], k: Any) -> list[Any]:
    return [xs[(i + int(k)) % len(xs)] for i in range(len(xs))]


def gather(xs: Values, idx: list[Any]) -> Values:
    return like(xs, [elements(xs)[int(i)] for i in idx])


def cut(xs: Values, start: Any, stop: Any, step: int = 1) -> Values:
    return like(xs, elements(xs)[int(start) : int(stop) : step])


def by(descending: bool, key: Callable[[Any], Any] | None, xs: Values) -> Values:
    return like(xs, sorted(elements(xs), key=key, reverse=descending))


def argsort(descending: bool, xs: list[Any]) -> list[Any]:
    order = sorted(range(len(xs)), key=lambda i: xs[i], reverse=descending)
    return [np.int64(i) for i in order]


def sort_by_key(keys: list[Any], values: Values) -> tuple[list[Any], Values]:
    order = argsort(False, keys)
    return gather(keys, order), gather(values, order)


# -- writes ----------------------------------------------------------------------------------------


def scatter(dest: Values, idx: list[Any], vals: Values) -> Values:
    """Nests write equal elements where indices are equal: any of them wins."""
    found = list(elements(dest))
    for i, value in zip(idx, elements(vals), strict=True):
        if 0 <= i < len(found):
            found[int(i)] = value
    return like(dest, found)


def scatter_one(dest: list[Any], idx: list[Any], value: Any) -> list[Any]:
    return scatter(dest, idx, [value] * len(idx))


def permute(op: Callable[..., Any], dest: Values, idx: list[Any], vals: Values) -> Values:
    found = list(elements(dest))
    for i, value in zip(idx, elements(vals), strict=True):
        if 0 <= i < len(found):
            found[int(i)] = op(found[int(i)], value)
    return like(dest, found)


def histogram(n: Any, idx: list[Any]) -> list[Any]:
    return permute(lambda a, b: a + b, full(n, np.int64(0)), idx, full(len(idx), np.int64(1)))


# -- control ---------------------------------------------------------------------------------------


def cond(p: Any, then: Callable[..., Any], other: Callable[..., Any], *args: Any) -> Any:
    return then(*args) if p else other(*args)


def while_loop(holds: Callable[[Any], Any], body: Callable[[Any], Any], state: Any) -> Any:
    while holds(state):
        state = body(state)
    return state


def fori_loop(lo: Any, hi: Any, body: Callable[..., Any], state: Any) -> Any:
    for i in range(int(lo), int(hi)):
        state = body(np.int64(i), state)
    return state
