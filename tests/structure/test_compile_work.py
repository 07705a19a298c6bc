"""Compiling takes time in proportion to the program: work is counted, so a busy machine is none."""

import sys

import numpy as np
import pytest

import flatweave as fw
from tests.quick import every

XS = np.arange(100.0, dtype=np.float32)


def chained(n, step):
    """A function that takes a step n times."""

    def program(xs):
        for k in range(n):
            xs = step(xs, k)
        return xs

    return program


PROGRAMS = {
    "operations": lambda n: chained(n, lambda xs, k: xs * 0.5 + k),
    "maps": lambda n: chained(n, lambda xs, k: fw.map(lambda x: x * 0.5 + k, xs)),
    "scans": lambda n: chained(n, lambda xs, k: fw.reverse(fw.scan(fw.add, 0.0, xs))),
    "filters": lambda n: chained(n, lambda xs, k: fw.filter(lambda x: x > k, xs)),
    "branches": lambda n: chained(n, lambda xs, k: fw.cond(xs[0] > k, fw.sqrt, fw.exp, xs)),
    "outputs": lambda n: lambda xs: tuple(fw.sqrt(xs) * k for k in range(n)),
    "reductions": lambda n: lambda xs: tuple(fw.sum(xs * (k + 0.5)) for k in range(n)),
    "element function": lambda n: lambda xs: fw.map(chained(n, lambda x, k: x * 0.5 + k), xs),
    "arguments": lambda n: lambda xs: fw.map(
        lambda *parts: sum(parts, 0.0), *(fw.filter(lambda x: x > 0, xs)[:k] for k in range(n))
    ),
    "keys": lambda n: lambda xs: fw.sort(tuple(xs + k for k in range(n // 2 + 1))),
    "fields": lambda n: lambda xs: fw.scan(
        lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True)),
        (0.0,) * n,
        tuple(xs + k for k in range(n)),
    ),
}


def work(program):
    """The calls of Python functions, and the lines of LLVM, on the way from the call to LLVM."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    compiled = fw.jit(program, target="cuda")
    sys.setprofile(count)
    try:
        text = compiled.stages(XS).text["llvm"]
    finally:
        sys.setprofile(None)
    return calls, text.count("\n")


@pytest.mark.parametrize("name", every(4, PROGRAMS))
def test_four_times_the_program_is_four_times_the_work(name):
    """From the trace over passes, verifier and lowering to the text for LLVM."""
    calls, lines = work(PROGRAMS[name](8))
    more_calls, more_lines = work(PROGRAMS[name](32))

    assert more_calls < 4.8 * calls
    assert more_lines < 4.8 * lines


def test_equal_kernels_are_emitted_once():
    """Six scans in a row need no more machine code than three."""
    few, many = (fw.jit(PROGRAMS["scans"](n)) for n in (3, 6))
    texts = [f.stages(XS).text["llvm"] for f in (few, many)]
    counts = [text.count("define internal void @k_") for text in texts]

    assert many.stages(XS).kernels == few.stages(XS).kernels + 3
    assert counts[0] == counts[1]
    expected = XS.astype(np.float64)
    for _ in range(6):
        expected = np.cumsum(expected)[::-1]
    assert np.allclose(many(XS), expected)
