"""Reductions and scans of examples/kernels: operators, lengths, whole arrays."""

from functools import partial

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk

SCANS = ["sklansky", "sklansky2", "sklansky3", "sklansky4", "kogge_stone", "brent_kung"]


@pytest.mark.sampled
@pytest.mark.parametrize("extent", [1, 2, 32, 64])
@pytest.mark.parametrize("name", [*SCANS, "by_chunks"])
@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_scans_of_operators_that_do_not_commute(example, composed, name, extent, target):
    """Elements are pairs; parts may be of one element."""
    scans = example("kernels.scans")
    scan = scans.VARIANTS[name]
    if name == "by_chunks":
        scan = partial(scan, chunk=min(extent, 4))

    found, wanted = composed(scan, extent, target)

    for leaf in range(2):
        assert np.array_equal(found[leaf], wanted[:, :, leaf].ravel())


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("extent", [1, 2, 64])
def test_neighbours_first_keep_the_order(example, composed, target, extent):
    """red1 is the only one of seven that does not ask for an operator that commutes."""
    found, wanted = composed(example("kernels.reductions").red1, extent, target)

    for leaf in range(2):
        assert np.array_equal(found[leaf], wanted[:, -1, leaf])


def test_other_operators(example, target):
    """The greatest of each part, by all seven."""
    reductions = example("kernels.reductions")
    xs = np.random.default_rng(2).integers(-1000, 1000, 8192)
    for name, (_, extent, _) in reductions.VARIANTS.items():
        greatest = reductions.by_blocks(name, lambda a, b: fk.cond(a < b, lambda: b, lambda: a))
        assert np.array_equal(greatest(xs), xs.reshape(-1, extent).max(axis=1)), name


@pytest.mark.parametrize("n", [0, 1, 127, 4095, 4096, 4097, 20_000])
@pytest.mark.parametrize("name", ["two_launches", "with_atomics", "last_block"])
def test_sums_of_any_length(example, target, name, n):
    """Also of none; a block that waits for others is refused where they need not run meanwhile."""
    xs = np.arange(n) - 77
    total = example("kernels.large_reduction").KERNELS[name]

    if target == "opencl" and name == "last_block":
        with pytest.raises(fw.Unsupported, match="a block waits for another one"):
            total(xs)
    else:
        assert np.asarray(total(xs)).tolist() == [xs.sum()]


@pytest.mark.parametrize("name", ["two_launches", "with_atomics", "last_block"])
def test_sums_for_every_number_of_threads(example, threads, name):
    """Each block is run by one thread of the machine or another."""
    xs = np.arange(100_000)

    assert np.asarray(example("kernels.large_reduction").KERNELS[name](xs)) == xs.sum()


def barriers(text):
    """How many barriers a kernel has as it was written, for no machine yet."""
    return sum(line.strip() == "sync" for line in text.splitlines())


def test_barriers_of_reductions(example):
    """One after each force: log n of them, and where threads go first, log of the rest."""
    found = {}
    reductions = example("kernels.reductions")
    xs = np.zeros(8192, np.int32)
    for name, kernel in reductions.KERNELS.items():
        kernel(xs)
        found[name] = barriers(kernel.text["kernel"])

    assert found["red1"] == found["red2"] == 11
    assert found["red3"] == 10
    assert found["red4"] == found["red5"] == 8
    assert (found["red6"], found["red7"]) == (7, 6)
    assert (found["red1l"], found["red3l"], found["red7l"]) == (11, 10, 6)
