"""Operators, indices and methods of arrays in chunks: those of an array, and what they give.

Nothing that a call gives is memory to which its caller may write.
"""

import operator

import numpy as np
import pytest

import flatweave as fw
from flatweave.cluster.in_process import InProcess
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.values.operators import Elementwise, Operators, Reductions

FLOATS = np.array([-2.5, 0.0, np.nan, 3.0, 1.5, -0.0, 4.0])
INTS = np.array([7, 0, -3, 2, 5, 1, 9])
NAMES = ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne"]
BITS = ["and", "or", "xor", "lshift", "rshift"]
MATRIX = np.arange(12.0).reshape(6, 2)
FOLDS = ["sum", "prod", "min", "max", "any", "all", "mean", "argmin", "argmax", "cumsum", "cumprod"]


@pytest.fixture(autouse=True)
def interpreted():
    """Chunks are interpreted, as everything else is."""
    token = PLACE.set(InProcess("interp"))
    with fw.target("interp"):
        yield
    PLACE.reset(token)


def cut(xs, rows=3):
    return fw.Chunked.cut(xs, rows)


def agree(found, expected):
    """The same dtype, shape and values, in chunks or not."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")


@pytest.mark.parametrize("name", [*NAMES, *BITS])
def test_operators(name):
    """With chunks cut otherwise, numbers, arrays of ours and of NumPy, on both sides."""
    op = getattr(operator, f"{name}_" if name in ("and", "or") else name)
    xs, ys = (FLOATS, FLOATS[::-1].copy()) if name in NAMES else (INTS, np.abs(INTS) % 5)
    with np.errstate(all="ignore"):
        for left, right, expected in (
            (cut(xs), cut(ys, 2), op(fw.asarray(xs), fw.asarray(ys))),
            (cut(xs), 2, op(fw.asarray(xs), 2)),
            (3, cut(ys), op(3, fw.asarray(ys))),
        ):
            found = op(left, right)
            assert isinstance(found, fw.Chunked)
            agree(found, expected)
        for other in (ys, fw.asarray(ys)):
            agree(op(cut(xs), other), op(fw.asarray(xs), fw.asarray(ys)))
            agree(op(other, cut(xs)), op(fw.asarray(ys), fw.asarray(xs)))


def test_every_operator_of_arrays():
    """Array and Chunked share the table, so that none is forgotten."""
    for kind in (Elementwise, Reductions, Operators):
        for name in vars(kind):
            assert getattr(fw.Chunked, name, None) is not None or name == "__hash__"
    xs = cut(INTS)
    agree(-xs, -INTS)
    agree(+xs, INTS)
    agree(abs(xs), abs(INTS))
    agree(~xs, ~INTS)
    agree(round(cut(FLOATS), 0), np.round(FLOATS))
    for mine, theirs in zip(divmod(xs, 3), divmod(INTS, 3), strict=True):
        agree(mine, theirs)
    xs += 1
    agree(xs, INTS + 1)
    agree(xs**2, (INTS + 1) ** 2)
    agree(xs.astype(np.float32).clip(0, 3).round(), np.clip(INTS + 1, 0, 3).astype(np.float32))
    agree(np.add(cut(INTS), 1), INTS + 1)
    agree(np.sqrt(cut(MATRIX)), np.sqrt(MATRIX))
    agree(np.sort(cut(INTS)), np.sort(INTS))
    agree(np.add.reduce(cut(INTS)), INTS.sum())
    agree(np.trim_zeros(cut(INTS)), np.trim_zeros(INTS))
    assert np.size(xs) == xs.size == 7 and np.shape(xs) == (7,)


@pytest.mark.parametrize("name", FOLDS)
def test_reductions(name):
    """Of all elements, along rows and down columns."""
    agree(getattr(cut(INTS), name)(), getattr(fw.asarray(INTS), name)())
    for axis in (None, 0, 1, -1):
        found = getattr(cut(MATRIX), name)(axis=axis)
        agree(found, getattr(fw.asarray(MATRIX), name)(axis=axis))
    if name not in ("cumsum", "cumprod"):
        found = getattr(cut(MATRIX), name)(axis=0, keepdims=True)
        agree(found, getattr(fw.asarray(MATRIX), name)(axis=0, keepdims=True))


@pytest.mark.parametrize("lengths", [(0,), (1,), (0, 1, 0), (8, 9), (1, 1, 1)])
def test_few_elements(lengths):
    """Empty chunks, and one element, which is not broadcast if it is one of several."""
    parts = [np.arange(n) + 1 for n in lengths]
    xs, whole = fw.Chunked(parts), np.concatenate(parts)
    agree(xs * 2 - xs, whole)
    agree(xs[xs > 1], whole[whole > 1])
    agree(xs.sum(), whole.sum())
    agree((xs == 1).any(), (whole == 1).any())


@pytest.mark.parametrize(
    "key", [2, -1, slice(2, 5), slice(None, None, -2), [3, 0, 3], INTS > 1, ..., None], ids=str
)
def test_indices(key):
    """As an array is indexed; what has rows is in chunks."""
    key = np.asarray(key) if isinstance(key, list) else key
    agree(cut(INTS)[key], INTS[key])


def test_arrangements():
    """Exchanged axes, one element instead of another, and products."""
    xs = cut(MATRIX)
    agree(xs.T, MATRIX.T)
    agree(xs[:, 1], MATRIX[:, 1])
    agree(xs.reshape(3, -1), MATRIX.reshape(3, -1))
    agree(xs.ravel(), MATRIX.ravel())
    agree(xs @ np.array([1.0, 2.0]), MATRIX @ [1.0, 2.0])
    agree(np.ones(6) @ xs, np.ones(6) @ MATRIX)
    agree(cut(INTS).at[2].set(5), np.r_[INTS[:2], 5, INTS[3:]])
    agree(xs + np.array([1.0, 2.0]), MATRIX + [1.0, 2.0])


def test_what_python_asks():
    """Truth is refused, for it means any or all; None is equal to none."""
    xs = cut(INTS)
    for chunks in (xs, xs == 3, fw.Chunked([np.ones(1)])):
        with pytest.raises(fw.ArgumentError, match=r"(?s)array in chunks is true.*xs\.any\(\)"):
            bool(chunks)
    assert 9 in xs and 8 not in xs
    assert (xs == None) is False and (xs != "a") is True  # noqa: E711
    with pytest.raises(fw.ArgumentError, match="only read"):
        xs[0] = 1
    with pytest.raises(AttributeError, match=r"(?s)no attribute 'median'.*fw\.median\(x,"):
        xs.median()
    assert xs.std() == np.std(INTS)
    with pytest.raises(fw.ShapeError):
        xs + cut(INTS[:4])


def test_rows_of_different_lengths():
    """A Ragged in chunks has a Ragged's operators."""
    rows = [[1, 2], [], [3, 4, 5]]
    xs = fw.Chunked.cut(fw.ragged(rows), 2)
    assert (xs * 2 + xs).load(0, 3).tolist() == [[3, 6], [], [9, 12, 15]]
    assert (xs == 3).load(0, 3).tolist() == [[False, False], [], [True, False, False]]
    assert np.asarray(xs.sum(axis=1)).tolist() == [3, 0, 12] and int(xs.sum()) == 15
    assert xs[1:].load(0, 2).tolist() == rows[1:] and np.asarray(xs[2]).tolist() == rows[2]
    assert xs.size == 5
    with pytest.raises(AttributeError, match="have no shape"):
        xs.shape


