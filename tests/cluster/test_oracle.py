"""Random programs of the public API, in chunks, against NumPy."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import flatweave as fw
from tests.oracle.check import Prepared
from tests.oracle.program import arguments, expected, passed, source_of
from tests.oracle.vocabulary import random_program

SIZES = ((0, 1, 3), (1, 4, 1), (5, 4, 2), (33, 7, 7), (65, 33, 1000))  # n, m, rows of a chunk


def cut(value: Any, rows: int) -> Any:
    """An argument with its arrays in chunks."""
    if isinstance(value, tuple):
        return tuple(cut(part, rows) for part in value)
    return fw.Chunked.cut(value, rows) if isinstance(value, np.ndarray) and value.ndim else value


def whole(value: Any) -> Any:
    """A result with its arrays in one piece."""
    if isinstance(value, tuple | list):
        return tuple(map(whole, value))
    return np.asarray(value) if isinstance(value, fw.Chunked) else value


def check(seeds: range, length: int) -> Counter[str]:
    """Programs of some steps: those that have a rule give what NumPy gives."""
    found = Counter[str]()
    for seed in seeds:
        program = random_program(seed, length)
        prepared = Prepared(program)
        for n, m, rows in SIZES:
            given = arguments(program, n, m, seed)
            try:
                results = prepared.jitted(*(cut(passed(each), rows) for each in given))
            except fw.Unsupported:
                found["without a rule"] += 1
                break
            said = prepared._difference([whole(x) for x in results], expected(program, given))
            assert not said, f"{said}\n{seed}: {n}, {m}, {rows}\n{source_of(program)}"
            found["equal"] += 1
    return found


def test_random_programs_in_chunks() -> None:
    """All of them have a rule."""
    with fw.target("interp"):
        found = check(range(12), 1)

    assert found == {"equal": 12 * len(SIZES)}


@pytest.mark.slow
def test_many_random_programs_in_chunks() -> None:
    """Longer ones, as machine code."""
    found = check(range(1000, 1300), 2)

    assert found["equal"] > 1000
