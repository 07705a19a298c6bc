"""Reads at computed indices of arrays that are too large to be everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flatweave as fw
from flatweave.cluster.executor import Rows
from flatweave.cluster.in_process import InProcess
from flatweave.frontend.call.options import PLACE
from tests.cluster.programs import PROGRAMS, agree


class ByOwner(InProcess):
    """No array may be everywhere."""

    def replicates(self, size):
        return False

    def share(self, value):
        whole.extend([value] if isinstance(value, Rows) else [])
        return super().share(value)


whole: list[Rows] = []
"""What went to every chunk all the same."""

PLACE_OF_ALL = ByOwner("interp")
READS = [
    "gathered", "computed places", "places of places", "several arrays", "gathered rows",
    "sums of gathered rows", "computed, then gathered", "gathered in a loop",
    "gathered beside shifts", "gathered if", "searched by hand", "followed",
    "as many turns as it says", "a few turns", "read in branches",
    "loops in loops", "loops in branches", "rolling medians", "rotated", "rotated by an argument",
    "on a ring", "periodic",
    "joined, many to many", "rows gathered",
]  # fmt: skip


@pytest.fixture
def by_owner():
    """Functions that are called meanwhile ask for what they read."""
    token = PLACE.set(PLACE_OF_ALL)
    yield
    PLACE.reset(token)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        pytest.param(name, rows, marks=[] if name in READS and rows == 7 else pytest.mark.slow)
        for name in PROGRAMS for rows in (1, 7, 1000)
    ],
)
def test_values_are_those_of_one_machine(name, rows):
    """Whatever is read, and whatever the chunks; nothing goes everywhere."""
    whole.clear()
    agree(name, PLACE_OF_ALL, rows)
    assert not (whole and name in READS)


def test_as_machine_code():
    """The same values."""
    for name in ("places of places", "sums of gathered rows"):
        agree(name, ByOwner(), 7)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.lists(st.integers(-20, 20)))
@settings(max_examples=15, deadline=None)
def test_any_chunks(lengths, places):
    """Empty ones, and indices that no result needs; an index outside is still an error."""
    parts = [np.arange(n) * 7 + k for k, n in enumerate(lengths)]
    xs, token = np.concatenate(parts), PLACE.set(PLACE_OF_ALL)
    try:
        found = np.asarray(TAKE(fw.Chunked(parts), fw.Chunked.cut(np.array(places, int), 3)))
    except fw.IndexOutOfBounds:
        assert any(not -len(xs) <= place < len(xs) for place in places)
    else:
        assert np.array_equal(found, xs[np.array(places, int)])
    finally:
        PLACE.reset(token)


TAKE = fw.jit(lambda xs, places: xs[places])


class InStages(ByOwner):
    """Owners are asked in groups, through intermediate tasks."""

    def __init__(self, each):
        super().__init__("interp")
        self.owners = each
        self.names = []

    def group(self, chunks, parts, size):
        return self.owners

    def run(self, step, jobs):
        self.names.append(step.program.name)
        return super().run(step, jobs)


@pytest.mark.parametrize("each", [2, 5, 40])
def test_in_two_stages(each):
    """The same rows, also of several arrays, of rows, of few chunks and of one group."""
    for name in ("several arrays", "gathered rows", "computed, then gathered", "read in branches"):
        place = InStages(each)
        agree(name, place, 7)
        assert "asked" in place.names


@pytest.mark.parametrize("each", [2, 3])
def test_blocks_that_ask_nothing_in_two_stages(each):
    """Owners without requests, chunks that ask only one owner, and indices outside, which are
    errors as ever."""
    xs, token = np.arange(50) * 3, PLACE.set(InStages(each))
    try:
        for places in ([49] * 9, [0, 0, 0, 7, 7, 8, 49], [-1, 30], [], [12] * 40 + [2, 3]):
            found = TAKE(fw.Chunked.cut(xs, 6), fw.Chunked.cut(np.array(places, int), 2))
            assert np.array_equal(found, xs[np.array(places, int)])
        with pytest.raises(fw.IndexOutOfBounds, match="index 50 is outside an array of 50"):
            TAKE(fw.Chunked.cut(xs, 6), fw.Chunked.cut(np.array([3, 50, 4, 44]), 2))
    finally:
        PLACE.reset(token)


def test_a_place_is_asked_for_once_by_all_chunks_of_a_block(monkeypatch):
    """What many chunks read is sent by its owner to the tasks between alone."""
    found = []
    place = InStages(2)
    run = place.run

    def watched(step, jobs):
        jobs = list(jobs)
        if step.program.name == "taken" and len(found) < 4:
            found.extend((args[0], args[2]) for _, args in jobs)
        return run(step, jobs)

    monkeypatch.setattr(place, "run", watched)
    token = PLACE.set(place)
    try:
        ys = TAKE(fw.Chunked.cut(np.arange(40), 10), fw.Chunked.cut(np.tile([1, 32], 8), 2))
        assert np.array_equal(ys, np.tile([1, 32], 8))
    finally:
        PLACE.reset(token)
    assert found[:2] == [(0, 2), (30, 2)]  # of two tasks between for each group of owners


def sent(place, monkeypatch):
    """The rows that chunks send when a few are read: how many, and of which chunk's first one."""
    found = []
    run = place.run

    def watched(step, jobs):
        jobs = list(jobs)
        if step.program.name == "taken":
            found.extend((args[0], args[2]) for _, args in jobs)
        return run(step, jobs)

    monkeypatch.setattr(place, "run", watched)
    token = PLACE.set(place)
    try:
        xs = fw.Chunked.cut(np.arange(1000.0), 100)
        places = np.array([5, 5, 730, 5, 731, 5, 5, -995])
        assert np.asarray(TAKE(xs, fw.Chunked.cut(places, 4))).tolist() == [*places[:-1], 5]
    finally:
        PLACE.reset(token)
    return found


