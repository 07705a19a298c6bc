"""Tests of indices that are decided while a program is built, by the facts known by then."""

import pytest

from flatweave.base.dtypes import bool_, i64
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import ArrayType, Const, Var

YES, NO = Const(True, bool_), Const(False, bool_)


@pytest.fixture
def body():
    """A body of a program over xs: f32[n], ys: f32[m]."""
    b = Builder()
    n, m = Var("n", i64), Var("m", i64)
    for extent in (n, m):
        b.bind(extent, None)
        b.bind(Var("xs", ArrayType(i64, (extent,))), None)
    return b, n, m


def test_what_is_asked_again_is_answered_by_what_is_known_then(body):
    """In the body itself, and in one inside of it."""
    b, n, _ = body
    i = b.var("i", i64)
    b.bind(i, None)
    inside = b.inner()

    assert not b.is_below(i, n)
    b.assume_inside(i, n, 1)
    assert b.is_below(b.add(i, index(1)), n)
    assert inside.is_below(b.sub(i, index(1)), n)


def test_lengths_are_counts_that_can_be_added(body):
    """Of arguments; of other numbers nothing is known."""
    b, n, m = body
    k = b.var("k", i64)
    b.bind(k, None)

    assert b.apply("ge", b.add(n, m), index(0)) == YES
    assert b.apply("maximum", n, index(0)) == n
    assert b.apply("lt", b.add(n, index(1)), n) == NO
    for found in (b.apply("ge", b.add(n, k), index(0)), b.apply("lt", b.add(k, index(1)), k)):
        assert isinstance(found, Var)


def test_a_condition_settles_others_inside(body):
    """Where it holds, and not around."""
    b, n, m = body
    inside = b.inner()
    inside.assume_condition(b.apply("lt", n, m), True)

    assert inside.apply("le", b.add(n, index(1)), m) == YES
    assert b.apply("gt", m, n) != YES
