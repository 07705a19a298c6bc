"""What consumes kept elements in place needs no array of them: it works under the filter's flag."""

import re
from functools import reduce
from operator import and_

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.structure.counted import opened

RANDOM = np.random.default_rng(3)
XS = RANDOM.standard_normal(777)
PLACES = RANDOM.integers(0, 50, 777)
KEPT, FEW, HIGH = XS[XS > 0], XS[(XS > 0) & (XS < 1)], PLACES[PLACES > 7]


def positive(x):
    """Some of the elements."""
    return fw.filter(lambda v: v > 0, x)


def high(k):
    """Some of the indices."""
    return fw.filter(lambda v: v > 7, k)


def mean(y):
    """Needs the sum, and how many are kept."""
    return fw.sum(y) / y.shape[0]


def spread(y):
    """Needs the mean before the squares."""
    m = mean(y)
    return fw.sum((y - m) * (y - m))


def composed(a, b):
    """The composition of x -> a x + b: its operands do not commute."""
    return a[0] * b[0], b[0] * a[1] + b[1]


def horner(y):
    """A polynomial of the elements, in their order."""
    return fw.reduce(composed, (1.0, 0.0), (y * 0 + 0.5, y))[1]


def dear(y):
    """What costs more than to store an element."""
    return fw.sum(fw.exp(fw.sin(fw.exp(y))))


HALVES = sum(v * 0.5**k for k, v in enumerate(KEPT[::-1]))
BINS = np.bincount(HIGH, minlength=50)

