"""Branches that are not taken have no effect, nor have loops without iterations."""

from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, same

NO = np.bool_(False)
YES = np.bool_(True)


class Pair(NamedTuple):
    """A structure of the user's own."""

    long: object
    short: object


def test_branches_of_different_constant_lengths(target):
    """Neither length is the type's: the result is as long as what the chosen branch gives."""
    for p, wanted in ((YES, np.arange(5)), (NO, np.arange(2))):
        agree(lambda p: fw.cond(p, lambda: fw.iota(5), lambda: fw.iota(2)), wanted, p)
        agree(lambda p: fw.cond(~p, lambda: fw.iota(2), lambda: fw.iota(5)), wanted, p)
        agree(
            lambda p: fw.sum(fw.cond(p, lambda: fw.iota(5), lambda: fw.iota(2))), wanted.sum(), p
        )


def test_branches_of_different_constant_shapes(target):
    """Both extents of a matrix differ, or only the second one."""
    f = fw.jit(
        lambda p: (
            fw.cond(p, lambda: fw.full((2, 3), 1.0), lambda: fw.full((3, 2), 2.0)),
            fw.sum(fw.cond(p, lambda: fw.full((2, 3), 1), lambda: fw.full((2, 5), 1)), axis=1),
        )
    )

    same(f(True), (np.full((2, 3), 1.0), np.array([3, 3])))
    same(f(False), (np.full((3, 2), 2.0), np.array([5, 5])))


def test_a_constant_length_beside_a_length_of_an_argument(target):
    """What the branches share keeps its extent: arrays of the result may be added to it."""
    x = np.arange(3.0)

    f = fw.jit(lambda p, x: fw.cond(p, lambda: (x, fw.iota(2)), lambda: (x * 2, x[1:])))
    with pytest.raises(fw.DTypeError, match="different dtypes at result"):
        f(True, x)
    f = fw.jit(lambda p, x: fw.cond(p, lambda: (x, fw.full(4, 1.0)), lambda: (x * 2, x[1:])))
    same(f(True, x), (x, np.full(4, 1.0)))
    same(f(False, x), (x * 2, x[1:]))


def test_branches_in_branches_and_in_loops(target):
    """Lengths that are computed in the branch, constant ones, and the state's own."""

    def f(n, q):
        def turn(i, s):
            return fw.cond(i % 2 == 0, lambda: fw.concat([s, fw.iota(2)]), lambda: s[1:])

        chosen = fw.cond(
            n > 3,
            lambda: fw.cond(q, lambda: fw.iota(3), lambda: fw.filter(lambda v: v > 1, fw.iota(n))),
            lambda: fw.cond(
                q, lambda: fw.iota(7 - n), lambda: fw.fori_loop(0, n, turn, fw.iota(1))
            ),
        )
        return Pair(chosen, {"all": fw.sum(chosen)})

    found = fw.jit(f)
    for n, q, wanted in [
        (5, True, [0, 1, 2]), (5, False, [2, 3, 4]), (1, True, range(6)), (3, False, [0, 1, 0, 1]),
        (0, False, [0]),
    ]:  # fmt: skip
        same(found(n, q), Pair(np.array(wanted, np.int64), {"all": np.int64(sum(wanted))}))
    assert found.traces == 1


def test_two_ways_to_one_result(target):
    """A choice outside of maps; in them the second way for all elements."""
    def chosen(x):
        return fw.cond(x > 1, lambda: 1, lambda: 2, same=True)

    assert fw.jit(chosen)(3) == 1
    assert fw.jit(chosen)(0) == 2
    assert fw.jit(lambda xs: fw.map(chosen, xs))(np.arange(4)).tolist() == [2, 2, 2, 2]
    assert fw.cond(True, lambda: 1, lambda: 2, same=True) == 1


def test_branches_that_give_ragged_arrays(target):
    """Equally many rows, with other offsets: each branch brings its offsets."""
    rows = fw.ragged(np.array([1, 2, 3]), lengths=np.array([2, 0, 1]))

    def sums(p, r):
        pairs = fw.ragged(fw.iota(6), lengths=fw.full(r.lengths.shape[0], 2))
        return fw.map(fw.sum, fw.cond(p, lambda: r, lambda: pairs))

    f = fw.jit(sums)
    same(f(True, rows), np.array([3, 0, 3]))
    same(f(False, rows), np.array([1, 5, 9]))


