"""O37: programs of warps, shuffles, and more warps and lanes than there are."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused
from tests.quick import every_case

XS = np.random.default_rng(37).integers(-9, 10, 1024)


def of_warps(fn, width=32, block=128):
    """A kernel that gives fn of each part, by a warp."""

    def write(xs):
        def warps(part):
            return fk.pconcat_map(fn, fk.split_up(width, part), level=fk.WARP)

        return fk.pconcat_map(warps, fk.split_up(block, xs))

    return fk.kernel(write)


def product(a, b):
    """Of 2x2 matrices, which do not commute; wraps around."""
    return (a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
            a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3])  # fmt: skip


def matrix(x):
    return x, x + 1, x * 0 + 1, x - 2


def fold(xs):
    """All prefixes by a loop."""
    found, before = [], None
    for x in xs:
        one = matrix(x)
        before = one if before is None else product(before, one)
        found.append(before)
    return found


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("fn", "want"),
    [
        (lambda p: fk.shuffle_up(3, p), lambda r: np.concatenate([r[:3], r[:-3]])),
        (lambda p: fk.shuffle_down(5, p), lambda r: np.concatenate([r[5:], r[-5:]])),
        (lambda p: fk.shuffle_xor(1, p), lambda r: r[np.arange(r.size) ^ 1]),
        (lambda p: fk.shuffle(lambda i: (i * 7 + 1) % 32, p),
         lambda r: r[(np.arange(r.size) * 7 + 1) % 32]),
        (lambda p: fk.warp_scan(lambda a, b: a + b, p), np.cumsum),
        (lambda p: fk.warp_reduce(lambda a, b: a + b, p), lambda r: r.sum()),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("width", "block"), every_case(2, [(32, 128), (64, 128), (32, 32), (128, 1024)])
)
def test_what_lanes_do_together(fn, want, width, block):
    """One element for each lane, or several."""
    rows = XS.reshape(-1, width)

    check(of_warps(fn, width, block), XS, want=np.concatenate([np.ravel(want(r)) for r in rows]))


def test_reduce_and_scan_of_a_warp_go_from_register_to_register():
    """By shuffles of the machine, without memory; the others through the warp's."""
    in_registers = of_warps(
        lambda p: (fk.scan(lambda a, b: a + b, p, 0), fk.reduce(lambda a, b: a + b, p, 0)),
        block=256,
    )
    rows = XS.reshape(-1, 32)
    check(in_registers, XS, want=(rows.cumsum(1).ravel(), rows.sum(1)))

    assert "__shfl" in in_registers.text["cuda"]
    assert "__shared__" not in in_registers.text["cuda"]
    assert in_registers.text["ptx"].count("shfl.sync") >= 2


@pytest.mark.sampled
@pytest.mark.parametrize("width", [1, 2, 3, 7, 31, 33])
def test_order_is_kept(width):
    """Products of matrices, by any number of lanes."""
    xs = XS[: 2 * width]
    with np.errstate(over="ignore"):
        found = [fold(part) for part in xs.reshape(2, -1)]
        check(of_warps(lambda p: fk.warp_scan(product, fk.map(matrix, p)), width, width), xs,
              want=tuple(np.array([m[k] for row in found for m in row]) for k in range(4)))
        check(of_warps(lambda p: fk.singleton(fk.warp_reduce(product, fk.map(matrix, p))),
                       width, width), xs,
              want=tuple(np.array([row[-1][k] for row in found]) for k in range(4)))  # fmt: skip


def test_a_barrier_of_a_warp_is_not_the_blocks():
    """Forced in a warp: no __syncthreads, a __syncwarp."""

    @fk.kernel
    def kernel(xs: fk.Pull[fw.i32]):
        def warp(part):
            return fk.force(fk.reverse(fk.force(fk.map(lambda x: x + 1, part))))

        return fk.pconcat_map(
            lambda part: fk.pconcat_map(warp, fk.split_up(64, part), level=fk.WARP),
            fk.split_up(128, xs))

    assert "sync level=warp" in kernel.text["kernel"]
    assert "__syncwarp" in kernel.text["cuda"]
    body = kernel.text["cuda"].split("__global__")[1]
    assert "__syncthreads" not in body.split("fw_number")[-1].split("\n", 2)[2]
    check(kernel, XS[:256].astype(np.int32),
          want=(XS[:256].reshape(-1, 64)[:, ::-1] + 1).astype(np.int32).ravel())


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [32, 64, 96, 1024])
@pytest.mark.parametrize("warps", [1, 3, 5])
def test_virtual_warps(threads, warps):
    """Fewer or more warps than a block has."""

    def write(xs):
        def warp(part):
            return fk.force(fk.reverse(part))

        def block(part):
            return fk.pconcat_map(warp, fk.split_up(32, part), level=fk.WARP)

        return fk.pconcat_map(block, fk.split_up(32 * warps, xs))

    xs = np.arange(2 * 32 * warps)
    check(fk.kernel(write, threads=threads), xs, want=xs.reshape(-1, 32)[:, ::-1].ravel())


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda p: fk.shuffle_xor(1, p), "this is code of a block"),
        (lambda p: fk.pconcat_map(lambda q: fk.shuffle_xor(32, q), fk.split_up(32, p),
                                  level=fk.WARP), "pairs some with none"),
        (lambda p: fk.pconcat_map(lambda q: fk.warp_reduce(max, q[:0]), fk.split_up(32, p),
                                  level=fk.WARP), "has no value"),
    ],
)  # fmt: skip
def test_refused(use, message):
    """Where there is no warp, or no partner."""
    kernel = fk.kernel(lambda xs: fk.pconcat_map(use, fk.split_up(64, xs)))

    assert message in refused(kernel, XS)
