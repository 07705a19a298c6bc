"""expand, expand_reduce, replicated_iota: values and the laws of Elsman and others 2019."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw
from flatweave.base.config import config
from tests.conftest import TARGETS
from tests.language.agreement import agree, same

COUNTS = [[], [0], [1], [3], [0, 0], [2, 3, 1], [0, 2, 0, 0, 3, 0], [0, 1000, 0, 1], [1] * 70,
          [5, 0] * 40]  # fmt: skip
counts = st.lists(st.integers(0, 5), max_size=12).map(lambda xs: np.array(xs, np.int64))


def expanded(size, get, xs, dtype=np.int64):
    """By the definition."""
    return np.array([get(x, i) for x in xs for i in range(int(size(x)))], dtype)


def ours_and_theirs(first, second, *args):
    """Two functions give the same on every target."""
    for name in TARGETS:
        with config.scoped(target=name):
            same(first(*args), second(*args))


def affine(f, g):
    """The composition of two affine maps: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def test_examples_of_the_paper(target):
    """Elsman and others 2019, the introduction and section 2.2."""
    agree(lambda xs: fw.expand(lambda x: x, lambda x, i: x * i, xs),
          np.array([0, 2, 0, 3, 6, 0]), np.array([2, 3, 1]))  # fmt: skip
    agree(fw.replicated_iota, np.array([0, 0, 1, 1, 1, 2, 3]), np.array([2, 3, 1, 1]))


@pytest.mark.parametrize("xs", COUNTS)
def test_expand(target, xs):
    """Sources may expand to nothing: first, last, all of them."""
    xs = np.array(xs, np.int64)
    expected = expanded(lambda x: x, lambda x, i: x * 100 + i, xs)

    agree(lambda xs: fw.expand(lambda x: x, lambda x, i: x * 100 + i, xs), expected, xs)
    agree(fw.replicated_iota, np.repeat(np.arange(len(xs)), xs), xs)


@pytest.mark.parametrize("xs", COUNTS)
def test_expand_reduce(target, xs):
    """One result for each source, the neutral element where there is nothing."""
    xs = np.array(xs, np.int64)
    expected = np.array([7 + sum(x * i for i in range(x)) for x in xs], np.int64)

    agree(lambda xs: fw.expand_reduce(lambda x: x, lambda x, i: x * i, fw.add, 0, xs) + 7,
          expected, xs)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_sizes_of_any_integer_type(target, dtype):
    """A size is an extent, whatever it was counted in."""
    xs = np.array([2, 0, 3], dtype)
    agree(lambda xs: fw.expand(lambda x: x, lambda x, i: i, xs), np.array([0, 1, 0, 1, 2]), xs)
    agree(fw.replicated_iota, np.array([0, 0, 2, 2, 2]), xs)


def test_tuples_in_and_out(target):
    """Lines to points: sources and results are tuples."""
    a, b = np.array([1, 5, 9]), np.array([3, 5, 12])
    points = [(p, p * 0.5) for lo, hi in zip(a, b, strict=True) for p in range(lo, hi)]
    expected = (np.array([p for p, _ in points]), np.array([h for _, h in points]))

    agree(
        lambda a, b: fw.expand(
            lambda s: s[1] - s[0], lambda s, i: (s[0] + i, (s[0] + i) * 0.5), (a, b)
        ),
        expected, a, b,
    )  # fmt: skip


def test_sources_and_results_that_are_rows(target):
    """An element of a matrix is a row, and so may a result be."""
    m = np.arange(12).reshape(4, 3)

    agree(lambda m: fw.expand(lambda row: row[0] % 4, lambda row, i: fw.sum(row) + i, m),
          expanded(lambda row: row[0] % 4, lambda row, i: row.sum() + i, m), m)  # fmt: skip
    agree(lambda m: fw.expand(lambda row: 2, lambda row, i: row * i, m),
          np.stack([row * i for row in m for i in range(2)]), m)  # fmt: skip


def test_operators_that_do_not_commute(target):
    """The results of a source are combined in order."""
    xs = np.array([0, 1, 2, 40])
    expected = []
    for x in xs:
        state = (np.int64(1), np.int64(0))
        for i in range(x):
            state = affine(state, (np.int64(i % 3 - 1), np.int64(i)))
        expected.append(state)
    columns = tuple(np.array([pair[k] for pair in expected]) for k in (0, 1))

    agree(
        lambda xs: fw.expand_reduce(
            lambda x: x, lambda x, i: (i % 3 - 1, i), affine, (1, 0), xs
        ),
        columns, xs,
    )  # fmt: skip


def test_closures(target):
    """Both functions may read arrays from outside."""
    starts, table = np.array([0, 2, 2, 5]), np.arange(5) * 1.5
    rows = np.arange(3)

    agree(
        lambda rows, starts, table: fw.expand(
            lambda r: starts[r + 1] - starts[r], lambda r, i: table[starts[r] + i] + r, rows
        ),
        table + np.array([0, 0, 2, 2, 2]), rows, starts, table,
    )  # fmt: skip


