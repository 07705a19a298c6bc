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
    """ufunc.at of NumPy takes each place as often as it is chosen."""
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
