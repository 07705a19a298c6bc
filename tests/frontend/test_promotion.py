"""Dtypes of mixed operands: NumPy's, for all pairs."""

import itertools

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.dtypes import DTYPES
from flatweave.frontend.values.arguments import ScalarOverflowError, _common, fits, literal_dtype

WEAK = {"i64": 0, "f64": 0.0}


PAIRS = list(itertools.combinations_with_replacement(DTYPES, 2))


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=str)
def test_strong_pairs(a, b):
    """As `np.result_type`."""
    assert _common(((a, False), (b, False))) == (np.result_type(a.numpy, b.numpy), False)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weak", [fw.i64, fw.f64], ids=str)
def test_weak_numbers(dtype, weak):
    """A Python number gives way."""
    wanted = np.result_type(dtype.numpy, WEAK[weak.name])

    assert _common(((dtype, False), (weak, True))) == (wanted, False)


def test_weak_numbers_alone():
    """Two Python numbers make one."""
    assert _common(((fw.i64, True), (fw.i64, True))) == (fw.i64, True)
    assert _common(((fw.i64, True), (fw.f64, True))) == (fw.f64, True)


@pytest.mark.parametrize("dtype", DTYPES[1:9], ids=str)
def test_what_fits(dtype):
    """The ends of a dtype do, the next integers do not."""
    info = np.iinfo(dtype.numpy)

    assert fits(int(info.min), dtype)
    assert fits(int(info.max), dtype)
    assert not fits(int(info.min) - 1, dtype)
    assert not fits(int(info.max) + 1, dtype)


def test_literals():
    """The dtype of a number alone."""
    assert literal_dtype(True) is fw.bool_
    assert literal_dtype(3) is fw.i64
    assert literal_dtype(2**63) is fw.u64
    assert literal_dtype(0.5) is fw.f64
    with pytest.raises(ScalarOverflowError):
        literal_dtype(2**64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_our_dtypes_are_numpys(dtype):
    """Equal both ways, usable wherever NumPy takes a dtype, callable."""
    assert dtype == dtype.numpy
    assert dtype.numpy == dtype
    assert dtype.numpy.type == dtype
    assert hash(dtype) == hash(dtype.numpy)
    assert np.zeros(2, dtype).dtype == dtype
    assert dtype(1).dtype == dtype
    assert dtype(fw.iota(3)).dtype == dtype
    assert dtype != np.dtype(np.complex128)
