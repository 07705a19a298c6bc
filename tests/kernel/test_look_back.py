"""A scan over all blocks of one launch, each waiting for those before it."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import refused
from tests.kernel.test_folds import compose, composed, lines, plus
from tests.quick import every

SIZE = 64


@fk.kernel
def running_sums(xs):
    """In one launch: its input is read once, or twice from a near cache."""
    parts = fk.split_up(SIZE, xs)
    zero = xs[0] * 0
    chain = fk.chain(parts.length, zero)
    out = fk.memory(xs.length, zero.dtype)

    def block(b):
        total = fk.reduce(plus, parts[b], zero)
        before = fk.look_back(plus, chain, b, total)
        sums = fk.scan(plus, parts[b], zero, before)
        sums.write(lambda i, value: out.__setitem__(b * SIZE + i, value))

    fk.for_all(parts.length, block)
    return out


@fk.kernel
def compositions(slopes, offsets):
    """The same of lines, which do not commute."""
    parts = fk.split_up(SIZE, fk.zip(slopes, offsets))
    one = (slopes[0] * 0 + 1, offsets[0] * 0)
    chain = fk.chain(parts.length, one)
    first, second = (fk.memory(slopes.length, fw.i64) for _ in range(2))

    def block(b):
        total = fk.reduce(compose, parts[b], one)
        before = fk.look_back(compose, chain, b, total)

        def put(i, line):
            first[b * SIZE + i], second[b * SIZE + i] = line

        fk.scan(compose, parts[b], one, before).write(put)

    fk.for_all(parts.length, block)
    return first, second


@pytest.mark.parametrize("blocks", [1, 2, 3, 50])
def test_sums_and_compositions_of_any_number_of_blocks(blocks):
    """On the CPU, and in the simulator."""
    xs = np.random.default_rng(blocks).integers(-9, 9, blocks * SIZE)
    slopes, offsets = lines(blocks * SIZE)
    for kernel, args, want in [
        (running_sums, (xs,), np.cumsum(xs)),
        (compositions, (slopes, offsets), composed(slopes, offsets)),
    ]:
        for target in ("cpu", "interp") if blocks < 9 else ("cpu",):
            with fw.target(target):
                found = kernel(*args)
            for one, other in zip(
                found if isinstance(found, tuple) else (found,),
                want if isinstance(want, tuple) else (want,), strict=True,
            ):  # fmt: skip
                assert np.array_equal(one, other)


@pytest.mark.sampled
@pytest.mark.parametrize("number", every(2, range(len(fk.schedules.adversaries(5)))))
@pytest.mark.parametrize("blocks, threads", [(2, None), (5, None), (3, 128)])
def test_blocks_may_stall_and_start_late(number, blocks, threads):
    """They and their warps run in all orders of the schedules, several at a time."""
    slopes, offsets = lines(5 * SIZE)
    schedule = fk.schedules.adversaries(5)[number]
    found = compositions.simulate(
        slopes, offsets, blocks=blocks, schedule=schedule, threads=threads
    )
    for one, other in zip(found, composed(slopes, offsets), strict=True):
        assert np.array_equal(one, other)


def test_a_warp_looks_at_blocks_farther_away_than_it_has_lanes():
    """All blocks but the first have published when that one does: they go back over two windows."""
    blocks = 35
    slopes, offsets = lines(blocks * SIZE)
    schedule = fk.schedules.LateBlock(0)
    found = compositions.simulate(
        slopes, offsets, blocks=blocks, schedule=schedule, threads=64
    )
    for one, other in zip(found, composed(slopes, offsets), strict=True):
        assert np.array_equal(one, other)


def test_it_is_compiled_for_cuda():
    """With lanes that look together, at words where elements fit into them, and without fences."""
    running_sums(np.arange(SIZE, dtype=np.float32))
    compositions(*lines(SIZE))
    sums, composed = running_sums.text["cuda"], compositions.text["cuda"]
    assert "__ballot_sync" in sums
    assert "st.relaxed.gpu" in sums
    assert "ld.acquire" not in sums
    assert "ld.acquire" in composed
    assert "st.relaxed.gpu" not in composed
    assert running_sums.text["ptx"]


def test_where_blocks_may_not_wait_the_error_says_what_to_do():
    """OpenCL promises no progress of other blocks."""
    running_sums(np.arange(SIZE))
    with pytest.raises(fw.UserError, match="Take two launches"):
        print(running_sums.text["opencl"])


def test_a_thread_does_not_wait():
    """It would keep the others of its warp from what it waits for."""

    @fk.kernel
    def wrong(xs):
        chain = fk.chain(1, 0)
        fk.for_all(1, lambda b: fk.for_all(2, lambda t: fk.look_back(plus, chain, b, 1)))
        return xs

    assert "is for a whole block" in refused(wrong, np.arange(3))
