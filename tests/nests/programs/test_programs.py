"""Every nest written by hand gives what it means, on the interpreter and on the CPU."""

import pytest

from tests.nests.check import REFUSED
from tests.nests.programs.all import PROGRAMS
from tests.nests.programs.outcome import outcome

ALLOW_UNSUPPORTED = True  # while nests are not all compiled: what is refused is no failure


@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_programs_give_what_they_mean(target):
    """Or are refused, as long as that is allowed."""
    refused = [kind.__name__ for kind in REFUSED] if ALLOW_UNSUPPORTED else []
    found = {program.name: outcome(program, target) for program in PROGRAMS}
    wrong = [f"{name}: {x.said}" for name, x in found.items() if x.kind not in ["agree", *refused]]

    assert not wrong, "\n".join(wrong)


def test_names_are_all_different():
    """A name says which program it is."""
    names = [program.name for program in PROGRAMS]

    assert len(set(names)) == len(names) >= 170
