"""Scalars of a device's host program, computed on Python numbers: the values are NumPy's."""

import itertools

import numpy as np
import pytest

from flatweave.base.dtypes import bool_, f64, i64, u64
from flatweave.base.plan import Plan
from flatweave.codegen.c.host_steps import _OF_BOOLS, _OF_INTEGERS, host_steps
from flatweave.kernel_ir.units import parse_unit
from flatweave.scalar.function import evaluate_cast
from flatweave.scalar.ops import TABLE, evaluate, result_dtype

VALUES = {
    bool_: [False, True],
    i64: [0, 1, -1, 2, -3, 63, 64, 1 << 40, -(1 << 62), (1 << 63) - 1, -(1 << 63)],
    u64: [0, 1, 2, 3, 63, 64, 1 << 40, 1 << 63, (1 << 64) - 1],
}


def program(params, line):
    """The host steps of a program that computes one scalar."""
    text = f"host({params}) =>\n    r: {line}\n    in r"
    return host_steps(parse_unit(text), Plan((), (), {}))


def functions():
    """Each function that Python computes, with a dtype of its operands."""
    for dtype in (i64, u64):
        yield from ((fn, dtype) for fn in _OF_INTEGERS)
    yield from ((fn, bool_) for fn in _OF_BOOLS)


@pytest.mark.parametrize(("fn", "dtype"), list(functions()), ids=str)
def test_functions_are_numpys(fn, dtype):
    """Also where integers wrap, and shifts are by more than the width."""
    arity = TABLE[fn].arity
    names = "ab"[:arity]
    result = result_dtype(fn, [dtype] * arity)
    params = ", ".join(f"{name}: {dtype}" for name in names)
    steps = program(params, f"{result} = {fn} {' '.join(names)}")

    for values in itertools.product(VALUES[dtype], repeat=arity):
        expected = evaluate(fn, *(dtype.numpy.type(value) for value in values)).item()
        (found,) = steps(None, list(values))
        assert (found, type(found)) == (expected, type(expected)), values


@pytest.mark.parametrize("source", VALUES, ids=str)
@pytest.mark.parametrize("target", [*VALUES, f64], ids=str)
def test_casts_are_numpys(source, target):
    """The low bits of integers, and floats rounded to nearest."""
    steps = program(f"a: {source}", f"{target} = cast {target} a")

    for value in VALUES[source]:
        expected = evaluate_cast(source.numpy.type(value), target).item()
        (found,) = steps(None, [value])
        assert (found, type(found)) == (expected, type(expected)), value


@pytest.mark.parametrize("holds", [False, True])
def test_a_choice_of_floats_keeps_them(holds):
    """NaN among them."""
    steps = program("p: bool, a: f64, b: f64", "f64 = select p a b")

    assert np.array_equal(steps(None, [holds, np.nan, 2.5]), [2.5 if not holds else np.nan], True)