# name: the program, its arguments, its results in NumPy, its kernels, how many arrays it stores
PROGRAMS = {
    "sum": (lambda x: fw.sum(positive(x)), (XS,), KEPT.sum(), 1, 0),
    "sum(map)": (lambda x: fw.sum(positive(x) * 2 + 1), (XS,), (KEPT * 2 + 1).sum(), 1, 0),
    "sum(filter(map))": (
        lambda x: fw.sum(positive(x * 2 - 1)), (XS,), (XS * 2 - 1)[XS * 2 > 1].sum(), 1, 0,
    ),
    "how many": (lambda x: positive(x).shape[0], (XS,), len(KEPT), 1, 0),
    "least, greatest, sum and number": (
        lambda x: (lambda y: (fw.min(y), fw.max(y), fw.sum(y), y.shape[0]))(positive(x)), (XS,),
        (KEPT.min(), KEPT.max(), KEPT.sum(), len(KEPT)), 1, 0,
    ),
    "mean": (lambda x: mean(positive(x)), (XS,), KEPT.mean(), 1, 0),
    "squares of differences from the mean": (
        lambda x: spread(positive(x)), (XS,), ((KEPT - KEPT.mean()) ** 2).sum(), 2, 0,
    ),
    "place of the greatest": (lambda x: fw.argmax(positive(x)), (XS,), KEPT.argmax(), 1, 0),
    "an operator that does not commute": (
        lambda x: horner(positive(x)), (XS,), HALVES, 1, 0,
    ),
    "a filter of it": (
        lambda x: fw.filter(lambda v: v < 1, positive(x)), (XS,), FEW, 1, 1,
    ),
    "the sum of a filter of it": (
        lambda x: fw.sum(fw.filter(lambda v: v < 1, positive(x))), (XS,), FEW.sum(), 1, 0,
    ),
    "a histogram": (lambda k: fw.histogram(50, high(k)), (PLACES,), BINS, 2, 1),
    "a histogram and a sum": (
        lambda k: (lambda y: (fw.histogram(50, y), fw.sum(y)))(high(k)), (PLACES,),
        (BINS, HIGH.sum()), 3, 1,
    ),
    "a sum at computed places": (
        lambda k, x: (lambda p: fw.permute(fw.add, fw.full(50, 0.0), p[0], p[1]))(
            fw.filter(lambda p: p[1] > 0, (k, x))
        ),
        (PLACES, XS), np.bincount(PLACES[XS > 0], KEPT, minlength=50), 2, 1,
    ),
    "reads of a table": (
        lambda k, x: fw.sum(fw.gather(x, high(k))), (PLACES, XS), XS[HIGH].sum(), 1, 0,
    ),
    "a running sum": (lambda x: fw.cumsum(positive(x)), (XS,), np.cumsum(KEPT), 1, 1),
    "the greatest of a running sum": (
        lambda x: fw.max(fw.cumsum(positive(x))), (XS,), np.cumsum(KEPT).max(), 1, 0,
    ),
    "weighted by position": (
        lambda x: (lambda y: fw.sum(y * fw.iota(y.shape[0])))(positive(x)), (XS,),
        (KEPT * np.arange(len(KEPT))).sum(), 1, 0,
    ),
    "of a scan": (
        lambda x: fw.sum(positive(fw.cumsum(x))), (XS,),
        np.maximum(np.cumsum(XS), 0).sum(), 1, 0,
    ),
    "the elements, too": (
        lambda x: (lambda y: (y, fw.sum(y)))(positive(x)), (XS,), (KEPT, KEPT.sum()), 1, 1,
    ),
    "a map of it": (lambda x: positive(x) * 2, (XS,), KEPT * 2, 1, 1),
    "a map of it, the elements, and the map's sum": (
        lambda x: (lambda y: (y * 2, y, fw.sum(y * 2)))(positive(x)), (XS,),
        (KEPT * 2, KEPT, KEPT.sum() * 2), 1, 2,
    ),
    "one side of a partition": (
        lambda x: (lambda a: (fw.sum(a[0]), a[1]))(fw.partition(lambda v: v > 0, x)), (XS,),
        (KEPT.sum(), XS[XS <= 0]), 1, 1,
    ),
    "two filters": (
        lambda x: fw.sum(positive(x)) + fw.sum(fw.filter(lambda v: v < -1, x)), (XS,),
        KEPT.sum() + XS[XS < -1].sum(), 1, 0,
    ),
    "in a branch": (
        lambda x: fw.cond(x[0] > 9, lambda: 0.0, lambda: fw.sum(positive(x))), (XS,), KEPT.sum(),
        1, 0,
    ),
    # and what still stores them
    "as many of each as it says": (
        lambda k: fw.expand(lambda v: v & 3, lambda v, i: v * i, high(k)), (PLACES,),
        np.concatenate([v * np.arange(v & 3) for v in HIGH]), 3, 3,
    ),
    "the sum of as many of each": (
        lambda k: fw.sum(fw.expand(lambda v: v & 3, lambda v, i: v * i, high(k))), (PLACES,),
        sum((v * np.arange(v & 3)).sum() for v in HIGH), 3, 2,
    ),
    "a sum for each": (
        lambda k: fw.expand_reduce(lambda v: v & 3, lambda v, i: v * i, fw.add, 0, high(k)),
        (PLACES,), np.array([(v * np.arange(v & 3)).sum() for v in HIGH]), 3, 3,
    ),
    "neighbours": (
        lambda x: (lambda y: fw.sum(y[1:] * y[:-1]))(positive(x)), (XS,),
        (KEPT[1:] * KEPT[:-1]).sum(), 2, 1,
    ),
    "what is dear": (lambda x: dear(positive(x)), (XS,), dear(KEPT), 2, 1),
    "from the end": (
        lambda x: fw.scan(fw.add, 0.0, positive(x), reverse=True), (XS,),
        np.cumsum(KEPT[::-1])[::-1], 2, 2,
    ),
    "every turn of a loop": (
        lambda x: (lambda y: fw.fori_loop(0, 3, lambda k, s: s + fw.sum(y * k), 0.0))(positive(x)),
        (XS,), KEPT.sum() * 3, 2, 1,
    ),
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, target):
    """Those of NumPy."""
    f, args, wanted, _, _ = PROGRAMS[name]
    found = fw.jit(f)(*args)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]

    for a, b in pairs:
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled
@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_and_arrays(name):
    """One pass over the data, and no array but the results, where that can be."""
    f, args, _, kernels, arrays = PROGRAMS[name]
    stages = opened(f, *args)

    assert (stages.kernels, len(stages.manifest)) == (kernels, arrays)


