"""Elementary functions as LLVM text: within 4 ulp everywhere, and the same bits at every width."""

import ctypes
import ctypes.util

import numpy as np
import pytest

from flatweave.base.dtypes import f32, f64
from flatweave.codegen.llvm.isa import InstructionSet, here
from flatweave.codegen.llvm.math.scalar import FASTER_IN_LIBMVEC, NAMES, emit_scalar
from flatweave.codegen.llvm.module import Module, constant
from flatweave.scalar.ops import TABLE
from tests.codegen.element_loops import Loop, Loops, same_bits, samples

WIDTHS = (1, 4, 16, 64)
COUNT = 1 << 15
ULPS = 4.0
CASES = [(name, dtype) for name in NAMES for dtype in (f32, f64)]
WIDE = np.longdouble
INVERSES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
            "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}  # fmt: skip


def compiled(cases, widths, isa):
    """Loops over these functions."""
    loops = [
        Loop(
            f"{name}_{dtype}_{width}", [dtype] * TABLE[name].arity, dtype, width,
            lambda body, args, n=name, d=dtype, w=width: emit_scalar(body, n, d, w, args),
        )
        for name, dtype in cases
        for width in widths
    ]  # fmt: skip
    return Loops(Module(isa), loops)


@pytest.fixture(scope="module")
def own():
    """Our own functions at every width."""
    return compiled(CASES, WIDTHS, type(here())())


@pytest.fixture(scope="module")
def portable():
    """Our own functions as other machines get them."""
    return compiled(CASES, (16,), InstructionSet())


@pytest.fixture(scope="module")
def library():
    """The functions taken from libmvec."""
    if not here().libmvec:
        pytest.skip("this host has no libmvec")
    cases = [case for case in CASES if case in FASTER_IN_LIBMVEC]
    return compiled(cases, WIDTHS, here())


def operands(name, dtype):
    """Arrays on which a function is tried; for two operands also whole and positive ones."""
    first = samples(dtype, COUNT, 11)
    if TABLE[name].arity == 1:
        near = np.random.default_rng(12).normal(1, 1e-3, COUNT)
        return [np.concatenate([first, near.astype(dtype.numpy)])]
    second = samples(dtype, COUNT, 13)
    return [
        np.concatenate([first, np.abs(first), first]),
        np.concatenate([second, second, np.round(second)]),
    ]


def exact(name, arrays):
    """The values in 80 bits; erf and erfc, which NumPy lacks, by the C library's erfl and erfcl."""
    wide = [np.asarray(x, dtype=WIDE) for x in arrays]
    if name not in ("erf", "erfc"):
        return getattr(np, INVERSES.get(name, name))(*wide)
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name + "l")
    function.restype, function.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
    return np.array([function(x) for x in wide[0].tolist()], dtype=WIDE)


def distance(found, expected):
    """The distance in ulps; 2**128 stands for the inf of f32."""
    limits = np.finfo(found.dtype)
    beyond = WIDE(2) ** int(limits.maxexp)
    expected = np.where(np.isnan(expected), expected, np.clip(expected, -beyond, beyond))
    finite = np.where(np.isinf(found), np.copysign(beyond, found), found.astype(WIDE))
    exponent = np.clip(np.frexp(expected)[1] - 1, limits.minexp, limits.maxexp - 1)
    units = np.abs(finite - expected) / np.ldexp(WIDE(1), exponent - limits.nmant)
    both_nan = np.isnan(found) & np.isnan(expected)
    return np.where(both_nan, 0, np.where(np.isnan(units), np.inf, units))


def check(loops, name, dtype):
    """Assert the error bound at width 16."""
    if np.finfo(WIDE).nmant < 63:
        pytest.skip("this platform has no 80-bit floats to compare with")
    arrays = operands(name, dtype)
    with np.errstate(all="ignore"):
        expected = exact(name, arrays)
        found = loops(f"{name}_{dtype}_16", *arrays)
        units = distance(found, expected)
    worst = int(np.argmax(units))
    assert units[worst] <= ULPS, ([x[worst] for x in arrays], found[worst], expected[worst])
    zeros = (found == 0) & (expected == 0)
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_our_own_functions_are_accurate(own, name, dtype):
    """At most 4 ulp for numbers of every size, subnormals, infinities and NaN."""
    check(own, name, dtype)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_every_width_gives_the_same_bits(own, portable, name, dtype):
    """The tail of a loop, its vector body, and a machine without vscalef agree."""
    arrays = operands(name, dtype)

    expected = own(f"{name}_{dtype}_16", *arrays)

    for width in WIDTHS:
        assert same_bits(own(f"{name}_{dtype}_{width}", *arrays), expected).all(), width
    assert same_bits(portable(f"{name}_{dtype}_16", *arrays), expected).all()


@pytest.mark.parametrize(("name", "dtype"), sorted(FASTER_IN_LIBMVEC, key=str), ids=str)
def test_functions_of_libmvec_are_accurate(library, name, dtype):
    """The same bound holds for what is taken from libmvec."""
    check(library, name, dtype)


@pytest.mark.parametrize(("name", "dtype"), sorted(FASTER_IN_LIBMVEC, key=str), ids=str)
def test_libmvec_gives_the_same_bits_at_every_width(library, name, dtype):
    """Narrow vectors are padded, wide ones cut, and all call the same function."""
    arrays = operands(name, dtype)

    expected = library(f"{name}_{dtype}_16", *arrays)

    for width in WIDTHS:
        assert same_bits(library(f"{name}_{dtype}_{width}", *arrays), expected).all(), width


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_powers_by_a_literal_are_short_and_accurate(dtype):
    """x**2 is a product, x**0.5 a root; other literals call the power function."""
    exponents = (0.0, 1.0, 2.0, 3.0, 4.0, -1.0, 0.5, 2.5)
    array = samples(dtype, COUNT, 17)
    loops = [
        Loop(
            f"pow_{k}", [dtype], dtype, 16,
            lambda body, args, y=exponent: emit_scalar(
                body, "pow", dtype, 16, [args[0], constant(dtype, 16, y)]
            ),
        )
        for k, exponent in enumerate(exponents)
    ]  # fmt: skip

    short = Loops(Module(InstructionSet()), loops)

    for k, exponent in enumerate(exponents):
        with np.errstate(all="ignore"):
            expected = exact("pow", [array, np.full_like(array, exponent)])
            units = distance(short(f"pow_{k}", array), expected)
        assert units.max() <= ULPS, (exponent, array[int(np.argmax(units))])


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_a_result_does_not_depend_on_the_other_lanes(own, dtype):
    """Lanes that need the slow branch leave the others as they are."""
    calm = np.linspace(0.1, 1.0, 64).astype(dtype.numpy)
    mixed = np.where(np.arange(64) % 5 == 0, np.asarray(np.inf, dtype.numpy), calm)

    for name in ("sin", "cos", "tan", "log", "log2"):
        kept = np.arange(64) % 5 != 0
        left = own(f"{name}_{dtype}_16", calm)[kept]
        right = own(f"{name}_{dtype}_16", mixed.astype(dtype.numpy))[kept]
        assert same_bits(left, right).all(), name
