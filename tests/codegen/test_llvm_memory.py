"""Loads, stores and atomics of the LLVM emitter against NumPy, at every width and dtype."""

from __future__ import annotations

import numpy as np
import pytest

from flatweave.base.dtypes import BY_NAME, DTYPES, DType, f32, i32, i64
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.syntax import Acquire, Backoff, BlockIndex, Load, Release, Shared
from flatweave.runtime.native import assembly
from flatweave.terms.build import index
from flatweave.terms.syntax import constant
from tests.codegen.llvm_programs import HOST, buffer, for_each, kernel_unit, run_kernel

WIDTHS = [1, 2, 4, 8, 16, 32, 64]


def sample(dtype: DType, count: int, seed: int = 0) -> np.ndarray:
    """Values of a dtype from all over its range."""
    raw = np.random.default_rng(seed).integers(0, 256, count * dtype.bytes, np.uint8)
    if dtype.kind == "b":
        return raw[:count] > 127
    if dtype.is_float:
        return np.random.default_rng(seed).standard_normal(count).astype(dtype.numpy)
    return raw.view(dtype.numpy)


@pytest.mark.parametrize("width", WIDTHS)
def test_saxpy(width: int) -> None:
    """a * x + y over whole warps and a tail of single lanes."""
    xs, ys = sample(f32, 1003, 1), sample(f32, 1003, 2)
    expected = np.float32(2.5) * xs + ys

    def saxpy(w, n, a, xs, ys):
        def each(w, i):
            w.store(ys, i, w.add(w.mul(a, w.load(xs, i)), w.load(ys, i)))

        for_each(w, n, width, each)

    run_kernel(saxpy, len(xs), np.float32(2.5), xs, ys)
    np.testing.assert_array_equal(ys, expected)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 4, 16, 64])
