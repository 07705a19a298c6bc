"""O8 to O11: the code that each level allows, checked while the kernel is written."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused

XS = np.arange(64)


def in_blocks(unit):
    """A kernel whose blocks do `unit` with 16 elements."""
    return lambda xs: fk.pconcat_map(unit, fk.split_up(16, xs))


def in_warps(unit):
    return in_blocks(lambda part: fk.pconcat_map(unit, fk.split_up(8, part), level=fk.WARP))


def in_threads(unit):
    return in_blocks(lambda part: fk.pconcat_map(unit, fk.split_up(4, part)))


def written(act):
    """A unit that does something and gives its part."""

    def unit(part):
        act()
        return part

    return unit


@pytest.mark.parametrize(
    ("write", "message", "remedy"),
    [
        (in_threads(written(fk.barrier)), "a barrier in code of one thread",
         "write the barrier after it"),
        (lambda xs: written(fk.barrier)(xs), "there is no barrier for the grid", "second for_all"),
        (in_threads(lambda p: fk.pconcat_map(fk.reverse, fk.split_up(2, p))),
         "among units below a thread", "Blocks have threads, or warps which have threads"),
        (in_warps(lambda p: fk.pconcat_map(fk.reverse, fk.split_up(4, p), level=fk.WARP)),
         "shares the work of a warp among its threads, not among warps", "Go down level by level"),
        (in_threads(lambda p: fk.generate(2, lambda i: p, level=fk.WARP)),
         "among units below a thread", "seq_for"),
        (lambda xs: fk.pconcat_map(fk.reverse, fk.split_up(4, xs), level=fk.THREAD),
         "the work of a grid among its blocks, not among threads", "Go down"),
        (in_blocks(lambda p: fk.generate(2, lambda i: p, level=fk.BLOCK)),
         "not among blocks", "Go down"),
    ],
)  # fmt: skip
def test_levels(write, message, remedy):
    """Barriers, nested parallelism past a block, and levels that are skipped or turned round."""
    found = refused(fk.kernel(write), XS)

    assert message in found and remedy in found


def test_a_barrier_where_not_all_threads_come():
    """O10: one in a branch or a loop of one thread is code of one thread."""
    for act in (
        lambda i: fk.when(i < 4, fk.barrier),
        lambda i: fk.cond(i < 4, lambda: (fk.barrier(), 1)[1], lambda: 0),
        lambda i: fk.seq_for(0, i, lambda j: fk.barrier()),
        lambda i: fk.seq_while(lambda s: s < i, lambda s: (fk.barrier(), s + 1)[1], 0),
    ):
        kernel = fk.kernel(lambda xs, act=act: (
            fk.for_all(2, lambda b: fk.for_all(8, act)), xs)[1])
        assert "a barrier in code of one thread" in refused(kernel, XS)


def test_a_force_where_not_all_threads_come():
    """In a thread it is the thread's own, without a barrier."""
    kernel = fk.kernel(in_threads(lambda p: fk.force(fk.reverse(p))))

    check(kernel, XS, want=XS.reshape(-1, 4)[:, ::-1].ravel())
    assert "sync" not in kernel.text["kernel"]


def test_a_barrier_in_uniform_code():
    """Loops and branches of a block may have barriers in them: all threads take the same way."""

    @fk.kernel
    def kernel(xs):
        def block(part):
            m = fk.fill(part)

            def turn(_):
                fk.for_all(8, lambda t: m.__setitem__(t, m[t] + m[15 - t]))
                fk.barrier()
                fk.for_all(8, lambda t: m.__setitem__(15 - t, m[t]))
                fk.barrier()

            fk.seq_for(0, 3, turn)
            return m.pull()

        return fk.pconcat_map(block, fk.split_up(16, xs))

    half = 4 * (XS.reshape(-1, 16)[:, :8] + XS.reshape(-1, 16)[:, :7:-1])
    check(kernel, XS, want=np.concatenate([half, half[:, ::-1]], 1).ravel())


@pytest.mark.parametrize(
    "write",
    [
        lambda xs: fk.pconcat_map(lambda p: fk.force(xs), fk.split_up(4, xs)),
        lambda xs: fk.pconcat_map(lambda p: fk.memory(xs.length, fw.i64), fk.split_up(4, xs)),
    ],
)
def test_an_array_of_dynamic_length_in_a_block(write):
    """Its memory is laid out when the kernel is written."""
    assert "known at run time only" in refused(fk.kernel(write), XS)


def test_numbers_do_not_leave_their_unit():
    """What one thread knows the others cannot read but by memory."""
    kept = []
    kernel = fk.kernel(lambda xs: (
        fk.for_all(2, lambda b: fk.for_all(8, kept.append)),
        fk.map(lambda x: x + kept[0], xs))[1])

    with pytest.raises(fw.UserError, match="outside"):
        kernel(XS)
