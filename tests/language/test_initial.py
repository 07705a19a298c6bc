"""The initial value of a reduction or scan is applied once, neutral or not.

The definitions are functools.reduce and itertools.accumulate, on plain Python numbers.
"""

import itertools
from functools import reduce

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.quick import every

SIZES = (0, 1, 2, 127, 128, 129, 1023, 1024, 1025)
LARGE = 100_003
GROUP = np.array([[q[p[k]] for k in range(3)] for p in itertools.permutations(range(3))
                  for q in itertools.permutations(range(3))])  # fmt: skip
TABLE = GROUP @ np.array([9, 3, 1])  # of two permutations of three things, their product
PRODUCT = np.array([sorted(set(TABLE)).index(code) for code in TABLE])


def wrapped(x):
    """An i64 as it wraps."""
    return (x + 2**63) % 2**64 - 2**63


def after(f, g):
    """First one linear function, then another."""
    return f[0] * g[0], f[1] * g[0] + g[1]


class Case:
    """An operator in our words and in Python's, what it begins with, and elements."""

    def __init__(self, op, plain, ne, draw):
        self.op, self.plain, self.ne, self.draw = op, plain, ne, draw


def whole(random, n):
    return random.integers(-3, 4, n)


def zeros(random, n):
    return np.where(random.random(n) < 0.8, -0.0, random.integers(-2, 3, n))


def pairs(random, n):
    return random.integers(-2, 3, n), random.integers(-3, 4, n)


def group(random, n):
    return random.integers(0, 6, n)


CASES = {
    "sum from 10": Case(lambda a, b: a + b, lambda a, b: wrapped(a + b), 10, whole),
    "sum from 0.0": Case(lambda a, b: a + b, lambda a, b: a + b, 0.0, zeros),
    "sum from -0.0": Case(lambda a, b: a + b, lambda a, b: a + b, -0.0, zeros),
    "largest from 2": Case(fw.maximum, max, 2, whole),
    "second": Case(lambda a, b: b, lambda a, b: b, 7, whole),
    "neutral on the left alone": Case(
        lambda a, b: fw.where(b > 0, b, fw.where(a > 0, a, b)),
        lambda a, b: b if b > 0 else a if a > 0 else b, 0, whole,
    ),
    "linear functions from (2, 3)": Case(
        after, lambda f, g: tuple(wrapped(x) for x in after(f, g)), (2, 3), pairs
    ),
    "linear functions from (1, 0)": Case(
        after, lambda f, g: tuple(wrapped(x) for x in after(f, g)), (1, 0), pairs
    ),
    "a table of products": Case(
        lambda a, b: fw.asarray(PRODUCT)[a * 6 + b], lambda a, b: int(PRODUCT[a * 6 + b]), 4, group
    ),
    "a table in a branch": Case(
        lambda a, b: fw.cond(a == b, lambda: b, lambda: b), lambda a, b: b, 5, whole
    ),
}  # fmt: skip


def elements(xs):
    """Arrays as a list of Python's elements."""
    if isinstance(xs, tuple):
        return list(zip(*(x.tolist() for x in xs), strict=True))
    return xs.tolist()


def arrays(found, like):
    """A list of elements as arrays."""
    if isinstance(like, tuple):
        return tuple(np.array([e[k] for e in found], x.dtype) for k, x in enumerate(like))
    return np.array(found, like.dtype)


def check(got, found, like):
    """The same bits as Python's elements, the signs of zeros too."""
    want = arrays(found, like)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want)), strict=True):
        a = np.asarray(a).reshape(b.shape)
        assert np.array_equal(a, b) and np.array_equal(np.signbit(a), np.signbit(b))


def everything(case):
    """All that begins with `ne`, in one program."""
    op, ne = case.op, case.ne
    return fw.jit(lambda flags, xs: (
        fw.reduce(op, ne, xs),
        fw.scan(op, ne, xs),
        fw.scan(op, ne, xs, exclusive=True),
        fw.scan(op, ne, xs, reverse=True),
        fw.scan(op, ne, xs, reverse=True, exclusive=True),
        fw.segmented_scan(op, ne, flags, xs),
        fw.segmented_reduce(op, ne, flags, xs),
    ))  # fmt: skip


def check_everything(case, compiled, random, n):
    """Against the definitions; the arguments and results."""
    xs, flags = case.draw(random, n), random.random(n) < 0.1
    found, plain, ne = elements(xs), case.plain, case.ne
    prefixes = list(itertools.accumulate(found, plain, initial=ne))
    turned = itertools.accumulate(found[::-1], lambda a, b: plain(b, a), initial=ne)
    suffixes = list(turned)[::-1]
    starts = [k for k in range(n) if flags[k] or k == 0]
    segments = [found[a:b] for a, b in itertools.pairwise([*starts, n])]
    scans = [itertools.accumulate(s, plain, initial=ne) for s in segments]

    results = compiled(flags, xs)

    check(results[0], [prefixes[-1]], xs)
    check(results[1], prefixes[1:], xs)
    check(results[2], prefixes[:-1], xs)
    check(results[3], suffixes[:-1], xs)
    check(results[4], suffixes[1:], xs)
    check(results[5], [x for scan in scans for x in list(scan)[1:]], xs)
    check(results[6], [reduce(plain, segment, ne) for segment in segments], xs)
    return (flags, xs), results


