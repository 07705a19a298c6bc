"""A barrier stays only where some element is written on one side of it and used on the other."""

import random

import numpy as np
import pytest

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.units import print_unit, verify
from flatweave.kernel_passes.barriers import needless_barriers
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.simulator.run import run
from tests.kernel_ir.units import one_kernel
from tests.simulator.mutants import mutants

SHAPE = BlockShape(1, 4)
PHASE = """for_all thread 4 (t: i64 =>
    i: i64 = add t 1
    j: i64 = and i 3
    x: i64 = load {read} j
    y: i64 = load {own} t
    z: i64 = add x y
    store {written} t z)"""
TILES = """
    m: shared i64 = shared i64 4
    a: shared i64 = shared i64 4
    b: shared i64 = shared i64 4
    for_all thread 4 (t: i64 => store m t 0)
    sync
    for 0 3 1 (k: i64 =>
        for_all thread 4 (t: i64 =>
            x: i64 = load xs t
            y: i64 = add x k
            store a t y)
        sync
        for_all thread 4 (t: i64 =>
            x: i64 = load xs t
            y: i64 = mul x k
            store b t y)
        sync
        for_all thread 4 (t: i64 =>
            r: i64 = sub 3 t
            x: i64 = load a r
            y: i64 = load b r
            z: i64 = mul x y
            s: i64 = load m t
            u: i64 = add s z
            store m t u)
        sync) []
    for_all thread 4 (t: i64 =>
        x: i64 = load m t
        store out t x)
"""


def indented(lines):
    """Code one level further in."""
    return ["    " + line for line in lines]


def phases(rng, depth=0):
    """Some phases with a barrier after each, and loops of them; none races in itself."""
    lines = []
    for _ in range(rng.randint(1, 4)):
        if depth < 2 and rng.random() < 0.3:
            inner = indented(phases(rng, depth + 1))
            lines += [f"for 0 {rng.randint(0, 2)} 1 (k: i64 =>", *inner]
            lines[-1] += ") []"
        else:
            read, written = rng.sample("abcd", 2)
            own = rng.choice((read, written))
            lines += PHASE.format(read=read, own=own, written=written).splitlines() + ["sync"]
    return lines


FILL = """{name}: shared i64 = shared i64 4
    for_all thread 4 (t: i64 =>
        x: i64 = load xs t
        store {name} t x)"""
LAST = """for_all thread 4 (t: i64 =>
        x: i64 = load {name} t
        i: i64 = add t {first}
        store out i x)"""


def whole(lines):
    """A kernel of such code, in which every memory is filled before and stored after."""
    fill = [FILL.format(name=name) for name in "abcd"]
    last = [LAST.format(name=name, first=4 * k) for k, name in enumerate("abcd")]
    return one_kernel("\n".join(indented([*fill, "sync", *lines, *last])), count="16")


def barriers(unit):
    """How many barriers a unit's text has."""
    return print_unit(unit).count("sync")


def test_a_step_of_two_tiles_has_two_barriers():
    """The second tile is filled while the first is not read yet; without another it would race."""
    unit = one_kernel(TILES)
    made = needless_barriers(unit, SHAPE)

    assert (barriers(unit), barriers(made)) == (4, 3)
    xs = np.array([1, 2, 3, 4])
    expected = sum((xs[::-1] + k) * xs[::-1] * k for k in range(3))
    assert run(made, [4, xs])[0].tolist() == expected.tolist()
    _, *in_loop = mutants(made)  # the first one matters where the loop has no iteration
    for mutant in in_loop:
        with pytest.raises(CompilerBug, match="race"):
            run(mutant.unit, [4, xs])


@pytest.mark.parametrize("seed", range(12))
def test_loops_of_phases_with_fewer_barriers_give_the_same(seed):
    """In loops in loops, some of which have no iteration; the simulator finds no race."""
    unit = whole(phases(random.Random(seed)))
    made = needless_barriers(unit, SHAPE)
    verify(made)

    xs = np.array([5, 7, 11, 13])
    assert barriers(made) <= barriers(unit)
    assert run(made, [4, xs])[0].tolist() == run(unit, [4, xs])[0].tolist()
