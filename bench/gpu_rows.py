"""What is timed on a GPU: programs, their inputs, what they must give, and the same elsewhere.

A row makes its `Case` when it is measured. `moved` are the bytes that have to be read and written;
`must` says against what the time counts: "read" and "copy" are the device's own rates, "fused" is
the same program in two, else it is the name of a peer.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import flatweave as fw

Array = np.ndarray[Any, np.dtype[Any]]
Peer = Callable[[Any, tuple[Any, ...]], Callable[[], Any]]
"""(the library, its arrays) gives the work."""


@dataclass(frozen=True)
class Case:
    """One measurement: `args` are trees of host arrays, `expected` what `run(*args)` gives."""

    run: Callable[..., Any]
    args: tuple[Any, ...]
    expected: Callable[[], Any]
    moved: tuple[int, int]
    must: tuple[str, float] = ("", 0.0)
    cupy: Peer | None = None
    torch: Peer | None = None
    others: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    rtol: float = 0.0


@dataclass(frozen=True)
class Row:
    """A name, and how a case is made: for full sizes, or for small ones."""

    name: str
    make: Callable[[bool], Case]


_HALVINGS: ContextVar[int | None] = ContextVar("_HALVINGS", default=None)


@contextmanager
def halved(times: int) -> Iterator[None]:
    """Inside, small sizes are the full ones, halved `times` times."""
    before = _HALVINGS.set(times)
    try:
        yield
    finally:
        _HALVINGS.reset(before)


def size(full: int, small: bool) -> int:
    """The number of elements; small ones are no round numbers."""
    times = _HALVINGS.get()
    if small and times is not None:
        return full >> times
    return max(1000, full >> 14) + 37 if small else full


def matrix(axis: int, small: bool) -> Array:
    """A square matrix; a halved one has all 8192 elements along `axis`."""
    times = _HALVINGS.get()
    shape = [8192, 8192]
    if small:
        shape[1 - axis], shape[axis] = (70, 70) if times is None else (8192 >> times, 8192)
    return ints(math.prod(shape), -9, 10).astype(np.float32).reshape(shape)


def ints(n: int, low: int, high: int, dtype: Any = np.int32) -> Array:
    """Random integers."""
    return np.random.default_rng(n).integers(low, high, n, dtype)


ZIPF_DRAWS = 1 << 22
"""Draws of Zipf's law take 0.3 us each: longer arrays repeat them."""

# -- whole arrays ---------------------------------------------------------------------------------


def _reduce(dtype: Any, small: bool) -> Case:
    n = size(1 << 28, small)
    xs = ints(n, -9, 10).astype(dtype)
    return Case(
        fw.jit(lambda xs: fw.reduce(fw.add, 0, xs)), (xs,),
        lambda: xs.sum(dtype=np.int64).astype(dtype), (xs.nbytes, 0), ("cupy", 1.0),
        lambda cupy, given: lambda: given[0].sum(dtype=dtype),
        lambda torch, given: lambda: given[0].sum(dtype=given[0].dtype),
        rtol=1e-3 if dtype == np.float32 else 0.0,
    )  # fmt: skip


def _scan(small: bool) -> Case:
    xs = ints(size(1 << 28, small), -9, 10)
    return Case(
        fw.jit(lambda xs: fw.scan(fw.add, 0, xs)), (xs,), lambda: xs.cumsum(dtype=np.int32),
        (xs.nbytes, xs.nbytes), ("cupy", 0.95),
        lambda cupy, given: lambda: cupy.cumsum(given[0], dtype=np.int32),
        lambda torch, given: lambda: given[0].cumsum(0, dtype=torch.int32),
    )  # fmt: skip


def _scan_of_floats(small: bool) -> Case:
    xs = ints(size(1 << 26, small), -9, 10).astype(np.float64)
    return Case(
        fw.jit(lambda xs: fw.scan(fw.add, 0.0, xs)), (xs,), lambda: xs.cumsum(),
        (xs.nbytes, xs.nbytes), ("cupy", 0.95), lambda cupy, given: lambda: cupy.cumsum(given[0]),
        lambda torch, given: lambda: given[0].cumsum(0), rtol=1e-9,
    )  # fmt: skip


