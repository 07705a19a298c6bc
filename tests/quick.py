"""Which cases of a test `make test` takes; the others are marked slow, for `make test-all`.

    @pytest.mark.parametrize("shape", every(3, SHAPES))     the first, the fourth, ..
"""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


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
        if k % step == 0 or isinstance(value, ParameterSet)  # which has marks of its own
        else pytest.param(value, marks=pytest.mark.slow)
        for k, value in enumerate(values)
    ]
