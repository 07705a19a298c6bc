"""Control inside element functions runs on all elements, each in its own way."""

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.ops import Filter, Fold, Index, Map
from flatweave.terms.build import index
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType
from tests.array_ir.programs import affine_operator, evaluate, function, one_op

ZERO = index(0)
ONE = index(1)


def test_if_runs_each_body_on_its_elements_only():
    """A bad read in the body that an element did not choose does no harm."""

    def write(b, x, at):
        def body(c, i):
            inside = c.apply("lt", i, x.type.shape[0])
            then = c.function([], lambda d: d.emit(Index(x, (i,))))
            other = c.function([], lambda d: [index(-1)])
            return c.emit(If(inside, then, other))

        return b.emit(Map(b.function([i64], body), (at,)))

    (ys,) = evaluate(write, np.array([5, 6]), np.array([1, 7, 0, 2]))

    np.testing.assert_array_equal(ys, [6, -1, 5, -1])


def test_while_lets_each_element_finish_in_its_own_time():
    """The steps of the Collatz sequence, for all numbers at once."""

    def collatz(b, x):
        def turn(c, v, steps):
            odd = c.apply("eq", c.apply("mod", v, index(2)), ONE)
            grown = c.add(c.mul(v, index(3)), ONE)
            halved = c.apply("floordiv", v, index(2))
            return c.apply("select", odd, grown, halved), c.add(steps, ONE)

        holds = b.function([i64, i64], lambda c, v, steps: [c.apply("gt", v, ONE)])
        return b.emit(While(holds, b.function([i64, i64], turn), (x, ZERO)))[1:]

    def steps(v):
        count = 0
        while v > 1:
            v, count = (3 * v + 1 if v % 2 else v // 2), count + 1
        return count

    xs = np.arange(1, 30)
    (ys,) = one_op(lambda x: Map(function([i64], collatz), (x,)), xs)

    np.testing.assert_array_equal(ys, [steps(v) for v in xs])


@pytest.mark.parametrize("own_range", [False, True])
def test_for_runs_from_lo_below_hi(own_range):
    """One range for all elements, or a range of each element's own."""

    def total(b, n):
        hi = n if own_range else index(5)
        add = b.function([i64, i64], lambda c, i, s: [c.add(s, i)])
        return b.emit(For(ONE, hi, index(2), add, (ZERO,)))

    xs = np.array([0, 1, 2, 7, 4])
    (ys,) = one_op(lambda x: Map(function([i64], total), (x,)), xs)
    expected = [sum(range(1, n if own_range else 5, 2)) for n in xs]

    np.testing.assert_array_equal(ys, expected)


def test_arrays_in_loop_state_may_change_their_extent():
    """A loop that filters until nothing is left counts its iterations."""

    def write(b, x):
        def turn(c, turns, n, xs):
            keep = c.function([i64], lambda d, v: [d.apply("gt", v, turns)])
            count, kept = c.emit(Filter(c.emit(Map(keep, (xs,)))[0], (xs,)))
            return c.add(turns, ONE), count, kept

        def types(c):
            turns, n = c.var("turns", i64), c.var("n", i64)
            return turns, n, c.var("xs", ArrayType(i64, (n,)))

        inside, test = b.inner(), b.inner()
        params, seen = types(inside), types(test)
        body = inside.close(params, turn(inside, *params))
        condition = test.close(seen, [test.apply("gt", seen[1], ZERO)])
        return b.emit(While(condition, body, (ZERO, x.type.shape[0], x)))

    turns, n, rest = evaluate(write, np.array([3, 1, 2, 3]))

    assert (turns, n, len(rest)) == (4, 0, 0)


@pytest.mark.parametrize("extents", [[0, 1, 2, 5, 3], [4, 4, 4], []])
def test_fold_reduces_inside_an_element(extents):
    """A reduction of values computed on the fly, with an extent of each element's own."""

    def total(b, n):
        body = b.function([i64], lambda c, i: [ONE, c.add(i, n)])
        return b.emit(Fold(n, body, affine_operator(i64), (ONE, ZERO)))

    (_, ys) = one_op(
        lambda x: Map(function([i64], total), (x,)), np.array(extents, np.int64)
    )

    np.testing.assert_array_equal(ys, [sum(i + n for i in range(n)) for n in extents])


def test_fold_operators_may_read_the_element():
    """An operator inside an element function may depend on the element."""

    def total(b, n):
        body = b.function([i64], lambda c, i: [i])
        fn = b.function([i64, i64], lambda c, x, y: [c.apply("minimum", c.add(x, y), n)])
        return b.emit(Fold(index(6), body, fn, (ZERO,)))

    (ys,) = one_op(lambda x: Map(function([i64], total), (x,)), np.array([3, 100]))

    np.testing.assert_array_equal(ys, [3, 15])
