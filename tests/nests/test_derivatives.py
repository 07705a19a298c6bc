"""Derivatives of random nests: forward, reverse and central differences agree."""

import pytest

from tests.nests.derivatives import first_failure
from tests.nests.program import random_nest
from tests.nests.report import report

NODES = 10  # about as many, at most, in each nest: the command tries larger ones


@pytest.mark.parametrize("group", range(10))
def test_derivatives_of_random_nests(group):
    """On the interpreter, at arguments where no choice is close to another."""
    for seed in range(group, 100, 10):
        failure = first_failure(random_nest(seed, NODES, smooth=True), "interp")

        assert failure is None, report(failure)


SMALL = (103, 109, 110, 117, 126, 132, 147, 148, 154, 179)  # which compile in half a second


@pytest.mark.parametrize("seed", SMALL)
def test_compiled_derivatives_of_random_nests(seed):
    """The same bits for every number of threads, too."""
    failure = first_failure(random_nest(seed, 6, smooth=True), "cpu")

    assert failure is None, report(failure)
