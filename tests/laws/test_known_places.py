"""Reads at a sum of indices lose their test only where they are inside."""

from random import Random

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Fault
from flatweave.ops import Index
from flatweave.terms.traverse import walk_lets

LENGTHS = ((0, 0), (0, 3), (1, 1), (3, 1), (4, 3), (3, 5))
PROGRAMS = 60


def random_program(random):
    """Reads in two loops, the inner one from 0 or 1 to a length or an index, at a sum of all."""
    outer = random.choice(["n", "m", "n + m", "fw.maximum(n - m + 1, 0)", "n + 1"])
    low, high = random.choice([0, 0, 1]), random.choice(["n", "m", "i", "i + 1", "n - i", "m - 1"])
    is_loop = random.random() < 0.5
    place = " + ".join([
        random.choice(["i", "i", "-i", "0", "2 * i"]), random.choice(["j", "j", "-j", "0"]),
        random.choice(["0", "0", "n", "m", "-m", "n - m"]), random.choice(["0", "0", "-1", "1"]),
    ])  # fmt: skip
    array = random.choice(["x", "v"])
    inner = (
        f"fw.fori_loop({low}, {high}, lambda j, s: s * 3 + {array}[{place}], 0)" if is_loop else
        f"fw.sum(fw.generate(fw.maximum({high}, 0), lambda j: {array}[{place}] + j))"
    )  # fmt: skip
    return f"lambda x, v, n, m: fw.generate({outer}, lambda i: {inner} + x.shape[0])"


def outcome(program, args):
    """The values, or what is wrong; a read that is not tested and lies outside is our fault."""
    try:
        return interp.run(program, args)[-1].tolist()
    except Fault as fault:
        return fault.code


def untested(program):
    """How many reads have no test, and how many there are."""
    reads = [let.op for let in walk_lets(program.fn) if isinstance(let.op, Index)]
    return sum(not op.checked for op in reads), len(reads)


@pytest.mark.sampled
@pytest.mark.parametrize("first", range(4))
def test_an_untested_read_lies_inside(first):
    """Every program gives the same before and after the passes, or fails alike."""
    for seed in range(first, PROGRAMS, 4):
        text = random_program(Random(seed))
        f = eval(text, {"fw": fw})
        jitted = fw.jit(lambda x, v, f=f: f(x, v, x.shape[0], v.shape[0]))
        traced = jitted.stages(np.arange(3), np.arange(2)).executable.traced
        after = list(pipeline.optimise(traced).values())[-1]
        for n, m in LENGTHS:
            args = [n, np.arange(n) * 7 % 5, m, np.arange(m) * 3 + 1]
            assert outcome(after, args) == outcome(traced, args), f"{seed}: {text} at {n}, {m}"


def test_reads_that_lie_inside_are_found():
    """Convolutions, products of triangular matrices, both ends of a row; not one element more."""

    def found(f):
        traced = fw.jit(f).stages(np.arange(5.0), np.arange(2.0)).executable.traced
        return untested(list(pipeline.optimise(traced).values())[-1])

    def windows(more):
        def f(x, v):
            n, m = x.shape[0], v.shape[0]
            return fw.generate(n - m + 1 + more, lambda i: fw.fori_loop(
                0, m, lambda j, s: s + x[i + j] * v[m - 1 - j], 0.0))  # fmt: skip

        return f

    def triangle(more):
        return lambda x, v: fw.map(lambda i: fw.fori_loop(
            0, i + 1, lambda j, s: s + x[i - j + more], 0.0), fw.iota(x.shape[0]))  # fmt: skip

    assert found(windows(0)) == (2, 2)
    assert found(windows(1)) == (1, 2)
    assert found(triangle(0)) == (1, 1)
    assert found(triangle(1)) == (0, 1)
