"""Sums of differences of neighbours, and rows between them, mean what NumPy says."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.quick import every
from tests.structure.counted import opened

LENGTHS = (1, 2, 3, 128, 129, 130, 1026)
TYPES = (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64)


def by_slices(p):
    """Differences of neighbours, as most people write them."""
    return p[1:] - p[:-1]


def by_map(p):
    """The same by a function of two."""
    return fw.map(lambda a, b: b - a, p[:-1], p[1:])


def by_index(p):
    """The same at positions."""
    return fw.map(lambda i: p[i + 1] - p[i], fw.iota(p.shape[0] - 1))


def by_generate(p):
    """The same, where the index is added to."""
    return fw.generate(p.shape[0] - 1, lambda i: p[1 + i] - p[i])


DIFFERENCES = (by_slices, by_map, by_index, by_generate)


@pytest.mark.sampled
@pytest.mark.parametrize("differences", DIFFERENCES)
@pytest.mark.parametrize("dtype", every(2, TYPES))
def test_running_sums(differences, dtype, target):
    """Of any values of every width, wrapping ones too; inclusive, exclusive and on the way."""
    bounds = np.iinfo(dtype)
    rng = np.random.default_rng(7)

    @fw.jit
    def f(p):
        d = differences(p)
        return fw.scan(fw.add, 0, d), fw.scan(fw.add, 0, d, exclusive=True), fw.cumsum(d * 2)

    for n in LENGTHS:
        p = rng.integers(bounds.min, bounds.max, n, dtype, endpoint=True)
        d = p[1:] - p[:-1]
        inclusive = np.cumsum(d, dtype=dtype)
        found = [np.asarray(ys) for ys in f(p)]
        assert found[0].dtype == dtype
        assert np.array_equal(found[0], inclusive)
        assert np.array_equal(found[1], inclusive - d)
        assert np.array_equal(found[2], np.cumsum(d * dtype(2), dtype=found[2].dtype))


def test_floats_are_added_up_one_by_one(target):
    """Their sums round: a difference would be another number."""
    p = np.array([0.0, 1e16, 1.0, np.inf, 3.0])

    with np.errstate(invalid="ignore"):
        wanted = np.cumsum(np.diff(p))
    assert np.array_equal(fw.jit(lambda p: fw.cumsum(by_slices(p)))(p), wanted, equal_nan=True)


def offsets_of(random: Random, rows: int, first: int) -> np.ndarray:
    """Offsets of rows, many of them empty and some long, from `first` on."""
    lengths = [random.choice([0, 0, 1, 2, 3, 17, 140]) for _ in range(rows)]
    return first + np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def composed(a, b):
    """x -> a x + b after another: operands that do not commute."""
    return a[0] * b[0], b[0] * a[1] + b[1]


PROGRAMS = {
    "sums": (
        lambda p, v, d: fw.expand_reduce(
            lambda r: r[1], lambda r, k: v[r[0] + k], fw.add, 0.0, (p[:-1], d)
        ),
        lambda rows: [sum(row) for row in rows],
    ),
    "sums of what goes backwards": (
        lambda p, v, d: fw.expand_reduce(
            lambda r: r[1], lambda r, k: v[r[0] + r[1] - 1 - k] * k, fw.add, 0.0, (p[:-1], d)
        ),
        lambda rows: [sum(k * x for k, x in enumerate(row[::-1])) for row in rows],
    ),
    "an operator that does not commute": (
        lambda p, v, d: fw.expand_reduce(
            lambda r: r[1], lambda r, k: (0.5, v[k + r[0]]), composed, (1.0, 0.0), (p[:-1], d)
        )[1],
        lambda rows: [sum(x * 0.5**k for k, x in enumerate(row[::-1])) for row in rows],
    ),
    "each greatest, and where": (
        lambda p, v, d: fw.expand_reduce(
            lambda r: r[1], lambda r, k: (v[r[0] + k], -k), max_of_pairs, (-np.inf, 0), (p[:-1], d)
        ),
        lambda rows: (
            [max(row, default=-np.inf) for row in rows],
            [-int(np.argmax(row)) if len(row) else 0 for row in rows],
        ),
    ),
    "all elements": (
        lambda p, v, d: fw.expand(
            lambda r: r[1], lambda r, k: v[r[0] + k] + r[1], (p[:-1], d)
        ),
        lambda rows: [x + len(row) for row in rows for x in row],
    ),
    "where all elements go": (
        lambda p, v, d: fw.permute(
            fw.add, fw.full(7, 0.0),
            fw.expand(lambda r: r[1], lambda r, k: (r[0] + k) % 7, (p[:-1], d)),
            fw.expand(lambda r: r[1], lambda r, k: v[r[0] + k], (p[:-1], d)),
        ),
        None,
    ),
}  # fmt: skip


def max_of_pairs(a, b):
    """The first of the greatest."""
    ahead = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] > a[1]))
    return fw.where(ahead, b[0], a[0]), fw.where(ahead, b[1], a[1])


@pytest.mark.sampled
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", every(2, [np.int32, np.uint32, np.int64]))
def test_rows_between_offsets(name, dtype, target):
    """From 0 and from the end, in each dtype; no rows, and rows with nothing in them."""
    program, wanted = PROGRAMS[name]
    random = Random(name)
    differences = DIFFERENCES[(list(PROGRAMS).index(name) + dtype(0).itemsize // 4) % 4]
    f = fw.jit(lambda p, v: program(p, v, differences(p)))

    for k, rows in enumerate((0, 1, 2, 3, 40, 129)):
        offsets = offsets_of(random, rows, random.choice([0, 0, 5]))
        values = np.round(np.random.default_rng(k).standard_normal(int(offsets[-1]) + 3), 2)
        found = f(offsets.astype(dtype), values)
        parts = [values[a:z] for a, z in zip(offsets[:-1], offsets[1:], strict=True)]
        if wanted is None:
            places = np.arange(offsets[0], offsets[-1])
            want = np.bincount(places % 7, values[places], minlength=7)
        else:
            want = wanted(parts)
        for ys, zs in zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]:
            np.testing.assert_allclose(np.asarray(ys), zs, rtol=1e-9, atol=1e-9)


def test_differences_that_wrap(target):
    """Sizes of i32 that wrap to what is not negative are sizes, and not those of the offsets."""
    p = np.array([2**31 - 2, -(2**31) + 1, -(2**31) + 3], np.int32)
    sizes = np.array([3, 2])
    f = fw.jit(lambda p: fw.expand_reduce(lambda n: n, lambda n, k: k + 1, fw.add, 0, by_slices(p)))

    assert np.array_equal(f(p), sizes * (sizes + 1) // 2)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32])
def test_rows_of_narrow_offsets_that_wrap(dtype, target):
    """Each row begins at its offset as that is, whatever the sizes add up to."""
    high, v = int(np.iinfo(dtype).max), np.random.default_rng(3).integers(0, 100, 40000) * 1.0
    reads = fw.jit(lambda p, v: PROGRAMS["sums"][0](p, v, by_slices(p)))
    places = fw.jit(
        lambda p: fw.expand_reduce(
            lambda r: r[1], lambda r, k: r[0] + k, fw.add, 0, (p[:-1], by_slices(p))
        )
    )

    for first, sizes in (
        (high - 5, [3, 2, 0]), (high - 5, [3, 2, 1, 4]), (high - 40, [17] * 5), (high, [1]),
        (high - 100, [100, 1]), (high - 7, [8] * 100), (high // 2, [3] * 40), (high // 3, [1, 0]),
    ):  # fmt: skip
        p = (first + np.concatenate([[0], np.cumsum(sizes)])).astype(dtype)
        rows = [int(a) + np.arange(n) for a, n in zip(p[:-1], sizes, strict=True)]
        assert np.asarray(places(p)).tolist() == [row.sum() for row in rows], (first, sizes)
        if high <= len(v):
            assert np.asarray(reads(p, v)).tolist() == [v[row].sum() for row in rows]


@pytest.mark.parametrize("dtype", [np.int32, np.uint16])
def test_narrow_offsets_are_read_one_after_the_other(dtype):
    """As wide ones are: where nothing wrapped, the read is at the sweep's position."""
    p, v = np.arange(5, dtype=dtype), np.ones(4)
    fused = opened(lambda p, v: PROGRAMS["sums"][0](p, v, by_slices(p)), p, v).text["fused"]

    before, branch = fused.rsplit(" = if ", 1)
    position = before.splitlines()[-2].strip()
    assert position.startswith("p_") and " = add p_" in position
    assert f"[{position.partition(':')[0]}] checked=false" in branch.partition("(() =>")[2]