def test_expansions_of_expansions(target):
    """Triangles to lines to points."""
    xs = np.array([2, 0, 3])
    middle = expanded(lambda x: x, lambda x, i: x + i, xs)

    agree(
        lambda xs: fw.expand(
            lambda y: y % 3, lambda y, i: y * 10 + i, fw.expand(lambda x: x, lambda x, i: x + i, xs)
        ),
        expanded(lambda y: y % 3, lambda y, i: y * 10 + i, middle), xs,
    )  # fmt: skip


def test_what_follows_an_expansion(target):
    """Its length is an extent like any other."""
    xs = np.array([2, 0, 3, 1])
    flat = expanded(lambda x: x, lambda x, i: x + i, xs)

    def f(xs):
        ys = fw.expand(lambda x: x, lambda x, i: x + i, xs)
        return (ys.shape[0], fw.sum(ys), fw.scan(fw.add, 0, ys), fw.histogram(6, ys),
                fw.filter(lambda y: y > 2, ys), ys + fw.iota(ys.shape[0]))  # fmt: skip

    expected = (np.int64(len(flat)), flat.sum(), flat.cumsum(), np.bincount(flat, minlength=6),
                flat[flat > 2], flat + np.arange(len(flat)))  # fmt: skip
    agree(f, expected, xs)


@given(counts)
def test_map_fuses(xs):
    """`map f (expand sz get xs) = expand sz (f . get) xs`."""
    ours_and_theirs(
        fw.jit(lambda xs: fw.map(
            lambda v: v * v + 1, fw.expand(lambda x: x, lambda x, i: x - i, xs)
        )),
        fw.jit(lambda xs: fw.expand(lambda x: x, lambda x, i: (x - i) * (x - i) + 1, xs)),
        xs,
    )  # fmt: skip


@given(counts)
def test_filter_fuses(xs):
    """`expand sz get (filter p xs) = expand (p ? sz : 0) get xs`."""
    ours_and_theirs(
        fw.jit(lambda xs: fw.expand(
            lambda x: x, lambda x, i: x * i, fw.filter(lambda x: x % 2 == 0, xs)
        )),
        fw.jit(lambda xs: fw.expand(
            lambda x: fw.where(x % 2 == 0, x, 0), lambda x, i: x * i, xs
        )),
        xs,
    )  # fmt: skip


@given(counts)
def test_expanding_to_one_is_map(xs):
    """`expand (const 1) f xs = map (x => f x 0) xs`."""
    ours_and_theirs(
        fw.jit(lambda xs: fw.expand(lambda x: 1, lambda x, i: x * 3 + i, xs)),
        fw.jit(lambda xs: fw.map(lambda x: x * 3 + 0, xs)),
        xs,
    )


@given(counts)
def test_expand_is_flatten_of_maps(xs):
    """`expand sz get xs = flatten (map (x => map (get x) (iota (sz x))) xs)`."""
    expected = expanded(lambda x: x + 1, lambda x, i: x * 7 + i, xs)
    for name in TARGETS:
        f = fw.jit(lambda xs: fw.expand(lambda x: x + 1, lambda x, i: x * 7 + i, xs), target=name)
        same(f(xs), expected)


@given(counts)
def test_expand_reduce_is_a_segmented_reduction(xs):
    """Where no expansion is empty, of what `expand` stores."""
    def fused(xs):
        return fw.expand_reduce(lambda x: x + 1, lambda x, i: (x + 2, i), affine, (1, 0), xs)

    def stored(xs):
        first, pairs = fw.expand(lambda x: x + 1, lambda x, i: (i == 0, (x + 2, i)), xs)
        return fw.segmented_reduce(affine, (1, 0), first, pairs)

    ours_and_theirs(fw.jit(fused), fw.jit(stored), xs)


def test_one_pass_over_the_result(target):
    """What is expanded and summed at once is not stored: only the ends are."""
    if target != "cpu":
        return
    xs = np.arange(10)
    stages = fw.jit(
        lambda xs: fw.sum(fw.expand(lambda x: x, lambda x, i: x * i, xs))
    ).stages(xs)

    assert stages.kernels == 2
    assert len(stages.manifest) == 1 + sum("result" in line for line in stages.manifest)


def test_sizes_that_overflow(target):
    """Their sum is an i64."""
    xs = np.array([2**62, 2**62 - 1, 1, 5])

    with pytest.raises(fw.ExtentOverflowError):
        fw.expand(lambda x: x, lambda x, i: x, xs)
    with pytest.raises(fw.ExtentOverflowError):
        fw.jit(fw.replicated_iota)(xs)


def test_misuses_that_are_found_while_tracing():
    """Sizes are integers, functions take what they are given."""
    xs = np.arange(3)
    with pytest.raises(fw.DTypeError):
        fw.expand(lambda x: x * 0.5, lambda x, i: x, xs)
    with pytest.raises(fw.ArgumentError):
        fw.expand(lambda x: x, lambda x: x, xs)
    with pytest.raises(fw.NestingError):
        fw.expand(lambda x: x, lambda x, i: fw.iota(i), xs)
    with pytest.raises(fw.DTypeError):
        fw.replicated_iota(xs * 1.0)
    with pytest.raises(fw.ShapeError):
        fw.replicated_iota(xs[None])
    with pytest.raises(fw.ShapeError):
        fw.expand(lambda x: 1, lambda x, i: x, 5)
