"""Calls that machine code makes: parameters, axes of extent 1, arrays of any rank."""

import inspect

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import ShapeError
from flatweave.frontend.call.operation import OPERATIONS, _parameters
from tests.frontend.direct_calls import warm

XS, YS = np.arange(12.0), np.arange(12.0)[::-1].copy()


def test_names_of_parameters_are_those_of_the_signature():
    """Of every public function, and of one with parameters of all kinds."""
    def mixed(a, /, b, *arrays, c=1, d, **others):
        return a, b, arrays, c, d, others

    for fn in (mixed, *OPERATIONS):
        named, rest = _parameters(fn)
        after = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        plain = [
            name for name, each in inspect.signature(fn).parameters.items()
            if each.kind not in after
        ]  # fmt: skip
        assert [*named, *rest] == plain, fn


def test_axes_of_extent_one_are_broadcast():
    """By a program for these axes, which other extents do not reach."""
    f = fw.jit(lambda x, y: x - y)
    m, column = XS.reshape(3, 4), np.arange(3.0)[:, None]
    for g in (f, fw.subtract):
        direct = warm(g, m, m)
        for other in (m[:1], m, column, m[:1], np.ones((1, 1))):
            direct = warm(g, m, other)
            np.testing.assert_array_equal(direct(m, other), m - other)
        for x, y in ((m, m[:1]), (m, m), (m[:1], m[:1]), (column, m), (m, column), (m[:1], column)):
            np.testing.assert_array_equal(g(x, y), x - y)
            np.testing.assert_array_equal(direct(m, m), m - m)
        with pytest.raises(ShapeError, match="4 and 3"):
            g(m, m[:, :3])
    z = m + 1j
    for x, y in ((z, z[:1]), (z, z), (z[:, :1], z)):
        for _ in range(3):
            np.testing.assert_array_equal(f(x, y), x - y)


def test_parameters_that_decide_the_program():
    """By position and by name: numbers, dtypes and None are known by the object that they are."""
    m = XS.reshape(3, 4)
    for axis in (0, 1, None, -1):
        for named in (True, False):
            args, kwargs = ((m,), {"axis": axis}) if named else ((m, axis), {})
            for _ in range(3):
                np.testing.assert_array_equal(fw.sum(*args, **kwargs), np.sum(m, axis=axis))
            direct = OPERATIONS[fw.sum].direct.call(*args, **kwargs)
            np.testing.assert_array_equal(direct, np.sum(m, axis=axis))
    direct = OPERATIONS[fw.sum].direct.call
    assert direct(m, True) is NotImplemented and direct(m, 1.0) is NotImplemented
    assert direct(m, axis=2) is NotImplemented and direct(m, keepdims=1) is NotImplemented
    for dtype in (fw.f32, np.int64, np.dtype("f4"), "f4"):
        for _ in range(3):
            assert fw.astype(XS, dtype).dtype == np.dtype(dtype)
    for start in (0.0, 1.0, 5.0, -0.0):
        for _ in range(3):
            assert fw.sum(XS, initial=start).tolist() == 66.0 + start
            assert fw.reshape(XS, (3, -1)).shape == (3, 4)


def test_static_arguments_of_jitted_functions():
    """Numbers and text; an object that may change is Python's."""
    f = fw.jit(lambda x, n, how="add": x + n if how == "add" else x * n,
               static_argnames=("n", "how"))  # fmt: skip
    for n in (2, 3, 2.5, True):
        for how in ("add", "mul"):
            for _ in range(3):
                found = f(XS, n, how=how)
            np.testing.assert_array_equal(found, XS + n if how == "add" else XS * n)
    assert f._direct.call(XS, 2, how="mul") is not NotImplemented
    np.testing.assert_array_equal(f._direct.call(XS, 2, how=str(b"mul", "ascii")), XS * 2)
    assert f._direct.call(XS, 2, how="sub") is NotImplemented
    np.testing.assert_array_equal(f._direct.call(XS, float("2.5"), how="mul"), XS * 2.5)
    g = fw.jit(lambda x, y=None: x if y is None else x + y)
    for _ in range(3):
        np.testing.assert_array_equal(g(XS, y=None), XS)
        np.testing.assert_array_equal(g(XS, y=YS), XS + YS)
        np.testing.assert_array_equal(g(y=YS, x=XS), XS + YS)
    assert g._direct.call(XS, y=None) is not NotImplemented
    assert g._direct.call(XS, z=YS) is NotImplemented
    assert g._direct.call(XS, **{"".join(["y"]): YS}) is not None


def test_arrays_of_any_rank_share_a_program():
    """Elementwise functions, reductions of all elements; other shapes are broadcast by Python."""
    m = XS.reshape(3, 4)
    direct = warm(fw.hypot, m, m)
    np.testing.assert_array_equal(direct(m, m), np.hypot(m, m), strict=True)
    np.testing.assert_array_equal(direct(m.reshape(4, 3), m.reshape(4, 3)).shape, (4, 3))
    for other in (m[:1], m[:, :1], m.reshape(4, 3)):
        assert direct(m, other) is NotImplemented
    np.testing.assert_array_equal(fw.hypot(m, m[:1]), np.hypot(m, m[:1]))
    assert warm(fw.prod, m)(m + 1).tolist() == np.prod(m + 1)
    assert warm(fw.hypot, m[:, :0], m[:, :0])(m[:, :0], m[:, :0]).shape == (3, 0)