def test_only_what_is_read_is_sent(monkeypatch):
    """Every row once to each chunk that reads it, by the chunk that has it."""
    assert sent(ByOwner("interp"), monkeypatch) == [(0, 2), (700, 2)]


def test_what_fits_is_everywhere(monkeypatch):
    """Then no rows are requested; an array larger than its share of memory is not small."""
    assert sent(InProcess("interp", memory=48000), monkeypatch) == []
    assert sent(InProcess("interp", memory=47999), monkeypatch) == [(0, 2), (700, 2)]


@pytest.mark.parametrize("wrong", [77, -11])
def test_an_index_outside_names_the_line_and_the_chunk(by_owner, wrong):
    """The extent is that of the whole array, the element that of the whole call."""
    f = fw.jit(lambda xs, idx: fw.map(lambda i: xs[i] + 1, idx))
    with pytest.raises(fw.IndexOutOfBounds, match=rf"index {wrong} is outside an array of 10") as e:
        f(fw.Chunked.cut(np.arange(10), 4), fw.Chunked.cut(np.array([1, 2, 3, wrong]), 2))

    assert "(first found at element 3)" in str(e.value)
    assert "in chunk 1, rows 2 to 3" in str(e.value)
    assert "xs[i]" in str(e.value)


@pytest.mark.parametrize("wrong", [10, -11])
def test_an_index_outside_in_a_loop_or_a_branch(by_owner, wrong):
    """It is an error where it is read, and none in a branch that is not taken."""
    f = fw.jit(lambda xs, idx: fw.map(
        lambda i: fw.while_loop(lambda s: s[1] < 2, lambda s: (xs[s[0]], s[1] + 1), (i, 0))[0], idx
    ))  # fmt: skip
    g = fw.jit(lambda xs, idx: fw.map(
        lambda i: fw.cond((i < 9) & (i > -9), lambda: xs[i], lambda: 99), idx
    ))  # fmt: skip
    xs, idx = fw.Chunked.cut(np.arange(10), 4), fw.Chunked.cut(np.array([1, 2, 3, wrong]), 2)
    with pytest.raises(fw.IndexOutOfBounds, match=rf"index {wrong} is outside an array of 10") as e:
        f(xs, idx)

    assert "xs[s[0]]" in str(e.value)
    assert np.asarray(g(xs, idx)).tolist() == [1, 2, 3, 99]


def test_all_indices_outside(by_owner):
    """No row is sent at all."""
    f = fw.jit(lambda xs, idx: xs[idx])
    with pytest.raises(fw.IndexOutOfBounds, match="index 10 is outside an array of 10"):
        f(fw.Chunked.cut(np.arange(10), 4), fw.Chunked.cut(np.full(3, 10), 2))
