"""Kernels whose threads take q elements give what NumPy gives, and save what the tables say."""

import numpy as np
import pytest

import flatweave as fw
from bench.sequentialization import BLOCK, BLOCKS, FACTORS, cases, kernel_of

CASES = {name: (block, args, wanted) for name, block, args, wanted in cases()}


@pytest.mark.parametrize("q", FACTORS)
@pytest.mark.parametrize("name", CASES)
def test_every_benchmark(name, q):
    """On the CPU, and in the simulator, which finds races."""
    block, args, wanted = CASES[name]
    kernel = kernel_of(block, q)

    np.testing.assert_array_equal(kernel.simulate(*args, blocks=2, seed=q), wanted)
    with fw.target("cpu"):
        np.testing.assert_array_equal(kernel(*args), wanted)


@pytest.mark.parametrize("q", FACTORS)
def test_what_a_reduction_saves(q):
    """Barriers: the tile, the chunks, and one for each level of the tree of n / q sums, of
    which those of 32 sums or fewer may be barriers of one warp."""
    block, args, _ = CASES["reduce"]
    counts = kernel_of(block, q).counts(*args, threads=BLOCK // q)
    sums = BLOCK // q

    assert counts.threads == BLOCKS * sums
    barriers = counts.barriers + counts.warp_barriers
    assert barriers == BLOCKS * (1 + (q > 1) + sums.bit_length() - 1)
    tree = sums - 1
    assert counts.shared_writes == BLOCKS * (BLOCK + (sums if q > 1 else 0) + tree)
    assert counts.shared_reads == BLOCKS * ((BLOCK if q > 1 else 0) + 2 * tree + 1)
    assert counts.bank_conflicts == counts.uncoalesced == 0


@pytest.mark.parametrize("q", FACTORS[1:])
def test_a_tile_needs_its_padding(q):
    """Chunks side by side: lanes are q words apart, and so q of them in each bank that they use."""
    _, args, _ = CASES["scan"]
    padded, plain = (
        kernel_of(CASES[name][0], q).counts(*args, threads=BLOCK // q)
        for name in ("scan", "scan, unpadded")
    )
    accesses = 3 * BLOCK // 32  # of warps: elements are read twice, and prefixes written

    assert padded.bank_conflicts == 0
    assert plain.bank_conflicts == BLOCKS * accesses * (q - 1)