def test_offsets_below_zero(target):
    """Positions below 0 count from the end of the values; rows may go over from there to 0."""
    p, v = np.array([-3, -1, 2]), np.arange(10.0)
    f = fw.jit(lambda p, v: PROGRAMS["sums"][0](p, v, by_slices(p)))

    assert np.asarray(f(p, v)).tolist() == [v[-3] + v[-2], v[-1] + v[0] + v[1]]


def test_a_size_below_zero_is_refused_with_its_value(target):
    """Before anything is read, with the line of the program; wherever it stands."""
    f = fw.jit(lambda p, v: PROGRAMS["sums"][0](p, v, by_slices(p)))

    for at in (1, 2, 500, 999):
        p = np.arange(1000) * 2
        p[at:] -= 5
        with pytest.raises(fw.NegativeExtentError, match="expand_reduce must not be negative"):
            f(p, np.ones(2000))
        with pytest.raises(fw.NegativeExtentError, match="got -3") as caught:
            f(p, np.ones(2000))
        assert "test_telescope.py" in str(caught.value)


def test_sizes_that_add_up_to_too_much_are_refused():
    """Each of them is one that an i64 can count."""
    p = np.array([-(2**63), -(2**62), 2**62 - 1])
    f = fw.jit(
        lambda p: fw.expand_reduce(lambda n: n, lambda n, k: k, fw.add, 0, by_slices(p)),
        target="cpu",
    )

    with pytest.raises(fw.ExtentOverflowError, match="at element 1"):
        f(p)


def test_reads_behind_the_values_are_refused(target):
    """With the index of the first one, as without offsets."""
    f = fw.jit(lambda p, v: PROGRAMS["sums"][0](p, v, by_slices(p)))

    with pytest.raises(fw.IndexOutOfBounds, match="index 7 is outside an array of 7 elements"):
        f(np.array([2, 4, 9]), np.ones(7))


@pytest.mark.parametrize("differences", DIFFERENCES)
def test_no_running_sum_is_left(differences):
    """However the differences are written."""
    p, v = np.arange(5), np.ones(4)
    stages = opened(lambda p, v: PROGRAMS["sums"][0](p, v, differences(p)), p, v)

    assert "prefix" not in stages.text["fused"]


def test_bits_do_not_depend_on_threads(threads):
    """Sizes alone decide how sums are grouped."""
    p = offsets_of(Random(1), 3000, 0)
    v = np.random.default_rng(5).standard_normal(int(p[-1])).astype(np.float32)
    f = fw.jit(lambda p, v: PROGRAMS["sums"][0](p, v, by_slices(p)))
    with config.scoped(threads=1, target="cpu"):
        wanted = np.asarray(f(p, v))

    assert np.array_equal(f(p, v), wanted)