@pytest.mark.parametrize(
    "f",
    [
        lambda v: v, lambda v: (v, v), lambda v: v[None], lambda v: fw.reshape(v, (-1, 1)),
        lambda v: fw.concat([v, v]), lambda v: v[1:5], lambda v: fw.asarray(v),
    ],
)  # fmt: skip
def test_results_are_nobody_elses_memory(f):
    """What the caller writes afterwards is not seen; nobody writes to results."""
    records = np.zeros(6, [("x", "f8"), ("y", "i4")])
    for given in (cut, lambda a: fw.Chunked([a]), lambda a: cut(a).rechunk(2), None):
        xs = records["x"] if given is None else np.zeros(6)
        xs[:] = np.arange(6)
        chunked = fw.Chunked.cut(records, 4)["x"] if given is None else given(xs)
        results = fw.jit(f)(chunked)
        results = results if isinstance(results, tuple) else (results,)
        before = [np.array(each) for each in results]
        xs[:] = 99
        for each, expected in zip(results, before, strict=True):
            agree(each, expected)
            chunks = each if isinstance(each, fw.Chunked) else [np.asarray(each)]
            assert not any(chunk.flags.writeable for chunk in chunks)


def test_memory_that_nobody_writes_to_is_shared():
    """An array of ours is the same memory as the result."""
    xs = fw.iota(6)
    (chunk,) = fw.jit(lambda v: v)(fw.Chunked([xs]))
    assert np.shares_memory(chunk, np.asarray(xs))
