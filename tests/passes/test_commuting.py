"""Operators that compare and choose: whether their operands commute is found by trying them."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.dtypes import bool_, f64, i64
from flatweave.passes.operators import (
    chooses_by_place,
    extreme_beside,
    extreme_neutral,
    is_commutative,
)
from flatweave.terms.build import Builder


def greatest(b, v, i, w, j, *, ties, nans):
    """The greater value and its index; of `ties` the first index, and of `nans`, too."""
    second = b.apply("gt", w, v)
    before = b.apply("lt", j, i)
    if ties:
        second = b.apply("or", second, b.apply("and", b.apply("eq", w, v), before))
    if nans:
        sooner = b.apply("or", b.apply("eq", v, v), before)
        second = b.apply("or", second, b.apply("and", b.apply("isnan", w), sooner))
    return b.apply("select", second, w, v), b.apply("select", second, j, i)


def first_there(b, there, x, also, y):
    """The first value that is there."""
    return b.apply("or", there, also), b.apply("select", there, x, y)


def longer(b, x, y):
    """The longer of two lengths, found by a sum: more than a comparison."""
    twice = b.add(x, x)
    return (b.apply("select", b.apply("gt", twice, b.add(y, y)), x, y),)


def by_range(b, low, high, other, top):
    """The range that holds both, each end chosen."""
    below, above = b.apply("lt", low, other), b.apply("gt", high, top)
    return b.apply("select", below, low, other), b.apply("select", above, high, top)


def above_zero(b, x, y):
    """The first value above a constant."""
    return (b.apply("select", b.apply("gt", x, b.cast(Builder().param("k", i64), i64)), x, y),)


@pytest.mark.parametrize(
    ("types", "operator", "commutes"),
    [
        ([i64, i64], lambda *a: greatest(*a, ties=True, nans=False), True),
        ([i64, i64], lambda *a: greatest(*a, ties=False, nans=False), False),
        ([f64, i64], lambda *a: greatest(*a, ties=True, nans=True), True),
        ([f64, i64], lambda *a: greatest(*a, ties=True, nans=False), False),
        ([f64, i64], lambda *a: greatest(*a, ties=False, nans=True), False),
        ([i64, i64], by_range, True),
        ([f64, f64], by_range, False),
        ([bool_, i64], first_there, False),
        ([i64], longer, False),
        ([i64], above_zero, False),
    ],
)
def test_operators_that_choose(types, operator, commutes):
    """Commuting ones differ from those whose first operand wins; others are not tried."""
    made = Builder().function([*types, *types], lambda b, *params: operator(b, *params))

    assert is_commutative(made) is commutes


def reads_place(b, v, i, w, j):
    """The greater value or the smaller index: the index is read, not only compared."""
    second = b.apply("or", b.apply("gt", w, v), b.apply("gt", j, v))
    return b.apply("select", second, w, v), b.apply("select", second, j, i)


LEAST = "minimum"


@pytest.mark.parametrize(
    ("types", "operator", "place", "neutral"),
    [
        ([i64, i64], lambda *a: greatest(*a, ties=True, nans=False), LEAST, (-(2**63), 2**63 - 1)),
        ([f64, i64], lambda *a: greatest(*a, ties=True, nans=True), LEAST, (-np.inf, 2**63 - 1)),
        ([f64, i64], lambda *a: greatest(*a, ties=True, nans=False), None, ()),
        ([i64, i64], lambda *a: greatest(*a, ties=False, nans=False), None, ()),
        ([i64, i64], by_range, None, (2**63 - 1, -(2**63))),
        ([i64, i64], reads_place, None, (-(2**63), -(2**63))),
        ([bool_, i64], first_there, None, ()),
        ([i64, i64], lambda b, *a: (b.add(a[0], a[2]), b.add(a[1], a[3])), None, ()),
    ],
)
def test_places_and_neutral_elements_are_found_by_trying(types, operator, place, neutral):
    """A component that is only compared is an index; a neutral extreme changes nothing."""
    made = Builder().function([*types, *types], lambda b, *params: operator(b, *params))

    assert chooses_by_place(made, 1) == place
    assert not place or extreme_beside(made, 1) == "maximum"
    assert tuple(each.value for each in extreme_neutral(made)) == neutral


def test_lanes_fold_by_themselves_where_the_place_of_the_greatest_is_sought():
    """The plan says so, and the index is the first one."""
    place = fw.jit(lambda x: fw.argmax(x))
    xs = np.array([1.0, 3.0, np.nan, 3.0, np.nan] * 211)

    assert place(xs) == 2
    assert "hows=lanewise" in place.stages(xs).text["plan"]
