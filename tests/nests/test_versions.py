"""Nests by row give what flat ones give: written by hand, and at random."""

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
