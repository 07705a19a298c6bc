"""Every row of the scalar table as LLVM text: exact rows against their NumPy meaning, at any width.

Elementary functions are in test_llvm_elementary.py.
"""

import numpy as np
import pytest

from flatweave.base.dtypes import DTYPES, bool_, f32, f64, i32, i64, u16, u64
from flatweave.codegen.llvm.isa import InstructionSet, here
from flatweave.codegen.llvm.math.scalar import NAMES, emit_cast, emit_scalar
from flatweave.codegen.llvm.module import Body, Module, constant, vec
from flatweave.scalar.function import evaluate_cast
from flatweave.scalar.ops import TABLE, evaluate, result_dtype
from tests.codegen.element_loops import Loop, Loops, same_bits, samples

WIDTHS = (1, 4, 16, 64)
COUNT = 2048
CASES = [
    (name, dtype)
    for name, row in TABLE.items()
    for dtype in DTYPES
    if dtype.kind in row.kinds and not (name in NAMES and dtype.is_float)
]


def operands_of(name, dtype):
    """The dtypes of a row's operands."""
    return [bool_, dtype, dtype] if name == "select" else [dtype] * TABLE[name].arity


def row_loop(name, dtype, width):
    """The loop that applies one row."""
    operands = operands_of(name, dtype)
    return Loop(
        f"{name}_{dtype}_{width}", operands, result_dtype(name, operands), width,
        lambda body, args: emit_scalar(body, name, dtype, width, args),
    )  # fmt: skip


def asked_for(request, *names):
    """The parameters of these names that the tests of this file have in this run."""
    given = [
        item.callspec.params
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    return {tuple(params[name] for name in names) for params in given if params.keys() >= {*names}}


@pytest.fixture(scope="module")
def rows(request):
    """The rows with an exact meaning that this run tests, compiled at once."""
    asked = asked_for(request, "name", "dtype")
    loops = [row_loop(*case, width) for case in CASES if case in asked for width in WIDTHS]
    return Loops(Module(InstructionSet()), loops)


@pytest.fixture(scope="module")
def casts(request):
    """The conversions that this run tests, compiled at once."""
    asked = asked_for(request, "source")
    loops = [
        Loop(
            f"{source}_{target}_{width}", [source], target, width,
            lambda body, args, s=source, t=target, w=width: emit_cast(body, s, t, w, args[0]),
        )
        for source in DTYPES
        if (source,) in asked
        for target in DTYPES
        for width in WIDTHS
    ]  # fmt: skip
    return Loops(Module(InstructionSet()), loops)


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_a_row_means_what_numpy_says_at_every_width(rows, name, dtype):
    """Sums wrap, zero divides, NaN propagates, and tails agree with vector bodies."""
    dtypes = operands_of(name, dtype)
    arrays = [samples(operand, COUNT, seed) for seed, operand in enumerate(dtypes)]

    expected = evaluate(name, *arrays)

    for width in WIDTHS:
        found = rows(f"{name}_{dtype}_{width}", *arrays)
        wrong = ~same_bits(found, expected)
        first = np.flatnonzero(wrong)[:3]
        assert not wrong.any(), [(a[first], found[first], expected[first]) for a in arrays]


@pytest.mark.sampled
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_a_conversion_means_what_numpy_says_at_every_width(casts, source):
    """What does not fit an integer becomes its nearest end, NaN becomes 0."""
    array = samples(source, COUNT, 7)

    for target in DTYPES:
        expected = evaluate_cast(array, target)
        for width in WIDTHS:
            found = casts(f"{source}_{target}_{width}", array)
            wrong = ~same_bits(found, expected)
            assert not wrong.any(), (target, width, array[wrong][:3], found[wrong][:3])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_integer], ids=str)
def test_literal_divisors_and_exponents_keep_the_meaning(dtype):
    """Literals take short cuts: plain division, and powers without a loop."""
    numbers = [x for x in (-7, -1, 0, 1, 2, 3, 7, 10, 64) if x >= int(dtype.low)]
    array = samples(dtype, COUNT, 3)
    loops = [
        Loop(
            f"{name}_{k}", [dtype], dtype, 16,
            lambda body, args, n=name, x=number: emit_scalar(
                body, n, dtype, 16, [args[0], constant(dtype, 16, x)]
            ),
        )
        for name in ("floordiv", "mod", "pow")
        for k, number in enumerate(numbers)
    ]  # fmt: skip

    compiled = Loops(Module(InstructionSet()), loops)

    for name in ("floordiv", "mod", "pow"):
        for k, number in enumerate(numbers):
            expected = evaluate(name, array, np.full_like(array, number))
            assert np.array_equal(compiled(f"{name}_{k}", array), expected), (name, number)


def test_every_number_of_16_bits_is_converted_by_instructions_and_without():
    """To an f32 and back, and floats of either width to the nearest one."""
    short = np.arange(2**16, dtype=np.uint16)
    rows_ = [("of_f16", u16), ("of_bf16", u16), ("to_f16", f32), ("to_f16", f64),
             ("to_bf16", f32), ("to_bf16", f64)]  # fmt: skip
    wide = np.concatenate([evaluate("of_f16", short), evaluate("of_bf16", short)])
    beside = np.nextafter(wide, np.float32(0)), wide * np.float32(0.75), wide * np.float32(2 / 3)
    floats = np.concatenate([wide, *beside])

    for isa in (InstructionSet(), here()):
        compiled = Loops(Module(isa), [row_loop(*row, 16) for row in rows_])
        for name, dtype in rows_:
            array = short if dtype is u16 else floats.astype(dtype.numpy)
            found, expected = compiled(f"{name}_{dtype}_16", array), evaluate(name, array)
            assert found.tobytes() == expected.tobytes(), (isa.name, name, dtype)


def test_dividing_by_a_power_of_two_takes_one_instruction():
    """A shift rounds down as it is, and the low bits are the remainder, of vectors too."""
    for dtype, shift in ((i64, "ashr"), (i32, "ashr"), (u64, "lshr")):
        for width in (1, 8):
            for name, instruction in (("floordiv", shift), ("mod", "and")):
                body = Body(Module(InstructionSet()))
                emit_scalar(body, name, dtype, width, ["%x", constant(dtype, width, 64)])
                (line,) = body.text().strip().splitlines()
                assert line.split()[2] == instruction


def test_literals_are_exact():
    """Floats are printed as their bits, integers in two's complement."""
    assert constant(f32, 1, 0.1) == "0x3FB99999A0000000"
    assert constant(f64, 4, 1.0) == "splat (double 0x3FF0000000000000)"
    assert constant(f64, 1, float("-inf")) == "0xFFF0000000000000"
    assert constant(i32, 1, 2**32 - 1) == "-1"
    assert constant(bool_, 8, True) == "splat (i1 true)"


def test_text_is_the_same_every_time():
    """Names and declarations come in order of first use."""

    def text():
        module = Module(InstructionSet())
        body = Body(module)
        result = emit_scalar(body, "mod", f64, 8, ["%x", "%y"])
        body.line(f"ret {vec(f64, 8)} {result}")
        module.define("@f", "define <8 x double> @f(<8 x double> %x, <8 x double> %y) {", body)
        return module.text()

    assert text() == text()