@pytest.mark.parametrize("kept", [0, 1, 777])
def test_nothing_one_or_all(kept, target):
    """Dropped elements leave nothing, wherever the filter is."""
    x = np.where(np.arange(777) < kept, 1.0, -1.0)

    def several(x):
        y = positive(x)
        return fw.sum(y), y.shape[0], fw.reduce(fw.minimum, 9.0, y), fw.sum(fw.cumsum(y))

    total = kept * (kept + 1) / 2
    assert [float(v) for v in fw.jit(several)(x)] == [kept, kept, 1.0 if kept else 9.0, total]


def test_the_least_of_nothing_is_refused(target):
    """The check of the number comes after the pass that finds both."""
    with pytest.raises(ValueError, match="zero-size array"):
        fw.jit(lambda x: fw.min(positive(x)))(-abs(XS))


def test_what_fails_at_elements_that_are_not_kept(target):
    """A read that a filter makes safe is made at kept elements only."""
    at = np.array([-1000, 3, 10**9, 1])

    def read(k):
        return fw.sum(fw.gather(fw.iota(4) * 2, fw.filter(lambda v: (v >= 0) & (v < 4), k)))

    assert fw.jit(read)(at) == 8


def counted_out(k):
    """As many of each element as it says, of those that are let through; and sums of them."""
    kept = fw.filter(lambda v: v[1] > 0, k)[0]
    sums = fw.expand_reduce(lambda v: v, lambda v, i: v + i, fw.add, 0, kept)
    return fw.expand(lambda v: v, lambda v, i: v + i, kept), sums


@pytest.mark.parametrize("shown", [[], [0], [1], [0] * 200, [1] * 200, [1, 0, 0] * 43])
def test_sizes_of_kept_elements(shown, target):
    """A size below 0 is allowed for a dropped element: nothing, one or all of them are kept."""
    shown = np.array(shown, np.int64)
    sizes = np.where(shown > 0, np.arange(len(shown)) % 5, -7)
    found, sums = fw.jit(counted_out)((sizes, shown))
    kept = sizes[shown > 0]

    assert np.array_equal(found, np.concatenate([[], *(v + np.arange(v) for v in kept)]))
    assert np.array_equal(sums, [(v + np.arange(v)).sum() for v in kept])


def test_a_kept_size_below_zero_is_refused(target):
    """With its value, wherever it stands."""
    sizes, shown = np.full(300, -7), np.zeros(300, np.int64)
    sizes[[4, 250]], shown[[4, 250]] = [2, -3], 1

    with pytest.raises(fw.NegativeExtentError, match="got -3"):
        fw.jit(counted_out)((sizes, shown))


def test_kept_sizes_that_add_up_to_too_much_are_refused():
    """With the number of those kept before, as without the filter's pass."""
    sizes, shown = np.array([1, 2**62, 5, 2**62]), np.array([1, 1, 0, 1])

    with pytest.raises(fw.ExtentOverflowError, match="at element 2"):
        fw.jit(counted_out, target="cpu")((sizes, shown))


def test_bits_do_not_depend_on_threads(threads):
    """The order of combination is that of positions among all elements: sizes alone decide."""
    x = np.random.default_rng(5).standard_normal(300_001)
    f = fw.jit(lambda x: (fw.sum(positive(x) * 0.1), fw.sum(fw.cumsum(positive(x)))))
    with config.scoped(threads=1, target="cpu"):
        wanted = f(x)

    assert f(x) == wanted


def test_indices_that_are_selected_do_not_narrow_the_steps():
    """A register holds 32 bytes and 4 indices. A step takes 32 elements, as most have no index."""
    def ascending(x):
        flags = reduce(and_, [fw.shift(x, k) == k for k in range(5)])
        return flags, fw.flatnonzero(flags)

    with config.scoped(cpu="x86-64-v3"):
        text = str(opened(ascending, np.zeros(1000, np.uint8)))

    steps = re.findall(r"lanes (\d+) \((?:(?!lanes).)*store_compact", text, re.DOTALL)
    assert max(map(int, steps)) >= 32
