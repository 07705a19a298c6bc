"""Whole arrays in examples/kernels: scans, sorts, counts, matrices of any size."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.examples.kernels.conftest import affine

SIZES = [0, 1, 127, 129, 2047, 2048, 2049, 5000]
WARPS = ["kogge_stone", "sklansky2", "sklansky4", "brent_kung", "warp_scan"]


@pytest.mark.sampled
@pytest.mark.parametrize("extent", [1, 2, 32, 64, 1024])
@pytest.mark.parametrize("name", WARPS)
def test_scans_by_warps(example, composed, name, extent):
    """Also where there is one warp, or less."""
    scan = example("kernels.warp_scans").VARIANTS[f"warps_{name}"]

    found, wanted = composed(scan, extent, "cpu")

    for leaf in range(2):
        assert np.array_equal(found[leaf], wanted[:, :, leaf].ravel())


def test_a_scan_by_warps_in_the_simulator(example, composed):
    """Two warps, whose memory is their own."""
    found, wanted = composed(example("kernels.warp_scans").scan, 64, "interp", count=1)

    for leaf in range(2):
        assert np.array_equal(found[leaf], wanted[:, :, leaf].ravel())


@pytest.fixture
def compositions(example):
    """A kernel that gives all compositions of affine functions, by one of the scans."""

    def made(name):
        scan = example("kernels.large_scan").VARIANTS[name]
        return fk.kernel(lambda a, b: scan(affine, fk.zip(a, b), (1, 0)))

    return made


@pytest.mark.parametrize("name", ["scan_then_add", "reduce_then_scan"])
def test_scans_of_any_length(example, compositions, name):
    """Elements are pairs, and the operator does not commute."""
    kernel = compositions(name)
    for n in SIZES:
        slopes, offsets = np.random.default_rng(n).integers(-5, 6, (2, n))
        state, wanted = (1, 0), []
        for pair in zip(slopes.tolist(), offsets.tolist(), strict=True):
            state = tuple(x % 2**64 for x in affine(state, pair))
            wanted.append(state)

        found = kernel(slopes, offsets)

        for leaf in range(2):
            assert np.asarray(found[leaf]).view(np.uint64).tolist() == [w[leaf] for w in wanted]


@pytest.mark.parametrize("name", ["scan_then_add", "reduce_then_scan"])
def test_scans_for_every_number_of_threads(example, threads, name):
    """Sums of neighbours, by 25 blocks."""
    xs = np.arange(50_000)

    assert np.array_equal(example("kernels.large_scan").KERNELS[name](xs), xs.cumsum())


@pytest.mark.sampled
@pytest.mark.parametrize("n", [1, 2, 1023, 1025, 5000])
def test_sorts_of_any_length(example, n):
    """Keys of which many are equal, negative ones, and infinite ones."""
    sort = example("kernels.large_sort").sort
    draw = np.random.default_rng(n)
    for keys in (
        draw.integers(-9, 9, n), draw.integers(0, 1 << 32, n, dtype=np.uint32),
        np.where(draw.random(n) < 0.1, -np.inf, draw.normal(size=n)),
    ):  # fmt: skip
        assert np.array_equal(sort(keys), np.sort(keys))


@pytest.mark.sampled
@pytest.mark.parametrize(("n", "extent"), [(0, 1), (1, 1), (5, 10), (3000, 7), (700, 5000)])
def test_counting(example, target, n, extent):
    """Few keys, few numbers, numbers that no key is."""
    counting = example("kernels.counting")
    keys = np.random.default_rng(n).integers(0, extent, n)

    assert np.array_equal(counting.counting_sort(keys, extent), np.sort(keys))
    assert np.array_equal(counting.occurrence_sort(keys, extent), np.unique(keys))


def test_the_keys_of_the_paper(example):
    """Its five keys, below ten."""
    counting = example("kernels.counting")
    keys = np.array([5, 2, 5, 7, 1])

    assert np.asarray(counting.counting_sort(keys, 10)).tolist() == [1, 2, 5, 5, 7]
    assert np.asarray(counting.occurrence_sort(keys, 10)).tolist() == [1, 2, 5, 7]


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 33, 2), (32, 32, 32), (31, 65, 33), (3, 0, 4)])
def test_matrices_of_any_shape(example, shape):
    """Whole tiles, tiles over both edges, sums of nothing."""
    matrices = example("kernels.matrices")
    n, k, m = shape
    draw = np.random.default_rng(k)
    a, b = draw.integers(-9, 10, (n, k)), draw.integers(-9, 10, (k, m))
    for name in ("transpose_plain", "transpose_tiles"):
        assert np.array_equal(matrices.transpose(name, a), a.T)
    for name in ("product_plain", "product_tiles"):
        assert np.array_equal(matrices.product(name, a, b), a @ b)


def test_where_blocks_take_turns(example):
    """The simulator runs blocks at a time, in orders drawn at random, and finds no race."""
    xs = np.arange(3000)
    scan = example("kernels.large_scan").KERNELS["scan_then_add"]
    totals = example("kernels.large_reduction").KERNELS
    for seed in range(3):
        assert np.array_equal(scan.simulate(xs, blocks=2, seed=seed), xs.cumsum())
        for name in ("with_atomics", "last_block"):
            found = totals[name].simulate(np.arange(9000), blocks=2, seed=seed)
            assert np.array_equal(found, [9000 * 8999 // 2])


def test_a_transposition_without_its_barrier_is_found(example):
    """The simulator sees that a tile is read while it is written."""
    matrices = example("kernels.matrices")

    @fk.kernel
    def hasty(a):
        def block(_):
            tile = fk.memory(1024, fw.i64)
            matrices.by_warps(32, lambda i, j: tile.__setitem__(i * 32 + j, a[i][j]))
            return fk.pull(1024, lambda t: tile[t % 32 * 32 + t // 32])

        return fk.generate(1, block)

    with fw.target("interp"), pytest.raises(fw.KernelError, match="race"):
        hasty(np.arange(1024).reshape(32, 32))
