"""Nests a row after the other: values, errors, memory and interrupts of rows run by one thread."""

import re
import signal
import time

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import Schedule
from flatweave.kernel_ir.units import parse_unit, print_unit, verify
from flatweave.lower.program import lower
from flatweave.pipeline import optimise
from flatweave.simulator import run as interp
from flatweave.targets import TARGETS

SIZES = [0, 1, 3, 64, 100]


def in_order(row):
    """A row's positive values in order, summed up on the way."""
    return fw.cumsum(fw.filter(lambda x: x > 0, fw.sort(row)))


def expected(row):
    kept = sorted(x for x in row if x > 0)
    return np.cumsum(np.array(kept, np.int64)).tolist()


def rows_of(count, longest, seed=0):
    random = np.random.default_rng(seed)
    lengths = random.integers(0, longest + 1, count)
    return fw.ragged(random.integers(-50, 50, int(lengths.sum())), lengths=lengths)


@pytest.fixture(autouse=True)
def by_row():
    """Every nest that has a version by row takes it."""
    with fw.schedule(version="by-row"):
        yield


@pytest.mark.parametrize("longest", [0, 1, 17, 127, 128, 129, 255, 256, 257, 1025])
@pytest.mark.parametrize("count", SIZES)
def test_rows_of_all_lengths(count, longest, threads):
    """Empty ones among them, on both sides of where sorts change."""
    rows = rows_of(count, longest, count + longest)

    assert fw.map(in_order, rows).tolist() == [expected(row) for row in rows.tolist()]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int16, np.uint64])
def test_sorts_are_stable_and_order_all_values(dtype):
    """NaN last, -0.0 before 0.0 as they come, by several keys."""
    random = np.random.default_rng(3)
    keys = random.integers(0, 5, (70, 90)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        keys[::7, ::5], keys[::3, ::4] = np.nan, -0.0
    places = fw.map(lambda row: fw.sort_by_key(row, fw.iota(90))[1], keys)

    assert np.array_equal(places, np.argsort(keys, axis=1, kind="stable"))


def test_loops_with_arrays_in_their_state():
    """Each row iterates as often as it needs."""

    def halved(row):
        def turn(state):
            n, row = state
            return n - 1, fw.concat([row[1:], row[:1]]) + 1

        return fw.while_loop(lambda state: state[0] > 0, turn, (row.shape[0], row))[1]

    rows = rows_of(80, 9)

    assert fw.map(halved, rows).tolist() == [[x + len(r) for x in r] for r in rows.tolist()]


@pytest.mark.sampled
@pytest.mark.parametrize("parts", range(2, 7))
def test_joined_parts(parts):
    """Each element comes from its own part, of which some are empty."""

    def joined(row):
        row = fw.sort(row)
        return fw.cumsum(fw.concat([row[k:] * (k + 1) for k in range(parts)]))

    rows = rows_of(80, 40)
    given = [np.sort(row) for row in rows.tolist()]
    parted = [[row[k:] * (k + 1) for k in range(parts)] for row in given]

    assert fw.map(joined, rows).tolist() == [np.cumsum(np.concatenate(p)).tolist() for p in parted]


def test_a_turn_of_a_loop_is_one_launch():
    """What is put together of parts is computed where the scan reads it; no end of it is stored."""

    def distance(a, b):
        def turn(i, above):
            best = above[1:] + (b != a[i])
            return fw.scan(fw.minimum, 99, fw.concat([above[:1] + 1, best]))

        return fw.fori_loop(0, a.shape[0], turn, fw.iota(b.shape[0] + 1))

    rows = rows_of(70, 9)
    unit = fw.jit(lambda a, b: fw.map(distance, a, b)).stages(rows, rows).text["kernel"]
    (turn,) = re.findall(r"for 0 .*?\n        .*?\[buffer_", unit.split("_by_row(")[1], re.DOTALL)

    assert turn.count("launch") == 1
    assert turn.count("alloc") == 1


def test_an_error_names_the_first_row_that_failed():
    """Whatever thread came first."""
    places = np.zeros(500, np.int64)
    places[[77, 300]] = 9
    rows = np.arange(2000).reshape(500, 4)

    with pytest.raises(IndexError) as caught:
        fw.map(lambda row, i: fw.sort(row)[i], rows, places)

    assert "77" in str(caught.value) and "9" in str(caught.value)


def test_an_error_leaves_nothing_behind():
    """The buffers of rows before it, and its private ones, are released."""
    rows = np.zeros((500, 40), np.int64)
    with pytest.raises(IndexError):
        fw.map(lambda row: fw.sort(row)[fw.sum(row) + 40], rows)

    assert fw.map(fw.sort, rows).tolist() == rows.tolist()


def test_a_row_that_never_ends_can_be_interrupted():
    """By a signal, within the time that other loops take."""

    def alarm(number, frame):
        raise KeyboardInterrupt

    def forever(row):
        return fw.while_loop(lambda r: r[0] >= 0, lambda r: fw.sort(r), row)[0]

    f = fw.jit(lambda rows: fw.map(forever, rows))
    rows = np.ones((100, 8), np.int64)
    f(-rows)  # compiles it: no iteration runs
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            f(rows)
        assert time.monotonic() - start < 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_large_arrays_of_rows():
    """Buffers above 64 KiB are of the whole program's kind, and are given back like them."""
    rows = np.random.default_rng(1).integers(0, 1 << 40, (3, 100_001))

    assert np.array_equal(fw.map(fw.sort, rows), np.sort(rows, axis=1))


def test_sizes_choose_and_notes_say_so():
    """Few rows are done all at once."""
    sort = fw.jit(lambda x: fw.map(fw.sort, x))
    with config.scoped(schedule=Schedule()):
        few, many = np.ones((4, 40), np.int64), np.ones((400, 40), np.int64)
        sort(few)
        assert not any("one after the other" in note for note in sort.stages(few).notes)
        sort(many)
        assert any("one after the other" in note for note in sort.stages(many).notes)


def test_an_unknown_version_says_which_there_are():
    """As every part of a schedule does."""
    with pytest.raises(fw.ArgumentError, match="by-row or flat"):
        fw.schedule(version="rows")


def test_its_kernel_is_text_that_reads_back_and_runs_in_the_simulator():
    """A kernel with kernels inside: printed, read, verified, simulated. There is room between its
    rows: a step that ends in the next row would read, and overwrite, what nobody has written."""
    rows = rows_of(70, 12)
    values, offsets = np.asarray(rows.values), np.asarray(rows.offsets)
    traced = fw.jit(lambda r: fw.map(in_order, r)).stages(rows).executable.traced
    swept = list(optimise(traced).values())[-1]
    by_row = Schedule(version="by-row", rows="rows")
    unit = lower(swept, TARGETS["cpu"].machine, schedule=by_row).unit

    verify(unit)
    assert print_unit(parse_unit(print_unit(unit))) == print_unit(unit)
    found = interp.run(unit, [len(values), values, len(offsets), offsets])
    wanted = [x for row in rows.tolist() for x in expected(row)]
    assert any(isinstance(x, np.ndarray) and x[: len(wanted)].tolist() == wanted for x in found)
