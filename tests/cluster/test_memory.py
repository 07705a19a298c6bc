"""Data larger than memory: results beyond the bound are in files, and gone with their arrays."""

import gc
import os

import numpy as np

import flatweave as fw
from flatweave.cluster.here import Here
from flatweave.cluster.spill import Spilled, Store

XS = np.arange(4096.0)


def test_results_beyond_the_bound_are_in_files(tmp_path):
    """With the same values; the first ones stay in memory."""
    np.save(tmp_path / "xs.npy", XS)
    xs = fw.Chunked.open(tmp_path / "xs.npy", 256)
    with fw.on(memory="16 KiB", folder=str(tmp_path)):
        sums, kept = fw.jit(lambda x: (fw.cumsum(x), x[x % 2 == 0]))(xs)

    spilled = [type(piece) is Spilled for piece in kept.pieces]  # of the first step
    assert not spilled[0] and spilled[-1]
    assert all(type(piece) is Spilled for piece in sums.pieces)
    assert np.array_equal(np.asarray(sums), np.cumsum(XS))
    assert np.array_equal(np.asarray(kept), XS[::2])


def test_files_go_with_their_arrays(tmp_path):
    """None is left behind."""
    store = Store(0, str(tmp_path))
    pieces = [store.keep(XS), store.keep(XS)]
    (folder,) = tmp_path.iterdir()
    assert len(os.listdir(folder)) == 2
    assert np.array_equal(pieces[1].load(3, 5), [3.0, 4.0])

    del pieces
    gc.collect()
    assert os.listdir(folder) == []


def test_memory_that_is_free_again_is_used_again():
    """What nobody has any more counts no more."""
    store = Store(XS.nbytes)
    first = store.keep(XS)
    assert type(store.keep(XS)) is Spilled

    del first
    gc.collect()
    assert type(store.keep(XS)) is not Spilled


def test_the_next_chunk_is_read_ahead(tmp_path, monkeypatch):
    """By a thread beside the one that computes; every row once."""
    np.save(tmp_path / "xs.npy", XS)
    xs = fw.Chunked.open(tmp_path / "xs.npy", 1000)
    expected = []
    expect = Here.expect
    monkeypatch.setattr(Here, "expect", lambda self, args: expected.append(1) or expect(self, args))

    assert float(fw.jit(lambda x: fw.sum(x))(xs)) == XS.sum()
    assert len(expected) == 4
