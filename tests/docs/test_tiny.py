"""The lesson docs/tiny.py runs, agrees with NumPy, and is as short as it says."""

import runpy
import subprocess
import sys
import tokenize

import numpy as np
import pytest

from tests.shape.tree import ROOT

LESSON = ROOT / "docs" / "tiny.py"
SILENT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


@pytest.fixture(scope="module")
def tiny():
    """The names that the lesson defines."""
    return runpy.run_path(str(LESSON), run_name="tiny")


def test_the_lesson_runs_and_checks_itself():
    """`python docs/tiny.py` shows a program in every stage and finds all its results right."""
    done = subprocess.run([sys.executable, LESSON], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("interpreted = compiled = NumPy") == 3
    assert "define double @dot" in done.stdout


def test_the_lesson_is_short():
    """The whole idea fits into 400 lines that do something."""
    with LESSON.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    lines = {
        line
        for token in tokens
        if token.type not in SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }

    assert len(lines) <= 400


def test_a_map_with_one_reader_is_fused(tiny):
    """The product of dot is computed where the sum reads it."""
    traced = tiny["trace"](tiny["dot"], 1, 1)

    assert len(traced.lets) == 2
    assert len(tiny["fuse"](traced).lets) == 1


def test_a_map_with_two_readers_is_stored(tiny):
    """Fusing it would compute it twice."""

    def twice(xs):
        squares = xs * xs
        total = tiny["reduce"](lambda a, b: a + b, 0.0, squares)
        return total + tiny["reduce"](tiny["maximum"], 0.0, squares)

    fused = tiny["fuse"](tiny["trace"](twice, 1))

    assert sum(hasattr(let.op, "sink") for let in fused.lets) == 3
    assert tiny["jit"](twice, 1)([1.0, 2.0]) == 9.0


def test_an_empty_array_gives_the_neutral_element(tiny):
    """No block runs, and nothing is read."""
    assert tiny["jit"](tiny["dot"], 1, 1)([], []) == 0.0


def test_a_traced_value_in_if_is_refused(tiny):
    """The message names the remedy."""

    def branching(xs):
        return tiny["map"](lambda x: x if x < 0.0 else x + 1.0, xs)

    with pytest.raises(TypeError, match="write where"):
        tiny["trace"](branching, 1)


def test_blocks_are_combined_in_their_order(tiny):
    """An operator that does not commute gives over many blocks what the interpreter says."""
    xs = np.random.default_rng(0).normal(size=50_001)
    program = tiny["trace"](tiny["held"], 1, 0)
    meaning = tiny["evaluate"](program, [xs, 0.1], {}, tiny["interpret"])[0]

    assert np.array_equal(tiny["jit"](tiny["held"], 1, 0)(xs, 0.1), meaning)
