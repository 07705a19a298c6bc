"""Scattering sorted by index: in order, by any operator, the same bits in each run on a device."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import CHOSEN
from tests.codegen.device_programs import expected, flat, on_opencl, traced
from tests.language.agreement import same

SIZES = [0, 1, 127, 128, 129, 1023, 1025, 30_000]


def compose(a, b):
    """Functions in order: the order matters."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def first(a, b):
    """The one that came first; no element is neutral."""
    return a + b * 0


def programs(idx, vals):
    """Operators with and without a neutral element, of pairs, of constants, after scans, in
    reverse, of two axes and of an expansion; indices outside are dropped."""
    square = fw.generate((7, idx.shape[0]), lambda r, k: idx[k] + r * 3)
    return (
        fw.permute(compose, (fw.full(70, 1), fw.full(70, 5)), idx, (vals % 3 - 1, vals),
                   check=False),
        fw.reduce_by_index((fw.full(70, 2), fw.full(70, 3)), compose, (1, 0), idx, (vals, idx),
                           check=False),
        fw.permute(first, fw.where(fw.iota(70) % 2 == 0, -5, 7), idx, vals, check=False),
        fw.histogram(1000, idx, 3),
        fw.permute(fw.maximum, fw.full(9, -1.5), idx, fw.scan(fw.add, 0, vals) * 0.5),
        fw.permute(first, fw.full(70, 1), idx, fw.scan(fw.add, 0, vals, reverse=True),
                   check=False),
        fw.permute(fw.bitwise_xor, fw.full((7, 10), 1), (square % 9, square // 9), square),
        fw.permute(fw.add, fw.full(idx.shape[0], 1), idx, vals),
        fw.histogram(50, fw.expand(lambda v: v % 4, lambda v, i: v + i, vals), 2),
    )


def few(idx, vals):
    """The most different of these: no neutral element; a pair in order, after a scan."""
    order = fw.scan(fw.add, 0, vals % 3, reverse=True) % 3 - 1
    return (
        fw.permute(first, fw.where(fw.iota(70) % 2 == 0, -5, 7), idx, vals, check=False),
        fw.permute(compose, (fw.full(70, 1), fw.full(70, 5)), idx, (order, vals),
                   check=False),
    )


def data(n):
    """Indices inside and outside on both sides, most of them equal; and values."""
    random = np.random.default_rng(n)
    idx = np.where(random.random(n) < 0.5, 17, random.integers(-2, 73, n))
    return idx, random.integers(0, 50, n)


def agrees(f, wanted, sizes):
    """Whether all results are the interpreter's."""
    for n in sizes:
        found, expected = f(*data(n)), wanted(*data(n))
        for ours, reference in zip(found, expected, strict=True):
            pairs = (ours, reference) if isinstance(ours, tuple) else ((ours,), (reference,))
            for a, b in zip(*pairs, strict=True):
                same(a, b)


def test_it_is_what_the_interpreter_gives():
    """On a CPU, by who wishes for it; for any number of threads."""
    f, wanted = fw.jit(few, target="cpu"), fw.jit(few, target="interp")
    with fw.schedule(permute="sorted"):
        agrees(f, wanted, SIZES)
        for threads in (1, 3, 7):
            with config.scoped(threads=threads):
                agrees(f, wanted, [1025])


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", pytest.param("opencl", marks=pytest.mark.needs_opencl)])
def test_whatever_is_scattered(target):
    """All of the programs, where it is wished for and where it is chosen."""
    with fw.schedule(permute="sorted"):
        agrees(fw.jit(programs, target=target), fw.jit(programs, target="interp"), SIZES)


def sums(idx, vals):
    """Sums of floats."""
    return fw.histogram(9000, idx, vals, fw.add, 0.0)


def nearest(idx, vals):
    """For pairs, the first among equals."""
    pair = fw.full(9000, 9.0), fw.full(9000, 0.0)
    return fw.permute(
        lambda a, b: tuple(fw.where(a[0] <= b[0], x, y) for x, y in zip(a, b, strict=True)),
        pair, idx, (fw.floor(vals), vals),
    )  # fmt: skip


@pytest.mark.needs_opencl
@pytest.mark.parametrize("f", [sums, pytest.param(nearest, marks=pytest.mark.slow)])
def test_the_same_bits_in_each_run(f):
    """Twenty of them on a device, most elements with few indices; other operators as on the CPU."""
    random = np.random.default_rng(4)
    args = flat(random.zipf(1.3, 60_000) % 9000, random.standard_normal(60_000))
    made = traced(f.__name__, f, *args[1::2])
    run = on_opencl(made, wishes=CHOSEN).run
    runs = [[np.asarray(x) for x in run(args)] for _ in range(20)]

    assert len({tuple(x.tobytes() for x in found) for found in runs}) == 1
    for found, wanted in zip(runs[0], expected(made, args), strict=True):
        tolerance = 1e-9 if f is sums else 0
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_atomics_only_where_bits_may_differ():
    """Or where they are the same in any order; `deterministic=False` says that they may."""
    idx, vals = np.zeros(9, np.int64), np.ones(9)

    def is_sorted(f, **given):
        launched = fw.jit(f, target="cuda", **given).stages(idx, vals).launched
        return any("sorted" in name for name, _, _ in launched)

    def floats(idx, vals):
        return fw.histogram(50_000, idx, vals, fw.add, 0.0)

    assert not is_sorted(lambda idx, vals: fw.histogram(5, idx))
    assert is_sorted(floats)
    assert not is_sorted(floats, deterministic=False)
