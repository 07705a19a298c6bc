"""Kernels from the textbooks, as one writes them with staged arrays: each on every machine."""

import numpy as np
import pytest

from flatweave.base.dtypes import f64, i64
from flatweave.kernel_ir.arrays import (
    Pull,
    Push,
    concat_units,
    fold,
    for_all,
    force,
    gather,
    halve,
    map,
    part,
    push,
    reverse,
    store,
    zip_with,
)
from flatweave.kernel_ir.hierarchy import BLOCK, THREAD, WARP
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.syntax import BlockIndex, Store, Sync
from flatweave.terms.build import index
from flatweave.terms.syntax import Const, constant
from flatweave.terms.traverse import walk_lets
from tests.kernel_ir.machines import (
    ALL_SHAPES,
    CPU_SHAPES,
    OPENCL_SHAPES,
    OnOpenCl,
    distributed,
    on_cpu,
    simulated,
)
from tests.kernel_ir.staged import staged


def add(b, pair):
    """The sum of two."""
    return (b.add(*pair),)


def size(xs):
    """A length that is known."""
    assert isinstance(xs.extent, Const)
    return xs.extent.value


def halving(b, n, xs, ys):
    """The first half plus the second, until one is left: the order is lost."""
    sums = xs[0]
    while size(sums) > 1:
        sums = force(b, zip_with(add, *halve(b, sums)))
    store(b, sums, ys)


def fused_steps(b, n, xs, ys):
    """Three halvings at a time, between them nothing is stored."""
    sums, steps = xs[0], 0
    while size(sums) > 1:
        sums, steps = zip_with(add, *halve(b, sums)), steps + 1
        if steps % 3 == 0:
            sums = force(b, sums)
    store(b, sums, ys)


def sklansky(b, n, xs, ys):
    """After step k, each run of 2^k elements is scanned: its last half adds what the first has."""
    sums = force(b, xs[0])
    for k in range(size(sums).bit_length() - 1):
        sums = force(b, fan(sums, k))
    store(b, sums, ys)


def fan(xs, k):
    """Where bit k of i is set, the element below whose lower bits are all set is added."""

    def at(b, i):
        high = b.apply("and", b.apply("shr", i, index(k)), index(1))
        below = b.sub(b.mul(b.apply("shr", i, index(k)), index(1 << k)), index(1))
        both = lambda c: add(c, (*xs.at(c, below), *xs.at(c, i)))
        return b.choose(b.apply("eq", high, index(1)), both, lambda c: xs.at(c, i))

    return Pull(xs.extent, at)


def bitonic(b, n, xs, ys):
    """Batcher's sort: runs of 2^k are merged by a vee and then by steps of half the distance."""
    kept = force(b, xs[0])
    bits = size(kept).bit_length() - 1
    for phase in range(1, bits + 1):
        kept = force(b, column(kept, (1 << phase) - 1))
        for k in reversed(range(phase - 1)):
            kept = force(b, column(kept, 1 << k))
    store(b, kept, ys)


