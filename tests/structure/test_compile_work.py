"""Compile time is proportional to the program: work is counted, so load does not matter."""

import functools
import sys

import numpy as np
import pytest

import flatweave as fw
from flatweave.lower.machine import CUDA
from flatweave.lower.program import lower
from flatweave.pipeline import ARRAY_PASSES, optimise
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


def counted(run):
    """What a function gives, and how many Python functions are called meanwhile."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        given = run()
    finally:
        sys.setprofile(None)
    return given, calls


def work(program):
    """The calls of Python functions, and the lines of LLVM, on the way from the call to LLVM."""
    compiled = fw.jit(program, target="cuda")
    text, calls = counted(lambda: compiled.stages(XS).text["llvm"])
    return calls, text.count("\n")


@pytest.mark.parametrize("name", every(4, PROGRAMS))
def test_four_times_the_program_is_four_times_the_work(name):
    """From the trace over passes, verifier and lowering to the text for LLVM."""
    calls, lines = work(PROGRAMS[name](8))
    more_calls, more_lines = work(PROGRAMS[name](32))

    assert more_calls < 4.8 * calls
    assert more_lines < 4.8 * lines


ROWS = np.array([0, 1, 2, 2])


def cells(n):
    """Sums over the particles in n cells around each particle: folds of a row, one by one."""

    def program(xs, ys, first):
        def of_one(i):
            sums = [0.0, 0.0]
            for c in range(n):
                low, high = first[c], first[c + 1]
                near = fw.map(lambda j, low=low: xs[low + j] - xs[i], fw.iota(high - low))
                sums[0] += fw.sum(near)
                sums[1] += fw.sum(near * near) * ys[i]
            return tuple(sums)

        return fw.map(of_one, fw.iota(xs.shape[0]))

    return program, (XS[:4], XS[:4], np.zeros(20, np.int64))


def triangles(n):
    """Filters, searches, and expansions of what they find."""

    def program(source, target):
        total = 0
        for k in range(n):
            kept = fw.filter(lambda e, k=k: e % (k + 2) != 0, fw.iota(source.shape[0]))
            low = fw.searchsorted(source, target[kept])
            high = low + kept % 2
            total += fw.sum(fw.expand_reduce(
                lambda ends: ends[1] - ends[0], lambda ends, i: target[ends[0] + i], fw.add, 0,
                (low, high),
            ))  # fmt: skip
        return total

    return program, (ROWS, ROWS)


def fields(n):
    """Flags, segments and histograms of a text."""

    def program(text):
        found = []
        for k in range(n):
            ends = text == 44 + k
            begins = fw.concat([fw.full(1, True), ends[:-1]])
            number = fw.cumsum(begins.astype(fw.i64)) - 1
            found += [fw.max(fw.histogram(text.shape[0], number, fw.where(ends, 0, 1)))]
            found += [fw.segmented_reduce(fw.add, 0, begins, text.astype(fw.i64))]
        return tuple(found)

    return program, (np.array([44, 3, 45], np.uint8),)


def transform(n):
    """Reads at computed positions between scans."""

    def program(real, imaginary):
        i = fw.iota(real.shape[0])
        for k in range(n):
            angle = (i % (2 << k)) * (-3.14 / (1 << k))
            r, m = real[(i ^ (1 << k)) % i.shape[0]], imaginary[(i ^ (1 << k)) % i.shape[0]]
            real, imaginary = (
                fw.cumsum(real + fw.cos(angle) * r - fw.sin(angle) * m),
                fw.cumsum(imaginary + fw.cos(angle) * m + fw.sin(angle) * r),
            )
        return real, imaginary

    return program, (XS[:4], XS[:4])


def work_of_passes(unrolled, n):
    """The calls of Python functions in each pass, by its number and name, and in the lowering."""
    program, args = unrolled(n)
    compiled, _ = fw.jit(program, target="interp").taken(*args)
    array, calls = compiled.traced.program, {}
    for number, step in enumerate(ARRAY_PASSES):
        array, calls[f"{number} {step.__name__}"] = counted(functools.partial(step, array))
    _, calls["lower"] = counted(lambda: lower(array, CUDA))
    return calls


@pytest.mark.parametrize("unrolled", [cells, triangles, fields, transform])
def test_each_pass_takes_work_in_proportion_to_what_python_loops_unroll(unrolled):
    """1, 2, 4 and 8 times: what is added doubles with what is unrolled, but for a little."""
    one, two, four, eight = (work_of_passes(unrolled, n) for n in (1, 2, 4, 8))
    grown = {
        name: (one[name], two[name], four[name], calls) for name, calls in eight.items()
        if calls - four[name] > 2.2 * (four[name] - two[name]) + 100
    }  # fmt: skip

    assert not grown


def test_a_pass_is_not_run_on_what_it_gave():
    """Nor one without an operation that it is about: maps and sums leave little to do."""
    compiled, _ = fw.jit(lambda xs: fw.sum(xs * 2), target="interp").taken(XS)
    after = list(optimise(compiled.traced.program).values())
    names = [step.__name__ for step in ARRAY_PASSES]
    again = [name for name, a, b in zip(names[1:], after, after[1:], strict=False) if a is b]

    idle = ["hoist_rows", "into_branches", "flatten", "telescope", "axes"]
    assert {*again} >= {*idle}
    assert again.count("cse") == 2


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


def test_a_chain_of_operations_is_no_nest():
    """However long: passes do not call themselves for each operation before another."""
    def of_many(xs):
        def element(i):
            at = i
            for step in range(800):
                at = (at * at + step) % 10_007
            return xs[at % 10]

        return fw.generate(xs.shape[0], element)

    xs = np.arange(10.0)
    assert fw.jit(of_many, target="cpu").stages(xs).kernels == 1
