"""What functions of NumPy beyond the standard refuse, and what they say."""

import numpy as np
import pytest

import flatweave as fw

V = np.arange(7)
NONE = np.zeros(0)
REFUSED = {
    "quantile lies from 0 to 1": (fw.ArgumentError, lambda: fw.quantile(V, 1.5)),
    "quantile lies from 0 to 1, got": (fw.ArgumentError, lambda: fw.percentile(V, [50, -1])),
    "'middle' is not a method of quantile": (
        fw.ArgumentError, lambda: fw.quantile(V, 0.5, method="middle")
    ),
    "nanargmin found no number": (fw.ArgumentError, lambda: fw.nanargmin([np.nan])),
    "counts numbers from 0 on, the least is -2": (
        fw.ArgumentError, lambda: fw.bincount(np.array([1, -2]))
    ),
    "bincount counts integers, got float64": (fw.DTypeError, lambda: fw.bincount([3.5])),
    "x of bincount must be one row": (fw.ShapeError, lambda: fw.bincount(np.zeros((2, 2), int))),
    "the weights of bincount must have 7 elements": (
        fw.ShapeError, lambda: fw.bincount(V, weights=np.ones(1))
    ),
    "the weights of bincount must be one row": (
        fw.ShapeError, lambda: fw.bincount(V, weights=2.0)
    ),
    "minlength of bincount must not be negative": (
        fw.NegativeExtentError, lambda: fw.bincount(V, minlength=-1)
    ),
    "bins of digitize must be one row": (fw.ShapeError, lambda: fw.digitize(V, np.ones((1, 1)))),
    "the edges of digitize neither ascend nor descend": (
        fw.ArgumentError, lambda: fw.digitize(V, [0.0, 2.0, 1.0])
    ),
    "the edges of digitize neither ascend": (
        fw.ArgumentError, lambda: fw.digitize(V, [np.nan, 1.0, 2.0])
    ),
    "1 elements are left over when an axis is split into 3": (
        fw.ShapeError, lambda: fw.split(V, 3)
    ),
    "the number of parts of split must be an integer from 1 on, got 0": (
        fw.ArgumentError, lambda: fw.split(V, 0)
    ),
    "k of rot90 must be an integer, got 1.5": (
        fw.ArgumentError, lambda: fw.rot90(np.ones((2, 2)), 1.5)
    ),
    "roll got 2 shifts for 3 axes": (
        fw.ArgumentError, lambda: fw.roll(np.ones((2, 2, 2)), (1, 2), axis=(0, 1, 2))
    ),
    "pad has no element to repeat": (fw.ShapeError, lambda: fw.pad(NONE, 2, mode="edge")),
    "'mean' is not a mode of pad": (fw.ArgumentError, lambda: fw.pad(V, 2, mode="mean")),
    "the width of pad does not fit 1 axis: it has parts of 2, 2 numbers": (
        fw.ArgumentError, lambda: fw.pad(V, ((1, 2), (3, 4)))
    ),
    "the width of pad does not fit 2 axes": (
        fw.ArgumentError, lambda: fw.pad(np.ones((2, 2)), [1, 2, 3])
    ),
    "the constant of pad does not fit 1 axis": (
        fw.ArgumentError, lambda: fw.pad(V, 1, constant_values=[[1, 2], [3, 4]])
    ),
    "the mode 'edge' of pad takes no constant_values": (
        fw.ArgumentError, lambda: fw.pad(V, 1, mode="edge", constant_values=0)
    ),
    "300 does not fit u8": (
        OverflowError, lambda: fw.pad(np.uint8([1]), 1, constant_values=300)
    ),
    "the i64 300 does not fit u8": (
        OverflowError, lambda: fw.pad(np.uint8([1]), 1, constant_values=np.int64(300))
    ),
    "cannot be an element of dtype i64": (
        fw.DTypeError, lambda: fw.pad(V, 1, constant_values=np.nan)
    ),
    "must not be negative, got -1": (fw.NegativeExtentError, lambda: fw.pad(V, -1)),
    "xp of interp has no element": (fw.ShapeError, lambda: fw.interp(1.0, NONE, NONE)),
    "xp of interp has 2 elements and fp 1": (
        fw.ShapeError, lambda: fw.interp(1.0, [1.0, 2.0], [1.0])
    ),
    "gradient needs 2 elements along axis 0": (fw.ShapeError, lambda: fw.gradient([1.0])),
    **{f"the coordinates of gradient must have 7 elements along axis 0 of the array, got {n}": (
        fw.ShapeError, lambda n=n: fw.gradient(V, np.arange(float(n)))
    ) for n in (1, 2, 3, 8)},
    "the coordinates of gradient must have 1 axes": (
        fw.ShapeError, lambda: fw.gradient(V, np.ones((7, 1)))
    ),
    **{f"x of trapezoid must have 7 elements along axis 0 of the array, got {n}": (
        fw.ShapeError, lambda n=n: fw.trapezoid(V, np.arange(float(n)))
    ) for n in (1, 2, 8)},
    "2 axes to go along and 1 spacings": (
        fw.ArgumentError, lambda: fw.gradient(np.ones((3, 3)), np.arange(3.0))
    ),
    "2 axes to go along and 3 spacings": (
        fw.ArgumentError, lambda: fw.gradient(np.ones((3, 3)), 1, 2, 3)
    ),
    "edge_order of gradient is 1 or 2": (
        fw.ArgumentError, lambda: fw.gradient(V, edge_order=3)
    ),
    "a of convolve must be one row": (fw.ShapeError, lambda: fw.convolve(np.ones((2, 2)), V)),
    "'most' is not a mode of correlate": (fw.ArgumentError, lambda: fw.correlate(V, V, "most")),
    "asks for axes that no operand has": (fw.ArgumentError, lambda: fw.einsum("i->j", V)),
    "einsum takes the names of axes first, as a text": (
        fw.ArgumentError, lambda: fw.einsum(V, [0], V, [0])
    ),
    "names 2 operands, and there are 1": (fw.ArgumentError, lambda: fw.einsum("i,i", V)),
    "names 2 axes of an operand that has 1": (fw.ArgumentError, lambda: fw.einsum("ij", V)),
    "axes of 7 and 2 elements do not broadcast": (
        fw.ShapeError, lambda: fw.einsum("i,i->i", V, V[:2])
    ),
    "needs a list of at least one array": (fw.ArgumentError, lambda: fw.hstack([])),
    "1 conditions and 0 choices": (fw.ArgumentError, lambda: fw.select([V > 0], [])),
    "diag takes a row or a matrix": (fw.ShapeError, lambda: fw.diag(np.ones((2, 2, 2)))),
    "the weights of average must have 1 axes": (
        fw.ShapeError, lambda: fw.average(V, weights=np.ones((2, 2)))
    ),
    **{f"the weights of average must have 7 elements along axis 0 of the array, got {n}": (
        fw.ShapeError, lambda n=n: fw.average(V, weights=np.ones(n))
    ) for n in (1, 6)},
    "the weights of average must have 2 elements along axis 1": (
        fw.ShapeError, lambda: fw.average(np.ones((3, 2)), axis=1, weights=np.ones(1))
    ),
    "the weights of average must have 2 elements along axis 0": (
        fw.ShapeError, lambda: fw.average(np.ones((2, 3)), weights=np.ones((1, 3)))
    ),
    "cov takes a row for each variable": (fw.ShapeError, lambda: fw.cov(np.ones((2, 2, 2)))),
    "p of polyval must be one row": (
        fw.ShapeError, lambda: fw.polyval(np.ones((1, 2)), V)
    ),
    "along axis 0 take_along_axis got 2 indices for 3 elements": (
        fw.ShapeError, lambda: fw.take_along_axis(np.ones((3, 2)), np.zeros((2, 1), int), 1)
    ),
    "nanargmin along axis 0 of an array": (fw.ShapeError, lambda: fw.nanargmin(1.0, axis=0)),
    "ptp along axis 2 of an array": (fw.ShapeError, lambda: fw.ptp(np.ones((2, 2)), axis=2)),
    "from one axis to another": (fw.ArgumentError, lambda: fw.rot90(np.ones((2, 2)), axes=(1, 1))),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_it_says_what_is_wrong(message):
    """With the values, and the line of the call."""
    error, call = REFUSED[message]
    with fw.target("interp"), pytest.raises(error) as caught:
        call()

    assert message in str(caught.value)
    assert "test_errors.py:" in str(caught.value)


def test_nothing_to_take_a_median_of():
    """Is NaN, without a warning."""
    assert np.isnan(fw.median(NONE))
    assert np.isnan(fw.median(np.zeros((2, 0)), axis=1)).tolist() == [True, True]
    assert np.isnan(fw.nanmedian([np.nan]))
