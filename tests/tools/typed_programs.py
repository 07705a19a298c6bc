"""Programs of users as mypy --strict and pyright read them: `make types` checks their types.

`assert_type` says what a type checker must find; a line with `type: ignore` is one that it refuses,
since an ignore that nothing needs is an error, too. The programs run as well (test_stub.py).
"""

import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.dtypes import DType

X: npt.NDArray[np.float64] = np.arange(4.0)


@fw.jit
def norm(xs: fw.Array, scale: float = 1.0) -> fw.Array:
    """A jitted function keeps its signature, and takes what becomes an array."""
    return fw.sqrt(fw.sum(xs * xs)) * scale


@fw.jit(static_argnames="times", checks=False)
def repeated(xs: fw.ArrayLike, times: int) -> tuple[fw.Array, fw.Array]:
    """A static argument is a Python value."""
    found = fw.concat([xs] * times)
    return found, found[::-1]


@dataclass
class Line:
    """A method is called without its object."""

    slope: float

    @fw.jit
    def at(self, x: fw.Array) -> fw.Array:
        """The height at x."""
        return x * self.slope


def calls() -> None:
    """Of jitted functions."""
    assert_type(norm(X), fw.Array)
    assert_type(norm(fw.iota(3), 2.0), fw.Array)
    assert_type(norm([1.0, 2.0] if not X.size else X, scale=3.0), fw.Array)
    assert_type(repeated(X, 2), tuple[fw.Array, fw.Array])
    assert_type(repeated(array.array("d", [1.0]), times=3)[1], fw.Array)
    assert_type(Line(2.0).at(X), fw.Array)
    assert_type(Line(2.0).at.stages(X).kernels, int)
    assert_type(norm.stages(X), fw.Stages)
    assert_type(norm.traces, int)
    assert_type(fw.vmap(norm, in_axes=(0, None))(X.reshape(2, 2), 1.0), fw.Array)
    assert_type(fw.vmap(repeated, in_axes=(0, None))(X.reshape(2, 2), 2),
                tuple[fw.Array, fw.Array])  # fmt: skip


def refused() -> None:
    """What cannot be an array, before it runs; nobody calls this."""
    norm("text")  # type: ignore[call-overload]
    fw.sum("text")  # type: ignore[call-overload]
    fw.sqrt(None)  # type: ignore[call-overload]
    fw.zeros("3")  # type: ignore[arg-type]
    fw.matmul(X, {1})  # type: ignore[arg-type]
    fw.iota(3) + "text"  # type: ignore[operator]
    fw.jit(norm, target=3)  # type: ignore[call-overload]
    fw.sum(X, axes=0)  # type: ignore[call-overload]
    fw.no_such_name  # type: ignore[attr-defined]


def functions() -> None:
    """Results are arrays where arrays go in."""
    rows = fw.ragged([[1, 2], [3]])
    assert_type(fw.sum(X), fw.Array)
    assert_type(fw.sum([1, 2, 3]), fw.Array)
    assert_type(fw.sort([1, 2, 3]), Any)  # a list may be a structure
    assert_type(fw.max(X, axis=0, keepdims=True), fw.Array)
    assert_type(fw.sin(X), fw.Array)
    assert_type(fw.sin(rows), fw.Ragged)
    assert_type(fw.add(1, X), fw.Array)
    assert_type(fw.add(X[:2], rows), fw.Ragged)
    assert_type(fw.where(X > 1, X, 0), fw.Array)
    assert_type(fw.reduce(fw.add, 0, X), fw.Array)
    assert_type(fw.scan(lambda a, b: a + b, 0.0, X, exclusive=True), fw.Array)
    assert_type(fw.filter(lambda v: v > 1, X), fw.Array)
    assert_type(fw.partition(lambda v: v > 1, X), tuple[fw.Array, fw.Array])
    assert_type(fw.sort(X, descending=True), fw.Array)
    assert_type(fw.gather(X, [0, 1]), fw.Array)
    assert_type(fw.zeros((2, 3), dtype=fw.f32), fw.Array)
    assert_type(fw.arange(3, dtype="int32"), fw.Array)
    assert_type(fw.nonzero(X), tuple[fw.Array, ...])
    assert_type(fw.concat([X, fw.iota(2)]), fw.Array)
    assert_type(fw.asarray(memoryview(b"abc")), fw.Array)
    assert_type(fw.from_dlpack(X), fw.Array)
    assert_type(fw.can_cast(fw.f32, fw.f64), bool)
    assert_type(fw.map(lambda v: (v, v + 1), X), Any)
    assert_type(fw.map(lambda row: fw.sum(row), fw.ragged([[1.0], []])), Any)
    assert_type(fw.expand(lambda v: 1, lambda v, i: v["n"], {"n": X}), Any)
    combine: Callable[[Any, Any], Any] = fw.maximum
    assert_type(fw.reduce(combine, 0, X), fw.Array)


def arrays() -> None:
    """Operators, methods and what NumPy is given."""
    x, rows = fw.asarray(X), fw.ragged([[1, 2], [3]])
    assert_type(x + 1, fw.Array)
    assert_type(2 / x, fw.Array)
    assert_type(x @ X, fw.Array)
    assert_type(-x[1:], fw.Array)
    assert_type(x == X, fw.Array)
    assert_type(x < 3, fw.Array)
    assert_type(x[:2] * rows, fw.Ragged)
    assert_type(rows + 1, fw.Ragged)
    assert_type(rows.lengths, fw.Array)
    assert_type(x.sum(), fw.Array)
    assert_type(x.reshape(2, 2).T, fw.Array)
    assert_type(x.shape, tuple[int, ...])
    assert_type(float(x[0]), float)
    assert_type(x.to_numpy(), npt.NDArray[Any])
    assert np.asarray(x).shape == (4,)


@fk.kernel
def scaled(xs: fk.Pull[fw.f32], a: fw.float32) -> Any:
    """Dtypes are types in annotations of kernels."""
    assert_type(a * 2, fw.Array)
    return fk.map(lambda x: a * x, xs)


def dtypes() -> None:
    """Dtypes are values, too."""
    known: list[DType] = [fw.f32, fw.int8, fw.bool]
    assert_type([each.bits for each in known], list[int])
    assert_type(fw.f32.is_float, bool)
    assert_type(fw.zeros(2, dtype=fw.c64), fw.Array)
    assert np.zeros(2, fw.f32).dtype == fw.f32
    assert float(fw.f32(0.5)) + float(fw.f64(X).sum()) == 6.5
    assert np.asarray(scaled(np.zeros(2, np.float32), np.float32(3))).tolist() == [0, 0]