def column(xs, flips):
    """Each pair of elements whose numbers differ in these bits, in order: half as many threads as
    elements, two elements each, and no conditions."""
    top = flips.bit_length() - 1

    def write(b, put):
        def pair(c, t):
            low = c.apply("and", t, index((1 << top) - 1))
            first = c.add(c.mul(c.sub(t, low), index(2)), low)
            second = c.apply("xor", first, index(flips))
            (x,), (y,) = xs.at(c, first), xs.at(c, second)
            put(c, first, (c.apply("minimum", x, y),))
            put(c, second, (c.apply("maximum", x, y),))

        for_all(b, THREAD, size(xs) // 2, pair)

    return Push(xs.extent, BLOCK, write)


def transposed(b, n, xs, ys):
    """An 8 x 16 matrix through memory: both sides read and write neighbours."""
    kept = force(b, xs[0])

    def source(c, i):
        row, place = c.apply("floordiv", i, index(8)), c.apply("mod", i, index(8))
        return c.add(c.mul(place, index(16)), row)

    store(b, gather(kept, source), ys)


def collatz(b, n, xs, ys):
    """Turns until 1, which differ from thread to thread."""

    def turns(c, x):
        start = (c.add(c.apply("abs", x[0]), index(1)), index(0))

        def step(d, state):
            odd = d.apply("eq", d.apply("mod", state[0], index(2)), index(1))
            up = d.add(d.mul(state[0], index(3)), index(1))
            down = d.apply("floordiv", state[0], index(2))
            return d.apply("select", odd, up, down), d.add(state[1], index(1))

        return (c.repeat(start, lambda d, s: d.apply("ne", s[0], index(1)), step)[1],)

    store(b, map(turns, xs[0]), ys)


def warps_backwards(b, n, xs, ys):
    """Warps turn their parts, and the block turns the warps."""
    parts = concat_units(
        b, WARP, 4, 32,
        lambda c, w: push(reverse(force(c, part(xs[0], c.mul(w, index(32)), 32))), WARP),
    )  # fmt: skip
    kept = force(b, parts)

    def source(c, i):
        warp, lane = c.apply("floordiv", i, index(32)), c.apply("mod", i, index(32))
        return c.add(c.mul(c.sub(index(3), warp), index(32)), lane)

    store(b, gather(kept, source), ys)


XS = np.random.default_rng(9).permutation(128) - 40


def turns_of(x):
    """Collatz in Python."""
    y, count = abs(int(x)) + 1, 0
    while y != 1:
        y, count = (3 * y + 1 if y % 2 else y // 2), count + 1
    return count


KERNELS = {
    "halving": (halving, [XS.sum()], 7),
    "fused_steps": (fused_steps, [XS.sum()], 2),
    "sklansky": (sklansky, np.cumsum(XS), 8),
    "bitonic": (bitonic, np.sort(XS), 29),
    "transposed": (transposed, XS.reshape(8, 16).T.reshape(-1), 1),
    "collatz": (collatz, [turns_of(x) for x in XS], 0),
    "warps_backwards": (warps_backwards, XS[::-1], 2),
}


def case(name):
    """The unit, its arguments, and what it gives."""
    write, expected, _ = KERNELS[name]
    unit = staged(write, (i64,), (i64,), length=128)
    return unit, [128, len(expected), XS], list(expected)


@pytest.mark.parametrize("name", KERNELS)
def test_the_simulator(name):
    """As written, and as each machine gets it; a barrier for each force."""
    unit, args, expected = case(name)
    syncs = sum(isinstance(let.op, Sync) for let in walk_lets(unit.kernels[0].body))

    assert syncs == KERNELS[name][2]
    for made in (unit, *(distributed(unit, shape) for shape in ALL_SHAPES)):
        assert simulated(made, args)[0].tolist() == expected


@pytest.mark.sampled
@pytest.mark.parametrize("shape", CPU_SHAPES, ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_machine_code(name, shape):
    """By LLVM."""
    unit, args, expected = case(name)

    assert on_cpu(unit, shape, args, [(i64, len(expected))])[0].tolist() == expected


@pytest.mark.needs_opencl
@pytest.mark.parametrize("name", KERNELS)
def test_opencl(name):
    """By PoCL, on four warps."""
    unit, args, expected = case(name)

    (found,) = OnOpenCl(unit, OPENCL_SHAPES[1], (i64,)).run(args, [len(expected)])
    assert found.tolist() == expected


def test_blocks_and_atomics():
    """Three blocks count their elements in one histogram of eight bins."""

    def write(b, n, xs, ys):
        first = b.mul(b.emit(BlockIndex())[0], index(40))

        def one(c, i):
            (x,) = part(xs[0], first, 40).at(c, i)
            c.emit(Atomic("add", ys[0], c.apply("mod", x, index(8)), index(1)))

        for_all(b, THREAD, 40, one)

    def cleared(b, n, xs, ys):
        store(b, Pull(index(8), lambda c, i: (index(0),)), ys)

    unit = staged(write, (i64,), (i64,), blocks=3)
    with pytest.raises(Exception, match="nobody has written it"):
        simulated(unit, [128, 8, XS])
    both = staged(cleared, (i64,), (i64,), then=(write, 3))
    expected = np.bincount(XS[:120] % 8, minlength=8).tolist()
    for made in (both, *(distributed(both, shape) for shape in ALL_SHAPES)):
        assert simulated(made, [128, 8, XS])[0].tolist() == expected


def test_floats_of_threads():
    """A polynomial by Horner's rule in each thread's own loop over its own memory."""

    def write(b, n, xs, ys):
        def horner(c, x):
            point = c.cast(x[0], f64)
            coefficients = force(c, Pull(index(4), lambda d, k: (d.cast(k, f64),)))

            def step(d, i, s):
                return (d.add(d.mul(s[0], point), coefficients.at(d, i)[0]),)

            return fold(c, index(0), index(4), (constant(0, f64),), step)

        store(b, map(horner, push(xs[0], BLOCK)), ys)

    unit = staged(write, (i64,), (f64,))
    expected = np.polyval([0.0, 1.0, 2.0, 3.0], XS.astype(float))
    for shape in CPU_SHAPES:
        (found,) = on_cpu(unit, shape, [128, 128, XS], [(f64, 128)])
        np.testing.assert_array_equal(found, expected)
    for made in (unit, *(distributed(unit, shape) for shape in ALL_SHAPES)):
        np.testing.assert_array_equal(simulated(made, [128, 128, XS])[0], expected)


def test_a_store_names_its_place():
    """Nothing stops a program from storing what it likes, but the simulator sees it."""
    unit = staged(lambda b, n, xs, ys: b.emit(Store(ys[0], index(9), n)), (), (i64,))
    with pytest.raises(Exception, match="out of bounds: index 9"):
        simulated(unit, [4, 4])