def test_extents_of_the_branch_not_taken_are_not_checked(target):
    """`iota(x)` of a negative x is no error where `iota(x * x)` is meant, at run time or now."""
    f = lambda x: fw.cond(x < 0, lambda: fw.iota(x * x), lambda: fw.iota(x))

    for x in (-5, 3):
        wanted = np.arange(x * x if x < 0 else x)
        same(fw.jit(f)(x), wanted)
        same(f(x), wanted)
        same(f(np.int64(x)), wanted)


def test_nothing_of_a_branch_not_taken_is_checked(target):
    """Lengths, reads, shapes, sizes: of arguments, and such that are known to be wrong."""
    a, b = np.arange(3), np.arange(4)

    def chosen(p, n, a, b):
        wrong = [
            lambda: fw.sum(fw.iota(n)), lambda: fw.sum(a + b), lambda: a[n], lambda: a[b[3]],
            lambda: fw.sum(fw.reshape(a, (n, 7))), lambda: fw.sum(fw.full((n * n, n * n), 1)),
            lambda: fw.sum(fw.expand(lambda v: v + n, lambda v, i: v, a)),
            lambda: fw.max(a[:0]), lambda: fw.sum(fw.sort(fw.iota(-n * 2**45))),
            lambda: fw.sum(fw.iota(-3)), lambda: fw.sum(fw.iota(3) + fw.iota(4)),
            lambda: fw.iota(3)[3], lambda: fw.iota(3)[-4], lambda: fw.max(fw.iota(0)),
            lambda: fw.sum(fw.reshape(fw.iota(6), (4, 2))), lambda: fw.sum(fw.iota(200, fw.i8)),
        ]  # fmt: skip
        return [fw.cond(p, case, lambda k=k: k + a[0]) for k, case in enumerate(wrong)]

    same(fw.jit(chosen)(False, -(2**20), a, b), [np.int64(k) for k in range(16)])


@pytest.mark.parametrize(
    ("case", "error"),
    [
        (lambda: fw.sum(fw.iota(-3)), fw.NegativeExtentError),
        (lambda: fw.sum(fw.iota(3) + fw.iota(4)), fw.ShapeError),
        (lambda: fw.iota(3)[-4], fw.IndexOutOfBounds),
        (lambda: fw.max(fw.iota(0)), fw.ShapeError),
    ],
)
def test_what_is_known_to_be_wrong_is_told_when_it_is_taken(target, case, error):
    """In a branch the error waits for the call; elsewhere it is raised when it is traced."""
    f = fw.jit(lambda p: fw.cond(p, case, lambda: 1))

    same(f(False), np.int64(1))
    with pytest.raises(error):
        f(True)
    with pytest.raises(error):
        fw.jit(lambda p: case())(False)


def test_a_loop_of_no_turns_checks_nothing(target):
    """The body of `fori_loop` and of `while_loop` where it never runs."""

    def f(k, n, a, b):
        def body(s):
            return s + fw.sum(a + b) + fw.sum(fw.iota(n)) + a[n]

        counted = fw.fori_loop(0, k, lambda i, s: body(s), 7)
        return counted + fw.while_loop(lambda s: s < k, body, 7)

    a, b = np.arange(3), np.arange(4)
    same(fw.jit(f)(0, -1, a, b), np.int64(14))
    with pytest.raises(fw.UserError):
        fw.jit(f)(1, -1, a, b)


def test_what_a_branch_has_checked_is_checked_again_behind_it(target):
    """A branch that was not taken proves nothing about its operands."""
    length = fw.jit(lambda p, n: fw.cond(p, lambda: fw.sum(fw.iota(n)), lambda: 0) + fw.iota(n))
    shapes = fw.jit(lambda k, a, b: fw.fori_loop(0, k, lambda i, s: s + fw.sum(a + b), 0) + a * b)
    reads = fw.jit(lambda p, a, i: fw.cond(p, lambda: fw.iota(i)[0] + a[i], lambda: 0) + a[i])

    with pytest.raises(fw.NegativeExtentError):
        length(False, -1)
    with pytest.raises(fw.ShapeError):
        shapes(0, np.arange(3), np.arange(4))
    same(reads(False, np.arange(3), -1), np.int64(2))


def test_a_number_that_fits_no_element_is_told_where_it_is_taken(target):
    """The bounds of the elements' dtype, in a branch and after it."""
    x = np.arange(3, dtype=np.int8)
    chosen = fw.jit(lambda p, n, x: fw.cond(p, lambda: x + n, lambda: x))
    behind = fw.jit(lambda p, n, x: fw.cond(p, lambda: x + n, lambda: x) + (x + n))

    same(chosen(False, 300, x), x)
    with pytest.raises(OverflowError):
        chosen(True, 300, x)
    with pytest.raises(OverflowError):
        behind(False, 300, x)


