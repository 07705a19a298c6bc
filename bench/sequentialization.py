"""What it saves that a thread takes q elements: counts of the simulator, a block of 1,024 elements.

    python -m bench.sequentialization        the tables of bench/results, as Markdown

The benchmarks are those of the thesis on efficient sequentialization (map, reduce, scan, scatter,
addition of big numbers, a step of a radix sort), each once for all q: with q = 1 it is the kernel
that gives each element a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from flatweave import kernel as fk

BLOCK, BLOCKS = 1024, 4
FACTORS = (1, 4, 8, 16)
Op = Callable[[Any, Any], Any]
To = Callable[[Any], Any]
Array = np.ndarray[Any, Any]


def plus(a: Any, b: Any) -> Any:
    """An operator."""
    return a + b


def carries(a: Any, b: Any) -> Any:
    """Whether a carry comes out of two digits side by side (bit 0), and goes through both (1)."""
    return ((a & (b >> 1)) | b) & 1 | (a & b & 2)


# -- what a block is made of ----------------------------------------------------------------------


def place(i: Any) -> Any:
    """Where an element of a tile stands: a word is left out after each 32, so that threads that go
    through chunks side by side use other banks."""
    return i + i // 32


def tile(q: int, part: Any, dtype: Any, at: To = place) -> Any:
    """A part in shared memory, brought in by coalesced reads."""
    made = fk.memory(at(BLOCK - 1) + 1, dtype)
    fk.load(q, part).write(lambda i, x: made.__setitem__(at(i), x))
    fk.barrier()
    return fk.pull(BLOCK, lambda i: made[at(i)])


def chunk(q: int, xs: Any, t: Any) -> Any:
    """What thread t takes: q neighbours."""
    return fk.pull(q, lambda j: xs[t * q + j])


def of_chunks(q: int, op: Op, xs: Any) -> Any:
    """Each chunk combined by its thread."""
    return fk.force(fk.generate(BLOCK // q, lambda t: fk.seq_reduce(op, chunk(q, xs, t))))


def prefixes(op: Op, xs: Any) -> Any:
    """Kogge and Stone's scan, a barrier for each step."""
    step = 1
    while step < xs.length:

        def at(i: Any, before: Any = xs, step: int = step) -> Any:
            return fk.cond(i >= step, lambda: op(before[i - step], before[i]), lambda: before[i])

        xs = fk.force(fk.pull(xs.length, at))
        step *= 2
    return xs


