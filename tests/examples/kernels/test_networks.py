"""Sorters of examples/kernels: the 0-1 principle, and what mergers ask of their input."""

import numpy as np
import pytest

import flatweave as fw


def zeros_and_ones(n):
    """All rows of 2^n zeros and ones."""
    extent = 1 << n
    return ((np.arange(1 << extent)[:, None] >> np.arange(extent)) & 1).astype(np.uint8)


def goes_up(rows):
    """Which rows are sorted."""
    return (np.diff(rows.astype(int), axis=1) >= 0).all(axis=1)


def rows_for(name, rows):
    """Those rows that a network is for."""
    half = rows.shape[1] // 2
    if name in ("bmerge", "shex"):  # up and then down, or that turned round
        changes = np.diff(np.hstack([rows, rows[:, :1]]).astype(int), axis=1) != 0
        return rows[changes.sum(axis=1) <= 2]
    if name == "tmerge":
        return rows[goes_up(rows[:, :half]) & goes_up(rows[:, half:])]
    if name == "bpmerge":
        return rows[goes_up(rows[:, ::2]) & goes_up(rows[:, 1::2])]
    return rows


def kernel(example, name, n):
    """The kernel of a network for 2^n elements."""
    file = "odd_even" if name in ("sort_oe", "shex") else "networks"
    return example(f"kernels.{file}").by_blocks(name, n)


NETWORKS = ["tsort1", "tsort2", "vsort", "psort", "sort_oe", "bmerge", "tmerge", "bpmerge", "shex"]


@pytest.mark.sampled
@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("name", NETWORKS)
def test_zeros_and_ones(example, name, target):
    """A network of comparators that sorts these sorts everything."""
    n = 4 if target == "cpu" else 3
    rows = rows_for(name, zeros_and_ones(n))
    if target == "interp":
        rows = rows[:: 1 + len(rows) // 50]

    with fw.target(target):
        found = kernel(example, name, n)(rows.ravel())

    assert np.array_equal(np.asarray(found).reshape(rows.shape), np.sort(rows, axis=1))


def test_columns(example):
    """As many as the networks' papers say."""
    networks = example("kernels.networks")
    odd_even = example("kernels.odd_even")

    assert len(networks.tsort(9)) == len(networks.vsort(9)) == len(odd_even.sort_oe(9)) == 45
    assert len(networks.tsort(8)) == 36
    assert len(networks.psort(8)) == 64


@pytest.mark.parametrize("name", ["tsort1", "tsort2", "vsort", "psort", "sort_oe"])
def test_one_element_is_sorted(example, target, name):
    """A network without columns."""
    xs = np.array([3.0, -1.0, 2.0])

    assert np.array_equal(kernel(example, name, 0)(xs), xs)
