"""Nests by row give what flat ones give: written by hand, and at random."""

import numpy as np
import pytest

import flatweave as fw
from tests.nests.check import first_failure
from tests.nests.program import random_nest
from tests.nests.programs.all import TOPICS
from tests.nests.programs.outcome import outcome
from tests.nests.report import report
from tests.quick import every

BY_ROW = ("loops", "choices", "lengths")
FIRST = 5000
NESTS = 36
GROUPS = 6


@pytest.mark.parametrize("third", every(3, range(3)))
@pytest.mark.parametrize("topic", every(3, BY_ROW))
def test_programs_by_row(topic, third):
    """Loops, branches and sorts; those without a version by row are run as they are."""
    with fw.schedule(version="by-row"):
        found = {program.name: outcome(program, "cpu") for program in TOPICS[topic][third::3]}
    wrong = [f"{name}: {x.said}" for name, x in found.items() if x.said]

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("group", every(3, range(GROUPS)))
def test_random_nests_by_row(group):
    """On one thread and on three."""
    with fw.schedule(version="by-row"):
        for seed in range(FIRST + group, FIRST + NESTS, GROUPS):
            failure = first_failure(random_nest(seed, 14), "cpu", (1, 3))

            assert failure is None, report(failure)


def sieved(row):
    """Every number that no earlier one of the row divides, the row's number of rounds with it."""
    def round_of(state):
        left, found, rounds = state
        first = left[0]
        others = fw.filter(lambda x: x % first != 0, left)
        return others, found + first, rounds + 1

    left, found, rounds = fw.while_loop(lambda s: s[0].shape[0] > 1, round_of, (row, 0, 0))
    return left, found, rounds


@pytest.mark.parametrize("version", ["by-row", "flat"])
def test_rows_that_a_loop_makes_shorter(version):
    """Each row has at most the length that it begins with, so there is room for it."""
    lengths = [0, 1, 9, 2, 40, 0, 17]
    rows = [np.arange(2, 2 + n) for n in lengths]
    with fw.schedule(version=version):
        f = fw.jit(lambda r: fw.map(sieved, r))
        left, found, rounds = f(fw.ragged(rows))
        text = f.stages(fw.ragged(rows)).text["flat"]

    for row, *one in zip(rows, left, found, rounds, strict=True):
        kept, total, turns = list(row), 0, 0
        while len(kept) > 1:
            kept, total, turns = [x for x in kept[1:] if x % kept[0]], total + kept[0], turns + 1
        assert (one[0].tolist(), int(one[1]), int(one[2])) == (kept, total, turns)
    assert "by_row" in text


def test_rows_that_a_loop_makes_longer():
    """There is no room for them before they are computed, so all rows grow at once."""
    def grown(row):
        doubled = lambda s: (fw.concat([s[0], s[0]]), s[1] + 1)
        return fw.while_loop(lambda s: s[1] < row[0], doubled, (row, 0))[0]

    f, rows = fw.jit(lambda r: fw.map(grown, r)), fw.ragged([[1, 5], [0, 2, 3], [3]])

    assert f(rows).tolist() == [[1, 5] * 2, [0, 2, 3], [3] * 8]
    assert "by_row" not in f.stages(rows).text["flat"]