def _along(axis: int, small: bool) -> Case:
    """Sums of a square matrix along one of its axes."""
    xs = matrix(axis, small)
    return Case(
        fw.jit(lambda xs: fw.sum(xs, axis=axis)), (xs,), lambda: xs.sum(axis=axis),
        (xs.nbytes, 4 * xs.shape[1 - axis]), ("torch", 1.0),
        lambda cupy, given: lambda: given[0].sum(axis=axis),
        lambda torch, given: lambda: given[0].sum(axis), rtol=1e-3,
    )  # fmt: skip


def _transpose(dtype: Any, small: bool) -> Case:
    """A square matrix, stored transposed."""
    n = 70 if small else 8192
    xs = ints(n * n, 0, 100).astype(dtype).reshape(n, n)
    return Case(
        fw.jit(lambda xs: xs.T + fw.astype(1, dtype)), (xs,), lambda: xs.T + xs.dtype.type(1),
        (xs.nbytes, xs.nbytes), ("copy", 0.85),
        lambda cupy, given: lambda: cupy.ascontiguousarray(given[0].T),
        lambda torch, given: lambda: given[0].T.contiguous(),
    )  # fmt: skip


def _product(full: int, dtype: Any, small: bool) -> Case:
    """A product of square matrices, whose time is compared with the library's own call."""
    n = 70 if small else full
    a, b = np.random.default_rng(n).random((2, n, n)).astype(dtype)
    return Case(
        fw.jit(lambda a, b: a @ b), (a, b), lambda: a @ b, (2 * a.nbytes, a.nbytes),
        ("torch", 0.95), lambda cupy, given: lambda: given[0] @ given[1],
        lambda torch, given: lambda: given[0] @ given[1], rtol=1e-4,
    )  # fmt: skip


def _scan_of_four(small: bool) -> Case:
    xs = ints(size(1 << 28, small), -9, 10)

    def four(xs: Any) -> Any:
        ys = fw.scan(fw.add, 0, fw.map(lambda x: x * 3 + 1, xs))
        return ys, ys + xs, ys ^ 5, ys - 7

    def expected() -> Any:
        ys = (xs * 3 + 1).cumsum(dtype=np.int32)
        return ys, ys + xs, ys ^ 5, ys - 7

    return Case(fw.jit(four), (xs,), expected, (xs.nbytes, 4 * xs.nbytes), ("copy", 0.85))


