"""The reference meaning of every operation, against NumPy and plain loops."""

import numpy as np
import pytest

from flatweave.array_ir.interp import run
from flatweave.array_ir.syntax import Fault
from flatweave.base.dtypes import bool_, f32, i32, i64
from flatweave.base.errors import CompilerBug
from flatweave.ops import (
    Check,
    Concat,
    Empty,
    Filter,
    Generate,
    Index,
    Map,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Scatter,
)
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import ArrayType, constant
from tests.array_ir.programs import (
    affine_loop,
    affine_operator,
    evaluate,
    function,
    last_operator,
    numbers,
    one_op,
    program_of,
)

SIZES = [0, 1, 2, 3, 7, 8, 33]
ADD = lambda_of("add", i64)
ZERO = index(0)
ONE = index(1)


@pytest.mark.parametrize("n", SIZES)
def test_map_runs_on_every_element(n):
    """zs[i] = fn(xs[i], ys[i])."""
    xs, ys = numbers(n), numbers(n) + 1
    (zs,) = one_op(lambda x, y: Map(lambda_of("mul", i64), (x, y)), xs, ys)

    np.testing.assert_array_equal(zs, xs * ys)


def test_map_below_several_axes():
    """With depth 2 an element of a matrix is a scalar."""
    xs = np.arange(6).reshape(2, 3)
    double = function([i64], lambda b, x: [b.add(x, x)])
    (ys,) = one_op(lambda x: Map(double, (x,), 2), xs)

    np.testing.assert_array_equal(ys, 2 * xs)


def test_maps_nest():
    """A map whose elements are rows may reduce, scan and map them."""
    xs = np.arange(12).reshape(4, 3)

    def write(b, rows):
        def body(c, row):
            (total,) = c.emit(Reduce(ADD, (ZERO,), (row,)))
            plus = c.function([i64], lambda d, x: [d.add(x, total)])
            (shifted,) = c.emit(Map(plus, (row,)))
            return total, shifted

        row = ArrayType(i64, rows.type.shape[1:])
        return b.emit(Map(b.function([row], body), (rows,)))

    totals, shifted = evaluate(write, xs)
    empty_totals, empty_shifted = evaluate(write, xs[:0])

    np.testing.assert_array_equal(totals, xs.sum(1))
    np.testing.assert_array_equal(shifted, xs + xs.sum(1)[:, None])
    assert empty_totals.shape == (0,)
    assert empty_shifted.shape == (0, 3)


def test_generate_takes_one_index_for_each_axis():
    """zs[i, j] = fn(i, j)."""
    fn = function([i64, i64], lambda b, i, j: [b.add(b.mul(i, index(10)), j)])
    (zs,) = one_op(lambda: Generate((index(2), index(3)), fn))

    np.testing.assert_array_equal(zs, [[0, 1, 2], [10, 11, 12]])


def test_generate_of_negative_extent_is_a_fault():
    """No array has fewer than no elements."""
    fn = function([i64], lambda b, i: [i])
    with pytest.raises(Fault) as caught:
        one_op(lambda: Generate((index(-1),), fn))

    assert (caught.value.code, caught.value.value) == ("negative_extent", -1)


@pytest.mark.parametrize("n", SIZES)
def test_reduce_keeps_the_order(n):
    """An operator that is not commutative meets its operands from left to right."""
    a, b = numbers(n, -2, 3), numbers(n)
    result = one_op(lambda x, y: Reduce(affine_operator(i64), (ONE, ZERO), (x, y)), a, b)

    assert tuple(map(int, result)) == affine_loop(a, b)[2]


def test_reduce_starts_from_its_neutral_element():
    """What is given as neutral element is the first left operand, and the result for no element."""
    xs = np.array([1, 2, 3])
    assert one_op(lambda x: Reduce(ADD, (index(10),), (x,)), xs) == [16]
    assert one_op(lambda x: Reduce(ADD, (index(10),), (x,)), xs[:0]) == [10]


def test_reduce_of_rows():
    """An operator on rows is called for one row after the other."""
    xs = np.arange(12).reshape(4, 3)

    def write(b, rows):
        row = ArrayType(i64, rows.type.shape[1:])
        fn = b.function([row, row], lambda c, x, y: c.emit(Map(ADD, (x, y))))
        zeros = b.emit(Generate(rows.type.shape[1:], function([i64], lambda c, i: [ZERO])))
        return b.emit(Reduce(fn, zeros, (rows,))) + b.emit(Scan(fn, zeros, (rows,), True))

    total, prefixes = evaluate(write, xs)

    np.testing.assert_array_equal(total, xs.sum(0))
    np.testing.assert_array_equal(prefixes, np.cumsum(xs, 0) - xs)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_starts_anew_at_flags(exclusive, reverse):
    """In running order: a flagged element is the first of its segment, with `ne` at its left."""
    flags = np.array([False, False, True, True, False, False])
    xs, hundred = np.arange(1, 7), (index(100),)
    (ys,) = one_op(lambda x, f: Scan(ADD, hundred, (x,), exclusive, reverse, (f,)), xs, flags)
    expected = {
        (False, False): [101, 103, 103, 104, 109, 115],
        (True, False): [100, 101, 100, 100, 104, 109],
        (False, True): [106, 105, 103, 104, 111, 106],
        (True, True): [105, 103, 100, 100, 106, 100],
    }  # fmt: skip

    assert ys.tolist() == expected[exclusive, reverse]


