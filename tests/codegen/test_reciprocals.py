"""Division by literals: rounds down as NumPy does, of every value, at every level of the CPU."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flatweave.base.dtypes import DTYPES, DType, i8, i16, i32, i64, u8, u16, u32, u64
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.math import integers
from flatweave.codegen.llvm.module import Module
from flatweave.codegen.llvm.values import Value
from flatweave.scalar.ops import evaluate
from flatweave.terms.bounds import Bounds, bounds_of_dtype
from tests.codegen.element_loops import BLOCK, Loop, Loops, samples
from tests.codegen.levels import LEVELS, in_force
from tests.quick import every

NAMES = {"floordiv": integers.floordiv, "mod": integers.mod}
WIDE = {i32, u32, i64, u64}


@pytest.fixture(params=LEVELS)
def isa(request):
    """The instruction set of a level, which is in force."""
    with in_force(request.param) as found:
        yield found


def division(name: str, dtype: DType, divisor: int, width: int, bounds: Bounds | None) -> Loop:
    """The loop that divides by one literal."""

    def expression(body, args):
        a = Value(body, dtype, width, args[0])
        return NAMES[name](a, a.number(divisor), bounds).text

    return Loop(label(name, dtype, divisor, width), [dtype], dtype, width, expression)


def label(name: str, dtype: DType, divisor: int, width: int) -> str:
    return f"{name}_{dtype}_{divisor}_{width}".replace("-", "m")


def check(isa: InstructionSet, dtype: DType, divisors, values, widths, bounds=None) -> None:
    """Every quotient and remainder of these values, against NumPy's."""
    loops = [
        division(name, dtype, divisor, width, bounds)
        for name in NAMES
        for divisor in divisors
        for width in widths
    ]
    compiled = Loops(Module(isa), loops)
    for name in NAMES:
        for divisor in divisors:
            wanted = evaluate(name, values, np.full_like(values, divisor))
            for width in widths:
                found = compiled(label(name, dtype, divisor, width), values)
                wrong = np.flatnonzero(found != wanted)[:3]
                wrong_case = (name, divisor, width, values[wrong], found[wrong], wanted[wrong])
                assert not wrong.size, wrong_case


def divisors_of(dtype: DType, seed: int = 0) -> list[int]:
    """Small divisors, powers of two and their neighbours, extremes, and some at random."""
    low, high = bounds_of_dtype(dtype)
    rng = np.random.default_rng(seed)
    ends = [high, high - 1, high // 2, high // 2 + 1, high // 2 + 2, low, low + 1, low // 2]
    near = [2**k + d for k in (31, 32, 33, 63) for d in (-1, 0, 1)]
    some = [0, 1, 2, 3, 5, 6, 7, 10, 12, 28, 64, 100, 641, 1000, 10**9 + 7, 10**18 + 9]
    sizes = [int(x) >> int(k) for x, k in zip(
        rng.integers(0, 2**63, 12), rng.integers(0, 60, 12), strict=True)]  # fmt: skip
    found = {*ends, *near, *some, *sizes, *(-x for x in (*near, *some, *sizes))}
    return sorted(x for x in found if low <= x <= high)


def values_of(dtype: DType, divisors: list[int]) -> np.ndarray:
    """Edges and values of all sizes, and the neighbours of some multiples of each divisor."""
    low, high = bounds_of_dtype(dtype)
    multiples = [
        q * d + e
        for d in divisors
        for q in (-3, -1, 1, 2, 1000, high // max(1, abs(d)), low // max(1, abs(d)))
        for e in (-1, 0, 1)
    ]
    near = np.array([x for x in multiples if low <= x <= high], dtype.numpy)
    values = np.concatenate([samples(dtype, 2048, 1), near])
    return np.ascontiguousarray(values[: values.size // BLOCK * BLOCK])


@pytest.mark.sampled
@pytest.mark.parametrize("first", every(4, range(4)))
@pytest.mark.parametrize("dtype", [i8, u8], ids=str)
def test_bytes_by_every_divisor(isa, dtype, first):
    """All 65,536 pairs, a quarter of the divisors at a time."""
    low, high = bounds_of_dtype(dtype)
    values = np.arange(low, high + 1, dtype=np.int64).astype(dtype.numpy)

    check(isa, dtype, range(low + first, high + 1, 4), values, [32])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [i16, u16], ids=str)
def test_every_value_of_16_bits(isa, dtype):
    """By divisors of every kind."""
    low, high = bounds_of_dtype(dtype)
    values = np.arange(low, high + 1, dtype=np.int64).astype(dtype.numpy)

    check(isa, dtype, divisors_of(dtype), values, [16])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", every(2, sorted(WIDE, key=DTYPES.index)), ids=str)
def test_edges_and_random_values(isa, dtype):
    """One lane and several registers give the same."""
    divisors = divisors_of(dtype)

    check(isa, dtype, divisors, values_of(dtype, divisors), [1, 16])


@pytest.mark.sampled
@pytest.mark.parametrize("bounds", every(3, [
    Bounds(0, 0), Bounds(0, 2**31 - 1), Bounds(-(2**31), 2**31 - 1), Bounds(0, 2**32 - 1),
    Bounds(-(2**32), 2**32), Bounds(-5, 3), Bounds(-(2**62), -(2**40)), Bounds(-(2**63), 0),
]))  # fmt: skip
def test_what_is_known_of_the_values_only_saves_work(isa, bounds):
    """Every product is chosen so that the ends of the range are divided right."""
    divisors = [3, -3, 7, -7, 10, 641, 2**31 - 1, -(2**31) - 1, 2**32 + 1, -(2**63), 2**62 + 1]
    values = values_of(i64, divisors)
    spread = np.random.default_rng(2).integers(*bounds, 1024, dtype=np.int64, endpoint=True)
    ends = np.array([bounds.low, bounds.high, *spread], np.int64)
    values = np.concatenate([ends, values[(bounds.low <= values) & (values <= bounds.high)]])

    check(isa, i64, divisors, np.resize(values, -(-values.size // BLOCK) * BLOCK), [1, 8])


@pytest.mark.sampled
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", [x for x in DTYPES if x.is_integer], ids=str)
def test_vectors_are_divided_in_vectors(level, dtype):
    """No lane is extracted for a scalar multiplication or division."""
    with in_force(level) as isa:
        width = 2 * isa.register_bits // dtype.bits
        by = [x for x in (7, 10, -7) if dtype.kind == "i" or x > 0]
        loops = [division(name, dtype, x, min(64, width), None) for name in NAMES for x in by]
        assembly = Loops(Module(isa), loops).assembly()

    alone = r"^\s(i?mul|i?div|mulx|vpextr|vpinsr|vmov[dq]\s.*%[re][a-d]).*"
    assert not re.findall(alone, assembly, re.MULTILINE)
    assert re.search(r"vp?mul", assembly)


def test_what_fits_in_32_bits_takes_one_product():
    """And the remainder another one."""
    for name, products in (("floordiv", 1), ("mod", 2)):
        module = Module(InstructionSet())
        Loops(module, [division(name, i64, 7, 4, Bounds(-(2**31), 2**31 - 1))])

        assert len(re.findall(r" mul <4 x i64>", module.text())) == products