def _scan_of_tuples(small: bool) -> Case:
    n = size(1 << 26, small)
    xs = (ints(n, -9, 10, np.int64), ints(n, -9, 10).astype(np.float64))

    def add(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    return Case(
        fw.jit(lambda xs: fw.scan(add, (0, 0.0), xs)), (xs,),
        lambda: (xs[0].cumsum(), xs[1].cumsum()), (16 * n, 16 * n), ("copy", 0.85), rtol=1e-9,
    )  # fmt: skip


def _filter(small: bool) -> Case:
    xs = ints(size(100_000_000, small), -(2**31), 2**31 - 1)
    return Case(
        fw.jit(lambda xs: fw.filter(lambda x: x > 0, xs)), (xs,), lambda: xs[xs > 0],
        (xs.nbytes, xs.nbytes // 2), ("copy time", 1.5),
        lambda cupy, given: lambda: given[0][given[0] > 0],
        lambda torch, given: lambda: given[0][given[0] > 0],
    )  # fmt: skip


def _sort(small: bool) -> Case:
    keys = ints(size(1 << 26, small), 0, 2**32 - 1, np.uint32)
    return Case(
        fw.jit(fw.sort), (keys,), lambda: np.sort(keys), (4 * keys.nbytes, 4 * keys.nbytes),
        ("cupy", 0.8), lambda cupy, given: lambda: cupy.sort(given[0]),
    )  # fmt: skip


def _histogram(bins: int, skew: str, small: bool) -> Case:
    places = _skewed(bins, skew, size(1 << 26, small))
    counts = fw.jit(lambda idx: fw.histogram(bins, idx))
    return Case(
        counts, (places,), lambda: np.bincount(places, minlength=bins), (places.nbytes, 8 * bins),
        ("torch", 1.0), lambda cupy, given: lambda: cupy.bincount(given[0], minlength=bins),
        lambda torch, given: lambda: torch.bincount(given[0], minlength=bins),
        others={name: _permuted(name, counts) for name in ("atomic", "shared-atomic")},
    )  # fmt: skip


def _sums(bins: int, skew: str, small: bool) -> Case:
    """Sums of floats, the same bits in each run; compared with atomic updates."""
    places = _skewed(bins, skew, size(1 << 26, small))
    values = np.random.default_rng(bins).random(len(places), np.float32)

    def sums(idx: Any, values: Any) -> Any:
        return fw.histogram(bins, idx, values, fw.add, np.float32(0))

    chosen = fw.jit(sums)
    return Case(
        chosen, (places, values), lambda: np.bincount(places, values, bins).astype(np.float32),
        (places.nbytes + values.nbytes, 4 * bins), ("", 0.0),
        lambda cupy, given: lambda: cupy.bincount(given[0], given[1], bins),
        lambda torch, given: lambda: torch.bincount(given[0], given[1], bins),
        others={
            "in any order": fw.jit(sums, deterministic=False),
            **{name: _permuted(name, chosen) for name in ("shared", "sorted")},
        },
        rtol=1e-2,
    )  # fmt: skip


@functools.lru_cache(1)
def _skewed(bins: int, skew: str, n: int) -> Array:
    """Places that are equally likely, that follow Zipf's law, or that are one."""
    if skew == "one":
        return np.full(n, bins // 3, np.int32)
    if skew == "Zipf":
        draws = min(n, ZIPF_DRAWS)
        places = (np.random.default_rng(bins).zipf(1.3, draws) % bins).astype(np.int32)
        return np.tile(places, -(-n // draws))[:n]
    return ints(n, 0, bins)


def _permuted(variant: str, program: Callable[..., Any]) -> Callable[..., Any]:
    """A program whose elements that meet are combined by a variant."""
    def run(*args: Any) -> Any:
        with fw.schedule(permute=variant):
            return program(*args)

    return run


def _segments(kind: str, small: bool) -> Case:
    n = size(1 << 26, small)
    rng = np.random.default_rng(3)
    if kind.startswith("mean"):
        mean = int(kind.split()[1])
        lengths = rng.integers(0, 2 * mean + 1, n // mean)
    else:
        weights = 1 / np.arange(1, max(10, n // 3000)) ** 1.1
        lengths = (weights * (n / weights.sum())).astype(np.int64)
    values = rng.integers(-9, 10, int(lengths.sum())).astype(np.float32)
    rows = fw.ragged(values, lengths=lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]

    def expected() -> Any:
        sums = np.add.reduceat(np.append(values, 0).astype(np.float64), starts)
        return np.where(lengths > 0, sums, 0)

    return Case(
        fw.jit(lambda rows: fw.map(fw.sum, rows)), (rows,), expected,
        (values.nbytes + 8 * len(lengths), 4 * len(lengths)),
        ("read", 0.6 if kind == "mean 10" else 0.85), rtol=1e-2,
    )  # fmt: skip


def _spmv(percent: int, small: bool) -> Case:
    from sparse_matrices import numpy_spmv, random_rows, spmv

    n = 500 if small else 10_000
    rows, x = random_rows(n, percent / 100), np.random.default_rng(2).random(n, np.float32)
    data, columns = (np.asarray(part) for part in rows.values)
    offsets = np.asarray(rows.offsets)

    def cusparse(cupy: Any, given: tuple[Any, ...]) -> Callable[[], Any]:
        from cupyx.scipy.sparse import csr_matrix

        matrix = csr_matrix(tuple(map(cupy.asarray, (data, columns, offsets))), shape=(n, n))
        vector = cupy.asarray(x)
        return lambda: matrix @ vector

    must = ("cupy", 1.0) if percent >= 5 else ("", 0.0)
    return Case(
        spmv, (rows, x), lambda: numpy_spmv(rows, x), (data.nbytes + columns.nbytes, 4 * n),
        must, cusparse, rtol=1e-3,
    )  # fmt: skip


def _stencil(small: bool) -> Case:
    xs = matrix(1, small)
    f = fw.jit(lambda xs: fw.stencil(
        lambda n: n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1] - 4 * n[0, 0], xs, (3, 3)
    ))  # fmt: skip

    def expected() -> Array:
        around = np.pad(xs, 1, mode="edge")
        beside = around[1:-1, :-2] + around[1:-1, 2:]
        return around[:-2, 1:-1] + around[2:, 1:-1] + beside - 4 * xs

    return Case(f, (xs,), expected, (xs.nbytes, xs.nbytes))


# -- expansions, graphs, pictures -----------------------------------------------------------------


ONLY_ON_DEVICES = ("per-warp", "16-per-block-search", "256-per-block-search", "per-source-random",
                   "16-per-block-random")  # fmt: skip


def _micro(number: int, small: bool) -> Case:
    from bench.expand_permute import BENCHMARKS, MOST_ELEMENTS, VARIANTS, forced, programs

    names = ONLY_ON_DEVICES if small else (*VARIANTS, *ONLY_ON_DEVICES)

    benchmark = BENCHMARKS[number]
    n = 100 if small else 100_000
    while benchmark.sizes(n).sum() > MOST_ELEMENTS:
        n //= 2
    sizes, numbers = benchmark.sizes(n), np.arange(n)
    fused, unfused = programs(benchmark.kept)
    variants = {name: forced(name, fused) for name in names}

    def expected() -> Any:
        with fw.target("cpu"):
            return np.asarray(fused(sizes, numbers))

    return Case(
        fused, (sizes, numbers), expected, (0, 0), ("unfused", 2.0),
        others={"unfused": unfused, **variants},
    )  # fmt: skip


def _sieve(small: bool) -> Case:
    from sieve import flattened, numpy_sieve

    limit = 100_000 if small else 100_000_000
    return Case(flattened, (np.int32(limit),), lambda: numpy_sieve(limit), (0, 0))


def _bfs(small: bool) -> Case:
    import rmat
    from bfs import bfs, busiest, numpy_bfs

    with fw.target("cpu"):
        graph = rmat.rmat(10 if small else 20)
        root = busiest(graph)

    def levels(graph: Any, root: Any) -> Any:
        return bfs(graph, root).levels

    return Case(levels, (graph, root), lambda: numpy_bfs(graph, root)[0], (0, 0))


def _render(small: bool) -> Case:
    from mesh import Mesh, read
    from render import TEAPOT, TURN, ball_of, numpy_render, render, view_of

    side = 64 if small else 1024
    with fw.target("cpu"):
        mesh = read(TEAPOT)
        view = view_of(ball_of(mesh), TURN, side, side)
    plain = Mesh(*(type(part)(*map(np.asarray, part)) for part in mesh))
    return Case(
        render, (mesh, view, side, side), lambda: numpy_render(plain, view, side, side), (0, 0)
    )


# -- the kernel tier ------------------------------------------------------------------------------


def _block(index: int, q: int, small: bool) -> Case:
    """A benchmark of efficient sequentialization, on as many blocks as fill the device."""
    from bench import sequentialization as s

    name, block, args, expected = list(s.cases())[index]
    times = 1 if small else 1 << 14
    many = tuple(np.tile(xs, times) for xs in args)
    kernel, plain = s.kernel_of(block, q), s.kernel_of(block, 1)
    must = 0.5 if name == "big numbers" else 0.6
    tells = name in ("reduce", "scan", "big numbers")
    return Case(
        kernel, many, lambda: np.tile(expected, times),
        (sum(xs.nbytes for xs in many), times * expected.nbytes),
        ("read" if name == "reduce" else "copy", must) if tells and q == 8 else ("", 0.0),
        others={"q = 1": plain} if q > 1 else {},
    )  # fmt: skip


def _red7(small: bool) -> Case:
    from kernels.large_reduction import two_launches

    xs = ints(size(1 << 24, small), -9, 10, np.int64)
    return Case(two_launches, (xs,), lambda: xs.sum(keepdims=True), (xs.nbytes, 0), ("read", 0.85))


def _sorter(name: str, small: bool) -> Case:
    from kernels.networks import KERNELS, PART

    keys = ints(1 << (11 if small else 22), 0, 2**32 - 1, np.uint32)
    return Case(
        KERNELS[name], (keys,), lambda: np.sort(keys.reshape(-1, PART), axis=1).ravel(),
        (keys.nbytes, keys.nbytes), others={"tsort1": KERNELS["tsort1"]},
    )  # fmt: skip


BINS = (
    (256, "even"), (256, "one"), (1000, "Zipf"), (1 << 13, "even"), (1 << 16, "even"),
    (1 << 20, "even"),
)  # fmt: skip


def rows() -> Iterator[Row]:
    """Every row, in the order of the table."""
    for dtype in (np.int32, np.float32):
        name = np.dtype(dtype).name
        yield Row(f"reduce {name}, 1 GiB", functools.partial(_reduce, dtype))
    yield Row("scan int32, 1 GiB", _scan)
    yield Row("scan of a map, four results", _scan_of_four)
    yield Row("scan of (i64, f64)", _scan_of_tuples)
    yield Row("scan float64, 512 MiB", _scan_of_floats)
    for axis in (0, 1):
        yield Row(f"sums of 8192 x 8192 along axis {axis}", functools.partial(_along, axis))
    for dtype in (np.float32, np.uint8, np.float64):
        name = np.dtype(dtype).name
        yield Row(f"transpose 8192 x 8192 {name}", functools.partial(_transpose, dtype))
    for n, dtype in ((2048, np.float32), (4096, np.float32), (4096, np.float64)):
        name = np.dtype(dtype).name
        yield Row(f"matrix product {n} {name}", functools.partial(_product, n, dtype))
    yield Row("filter half of 10^8", _filter)
    yield Row("sort 2^26 u32", _sort)
    for bins, skew in BINS:
        text = f"{bins:,} bins, {skew}"
        yield Row(f"histogram, {text}", functools.partial(_histogram, bins, skew))
        yield Row(f"sums of f32, {text}", functools.partial(_sums, bins, skew))
    for kind in ("mean 10", "mean 100", "Zipf"):
        yield Row(f"sums of rows, {kind}", functools.partial(_segments, kind))
    for percent in (1, 5, 10, 20):
        yield Row(f"sparse x vector, {percent} %", functools.partial(_spmv, percent))
    yield Row("stencil of five, 2^26 f32", _stencil)
    for number in range(7):
        yield Row(f"expand, permute {number + 1}", functools.partial(_micro, number))
    yield Row("sieve to 10^8", _sieve)
    yield Row("breadth-first search, 2^20", _bfs)
    yield Row("render the teapot", _render)
    names = ("map", "reduce", "scan", "scan, unpadded", "scatter, iota", "scatter, random",
             "big numbers", "radix step")  # fmt: skip
    for index, name in enumerate(names):
        for q in (1, 8):
            yield Row(f"block {name}, q = {q}", functools.partial(_block, index, q))
    yield Row("red7, 2^24", _red7)
    for name in ("vsort", "psort"):
        yield Row(f"network {name}", functools.partial(_sorter, name))
