"""The requirements on a row besides speed: the same bits on all threads, little memory."""

import dataclasses
import sys

import numpy as np
import pytest

import flatweave as fw
from bench.measure import bits_of, contenders, levels, reference
from bench.needs import LEVELS, ours_at
from bench.rows import ROWS
from bench.tools import Tools
from bench.values import leaves, total_bytes
from flatweave.base.config import NATIVE, config
from flatweave.targets import TARGETS


@pytest.fixture
def judged(monkeypatch):
    """The verdict on memory; run.py is a program, which puts its own folder on the path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    from bench.run import judged

    return judged


def test_bits_that_depend_on_threads_are_seen():
    """One wrong bit on one number of threads is enough."""
    row = ROWS["permute_add"]
    right = [np.float32(1)]

    (verdict,) = bits_of(row, lambda: np.float32(1), right)
    assert verdict.reached
    (verdict,) = bits_of(row, lambda: np.float32(1) + (config.threads == 3) * 1e-7, right)
    assert not verdict.reached and "3" in verdict.measured
    (verdict,) = bits_of(row, lambda: np.float32(-0.0), [np.float32(0)])
    assert not verdict.reached


def test_bits_count_only_where_they_are_asked_for():
    """A row without the need has no verdict, and takes no time for it."""
    assert bits_of(ROWS["dot"], lambda: 1 / 0, []) == []


def test_memory_for_each_number(judged):
    """The sieve's is judged whole, by its bound; that of others less inputs and outputs."""
    found = {"size": 1000, "peak": 1400, "beyond": 65 << 20, "allowed": 64 << 20}

    assert judged(ROWS["sieve"], found)["measured"] == "1.40"
    assert judged(ROWS["sieve"], found)["reached"]
    assert not judged(ROWS["sieve"], {**found, "peak": 1501})["reached"]
    assert not judged(ROWS["dot"], found)["reached"]
    assert judged(ROWS["dot"], {"failed": "killed"})["reached"] is None


def test_a_row_without_arrays_has_no_floor():
    """Nothing has to move."""
    assert reference(ROWS["sieve"], Tools(exclude=("c",)), 0, 0) == (None, 0)


def test_the_stream_that_a_row_names(monkeypatch):
    """Sums of short rows write a tenth of what they read, and are held to the speed of reading."""
    asked = []

    class Recorded:
        def bind(self, name, *args):
            asked.append(name)
            return lambda: None

    tools = Tools()
    monkeypatch.setattr(tools, "c", lambda name: Recorded())
    row = ROWS["row_sums_10_flags"]

    reference(row, tools, 900, 100)
    reference(dataclasses.replace(row, stream=""), tools, 900, 100)
    reference(dataclasses.replace(row, stream=""), tools, 999, 1)
    assert asked == ["read_sum", "copy_stream", "read_sum"]


def test_a_ragged_counts_with_its_offsets():
    """They have to be read, too."""
    rows = fw.ragged((np.zeros(6, np.float32), np.zeros(6, np.int32)), lengths=[2, 4])

    assert total_bytes((rows,)) == 6 * 4 + 6 * 4 + 3 * 8
    assert len(leaves(rows)) == 3


def test_code_for_lower_levels_is_measured_beside_ours():
    """In the same process and rounds: each level runs different code."""
    seen = []
    row = dataclasses.replace(ROWS["dot"], program=lambda xs, ys: seen.append(bits()) or xs)

    def bits():
        return TARGETS["cpu"].machine.vector_bytes

    calls = contenders(row, Tools(exclude=("c", "numba", "jax")), row.inputs(100))
    for level in levels():
        calls[ours_at(level)]()
    widths = [{"x86-64-v2": 16, "x86-64-v3": 32}[level] for level in levels()]
    assert seen == widths
    with config.scoped(cpu=LEVELS[0] if levels() else NATIVE):
        assert levels() == []
