"""How the language tests compare: the jitted and the eager call both, with NumPy's result."""

from collections.abc import Callable
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.frontend.values.tree import flatten, map_leaves
from tests.compiling import compares_outside_of_jit

DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
          np.uint64, np.float32, np.float64]  # fmt: skip
INTEGERS = DTYPES[1:9]
FLOATS = DTYPES[9:]
SIZES = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000]


def same(found: Any, expected: Any, ulps: int = 0) -> None:
    """The same tree of arrays with the same dtypes, shapes and bits (or within some ulps)."""
    leaves, tree = flatten(found)
    wanted, wanted_tree = flatten(expected)
    assert tree == wanted_tree
    for leaf, want in zip(leaves, wanted, strict=True):
        assert isinstance(leaf, fw.Array | int)  # an int: an extent, outside jit
        values, reference = np.asarray(leaf), np.asarray(want)
        assert values.dtype == reference.dtype
        assert values.shape == reference.shape
        if ulps and values.dtype.kind == "f":
            close = np.finfo(values.dtype).eps * ulps
            np.testing.assert_allclose(values, reference, rtol=close, atol=close)
        else:
            np.testing.assert_array_equal(values, reference)


def agree(f: Callable[..., Any], expected: Any, *args: Any, ulps: int = 0) -> None:
    """The jitted call and the one outside jit both give what NumPy gives."""
    same(fw.jit(f)(*args), expected, ulps)
    if compares_outside_of_jit():
        same(f(*(map_leaves(ours, arg) for arg in args)), expected, ulps)


def ours(leaf: Any) -> Any:
    """A NumPy array as an array whose operators are ours; other values as they are."""
    return fw.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf


def values(dtype: Any, n: int, seed: int = 0) -> np.ndarray:
    """Values of every kind that a dtype has, small enough for sums not to be absurd."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(n) * 8).round(2).astype(dtype)
    low = 0 if np.dtype(dtype).kind == "u" else -50
    return rng.integers(low, 100, n).astype(dtype)
