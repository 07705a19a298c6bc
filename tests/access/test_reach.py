"""How many elements at the ends of rows have separate loops: as far as the body tests."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.lower.schedule.arrangement import find_reach
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.ops import Sweep
from flatweave.terms.traverse import walk_lets


def reach(fn):
    """Of the last sweep over an array of 9."""
    program = fw.jit(fn).stages(np.arange(9.0)).executable.program
    facts = [SweepFacts(let.op) for let in walk_lets(program.fn) if isinstance(let.op, Sweep)]
    return find_reach(facts[-1].op, facts[-1].known)


@pytest.mark.parametrize(
    ("fn", "wanted"),
    [
        (lambda xs: xs[1:] - xs[:-1], 0),
        (lambda xs: fw.where(xs[1:] > 2, xs[:-1], 0), 0),
        (lambda xs: fw.stencil(lambda n: n[-1] + n[1], xs, 3), 1),
        (lambda xs: fw.stencil(lambda n: n[-2] + n[1], xs, 5, "mirror"), 2),
        (lambda xs: fw.stencil(lambda n: n[-2] + n[1], xs, 5, "wrap"), 2),
        (lambda xs: fw.generate(9, lambda i: xs[fw.minimum(3 + i, 8)]), 3),
        (lambda xs: fw.generate(9, lambda i: xs[fw.maximum(i - 70, 0)]), 0),
    ],
)  # fmt: skip
def test_ends_are_as_long_as_what_is_tested_there(fn, wanted):
    """Tests of other values, and reads that are inside, need no ends."""
    assert reach(fn) == wanted
