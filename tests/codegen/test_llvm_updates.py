"""Updates by any function in LLVM: swaps of every width, of two words, and under locks."""

from __future__ import annotations

import numpy as np
import pytest

from flatweave.base.dtypes import BY_NAME, u64
from flatweave.kernel_ir.memory_ops import AtomicUpdate, LockedUpdate
from flatweave.terms.build import index
from flatweave.terms.syntax import Const
from tests.codegen.llvm_programs import for_each, run_kernel

WIDTHS = [1, 4, 16, 64]
COUNT, PLACES = 203, 7


def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places that collide, which lanes run, and values."""
    random = np.random.default_rng(5)
    places, keep = random.integers(0, PLACES, COUNT), random.random(COUNT) < 0.7
    return places, keep, random.integers(0, 100, COUNT)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["bool", "i8", "u16", "i32", "f32", "u64", "f64"])
@pytest.mark.parametrize("width", WIDTHS)
def test_swaps_of_one_word(width: int, dtype: str) -> None:
    """The greatest of what lanes under a mask bring, spelled as a choice."""
    places, keep, raw = columns()
    of = BY_NAME[dtype]
    xs, ys = raw.astype(of.numpy), np.zeros(PLACES, of.numpy)
    expected = ys.copy()
    np.maximum.at(expected, places[keep], xs[keep])

    def body(w, n, places, keep, xs, ys):
        greater = w.fn([of, of], lambda w, a, b: w.apply("select", w.apply("gt", a, b), a, b))

        def each(w, i):
            j, x = w.load(places, i), w.load(xs, i)
            w.when(w.load(keep, i), lambda w: w.do(AtomicUpdate(greater, ys, j, (x,))))

        for_each(w, n, width, each)

    run_kernel(body, COUNT, places, keep, xs, ys)
    np.testing.assert_array_equal(ys, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_swaps_of_two_words(width: int) -> None:
    """Count and sum, which live and die together."""
    places, _, raw = columns()
    xs, pairs = raw.astype(np.uint64), np.zeros((PLACES, 2), np.uint64)
    expected = pairs.copy()
    np.add.at(expected, places, np.stack([np.ones_like(xs), xs], axis=1))

    def body(w, n, places, xs, pairs):
        both = w.fn([u64] * 4, lambda w, a, b, c, d: (w.apply("add", a, c), w.apply("add", b, d)))

        def each(w, i):
            values = (Const(1, u64), w.load(xs, i))
            w.do(AtomicUpdate(both, pairs, w.load(places, i), values))

        for_each(w, n, width, each)

    run_kernel(body, COUNT, places, xs, pairs)
    np.testing.assert_array_equal(pairs, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_updates_under_locks(width: int) -> None:
    """Elements of three arrays, fewer locks than elements; every lock is released."""
    places, keep, raw = columns()
    xs, fs = raw, (raw / 4).astype(np.float32)
    sums, least, any_ = np.zeros(PLACES, np.int64), np.full(PLACES, 99, np.float32), np.zeros(
        PLACES, np.bool_)  # fmt: skip
    locks = np.zeros(4, np.uint32)
    wanted = sums.copy(), least.copy(), any_.copy()
    np.add.at(wanted[0], places[keep], xs[keep])
    np.minimum.at(wanted[1], places[keep], fs[keep])
    np.logical_or.at(wanted[2], places[keep], xs[keep] > 90)

    def body(w, n, places, keep, xs, fs, sums, least, any_, locks):
        types = [BY_NAME[name] for name in ("i64", "f32", "bool")] * 2
        fn = w.fn(types, lambda w, a, b, c, d, e, f: (
            w.apply("add", a, d), w.apply("minimum", b, e), w.apply("or", c, f)))  # fmt: skip

        def each(w, i):
            x = w.load(xs, i)
            values = (x, w.load(fs, i), w.apply("gt", x, index(90)))
            update = LockedUpdate(fn, locks, 4, (sums, least, any_), w.load(places, i), values)
            w.when(w.load(keep, i), lambda w: w.do(update))

        for_each(w, n, width, each)

    run_kernel(body, COUNT, places, keep, xs, fs, sums, least, any_, locks)
    for found, want in zip((sums, least, any_), wanted, strict=True):
        np.testing.assert_array_equal(found, want)
    assert not locks.any()
