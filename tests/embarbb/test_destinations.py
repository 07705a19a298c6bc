"""Arrays that are given, written into and returned: no copy where nobody else needs them."""

import numpy as np

import flatweave as fw


def test_a_destination_in_the_state_of_a_loop_is_written_in_place():
    """The one copy that the program can make is for an array that somebody else needs."""

    @fw.jit
    def fill(n):
        start = fw.zeros((n, n), fw.i64)
        return fw.fori_loop(0, n, lambda i, m: fw.replace(m, (slice(None), i), i), start)

    assert fill(30).tolist() == [list(range(30))] * 30
    text = fill.stages(30).text["kernel"]
    before, behind = text.split("is_unique", 1)
    assert "launch copy_i64" not in before
    assert behind.count("launch copy_i64") == 1


def test_expansions_are_written_where_they_are_told():
    """What an expansion gives goes into a part of an array that is given, the rest stays."""

    @fw.jit
    def into(dest, counts, at):
        found = fw.expand(lambda c: c, lambda c, i: 10 * c + i, counts)
        return fw.scatter(dest, at + fw.iota(found.shape[0]), found)

    dest, counts = np.zeros(9, np.int64), np.array([2, 0, 3])

    assert into(dest, counts, 3).tolist() == [0, 0, 0, 20, 21, 30, 31, 32, 0]
    assert into(dest, counts, 6).tolist() == [0] * 6 + [20, 21, 30]
    assert dest.sum() == 0


def test_a_destination_that_is_given_away_is_written_in_place():
    """An expansion, a scatter and a replaced segment: in the memory of the array that was given."""
    into = fw.jit(
        lambda dest, counts, at: fw.scatter(
            dest, at + fw.iota(fw.sum(counts)), fw.expand(lambda c: c, lambda c, i: c + i, counts)
        ),
        target="cpu", donate="dest",
    )  # fmt: skip
    segment = fw.jit(
        lambda dest, values: fw.replace(dest, slice(1, 4), values), target="cpu", donate="dest"
    )
    dest = np.zeros(6, np.int64)

    held = into(dest, np.array([1, 2]), 0)
    assert dest.tolist() == held.tolist() == [1, 2, 3, 0, 0, 0]
    held = segment(dest, np.array([7, 8, 9]))
    assert dest.tolist() == held.tolist() == [1, 7, 8, 9, 0, 0]
    assert np.asarray(held).ctypes.data == dest.ctypes.data
