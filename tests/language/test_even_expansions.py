"""Expansions whose sizes are one constant: positions are divided, no sizes are stored."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same
from tests.quick import every

MORE = [pytest.param(size, marks=pytest.mark.slow) for size in (3, 5, 7, 31, 63)]
SIZES = [0, 1, 2, 4, 8, 9, 33, 64, 65, 1000, *MORE]
COUNTS = [0, 1, 2, 15, 127, 129, 1025]


def sources(n: int) -> np.ndarray:
    """Numbers that tell one source from another."""
    return np.random.default_rng(n).integers(-1000, 1000, n)


@pytest.mark.parametrize("size", SIZES)
def test_each_source_as_often(target, size):
    """Stored, summed, scanned and filtered, in elements of several widths."""
    for n in COUNTS:
        xs, ys = sources(n), sources(n + 1)[:n].astype(np.int16)

        def f(xs, ys, size=size):
            spread = fw.expand(lambda p: size, lambda p, i: p[0] * 7 + p[1] * i, (xs, ys))
            small = fw.expand(lambda y: size, lambda y, i: y + i.astype(fw.i16), ys)
            kept = fw.filter(lambda v: v > 3, small)
            return spread, fw.sum(spread), fw.cumsum(spread), small, kept

        every, places = np.repeat(np.arange(n), size), np.tile(np.arange(size), n)
        spread = xs[every] * 7 + ys[every] * places
        small = (ys[every] + places).astype(np.int16)
        found = fw.jit(f)(xs, ys)
        same(found[0], spread)
        assert int(found[1]) == spread.sum()
        same(found[2], np.cumsum(spread))
        same(found[3], small)
        same(found[4], small[small > 3])


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["owner", "private", "partition", None])
@pytest.mark.parametrize("size", every(2, [3, 4, 2, 9, 70]))
def test_into_places(name, size):
    """Neighbours that are computed together go where they belong, in order where that matters."""
    for n in (0, 1, 7, 129, 3001):
        xs = sources(n)

        def compose(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        def f(xs, size=size):
            at, vals = fw.expand(lambda x: size, lambda x, i: ((x + i) % 40 - 2, x * 3 + i), xs)
            sums = fw.permute(fw.add, fw.full(37, 5), at, vals)
            line = (fw.full(37, 1), fw.full(37, 0))
            composed = fw.reduce_by_index(line, compose, (1, 0), at, (vals % 5, vals), check=False)
            return sums, composed

        with config.scoped(target="interp"):
            wanted = fw.jit(f)(xs)
        for threads in (1, 2, 3):
            with config.scoped(target="cpu", threads=threads), fw.schedule(permute=name):
                same(fw.jit(f)(xs), wanted)


@pytest.mark.parametrize("size", [1, 4, 63])
def test_no_sizes_are_stored(size):
    """One kernel, and nothing in memory but what comes out."""
    f = fw.jit(lambda xs: fw.sum(fw.expand(lambda x: size, lambda x, i: x * i, xs)))
    stages = f.stages(sources(100))

    assert stages.kernels == 1
    assert stages.manifest == []
    assert "locate" not in stages.text["fused"]


def test_sizes_that_add_up_to_too_much(target):
    """The message is that of any expansion, and names the first element that does not fit."""
    f = fw.jit(lambda xs: fw.sum(fw.expand(lambda x: 2**62, lambda x, i: x, xs)))

    with pytest.raises(fw.ExtentOverflowError, match="at element 1"):
        f(np.arange(2))


def test_a_negative_size(target):
    """Is refused, as any other."""
    with pytest.raises(fw.NegativeExtentError, match="a size of expand must not be negative"):
        np.asarray(fw.jit(lambda xs: fw.expand(lambda x: -1, lambda x, i: x, xs))(np.arange(3)))
