"""Programs of every day in chunks, within a bound on memory: what plain NumPy gives."""

import numpy as np
import pytest

import flatweave as fw
from tests.cluster import graphs_and_pictures, tables_and_texts  # noqa: F401  programs that they add
from tests.cluster.everyday import DAILY

FEW = ("integral_image", "numbers", "rolling_median", "sums_so_far", "packed_bits", "areas")


def same(found, wanted):
    """Arrays, or tuples of them."""
    is_one = not isinstance(wanted, tuple)
    for mine, theirs in zip(*(((found,), (wanted,)) if is_one else (found, wanted)), strict=True):
        np.testing.assert_allclose(np.asarray(mine), theirs, rtol=1e-9, atol=1e-12)


def check(name, lengths, chunks):
    """A program on arrays of some lengths, in chunks of some rows."""
    f, reference, make = DAILY[name]
    program = fw.jit(f)
    for n in lengths:
        args = make(np.random.default_rng(n), n)
        wanted = reference(*args)
        for rows in chunks:
            with fw.on(memory="100 MiB"):
                same(program(*(fw.Chunked.cut(each, rows) for each in args)), wanted)


@pytest.mark.parametrize("name", FEW)
def test_a_few_of_them(name):
    """In chunks of seven rows, and of no elements at all."""
    with fw.target("interp"):
        check(name, (0, 41), (7,))


@pytest.mark.slow
@pytest.mark.parametrize("name", DAILY)
def test_all_of_them(name):
    """One element, too, and chunks of one row."""
    check(name, (0, 1, 41), (1, 7, 1000))


@pytest.mark.slow
def test_processes():
    """Two of them, on one machine."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as them,
        distributed.Client(them) as client,
        fw.on(client),
    ):
        for name in DAILY:
            f, reference, make = DAILY[name]
            args = make(np.random.default_rng(1), 41)
            same(fw.jit(f)(*(fw.Chunked.cut(each, 7) for each in args)), reference(*args))
