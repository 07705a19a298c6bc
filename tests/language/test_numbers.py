"""Python numbers take the dtype of what they meet, and must be a value of it."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

SMALL = np.arange(4, dtype=np.int8)
BELOW = np.arange(4, dtype=np.uint8)
WIDE = np.array([0, 5, 2**63, 2**64 - 1], np.uint64)
WHOLE = np.arange(-1, 3)
AT = np.array([1])
FLAGS = np.array([True, False, True, False])

# each takes an array of i8 and a number that joins its elements
PLACES = {
    "add": lambda xs, k: xs + k,
    "shift": lambda xs, k: xs << k,
    "power": lambda xs, k: xs**k,
    "maximum": lambda xs, k: fw.maximum(xs, k),
    "where": lambda xs, k: fw.where(xs > 1, xs, k),
    "clip": lambda xs, k: fw.clip(xs, 0, k),
    "map": lambda xs, k: fw.map(lambda x: x + k, xs),
    "cond": lambda xs, k: fw.map(lambda x: fw.cond(x > 1, lambda: x, lambda: k), xs),
    "loop": lambda xs, k: fw.map(lambda x: fw.fori_loop(0, 2, lambda i, s: s + k, x), xs),
    "reduce": lambda xs, k: fw.reduce(fw.add, k, xs),
    "reduce rows": lambda xs, k: fw.reduce(fw.add, k, fw.reshape(xs, (2, 2))),
    "scan": lambda xs, k: fw.scan(fw.minimum, k, xs),
    "operator": lambda xs, k: fw.reduce(lambda a, b: fw.where(a == b, a, k), 0, xs),
    "segmented_scan": lambda xs, k: fw.segmented_scan(fw.add, k, FLAGS, xs),
    "segmented_reduce": lambda xs, k: fw.segmented_reduce(fw.add, k, FLAGS, xs),
    "expand_reduce": lambda xs, k: fw.expand_reduce(lambda x: 2, lambda x, i: x, fw.add, k, xs),
    "scatter": lambda xs, k: fw.scatter(xs, AT, k),
    "permute": lambda xs, k: fw.permute(fw.add, xs, AT, k),
    "reduce_by_index": lambda xs, k: fw.reduce_by_index(xs, fw.add, k, AT, 3, check=False),
    "histogram": lambda xs, k: fw.histogram(4, AT, xs[:1], fw.add, k, check=False),
    "stencil": lambda xs, k: fw.stencil(lambda n: n[-1], xs, 3, ("constant", k)),
}
ARITHMETIC = ("add", "shift", "power", "maximum", "where", "clip", "map", "cond", "loop",
              "operator")  # fmt: skip
JOINING = [name for name in PLACES if name not in ARITHMETIC]


@pytest.fixture
def interp():
    """What fits is decided before there is a target."""
    with config.scoped(target="interp"):
        yield


@pytest.mark.parametrize("name", PLACES)
def test_an_integer_that_does_not_fit_raises(interp, name):
    """Written in the program, given to it, and given to the function itself."""
    place = PLACES[name]

    with pytest.raises(OverflowError, match="300 does not fit i8"):
        fw.jit(lambda xs: place(xs, 300))(SMALL)
    with pytest.raises(OverflowError, match="-129 does not fit i8"):
        fw.jit(place)(SMALL, -129)
    if name not in ("map", "cond", "loop", "operator"):
        with pytest.raises(OverflowError, match="300 does not fit i8"):
            place(fw.asarray(SMALL), 300)


@pytest.mark.parametrize("name", PLACES)
def test_an_integer_that_fits_is_a_value_of_the_dtype(interp, name):
    """Given when it runs, and as a NumPy scalar where it only joins the elements."""
    want = PLACES[name](fw.asarray(SMALL), 2)

    assert np.array_equal(fw.jit(PLACES[name])(SMALL, 2), want)
    if name in JOINING:
        assert np.array_equal(PLACES[name](fw.asarray(SMALL), np.int64(2)), want)
        with pytest.raises(OverflowError, match="the i64 300 does not fit i8"):
            PLACES[name](fw.asarray(SMALL), np.int64(300))


@pytest.mark.parametrize("name", JOINING)
def test_a_float_is_no_integer(interp, name):
    """A neutral element, an edge and a written value keep the elements' kind."""
    for number in (0.5, np.nan, 2.0, np.float32(1)):
        with pytest.raises(fw.DTypeError, match="i8"):
            PLACES[name](fw.asarray(SMALL), number)
        with pytest.raises(fw.DTypeError, match="i8"):
            fw.jit(PLACES[name])(SMALL, number)


