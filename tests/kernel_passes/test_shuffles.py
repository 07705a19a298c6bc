"""What 32 lanes force and read in all of them goes from register to register."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.runtime.devices import cuda_libraries
from tests.kernel.programs import check

THREADS = 128
XS = np.random.default_rng(3).integers(-9, 10, 512)
SHUFFLES = {
    "up": (lambda p: fk.shuffle_up(3, p), lambda r: np.concatenate([r[:3], r[:-3]])),
    "down": (lambda p: fk.shuffle_down(5, p), lambda r: np.concatenate([r[5:], r[-5:]])),
    "xor": (lambda p: fk.shuffle_xor(9, p), lambda r: r[np.arange(r.size) ^ 9]),
    "any": (lambda p: fk.shuffle(lambda i: (i * 7 + 1) % p.length, p),
            lambda r: r[(np.arange(r.size) * 7 + 1) % r.size]),
    "twice": (lambda p: fk.reverse(fk.force(fk.shuffle_xor(1, p))),
              lambda r: r[np.arange(r.size) ^ 1][::-1]),
    "beside its own": (lambda p: fk.zip_with(lambda a, b: 3 * a - b, s := fk.force(p),
                                             fk.reverse(s)),
                       lambda r: 3 * r - r[::-1]),
}  # fmt: skip


def of_warps(fn, width=32, block=128):
    """A kernel whose warps give fn of each part of a number of elements."""

    def write(xs):
        def warps(part):
            return fk.pconcat_map(fn, fk.split_up(width, part), level=fk.WARP)

        return fk.pconcat_map(warps, fk.split_up(block, xs))

    return fk.kernel(write, threads=THREADS)


def wanted(fn, xs, width=32):
    return np.concatenate([fn(row) for row in xs.reshape(-1, width)])


@pytest.mark.parametrize("name", SHUFFLES)
def test_from_register_to_register(name):
    """Neither memory nor barriers, as many warps as a block has or fewer."""
    fn, want = SHUFFLES[name]
    kernel = of_warps(fn)
    check(kernel, XS, want=wanted(want, XS))
    for threads in (THREADS, 64, 96):
        found = kernel.simulate(XS, threads=threads)
        np.testing.assert_array_equal(found, wanted(want, XS))

    counts = kernel.counts(XS, threads=THREADS)
    assert counts.shared_reads == counts.shared_writes == counts.warp_barriers == 0
    assert counts.shuffles == len(XS) // 32 * (2 if name == "twice" else 1)
    text = kernel.text["cuda"]
    assert "__shared__" not in text and "__syncwarp" not in text
    cuda_libraries.ptx(text)


def test_components_of_any_dtype():
    """Tuples, narrow numbers and bools."""
    xs = XS.astype(np.int8)

    def warp(part):
        pairs = fk.map(lambda x: (x, x > 0, x.astype(fw.f64) / 2), part)
        return fk.shuffle_xor(5, pairs)

    kernel = of_warps(warp)
    turned = wanted(lambda r: r[np.arange(32) ^ 5], xs)
    check(kernel, xs, want=(turned, turned > 0, turned / 2))
    for one, other in zip(kernel.simulate(xs, threads=THREADS), (turned, turned > 0, turned / 2),
                          strict=True):  # fmt: skip
        np.testing.assert_array_equal(one, other)
    cuda_libraries.ptx(kernel.text["cuda"])


def guarded(part):
    """Some lanes do not ask."""
    m = fk.force(part)
    return fk.pull(32, lambda i: fk.cond(i < 7, lambda: m[i + 1], lambda: m[i]))


def changed(part):
    """Elements are stored a second time."""
    m = fk.fill(part)
    fk.for_all(32, lambda i: m.__setitem__(i, m[i] + 1))
    fk.barrier()
    return fk.reverse(m.pull())


def moved(part):
    """Elements are stored by other lanes."""
    return fk.reverse(fk.force(fk.scatter(lambda i: i ^ 1, part)))


@pytest.mark.parametrize(
    ("fn", "width", "want"),
    [
        (guarded, 32, lambda r: np.concatenate([r[1:8], r[7:]])),
        (changed, 32, lambda r: r[::-1] + 1),
        (moved, 32, lambda r: r[np.arange(32) ^ 1][::-1]),
        (SHUFFLES["up"][0], 64, SHUFFLES["up"][1]),
        (SHUFFLES["down"][0], 16, SHUFFLES["down"][1]),
    ],
)
def test_what_stays_in_memory(fn, width, want):
    """Where not every lane stores one separate element, and reads."""
    kernel = of_warps(fn, width)
    found = kernel.simulate(XS, threads=THREADS)
    np.testing.assert_array_equal(found, wanted(want, XS, width))

    counts = kernel.counts(XS, threads=THREADS)
    assert counts.shuffles == 0
    assert counts.shared_writes >= len(XS)
    assert counts.warp_barriers > 0
