"""Kinds of parameters: what each draws, from what was drawn before it.

    array(REAL), axes        for np.sum(a, axis=..): an array; None, a number, a tuple, a list
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.surface.draw import ALL, BOOL, EXTENTS, FLOATS, INTEGERS, REAL, Draw, Kind, Name

RANKS = (0, 1, 1, 1, 2, 2, 2, 3)


def array(dtypes: Sequence[str] = ALL, ranks: Sequence[int] = RANKS) -> Kind:
    """An array of any extents."""
    return lambda d: d.held(d.elements(d.shape(ranks), d.dtype(dtypes)))


def number(d: Draw) -> Any:
    """A Python number."""
    kind = d.pick((int, float, float, complex, bool))
    if kind is int:
        return d.some((0, 1, 2, -1, 3, 7, 200, -(2**31), 2**40))
    if kind is float:
        return d.some((0.5, -1.5, 0.0, -0.0, float("nan"), float("inf"), 2.0))
    return d.some((1j, 1 - 2j)) if kind is complex else d.some((True, False))


def operand(dtypes: Sequence[str] = ALL) -> Kind:
    """What is broadcast with the first argument: an array, seldom a Python number."""

    def draw(d: Draw) -> Any:
        if d.likely(0.2):
            return number(d)
        rank = d.pick((d.first.ndim, d.first.ndim, 0, 1, 2))
        return d.held(d.elements(beside(d, rank), d.dtype(dtypes)))

    return draw


def beside(d: Draw, rank: int) -> tuple[int, ...]:
    """A shape that can be broadcast with that of the first argument, or seldom not."""
    shape = d.first.shape[max(d.first.ndim - rank, 0):]
    extents = [d.some(EXTENTS) for _ in range(rank - len(shape))] + list(shape)
    extents = [1 if d.values.random() < 0.2 else extent for extent in extents]
    if extents and d.wrong():
        extents[d.whole(0, rank - 1)] += 1
    return tuple(extents)


def axis(d: Draw) -> Any:
    """The number of an axis."""
    rank = d.first.ndim
    if d.wrong() or not rank:
        return d.some((0, -1, rank, -rank - 1))
    found = d.pattern.randrange(-rank, rank)
    return np.int64(found) if d.likely(0.15) else found


def axis_or_none(d: Draw) -> Any:
    """The number of an axis, or None."""
    return None if d.likely(0.2) else axis(d)


def axes(d: Draw) -> Any:
    """An axis, several in a tuple, seldom in a list, or None."""
    rank = d.first.ndim
    if d.likely(0.6):
        return axis_or_none(d)
    if d.wrong():
        return d.some(((0, 0), (rank,), (0, -rank), (0.5,)))
    some = d.pattern.sample(range(rank), d.pattern.randint(0, rank))
    found = [i - rank if d.likely(0.3) else i for i in some]
    return found if d.likely(0.1) else tuple(found)


def flag(d: Draw) -> bool:
    """True or False."""
    return bool(d.likely(0.7))


def dtype(d: Draw) -> Any:
    """A dtype, by its name."""
    return d.pick(ALL)


def mask(d: Draw) -> Any:
    """Booleans that are broadcast with the first argument."""
    return d.held(d.elements(beside(d, d.pick((d.first.ndim, 1))), "bool"))


def whole(low: int, high: int) -> Kind:
    """A whole number, at times NumPy's."""

    def draw(d: Draw) -> Any:
        found = d.whole(low, high)
        return np.int64(found) if d.likely(0.15) else found

    return draw


def one_of(*values: Any) -> Kind:
    """One of these."""
    return lambda d: d.pick(values)


def like(dtypes: Sequence[str] = ALL, extra: int = 0) -> Kind:
    """An array of the first argument's shape, seldom of one longer."""

    def draw(d: Draw) -> Any:
        shape = d.first.shape
        if shape and d.wrong():
            shape = (*shape[:-1], shape[-1] + d.some((1, -1)) if shape[-1] else 1)
        return d.held(d.elements(shape, d.dtype(dtypes)))

    return draw


def along(dtypes: Sequence[str] = REAL) -> Kind:
    """A vector as long as the first argument's last axis, or as the whole of it."""

    def draw(d: Draw) -> Any:
        shape = d.first.shape if d.likely(0.5) else d.first.shape[-1:]
        if shape and d.wrong():
            shape = (*shape[:-1], shape[-1] + 1)
        return d.held(d.elements(shape, d.dtype(dtypes)))

    return draw


