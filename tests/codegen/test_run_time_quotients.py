"""`//` and `%` by divisors that only the data has: rounded down, exactly, in vectors."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.codegen.llvm.isa import here

QUOTIENT, REST = fw.jit(lambda a, b: a // b), fw.jit(lambda a, b: a % b)
EDGE = 2**51
"""Integers of 64 bits from here on are divided lane by lane."""
LENGTHS = (0, 1, 127, 128, 129, 1025)


def integers(dtype, count, rng, most=None):
    """Numbers of all sizes, and those where something begins or ends."""
    info = np.iinfo(dtype)
    most = info.max if most is None else most
    ends = [0, 1, 2, 3, 7, EDGE - 1, EDGE, EDGE + 1, 2**52, 2**53 + 1, info.max - 1, info.max]
    known = [sign * end for end in ends for sign in (1, -1)] + [info.min, info.min + 1]
    known = [x for x in known if max(info.min, -most) <= x <= most]
    sizes = rng.integers(1, most.bit_length() + 1, count)
    made = [int(rng.integers(0, 1 << int(size), dtype=np.uint64)) % (most + 1) for size in sizes]
    signs = rng.integers(0, 2, count) if info.min else np.zeros(count, int)
    chosen = [-x if sign else x for x, sign in zip(made, signs, strict=True)]
    for k in range(0, count, 4):
        chosen[k] = known[int(rng.integers(len(known)))]
    return np.array(chosen, dtype)


def by_python(a, b):
    """Quotients and rests of whole numbers, 0 by 0, wrapped into the dtype."""
    info, pairs = np.iinfo(a.dtype), list(zip(a.tolist(), b.tolist(), strict=True))
    found = [(x // y, x % y) if y else (0, 0) for x, y in pairs]
    wrapped = [[(v - info.min) % 2**info.bits + info.min for v in each] for each in found]
    return np.array(wrapped, a.dtype).reshape(-1, 2).T


@pytest.fixture(params=["native", "x86-64-v3", "x86-64-v2"])
def level(request):
    """Registers of several widths."""
    with config.scoped(cpu=request.param):
        yield here()


@pytest.mark.sampled
@pytest.mark.parametrize("most", [None, EDGE - 1], ids=["any", "small"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32, np.int8], ids=str)
def test_quotients_are_rounded_down(dtype, most, level):
    """Both signs, divisors of 0 and -1, the least number, and what floats do not hold."""
    rng = np.random.default_rng(5)
    most = None if most is None or most > np.iinfo(dtype).max else most
    for count in LENGTHS:
        a, b = (integers(dtype, count, rng, most) for _ in range(2))
        quotients, rests = by_python(a, b)
        assert np.array_equal(np.asarray(QUOTIENT(a, b)), quotients)
        assert np.array_equal(np.asarray(REST(a, b)), rests)


@pytest.mark.parametrize("sign", [1, -1])
def test_quotients_that_miss_a_whole_number_by_little(sign, level):
    """One more or less than a multiple: where a rounded quotient would be the next number."""
    rng = np.random.default_rng(6)
    b = rng.integers(2**24, 2**26, 5000)
    a = sign * (b * rng.integers(2**23, 2**25, 5000) + rng.integers(-1, 2, 5000))

    assert np.array_equal(np.asarray(QUOTIENT(a, b)), a // b)
    assert np.array_equal(np.asarray(REST(a, -b)), a % -b)


def test_vectors_are_divided_as_such(level):
    """Where registers have more than two lanes; the machine's division is next to it, for what
    is large."""
    text = fw.jit(lambda a, b: a // b).stages(np.arange(9), np.arange(9)).text["llvm"]
    wide = level.register_bits > 128

    assert (" fdiv <" in text) is wide
    assert " sdiv <" in text


def test_what_is_known_to_be_small_is_not_asked(level):
    """Numbers of 32 bits: only the divisor may be large."""
    small, any_size = np.arange(9, dtype=np.int32), np.arange(9)
    tests = [
        fw.jit(lambda a, b: a.astype(fw.i64) // b).stages(a, any_size).text["llvm"]
        .count(f"splat (i64 {2 * EDGE - 2})")
        for a in (small, any_size)
    ]  # fmt: skip

    assert tests[1] == 2 * tests[0]
    assert (tests[0] > 0) is (level.register_bits > 128)
