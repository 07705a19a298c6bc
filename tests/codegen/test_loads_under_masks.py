"""Neighbouring elements under a mask: nothing is read of a page in which nothing is wanted."""

import ctypes
import mmap

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen.llvm.memory import PAGE
from tests.codegen.levels import LEVELS, in_force

DTYPES = [np.uint8, np.int16, np.float32, np.int64]
NOTHING = 0  # PROT_NONE


@pytest.fixture(scope="module")
def before_a_forbidden_page():
    """A page of bytes; the next one belongs to the process and cannot be read."""
    both = mmap.mmap(-1, 2 * PAGE)
    page = np.frombuffer(both, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    assert protect(page.ctypes.data + PAGE, PAGE, NOTHING) == 0
    yield page[:PAGE]
    assert protect(page.ctypes.data + PAGE, PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0


@fw.jit
def sums(rows):
    """Lanes go along a row; the last step of each has some of them."""
    return fw.map(lambda row: fw.sum(row * (row > 3)), rows)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_rows_end_where_memory_does(level, dtype, before_a_forbidden_page):
    """Rows of 1 to 70 elements, the last one at the end of the page."""
    xs = before_a_forbidden_page.view(dtype)
    xs[:] = np.arange(xs.size) % 7
    with in_force(level):
        for length in range(1, 71):
            lengths = [length] * min(5, xs.size // length)
            offsets = xs.size - sum(lengths) + np.cumsum([0, *lengths])
            offsets[0] = 0
            rows = fw.ragged(xs, offsets)
            kept = xs * (xs > 3)
            wanted = [kept[i:j].sum() for i, j in zip(offsets[:-1], offsets[1:], strict=True)]
            assert sums(rows).tolist() == wanted


@pytest.mark.parametrize("level", LEVELS)
def test_rows_lie_across_two_pages(level):
    """Wherever a row begins before the end of a page."""
    xs = np.arange(3 * PAGE, dtype=np.uint32).astype(np.uint8)
    start = -xs.ctypes.data % PAGE + PAGE
    with in_force(level):
        for before in (*range(1, 34), 63, 64, 65):
            lengths = np.array([start - before, 2 * before + 1, 9])
            offsets = np.cumsum([0, *lengths])
            rows = fw.ragged(xs[: offsets[-1]], offsets)
            kept = xs * (xs > 3)
            wanted = [
                kept[i:j].sum(dtype=np.uint8)
                for i, j in zip(offsets[:-1], offsets[1:], strict=True)
            ]
            assert (sums(rows).astype(np.uint8) == wanted).all()
