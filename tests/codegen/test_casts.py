"""Floats and integers of 64 bits become each other in vectors as single numbers do."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flatweave.base.dtypes import f32, f64, i64, u64
from flatweave.codegen.llvm.math.casts import cast
from flatweave.codegen.llvm.math.scalar import emit_cast
from flatweave.codegen.llvm.module import Module
from flatweave.codegen.llvm.values import Value
from flatweave.scalar.function import evaluate_cast
from flatweave.terms.bounds import Bounds
from tests.codegen.element_loops import BLOCK, Loop, Loops, same_bits, samples
from tests.codegen.levels import LEVELS, in_force

WIDTHS = (1, 2, 16)
PAIRS = [(s, t) for s in (i64, u64) for t in (f32, f64)]
PAIRS += [(t, s) for s, t in PAIRS]


def whole_numbers(dtype):
    """Each power of two and its neighbours, the halves between f32 there, and some of all sizes."""
    near = [
        sign * (2**k + (2**j if j >= 0 else 0) + d)
        for k in range(65)
        for j in (-1, k - 24, k - 25, k - 53, k - 54)
        for d in range(-2, 3)
        for sign in (1, -1)
    ]
    listed = np.array([x for x in near if dtype.low <= x <= dtype.high], dtype.numpy)
    rng = np.random.default_rng(5)
    wide = rng.integers(dtype.low, dtype.high, 4000, dtype=dtype.numpy, endpoint=True)
    return np.concatenate([listed, wide >> rng.integers(0, 63, wide.size).astype(dtype.numpy)])


def floats(dtype):
    """The same numbers, halves, their neighbours, NaN and infinities."""
    near = np.concatenate([whole_numbers(i64).astype(dtype.numpy), samples(dtype, 4096, 3)])
    with np.errstate(all="ignore"):
        limits = [np.nextafter(near, near.dtype.type(end)) for end in (np.inf, -np.inf)]
        return np.concatenate([near, *limits, near + near.dtype.type(0.5)])


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=str)
def test_every_lane_is_rounded_once(level, source, target):
    """Ties to even, ends for what does not fit, 0 for NaN."""
    values = floats(source) if source.is_float else whole_numbers(source)
    values = np.resize(values, -(-values.size // BLOCK) * BLOCK)
    loops = [
        Loop(f"at_{w}", [source], target, w,
             lambda body, args, w=w: emit_cast(body, source, target, w, args[0]))
        for w in WIDTHS
    ]  # fmt: skip
    wanted = evaluate_cast(values, target)

    with in_force(level) as isa:
        compiled = Loops(Module(isa), loops)

    for width in WIDTHS:
        found = compiled(f"at_{width}", values)
        wrong = np.flatnonzero(~same_bits(found, wanted))[:3]
        assert not wrong.size, (width, values[wrong], found[wrong], wanted[wrong])


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
@pytest.mark.parametrize("bounds", [Bounds(0, 2**51 - 1), Bounds(0, 2**51)], ids=str)
def test_what_is_known_to_fit_is_not_asked(level, dtype, bounds):
    """One number more, and there is a branch."""

    def expression(body, args):
        return cast(Value(body, dtype, 8, args[0]), f64, bounds).text

    values = np.resize([0, 1, 2**31, 2**51 - 1, bounds.high], BLOCK).astype(dtype.numpy)
    with in_force(level) as isa:
        module = Module(isa)
        compiled = Loops(module, [Loop("loop", [dtype], f64, 8, expression)])

    assert np.array_equal(compiled("loop", values), values.astype(np.float64))
    assert bool(re.search("rare", module.text())) == (bounds.high == 2**51)


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=str)
def test_lanes_are_converted_where_there_are_no_instructions(level, source, target):
    """The usual way holds no conversion of 64 bits."""

    def expression(body, args):
        return emit_cast(body, source, target, 8, args[0])

    with in_force(level) as isa:
        module = Module(isa)
        Loops(module, [Loop("loop", [source], target, 8, expression)])

    usual = module.text().split("\nrare")[0]
    assert "llvm.expect" in usual and not re.search(r"= (si|ui|fp)to", usual)
