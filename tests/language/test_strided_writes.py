"""Expansions that write in even steps: any step, any destination, any operator."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same

N = 1_200_001
STARTS = np.array([0, 5, N - 1, N - 1, 700_000, -40, N + 9, 123, 600_000, 2**62, -(2**63),
                   2**62])  # fmt: skip
STEPS = np.array([1, 7, -1, -13, 0, 9, -50, 1000, -1, 5, 2**40, 2**62])
SIZES = np.array([N + 5, 5000, 2000, 90_000, 300, 100, 40, 1300, 600_010, 10, 5, 4])


def writes(dest, starts, steps, sizes):
    """Each source writes its number along its steps; some steps leave the destination."""
    def size(x):
        return x[2]

    index = fw.expand(size, lambda x, i: x[0] + x[1] * i, (starts, steps, sizes))
    number = fw.expand(
        size, lambda x, i: (x[3] * 1000 + i).astype(np.int32),
        (starts, steps, sizes, fw.iota(sizes.shape[0])),
    )  # fmt: skip
    return (fw.scatter(dest, index, number),
            fw.permute(lambda a, b: a * 3 + b, dest, index, number, check=False),
            fw.permute(fw.add, dest, index, 1))  # fmt: skip


def expected(dest, starts, steps, sizes):
    """One source after the other, each element in order."""
    last, folded, count = dest.copy(), dest.copy(), dest.copy()
    with np.errstate(over="ignore"):
        for s, (start, step, size) in enumerate(zip(starts, steps, sizes, strict=True)):
            at = start + step * np.arange(size)
            kept = np.flatnonzero((at >= 0) & (at < len(dest)))
            values = (s * 1000 + kept).astype(np.int32)
            if step:
                last[at[kept]] = values
                folded[at[kept]] = folded[at[kept]] * np.int32(3) + values
                count[at[kept]] += 1
                continue
            for value in values:
                last[start], folded[start] = value, folded[start] * np.int32(3) + value
            count[start] += len(kept)
    return last, folded, count


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_steps_of_every_kind(threads):
    """Up, down, in place, from outside, past the end, and so far that an index overflows."""
    dest = np.arange(N, dtype=np.int32)
    with config.scoped(target="cpu", threads=threads):
        found = fw.jit(writes)(dest, STARTS, STEPS, SIZES)
    same(found, expected(dest, STARTS, STEPS, SIZES))


def test_a_tile_at_a_time():
    """A sieve's scatter stores no index, and has the kernel that walks the rows by tiles."""
    def sieve(primes):
        multiples = fw.expand(lambda p: 1_000_000 // p - 1, lambda p, i: p * (i + 2), primes)
        return fw.scatter(fw.full(1_000_001, True), multiples, False)

    with config.scoped(target="cpu"):
        stages = fw.jit(sieve).stages(np.array([2, 3]))
    assert "_strided(" in stages.text["kernel"]
    assert len(stages.manifest) == 2  # the ends of the sources' multiples, and the result