def indices(d: Draw) -> Any:
    """Indices of the first argument's elements or lines, seldom outside."""
    size = max(min(d.first.shape, default=1), 1)
    shape = d.shape((0, 1, 1, 2))
    low, high = (-size - 1, size) if d.wrong() else (-size, size - 1)
    found = np.array([d.whole(low, high) for _ in range(int(np.prod(shape)))], np.int64)
    kind = d.dtype((*INTEGERS[:4], *INTEGERS[:4], "uint8", "uint64", "bool"))
    if kind.startswith("u"):
        found = abs(found) % size
    return d.held(found.reshape(shape).astype(kind))


def along_axis(d: Draw) -> Any:
    """Indices for take_along_axis, along the last axis."""
    shape = list(d.first.shape) or [2]
    size = max(shape[-1], 1)
    shape[-1] = d.whole(0, 4)
    found = [d.whole(-size, size - 1) for _ in range(int(np.prod(shape)))]
    return d.held(np.array(found, np.int64).reshape(shape))


def arrays(dtypes: Sequence[str] = ALL, ranks: Sequence[int] = RANKS) -> Kind:
    """A list or a tuple of arrays that agree but for one axis, seldom more."""

    def draw(d: Draw) -> Any:
        shape, kind = d.shape(ranks), d.dtype(dtypes)
        several = []
        for _ in range(d.pick((0, 1, 2, 2, 2, 3)) if d.likely(0.3) else 2):
            extents = list(shape)
            if extents and (d.values.random() < 0.2 or d.wrong()):
                extents[d.whole(0, len(extents) - 1)] += 1
            kind = d.dtype(dtypes) if d.likely(0.3) else kind
            several.append(d.held(d.elements(tuple(extents), kind)))
        return several if d.likely(0.7) else tuple(several)

    return draw


def several(dtypes: Sequence[str] = ALL) -> Kind:
    """A list of arrays of shapes that are mostly one."""
    return arrays(dtypes, (0, 1, 1, 2))


def extents(d: Draw) -> Any:
    """A shape: a number, a tuple, a list."""
    shape = d.shape((0, 1, 1, 2, 3))
    if len(shape) == 1 and d.likely(0.5):
        return np.int64(shape[0]) if d.likely(0.2) else shape[0]
    if shape and d.wrong():
        shape = (-1, *shape[1:])
    return list(shape) if d.likely(0.3) else shape


