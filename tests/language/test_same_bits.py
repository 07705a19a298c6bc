"""The same bits for every number of threads and in every run, the signs and payloads of NaN too."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

pytestmark = pytest.mark.usefixtures("crowd")
THREADS = (1, 2, 3, 7)
RUNS = 25


def noisy(dtype, n, seed=0):
    """Numbers, every fourth of them a distinct NaN, some infinities and zeros of both signs."""
    rng = np.random.default_rng(seed)
    xs = rng.standard_normal(n).astype(dtype)
    xs[1::50], xs[2::50], xs[3::50], xs[4::50] = np.inf, -np.inf, 0.0, -0.0
    bits = xs.view(f"u{xs.itemsize}")
    at = np.arange(0, n, 4)
    quiet, sign = (0x7FC00000, 31) if xs.itemsize == 4 else (0x7FF8 << 48, 63)
    bits[at] = quiet + at + (rng.integers(0, 2, at.size, dtype=np.uint64) << sign)
    return xs


def bits_of(found):
    """The bytes of one array or of several."""
    arrays = found if type(found) is tuple else (found,)
    return b"".join(np.asarray(xs).tobytes() for xs in arrays)


def outcomes(f, *args):
    """All that some runs on each number of threads gave."""
    made = fw.jit(f)
    found = set()
    for threads in THREADS:
        with config.scoped(threads=threads):
            found.update(bits_of(made(*args)) for _ in range(RUNS))
    return found


def affine(f, g):
    """Maps x -> a x + b, in order: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def signs(f, g):
    """A sum, and the sign of the sum so far, which NaN has too."""
    total = f[0] + g[0]
    return total, f[1] + fw.copysign(1.0, total)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "scan",
    [
        lambda x, y: fw.scan(affine, (1.0, 0.0), (x, y)),
        lambda x, y: fw.scan(signs, (0.0, 0.0), (x, y), check=False),
        lambda x, y: fw.filter(lambda v: ~(v > 0.0), fw.scan(fw.add, 0.0, x)),
        lambda x, y: fw.scan(
            lambda a, b: fw.sqrt(a * a + b * b), 0.0, x, reverse=True, exclusive=True
        ),
    ],
    ids=["affine", "signs", "filtered", "lengths"],
)
def test_scans(dtype, scan):
    """Timing decides which block joins an aggregate to the prefix before it."""
    n = 100_003

    assert len(outcomes(scan, noisy(dtype, n), noisy(dtype, n, seed=1))) == 1


def test_prefixes_that_start_anew():
    """Few segments, so that most of them go over several blocks."""
    xs = noisy(np.float32, 100_003)
    flags = np.zeros(xs.size, bool)
    flags[::20_000] = True

    assert len(outcomes(lambda f, x: fw.segmented_scan(fw.add, 0.0, f, x), flags, xs)) == 1


@pytest.mark.parametrize("op", [fw.add, fw.maximum, affine], ids=["add", "maximum", "affine"])
def test_combining_scatters(op):
    """How many threads there are says which elements go to which block."""
    n, extent = 30_011, 97
    at = np.random.default_rng(0).integers(0, extent, n)
    dest, xs = (
        tuple(noisy(np.float32, size, seed) for seed in (1, 2)[: 1 + (op is affine)])
        for size in (extent, n)
    )
    if op is not affine:
        (dest,), (xs,) = dest, xs

    assert len(outcomes(lambda d, i, v: fw.permute(op, d, i, v, check=False), dest, at, xs)) == 1


def test_a_scan_of_floats_calls_its_operator():
    """One function for all blocks; integers need none, nor does what only chooses an operand."""
    xs = np.zeros(9, np.float32)

    assert "call (" in kernels(lambda x: fw.scan(fw.add, 0.0, x), xs)
    assert "call (" not in kernels(lambda x: fw.scan(fw.add, 0, x), xs.astype(np.int32))
    assert "call (" not in kernels(lambda x: fw.scan(fw.minimum, np.inf, x), xs)


def kernels(f, *args):
    """The machine language of a program."""
    return fw.jit(f).stages(*args).text["kernel"]


def test_a_called_operator_reads_what_is_outside_of_it():
    """Arrays and numbers around an operator go along, and what it reports is found."""
    xs, table = np.ones(40_000), np.array([5.0, 0.0])

    def total(x, table, k):
        return fw.scan(lambda a, b: a + b + table[k], 0.0, x)

    np.testing.assert_array_equal(fw.jit(total)(xs, table, 1), np.cumsum(xs))
    with pytest.raises(fw.IndexOutOfBounds, match="index 2 is outside an array of 2"):
        fw.jit(total)(xs, table, 2)
