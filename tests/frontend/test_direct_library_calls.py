"""Programs whose steps are a library's, called by machine code."""

import gc
import sys
import threading

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import ArgumentError
from flatweave.base.plan import FUNCTIONS
from flatweave.frontend.call.direct import in_python
from tests.frontend.direct_calls import warm

A = np.random.default_rng(0).normal(size=(6, 6))


@fw.jit
def inverse(a):
    return fw.linalg.inv(a) + 1.0


@pytest.fixture(scope="module")
def call():
    """What machine code does of `inverse` for a matrix of f64."""
    return warm(inverse, A)


def test_a_step_of_a_library_needs_no_python_around_it(call):
    """Matrices of any size; the result of each call is memory of its own."""
    for n in (1, 6, 40, 0):
        a = np.random.default_rng(n).normal(size=(n, n))
        np.testing.assert_array_equal(call(a), np.linalg.inv(a) + 1.0, strict=True)


def test_products_in_programs_are_called_directly():
    """Large ones are BLAS's, small ones the program's, by one signature."""
    product = fw.jit(lambda a, b: a @ b)
    direct = warm(product, A, A)
    large = np.random.default_rng(1).normal(size=(96, 96))
    np.testing.assert_array_equal(direct(large, large), large @ large)
    np.testing.assert_allclose(direct(A, A), A @ A)


def test_what_a_library_refuses_is_raised_by_python():
    """With the user's line each time; nothing is kept, and calls in between succeed."""
    f = fw.jit(lambda a: fw.linalg.inv(a) + 1.0)
    direct = warm(f, A)
    singular = np.zeros((3, 3))
    assert direct(singular) == 0
    before = sys.getrefcount(singular)
    for _ in range(3):
        with pytest.raises(ArgumentError, match="singular matrix") as raised:
            f(singular)
        assert "test_direct_library_calls.py:" in str(raised.value)
        np.testing.assert_array_equal(f(A), np.linalg.inv(A) + 1.0)
    del raised
    gc.collect()
    assert sys.getrefcount(singular) == before
    np.testing.assert_array_equal(f._direct.call(A), np.linalg.inv(A) + 1.0)


def test_an_interrupt_in_a_library_is_raised(monkeypatch):
    """It is neither lost nor repeated."""
    f = fw.jit(lambda a: fw.linalg.inv(a) + 2.0)
    direct = warm(f, A)
    (name,) = [name for name in FUNCTIONS if f" {name} " in f.stages(A).text["flat"]]
    work, calls = FUNCTIONS[name], []

    def interrupted(values):
        calls.append(len(values))
        raise KeyboardInterrupt

    monkeypatch.setitem(FUNCTIONS, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        direct(A)
    assert calls == [1]
    monkeypatch.setitem(FUNCTIONS, name, work)
    np.testing.assert_array_equal(direct(A), np.linalg.inv(A) + 2.0)


def test_rows_of_a_map_and_functions_of_users_are_called_by_python():
    """Users may keep what their functions are given."""
    rows = fw.jit(lambda stack: fw.map(fw.linalg.inv, stack))
    kept = []
    users = fw.jit(lambda a: fw.pure_callback(lambda x: kept.append(x) or x + 1, a, a))
    stack = np.stack([A, A.T])
    for _ in range(4):
        np.testing.assert_array_equal(rows(stack), np.linalg.inv(stack))
        np.testing.assert_array_equal(users(A), A + 1)
    assert rows._direct.call is in_python and users._direct.call is in_python
    np.testing.assert_array_equal(kept[0], A)


def test_threads_call_libraries_at_once(call):
    """Each gets the inverse of its own matrix."""
    wrong = []

    def work(number):
        a = np.random.default_rng(number).normal(size=(20, 20))
        expected = np.linalg.inv(a) + 1.0
        wrong.extend(1 for _ in range(200) if not np.array_equal(inverse(a), expected))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
