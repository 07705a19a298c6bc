"""Threads of a block that take q elements each compute what threads that take one do."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_passes.sequentialize import factor
from flatweave.lower.machine import CPU_AVX512, CUDA
from flatweave.simulator.schedules import ReverseUnits, adversaries
from tests.conftest import DEVICE
from tests.kernel.programs import refused
from tests.kernel.test_folds import compose, composed, lines, plus

LENGTHS = [1, 2, 31, 33, 127, 129, 1000, 1025]
FACTORS = [1, 3, 4, 16, 1024]


def everywhere(kernel, *args, want, threads=256):
    """On the CPU; in the simulator as it was written, threads in reverse; and on a GPU's warps."""
    wanted = want if isinstance(want, tuple) else (want,)
    with fw.target("cpu"):
        found = [kernel(*args)]
    found.append(kernel.simulate(*args, blocks=2, schedule=ReverseUnits()))
    found.append(kernel.simulate(*args, threads=threads))
    for got in found:
        for one, other in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)


def all_of(n, q, threads):
    """Map, reduce and scan of a map, by an operator that does not commute, and a scatter."""

    @fk.kernel(threads=threads)
    def program(slopes, offsets, places):
        @fk.sequential(q)
        def block(part):
            at, pairs = part
            turned = fk.map(lambda line: (-line[0], line[1] + 1), pairs)
            return (
                fk.reduce(compose, turned, (1, 0)),
                fk.scan(compose, turned, (1, 0)),
                fk.scan(plus, fk.map(lambda line: line[1], pairs), 0, 7, exclusive=True),
                fk.make_push(n, lambda put: fk.for_all(n, lambda i: put(at[i], pairs[i][1]))),
            )

        pairs, at = fk.split_up(n, fk.zip(slopes, offsets)), fk.split_up(n, places)
        return fk.pconcat_map(block, fk.pull(pairs.length, lambda b: (at[b], pairs[b])))

    return program


def all_in_numpy(n, slopes, offsets, places):
    """What `all_of` computes for blocks of n."""
    blocks = [composed(-s, o + 1) for s, o in zip(
        slopes.reshape(-1, n), offsets.reshape(-1, n), strict=True
    )]  # fmt: skip
    prefixes = tuple(np.concatenate(column) for column in zip(*blocks, strict=True))
    rows = offsets.reshape(-1, n)
    before = (np.cumsum(rows, axis=1) - rows + 7).ravel()
    moved = np.empty_like(rows)
    np.put_along_axis(moved, places.reshape(-1, n), rows, axis=1)
    totals = tuple(column[n - 1 :: n] for column in prefixes)
    return (totals, prefixes, before, moved.ravel())


def compare(n, q, threads):
    """One length and factor, three blocks."""
    slopes, offsets = lines(3 * n)
    rng = np.random.default_rng(n)
    places = np.concatenate([rng.permutation(n) for _ in range(3)])
    program = all_of(n, q, threads)
    want = flat(all_in_numpy(n, slopes, offsets, places))
    for got in (
        program(slopes, offsets, places),
        program.simulate(slopes, offsets, places, blocks=2, seed=n),
        program.simulate(slopes, offsets, places, threads=threads),
    ):
        for one, other in zip(flat(got), want, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)


def flat(value):
    """The arrays in tuples."""
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


LONG = pytest.param(1025, 1024, marks=pytest.mark.slow)


@pytest.mark.sampled
@pytest.mark.parametrize(("n", "q"), [(129, 4), (1000, 16), LONG])
def test_a_block_with_any_factor(n, q):
    """Lengths of which the factor is no divisor, one element, and a chunk longer than the block."""
    compare(n, q, 64)