@pytest.mark.parametrize("name", ["add", "cond", "reduce", "scatter"])
def test_an_argument_that_does_not_fit_raises_on_every_target(target, name):
    """And the next call goes on as if nothing had been."""
    compiled = fw.jit(PLACES[name])

    for number in (128, -129, 2**63):
        with pytest.raises(OverflowError, match=f"{number} does not fit i8"):
            compiled(SMALL, number)
    assert compiled(SMALL, 2).dtype == np.int8


def test_unsigned_ends(target):
    """-1 is no unsigned integer; 2**64 - 1 is one."""
    with pytest.raises(OverflowError, match="-1 does not fit u8"):
        fw.reduce(fw.add, -1, BELOW)
    with pytest.raises(OverflowError, match="-1 does not fit u64"):
        fw.jit(lambda xs, k: xs + k)(WIDE, -1)
    assert fw.reduce(fw.minimum, 2**64 - 1, WIDE) == 0
    assert fw.reduce(fw.minimum, 2**64 - 1, WIDE[3:]) == 2**64 - 1
    assert np.array_equal(fw.jit(lambda xs, k: xs + k)(WIDE, 2**63), WIDE + np.uint64(2**63))


def test_arguments_beyond_an_i64(target):
    """They are u64, alone and together; with an i64 they do not fit."""
    assert fw.jit(lambda k: k)(2**63) == 2**63
    assert fw.jit(lambda k: k + 1)(2**63) == 2**63 + 1
    with pytest.raises(OverflowError, match="9223372036854775808 does not fit i64"):
        fw.jit(lambda xs, k: xs + k)(WHOLE, 2**63)
    for number in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match=str(number)):
            fw.jit(lambda k: k)(number)


def test_bools_take_0_and_1(target):
    """As a bool of NumPy does; other integers are none of its values."""
    assert fw.reduce(fw.logical_or, 0, FLAGS)
    assert not fw.reduce(fw.logical_and, 0, FLAGS)
    with pytest.raises(OverflowError, match="2 does not fit bool"):
        fw.reduce(fw.logical_or, 2, FLAGS)


@pytest.mark.parametrize("fn", ["equal", "not_equal", "less", "less_equal", "greater",
                                "greater_equal"])  # fmt: skip
@pytest.mark.parametrize("xs", [SMALL, BELOW, WIDE, WHOLE], ids=lambda xs: str(xs.dtype))
def test_comparisons_are_those_of_the_numbers(target, fn, xs):
    """Numbers beyond the ends of the dtype included, on both sides."""
    compare, numpy = getattr(fw, fn), getattr(np, fn)
    compiled = fw.jit(compare)
    for number in (-(2**63), -129, -1, 0, 2, 128, 256, 300, 2**63 - 1, 2**63, 2**64 - 1):
        want = numpy(xs.astype(object), number).astype(bool)
        turned = numpy(number, xs.astype(object)).astype(bool)

        assert np.array_equal(compiled(xs, number), want)
        with config.scoped(target="interp"):
            assert np.array_equal(fw.jit(lambda a, k=number: compare(k, a))(xs), turned)


def test_a_neutral_row_takes_the_elements_dtype(target):
    """One neutral element for each column, of another integer dtype."""
    rows = np.arange(6, dtype=np.int8).reshape(3, 2)
    got = fw.reduce(fw.add, np.array([0, 0]), rows)

    assert got.dtype == np.int8
    assert np.array_equal(got, rows.sum(axis=0))
