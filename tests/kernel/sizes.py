"""Operations of kernels on arrays of sizes that fit and that do not, next to plain Python.

A case is an operation with drawn numbers. `want` says what it gives for a list, or raises Refused:
then the kernel has to raise an error that names the operation and a size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw
from flatweave import kernel as fk


class Refused(Exception):
    """Sizes that do not fit."""


class Case(NamedTuple):
    """`fn` of an array of `n` elements, and of `data`, indices that are known at run time."""

    name: str
    numbers: tuple[Any, ...]
    n: int
    in_block: bool
    fn: Callable[..., Any]
    want: Callable[[list[int]], list[int]]
    data: list[int] | None
    level: Any = None

    def __str__(self) -> str:
        where = "block" if self.in_block else "grid"
        return f"{self.name}{self.numbers} of {self.n} in a {where}, {self.data}"


def plus(a: Any, b: Any) -> Any:
    """An operator."""
    return a + b


def apart(a: Any, b: Any) -> Any:
    """An associative one that does not commute: of pairs in one number, a * 100 + b's low part."""
    return fw.where(b % 7 == 0, a, b) if isinstance(b, fw.Array) else (a if b % 7 == 0 else b)


def need(holds: bool) -> None:
    """Refuse unless sizes fit."""
    if not holds:
        raise Refused


def part(xs: list[int], low: int, high: int) -> list[int]:
    """A part that must be there."""
    need(0 <= low <= high <= len(xs))
    return xs[low:high]


def prefixes(xs: list[int]) -> list[int]:
    """All sums."""
    return [int(x) for x in np.cumsum(xs, dtype=np.int64)]


def paired(xs: list[int], partner: Callable[[int], int], bit: int) -> list[int]:
    """A column of comparators: the least to the left."""
    need(bit >= 0 and len(xs) % (2 << bit) == 0)
    return [(min if not i >> bit & 1 else max)(xs[i], xs[partner(i)]) for i in range(len(xs))]


def halves(xs: list[int]) -> list[int]:
    """A perfect shuffle."""
    need(len(xs) % 2 == 0)
    half = len(xs) // 2
    return [x for pair in zip(xs[:half], xs[half:], strict=True) for x in pair]


def every(xs: list[int], step: int, first: int) -> list[int]:
    """Elements with a stride."""
    need(step >= 1 and 0 <= first <= len(xs))
    return xs[first::step]


def columns(xs: list[int], k: int) -> list[int]:
    """Rows of k, turned."""
    need(k >= 1 and len(xs) % k == 0 and len(xs) > 0)
    return [x for j in range(k) for x in xs[j::k]]


def spread(xs: list[int], k: int) -> list[int]:
    """Strided parts of k elements, concatenated."""
    need(k >= 1 and len(xs) % k == 0)
    count = len(xs) // k
    return [x for i in range(count) for x in xs[i::count]]


def at(xs: list[int], i: int) -> int:
    """An element that must be there."""
    need(0 <= i < len(xs))
    return xs[i]


def put_all(xs: list[int], size: int, places: list[int]) -> list[int]:
    """Each element at its index, where there was 0."""
    need(size >= 0)
    out = [0] * size
    for x, i in zip(xs, places, strict=True):
        need(0 <= i < size)
        out[i] += x
    return out


def updated(size: int, k: int, write: Callable[[Any], None]) -> Any:
    """Memory with zeros that threads change, read after a barrier."""
    m = fk.fill(fk.replicate(size, 0))
    fk.for_all(k, lambda t: write((m, t)))
    fk.barrier()
    return m.pull()


