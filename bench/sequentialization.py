"""What it saves that a thread takes q elements: counts of the simulator, a block of 1,024 elements.

    python -m bench.sequentialization        the tables of bench/results, as Markdown

The benchmarks are those of the thesis on efficient sequentialization (map, reduce, scan, scatter,
addition of big numbers, a step of a radix sort), and some that it leaves open: a histogram, rows
inside a block, elements of one byte. Each is written once, without a word on threads;
`fk.sequential(q)` divides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel.build import Way, simulated
from flatweave.lower.machine import CUDA, OPENCL, Machine
from flatweave.simulator.counts import Counting

BLOCK, BLOCKS = 1024, 4
ROW = 128
BINS = 64
FACTORS = (1, 4, 8, 16)
Array = np.ndarray[Any, Any]
ZERO = np.uint32(0)


def plus(a: Any, b: Any) -> Any:
    """An operator that commutes."""
    return a + b


def carries(a: Any, b: Any) -> Any:
    """Whether a carry comes out of two digits side by side (bit 0), and goes through both (1): an
    operator that does not commute."""
    return ((a & (b >> 1)) | b) & 1 | (a & b & 2)


# -- the benchmarks -------------------------------------------------------------------------------


def map_(part: Any) -> Any:
    """One function of each element."""
    return fk.map(lambda x: x * 3 + 1, part)


def maps(part: Any) -> Any:
    """Two functions, and what the first gives is stored between them."""
    first = fk.force(fk.map(lambda x: x * 3 + 1, part))
    return fk.zip_with(lambda x, y: x ^ y, fk.map(lambda x: x >> 3, first), first)


def turned(part: Any) -> Any:
    """The last element first, by way of shared memory."""
    return fk.reverse(fk.force(part))


def reduce(part: Any) -> Any:
    """A sum."""
    return fk.reduce(plus, part, ZERO)


def reduce_in_order(part: Any) -> Any:
    """By an operator that does not commute."""
    return fk.reduce(carries, part, np.uint32(2))


def scan(part: Any) -> Any:
    """All sums."""
    return fk.scan(plus, part, ZERO)


def rows(part: Any) -> Any:
    """Rows of 128 elements, each scanned for itself: the third dimension of an array."""
    return fk.scan(plus, fk.split_up(ROW, part), ZERO)


def scatter(part: Any, places: Any) -> Any:
    """Each element to its index in the block."""
    return fk.make_push(BLOCK, lambda put: fk.for_all(BLOCK, lambda i: put(places[i], part[i])))


def histogram(part: Any) -> Any:
    """Elements counted by their lowest bits, in shared memory."""
    counts = fk.fill(fk.replicate(BINS, ZERO))
    fk.for_all(BLOCK, lambda i: fk.atomic_inc(counts, (part[i] % BINS).astype(fw.i64)))
    fk.barrier()
    return counts.pull()


def big_add(a: Any, b: Any) -> Any:
    """Digits are added, carries scanned, and added to the digits."""

    def digit(x: Any, y: Any) -> Any:
        s = x + y
        return s, (s < x).astype(fw.u32) | ((s == 0xFFFFFFFF).astype(fw.u32) << 1)

    digits, flags = fk.unzip(fk.force(fk.zip_with(digit, a, b)))
    before = fk.force(fk.scan(carries, flags, np.uint32(2), exclusive=True))
    return fk.zip_with(lambda s, c: s + (c & 1), digits, before)


def radix_step(part: Any) -> Any:
    """Elements with an even key first, then the others (partition2): a scan, and a scatter inside
    the block."""
    xs = fk.force(part)
    evens = fk.force(fk.scan(plus, fk.map(lambda x: (x & 1) ^ 1, xs), ZERO))
    total = evens[BLOCK - 1].astype(fw.i64)

    def thread(i: Any, put: Any) -> None:
        x, at = xs[i], evens[i].astype(fw.i64)
        put(fk.cond((x & 1) == 0, lambda: at - 1, lambda: total + i - at), x)

    return fk.force(fk.make_push(
        BLOCK, lambda put: fk.for_all(BLOCK, lambda i: thread(i, put))
    ))  # fmt: skip


def kernel_of(block: Callable[..., Any], q: int) -> Any:
    """A kernel that gives each block a part of each array, and each thread q elements."""
    divided = fk.sequential(q)(block)

    def made(*arrays: Any) -> Any:
        parts = [fk.split_up(BLOCK, xs) for xs in arrays]
        return fk.generate(parts[0].length, lambda b: divided(*(p[b] for p in parts)))

    made.__name__ = block.__name__
    if len(_arrays(block)) == 1:
        return fk.kernel(lambda xs: made(xs), threads=BLOCK // q)
    return fk.kernel(lambda xs, ys: made(xs, ys), threads=BLOCK // q)


def _arrays(block: Callable[..., Any]) -> tuple[str, ...]:
    return block.__code__.co_varnames[: block.__code__.co_argcount]


def cases() -> Iterator[tuple[str, Callable[..., Any], tuple[Array, ...], Array]]:
    """Each benchmark: its name, its block, its arguments, and what NumPy gives."""
    rng = np.random.default_rng(4)
    n = BLOCK * BLOCKS
    xs = rng.integers(0, 1 << 20, n).astype(np.uint32)
    parts = xs.reshape(BLOCKS, BLOCK)
    iota = np.tile(np.arange(BLOCK), BLOCKS)
    anywhere = np.concatenate([rng.permutation(BLOCK) for _ in range(BLOCKS)])
    scattered = np.zeros_like(parts)
    np.put_along_axis(scattered, anywhere.reshape(BLOCKS, BLOCK), parts, axis=1)
    flags = rng.choice(np.array([0, 1, 2, 2, 2, 2], np.uint32), n)
    a, b = (rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32) for _ in range(2))
    b[10:900] = ~a[10:900]  # a long carry
    mapped = xs * 3 + 1
    yield "map", map_, (xs,), mapped
    yield "two maps", maps, (xs,), mapped ^ (mapped >> 3)
    narrow = (xs % 256).astype(np.uint8)
    yield "turned u8", turned, (narrow,), narrow.reshape(BLOCKS, BLOCK)[:, ::-1].ravel()
    yield "reduce", reduce, (xs,), parts.sum(1, dtype=np.uint32)
    yield "reduce, in order", reduce_in_order, (flags,), carried(flags)
    yield "scan", scan, (xs,), parts.cumsum(1, dtype=np.uint32).ravel()
    yield "scan of rows", rows, (xs,), xs.reshape(-1, ROW).cumsum(1, dtype=np.uint32).ravel()
    yield "scatter, iota", scatter, (xs, iota), xs
    yield "scatter, random", scatter, (xs, anywhere), scattered.ravel()
    counted = [np.bincount(part % BINS, minlength=BINS) for part in parts]
    yield "histogram", histogram, (xs,), np.concatenate(counted).astype(np.uint32)
    yield "big numbers", big_add, (a, b), added(a, b)
    odd = np.argsort(parts & 1, axis=1, kind="stable")
    yield "radix step", radix_step, (xs,), np.take_along_axis(parts, odd, 1).ravel()


def carried(flags: Array) -> Array:
    """The combined flags of each block, concatenated."""
    found = []
    for part in flags.reshape(-1, BLOCK).tolist():
        state = 2
        for flag in part:
            state = carries(state, flag)
        found.append(state)
    return np.array(found, np.uint32)


def added(a: Array, b: Array) -> Array:
    """Numbers of 1,024 digits of 32 bits, the lowest first, added by Python."""
    sums = []
    for x, y in zip(a.reshape(-1, BLOCK), b.reshape(-1, BLOCK), strict=True):
        total = sum(int.from_bytes(z.astype("<u4").tobytes(), "little") for z in (x, y))
        digits = (total % (1 << 32 * BLOCK)).to_bytes(4 * BLOCK, "little")
        sums.append(np.frombuffer(digits, "<u4"))
    return np.concatenate(sums)


COLUMNS: dict[str, tuple[str, ...]] = {
    "threads": ("threads",), "barriers": ("barriers",), "of warps": ("warp_barriers",),
    "shuffles": ("shuffles",),
    "shared reads": ("shared_reads",), "shared writes": ("shared_writes",),
    "atomics": ("shared_atomics",), "bank conflicts": ("bank_conflicts",),
    "own": ("local_reads", "local_writes"), "global reads": ("global_reads",),
    "global writes": ("global_writes",), "sectors": ("sectors",), "uncoalesced": ("uncoalesced",),
}  # fmt: skip
"""What a table shows, and the counts that are added up for it."""
FOLDS = ("reduce", "reduce, in order", "scan", "scan of rows")
"""The benchmarks that differ on machines whose lanes have no shuffles."""


def counts_of(
    block: Callable[..., Any], args: tuple[Array, ...], wanted: Array, q: int,
    machine: Machine = CUDA,
) -> dict[str, int]:  # fmt: skip
    """What a block does on a machine, the mean of all; refuses other results than NumPy's."""
    counter = Counting()
    made, flat = kernel_of(block, q)._entry(args, {})
    way = Way(threads=BLOCK // q, counter=counter, machine=machine)
    found = made.finished(flat, lambda: simulated(made.traced, flat, way))
    np.testing.assert_array_equal(found, wanted)
    counts = counter.counts()
    return {
        column: sum(getattr(counts, field) for field in fields) // BLOCKS
        for column, fields in COLUMNS.items()
    }


def main() -> None:
    """Print the tables."""
    for machine in (CUDA, OPENCL):
        print(f"\n| benchmark, {machine.name} | q |", " | ".join(COLUMNS), "|")
        print("|---|---|" + "---|" * len(COLUMNS))
        for name, block, args, wanted in cases():
            for q in FACTORS if machine.shuffles or name in FOLDS else ():
                found = counts_of(block, args, wanted, q, machine)
                cells = [f"{count:,}" for count in found.values()]
                print(f"| {name} | {q} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