def scanned(
    q: int, op: Op, xs: Any, zero: Any, dtype: Any, put: Callable[[Any, Any, Any], None]
) -> None:
    """put(i, the elements before i combined, element i), by the thread of i."""
    if q == 1:
        sums = prefixes(op, xs)
        before = partial(_before, sums, zero)
        fk.for_all(BLOCK, lambda i: put(i, before(i), xs[i]))
        return
    sums = prefixes(op, of_chunks(q, op, xs))

    def thread(t: Any) -> None:
        def turn(j: Any, s: Any) -> Any:
            x = xs[t * q + j]
            put(t * q + j, s, x)
            return op(s, x)

        fk.seq_for(0, q, turn, _before(sums, zero, t).astype(dtype))

    fk.for_all(BLOCK // q, thread)


def _before(sums: Any, zero: Any, i: Any) -> Any:
    return fk.cond(i > 0, lambda: sums[i - 1], lambda: zero)


def through_tile(
    q: int, dtype: Any, write: Callable[[Callable[[Any, Any], None]], None], at: To = place
) -> Any:
    """What threads put in chunks or anywhere in the block, written out by coalesced stores."""
    made = fk.memory(at(BLOCK - 1) + 1, dtype)
    write(lambda i, x: made.__setitem__(at(i), x))
    fk.barrier()
    return fk.load(q, fk.pull(BLOCK, lambda i: made[at(i)]))


# -- the benchmarks -------------------------------------------------------------------------------


def map_(q: int, part: Any) -> Any:
    """Threads take elements n / q apart: nothing is staged."""
    return fk.load(q, fk.map(lambda x: x * 3 + 1, part))


def reduce(q: int, part: Any) -> Any:
    """Chunks in order, for operators that need not commute, then a tree."""
    xs = tile(q, part, fw.u32)
    sums = xs if q == 1 else of_chunks(q, plus, xs)
    while sums.length > 1:
        sums = fk.force(fk.zip_with(plus, *fk.halve(sums)))
    return sums


def scan(q: int, part: Any) -> Any:
    """Chunks, a scan of their sums, chunks again."""
    return _scan(q, part, place)


def scan_unpadded(q: int, part: Any) -> Any:
    """The same with tiles that leave no word out."""
    return _scan(q, part, lambda i: i)


def _scan(q: int, part: Any, at: To) -> Any:
    xs = tile(q, part, fw.u32, at)

    def write(put: Callable[[Any, Any], None]) -> None:
        scanned(q, plus, xs, np.uint32(0), fw.u32, lambda i, s, x: put(i, s + x))

    return fk.make_push(BLOCK, write) if q == 1 else through_tile(q, fw.u32, write, at)


def scatter(q: int, part: Any, places: Any) -> Any:
    """Threads take elements n / q apart: positions and values are read side by side."""
    return fk.make_push(
        BLOCK, lambda put: fk.load(q, fk.zip(places, part)).write(lambda i, v: put(v[0], v[1]))
    )


def big_add(q: int, a: Any, b: Any) -> Any:
    """Digits are added, carries scanned, and added to the digits."""
    x, y = tile(q, a, fw.u32), tile(q, b, fw.u32)

    def flags(i: Any) -> Any:
        digit = x[i]
        s = digit + y[i]
        return (s < digit).astype(fw.u32) | ((s == 0xFFFFFFFF).astype(fw.u32) << 1)

    def write(put: Callable[[Any, Any], None]) -> None:
        scanned(
            q, carries, fk.pull(BLOCK, flags), np.uint32(0), fw.u32,
            lambda i, c, _: put(i, x[i] + y[i] + (c & 1)),
        )  # fmt: skip

    return fk.make_push(BLOCK, write) if q == 1 else through_tile(q, fw.u32, write)


def radix_step(q: int, part: Any) -> Any:
    """Elements with an even key first, then the others: a scan and a scatter inside the block."""
    xs = tile(q, part, fw.u32)
    evens = fk.pull(BLOCK, lambda i: (xs[i] & 1) ^ 1)
    rest = fk.memory(1, fw.u32)

    def write(put: Callable[[Any, Any], None]) -> None:
        kept = fk.memory(place(BLOCK - 1) + 1, fw.u32)
        scanned(
            q, plus, evens, np.uint32(0), fw.u32, lambda i, s, x: kept.__setitem__(place(i), s)
        )
        fk.barrier()
        fk.for_all(1, lambda i: rest.__setitem__(0, kept[place(BLOCK - 1)] + evens[BLOCK - 1]))
        fk.barrier()

        def one(i: Any, x: Any) -> None:
            at = kept[place(i)]
            there = fk.cond((x & 1) == 0, lambda: at, lambda: rest[0] + i.astype(fw.u32) - at)
            put(there.astype(fw.i64), x)

        fk.load(q, xs).write(one)

    return through_tile(q, fw.u32, write)


def kernel_of(block: Callable[..., Any], q: int) -> Any:
    """A kernel that gives each block a part of each array."""

    def made(*arrays: Any) -> Any:
        parts = [fk.split_up(BLOCK, xs) for xs in arrays]
        return fk.pconcat(fk.pull(parts[0].length, lambda b: block(q, *(p[b] for p in parts))))

    made.__name__ = block.__name__
    if len(_arrays(block)) == 1:
        return fk.kernel(lambda xs: made(xs), threads=BLOCK // q)
    return fk.kernel(lambda xs, ys: made(xs, ys), threads=BLOCK // q)


def _arrays(block: Callable[..., Any]) -> tuple[str, ...]:
    return block.__code__.co_varnames[1 : block.__code__.co_argcount]


def cases() -> Iterator[tuple[str, Callable[..., Any], tuple[Array, ...], Array]]:
    """Each benchmark: its name, its block, its arguments, and what NumPy gives."""
    rng = np.random.default_rng(4)
    n = BLOCK * BLOCKS
    xs = rng.integers(0, 1 << 20, n).astype(np.uint32)
    rows = xs.reshape(BLOCKS, BLOCK)
    iota = np.tile(np.arange(BLOCK), BLOCKS)
    anywhere = np.concatenate([rng.permutation(BLOCK) for _ in range(BLOCKS)])
    scattered = np.zeros_like(rows)
    np.put_along_axis(scattered, anywhere.reshape(BLOCKS, BLOCK), rows, axis=1)
    a, b = (rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32) for _ in range(2))
    b[10:900] = ~a[10:900]  # a long carry
    yield "map", map_, (xs,), xs * 3 + 1
    yield "reduce", reduce, (xs,), rows.sum(1, dtype=np.uint32)
    yield "scan", scan, (xs,), rows.cumsum(1, dtype=np.uint32).ravel()
    yield "scan, unpadded", scan_unpadded, (xs,), rows.cumsum(1, dtype=np.uint32).ravel()
    yield "scatter, iota", scatter, (xs, iota), xs
    yield "scatter, random", scatter, (xs, anywhere), scattered.ravel()
    yield "big numbers", big_add, (a, b), added(a, b)
    odd = np.argsort(rows & 1, axis=1, kind="stable")
    yield "radix step", radix_step, (xs,), np.take_along_axis(rows, odd, 1).ravel()


def added(a: Array, b: Array) -> Array:
    """Numbers of 1,024 digits of 32 bits, the lowest first, added by Python."""
    sums = []
    for x, y in zip(a.reshape(-1, BLOCK), b.reshape(-1, BLOCK), strict=True):
        total = sum(int.from_bytes(z.astype("<u4").tobytes(), "little") for z in (x, y))
        digits = (total % (1 << 32 * BLOCK)).to_bytes(4 * BLOCK, "little")
        sums.append(np.frombuffer(digits, "<u4"))
    return np.concatenate(sums)


COLUMNS: dict[str, tuple[str, ...]] = {
    "threads": ("threads",), "barriers": ("barriers", "warp_barriers"),
    "shared reads": ("shared_reads",), "shared writes": ("shared_writes",),
    "bank conflicts": ("bank_conflicts",), "global reads": ("global_reads",),
    "global writes": ("global_writes",), "sectors": ("sectors",), "uncoalesced": ("uncoalesced",),
}  # fmt: skip
"""What a table shows, and the counts that are added up for it."""


def main() -> None:
    """Print the table."""
    print("| benchmark | q |", " | ".join(COLUMNS), "|")
    print("|---|---|" + "---|" * len(COLUMNS))
    for name, block, args, wanted in cases():
        for q in FACTORS:
            kernel = kernel_of(block, q)
            np.testing.assert_array_equal(kernel.simulate(*args), wanted)
            counts = kernel.counts(*args, threads=BLOCK // q)
            cells = [
                f"{sum(getattr(counts, field) for field in fields) // BLOCKS:,}"
                for fields in COLUMNS.values()
            ]
            print(f"| {name} | {q} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
