"""xs.at[key].set(v) and its like: JAX's names for changed copies of arrays."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

M = np.arange(12.0).reshape(3, 4)
KEYS = {
    "an element": ((1, 2), 5.0),
    "from the end": (-1, np.array([1.0, 2.0, 3.0, 4.0])),
    "a slice": ((slice(None), slice(1, 3)), 2.5),
    "rows, one of them twice": (np.array([0, 2, 0]), -1.5),
    "no rows": (np.zeros(0, np.int64), 7.0),
    "a mask": (M > 6, 4.0),
}
UFUNCS = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("name", KEYS)
def test_places_are_changed_as_numpy_changes_them(target, name):
    """NumPy's ufunc.at applies to each index as often as it occurs."""
    key, value = KEYS[name]
    expected = [M.copy() for _ in (None, *UFUNCS)]
    expected[0][key] = value
    for combined, ufunc in zip(expected[1:], UFUNCS.values(), strict=True):
        ufunc.at(combined, key, value)

    def changed(x):
        return [x.at[key].set(value), *(getattr(x.at[key], how)(value) for how in UFUNCS)]

    same(fw.jit(lambda x: (changed(x), x.at[key].get()))(M), (expected, np.asarray(M[key])))
    if name == "an element":
        same(changed(fw.asarray(M)), expected)


def test_what_is_given_away_is_changed_in_place(target):
    """As `fw.replace` and `fw.permute` do; and errors name the line."""
    step = fw.jit(lambda x, i: x.at[i].add(1).at[0].set(9), donate="x")
    x = fw.zeros(5, fw.i32)
    before = np.asarray(x).ctypes.data

    result = step(x, np.array([1, 4, 1]))

    same(result, np.array([9, 2, 0, 0, 1], np.int32))
    assert target != "cpu" or np.asarray(result).ctypes.data == before
    with pytest.raises(fw.IndexOutOfBounds, match="index 7 is outside an array of 5"):
        result.at[7].add(1)
    with pytest.raises(fw.UserError):
        result.at[0].add(1.5)


SLICES = (
    slice(1, -1), slice(None), slice(1, None), slice(0, -2), slice(1, -1, 2), slice(2, None, 3),
)  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 65])
def test_slices_of_any_length(target, n):
    """Slices that leave out a few elements at the ends, of arrays that may be as short as that."""
    x = np.arange(n) - n // 2

    def changed(x):
        return [[x.at[s].set(7), x.at[s].add(x[s] * 10), x.at[s].max(x[s])] for s in SLICES]

    expected = []
    for s in SLICES:
        seven, added = x.copy(), x.copy()
        seven[s] = 7
        added[s] += x[s] * 10
        expected.append([seven, added, x])
    same(fw.jit(changed)(x), expected)


def test_slices_of_several_axes(target):
    """Values of any shape that fits, of tuples too, and in element functions."""
    cube = np.arange(60.0).reshape(3, 4, 5)

    def changed(x):
        return (
            x.at[1:, ..., 1:-1].set(x[1:, :, 2:]), x.at[:, 1:-1].set(fw.iota(5, fw.f64)),
            x.at[...].set(-x), x.at[1:-1, ::2].multiply(fw.asarray([[[2.0]]])),
            fw.map(lambda m: m.at[1:-1, 1:].set(m[0, 1:]), x),
        )  # fmt: skip

    expected = [cube.copy() for _ in range(5)]
    expected[0][1:, ..., 1:-1] = cube[1:, :, 2:]
    expected[1][:, 1:-1] = np.arange(5.0)
    expected[2][...] = -cube
    expected[3][1:-1, ::2] *= 2
    for m in expected[4]:
        m[1:-1, 1:] = m[0, 1:]
    same(fw.jit(changed)(cube), tuple(expected))
    same(fw.replace((M, M > 3), slice(1, None), (0.0, True)),
         (np.where([[0], [1], [1]], 0, M), (M > 3) | [[False], [True], [True]]))  # fmt: skip
    with pytest.raises(fw.ShapeError, match="4 values are assigned along an axis of 2 elements"):
        fw.asarray(M).at[:, 1:-1].set(np.zeros(4))


def test_a_loop_of_steps_scatters_nothing():
    """Values are computed where they are written, and a step is one pass."""

    def step(b):
        around = b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:]
        return b.at[1:-1, 1:-1].set(around * 0.25)

    stages = fw.jit(step, target="cpu").stages(M)
    assert stages.kernels == 1
    assert [array.is_result for array in stages.manifest] == [True]


def test_few_places_are_written_in_place():
    """An element, a row, a part of unknown length: what is donated is not gone through."""
    for key in (slice(None, 2), slice(-2, None), 3, (slice(1, -1), 0)):
        stages = fw.jit(lambda x, key=key: x.at[key].set(0.0), donate="x", target="cpu").stages(M)
        assert "scatter_store" in stages.text["fused"], key
