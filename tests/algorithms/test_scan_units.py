"""One element for each thread, scanned: what a Python loop gives, on every machine."""

import numpy as np
import pytest

from flatweave.algorithms.block_scans import scan_units
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.hierarchy import THREAD, WARP, Pull, for_all, part, store_each
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var
from tests.algorithms.programs import AFFINE, zipped
from tests.kernel_ir.machines import (
    ALL_SHAPES,
    CPU_SHAPES,
    OPENCL_SHAPES,
    OnOpenCl,
    distributed,
    on_cpu,
    simulated,
)
from tests.kernel_ir.staged import staged

ROWS, LENGTH = 5, 24
TYPES = (i64, i64)
FACTORS, SUMMANDS = np.random.default_rng(2).integers(-2, 4, (2, ROWS * LENGTH))


def of_a_block(b: Builder, n: Atom, xs: list[Pull], ys: list[Var]) -> None:
    """All of them, by as many threads, in rows."""
    pairs = part(zipped(*xs), index(0), ROWS * LENGTH)
    _store(b, scan_units(b, AFFINE, pairs, LENGTH), ys, index(0))


def of_warps(b: Builder, n: Atom, xs: list[Pull], ys: list[Var]) -> None:
    """Each row by a warp, in its own memory."""

    def row(c: Builder, w: Atom) -> None:
        first = c.mul(w, index(LENGTH))
        _store(c, scan_units(c, AFFINE, part(zipped(*xs), first, LENGTH)), ys, first)

    for_all(b, WARP, ROWS, row)


def _store(b: Builder, array: Pull, ys: list[Var], first: Atom) -> None:
    """All elements, by as many threads."""
    for_all(
        b, THREAD, array.extent,
        lambda c, i: store_each(c, ys, c.add(first, i), array.at(c, i)),
    )  # fmt: skip


def prefixes() -> list[list[int]]:
    """Factors and summands of the prefixes of each row."""
    found = []
    for row in range(ROWS):
        m, c = 1, 0
        for k in range(row * LENGTH, (row + 1) * LENGTH):
            m, c = m * int(FACTORS[k]), c * int(FACTORS[k]) + int(SUMMANDS[k])
            found.append((m, c))
    wrapped = np.array([[x % 2**64 for x in pair] for pair in found], np.uint64).astype(np.int64)
    return wrapped.T.tolist()


ARGUMENTS = [ROWS * LENGTH, ROWS * LENGTH, FACTORS, SUMMANDS]


@pytest.mark.parametrize("write", [of_a_block, of_warps])
def test_the_simulator_and_machine_code(write):
    """No races and no barrier too few, as written and as each machine gets it."""
    unit = staged(write, TYPES, TYPES)
    for made in (unit, *(distributed(unit, shape) for shape in ALL_SHAPES)):
        assert [x.tolist() for x in simulated(made, ARGUMENTS)] == prefixes()
    for shape in CPU_SHAPES:
        found = on_cpu(unit, shape, ARGUMENTS, [(i64, ROWS * LENGTH)] * 2)
        assert [x.tolist() for x in found] == prefixes()


@pytest.mark.needs_opencl
@pytest.mark.parametrize("write", [of_a_block, of_warps])
def test_opencl(write):
    """A barrier of a warp is one of the block there: warps without a row come, too."""
    program = OnOpenCl(staged(write, TYPES, TYPES), OPENCL_SHAPES[1], TYPES)
    found = program.run(ARGUMENTS, [ROWS * LENGTH] * 2)

    assert [x.tolist() for x in found] == prefixes()