def leaves(results):
    """The arrays of all results, concatenated."""
    return [np.asarray(x) for r in results for x in (r if isinstance(r, tuple) else (r,))]


@pytest.mark.parametrize("name", every(2, CASES))
def test_it_stands_once(target, name):
    """To the left of everything, to the right where that is where it begins."""
    case, random = CASES[name], np.random.default_rng(1)
    compiled = everything(case)

    for n in SIZES:
        check_everything(case, compiled, random, n)
    if target == "cpu":
        args, results = check_everything(case, compiled, random, LARGE)
        for threads in (1, 2, 3, 7):
            with config.scoped(threads=threads):
                for got, want in zip(leaves(compiled(*args)), leaves(results), strict=True):
                    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    "name", ["sum from 0.0", "largest from 2", "linear functions from (2, 3)"]
)
def test_it_stands_once_in_every_row(target, name):
    """Of a Ragged, of an expansion, of a matrix; an empty one gives it."""
    case, random = CASES[name], np.random.default_rng(2)
    op, ne, plain = case.op, case.ne, case.plain
    lengths = random.integers(0, 4, 300)
    xs = case.draw(random, int(lengths.sum()))
    ends = np.cumsum(lengths)
    rows = [elements(xs)[end - k : end] for end, k in zip(ends, lengths, strict=True)]
    reduced = [reduce(plain, row, ne) for row in rows]
    scanned = [list(itertools.accumulate(row, plain, initial=ne))[1:] for row in rows]
    ragged = fw.ragged(xs, lengths=lengths)

    check(fw.jit(lambda r: fw.map(lambda row: fw.reduce(op, ne, row), r))(ragged), reduced, xs)
    got = fw.jit(lambda r: fw.map(lambda row: fw.scan(op, ne, row), r))(ragged)
    check(got.values if not isinstance(xs, tuple) else tuple(x.values for x in got),
          [x for row in scanned for x in row], xs)  # fmt: skip
    starts = np.concatenate([[0], ends[:-1]])
    expanded = fw.jit(lambda s, e, v: fw.expand_reduce(
        lambda row: row[1] - row[0],
        lambda row, k: fw.map(lambda x: x, v)[row[0] + k] if not isinstance(v, tuple)
        else tuple(x[row[0] + k] for x in v),
        op, ne, (s, e)))  # fmt: skip
    check(expanded(starts, ends, xs), reduced, xs)


def test_it_stands_once_in_every_column(target):
    """Rows combined element by element, and prefixes of them."""
    xs = np.random.default_rng(3).integers(-5, 6, (130, 3))
    rows = list(xs)

    assert np.array_equal(fw.reduce(fw.add, 10, xs), reduce(np.add, rows, 10))
    assert np.array_equal(fw.reduce(fw.add, np.array([1, 2, 3]), xs), xs.sum(axis=0) + [1, 2, 3])
    want = np.array(list(itertools.accumulate(rows, np.add, initial=10))[1:])
    assert np.array_equal(fw.scan(fw.add, 10, xs), want)
    assert np.array_equal(fw.reduce(lambda a, b: b, 10, xs[:0]), [10, 10, 10])


@pytest.mark.parametrize("ne", [10, -3, 0, 1])
def test_functions_called_at_once(target, ne):
    """The values of numbers are known to the program, or given to it."""
    xs = np.arange(200) % 7

    assert fw.reduce(fw.add, ne, xs) == xs.sum() + ne
    assert fw.reduce(lambda a, b: a + b + a * b, ne, xs % 2) == (ne + 1) * 2 ** (xs % 2).sum() - 1
    assert fw.scan(fw.maximum, ne, xs)[0] == max(ne, 0)
    for zero in (0.0, -0.0):
        assert np.signbit(fw.reduce(fw.add, zero, np.array([-0.0]))) == np.signbit(zero)


def test_an_operator_is_called_for_elements_that_are_there(target):
    """A read in it that would fault for a made up element does not."""
    last = fw.jit(lambda xs, table: fw.reduce(lambda a, b: table[b] + 0 * table[a], 5, xs))
    xs = np.full(1000, 6)

    assert last(xs, np.arange(7)) == 6
    assert last(xs[:0], np.arange(1)) == 5
    assert last(xs[:0], np.arange(0)) == 5


def test_the_old_name_is_accepted():
    """`ne=` is `initial=` of what begins once, and `identity=` of what needs a neutral element."""
    flags, dest = np.array([True, False, True]), np.zeros(3, np.int64)
    calls = {
        "initial": [
            lambda **start: fw.reduce(fw.add, xs=X, **start),
            lambda **start: fw.scan(fw.add, xs=X, **start),
            lambda **start: fw.segmented_scan(fw.add, flags=flags, xs=X, **start),
            lambda **start: fw.segmented_reduce(fw.add, flags=flags, xs=X, **start),
            lambda **start: fw.expand_reduce(lambda n: n, lambda n, i: i, fw.add, xs=X, **start),
        ],
        "identity": [
            lambda **start: fw.reduce_by_index(dest, fw.add, idx=X, vals=X, **start),
            lambda **start: fw.histogram(3, X, X, fw.add, **start),
        ],
    }
    with fw.target("interp"):
        for name, functions in calls.items():
            for call in functions:
                assert np.array_equal(call(**{name: 0}), call(ne=0))
                assert np.array_equal(fw.jit(lambda call=call: call(ne=0))(), call(ne=0))


X = np.array([1, 2, 1])
