"""O20 to O23: kernels made by Python, divide and conquer, comparators, who does what."""

import itertools

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused

N, LOG = 16, 4
ALL = np.array(list(itertools.product([0, 1], repeat=N)), np.uint8)[:: 17]
"""Inputs of zeros and ones: a network that sorts all of them sorts everything; every 17th here."""


def plus(a, b):
    return a + b


def lower(a, b):
    return fw.minimum(a, b)


def upper(a, b):
    return fw.maximum(a, b)


def by_blocks(stage, n=N):
    """A kernel that gives `stage` of each part of n elements."""
    return fk.kernel(lambda xs: fk.pconcat_map(stage, fk.split_up(n, xs)), threads=32)


def bitonic(column, first):
    """The thesis's tsort: `first` is vee, `column` ilv."""
    return fk.compose(
        first(i - 1, lower, upper) if k == 1 else column(i - k, lower, upper)
        for i in range(1, LOG + 1) for k in range(1, i + 1)
    )


def vsort(column):
    return fk.compose(
        column(i, j, lower, upper)
        for i in range(LOG - 1, -1, -1) for j in range(LOG - 1 - i, -1, -1)
    )


def balanced(column):
    """A periodic merger, as often as it takes."""
    return fk.repeated(LOG, fk.compose(column(LOG - i, lower, upper) for i in range(1, LOG + 1)))


def both(a, b):
    return lower(a, b), upper(a, b)


def merge(n):
    """Batcher's odd-even merger."""
    if n == 1:
        return fk.on_evens(both)
    return lambda xs: fk.on_odds(both)(fk.force(fk.ilv(forced(merge(n - 1)))(xs)))


def forced(stage):
    return lambda xs: fk.force(stage(xs))


def odd_even(n):
    if n == 0:
        return lambda xs: xs
    return lambda xs: fk.force(merge(n)(fk.force(fk.two(odd_even(n - 1))(xs))))


def shuffle_exchange(xs):
    """The perfect shuffle, again and again, is what a bitonic merger is made of."""
    return fk.repeated(LOG, lambda part: fk.on_evens(both)(fk.riffle(part)))(xs)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "sort",
    [bitonic(fk.ilv1, fk.vee1), bitonic(fk.ilv2, fk.vee2), vsort(fk.ilv_vee1), vsort(fk.ilv_vee2),
     balanced(fk.vee1), balanced(fk.vee2)],
    ids=["tsort1", "tsort2", "vsort1", "vsort2", "periodic1", "periodic2"],
)  # fmt: skip
def test_networks_sort(sort):
    """Zeros and ones, and numbers."""
    numbers = np.random.default_rng(22).integers(0, 99, 4 * N)

    check(by_blocks(sort), ALL.ravel(), want=np.sort(ALL, 1).ravel(), simulate=False)
    check(by_blocks(sort), numbers, want=np.sort(numbers.reshape(-1, N), 1).ravel())


def test_odd_even_merge_sort():
    """By ilv, two, and pairs of neighbours."""
    xs = np.random.default_rng(2).integers(0, 99, 16)

    check(by_blocks(odd_even(3), 8), xs, want=np.sort(xs.reshape(-1, 8), 1).ravel())


def test_shuffle_exchange_merges_bitonic():
    """Up, then down: becomes sorted."""
    xs = np.array([1, 4, 6, 9, 12, 14, 15, 20, 19, 18, 11, 10, 7, 5, 3, 2])

    check(by_blocks(shuffle_exchange), xs, want=np.sort(xs))


def test_columns_pair_as_they_say():
    """With f and g that do not commute, elements and pairs agree."""
    f, g = (lambda a, b: 2 * a - b), (lambda a, b: 3 * b + a)
    xs = np.random.default_rng(5).integers(0, 99, 2 * N)
    for one, two, args in ((fk.ilv1, fk.ilv2, (2,)), (fk.vee1, fk.vee2, (3,)),
                           (fk.ilv_vee1, fk.ilv_vee2, (1, 2))):
        kernel, pairs = by_blocks(one(*args, f, g)), by_blocks(two(*args, f, g))
        want = kernel(xs)
        check(kernel, xs, want=want)
        check(pairs, xs, want=want)
    i = np.arange(2 * N)
    left = i & 4 == 0
    want = np.where(left, 2 * xs - xs[i ^ 4], 3 * xs + xs[i ^ 4])
    check(by_blocks(fk.ilv1(2, f, g)), xs, want=want)
    same = (fk.vee1(2, f, g), fk.ilv_vee1(0, 2, f, g)), (fk.ilv1(3, f, g), fk.ilv_vee1(3, 0, f, g))
    for one, other in same:
        assert by_blocks(one)(xs).tolist() == by_blocks(other)(xs).tolist()


