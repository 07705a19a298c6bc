"""Scans that count flags are popcounts, what is read by such counts is expanded; reversed scans."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen.llvm import isa


def put_back(flags, kept):
    """The reverse of a filter: elements that have the flag are `kept`, the others 0."""
    def keep(xs):
        return fw.filter(lambda pair: pair[1], (xs, flags))[0]

    return fw.vjp(keep, fw.zeros(flags.shape[0], kept.dtype))[1](kept)[0]


@pytest.mark.parametrize("n", [1, 63, 64, 1000, 70_001])
def test_counts_of_flags(n):
    """As NumPy's sums."""
    flags = np.random.default_rng(n).random(n) < 0.4
    count = fw.jit(lambda flags: fw.cumsum(fw.astype(flags, fw.i64)))

    assert np.array_equal(count(flags), np.cumsum(flags))
    assert n == 1 or "@llvm.ctpop.v" in count.stages(flags).text["llvm"]


LIKE_FLAGS = [lambda f: 1 - f, lambda f: 2 * f + 3, lambda f: -f, lambda f: f]


@pytest.mark.parametrize("dtype", [fw.i8, fw.u8, fw.i16, fw.i32, fw.u64, fw.f32, fw.f64])
def test_sums_of_what_is_like_a_flag(dtype):
    """Only a flag itself, as an integer, is counted: not its opposite, multiples, or floats."""
    flags = np.random.default_rng(3).random(5000) < 0.6
    sums = fw.jit(
        lambda x: tuple(fw.cumsum(f(fw.astype(x, dtype)), dtype=dtype) for f in LIKE_FLAGS)
    )

    for f, found in zip(LIKE_FLAGS, sums(flags), strict=True):
        of = f(flags.astype(dtype.numpy))
        assert np.array_equal(found, np.cumsum(of, dtype=dtype.numpy))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_elements_put_back_where_flags_are(dtype, share):
    """For no flag, some and all."""
    rng = np.random.default_rng(0)
    flags = rng.random(70_001) < share
    kept = rng.integers(1, 200, flags.sum()).astype(dtype)
    wanted = np.zeros(len(flags), dtype)
    wanted[flags] = kept[: flags.sum()]

    assert np.array_equal(fw.jit(put_back)(flags, kept), wanted)


def test_elements_put_back_are_expanded():
    """By one instruction for each register, or a load and a permute, and no gather."""
    expanding = {"avx512": "masked.expandload.v64f32", "avx2": "x86.avx2.permd"}
    if isa.here().name not in expanding:
        pytest.skip("needs AVX2")
    flags = np.arange(100) % 3 == 0
    text = fw.jit(put_back).stages(flags, np.ones(34, np.float32)).text["llvm"]

    assert expanding[isa.here().name] in text and "masked.gather" not in text


@pytest.mark.parametrize("n", [100, 1 << 20, (1 << 20) + 7])
@pytest.mark.parametrize("exclusive", [False, True])
def test_reversed_scans(n, exclusive):
    """With stores around the caches where the extent is a multiple of steps."""
    x = np.random.default_rng(0).integers(-9, 9, n)
    y = np.cumsum(x[::-1])[::-1]

    found = fw.jit(lambda x: fw.scan(fw.add, 0, x, reverse=True, exclusive=exclusive))(x)

    assert np.array_equal(found, y - x if exclusive else y)


def test_reversed_scans_of_an_operator_that_does_not_commute():
    """s = a * s + b from the end."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-1, 2, 1000), rng.integers(-3, 4, 1000)
    wanted, state = np.zeros(1000, np.int64), 0
    for k in reversed(range(1000)):
        wanted[k] = state = a[k] * state + b[k]

    found = fw.jit(lambda a, b: fw.scan(
        lambda f, g: (f[0] * g[0], f[0] * g[1] + f[1]), (1, 0), (a, b), reverse=True
    )[1])(a, b)  # fmt: skip

    assert np.array_equal(found, wanted)
