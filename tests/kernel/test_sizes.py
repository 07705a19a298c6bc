"""Every operation with sizes that fit and that do not: its value, or an error that says why."""

from __future__ import annotations

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.sizes import Case, Refused, cases

PARTS = 2
NAMES = {*fk.__all__, "index", "slice"}


def kernel_of(case: Case):
    """The kernel of a case, each part by a separate block or warp."""

    def units(xs, *data):
        if not case.in_block:
            return case.fn(xs, *data)
        unit = lambda p: case.fn(p, *data)
        if case.level is None:
            return fk.pconcat_map(unit, fk.split_up(case.n, xs))
        return fk.pconcat_map(
            lambda p: fk.pconcat_map(unit, fk.split_up(case.n, p), level=fk.WARP),
            fk.split_up(case.n, xs),
        )

    if case.data is None:
        return fk.kernel(lambda xs: units(xs))
    return fk.kernel(lambda xs, data: units(xs, data))


def wanted(case: Case, xs: np.ndarray) -> list[int] | None:
    """What plain Python gives; nothing where sizes do not fit."""
    parts = xs.reshape(-1, case.n).tolist() if case.in_block else [xs.tolist()]
    try:
        return [x for part in parts for x in case.want(part)]
    except Refused:
        return None


def agree(case: Case, target: str) -> str | None:
    """What is wrong with a case, if anything is."""
    xs = np.arange(case.n * (PARTS if case.in_block else 1), dtype=np.int64) * 5 % 17 + 1
    args = (xs,) if case.data is None else (xs, np.array(case.data))
    want = wanted(case, xs)
    try:
        with fw.target(target):
            found = np.asarray(kernel_of(case)(*args)).tolist()
    except fw.UserError as error:
        if want is not None:
            return f"{case}: refused, wanted {want}: {error}"
        said = str(error).split("\n")[0]
        known = error.where is not None and error.where.is_known
        named = NAMES & set(re.findall(r"\w+", said))
        return None if named and known and re.search(r"\d", said) else f"{case}: says {said}"
    return None if found == want else f"{case}: got {found}, wanted {want}"


def wrong(target: str, count: int, seed: int) -> list[str]:
    """The failures of some cases."""
    return [found for case in cases(count, seed) if (found := agree(case, target)) is not None]


def test_in_the_simulator():
    """Values, or errors that name the operation and a size; nothing else."""
    assert wrong("interp", 220, 0) == []


def test_on_the_cpu():
    """The same in machine code, where a wrong index would be a wrong value or a crash."""
    assert wrong("cpu", 12, 5) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_in_the_simulator(seed):
    """2,000 of them."""
    assert wrong("interp", 200, seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", pytest.param("opencl", marks=pytest.mark.needs_opencl)])
def test_many_in_machine_code(target):
    """As many of each operation as two."""
    assert wrong(target, 220, 11) == []