@pytest.mark.parametrize("exclusive", [False, True])
def test_scan_of_rows_that_starts_anew(exclusive):
    """One flag for each row, where the operator takes rows; one for each scalar, where those."""
    xs = np.arange(8).reshape(4, 2)
    flags = np.array([True, False, True, False])

    def write(b, rows, starts):
        row = ArrayType(i64, rows.type.shape[1:])
        fn = b.function([row, row], lambda c, x, y: c.emit(Map(ADD, (x, y))))
        zeros = b.emit(Generate(rows.type.shape[1:], function([i64], lambda c, i: [ZERO])))
        return b.emit(Scan(fn, zeros, (rows,), exclusive, starts=(starts,)))

    (found,) = evaluate(write, xs, flags)
    scalars = np.array([[True, False], [True, False]])
    (flat,) = one_op(lambda x, f: Scan(ADD, (ZERO,), (x,), starts=(f,)), xs[:2], scalars)

    inclusive = xs + np.array([0, 1, 0, 1])[:, None] * np.roll(xs, 1, axis=0)
    np.testing.assert_array_equal(found, inclusive - xs if exclusive else inclusive)
    np.testing.assert_array_equal(flat, [[0, 1], [2, 5]])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_keeps_the_order(n, exclusive, reverse):
    """Prefixes and suffixes of an operator that is not commutative."""
    a, b = numbers(n, -2, 3), numbers(n)
    fn = affine_operator(i64)
    ys = one_op(lambda x, y: Scan(fn, (ONE, ZERO), (x, y), exclusive, reverse), a, b)
    expected = affine_loop(a, b, exclusive, reverse)

    np.testing.assert_array_equal(ys[0], expected[0])
    np.testing.assert_array_equal(ys[1], expected[1])


def test_scan_operand_order():
    """y[i] = y[i-1] op x[i] forwards, x[i] op y[i+1] backwards."""
    xs = np.array([1, 2, 3])
    last = last_operator(i64)
    seven = (index(7),)
    forward, backward = (
        one_op(lambda x, r=r: Scan(last, seven, (x,), reverse=r), xs)[0] for r in (False, True)
    )

    np.testing.assert_array_equal(forward, xs)
    np.testing.assert_array_equal(backward, [7, 7, 7])


def test_index_reads_elements_and_whole_batches():
    """One element outside of element functions, one for each element inside."""
    xs = np.arange(6).reshape(2, 3)
    assert one_op(lambda x: Index(x, (index(1), index(2))), xs) == [5]

    def write(b, x, at):
        fn = b.function([i64], lambda c, j: c.emit(Index(x, (ONE, j))))
        return b.emit(Map(fn, (at,)))

    (ys,) = evaluate(write, xs, np.array([2, 0, 2]))

    np.testing.assert_array_equal(ys, [5, 3, 5])


@pytest.mark.parametrize(("at", "element", "value"), [([0, 5, 9], 1, 5), ([1, -4], 1, -7)])
def test_index_outside_is_a_fault(at, element, value):
    """The first bad element is reported, a wrapped negative index as it was written."""

    def write(b, x, at):
        fn = b.function([i64], lambda c, j: c.emit(Index(x, (j,))))
        return b.emit(Map(fn, (at,)))

    with pytest.raises(Fault) as caught:
        evaluate(write, np.arange(3), np.array(at))

    fault = caught.value
    assert (fault.code, fault.index, fault.value, fault.extent) == ("index", element, value, 3)


def test_index_unchecked_outside_is_our_fault():
    """The compiler promised that the index is inside."""
    with pytest.raises(CompilerBug, match="unchecked"):
        one_op(lambda x: Index(x, (index(3),), checked=False), np.arange(3))


@pytest.mark.parametrize("n", SIZES)
def test_scatter_keeps_the_last_and_drops_what_is_outside(n):
    """As a loop that skips bad indices."""
    at, vals = numbers(n, -3, 8), np.arange(n)
    dest = np.full(5, -1)
    expected = dest.copy()
    for i, v in zip(at, vals, strict=True):
        if 0 <= i < 5:
            expected[i] = v
    (ys,) = one_op(lambda d, i, v: Scatter((d,), i, (v,)), dest, at, vals)

    np.testing.assert_array_equal(ys, expected)
    np.testing.assert_array_equal(dest, -1)