def test_nothing_is_checked_for_an_element_that_chose_the_other_branch(target):
    """Reads, lengths and divisions inside element functions, in branches and in loops."""
    x = np.array([3, -2, 0, 1])

    def element(v, a, b, d, n):
        return (
            fw.cond(v > 5, lambda: a[v + 100], lambda: v),
            fw.cond(v > 0, lambda: fw.sum(fw.iota(v)), lambda: v),
            fw.cond(v > 5, lambda: fw.sum(a + b), lambda: v),
            fw.cond(v > 0, lambda: fw.cond(v > 2, lambda: a[v - 3], lambda: v), lambda: d // v),
            fw.fori_loop(0, n, lambda i, s: s + a[i + 99] + fw.sum(fw.iota(-i)), v),
        )

    found = fw.jit(lambda x, a, b, d, n: fw.map(lambda v: element(v, a, b, d, n), x))(
        x, np.arange(3), np.arange(4), 12, 0
    )
    sums = np.array([sum(range(v)) if v > 0 else v for v in x])
    nested = np.array([0 if v > 2 else v if v > 0 else 12 // v if v else 0 for v in x.tolist()])
    same(found, (x, sums, x, nested, x))


def test_nothing_is_checked_for_a_row_that_chose_the_other_branch(target):
    """Rows of a Ragged: reads of the row, and sums over it."""
    rows = fw.ragged(np.array([1, 2, 3]), lengths=np.array([2, 0, 1]))
    a = np.arange(4)

    found = fw.jit(
        lambda rows, a: (
            fw.map(lambda r: fw.cond(r.shape[0] > 5, lambda: r[77], lambda: fw.sum(r)), rows),
            fw.map(
                lambda r: fw.cond(
                    r.shape[0] > 5, lambda: fw.sum(fw.map(lambda v: a[v + 99], r)), lambda: 7
                ), rows,
            ),
        )
    )(rows, a)  # fmt: skip
    same(found, (np.array([3, 0, 3]), np.array([7, 7, 7])))


HUGE = 10**7


@pytest.mark.parametrize(
    "f",
    [
        lambda n, a, b: (fw.sum(b), fw.sum(a + b)),
        lambda n, a, b: (fw.sum(fw.iota(n * 2)), fw.sum(fw.iota(n * 2) + b)),
        lambda n, a, b: fw.map(
            lambda v: fw.fori_loop(0, v, lambda i, s: s + fw.sum(fw.iota(n * v) + b[:v]), 0), b
        ),
        lambda n, a, b: fw.map(
            lambda v: fw.cond(v > 1, lambda: (fw.iota(n * v) + b[:v])[n], lambda: 0), b
        ),
    ],
)
def test_nothing_is_read_behind_a_check_that_fails(f):
    """Lengths that differ by far more than the memory after the shorter array."""
    with pytest.raises(fw.ShapeError, match=r"got [12]0000000 and [123] elements"):
        fw.jit(f)(HUGE, np.zeros(HUGE, np.int64), np.arange(3))


def later_of(a, b):
    """Of two flagged numbers the greater, to which a branch adds a sum of nothing but zeros."""

    def both():
        zeros = fw.map(lambda k: k * 0, fw.iota(a[1] % 3))
        return fw.maximum(a[1], b[1]) + fw.sum(zeros)

    value = fw.cond(a[0], lambda: fw.cond(b[0], both, lambda: a[1]), lambda: b[1])
    return a[0] | b[0], value


FLAGGED = fw.jit(lambda flags, xs: fw.reduce(later_of, (False, 0), (flags, xs)))


@pytest.mark.parametrize("count", [0, 1, 129, 100_000])
def test_what_blocks_leave_is_joined_by_operators_with_folds_in_branches(count, threads):
    """The host joins what blocks leave, and runs loops over elements for it as kernels do."""
    rng = np.random.default_rng(count)
    flags, xs = rng.random(count) < 0.5, rng.integers(0, 1000, count)
    flags[-1:] = True
    found = FLAGGED(flags, xs)
    same(found, (np.bool_(count > 0), np.int64(xs[flags].max() if count else 0)))


def test_a_known_condition_chooses_an_array_from_outside(target):
    """In a function of elements, which gives the array itself."""
    x = np.arange(3)
    rows = fw.ragged([[1, 2], [3]])

    @fw.jit
    def program(rows, x):
        return fw.map(lambda _: fw.map(lambda _: fw.cond(1 > 3, lambda: x + 1, lambda: x), x), rows)

    assert program(rows, x).tolist() == [[[0, 1, 2]] * 3] * 2
