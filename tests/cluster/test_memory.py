"""Data larger than memory: results beyond the bound are in files, and gone with their arrays."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import flatweave as fw
from flatweave.cluster.files import HUGE, room
from flatweave.cluster.in_process import InProcess, Spilled, Store

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
    """No file remains."""
    store = Store(0, str(tmp_path))
    pieces = [store.keep(XS), store.keep(XS)]
    (folder,) = tmp_path.iterdir()
    assert len(os.listdir(folder)) == 2
    assert np.array_equal(pieces[1].load(3, 5), [3.0, 4.0])

    del pieces
    gc.collect()
    assert os.listdir(folder) == []


def test_results_outlive_the_bound(tmp_path):
    """Their files are there as long as they are, whoever wrote them."""
    with fw.on(memory="4 KiB", folder=str(tmp_path)):
        found = fw.jit(lambda x: x * 2)(fw.Chunked.cut(XS, 64))
    gc.collect()

    assert type(found.pieces[-1]) is Spilled
    assert np.array_equal(np.asarray(found), XS * 2)
    del found
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_memory_that_is_free_again_is_used_again():
    """What nobody has any more counts no more."""
    store = Store(XS.nbytes)
    first = store.keep(XS)
    assert type(store.keep(XS)) is Spilled

    del first
    gc.collect()
    assert type(store.keep(XS)) is not Spilled


def test_the_next_chunk_is_read_ahead(tmp_path, monkeypatch):
    """By a thread parallel to the computing one; every row once."""
    np.save(tmp_path / "xs.npy", XS)
    xs = fw.Chunked.open(tmp_path / "xs.npy", 1000)
    expected = []
    expect = InProcess.expect
    monkeypatch.setattr(
        InProcess, "expect", lambda self, args: expected.append(1) or expect(self, args)
    )

    assert float(fw.jit(lambda x: fw.sum(x))(xs)) == XS.sum()
    assert len(expected) == 4


PEAKS = """
import sys
import numpy as np
import flatweave as fw

def groups(xs):
    keys, ys = fw.sort_by_key(xs % 1000, fw.astype(xs, fw.f32))
    begins = fw.concat([fw.full(1, True), keys[1:] != keys[:-1]])
    return keys[begins], fw.segmented_reduce(fw.add, fw.f32(0), begins, ys)

PROGRAMS = {
    "sum": lambda x: fw.sum(x), "scan": lambda x: fw.cumsum(x), "filter": lambda x: x[x % 3 != 0],
    "sort": lambda x: fw.sort(x), "groups": groups,
}
path, rows, bound, *names = sys.argv[1:]

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

for name in names:
    f = fw.jit(PROGRAMS[name])
    xs = fw.Chunked.open(path, int(rows))
    few = np.arange(16 * len(xs.pieces), dtype=np.uint32)[::-1].copy()
    with fw.on(memory=int(bound)):
        f(fw.Chunked.cut(few, 16))  # programs for this number of chunks are compiled
        before = status("VmRSS")
        open("/proc/self/clear_refs", "w").write("5")
        found = f(xs)
        print(name, status("VmHWM") - before)
    del found
"""


def peaks(folder, size, bound, names):
    """The memory that programs take, beyond the process's, for a file of some bytes."""
    xs = np.random.default_rng(1).integers(0, 2**32, size // 4, np.uint32)
    np.save(folder / "xs.npy", xs)
    args = [folder / "xs.npy", bound // 128, bound, *names]
    done = subprocess.run(
        [sys.executable, "-c", PEAKS, *map(str, args)], check=True, capture_output=True, text=True
    )
    return {name: int(found) for name, found in map(str.split, done.stdout.splitlines())}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_what_is_read_is_this_process_own():
    """A child's writes stay its own, as with any other array; only such pages may be large."""
    memory = room(HUGE)
    memory[:] = 1
    child = os.fork()
    if not child:
        memory[:] = 2
        os._exit(0)
    os.waitpid(child, 0)

    assert memory.min() == memory.max() == 1


on_linux = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="only Linux forgets a peak"
)


@on_linux
def test_sorting_takes_less_memory_than_the_bound(tmp_path):
    """Chunks, what is read ahead, what is being written, and results: all of it."""
    found = peaks(tmp_path, 48 << 20, 24 << 20, ["sort"])

    assert found["sort"] < 24 << 20, found


@on_linux
@pytest.mark.slow
def test_everything_takes_less_memory_than_the_bound(tmp_path):
    """On four times as much data as memory."""
    names = ["sum", "scan", "filter", "sort", "groups"]
    found = peaks(tmp_path, 256 << 20, 64 << 20, names)

    assert list(found) == names
    assert all(peak < 64 << 20 for peak in found.values()), found
