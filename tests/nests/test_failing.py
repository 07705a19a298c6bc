"""Nests of which some rows fail: the error names one that does, and others raise nothing."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.nests.check import THREADS, difference
from tests.nests.failing import AROUND, DRAWS, WORK, random_failing
from tests.nests.program import draw, expected, function_of, passed, source_of
from tests.quick import every

NESTS = 16
GROUPS = 4
ROW = re.compile(r"\(first found at element (\d+)\)|at row (\d+)")
RAISED = (fw.IndexOutOfBounds, fw.NegativeExtentError, fw.ShapeError)


def wrong(made, given, jitted, threads):
    """What is wrong with a call; "" if nothing is."""
    failing = made.failing(given)
    try:
        with config.scoped(threads=threads), np.errstate(all="ignore"):
            found = jitted(*passed(made.nest, given))
    except RAISED as error:
        said = str(error).splitlines()[0]
        named = ROW.search(said)
        if named is None:  # what is the same for all rows is done once, also without any
            everywhere = len(failing) == len(given.values[0]) or made.around == "elements"
            return "" if everywhere else f"names no row: {said}"
        if not failing:
            return f"raised without need: {said}"
        row = int(named[1] or named[2])
        # of a loop the first iteration that fails is reported, in others the first row
        first = row == failing[0] or (made.around == "loop" and row in failing)
        return "" if first else f"names row {row} of {failing}: {said}"
    if failing:
        return f"rows {failing} should have failed"
    return difference(made.nest, found, expected(made.nest, given))


def check(seeds, target, counts):
    for seed in seeds:
        made = random_failing(seed)
        jitted = fw.jit(function_of(made.nest), target=target)
        for k in range(DRAWS):
            given = draw(made.nest, k)
            said = wrong(made, given, jitted, counts[k % len(counts)])

            assert not said, f"seed {seed}, draw {k}, {given}\n{source_of(made.nest)}\n{said}"


@pytest.mark.sampled
@pytest.mark.parametrize("group", every(2, range(GROUPS)))
def test_nests_that_fail_on_the_cpu(group):
    """As plain Python fails, for any number of threads."""
    check(range(group, NESTS, GROUPS), "cpu", THREADS)


def test_nests_that_fail_on_the_interpreter():
    """The reference meaning."""
    check(range(NESTS, NESTS + 8), "interp", (1,))


@pytest.mark.parametrize("group", every(2, range(2)))
def test_nests_that_fail_by_row(group):
    """Rows in order."""
    with fw.schedule(version="by-row"):
        check(range(2 * NESTS + group, 2 * NESTS + 4, 2), "cpu", (1, 3))


def test_all_kinds_turn_up():
    """Each kind of work, and enough rows that fail."""
    made = [random_failing(seed) for seed in range(NESTS)]
    rows = [failing for each in made for k in range(DRAWS)
            if (failing := each.failing(draw(each.nest, k)))]  # fmt: skip

    assert {each.around for each in made} == set(AROUND)
    assert len(WORK) == 4
    assert len(rows) > NESTS
    assert sum(failing[0] > 0 for failing in rows) > NESTS // 4
