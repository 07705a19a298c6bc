"""Reductions and scans along axes, as NumPy has them."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import DTYPES, agree, same, values

REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]
AXES = [None, 0, 1, -1, 2, (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_every_axis(target, axis):
    """One axis, several, all; kept or not."""
    x = np.random.default_rng(0).integers(0, 4, (2, 3, 5))
    names = [name for name in REDUCTIONS if name[:3] != "arg" or not isinstance(axis, tuple)]
    for keep in (False, True):
        agree(
            lambda x, keep=keep: [getattr(fw, n)(x, axis=axis, keepdims=keep) for n in names],
            [getattr(np, n)(x, axis=axis, keepdims=keep) for n in names], x,
        )  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(target, dtype):
    """Sums of small integers are i64 or u64; extrema keep the dtype."""
    x = values(dtype, 37)
    names = REDUCTIONS if dtype != np.bool_ else REDUCTIONS[:6]
    expected = [getattr(np, n)(x) for n in names]
    expected[1] = np.multiply.reduce(x, dtype=np.prod(x).dtype)

    agree(lambda x: [getattr(fw, n)(x) for n in names], expected, x, ulps=64)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans(target, dtype):
    """cumsum and cumprod, in the dtype of sum."""
    x = values(dtype, 37)

    agree(lambda x: (fw.cumsum(x), fw.cumprod(x)), (np.cumsum(x), np.cumprod(x)), x, ulps=128)


def test_scans_along_axes(target):
    """In flat order when no axis is given."""
    x = np.arange(24).reshape(2, 3, 4) % 5
    axes = [None, 0, 1, 2, -1]

    agree(lambda x: [fw.cumsum(x, axis=a) for a in axes], [np.cumsum(x, axis=a) for a in axes], x)


def test_methods(target):
    """`xs.sum(axis=0)` and its like."""
    x = np.arange(6.0).reshape(2, 3)

    agree(lambda x: (x.sum(), x.max(axis=0), x.argmin(axis=1), x.cumsum(), x.mean()),
          (x.sum(), x.max(axis=0), x.argmin(axis=1), x.cumsum(), x.mean()), x)  # fmt: skip


def test_extrema_of_nan(target):
    """NaN is both the least and the greatest; its first index is reported."""
    x = np.array([1.0, np.nan, -2.0, np.nan, 5.0])
    names = ["min", "max", "argmin", "argmax"]

    agree(lambda x: [getattr(fw, n)(x) for n in names], [getattr(np, n)(x) for n in names], x)


def test_first_of_equal_extrema(target):
    """The first index counts, also at the ends of the dtype."""
    x = np.array([7, 127, 127, -128, -128], np.int8)
    y = np.array([np.inf, np.inf, -np.inf, -np.inf])

    agree(lambda x: (fw.argmin(x), fw.argmax(x)), (np.int64(3), np.int64(1)), x)
    agree(lambda y: (fw.argmin(y), fw.argmax(y)), (np.int64(2), np.int64(0)), y)


def test_no_elements(target):
    """Sums of nothing are neutral; nothing has no least element."""
    x = np.zeros((0, 3))

    agree(lambda x: (fw.sum(x), fw.prod(x), fw.any(x), fw.all(x), fw.sum(x, axis=0)),
          (x.sum(), x.prod(), x.any(), x.all(), x.sum(axis=0)), x)  # fmt: skip
    for f in (fw.min, fw.max, fw.argmin, fw.argmax):
        with pytest.raises(ValueError):
            f(x)
        with pytest.raises(ValueError):
            fw.jit(f)(x)
    agree(lambda x: fw.sum(x, axis=1), x.sum(axis=1), x)


def test_scalars(target):
    """A scalar is its own sum."""
    agree(lambda x: (fw.sum(x), fw.max(x)), (np.float64(3), np.float64(3)), np.array(3.0))


def test_mean(target):
    """Of integers in f64; of f32 in f32."""
    x = np.arange(12).reshape(3, 4)

    agree(lambda x: (fw.mean(x), fw.mean(x, axis=0)), (x.mean(), x.mean(axis=0)), x)
    y = x.astype(np.float32)
    agree(lambda y: fw.mean(y), y.mean(), y)


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)),
                                    ((0,), (0,)), ((2, 0), (0, 3))])  # fmt: skip
def test_dot(target, shapes):
    """Vectors and matrices; `@` is the same."""
    a, b = (values(np.int64, int(np.prod(s)), seed=k).reshape(s) for k, s in enumerate(shapes))

    agree(lambda a, b: (fw.dot(a, b), a @ b), (np.dot(a, b), a @ b), a, b)


def test_several_reductions_of_one_array(target):
    """Siblings over one input."""
    x = values(np.float64, 1000).round()

    agree(lambda x: (fw.sum(x), fw.min(x), fw.max(x)), (x.sum(), x.min(), x.max()), x)


@pytest.mark.parametrize("axis", [1.0, True, "0", [0.5], np.array([0.5, 1.0]), None], ids=repr)
def test_an_axis_is_an_integer(target, axis):
    """NumPy takes no float, bool or text for one either."""
    x = np.ones((2, 3))
    calls = [fw.expand_dims, fw.reverse, lambda x, axis: fw.rotate(x, 1, axis=axis)]
    if axis is not None:
        calls += [fw.sum, fw.cumsum, lambda x, axis: fw.concat([x, x], axis=axis)]

    for call in calls:
        with pytest.raises(TypeError, match="must be an integer"):
            call(x, axis=axis)


@pytest.mark.parametrize("axis", [0, 2, -1, -3, np.int8(1)], ids=repr)
def test_new_axes(target, axis):
    """From the end of the result if below 0; beyond it is an error."""
    x = np.ones((2, 3))

    agree(lambda x: fw.expand_dims(x, axis), np.expand_dims(x, axis), x)
    for beyond in (3, -4, 5):
        with pytest.raises(fw.ShapeError, match="will have 3 axes"):
            fw.expand_dims(x, beyond)
    with pytest.raises(IndexError):
        fw.expand_dims(1.0, 2)


@pytest.mark.parametrize("value", ["no", 2, None, 0.0], ids=repr)
def test_yes_or_no(target, value):
    """Nothing but True and False is taken for them."""
    x = np.arange(3)

    for call in (lambda: fw.sum(x, keepdims=value), lambda: fw.argmin(x, keepdims=value),
                 lambda: fw.scan(fw.add, 0, x, exclusive=value),
                 lambda: fw.scan(fw.add, 0, x, reverse=value),
                 lambda: fw.sort(x, descending=value),
                 lambda: fw.sort_by_key(x, x, descending=value)):  # fmt: skip
        with pytest.raises(fw.ArgumentError, match="must be True or False"):
            call()
    assert fw.sum(x, keepdims=np.True_).shape == (1,)
    assert fw.sum(x, keepdims=1).shape == (1,)


@pytest.mark.parametrize("name", [*REDUCTIONS, "mean", "cumsum", "cumprod"])
def test_all_values_of_a_ragged(target, name):
    """Without an axis the rows do not matter."""
    x = np.array([3, 1, 2, 2])
    rows = fw.ragged(x, lengths=[2, 0, 2])
    f, g = getattr(fw, name), getattr(np, name)

    same(f(rows), g(x))
    same(fw.jit(f)(rows), g(x))


def test_axes_that_do_not_lie_side_by_side(target):
    """One group after the other, the last first; the initial element counts once."""
    f = fw.jit(
        lambda m, axis, keepdims: (
            fw.sum(m, axis=axis, keepdims=keepdims, initial=7), fw.max(m, axis=axis, initial=1)
        ), static_argnames=("axis", "keepdims"),
    )  # fmt: skip
    for shape, axes in (((3, 4, 5), [(0, 2)]), ((2, 0, 3), [(0, 2)]),
                        ((2, 3, 2, 3), [(1, 3), (0, 2, 3)])):  # fmt: skip
        m = np.arange(np.prod(shape)).reshape(shape) * 7 % 11
        for axis in axes:
            for keepdims in (False, True):
                total, most = f(m, axis, keepdims)

                assert np.array_equal(total, m.sum(axis=axis, keepdims=keepdims, initial=7))
                assert np.array_equal(most, m.max(axis=axis, initial=1))
                assert total.shape == m.sum(axis=axis, keepdims=keepdims).shape
