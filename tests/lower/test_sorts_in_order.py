"""What is in order already, or in reverse, is read once: the order is NumPy's stable one."""

import numpy as np
import pytest

import flatweave as fw
from tests.codegen.levels import LEVELS, in_force
from tests.language.test_sorting import order_of, same_bits, samples
from tests.lower.test_short_sorts import launched

LENGTHS = [0, 1, 2, 3, 63, 64, 65, 1023, 1025, 5000]
PASSES = {"network", "count", "partials"}
SORT = fw.jit(lambda xs: fw.sort(xs))
BOTH = fw.jit(lambda keys, xs: (*fw.sort_by_key(keys, xs), fw.argsort(keys, descending=True)))


def disturbed(kind, keys):
    """Keys in order, in reverse, or nearly so."""
    rising = keys[order_of(keys)]
    match kind:
        case "rises":
            return rising
        case "falls":
            return rising[::-1].copy()
        case "but the last":
            return np.roll(rising, -1)
        case "but the first":
            return np.roll(rising[::-1], 1)
    raise ValueError(kind)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["rises", "falls", "but the last", "but the first"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_values_go_along(target, kind, dtype):
    """With equal keys among them, NaN, and both zeros: these keep the order that they came in."""
    for n in LENGTHS:
        keys = disturbed(kind, samples(dtype, n, seed=n))
        order = order_of(keys)
        moved, places, down = BOTH(keys, np.arange(n))
        same_bits(moved, keys[order])
        same_bits(places, order)
        same_bits(down, order_of(keys, descending=True))


@pytest.mark.parametrize("n", [1, 2, 500, 5000])
def test_different_keys_in_reverse(target, n, threads):
    """Of one key and of several, of which the first ones tie."""
    keys = np.arange(n)[::-1]
    one, (first, second) = fw.argsort(-1.0 * np.arange(n)), fw.sort((keys // 3, keys % 3))
    same_bits(one, keys.copy())
    same_bits(first, np.sort(keys // 3))
    same_bits(second, np.arange(n) % 3)


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
def test_every_width_of_registers(level):
    """The last element has no successor, wherever it is in its register."""
    with in_force(level):
        argsort = fw.jit(lambda xs: fw.argsort(xs))
        for n in (7, 8, 9, 31, 33, 4099):
            up = np.arange(n) * 0.5
            for xs in (up, -up, np.roll(up, -1), -np.roll(up, -1), np.roll(up, 1)):
                same_bits(argsort(xs), order_of(xs))


def test_no_passes_over_what_is_in_order():
    """One launch reads it, and one more reverses descending keys."""
    up = np.arange(5000.0)
    assert not launched(SORT, up) & (PASSES | {"turned"})
    assert launched(SORT, -up) >= {"turned"} and not launched(SORT, -up) & PASSES
    assert launched(SORT, np.roll(up, 1)) & PASSES
    assert launched(SORT, np.roll(-up, 1)) & PASSES


def test_the_array_is_the_callers():
    """What is handed out is no argument, however little there was to do."""
    for xs in (np.arange(5000.0), np.arange(5000.0)[::-1].copy(), np.zeros(1)):
        found = np.asarray(SORT(xs))
        assert not np.shares_memory(found, xs)
        same_bits(found, np.sort(xs))
