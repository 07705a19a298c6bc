"""What is folded equals NumPy's values, bit for bit, for every dtype: no rule is for most values.

The oracle is NumPy alone: `interp` runs what the same rules have made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import DTYPES
from tests.laws.folding import Expression, Meaning, casts, expressions, nasty, same_bits


def faults(dtype: Any, ours: list[Expression], numpys: list[Expression], target: str) -> list[int]:
    """Which expressions differ from NumPy on all pairs of nasty values."""
    some = nasty(dtype)
    v, w = np.repeat(some, len(some)), np.tile(some, len(some))

    def every(v: Any, w: Any) -> Any:
        return fw.map(lambda a, b: tuple(e(a, b) for e in ours), v, w)

    with np.errstate(all="ignore"):
        found = fw.jit(every, target=target)(v, w)
        return [
            k for k, (values, e) in enumerate(zip(found, numpys, strict=True))
            if not same_bits(values, e(v, w))
        ]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_folding_a_program_as_it_is_traced_keeps_its_values(dtype):
    """Every operator and law with constants on either side, and every conversion."""
    ours, numpys = (
        [*expressions(dtype, names), *casts(dtype, names, DTYPES)] for names in (fw, Meaning)
    )

    assert faults(dtype, ours, numpys, "interp") == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_folding_in_the_passes_keeps_values(dtype):
    """They know more of what they fold: the program is run after them, by NumPy."""
    ours, numpys = (expressions(dtype, names)[::3] for names in (fw, Meaning))

    with config.scoped(stop_after="dce"):
        assert faults(dtype, ours, numpys, "cpu") == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_machine_code_has_the_values_of_what_was_folded(dtype):
    """A part of the expressions: machine code takes long to make."""
    part = slice(DTYPES.index(dtype), None, 59)
    ours, numpys = (expressions(dtype, names)[part] for names in (fw, Meaning))

    assert faults(dtype, ours, numpys, "cpu") == []


def test_the_quotient_of_a_remainder_is_a_number_of_its_dtype(target):
    """Not the i64 0, and NaN for what has no remainder."""
    xs = np.array([np.nan, np.inf, 1.5], np.float32)

    found = fw.jit(lambda v: fw.map(lambda x: (x % 3) // 3, v), target=target)(xs)

    assert same_bits(found, np.array([np.nan, np.nan, 0], np.float32))


INDICES = np.arange(5)
INDEX_LAWS = [
    lambda i, n, c: (i * c + n % c) // c,
    lambda i, n, c: (i * n + c % n) // n,
    lambda i, n, c: (i * n + c % n) % n,
    lambda i, n, c: (i // c) * c + i % c,
    lambda i, n, c: i + c > i,
    lambda i, n, c: i + c >= 0,
    lambda i, n, c: n + c > i,
    lambda i, n, c: n - c > i,
    lambda i, n, c: n + c > n,
    lambda i, n, c: (i + c) - (n + c),
    lambda i, n, c: abs(n - (i + c)),
    lambda i, n, c: abs(c - (c - i)),
    lambda i, n, c: (i + c) % n,
    lambda i, n, c: (i + c) // n,
]


@pytest.mark.parametrize("stage", ["traced", "fused", "machine"])
def test_indices_wrap_as_other_integers_do(stage):
    """An index is below its extent, which says nothing of its sum with a user's number."""
    numbers = nasty(np.int64)[:: 4 if stage == "machine" else 1]
    laws = [lambda i, n, c=c, law=law: law(i, n, c) for law in INDEX_LAWS for c in numbers]

    def every(xs: Any, cs: Any) -> Any:
        n = xs.shape[0]
        space = n, len(numbers)
        rows = fw.generate(space, lambda i, k: tuple(f(i, n, cs[k]) for f in INDEX_LAWS))
        return fw.generate(n, lambda i: tuple(law(i, n) for law in laws)), rows

    with config.scoped(stop_after="dce" if stage == "fused" else None):
        found, tables = fw.jit(every, target="interp" if stage == "traced" else "cpu")(
            np.zeros(5), numbers
        )
    with np.errstate(all="ignore"):
        wanted = [np.broadcast_to(law(INDICES, np.int64(5)), 5) for law in laws]
    assert [np.asarray(x).tolist() for x in found] == [x.tolist() for x in wanted]
    stacked = np.stack(wanted).reshape(len(INDEX_LAWS), len(numbers), 5)
    assert [np.asarray(x).tolist() for x in tables] == np.moveaxis(stacked, 1, 2).tolist()


