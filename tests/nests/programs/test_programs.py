"""Every nest written by hand gives what it means, on the interpreter and on the CPU."""

import pytest

from tests.nests.programs.all import PROGRAMS, TOPICS
from tests.nests.programs.outcome import outcome
from tests.quick import every


@pytest.mark.parametrize("third", every(3, range(3)))
@pytest.mark.parametrize("topic", TOPICS)
def test_programs_give_what_they_mean(topic, third, target):
    """With values and lengths; none is refused."""
    found = {program.name: outcome(program, target) for program in TOPICS[topic][third::3]}
    wrong = [f"{name}: {x.said}" for name, x in found.items() if x.said]

    assert not wrong, "\n".join(wrong)


def test_names_are_all_different():
    """A name says which program it is."""
    names = [program.name for program in PROGRAMS]

    assert len(set(names)) == len(names) >= 170
