"""Both modes of every rule, next to each other and to central differences; compiled, too."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.gradients.laws import check, floats_of, mapped
from tests.gradients.programs import CONTROL, ELEMENTWISE, FOLDS, MOVES, NESTS, PROGRAMS, SCANS


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes_agree_with_central_differences(name):
    """<jvp v, u> = <v, vjp u>, and (f(x + h v) - f(x - h v)) / 2 h = jvp v."""
    f, *args = PROGRAMS[name]

    check(f, *args)


COMPILED = [
    ELEMENTWISE["a gather"], ELEMENTWISE["matrices"], MOVES["sort"], MOVES["filter"],
    MOVES["scatter to equal indices"], FOLDS["product with a zero"], SCANS["linear functions"],
    SCANS["products of segments"], NESTS["softmax"], CONTROL["cond of elements"],
    CONTROL["fori_loop"],
]  # fmt: skip


def test_compiled_gradients_agree_with_the_interpreter():
    """One program with many gradients in it."""
    def random(like):
        return rng.normal(size=like.shape) if like.ndim else float(rng.normal())

    rng = np.random.default_rng(0)
    cotangents = [mapped(fw.jit(f, target="interp")(*args), random) for f, *args in COMPILED]

    def gradients(cotangents, every):
        return [
            fw.vjp(program[0], *args)[1](cotangent)
            for program, args, cotangent in zip(COMPILED, every, cotangents, strict=True)
        ]

    every = [tuple(args) for _, *args in COMPILED]
    expected = fw.jit(gradients, target="interp")(cotangents, every)
    found = fw.jit(gradients, target="cpu")(cotangents, every)
    again = fw.jit(gradients, target="cpu")(cotangents, every)

    for one, other in zip(floats_of(found), floats_of(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for one, other in zip(floats_of(found), floats_of(again), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_loops_whose_states_do_not_fit(count):
    """States are computed again from some that are saved; not one bit differs."""
    def f(x, end):
        def step(i, s):
            return s[0] + 0.05 * fw.sin(s[0] * x) * s[1] + 0.1 * i, s[1] * 0.9 + 0.1 * fw.sum(s[0])

        counted = fw.fori_loop(0, 2 * count, step, (x, 0.5))[0]
        return fw.while_loop(lambda s: s[1] < end, lambda s: (fw.cos(s[0]) * x, s[1] + 1),
                             (counted, 0))[0]  # fmt: skip

    x, found = np.array([1.2, -0.4, 0.7]), []
    for tape in (None, 0, 64):
        with fw.target("interp"), fw.schedule(tape=tape):
            found.append(fw.vjp(f, x, count)[1](np.ones(3))[0].tolist())

    assert found[0] == found[1] == found[2]


def test_the_same_bits_for_every_number_of_threads():
    """Of sums, scans and writes that meet, over many blocks."""
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=100_000), rng.integers(0, 50, 100_000)

    @fw.jit(target="cpu")
    def gradient(x, at):
        return fw.grad(lambda x: fw.sum(
            fw.cumsum(x)[at] * fw.reduce_by_index(fw.zeros(50), fw.add, 0.0, at, x * x)[at]
        ))(x)  # fmt: skip

    found = []
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            found.append(np.asarray(gradient(x, at)).tobytes())

    assert len(set(found)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_compiled(name):
    """The same on the CPU."""
    f, *args = PROGRAMS[name]
    rng = np.random.default_rng(0)
    cotangent = mapped(
        fw.jit(f, target="interp")(*args),
        lambda like: rng.normal(size=like.shape) if like.ndim else float(rng.normal()),
    )

    def gradient(cotangent, *args):
        return fw.vjp(f, *args)[1](cotangent)

    expected = fw.jit(gradient, target="interp")(cotangent, *args)
    found = fw.jit(gradient, target="cpu")(cotangent, *args)

    for one, other in zip(floats_of(found), floats_of(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