def test_a_position_in_a_space_that_fits_is_taken_apart_for_nothing():
    """Where nothing can wrap, the rule holds, and the division is gone."""
    f = fw.jit(lambda xs: fw.generate(xs.shape, lambda i, j: (i * xs.shape[1] + j) // xs.shape[1]))

    assert "floordiv" not in f.stages(np.zeros((3, 4))).text["fused"]


def test_a_remainder_by_the_extent_of_an_empty_array_is_no_index_into_it(target):
    """Of 0 it is 0, which is not below 0."""
    f = fw.jit(lambda xs, ys: fw.map(lambda y: xs[y % xs.shape[0]], ys), target=target)

    with pytest.raises(fw.IndexOutOfBounds, match="index 0 is outside an array of no elements"):
        f(np.zeros(0), np.arange(5))


def test_extents_are_compared_before_one_stands_for_the_other(target):
    """The sum goes over the longer extent otherwise."""
    f = fw.jit(lambda xs, ys: (fw.sum(ys), fw.map(lambda x, y: x + y, xs, ys)), target=target)

    with pytest.raises(fw.ShapeError, match="got 100000 and 1"):
        f(np.zeros(100_000), np.ones(1))


ODD = 0x5555555555555555  # three times this is -1


def test_a_product_that_wraps_is_not_taken_for_natural(target):
    """As the start of a slice, as a length and as the first number of a loop it may be below 0."""
    xs = np.arange(3.0)

    @fw.jit(target=target)
    def starts(xs: Any) -> Any:
        first = xs.shape[0] * ODD
        return xs[first:], fw.fori_loop(first, 2, lambda i, s: s + xs[i], 0.0)

    found, total = starts(xs)
    assert np.asarray(found).tolist() == [2.0]
    assert float(total) == 2.0 + 0.0 + 1.0
    with pytest.raises(fw.NegativeExtentError, match="-1"):
        fw.jit(lambda xs: fw.iota(xs.shape[0] * ODD), target=target)(xs)


BOUNDS = [None, 0, 1, -1, 2, -5, 2**62, 2**63 - 1, -(2**62), -(2**63)]
STEPS = [1, -1, 2, -2, 2**63 - 1, -(2**63 - 1), -(2**63)]


def test_slices_have_pythons_bounds_however_far_they_are(target):
    """Constants and numbers known at run time."""
    xs = np.arange(4)
    bounds = [(a, b) for a in BOUNDS for b in BOUNDS]

    def every(xs: Any, numbers: Any) -> Any:
        given = {b: numbers[k] for k, b in enumerate(BOUNDS) if b is not None}
        given |= {None: None}
        return [xs[given[a] : given[b] : s] for a, b in bounds[::3] for s in STEPS]

    constant = [xs[a:b:s] for a, b in bounds[::3] for s in STEPS]
    numbers = np.array([b or 0 for b in BOUNDS])
    found = fw.jit(every, target="interp")(xs, numbers)
    assert [np.asarray(x).tolist() for x in found] == [x.tolist() for x in constant]

    f = fw.jit(lambda xs, a, b, s: xs[a:b:s], target=target)
    for a, b in bounds[::7]:
        for s in STEPS:
            wanted = xs[0 if a is None else a : 9 if b is None else b : s]
            found = f(xs, 0 if a is None else a, 9 if b is None else b, s)
            assert np.asarray(found).tolist() == wanted.tolist(), (a, b, s)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_nan_keeps_its_sign(dtype, target):
    """Two constants that differ in it alone are two."""
    plus, minus = (np.copysign(dtype(np.nan), dtype(sign)) for sign in (1, -1))
    f = fw.jit(
        lambda v: fw.map(lambda x: (fw.copysign(x, plus), fw.copysign(x, minus)), v), target=target
    )

    positive, negative = f(np.array([2, -3], dtype))
    chosen = fw.jit(lambda: (fw.full(2, minus), fw.full(2, -minus)), target=target)()

    assert np.asarray(positive).tolist() == [2, 3]
    assert np.asarray(negative).tolist() == [-2, -3]
    assert [np.signbit(x).tolist() for x in chosen] == [[True, True], [False, False]]
