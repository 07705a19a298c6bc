"""Views that machine code reads where they are or copies, as Python does."""

import gc
import sys

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.trace.trace import view_of
from flatweave.runtime import calls
from tests.frontend.direct_calls import warm

MATRIX = np.arange(48.0).reshape(6, 8)
BLOCK = np.arange(60.0).reshape(3, 4, 5)
VIEWS = {
    "every second": np.arange(13.0)[1::2],
    "reversed": np.arange(13.0)[::-1],
    "block": MATRIX[1:-1, 2:],
    "transpose": MATRIX.T,
    "part of a transpose": MATRIX.T[::-1, 1:],
    "repeated rows": np.broadcast_to(MATRIX[0], (4, 8)),
    "repeated columns": np.broadcast_to(MATRIX[0, ::-1, None], (8, 4)),
    "one row": MATRIX[2:3, :0:-1],
    "of a block": BLOCK[1:, ::-1, 2:],
    "axes in another order": BLOCK.transpose(2, 0, 1),
}


@pytest.fixture
def small_views(monkeypatch):
    """Views of any size are read where they are."""
    monkeypatch.setattr(calls.LEAST, "value", 1)


def some_view(rng, rank):
    """A view of random layout; its elements are those of an array, some of them, in some order."""
    shape = rng.integers(1, 7, rank)
    x = np.arange(2.0 * np.prod(shape)).reshape(*shape[:-1], -1)
    x = x[tuple(slice(rng.integers(0, 2), None, rng.choice([1, 1, 2, 3])) for _ in shape)]
    x = x[tuple(slice(None, None, rng.choice([1, -1])) for _ in shape)]
    x = x.transpose(rng.permutation(rank))
    axis = rng.integers(rank)
    repeated = [3 if k == axis and n == 1 else n for k, n in enumerate(x.shape)]
    return np.broadcast_to(x, repeated) if x.size and rng.random() < 0.5 else x


@pytest.mark.parametrize("name", VIEWS)
def test_machine_code_takes_the_views_of_one_layout(name, small_views):
    """Those that Python takes for it, and no others."""
    rng = np.random.default_rng(len(name))
    x = VIEWS[name]
    layout = view_of(x).layout
    double = fw.jit(lambda x: x * 2, target="cpu")
    call = warm(double, x)
    np.testing.assert_array_equal(call(x), x * 2)
    taken = 0
    for _ in range(3000):
        y = some_view(rng, x.ndim)
        view = view_of(y)
        result = call(y)
        if view is None or view.layout != layout:
            assert result is NotImplemented
        else:
            taken += 1
            np.testing.assert_array_equal(result, y * 2)
    assert taken > 3
    assert call(x.astype("f4")) is NotImplemented
    assert call(x[None]) is NotImplemented


def test_smaller_views_are_copied():
    """By machine code, too; and others that no program reads where they are."""
    double = fw.jit(lambda x, by: x * by, target="cpu")
    call = warm(double, MATRIX, 2.0)
    unaligned = np.frombuffer(b"x" + MATRIX.tobytes(), "u1")[1:].view("f8").reshape(6, 8)
    for x in (MATRIX.T, MATRIX[::-1], MATRIX[:, ::3], MATRIX[:0, ::2], unaligned,
              np.lib.stride_tricks.sliding_window_view(MATRIX[0], 4)):  # fmt: skip
        np.testing.assert_array_equal(call(x, 2.0), x * 2, strict=True)
    large = np.zeros((300, 900))
    for x in (large[:, ::3], large.T, large[:, 1:]):
        assert call(x, 2.0) is NotImplemented
        np.testing.assert_array_equal(double(x, 2.0), x * 2, strict=True)


def test_copies_are_freed_and_arguments_kept(small_views):
    """An argument has as many references as before."""
    for least in (1, 1 << 16):
        calls.LEAST.value = least
        x = MATRIX.copy().T
        pair = fw.jit(lambda x: (x * 2, x), target="cpu")
        call = warm(pair, x)
        count = sys.getrefcount(x)
        for _ in range(100):
            results = call(x)
        assert results is not NotImplemented
        assert sys.getrefcount(x) == count
        np.testing.assert_array_equal(results[1], x)
        x[:] = -1
        np.testing.assert_array_equal(results[1], MATRIX.T)
        gc.collect()


def test_views_in_structures_and_by_name(small_views):
    """As those by position."""
    left, right = MATRIX[1:, :0:-1], MATRIX[:-1, 1:]
    add = fw.jit(lambda parts, *, by: parts[0] * by[0] + parts[1], target="cpu")
    for _ in range(3):
        add((left, right), by=[3])
    call = add._direct.call
    np.testing.assert_array_equal(call((left, right), by=[3]), left * 3 + right)
    assert call((right, left), by=[3]) is NotImplemented
    np.testing.assert_array_equal(add((right, left), by=[3]), right * 3 + left)


def test_an_axis_of_one_element_is_broadcast(small_views):
    """By the program of such calls."""
    add = fw.jit(lambda x, y: x + y, target="cpu")
    for _ in range(4):
        for x, y in ((MATRIX[:, ::-1], MATRIX), (MATRIX[:, ::-1], MATRIX[:1]),
                     (MATRIX[2:3, ::-1], MATRIX), (MATRIX[2:3, ::-1], MATRIX[:, :1])):  # fmt: skip
            np.testing.assert_array_equal(add(x, y), x + y)


@pytest.mark.parametrize("target", ["cpu", "auto"])
def test_layouts_are_of_programs_that_read_them(target, small_views):
    """A target that takes copies has one program for all layouts."""
    line = np.arange(9.0)
    first = fw.jit(lambda x: x * 2 - x[0], target=target)
    for _ in range(5):
        for x in (line[::-1], line, line[::2]):
            np.testing.assert_array_equal(first(x), x * 2 - x[0])


def test_public_functions_take_views_by_machine_code(small_views):
    """With the same results, by position and by name."""
    for x in VIEWS.values():
        for _ in range(4):
            np.testing.assert_array_equal(fw.add(x, 1), x + 1)
            np.testing.assert_array_equal(fw.sum(x), x.sum())
            np.testing.assert_array_equal(fw.sum(x, axis=0), x.sum(axis=0))
            np.testing.assert_array_equal(fw.max(x, axis=-1), x.max(axis=-1))
