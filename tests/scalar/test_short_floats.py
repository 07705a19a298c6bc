"""Numbers of 16 bits: every one of them as an f32, and the nearest one to a float."""

import numpy as np
import pytest

from flatweave.scalar.ops import evaluate

EVERY = np.arange(2**16, dtype=np.uint16)
READ = {
    "f16": lambda words: words.view(np.float16).astype(np.float32),
    "bf16": lambda words: (words.astype(np.uint32) << 16).view(np.float32),
}


def bits_of(x):
    """The bits of an array of f32."""
    return np.asarray(x).view(np.uint32)


@pytest.mark.parametrize("name", READ)
def test_each_number_is_the_same_as_an_f32_and_back(name):
    """All 65,536 of them; of NaN the sign and the fraction stay, and it is quiet."""
    wide = evaluate(f"of_{name}", EVERY)
    expected = READ[name](EVERY)

    assert wide.dtype == np.float32
    missing = np.isnan(expected)
    assert np.array_equal(bits_of(wide)[~missing], bits_of(expected)[~missing])
    assert np.array_equal(bits_of(wide)[missing], bits_of(expected)[missing] | 1 << 22)
    back = evaluate(f"to_{name}", wide)
    assert back.dtype == np.uint16
    quiet = 1 << (9 if name == "f16" else 6)
    assert np.array_equal(back, np.where(missing, EVERY | quiet, EVERY))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", READ)
def test_a_float_becomes_the_nearest_number_the_even_one_of_two(name, dtype):
    """Numbers, midpoints of two, and the adjacent floats, from f64 rounded once."""
    words = EVERY[: 0x7C00 if name == "f16" else 0x7F80]
    exact = READ[name](words).astype(np.float64)
    numbers, middles = exact.astype(dtype), ((exact[1:] + exact[:-1]) / 2).astype(dtype)
    below, above = np.nextafter(middles, dtype(0)), np.nextafter(middles, dtype(np.inf))
    even = words[:-1] + (words[:-1] & 1)

    for sign, mark in ((1, 0), (-1, 1 << 15)):
        assert np.array_equal(evaluate(f"to_{name}", sign * numbers), words | mark)
        assert np.array_equal(evaluate(f"to_{name}", sign * middles), even | mark)
        assert np.array_equal(evaluate(f"to_{name}", sign * below), words[:-1] | mark)
        assert np.array_equal(evaluate(f"to_{name}", sign * above), words[1:] | mark)


def test_what_is_too_great_is_infinite():
    """From midway between the greatest number and the next power of two on."""
    assert evaluate("to_f16", np.array([65519.0, 65520.0, 1e300, -1e300])).tolist() == [
        0x7BFF, 0x7C00, 0x7C00, 0xFC00
    ]  # fmt: skip
    midway = np.array([2.0**128 - 2.0**119])
    assert evaluate("to_bf16", np.nextafter(midway, 0)).tolist() == [0x7F7F]
    assert evaluate("to_bf16", midway).tolist() == [0x7F80]
    assert evaluate("to_bf16", np.array([5e-324, -5e-324])).tolist() == [0, 1 << 15]
