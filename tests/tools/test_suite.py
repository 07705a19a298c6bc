"""What the suite says of itself: which cases `make test` takes, and what they cost."""

from types import SimpleNamespace

import pytest

from tests.costs import EACH, table
from tests.quick import GOLDEN, SHARE, not_sampled


def cases(test, marks=("sampled",), **parameters):
    """The items of a test of one parameter: its position in pytest's list, and its name."""
    ((name, values),) = parameters.items()
    return [
        SimpleNamespace(
            nodeid=f"tests/{test}[{k}]", callspec=SimpleNamespace(params={name: value}),
            get_closest_marker=lambda mark: mark in marks or None,
        )
        for k, value in enumerate(values)
    ]  # fmt: skip


def taken(items):
    """The numbers of the cases that `make test` runs."""
    left_out = [id(item) for item in not_sampled(items)]
    return [k for k, item in enumerate(items) if id(item) not in left_out]


def test_a_third_is_taken_and_the_first():
    """However many there are."""
    assert taken(cases("lower/test_a.py::test_b", k=range(1))) == [0]
    assert taken(cases("lower/test_a.py::test_b", k=range(9))) == [0, 2, 5, 7]
    assert len(taken(cases("lower/test_a.py::test_b", k=range(1000)))) == 340


@pytest.mark.parametrize("period", range(2, 12))
def test_each_value_of_a_parameter_has_its_share(period):
    """Cases come in periods, where parameters are combined."""
    for first in range(period):
        among = [k for k in range(first, 100 * period, period) if k * GOLDEN % 1 < SHARE]

        assert 25 < len(among) < 45


def test_what_the_interpreter_runs_is_compiled_for_some():
    """In folders where values are tested."""
    values = cases("language/test_a.py::test_b", marks=(), target=["interp", "cpu"] * 6)
    code = cases("lower/test_a.py::test_b", marks=(), target=["interp", "cpu"] * 6)

    assert taken(values) == [0, 1, 2, 4, 5, 6, 8, 10, 11]
    assert taken(code) == list(range(12))


def test_tests_of_fixes_and_slow_ones_are_not_sampled():
    """The first run all of their cases."""
    fix = cases("language/test_masks.py::test_single_bools", marks=(), target=["cpu"] * 5)
    slow = cases("lower/test_a.py::test_b", marks=("sampled", "slow"), k=range(5))

    assert taken(fix) == taken(slow) == list(range(5))


def test_costs_are_added_up():
    """What is above the budget of one test is named, and the tests with all of their cases."""
    lines = table({"a.py::test[1]": EACH + 1, "a.py::test[2]": 1.0, "b.py::other": 2.0})

    assert lines[0].startswith("CPU seconds: 8 for 3 tests")
    assert lines[2].split() == ["5.0", "a.py::test[1]"]
    assert [line.split() for line in lines[-2:]] == [
        ["6.0", "2", "cases", "a.py::test"], ["2.0", "1", "cases", "b.py::other"],
    ]  # fmt: skip
