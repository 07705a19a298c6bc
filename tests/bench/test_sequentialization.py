"""Programs whose threads take q elements give what NumPy gives, and save what the table says."""

from pathlib import Path

import numpy as np
import pytest

import flatweave as fw
from bench.sequentialization import BINS, BLOCK, FACTORS, cases, kernel_of
from bench.sequentialization import counts_of as _counts_of
from flatweave.lower.machine import CUDA, OPENCL

CASES = {name: (block, args, wanted) for name, block, args, wanted in cases()}
RESULTS = Path(__file__).parents[2] / "bench/results/2026-11-22-sequentialization-counts.md"
WARP = 32


def counts_of(name, q, machine=CUDA):
    """What a block does, on average."""
    return _counts_of(*CASES[name], q, machine)


@pytest.mark.sampled
@pytest.mark.parametrize("q", [4])
@pytest.mark.parametrize("name", CASES)
def test_every_benchmark(name, q):
    """On the CPU, and in the simulator, which finds races."""
    block, args, wanted = CASES[name]
    kernel = kernel_of(block, q)

    np.testing.assert_array_equal(kernel.simulate(*args, blocks=2, seed=q), wanted)
    with fw.target("cpu"):
        np.testing.assert_array_equal(kernel(*args), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 3, 8, 16])
@pytest.mark.parametrize("name", CASES)
def test_every_factor(name, q):
    """The same for the other factors of the table, and one that divides nothing."""
    test_every_benchmark(name, q)


@pytest.mark.sampled
@pytest.mark.needs_opencl
@pytest.mark.parametrize("name", CASES)
def test_on_opencl(name):
    """The same on a device."""
    block, args, wanted = CASES[name]
    with fw.target("opencl"):
        np.testing.assert_array_equal(kernel_of(block, 4)(*args), wanted)


@pytest.mark.parametrize("q", FACTORS)
def test_what_a_reduction_saves(q):
    """Shuffles in each warp and in the first one of their results; a tile for an operator that does
    not commute."""
    m = BLOCK // q
    warps = m // WARP
    tile = BLOCK if q > 1 else 0
    for name, staged in [("reduce", 0), ("reduce, in order", tile)]:
        found = counts_of(name, q)
        assert found["threads"] == m
        assert found["barriers"] == 2 + (staged > 0)
        assert found["shuffles"] == 6 * (warps + 1)
        assert found["shared reads"] == staged + 2 * warps
        assert found["shared writes"] == staged + warps + 1
        assert found["uncoalesced"] == found["bank conflicts"] == found["of warps"] == 0


@pytest.mark.parametrize("q", FACTORS)
def test_a_reduction_without_shuffles(q):
    """A barrier for the sums of threads, and one for each level of their tree."""
    m = BLOCK // q
    for name, staged in [("reduce", 0), ("reduce, in order", BLOCK if q > 1 else 0)]:
        found = counts_of(name, q, OPENCL)
        assert found["barriers"] == m.bit_length() + (staged > 0)
        assert found["shared reads"] == staged + 2 * (m - 1) + m // WARP
        assert found["shared writes"] == staged + 2 * m - 1
        assert found["shuffles"] == 0


@pytest.mark.parametrize("q", FACTORS)
def test_what_a_scan_saves(q):
    """A tile for the elements, and next to nothing else."""
    m = BLOCK // q
    warps = m // WARP
    tile = 2 * BLOCK if q > 1 else 0
    found = counts_of("scan", q)

    assert found["barriers"] == (3 if q > 1 else 1)
    assert found["shuffles"] == (13 if q > 1 else 12) * warps
    assert found["shared reads"] == tile + warps * (warps - 1) // 2
    assert found["shared writes"] == tile + warps
    assert found["own"] == 2 * BLOCK + (2 * m if q > 1 else 0)
    assert found["bank conflicts"] == found["uncoalesced"] == found["of warps"] == 0


@pytest.mark.parametrize("q", FACTORS)
def test_a_scan_without_shuffles(q):
    """The steps over m sums are all there is for q = 1, and next to nothing for q = 16."""
    m = BLOCK // q
    steps = m.bit_length() - 1
    reads = 2 * m * steps - (m - 1)
    found = counts_of("scan", q, OPENCL)
    if q == 1:
        assert found["barriers"] == steps
        assert found["shared reads"] == reads and found["shared writes"] == m * steps
    else:
        assert found["barriers"] == steps + 3
        assert found["shared reads"] == 2 * BLOCK + reads + m - 1
        assert found["shared writes"] == 2 * BLOCK + m * (steps + 1)
    assert found["own"] == 2 * BLOCK
    assert found["bank conflicts"] == found["uncoalesced"] == found["shuffles"] == 0


@pytest.mark.parametrize("q", FACTORS[1:])
def test_big_numbers_are_one_scan(q):
    """Digits stay in registers, and their flags are what a scan's tile holds."""
    scan, numbers = counts_of("scan", q), counts_of("big numbers", q)

    for column in ("barriers", "shuffles", "shared reads", "shared writes", "bank conflicts"):
        assert numbers[column] == scan[column]
    assert numbers["own"] == scan["own"] + 2 * BLOCK


def test_what_has_nothing_to_save():
    """Maps, scatters and updates have the same accesses for every factor, and fewer threads."""
    for name in ("map", "two maps", "turned u8", "scatter, iota", "scatter, random", "histogram"):
        found = [counts_of(name, q) for q in FACTORS]
        for q, each in zip(FACTORS, found, strict=True):
            assert each.pop("threads") == BLOCK // q
            assert each == found[0]
    assert counts_of("two maps", 4)["barriers"] == 0
    bytes_ = counts_of("turned u8", 4)
    assert bytes_["global reads"] == bytes_["shared writes"] == BLOCK
    assert counts_of("histogram", 4)["atomics"] == BLOCK > BINS


def test_the_table_is_what_is_counted():
    """The rows of two benchmarks in the results."""
    text = RESULTS.read_text(encoding="utf-8")
    for name, q, machine in [("radix step", 8, CUDA), ("scan of rows", 4, OPENCL)]:
        cells = " | ".join(f"{value:,}" for value in counts_of(name, q, machine).values())
        assert f"| {name} | {q} | {cells} |" in text
