"""Which cases of a test `make test` takes; the others are marked slow, for `make test-all`.

    @pytest.mark.sampled                                    the first, and a third of the others

    @pytest.mark.parametrize("shape", every(3, SHAPES))     the first, the fourth, ..

Where values alone are tested (`SAMPLED`), the interpreter runs every case of a test for
all targets, and the cases for other targets are sampled. Tests of `fixes.md` are not.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.compiling import PLAIN
from tests.fixes import named_by_fixes

SHARE = 0.34
# Multiples of the golden ratio, modulo 1, fill any interval evenly and have no period: each value
# of each parameter gets its share of the samples.
GOLDEN = 0.6180339887498949
SAMPLED = PLAIN | {"examples"}
OF_FIXES = frozenset(test for tests in named_by_fixes().values() for test in tests)


def every_case(step: int, cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The same for cases of several parameters."""
    return [
        case if k % step == 0 else pytest.param(*case, marks=pytest.mark.slow)
        for k, case in enumerate(cases)
    ]


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """All values; those between each `step`-th are slow."""
    return [
        value
        if k % step == 0 or isinstance(value, ParameterSet)  # which has separate marks
        else pytest.param(value, marks=pytest.mark.slow)
        for k, value in enumerate(values)
    ]


def not_sampled(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases of sampled tests that `make test` leaves out."""
    count: dict[str, int] = defaultdict(int)
    for item in items:
        test = item.nodeid.partition("[")[0]
        if not _is_sampled(item, test) or item.get_closest_marker("slow") is not None:
            continue
        if count[test] * GOLDEN % 1 >= SHARE:
            yield item
        count[test] += 1


def _is_sampled(item: pytest.Item, test: str) -> bool:
    name = test.removeprefix("tests/")
    if name in OF_FIXES:
        return False
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return item.get_closest_marker("sampled") is not None or (
        name.partition("/")[0] in SAMPLED and given.get("target", "interp") != "interp"
    )