def test_reversed_copy_of_every_dtype(dtype: DType, width: int) -> None:
    """out[n - 1 - i] = xs[i], written through a reversed index and read through another."""
    xs = sample(dtype, 205)
    ys, zs = np.zeros_like(xs), np.zeros_like(xs)

    def reverse(w, n, xs, ys, zs):
        def each(w, i):
            j = w.sub(w.sub(n, index(1)), i)
            w.store(ys, j, w.load(xs, i))
            w.store(zs, i, w.load(xs, j))

        for_each(w, n, width, each)

    run_kernel(reverse, len(xs), xs, ys, zs)
    np.testing.assert_array_equal(ys, xs[::-1])
    np.testing.assert_array_equal(zs, xs[::-1])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_gather_and_scatter(dtype: DType, width: int) -> None:
    """ys[at[i]] = xs[at[n - 1 - i]] for a permutation `at`."""
    xs = sample(dtype, 333)
    at = np.random.default_rng(3).permutation(333)
    ys, expected = np.zeros_like(xs), np.zeros_like(xs)
    expected[at] = xs[at[::-1]]

    def permute(w, n, at, xs, ys):
        def each(w, i):
            back = w.load(at, w.sub(w.sub(n, index(1)), i))
            w.store(ys, w.load(at, i), w.load(xs, back))

        for_each(w, n, width, each)

    run_kernel(permute, len(xs), at, xs, ys)
    np.testing.assert_array_equal(ys, expected)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_streaming_stores(dtype: DType, width: int) -> None:
    """Stores past the caches write the same values."""
    xs = sample(dtype, 64 * 3)
    raw = np.zeros(64 * 3 * dtype.bytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    ys = raw[start : start + xs.nbytes].view(dtype.numpy)

    def copy(w, n, xs, ys):
        for_each(w, n, width, lambda w, i: w.store(ys, i, w.load(xs, i), streaming=True))

    run_kernel(copy, len(xs), xs, ys)
    np.testing.assert_array_equal(ys, xs)


@pytest.mark.parametrize("width", [1, 8, 32])
def test_loads_that_fetch_ahead(width: int) -> None:
    """They give what others give, and ask for each cache line that they will come to; a lane
    alone loads like any other."""
    xs, ys = sample(i64, 192), np.zeros(192, np.int64)

    def load(w, buffer, i):
        return w.do(Load(buffer, i, ahead=True))

    def copy(w, n, xs, ys):
        for_each(w, n, width, lambda w, i: w.store(ys, i, load(w, xs, i)))

    run_kernel(copy, len(xs), xs, ys)
    np.testing.assert_array_equal(ys, xs)
    unit = kernel_unit([i64, buffer(i64), buffer(i64)], copy)
    lines = -(-width * i64.bytes // 64) if width > 1 else 0
    assert emit(unit, HOST).count("call void @llvm.prefetch") == lines


def test_streaming_stores_are_whole_registers() -> None:
    """A warp of 16 f32 is one vmovntps, and the kernel ends with a fence."""
    if HOST.register_bits < 512:
        pytest.skip("the instructions are those of AVX-512")

    def copy(w, n, xs, ys):
        for_each(w, n, 16, lambda w, i: w.store(ys, i, w.load(xs, i), streaming=True))

    types = [i64, buffer(f32), buffer(f32)]
    text = assembly(emit(kernel_unit(types, copy), HOST))
    assert text.count("vmovntps\t%zmm") == 1
    assert "sfence" in text


@pytest.mark.parametrize("width", [4, 16])
def test_uniform_store_keeps_the_last_lane(width: int) -> None:
    """All lanes store to one index: the last one's value stays."""
    xs, ys = np.arange(width, dtype=np.int32) + 7, np.zeros(3, np.int32)

    def body(w, xs, ys):
        def region(w):
            w.store(ys, index(1), w.load(xs, w.lane(index(0))))
            w.store(ys, index(2), constant(5, i32))

        w.lanes(width, region)

    run_kernel(body, xs, ys)
    assert ys.tolist() == [0, width + 6, 5]


@pytest.mark.sampled
@pytest.mark.parametrize("width", [1, 4, 16])
@pytest.mark.parametrize(
    ("fn", "dtype"),
    [
        ("add", "i32"), ("add", "f64"), ("minimum", "i64"), ("maximum", "u16"),
        ("minimum", "f32"), ("maximum", "f64"), ("xor", "u8"), ("or", "bool"), ("and", "i32"),
    ],
)  # fmt: skip
def test_atomic_updates(width: int, fn: str, dtype: str) -> None:
    """Colliding updates of a few indices, all lanes and under a mask."""
    table = {
        "add": np.add, "minimum": np.minimum, "maximum": np.maximum,
        "xor": np.bitwise_xor, "or": np.logical_or, "and": np.bitwise_and,
    }  # fmt: skip
    random = np.random.default_rng(5)
    at, keep = random.integers(0, 7, 203), random.random(203) < 0.7
    xs = random.integers(0, 100, 203).astype(BY_NAME[dtype].numpy)
    ys = xs[:7].copy()
    zs, all_lanes, masked = ys.copy(), ys.copy(), ys.copy()
    table[fn].at(all_lanes, at, xs)
    table[fn].at(masked, at[keep], xs[keep])

    def body(w, n, at, keep, xs, ys, zs):
        def each(w, i):
            j, x = w.load(at, i), w.load(xs, i)
            w.do(Atomic(fn, ys, j, x))
            w.when(w.load(keep, i), lambda w: (w.do(Atomic(fn, zs, j, x)), None)[1])

        for_each(w, n, width, each)

    run_kernel(body, len(at), at, keep, xs, ys, zs)
    np.testing.assert_array_equal(ys, all_lanes.astype(ys.dtype))
    np.testing.assert_array_equal(zs, masked.astype(zs.dtype))


def test_blocks_hand_values_on() -> None:
    """Each block waits for its left neighbour's flag and passes a sum on."""
    flags, sums = np.zeros(9, np.int64), np.zeros(9, np.int64)
    flags[0] = 1

    def body(w, flags, sums):
        block = w.do(BlockIndex())

        def unset(w, turn):
            return w.apply("eq", w.do(Acquire(flags, block)), index(0))

        def again(w, turn):
            w.do(Backoff(turn))
            return w.add(turn, index(1))

        w.repeat([index(0)], unset, again)
        following = w.add(block, index(1))
        w.store(sums, following, w.add(w.load(sums, block), block))
        w.do(Release(flags, following, index(1)))

    run_kernel(body, flags, sums, grid=8)
    assert flags.tolist() == [1] * 9
    assert sums.tolist() == [0, 0, 1, 3, 6, 10, 15, 21, 28]


def test_shared_memory_lives_for_a_block() -> None:
    """A block writes its squares to shared memory and reads them back in reverse."""
    ys = np.zeros(16, np.int64)

    def body(w, ys):
        kept = w.do(Shared(i64, 16))

        def region(w):
            i = w.lane(index(0))
            w.store(kept, i, w.mul(i, i))
            w.store(ys, i, w.load(kept, w.sub(index(15), i)))

        w.lanes(16, region)

    run_kernel(body, ys)
    assert ys.tolist() == [i * i for i in reversed(range(16))]