lo, hi = fw.minimum, fw.maximum
Entry = tuple[Callable[..., Any], Callable[..., list[int]]]
BOTH: dict[str, Entry] = {
    "take": (lambda k: lambda xs: fk.take(k, xs), lambda xs, k: part(xs, 0, k)),
    "take push": (lambda k: lambda xs: fk.take(k, fk.push(xs)), lambda xs, k: part(xs, 0, k)),
    "drop": (lambda k: lambda xs: fk.drop(k, xs), lambda xs, k: part(xs, k, len(xs))),
    "split_at": (
        lambda k: lambda xs: fk.concat_p(*fk.split_at(k, xs)[::-1]),
        lambda xs, k: part(xs, k, len(xs)) + part(xs, 0, k),
    ),
    "halve": (
        lambda: lambda xs: fk.concat_p(*fk.halve(xs)[::-1]),
        lambda xs: xs[len(xs) // 2 :] + xs[: len(xs) // 2],
    ),
    "every_nth": (lambda k, s: lambda xs: fk.every_nth(k, s, xs), every),
    "evens": (lambda: lambda xs: fk.evens(xs), lambda xs: xs[::2]),
    "reverse": (lambda: lambda xs: fk.reverse(xs), lambda xs: xs[::-1]),
    "first": (lambda: lambda xs: fk.singleton(fk.first(xs)), lambda xs: [at(xs, 0)]),
    "last": (lambda: lambda xs: fk.singleton(fk.last(xs)), lambda xs: [at(xs, len(xs) - 1)]),
    "pair": (
        lambda: lambda xs: fk.unpair(fk.pair(xs)), lambda xs: need(len(xs) % 2 == 0) or xs
    ),
    "riffle": (lambda: fk.riffle, halves),
    "interleave_p": (
        lambda k: lambda xs: fk.interleave_p(xs, fk.iterations(k)),
        lambda xs, k: need(k == len(xs)) or [y for i, x in enumerate(xs) for y in (x, i)],
    ),
    "shift_left": (
        lambda k: lambda xs: fk.shift_left(k, -1, xs),
        lambda xs, k: need(k >= 0) or (xs[k:] + [-1] * min(k, len(xs))),
    ),
    "shift_right": (
        lambda k: lambda xs: fk.shift_right(k, -1, xs),
        lambda xs, k: need(k >= 0) or ([-1] * min(k, len(xs)) + xs[: max(0, len(xs) - k)]),
    ),
    "rotate": (
        lambda k: lambda xs: fk.rotate(k, xs),
        lambda xs, k: [xs[(i + k) % len(xs)] for i in range(len(xs))],
    ),
    "padded": (
        lambda k: lambda xs: fk.padded(k, xs, -1),
        lambda xs, k: need(k >= 1) or (xs + [-1] * (-len(xs) % k)),
    ),
    "split_up": (
        lambda k: lambda xs: fk.p_map(lambda p: p[k - 1], fk.split_up(k, xs)),
        lambda xs, k: need(k >= 1 and len(xs) % k == 0) or xs[k - 1 :: k],
    ),
    "coalesce": (lambda k: lambda xs: fk.flatten(fk.coalesce(k, xs)), spread),
    "transpose": (lambda k: lambda xs: fk.flatten(fk.transpose(fk.split_up(k, xs))), columns),
    "fix_size": (
        lambda k: lambda xs: fk.fix_size(k, xs), lambda xs, k: need(k == len(xs)) or xs
    ),
    "index": (lambda k: lambda xs: fk.singleton(xs[k]), lambda xs, k: [at(xs, k)]),
    "index of memory": (
        lambda k: lambda xs: fk.singleton(fk.fill(xs)[k]), lambda xs, k: [at(xs, k)]
    ),
    "gather": (
        lambda k: lambda xs, data: fk.gather(lambda i: data[i], xs, 4),
        lambda xs, k, data: [at(xs, i) for i in data[:4]],
    ),
    "index by data": (
        lambda k: lambda xs, data: fk.map(lambda i: xs[data[k]] + i, fk.iterations(3)),
        lambda xs, k, data: [at(xs, at(data, k)) + i for i in range(3)],
    ),
    "a slice": (
        lambda k: lambda xs, data: fk.singleton(
            fk.seq_reduce(plus, xs[data[0] : data[1]], 0)
        ),
        lambda xs, k, data: [sum(part(xs, data[0], data[1]))],
    ),
    "ix_map": (
        lambda k: lambda xs: fk.ix_map(lambda i: i + k, xs),
        lambda xs, k: [at(xs, i + k) for i in range(len(xs))],
    ),
    "replicate": (
        lambda k: lambda xs: fk.replicate(k, 7), lambda xs, k: need(k >= 0) or [7] * k
    ),
    "generate": (
        lambda k: lambda xs: fk.generate(k, lambda i: i), lambda xs, k: (
            need(k >= 0) or list(range(k))),
    ),
    "seq_reduce": (
        lambda: lambda xs: fk.singleton(fk.seq_reduce(apart, xs)),
        lambda xs: need(len(xs) > 0) or [next((x for x in xs[:0:-1] if x % 7), xs[0])],
    ),
    "seq_scan": (lambda: lambda xs: fk.seq_scan(plus, xs), prefixes),
    "scatter": (
        lambda k: lambda xs: fk.scatter(lambda i: i + k, xs, xs.length),
        lambda xs, k: need(k == 0 or not xs) or xs,
    ),
    "zip_with": (
        lambda k: lambda xs: fk.zip_with(plus, fk.reverse(xs), fk.map(lambda x: 2 * x, xs)),
        lambda xs, k: [a + 2 * b for a, b in zip(xs[::-1], xs, strict=True)],
    ),
}
"""In code of the grid, where lengths are known at run time, and in that of a block."""

STATIC: dict[str, Entry] = {
    "push_n": (lambda k: lambda xs: fk.push_n(k, xs), lambda xs, k: (
        need(k >= 1 and len(xs) % k == 0) or xs)),
    "load": (lambda k: lambda xs: fk.load(k, xs), lambda xs, k: (
        need(k >= 1 and len(xs) % k == 0) or xs)),
    "push_how": (
        lambda k: lambda xs: fk.push_how(len(xs), lambda t: [t + k], xs),
        lambda xs, k: need(len(xs) > 0 and k == 0) or xs,
    ),
    "bin_split": (
        lambda k: lambda xs: fk.bin_split(k, fk.reverse)(xs),
        lambda xs, k: need(k >= 0 and len(xs) % (1 << max(k, 0)) == 0) or [
            x for i in range(1 << k) for x in xs[len(xs) * i >> k : len(xs) * (i + 1) >> k][::-1]],
    ),
    "ilv": (
        lambda: lambda xs: fk.ilv(fk.reverse)(xs), lambda xs: need(len(xs) % 2 == 0) or [
            x for pair in zip(xs[::2][::-1], xs[1::2][::-1], strict=True) for x in pair],
    ),
    **{
        f"ilv{way}": (
            lambda k, way=way: getattr(fk, f"ilv{way}")(k, lo, hi),
            lambda xs, k: paired(xs, lambda i: i ^ 1 << k, k),
        )
        for way in (1, 2)
    },
    **{
        f"vee{way}": (
            lambda k, way=way: getattr(fk, f"vee{way}")(k, lo, hi),
            lambda xs, k: paired(xs, lambda i: i ^ (2 << k) - 1, k),
        )
        for way in (1, 2)
    },
    "on_evens": (
        lambda: lambda xs: fk.on_evens(lambda a, b: (b, a))(xs),
        lambda xs: [xs[i ^ 1] if i ^ 1 < len(xs) else xs[i] for i in range(len(xs))],
    ),
    "reduce": (
        lambda k: lambda xs: fk.reduce(plus, fk.drop(k, xs), 0),
        lambda xs, k: [sum(part(xs, k, len(xs)))],
    ),
    "scan": (
        lambda k: lambda xs: fk.scan(plus, fk.drop(k, xs), 0),
        lambda xs, k: prefixes(part(xs, k, len(xs))),
    ),
    "sequential": (
        lambda k: lambda xs: fk.sequential(3)(lambda p: fk.reduce(plus, fk.take(k, p), 0))(xs),
        lambda xs, k: [sum(part(xs, 0, k))],
    ),
    "put": (
        lambda k: lambda xs, data: fk.make_push(k, lambda put: fk.for_all(
            1, lambda t: [put(data[0] + j, j) for j in range(max(k, 1))] and None)),
        lambda xs, k, data: need(k >= 1 and data[0] == 0) or list(range(k)),
    ),
    "atomic_add": (
        lambda k: lambda xs, data: updated(k, 4, lambda mt: fk.atomic_add(mt[0], data[mt[1]], 1)),
        lambda xs, k, data: put_all([1] * 4, k, data[:4]),
    ),
    "atomic": (
        lambda k: lambda xs, data: updated(
            k, 4, lambda mt: fk.atomic(lambda a, b: a + b, mt[0], data[mt[1]], 1)),
        lambda xs, k, data: put_all([1] * 4, k, data[:4]),
    ),
    "memory": (
        lambda k: lambda xs, data: updated(k, 1, lambda mt: mt[0].__setitem__(data[0], 5)),
        lambda xs, k, data: put_all([5], k, data[:1]),
    ),
    "write": (
        lambda k: lambda xs: _filled(k, lambda m: m.write(xs)),
        lambda xs, k: need(k >= 0 and len(xs) <= k) or (xs + [0] * (k - len(xs))),
    ),
    "write of a scatter": (
        lambda k: lambda xs: _filled(k, lambda m: m.write(fk.scatter(lambda i: 2 * i, xs))),
        lambda xs, k: put_all(xs, k, [2 * i for i in range(len(xs))]),
    ),
    "seq_while": (
        lambda k: lambda xs: fk.singleton(
            fk.seq_while(lambda i: xs[i] != xs[0] + k, lambda i: i + 1, 0)),
        lambda xs, k: [next((i for i in range(len(xs)) if xs[i] == xs[0] + k), None) or (
            need(k == 0 and len(xs) > 0) or 0)],
    ),
}  # fmt: skip
"""Of a length that is known when the kernel is written."""

WARP: dict[str, Entry] = {
    "shuffle_up": (lambda k: lambda xs: fk.shuffle_up(k, xs), lambda xs, k: (
        need(k >= 0) or [xs[i - k if i >= k else i] for i in range(len(xs))])),
    "shuffle_down": (lambda k: lambda xs: fk.shuffle_down(k, xs), lambda xs, k: (
        need(k >= 0) or [xs[i + k if i + k < len(xs) else i] for i in range(len(xs))])),
    "shuffle_xor": (lambda k: lambda xs: fk.shuffle_xor(k, xs), lambda xs, k: (
        need(len(xs) & len(xs) - 1 == 0 and 0 <= k < len(xs)) or (
            [xs[i ^ k] for i in range(len(xs))]))),
    "shuffle": (lambda k: lambda xs: fk.shuffle(lambda i: i * k, xs), lambda xs, k: (
        [at(xs, i * k) for i in range(len(xs))])),
    "warp_reduce": (lambda: lambda xs: fk.warp_reduce(plus, xs), lambda xs: (
        need(len(xs) > 0) or [sum(xs)])),
    "warp_scan": (lambda: lambda xs: fk.warp_scan(plus, xs), prefixes),
    "scan of a warp": (lambda: lambda xs: fk.scan(plus, xs, 0), prefixes),
}  # fmt: skip
"""In code of a warp."""


def _filled(size: int, write: Callable[[Any], None]) -> Any:
    m = fk.fill(fk.replicate(size, 0))
    fk.barrier()
    write(m)
    fk.barrier()
    return m.pull()


def cases(count: int, seed: int) -> Iterator[Case]:
    """`count` cases, with all operations."""
    draw = np.random.default_rng(seed)
    found = [
        *((name, entry, in_block, None) for name, entry in BOTH.items() for in_block in (0, 1)),
        *((name, entry, 1, None) for name, entry in STATIC.items()),
        *((name, entry, 1, fk.WARP) for name, entry in WARP.items()),
    ]
    for turn in range(count):
        name, (make, want), in_block, level = found[turn % len(found)]
        n = int(draw.choice([0, 1, 2, 3, 4, 5, 6, 8, 12, 16], p=[.04] + [.96 / 9] * 9))
        n = max(n, in_block)  # split_up has no parts of no elements
        width = make.__code__.co_argcount - len(make.__defaults__ or ())
        numbers = tuple(_number(draw, n) for _ in range(width))
        arguments = want.__code__.co_varnames[: want.__code__.co_argcount]
        data = None
        if "data" in arguments:
            bound = max(n if draw.random() < .7 else numbers[0] if numbers else n, 1)
            data = [int(x) for x in draw.integers(0, bound, 16)]
            if draw.random() < .3:
                data[int(draw.integers(0, 4))] = int(draw.choice([-1, n, n + 1, 2**40, -(2**63)]))
            data[:2] = sorted(data[:2]) if draw.random() < .8 else data[:2]
            data[0] = 0 if name == "put" and draw.random() < .5 else data[0]
        wanted = _wanted(want, numbers, data)
        yield Case(name, numbers, n, bool(in_block), make(*numbers), wanted, data, level)


def _number(draw: np.random.Generator, n: int) -> int:
    """A number near the sizes at which something changes."""
    chosen = [-1, 0, 1, 2, 3, 4, n // 2, n - 1, n, n + 1, 2 * n, 9]
    return int(draw.choice(chosen))


def _wanted(
    want: Callable[..., list[int]], numbers: tuple[int, ...], data: list[int] | None
) -> Callable[[list[int]], list[int]]:
    more = () if data is None else (data,)
    return lambda xs: want(xs, *numbers, *more)