@pytest.mark.slow
@pytest.mark.parametrize("q", FACTORS)
@pytest.mark.parametrize("n", LENGTHS)
def test_all_lengths_and_factors(n, q):
    """The same for all of them, with fewer threads than chunks and with enough."""
    compare(n, q, 32)
    compare(n, q, min(1024, max(1, -(-n // q))))


def test_in_every_order():
    """The simulator finds no race, whatever the order of blocks, warps and threads."""

    @fk.kernel(threads=64)
    def program(xs):
        @fk.sequential(4)
        def block(part):
            doubled = fk.force(fk.map(lambda x: 2 * x, part))
            sums = fk.force(fk.scan(plus, doubled, 0))
            return fk.zip_with(lambda a, b: a - b, sums, doubled), fk.reduce(plus, sums, 0)

        return fk.pconcat_map(block, fk.split_up(130, xs))

    xs = np.arange(260)
    sums = np.cumsum(2 * xs.reshape(2, -1), axis=1)
    for way in adversaries():
        before, totals = program.simulate(xs, blocks=2, schedule=way)
        np.testing.assert_array_equal(before, (sums - 2 * xs.reshape(2, -1)).ravel())
        np.testing.assert_array_equal(totals, sums.sum(1))


def test_a_whole_kernel_of_several_launches():
    """Above the kernel's function it is for all blocks, those that nobody wrote down among them."""

    @fk.kernel
    @fk.sequential(8)
    def normalised(xs):
        squares = fk.force(fk.map(lambda x: x * x, xs))
        sums = fk.force(fk.pconcat_map(lambda p: fk.reduce(plus, p, 0), fk.split_up(100, squares)))
        return fk.map(lambda x: x - sums[0], squares)

    xs = np.arange(700)
    everywhere(normalised, xs, want=xs * xs - (xs[:100] ** 2).sum())
    assert "for 0 8" in normalised.stages(xs).text["kernel"]


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 1, 9), (3, 4, 4), (2, 7, 37)])
def test_rows_inside_a_block(shape):
    """An array of three dimensions: a block has rows, and no chunk goes over the end of one."""
    blocks, rows, row = shape

    @fk.kernel(threads=64)
    def program(xs):
        @fk.sequential(4)
        def block(part):
            parts = fk.split_up(row, part)
            return fk.reduce(plus, parts, 0), fk.scan(plus, parts, 0)

        return fk.pconcat_map(block, fk.split_up(rows * row, xs))

    xs = np.arange(blocks * rows * row).reshape(shape) ** 2
    everywhere(program, xs.ravel(), want=(xs.sum(2).ravel(), xs.cumsum(2).ravel()), threads=64)


def test_nothing_to_combine():
    """The neutral element, and no prefixes."""

    @fk.kernel
    def program(xs):
        block = fk.sequential(4)(lambda b: fk.reduce(plus, fk.pull(0, lambda i: xs[i]), 5))
        return fk.generate(2, block)

    everywhere(program, np.arange(3), want=np.array([5, 5]))


@pytest.mark.needs_device
def test_on_a_device():
    """The same kernels on a device."""
    n, q = 1000, 4
    slopes, offsets = lines(3 * n)
    places = np.concatenate([np.random.default_rng(k).permutation(n) for k in range(3)])
    want = flat(all_in_numpy(n, slopes, offsets, places))
    for threads in (64, 256):
        with fw.target(DEVICE):
            got = flat(all_of(n, q, threads)(slopes, offsets, places))
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)


@pytest.mark.parametrize("q", [0, -1, 2.5, True, "4", 5000])
def test_factors_that_are_none(q):
    """The user's line, and which numbers may be."""
    message = refused(fk.kernel(lambda xs: fk.sequential(q)(lambda: xs)()), np.arange(4))

    assert "from 1 to 1024" in message


def test_where_it_cannot_stand():
    """A thread has no threads, and an array is no function."""

    @fk.kernel
    def of_a_thread(xs):
        return fk.generate(2, lambda b: fk.generate(4, lambda t: fk.sequential(2)(lambda: xs[t])()))

    assert "code of a thread" in refused(of_a_thread, np.arange(8))
    assert "decorates a function" in refused(
        fk.kernel(lambda xs: fk.sequential(2)(xs)), np.arange(8)
    )


def test_a_length_that_is_known_at_run_time_only():
    """It is divided by the machine, as without a factor; of rows it must be known."""
    total = fk.kernel(
        lambda xs: fk.generate(1, fk.sequential(4)(lambda b: fk.reduce(plus, xs, 0)))
    )
    rows = fk.kernel(lambda xs: fk.generate(1, lambda b: fk.reduce(plus, fk.split_up(4, xs), 0)))

    everywhere(total, np.arange(8), want=np.array([28]))
    assert "known at run time only" in refused(rows, np.arange(8))


def test_as_many_as_suit_the_machine():
    """Four on a GPU; fewer or more where there are few elements or threads; on a CPU many."""

    def block(part):
        return fk.scan(plus, fk.force(fk.map(lambda x: x + 1, part)), 0)

    def program(n, threads):
        return fk.kernel(
            lambda xs: fk.pconcat_map(fk.sequential()(block), fk.split_up(n, xs)), threads=threads
        )

    for n, threads in [(1024, 256), (1024, 64), (60, 64)]:
        xs = np.arange(n, dtype=np.int32)
        want = np.cumsum(xs + 1, dtype=np.int32)
        everywhere(program(n, threads), xs, want=want, threads=threads)
    on_gpu = [factor(n, 4, CUDA.block_of(t)) for n, t in [(1024, 256), (1024, 64), (128, 64)]]
    assert on_gpu == [4, 16, 2]
    assert factor(60, 4, CUDA.block_of(64)) == 1
    assert [factor(1024, size, CPU_AVX512.block_shape) for size in (4, 8)] == [16, 32]
    assert factor(4096, 64, CUDA.block_of(1024)) == 4
    assert factor(4096, 64, CUDA.block_of(4096)) == 2


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i8", "f8"])
def test_chunks_meet_in_no_bank(dtype):
    """Elements of any size: a word is left out of a tile where all banks had one."""
    zero = np.dtype(dtype).type(0)
    xs = np.arange(1024).astype(dtype)
    for q in (4, 8, 16):
        block = fk.sequential(q)(lambda part: fk.scan(plus, part, zero))
        program = fk.kernel(lambda xs, block=block: fk.pconcat_map(
            block, fk.split_up(1024, xs)), threads=1024 // q)  # fmt: skip
        np.testing.assert_array_equal(
            program.simulate(xs, threads=1024 // q), np.cumsum(xs, dtype=dtype)
        )
        assert program.counts(xs, threads=1024 // q).bank_conflicts == 0
