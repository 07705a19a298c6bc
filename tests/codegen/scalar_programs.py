"""One program for each dtype that applies every row of the scalar table, and every conversion."""

from __future__ import annotations

from functools import cache

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DTYPES, DType, bool_, i64
from flatweave.ops import Map
from flatweave.scalar.ops import TABLE
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom
from tests.codegen.element_loops import samples

COUNT = 512


def rows(dtype: DType) -> list[str]:
    """The rows that take operands of a dtype."""
    return [name for name, row in TABLE.items() if dtype.kind in row.kinds]


@cache
def program_of(dtype: DType) -> Program:
    """choice, x, y, z => each row on them, then x as each dtype."""
    b = Builder()
    n = b.param("n", i64)
    types = (bool_, dtype, dtype, dtype)
    arrays = tuple(b.param("xs", ArrayType(type_, (n,))) for type_ in types)

    def every(c: Builder, choice: Atom, *xs: Atom) -> list[Atom]:
        out = [
            c.apply(name, choice, *xs[:2])
            if name == "select"
            else c.apply(name, *xs[: TABLE[name].arity])
            for name in rows(dtype)
        ]
        return [*out, *(c.cast(xs[0], target) for target in DTYPES)]

    results = b.emit(Map(b.function(types, every), arrays))
    return Program("every", b.close([n, *arrays], results))


def operands(dtype: DType) -> list[object]:
    """Values of all sizes, and the edges of the dtype."""
    return [COUNT, *(samples(d, COUNT, k) for k, d in enumerate((bool_, dtype, dtype, dtype)))]


def differences(dtype: DType, found: list[np.ndarray], wanted: list[np.ndarray]) -> list[str]:
    """The rows that give other bits, or are further off than their few ulp."""
    names = [*rows(dtype), *(f"cast to {target}" for target in DTYPES)]
    return [
        name
        for name, ours, reference in zip(names, found, wanted, strict=True)
        if not _is_same(name, ours, np.asarray(reference))
    ]


def _is_same(name: str, ours: np.ndarray, reference: np.ndarray) -> bool:
    assert ours.dtype == reference.dtype
    if ours.dtype.kind == "f" and name in TABLE and TABLE[name].ulps:
        limits = np.finfo(ours.dtype)
        tolerance = 16 * float(limits.eps)
        tiny = float(limits.tiny)
        return bool(np.allclose(ours, reference, rtol=tolerance, atol=tiny, equal_nan=True))
    return bool(np.array_equal(ours, reference, equal_nan=ours.dtype.kind == "f"))
