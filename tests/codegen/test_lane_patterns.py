"""Places at known distances from each other: the elements of NumPy, by permutations of vectors."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from flatweave.codegen.llvm import isa
from flatweave.codegen.llvm.unit import emit
from flatweave.runtime.processor import TUNING, processor
from flatweave.terms.build import index
from tests.codegen.llvm_programs import for_each, kernel_unit, run_kernel, type_of

SLOW = TUNING["znver4"]
AT_ONCE, ONE_BY_ONE = isa.of(processor().features - SLOW), isa.of(processor().features | SLOW)

COUNT, ROOM = 64, 512
PLACES = {
    "partners": [("xor", 1)],
    "turned pairs of pairs": [("xor", 3)],
    "partners afar": [("xor", 33)],
    "left ones": [("twice", -2)],
    "right ones": [("twice", -4), ("xor", 4)],
    "evens": [("shl", 1)],
    "odds": [("shl", 1), ("or", 1)],
    "each twice": [("shr", 1)],
    "each four times, from 9 on": [("floordiv", 4), ("add", 9)],
    "rows of four": [("mod", 4)],
    "first of each pair": [("and", -2)],
    "back": [("xor", 7), ("shl", 1)],
    "apart": [("shl", 2)],
    "every third, from 5 on": [("mul", 3), ("add", 5)],
    "every third, backwards": [("mul", -3), ("add", 190)],
    "too far apart": [("mul", 5)],
    "odd ones in turned pairs": [("mul", 2), ("add", 1), ("xor", 2)],
    "between": [("add", 3), ("xor", 2)],
}
ONE_PLACE = ("each twice", "each four times, from 9 on", "rows of four", "first of each pair")
"""Where several lanes have the same: of those the last one is stored."""
GATHERED = ("between", "too far apart")
"""Over more than four registers, or of lanes that do not begin at a multiple."""
SCATTERED = ("apart", "every third, from 5 on", "every third, backwards")
"""Over more than two registers."""
FUNCTIONS = {
    "xor": operator.xor, "shl": operator.lshift, "or": operator.or_, "and": operator.and_,
    "shr": operator.rshift, "floordiv": operator.floordiv, "mod": operator.mod,
    "add": operator.add, "mul": operator.mul, "twice": lambda x, by: x + (x & by),
}  # fmt: skip


def place_of(w, i, steps):
    """The index of a lane, in code."""
    for fn, by in steps:
        if fn == "twice":
            i = w.add(i, w.apply("and", i, index(by)))
        else:
            i = w.apply(fn, i, index(by))
    return i


def places(steps):
    """The same in NumPy."""
    at = np.arange(COUNT)
    for fn, by in steps:
        at = FUNCTIONS[fn](at, by)
    return at


def body_of(steps, width, *, stores):
    """`ys[i] = xs[place]` for all i, or `ys[place] = xs[i]`."""

    def body(w, xs, ys):
        def lane(w, i):
            at = place_of(w, i, steps)
            if stores:
                w.store(ys, at, w.load(xs, i))
            else:
                w.store(ys, i, w.load(xs, at))

        for_each(w, index(COUNT), width, lane)

    return body


def given(dtype):
    """Elements, and room for others that hold something."""
    rng = np.random.default_rng(3)
    xs, ys = (rng.integers(0, 2 if dtype == "bool" else 100, ROOM).astype(dtype) for _ in range(2))
    return xs, ys


def check(steps, dtype, width, cpu=AT_ONCE):
    """The elements at the wanted indices, and no others."""
    at = places(steps)
    xs, ys = given(dtype)
    loaded, stored = ys.copy(), ys.copy()
    run_kernel(body_of(steps, width, stores=False), xs, loaded, isa=cpu)
    run_kernel(body_of(steps, width, stores=True), xs, stored, isa=cpu)

    np.testing.assert_array_equal(loaded[:COUNT], xs[at])
    np.testing.assert_array_equal(loaded[COUNT:], ys[COUNT:])
    wanted = ys.copy()
    for i, place in enumerate(at):
        wanted[place] = xs[i]
    np.testing.assert_array_equal(stored, wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(("dtype", "width"), [("float32", 8), ("uint8", 16), ("bool", 4)])
@pytest.mark.parametrize("cpu", [AT_ONCE, ONE_BY_ONE], ids=["at once", "one by one"])
def test_what_is_loaded_and_stored(name, dtype, width, cpu):
    """As in NumPy."""
    check(PLACES[name], dtype, width, cpu)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_any_places(seed):
    """Chains of functions, on any number of lanes."""
    rng = np.random.default_rng(seed)
    steps = []
    for _ in range(rng.integers(1, 5)):
        fn = rng.choice(list(FUNCTIONS))
        by = rng.integers(1, 3) if fn in ("shl", "shr") else 2 ** rng.integers(0, 5)
        if fn in ("xor", "or", "add"):
            by = rng.integers(0, 40)
        if fn == "mul":
            by = rng.integers(1, 5)
        steps.append((str(fn), -int(by) if fn == "twice" else int(by)))
    if places(steps).max() >= ROOM:
        steps.append(("mod", 64))
    for width in (2, 4, 16, 32):
        check(steps, "int32", width)


@pytest.mark.parametrize("name", PLACES)
def test_nothing_is_gathered(name):
    """Nor scattered, unless strides are large, or lanes store to one index."""
    for stores, word in [(False, "masked.gather"), (True, "masked.scatter")]:
        xs = np.zeros(ROOM, np.float32)
        unit = kernel_unit([type_of(xs)] * 2, body_of(PLACES[name], 8, stores=stores))
        apart = name in GATHERED or (stores and name in (*ONE_PLACE, *SCATTERED))
        assert (word in emit(unit, AT_ONCE)) == apart
        assert not apart or (word in emit(unit, ONE_BY_ONE)) == ONE_BY_ONE.has_gathers


def test_under_a_mask_lanes_are_gathered():
    """The memory between them may hold no elements then."""

    def body(w, xs, ys):
        def lane(w, i):
            at = w.apply("xor", i, index(1))
            condition = w.apply("lt", w.load(xs, i), w.load(ys, index(0)))
            w.when(condition, lambda w: w.store(ys, i, w.load(xs, at)))

        for_each(w, index(COUNT), 8, lane)

    xs = np.zeros(ROOM, np.float32)
    assert "masked.gather" in emit(kernel_unit([type_of(xs)] * 2, body), AT_ONCE)
