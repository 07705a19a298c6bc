"""Several threads are inside LLVM at once."""

import threading

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import CompilerBug
from flatweave.runtime import native, processor
from flatweave.runtime.lazy_import import Work
from tests.runtime.test_native import adder, call


@pytest.mark.parametrize("name", ["_EMIT", "_RUN_PASSES"])
def test_objects_are_made_side_by_side(monkeypatch, name):
    """Each of two threads waits inside of LLVM until the other is there, too."""
    both = threading.Barrier(2)
    real = getattr(processor, name)

    def meeting(*given):
        both.wait(timeout=20)
        return real(*given)

    monkeypatch.setattr(processor, name, meeting)
    works = [Work(lambda k=k: native.compile_object(adder(k))) for k in (501, 502)]
    assert all(work.result() for work in works)
    assert not processor._INSIDE


def test_what_is_begun_is_as_what_is_compiled():
    """From LLVM, and from memory."""
    begun = [native.begin(adder(k)) for k in range(601, 606)]
    codes = [finish() for finish in begun]
    assert [call(code, "once", 1) for code in codes] == list(range(602, 607))
    assert native.begin(adder(603))() is codes[2]


def test_the_last_of_many_kernels_is_as_the_first():
    """A branch with more kernels than there are threads."""
    xs = np.array([2.0, 3.0, 1.0, 0.5])

    @fw.jit
    def f(p, xs):
        def many():
            keys = [fw.sort(xs * k) for k in (1.0, -1.0, 2.0)]
            return fw.sum(fw.cumsum(keys[0]) * keys[1] + keys[2])

        return fw.cond(p, many, lambda: 0.0)

    expected = np.sum(np.cumsum(np.sort(xs)) * np.sort(-xs) + np.sort(2 * xs))
    assert float(f(False, xs)) == 0.0
    assert np.isclose(float(f(True, xs)), expected)


def test_errors_of_llvm_come_out():
    """Of the call that asks for the code."""
    with pytest.raises(CompilerBug, match="LLVM refuses the text"):
        native.begin("define nonsense")()
