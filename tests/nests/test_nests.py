"""Random nests give what plain Python gives: on the CPU and on the interpreter."""

import pytest

from tests.nests.check import THREADS, first_failure
from tests.nests.program import random_nest
from tests.nests.report import report
from tests.quick import every

NESTS = 20
GROUPS = 10
NODES = 14  # about as many, at most, in each nest: `make test-all` has larger ones


@pytest.mark.parametrize("group", every(3, range(GROUPS)))
def test_random_nests_on_the_cpu(group):
    """On rows of many lengths, none among them, for any number of threads."""
    for seed in range(group, NESTS, GROUPS):
        failure = first_failure(random_nest(seed, NODES), "cpu", THREADS)

        assert failure is None, report(failure)


@pytest.mark.parametrize("group", range(4))
def test_random_nests_on_the_interpreter(group):
    """The reference meaning, operation by operation."""
    for seed in range(NESTS + group, NESTS + 40, 4):
        failure = first_failure(random_nest(seed, NODES), "interp", (1,))

        assert failure is None, report(failure)