def sklansky(n, op):
    """A fan after both halves, after the halves of those."""
    if n == 0:
        return []
    return [*sklansky(n - 1, op), fk.bin_split(LOG - n, fk.fan(op))]


def test_divide_and_conquer():
    """bin_split, fan and compose: Sklansky's scan, whose kernel is made for 2^4 elements."""
    xs = np.random.default_rng(21).integers(0, 99, 3 * N)

    check(by_blocks(fk.compose(sklansky(LOG, plus))), xs, want=xs.reshape(-1, N).cumsum(1).ravel())


def test_stages_that_are_not_stored():
    """compose with another store: all of it fuses."""
    stage = fk.compose([fk.two(fk.reverse), fk.reverse], store=lambda xs: xs)
    kernel = by_blocks(stage)

    check(kernel, np.arange(N), want=np.r_[8:16, 0:8])
    assert "shared" not in kernel.text["kernel"]


@pytest.mark.parametrize("x", range(32))
def test_bits(x):
    """The helpers are plain functions of ints, too."""
    assert fk.one_bits(3) == 7
    assert fk.flip_bit(2, x) == x ^ 4
    assert fk.flip_lsbs_to(2, x) == x ^ 7
    assert fk.flip_bits_from(1, 2, x) == x ^ 14
    assert fk.zero_bits(2, x) == x // 4 * 4
    assert fk.low_bit(3, x) == (x // 8 % 2 == 0)
    assert fk.insert_zero(2, x) == x // 4 * 8 + x % 4


def test_bits_below_zero_and_elements_that_are_no_tuples():
    """Both are users' mistakes, inside and outside of a kernel."""
    for wrong in (fk.one_bits, lambda i: fk.flip_bit(i, 3), lambda i: fk.flip_bits_from(0, i, 1)):
        with pytest.raises(fw.ShapeError, match=r"of bits"):
            wrong(-2)
    with pytest.raises(fw.ArgumentError, match=r"unzip needs an array of tuples"):
        fk.kernel(lambda xs: fk.unzip(xs), target="interp")(np.arange(4))


@pytest.mark.parametrize("threads", [8, 32])
def test_who_does_what(threads):
    """O23: sixteen threads with two elements each, at a distance of half the length."""
    xs = np.arange(64)

    kernel = fk.kernel(lambda xs: fk.pconcat_map(
        lambda part: fk.push_how(16, lambda t: [t, t + 16], fk.map(lambda x: x + 1, part)),
        fk.split_up(32, xs)), threads=threads)

    check(kernel, xs, want=xs + 1)
    assert "for_all thread 16" in kernel.text["kernel"]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda xs: fk.push_how(4, lambda t: [t], xs), "for the threads of a block"),
        (lambda xs: by(xs, lambda p: fk.push_how(0, lambda t: [t], p)), "among 0 threads"),
        (lambda xs: by(xs, fk.bin_split(3, fk.reverse)), "needs 8 parts of one length"),
        (lambda xs: by(xs, fk.vee1(2, lower, upper)), "pairs elements within 8, and 12"),
        (lambda xs: by(xs, fk.ilv2(2, lower, upper)), "pairs elements within 8, and 12"),
        (lambda xs: fk.two(fk.reverse)(xs), "known at run time only"),
    ],
)  # fmt: skip
def test_refused(write, message):
    """Lengths that do not go into parts."""
    assert message in refused(fk.kernel(write), np.arange(24))


def by(xs, stage):
    return fk.pconcat_map(stage, fk.split_up(12, xs))
