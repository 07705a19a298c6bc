"""O36, O34, O39: lengths that are found by computing, any pattern of access, changes in place."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused
from tests.quick import every

RNG = np.random.default_rng(36)


def plus(a, b):
    return a + b


@pytest.mark.sampled
@pytest.mark.parametrize("n", every(2, [0, 1, 63, 64, 65, 1023, 5000]))
@pytest.mark.parametrize("share", [0, 1, 2])
def test_filter(n, share):
    """None, some or all are kept, in their order."""
    xs = RNG.integers(0, 2, n) if share == 1 else np.full(n, share)

    kernel = fk.kernel(lambda xs: fk.filter(lambda x: x > 0, xs))

    check(kernel, xs, want=xs[xs > 0])


def test_filter_of_pairs_goes_on():
    """Its length is the length of the next array."""

    @fk.kernel
    def kernel(xs):
        kept = fk.force(fk.filter(lambda p: p[1] % 3 == 0, fk.zip(fk.iterations(xs.length), xs)))
        return fk.map(lambda p: p[0] * 100 + p[1], kept), fk.iterations(kept.length)

    xs = RNG.integers(0, 50, 500)
    at = np.flatnonzero(xs % 3 == 0)
    check(kernel, xs, want=(at * 100 + xs[at], np.arange(at.size)))


def test_filter_in_a_block():
    """There the room that it needs is unknown."""
    kernel = fk.kernel(lambda xs: fk.pconcat_map(
        lambda p: fk.filter(lambda x: x > 0, p), fk.split_up(4, xs)))

    assert "known after a launch" in refused(kernel, np.arange(8))


@pytest.mark.parametrize("n", [1, 40, 300])
def test_reconstruct(n):
    """Counting sort's last kernel: thread v writes v as often as it was counted (3.4.5)."""

    @fk.kernel
    def kernel(counts, places, total: fw.i64):
        def write(put):
            def thread(v):
                fk.seq_for(0, counts[v], lambda j: put(places[v] + j, v))

            fk.for_all(1, lambda b: fk.for_all(counts.length, thread))

        return fk.make_push(total, write)

    xs = np.sort(RNG.integers(0, 20, n))
    counts = np.bincount(xs, minlength=20)
    check(kernel, counts, counts.cumsum() - counts, n, want=xs)


def test_gather_and_scatter_by_arrays():
    """Any pattern over global memory, and a permutation of blocks."""

    @fk.kernel
    def moved(xs, to):
        return fk.scatter(lambda i: to[i], xs), fk.gather(lambda i: to[i], xs, to.length)

    @fk.kernel
    def into(xs, to):
        m = fk.fill(fk.replicate(2 * xs.length, -1))
        m.write(fk.scatter(lambda i: to[i] * 2, xs))
        return m

    @fk.kernel
    def blocks_turned(xs):
        parts = fk.split_up(32, xs)
        return fk.pconcat_map(fk.reverse, fk.reverse(parts))

    xs, to = RNG.integers(0, 100, 300), RNG.permutation(300)
    scattered, wide = np.empty_like(xs), np.full(600, -1)
    scattered[to], wide[to * 2] = xs, xs
    check(moved, xs, to, want=(scattered, xs[to]))
    check(into, xs, to, want=wide)
    check(blocks_turned, xs[:128], want=xs[127::-1])


@pytest.mark.parametrize("n", [0, 32, 320, 3200])
def test_dynamic_grid(n):
    """O33: one kernel for any number of blocks."""
    kernel = fk.kernel(lambda xs: fk.pconcat_map(
        lambda p: fk.force(fk.map(lambda x: x + 1, p)), fk.split_up(32, xs)))

    check(kernel, np.arange(n), want=np.arange(n) + 1)


def test_changes_in_place():
    """O39: each step writes the half that changes, and copies nothing."""

    @fk.kernel
    def kernel(xs):
        def block(part):
            m = fk.fill(part)
            for i in range(6):
                def step(t, i=i):
                    right = fk.flip_bit(i, fk.insert_zero(i, t))
                    m[right] = m[fk.zero_bits(i, right) - 1] + m[right]

                fk.for_all(32, step)
                fk.barrier()
            return m.pull()

        return fk.pconcat_map(block, fk.split_up(64, xs))

    xs = RNG.integers(0, 9, 256)
    check(kernel, xs, want=xs.reshape(-1, 64).cumsum(1).ravel())
    assert kernel.text["kernel"].count("= shared") == 1


def shares(a):
    """Each row by a block, whatever its length: what is over its least, as a part of the sum."""
    def block(row):
        least = fk.reduce(fw.minimum, row, np.inf)
        total = fk.reduce(plus, fk.map(lambda x: x - least, row), 0)
        return fk.map(lambda x: (x - least) / total, row)

    return fk.pconcat_map(block, a)


def scanned(a):
    """The prefixes of each row, by a block."""
    return fk.pconcat_map(lambda row: fk.scan(plus, row, 0), a)


def turned_by_warps(a):
    """Four rows by the warps of a block, backwards."""
    def block(b):
        four = fk.pull(4, lambda w: a[4 * b + w])
        return fk.pconcat_map(fk.reverse, four, level=fk.WARP)

    return fk.generate(a.length // 4, block)


@pytest.mark.parametrize("columns", [0, 1, 7, 300])
def test_rows_whose_length_is_known_at_run_time(columns):
    """One kernel for rows of any length: more than threads, fewer, none."""
    a = (np.arange(8 * columns) * 7 % 11).reshape(8, columns)
    for kernel, want in zip(OF_ROWS, (a.cumsum(1), a[:, ::-1]), strict=True):
        check(kernel, a, want=want.ravel())


OF_ROWS = fk.kernel(scanned), fk.kernel(turned_by_warps)


def test_a_row_is_reduced_twice_and_mapped_in_one_launch():
    """What its block has found is there for all its threads."""
    kernel, a = fk.kernel(shares), (np.arange(64, dtype=np.float32) * 5 % 13).reshape(4, 16)
    over = a - a.min(1, keepdims=True)
    check(kernel, a, want=(over / over.sum(1, keepdims=True)).ravel())
    assert kernel.stages(a).kernels == 1


def test_rows_of_several_lengths_are_put_by_their_offsets():
    """The units may compute a length, but nobody joins what has no common one."""
    @fk.kernel
    def turned(xs, offsets):
        def write(put):
            def block(b):
                first, end = offsets[b], offsets[b + 1]
                fk.for_all(end - first, lambda t: put(first + t, xs[end - 1 - t]))

            fk.for_all(offsets.length - 1, block)

        return fk.make_push(xs.length, write)

    offsets = np.array([0, 3, 3, 9])
    check(turned, np.arange(9), offsets, want=np.r_[2, 1, 0, 8:2:-1])

    joined = fk.kernel(
        lambda xs, at: fk.generate(at.length - 1, lambda b: xs[at[b] : at[b + 1]])
    )
    assert "joins parts of one length, and the units compute theirs" in refused(
        joined, np.arange(9), offsets
    )
