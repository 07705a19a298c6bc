"""Texts as numbers, and numbers as texts, next to Python's."""

import struct

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(38)
BITS = RNG.integers(0, 2**63, 150)
FLOATS = [
    *np.frombuffer(BITS.tobytes(), np.float64).tolist(),
    *(RNG.integers(0, 10**6, 20) / 1e3).tolist(),
    *(2.0**k for k in range(-1074, 1024, 97)), 0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1e15,
    1e16, 1e17, 9007199254740993.0, 1e-4, 1e-5, -1.5, 1.7976931348623157e308,
]  # fmt: skip
HARD = [
    "9007199254740993", "9007199254740993.00000000000000000001",
    "9007199254740992.99999999999999999999", "2.4703282292062327e-324", "2.4703282292062328e-324",
    "1.7976931348623159e308", "123456789012345678901234567890", "00000000000000000000000001.5",
    ".5", "5.", "+7", "-.5e+3", "Infinity", "-iNf", "NaN", " 12 ", "1e-99999999999", "1E9999",
]  # fmt: skip


def test_floats_are_read_to_the_nearest():
    """As many digits as there may be: the bits are those of `float`."""
    texts = [*map(repr, FLOATS), *(f"{x:.19e}" for x in FLOATS[:60]), *HARD]
    wanted = np.array([float(text) for text in texts])

    found = np.asarray(fw.Strings(texts).to_numbers())

    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_short_floats_are_rounded_once():
    """A text just above halfway between two f32 is rounded up, whose f64 is halfway."""
    above = "1.00000005960464477540"
    texts = [above, "1.000000059604644775390625", "0.1", "3.4028236e38", "1e-45"]

    found = fw.Strings(texts).to_numbers(fw.f32).tolist()

    assert found == [1.00000011920928955078125, 1.0, float(np.float32(0.1)), np.inf, 2**-149]


def test_floats_are_printed_as_repr():
    """And read as the same float."""
    numbers = np.array([*FLOATS, np.nan, np.inf, -np.inf])
    strings = fw.strings_of(numbers)

    assert strings.tolist() == [repr(x) for x in numbers.tolist()]
    np.testing.assert_array_equal(strings.to_numbers(), numbers)
    short = fw.strings_of(np.float32([0.1, 16777216, 1e-45]))
    assert short.tolist() == ["0.1", "16777216.0", "1e-45"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_integers_are_read_and_printed(dtype):
    """To the ends of their dtypes; one more does not fit."""
    info = np.iinfo(dtype)
    numbers = [info.min, info.max, 0, info.max // 2]
    texts = [str(number) for number in numbers]

    assert fw.strings_of(np.array(numbers, dtype)).tolist() == texts
    assert fw.Strings(texts).to_numbers(dtype).tolist() == numbers
    for number in (info.min - 1, info.max + 1, 10**30):
        with pytest.raises(fw.ArgumentError, match="row 1 does not fit"):
            fw.Strings(["1", str(number)]).to_numbers(dtype)


NO_INTEGER = ["", "-", " ", "1.5", "x", "1_0", "0x1", "--1", "1 2"]
NO_FLOAT = ["", "+", ".", "e5", "1e", "1e+", "x", "1_0", "--1", "1 2", "1..2", "nanx", ".e1"]


@pytest.mark.parametrize(("text", "dtype"), [
    *((text, fw.i64) for text in NO_INTEGER), *((text, fw.f64) for text in NO_FLOAT),
])  # fmt: skip
def test_other_text_raises_with_the_row(text, dtype):
    """Parts of numbers, words, and what only sources of Python may have."""
    with pytest.raises(fw.ArgumentError, match="row 1 is no"):
        fw.Strings(["1", text]).to_numbers(dtype)


def test_digits_of_integers_are_read_eight_at_a_time():
    """Of each length, with another byte at each position, and beyond 64 bits."""
    read = fw.jit(lambda s: s.to_numbers(fw.u64), target="cpu")
    text = "18446744073709551615"
    assert read(fw.Strings([text[:k] for k in range(1, 21)])).tolist() == [
        int(text[:k]) for k in range(1, 21)
    ]
    for wrong in ("/", ":", "\0", "é", "a"):
        for k in range(20):
            with pytest.raises(fw.ArgumentError, match="row 1 is no integer"):
                read(fw.Strings(["1", text[:k] + wrong + text[k + 1 :] + "0"]))
    for above in ("18446744073709551616", "99999999999999999999", "100000000000000000000000"):
        with pytest.raises(fw.ArgumentError, match="row 0 does not fit"):
            read(fw.Strings([above]))

    assert "100000000" in read.stages(fw.Strings(["1"])).text["fused"]


def test_other_kinds_of_numbers():
    """Bools, missing numbers and none; complex ones have no text."""
    assert fw.strings_of([True, False]).tolist() == ["True", "False"]
    assert fw.strings_of(fw.Nullable([1, None])).tolist() == ["1", None]
    assert fw.strings_of(np.zeros(0)).tolist() == []
    assert fw.Strings([]).to_numbers().tolist() == []
    with pytest.raises(fw.DTypeError, match="complex"):
        fw.strings_of([1j])
    with pytest.raises(fw.DTypeError, match="to_numbers got the dtype"):
        fw.Strings(["1"]).to_numbers(fw.bool_)
    assert struct.pack("d", fw.Strings(["-0"]).to_numbers().tolist()[0]) == struct.pack("d", -0.0)
