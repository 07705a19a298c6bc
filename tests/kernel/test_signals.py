"""Blocks of one launch that wait for those before them: a scan in a single pass."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.config import config
from tests.kernel.programs import refused


def plus(a, b):
    return a + b


def scan(release=True):
    """Each block scans its part, waits for the sum of all before it, and hands on its own."""

    @fk.kernel
    def kernel(xs):
        parts = fk.split_up(64, xs)
        sums = fk.fill(fk.replicate(parts.length + 1, 0))
        ready = fk.fill(fk.map(lambda i: fk.cond(i == 0, lambda: 1, lambda: 0),
                               fk.iterations(parts.length + 1)))

        def block(b):
            mine = fk.force(parts[b])
            for d in (1, 2, 4, 8, 16, 32):
                mine = fk.force(fk.pull(64, lambda i, xs=mine, d=d: fk.cond(
                    i < d, lambda: xs[i], lambda: xs[i - d] + xs[i])))
            fk.wait_until(lambda state: state == 1, ready, b)
            before = sums[b]
            if release:
                sums[b + 1] = before + mine[63]
                fk.release(ready, b + 1, 1)
            else:
                fk.release(ready, b + 1, 1)
                sums[b + 1] = before + mine[63]
            return fk.map(lambda x: before + x, mine)

        return fk.generate(parts.length, block)

    return kernel


XS = np.random.default_rng(0).integers(-9, 9, 64 * 20)


@pytest.mark.parametrize("blocks", [0, 1, 2, 20])
def test_a_scan_in_one_pass(blocks):
    """One launch reads and writes each element once."""
    kernel, xs = scan(), XS[: 64 * blocks]

    for target in ("cpu", "interp"):
        with fw.target(target):
            np.testing.assert_array_equal(kernel(xs), xs.cumsum())
    assert "ld.acquire.gpu" in kernel.text["cuda"]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_by_any_number_of_threads(threads):
    """Of the machine, each of which runs blocks."""
    xs = np.random.default_rng(1).integers(-9, 9, 64 * 2000)

    with config.scoped(target="cpu", threads=threads):
        np.testing.assert_array_equal(scan()(xs), xs.cumsum())


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("threads", [None, 64])
def test_in_any_order(seed, threads):
    """Four blocks at a time, in random order, one warp or two."""
    found = scan().simulate(XS[:640], blocks=4, seed=seed, threads=threads)

    np.testing.assert_array_equal(found, XS[:640].cumsum())


def test_a_sum_written_behind_its_release_is_found():
    """The next block may read it before it is there."""
    with pytest.raises(fw.UserError, match="sums|m"):
        for seed in range(8):
            scan(release=False).simulate(XS[:640], blocks=4, seed=seed)


def test_where_blocks_may_not_wait_it_is_refused():
    """OpenCL promises no progress of other blocks."""
    kernel = scan()
    kernel(XS)

    with pytest.raises(fw.Unsupported, match="opencl does not promise"):
        print(kernel.text["opencl"])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda m, t: fk.for_all(4, lambda t: fk.release(m, t, 1)), "this is code of a thread"),
        (lambda m, t: fk.acquire(fk.fill(fk.replicate(4, 0)), 0), "in memory of the grid"),
    ],
)
def test_refused(use, message):
    """A thread cannot wait; shared memory is no other block's."""

    def write(xs):
        m = fk.fill(fk.replicate(4, 0))
        fk.for_all(2, lambda b: use(m, b))
        return xs

    assert message in refused(fk.kernel(write), XS)
