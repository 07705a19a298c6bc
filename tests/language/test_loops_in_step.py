"""Loops in rows whose range all rows share: one loop of the host, whose index is a scalar."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

M = (np.arange(35) * 37 % 50).reshape(5, 7)
R = fw.ragged([[3, 1, 2], [], [5], [4, 4, 1, 0]])


@pytest.fixture(autouse=True)
def flat():
    """All rows at once."""
    with fw.schedule(version="flat"):
        yield


def sorted_by_turns(row, turns):
    """Odd-even transposition: a row of n elements is sorted in n iterations."""
    def turn(t, row):
        n = row.shape[0]
        def place(i):
            other = fw.where((i + t) % 2 == 0, i + 1, i - 1)
            there = fw.where((other < 0) | (other >= n), i, other)
            return fw.where(i < there, fw.minimum(row[i], row[there]),
                            fw.maximum(row[i], row[there]))  # fmt: skip

        return fw.cumsum(fw.map(place, fw.iota(n)) * 1) * 0 + fw.map(place, fw.iota(n))

    return fw.fori_loop(0, turns, turn, row)


@pytest.mark.parametrize("matrix", [M, M[:, :1], M[:, :0], M[:1], M[:0]])
def test_rows_of_one_length(target, matrix, threads):
    """None among them, and none of their elements."""
    same(fw.map(lambda row: sorted_by_turns(row, 7), matrix), np.sort(matrix, axis=1))


def test_ragged_rows(target, threads):
    """The state has the same lengths."""
    assert fw.map(lambda row: sorted_by_turns(row, 4), R).tolist() == [
        sorted(row) for row in R.tolist()
    ]


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_lengths_that_change_from_turn_to_turn(target, turns):
    """Rows grow and shrink; of several slots some vary."""
    def turn(t, state):
        row, count, fixed = state
        return fw.concat([row, fw.full(1, t)])[t % 2:], count + fw.sum(row), fw.cumsum(fixed)

    def plain(row):
        state = list(row), 0, np.arange(3)
        for t in range(turns):
            row, count, fixed = state
            state = [*row, t][t % 2:], count + sum(row), np.cumsum(fixed)
        return state

    grown, counts, fixed = fw.map(
        lambda row: fw.fori_loop(0, turns, turn, (row, 0, fw.iota(3))), R
    )  # fmt: skip
    wanted = [plain(row) for row in R.tolist()]
    assert grown.tolist() == [row for row, _, _ in wanted]
    same(counts, np.array([count for _, count, _ in wanted]))
    same(fixed, np.array([values for _, _, values in wanted]))


def test_ranges_from_outside(target):
    """An argument, an extent, a negative range; and a range of the row, which is not in step."""
    f = fw.jit(lambda m, lo, hi: fw.map(
        lambda row: fw.fori_loop(lo, hi, lambda t, row: fw.cumsum(row) + t, row), m))  # fmt: skip
    for lo, hi in ((0, 3), (2, 3), (3, 3), (5, 2), (-2, 1)):
        wanted = M
        for t in range(lo, hi):
            wanted = np.cumsum(wanted, axis=1) + t
        same(f(M, lo, hi), wanted)
    own = fw.map(lambda row: fw.fori_loop(
        0, row[0] % 3, lambda t, row: fw.cumsum(row), row), M)  # fmt: skip
    wanted = [np.cumsum(row) if row[0] % 3 == 1 else np.cumsum(np.cumsum(row)) if row[0] % 3 else
              row for row in M]  # fmt: skip
    same(own, np.array(wanted))


def test_loops_in_loops_and_branches(target):
    """Of rows of rows; of a branch that no row takes nothing is run."""
    def rows(row):
        inner = fw.map(lambda n: fw.fori_loop(0, 2, lambda t, r: fw.concat([r, r]), fw.iota(n % 3)),
                       row)  # fmt: skip
        return fw.map(lambda r: fw.sum(r), inner)

    wanted = [[4 * sum(range(x % 3)) for x in row] for row in M]
    assert fw.map(rows, M).tolist() == wanted

    def guarded(row):
        def turn(t, row):
            return fw.sort(row) + row[t + 100]

        return fw.cond(row[0] > 99, lambda: fw.fori_loop(0, 10**6, turn, row), lambda: row)

    same(fw.map(guarded, M), M)


def test_the_index_is_a_scalar():
    """No rows remain to be treated separately."""
    f = fw.jit(lambda m: fw.map(
        lambda row: fw.fori_loop(0, 3, lambda t, row: fw.cumsum(row) + t, row), m))  # fmt: skip
    text = f.stages(M).text["fused"]

    assert "while" not in text
    assert "scatter" not in text