def new_shape(d: Draw) -> Any:
    """A shape for the elements of the first argument, seldom for others."""
    size = d.first.size
    if d.wrong():
        return d.some(((size + 1,), (-1, -1), (0, -1), (2, -1)))
    rows = d.some([n for n in range(1, size + 1) if size % n == 0] or [0])
    found = d.some((size, -1, (rows, -1), (-1, rows), (size // rows if rows else 0, rows)))
    return list(found) if isinstance(found, tuple) and d.likely(0.3) else found


def wider(d: Draw) -> Any:
    """A shape to which the first argument can be broadcast."""
    shape = [d.some((0, 2, 3)) if extent == 1 else extent for extent in d.first.shape]
    shape = [d.some(EXTENTS) for _ in range(d.pick((0, 1)))] + shape
    if shape and d.wrong():
        shape[-1] += 1
    return shape if d.likely(0.2) else tuple(shape)


def order(d: Draw) -> Any:
    """The axes of the first argument in another order."""
    rank = d.first.ndim
    found = d.pattern.sample(range(rank), rank)
    if d.wrong():
        found = [*found, 0]
    found = [i - rank if d.likely(0.2) else i for i in found]
    return found if d.likely(0.3) else tuple(found)


def counts(d: Draw) -> Any:
    """How often to repeat: a number, or one for each line."""
    if d.likely(0.4):
        return d.some((0, 1, 2, 3, -1) if d.wrong() else (0, 1, 2, 3))
    size = d.some((d.first.size, *d.first.shape)) + d.wrong()
    return d.held(np.array([d.whole(0, 3) for _ in range(size)], np.int64))


def shifts(d: Draw) -> Any:
    """How far to roll: a number, or a tuple with one for each axis."""
    return d.some((0, 1, -2, 7, 10**10)) if d.likely(0.7) else (d.whole(-2, 2), 1)


def repetitions(d: Draw) -> Any:
    """How often to tile: a number, a tuple, a list."""
    found = tuple(d.some((0, 1, 2, 3)) for _ in range(d.pick((1, 2, 3))))
    return found[0] if d.likely(0.3) else list(found) if d.likely(0.3) else found


def increasing(d: Draw) -> Any:
    """Numbers in order, seldom not."""
    found = d.elements(d.shape((1,)), d.dtype(REAL))
    return d.held(found if d.wrong() else np.sort(found))


def strictly(d: Draw) -> np.ndarray:
    """Floats in order, none twice, at least one."""
    return np.cumsum([d.whole(1, 5) / 2 for _ in range(d.whole(1, 6))]) - 4.0


def samples_at(d: Draw) -> Any:
    """The indices of samples."""
    return d.held(strictly(d).astype(d.dtype((*FLOATS, "int64"))))


def samples(d: Draw) -> Any:
    """The values of samples, one for each index before them."""
    count = np.asarray(d.value(d.drawn[-1])).size + d.wrong()
    return d.held(d.elements((count,), d.dtype((*FLOATS, "int64", "uint8", "complex128"))))


def bins(d: Draw) -> Any:
    """Edges in order, ascending or descending, seldom in none."""
    found = np.sort(d.elements(d.shape((1,)), d.dtype((*FLOATS, *INTEGERS))))
    return d.held(d.elements((4,), "float64") if d.wrong() else d.some((found, found[::-1].copy())))


def naturals(d: Draw) -> Any:
    """Integers from 0, seldom below."""
    kind = d.dtype((*INTEGERS, "bool", "float64"))
    shape = d.shape((1, 1, 1, 1, 0, 2))
    low = -1 if d.wrong() and not kind.startswith("u") else 0
    found = np.array([d.whole(low, 9) for _ in range(int(np.prod(shape)))])
    return d.held(found.reshape(shape).astype(kind))


def parts(d: Draw) -> Any:
    """Quantiles: from 0 to 1."""
    scale = d.drawn_scale if hasattr(d, "drawn_scale") else 1
    one = lambda: d.some((0, 0.5, 1, 0.25, 0.9)) * scale
    if d.wrong():
        return 1.5 * scale
    return one() if d.likely(0.6) else d.held(np.array([one() for _ in range(d.whole(0, 3))]))


def percents(d: Draw) -> Any:
    """Percentiles: from 0 to 100."""
    if d.wrong():
        return -1
    one = lambda: d.some((0, 50, 100.0, 25, 33.3))
    return one() if d.likely(0.6) else d.held(np.array([one() for _ in range(d.whole(0, 3))]))


def cuts(d: Draw) -> Any:
    """Where to split: a number of parts, or indices in a list, a tuple, an array, a range."""
    size = d.first.shape[0] if d.first.ndim else 1
    if d.likely(0.5):
        found = d.some([n for n in range(1, size + 1) if size % n == 0] or [1])
        found = d.some((found, 2, 0)) if d.wrong() else found
        return np.int64(found) if d.likely(0.2) else found
    places = sorted(d.whole(-1, size + 1) for _ in range(d.whole(0, 3)))
    return d.pick((list, tuple, lambda x: range(len(x)), lambda x: np.array(x, int)))(places)


def widths(d: Draw) -> Any:
    """How wide to pad: a number, a pair, pairs; lists, tuples, arrays."""
    rank = d.first.ndim
    pair = lambda: (d.whole(0, 3), d.whole(0, 3))
    found = d.pick((lambda: d.whole(0, 3), pair, lambda: (pair(),),
                    lambda: tuple(pair() for _ in range(rank))))()  # fmt: skip
    if d.wrong():
        return d.some((-1, (1, 2, 3), ((1, 2),) * (rank + 1), 1.5))
    if isinstance(found, tuple) and d.likely(0.4):
        return d.pick((list, np.array))(found)
    return found


def matrices(dtypes: Sequence[str] = (*FLOATS, *FLOATS, "complex128", "complex64", "int64", "bool",
                                      "float16"), square: bool = True, form: str = "") -> Kind:
    """A matrix or a stack of them, well conditioned: symmetric or positive definite if asked."""

    def draw(d: Draw) -> Any:
        kind = d.dtype(dtypes)
        rank = 1 if d.wrong() else d.pick((2, 2, 2, 3))
        shape = [*d.shape((rank - 1,)), d.some((0, 1, 2, 3, 4))]
        if rank > 1:
            shape[-2] = shape[-1] if square and not d.wrong() else d.some((0, 1, 2, 3))
        found = np.array(
            [d.values.gauss(0, 1) for _ in range(int(np.prod(shape)) * 2)]
        ).reshape(2, *shape)
        values = found[0] + 1j * found[1] if kind.startswith("c") else found[0]
        if kind in ("int64", "bool"):
            values = np.round(values * 2)
        if form and rank > 1 and shape[-1] == shape[-2]:
            other = np.conj(np.swapaxes(values, -1, -2))
            values = values @ other + np.eye(shape[-1]) if form == "positive" else values + other
        elif square and rank > 1 and shape[-1] == shape[-2] and d.likely(0.8):
            values = values + 3 * np.eye(shape[-1])
        return d.held(values.astype(kind))

    return draw


def right_side(d: Draw) -> Any:
    """What a stack of matrices is solved for: a vector, or matrices."""
    shape = d.first.shape
    rows = (shape[-1] if shape else 1) + d.wrong()
    extents = (rows,) if d.likely(0.4) else (*shape[:-2], rows, d.some((0, 1, 2, 3)))
    return d.held(d.elements(extents, d.dtype((*FLOATS, "complex128", "int64"))))


def factor(d: Draw) -> Any:
    """The right operand of a product of matrices."""
    shape = d.first.shape
    rows = (shape[-1] if shape else 2) + d.wrong()
    stack = d.pick((0, 1)) if len(shape) > 2 else 0
    extents = d.pick(((rows,), (rows, 3), (rows, 1), (rows, 0)))
    lead = shape[: len(shape) - 2] if stack and len(extents) == 2 else ()
    return d.held(d.elements((*lead, *extents), d.dtype(ALL)))


def line(d: Draw) -> Any:
    """A vector."""
    return array(ALL, (1,))(d)


def in_space(d: Draw) -> Any:
    """Vectors of three numbers."""
    return d.held(d.elements((*d.shape((0, 1)), 3 + d.wrong()), d.dtype(ALL)))


def truth(d: Draw) -> Any:
    """Booleans of any shape."""
    return array(BOOL + BOOL + ("int64", "float64"))(d)


def lengths(d: Draw) -> Any:
    """How long a transform is."""
    return None if d.likely(0.4) else d.some((1, 2, 3, 4, 5, 8, 0 if d.wrong() else 6))


def sizes(d: Draw) -> Any:
    """How long transforms along the last axes are."""
    count = d.pick((1, 2, 2)) if d.first.ndim > 1 else 1
    found = [d.some((1, 2, 3, 4)) for _ in range(count)]
    return found if d.likely(0.5) else tuple(found)


def reals(d: Draw) -> Any:
    """A Python number without an imaginary part."""
    return d.some((0, 1, 2, -1, 0.5, 3.7, 5, -2.5, 10))


def named(d: Draw) -> Any:
    """A dtype, an array or a Python number, for what asks of dtypes."""
    return d.pick((lambda: np.dtype(dtype(d)), lambda: dtype(d),
                   lambda: d.held(d.elements((2,), d.dtype(ALL)), ("np", "fw"))))()  # fmt: skip


def places(d: Draw) -> Any:
    """Names that a sorted array is searched for."""
    return array(REAL)(d)


def masks(d: Draw) -> Any:
    """A list of masks for select."""
    shape = d.shape((0, 1, 1, 2))
    return [d.held(d.elements(shape, "bool"), ("np", "fw")) for _ in range(d.pick((1, 2, 3)))]


def choices(d: Draw) -> Any:
    """As many choices as there were masks, seldom one more."""
    count = len(d.drawn[0]) + d.wrong()
    return [operand()(d) for _ in range(count)]


def blocks(d: Draw) -> Any:
    """Arrays in lists of one or two levels that join along the last two axes, seldom not."""
    kind = d.dtype(ALL)
    rows, columns = ([d.some((0, 1, 2, 3)) for _ in range(d.pick((1, 2, 2)))] for _ in range(2))

    def part(rank: int, height: int, width: int) -> Any:
        extents = (height + d.wrong(), width)[2 - rank :] if rank else ()
        dtype = d.dtype(ALL) if d.likely(0.3) else kind
        return d.held(d.elements(extents, dtype), ("np", "np", "fw", "F", "flip"))

    if d.likely(0.4):
        return [part(d.pick((0, 1, 2)), rows[0], width) for width in columns]
    if d.likely(0.2):
        return [[part(d.pick((0, 1)), 1, 1) for _ in columns] for _ in rows]
    return [[part(2, height, width) for width in columns] for height in rows]


def is_name(value: Any) -> bool:
    """Whether a value stands for an array."""
    return isinstance(value, Name)