@pytest.mark.parametrize("n", [*SIZES, 1000])
def test_permute_combines_in_order(n):
    """Colliding elements are combined from left to right, the old value first."""
    at, a, b = numbers(n, -1, 5), numbers(n, -1, 2), numbers(n)
    dest = np.full(4, 1), np.arange(4)
    expected = [d.copy() for d in dest]
    for i, x, y in zip(at, a, b, strict=True):
        if 0 <= i < 4:
            left = expected[0][i], expected[1][i]
            expected[0][i], expected[1][i] = left[0] * x, left[1] * x + y

    def op(d1, d2, i, x, y):
        return Permute(affine_operator(i64), (), (d1, d2), i, (x, y))

    result = one_op(op, *dest, at, a, b)

    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("n", SIZES)
def test_filter_counts_and_keeps_the_order(n):
    """The number of kept elements, then the elements."""
    xs = numbers(n)
    count, ys = one_op(lambda m, x: Filter(m, (x,)), xs > 0, xs)

    assert count == len(ys)
    np.testing.assert_array_equal(ys, xs[xs > 0])


def test_arrays_of_unknown_extent_flow_on():
    """What filter keeps can be mapped and reduced."""

    def write(b, m, x):
        count, kept = b.emit(Filter(m, (x,)))
        (doubled,) = b.emit(Map(function([i64], lambda c, v: [c.add(v, v)]), (kept,)))
        return (count, *b.emit(Reduce(ADD, (ZERO,), (doubled,))))

    xs = np.arange(10)

    assert evaluate(write, xs % 2 == 1, xs) == [5, 50]


def test_concat_reshape_empty():
    """Shapes change, elements stay."""
    xs, ys = np.arange(4).reshape(2, 2), np.arange(6).reshape(3, 2)

    def write(b, x, y):
        (both,) = b.emit(Concat(index(5), (x, y)))
        return *b.emit(Reshape(both, (index(10),))), *b.emit(Empty(f32, (index(2), ONE)))

    flat, empty = evaluate(write, xs, ys)

    np.testing.assert_array_equal(flat, np.concatenate([xs, ys]).reshape(-1))
    assert (empty.shape, empty.dtype) == ((2, 1), np.float32)


def test_check_says_which_values_failed():
    """A condition that fails ends the program with its kind and values."""

    def write(b, x):
        n = x.type.shape[0]
        b.emit(Check(b.apply("eq", n, index(4)), "same", (n, index(4)), "Two lengths."))
        return [n]

    assert evaluate(write, np.arange(4)) == [4]
    with pytest.raises(Fault) as caught:
        evaluate(write, np.arange(3))

    assert (caught.value.code, caught.value.values) == ("same", (3, 4))
    assert caught.value.message == "Two lengths."


def test_operators_may_fault():
    """A read inside an operator is checked as any other."""

    def write(b, x, table):
        fn = b.function([i64, i64], lambda c, p, q: c.emit(Index(table, (c.add(p, q),))))
        return b.emit(Reduce(fn, (ZERO,), (x,)))

    with pytest.raises(Fault, match="outside extent 2"):
        evaluate(write, np.array([1, 5]), np.array([0, 1]))


def test_scalars_and_dtypes_are_those_of_the_program():
    """Scalar arguments are converted, arrays must fit."""
    program, _ = program_of(lambda b, x: [x.type.shape[0], x], np.zeros(3, np.float32))

    n, xs = run(program, [3, np.ones(3, np.float32)])
    assert (n, type(n)) == (3, np.int64)
    assert xs.dtype == np.float32
    with pytest.raises(CompilerBug, match="f32"):
        run(program, [3, np.ones(3)])


def test_nan_and_bool_constants():
    """Constants keep their dtype."""
    choose = function(
        [bool_], lambda b, p: [b.apply("select", p, constant("nan", f32), constant(1, f32))]
    )
    (ys,) = one_op(lambda x: Map(choose, (x,)), np.array([True, False]))

    np.testing.assert_array_equal(ys, np.array([np.nan, 1], np.float32))


def test_a_hundred_thousand_elements_take_well_under_a_second():
    """The whole suite runs on this interpreter."""
    xs = np.arange(100_000, dtype=np.int32)
    fn = function([i32], lambda b, x: [b.apply("mul", x, constant(3, i32))])

    def write(b, x):
        (tripled,) = b.emit(Map(fn, (x,)))
        (prefixes,) = b.emit(Scan(lambda_of("add", i32), (constant(0, i32),), (tripled,)))
        return b.emit(Reduce(lambda_of("maximum", i32), (constant(0, i32),), (prefixes,)))

    assert evaluate(write, xs) == [np.cumsum(xs * 3, dtype=np.int32).max()]
