"""All elements combined, and all prefixes, by blocks, warps and threads: as NumPy does."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check
from tests.quick import every

LENGTHS = [1, 2, 31, 32, 33, 64, 127, 128, 129, 257, 1023, 1025]


def plus(a, b):
    return a + b


def compose(f, g):
    """First f, then g, of lines (slope, offset): does not commute."""
    return g[0] * f[0], g[0] * f[1] + g[1]


def composed(slopes, offsets):
    """All prefixes of lines, in order."""
    found, now = [], (1, 0)
    for line in zip(slopes.tolist(), offsets.tolist(), strict=True):
        now = compose(now, line)
        found.append(now)
    return tuple(np.array(column, np.int64) for column in zip(*found, strict=True))


def lines(n):
    """Lines whose compositions stay small."""
    rng = np.random.default_rng(n)
    return rng.choice([1, -1], n), rng.integers(-9, 9, n)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [32, 128])
@pytest.mark.parametrize("length", every(2, LENGTHS))
def test_a_block_combines_its_elements_in_order(length, threads):
    """Three blocks of any length, with an operator that does not commute."""
    slopes, offsets = lines(3 * length)

    @fk.kernel(threads=threads)
    def last(slopes, offsets):
        parts = fk.split_up(length, fk.zip(slopes, offsets))
        return fk.pconcat_map(lambda part: fk.reduce(compose, part, (1, 0)), parts)

    @fk.kernel(threads=threads)
    def every(slopes, offsets):
        parts = fk.split_up(length, fk.zip(slopes, offsets))
        return fk.pconcat_map(lambda part: fk.scan(compose, part, (1, 0)), parts)

    blocks = [
        composed(slopes[at : at + length], offsets[at : at + length])
        for at in range(0, 3 * length, length)
    ]
    prefixes = tuple(np.concatenate(column) for column in zip(*blocks, strict=True))
    check(last, slopes, offsets, want=tuple(column[length - 1 :: length] for column in prefixes))
    check(every, slopes, offsets, want=prefixes)


@pytest.mark.parametrize("level", [fk.WARP, fk.THREAD])
def test_warps_and_threads_do_so_too(level):
    """Each has 40 elements; a thread goes one by one."""
    xs = np.random.default_rng(3).integers(-9, 9, 640)

    @fk.kernel(threads=128)
    def sums(xs):
        def block(part):
            return fk.pconcat_map(lambda p: fk.scan(plus, p, 0), fk.split_up(40, part), level)

        return fk.pconcat_map(block, fk.split_up(160, xs))

    @fk.kernel(threads=128)
    def totals(xs):
        def block(part):
            return fk.pconcat_map(lambda p: fk.reduce(plus, p, 0), fk.split_up(40, part), level)

        return fk.pconcat_map(block, fk.split_up(160, xs))

    check(sums, xs, want=np.cumsum(xs.reshape(-1, 40), axis=1).reshape(-1))
    check(totals, xs, want=xs.reshape(-1, 40).sum(axis=1))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4", "f8"])
def test_exclusive_and_from_a_start_of_any_dtype(dtype):
    """What stands before an element, going on from 3."""
    xs = np.random.default_rng(4).integers(0, 9, 400).astype(dtype)

    @fk.kernel
    def before(xs):
        zero = xs[0] * 0

        def block(part):
            return fk.scan(plus, part, zero, zero + 3, exclusive=True)

        return fk.pconcat_map(block, fk.split_up(200, xs))

    rows = xs.reshape(-1, 200)
    want = np.cumsum(rows, axis=1, dtype=dtype) - rows + np.array(3, dtype)
    check(before, xs, want=want.astype(dtype).reshape(-1))


def test_a_length_known_at_run_time():
    """The last launch combines as many sums as there were blocks, or none."""

    @fk.kernel
    def total(xs):
        return fk.generate(1, lambda _: fk.reduce(plus, xs, 0))

    for n in (0, 1, 63, 64, 65, 1000):
        xs = np.arange(n)
        check(total, xs, want=np.array([xs.sum()]))


def test_a_kernel_is_written_anew_for_each_machine():
    """Lanes of a CPU are no lanes of a warp: the text for CUDA has warps of 32."""

    @fk.kernel
    def totals(xs: fk.Pull[fw.f32]):
        zero = xs[0] * 0
        return fk.pconcat_map(lambda part: fk.reduce(plus, part, zero), fk.split_up(1024, xs))

    assert re.search(r"<(16|32|64) x float>", totals.text["llvm"])
    assert "__shfl" in totals.text["cuda"]
    assert totals.text["ptx"]
