"""The oracle and what it finds: random programs of the public API against NumPy."""

import contextlib
import functools
import io
import itertools

import numpy as np
import pytest

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.runtime.processor import processor
from tests.oracle.check import THREADS, Failure, Run, bits_differ, first_failure, runs_of
from tests.oracle.compare import difference
from tests.oracle.data import DTYPES, column
from tests.oracle.expressions import Cast, Name, evaluate
from tests.oracle.folding import apply, doubled, element, one_by_one, reduced, scanned
from tests.oracle.operators import Operator, choosing_operators, scalar_operators, tuple_operators
from tests.oracle.program import OPERATIONS, source_of
from tests.oracle.report import report
from tests.oracle.shrink import shrunk
from tests.oracle.vocabulary import random_program
from tests.quick import every

PROGRAMS = 50
GROUPS = 10
OPERATORS = [op for dtype in DTYPES for op in scalar_operators(dtype) + tuple_operators(dtype)]


@pytest.mark.sampled
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs_give_what_numpy_gives(group: int) -> None:
    """Of any dtype, on none, few and some thousand elements, for any number of threads."""
    for seed in range(group, PROGRAMS, GROUPS):
        failure = first_failure(random_program(seed, 1), runs_of(seed, 4))

        assert failure is None, report(failure, seed)


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_random_programs_on_each_level(level: str) -> None:
    """Registers, steps and instructions differ, values do not."""
    with config.scoped(cpu=level):
        try:
            processor()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        for seed in range(PROGRAMS, PROGRAMS + 4):
            failure = first_failure(random_program(seed, 1), runs_of(seed, 2))

            assert failure is None, report(failure, seed)


@pytest.mark.parametrize("seed", every(2, [0, 1, 2, 3, 11, 49]))
def test_every_call_gives_the_same_bits(seed: int) -> None:
    """Floats that rounding changes, NaNs too, on one to seven threads."""
    program = random_program(seed, 3, exact=False)

    assert bits_differ(program, Run(40_001, 130, seed), THREADS * 3) == 1, source_of(program)


# -- the oracle itself -----------------------------------------------------------------------------


def elements_for(op: Operator, n: int) -> tuple[np.ndarray, ...]:
    """Elements of an operator, made of any numbers."""
    env = {"x": column(op.dtypes[-1], n, np.random.default_rng(n), "wild")}
    with np.errstate(all="ignore"):
        return tuple(np.asarray(evaluate(part, env)) for part in op.prepare(Name("x")))


CHOOSING = [op for dtype in DTYPES for op in choosing_operators(dtype)]


@pytest.mark.parametrize("op", OPERATORS + CHOOSING, ids=lambda op: f"{op.name} {op.dtypes[-1]}")
def test_operators_are_associative_and_their_neutral_elements_neutral(op: Operator) -> None:
    """So that doubling gives what a plain loop gives, bit for bit."""
    n = 300
    xs, random = elements_for(op, n), np.random.default_rng(1)
    ne = tuple(np.full(n, e) for e in element(op, op.neutral))
    begin = random.random(n) < 0.01
    begin[0] = True
    with np.errstate(all="ignore"):
        assert not difference(doubled(op, xs, begin), one_by_one(op, xs, begin))
        if op in OPERATORS:
            assert not difference(apply(op, ne, xs), xs)
            assert not difference(apply(op, xs, ne), xs)
        if op.commutes and "imum" not in op.name:
            turned = tuple(x[::-1] for x in xs)
            assert not difference(apply(op, xs, turned), apply(op, turned, xs))


@pytest.mark.parametrize("reverse", [False, True])
def test_reductions_and_scans_mean_what_functools_and_itertools_do(reverse: bool) -> None:
    """From an element that is not neutral, with an operator that does not commute."""
    op = next(op for op in OPERATORS if op.name == "matrix")
    ne, xs = element(op, op.other), elements_for(op, 9)
    parts = [tuple(x[i] for x in xs) for i in range(9)]

    def combine(a, b):
        return apply(op, b, a) if reverse else apply(op, a, b)

    with np.errstate(all="ignore"):
        order = parts[::-1] if reverse else parts
        prefixes = list(itertools.accumulate(order, combine, initial=ne))
        inclusive, exclusive = prefixes[1:], prefixes[:-1]
        turn = slice(None, None, -1 if reverse else 1)
        for expected, is_exclusive in ((inclusive, False), (exclusive, True)):
            columns = tuple(np.array(c) for c in zip(*expected[turn], strict=True))
            assert not difference(scanned(op, ne, xs, is_exclusive, reverse), columns)
        if not reverse:
            assert not difference(reduced(op, ne, xs), functools.reduce(combine, parts, ne))


def test_differences_are_seen() -> None:
    """Signs of zero, NaN for missing values, dtypes, shapes; but NaN is NaN."""
    nan = np.array([np.nan, -np.nan])
    assert not difference(nan, nan[::-1])
    assert "0.0" in difference(np.array([0.0]), np.array([-0.0]))
    assert "differ" in difference(nan, np.zeros(2))
    assert "dtype" in difference(np.zeros(2), np.zeros(2, np.float32))
    assert "shape" in difference(np.zeros(2), np.zeros((2, 1)))
    assert "arrays" in difference((nan, nan), nan)
    one = np.array([1.0])
    assert not difference(np.nextafter(one, 2), one, rounded=True)
    assert difference(one * (1 + 1e-14), one, rounded=True)


def test_a_seed_is_a_program() -> None:
    """The same text each time, and every operation among a few hundred."""
    programs = [random_program(seed, 4) for seed in range(300)]
    used = {step.operation for program in programs for step in program.steps}

    assert source_of(random_program(7)) == source_of(random_program(7))
    assert used == set(OPERATIONS)


def test_a_failure_is_made_small() -> None:
    """What it does not need is left out; the report is a program that runs."""

    def fails(program, run):
        sorts = any(step.operation == "sort" for step in program.steps)
        return Failure(program, run, "it sorts", "difference") if sorts and run.n > 2 else None

    programs = (random_program(seed, 5) for seed in itertools.count())
    first = next(f for p in programs if (f := fails(p, Run(129, 4, 3, 7))) and len(p.steps) > 5)
    found = shrunk(first, fails)
    text = report(found, 0)

    assert [step.operation for step in found.program.steps].count("sort") == 1
    assert len(found.program.steps) <= 3
    assert (found.run.n, found.run.threads) == (3, 1)
    assert "fw.sort(" in text or "fw.argsort(" in text
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(compile(text, "<report>", "exec"), {})
    assert shown.getvalue()


def test_casts_saturate() -> None:
    """Floats to integers: toward zero, the ends for what is too great, 0 for NaN."""
    values = np.array([np.nan, np.inf, -np.inf, 127.9, 128.0, -128.9, -129.0, 3.99])
    found = evaluate(Cast("int8", Name("x")), {"x": values})

    assert found.tolist() == [0, 127, -128, 127, 127, -128, -128, 3]
