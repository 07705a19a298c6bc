"""Sparse matrices in compressed rows times a vector, f32, from 1 % to 20 % filled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools


def program(rows: Any, x: Any) -> Any:
    """The product, row by row."""
    return fw.map(lambda row: fw.sum(fw.map(lambda v, j: v * x[j], *row)), rows)


def plain(offsets: Any, numbers: Any, columns: Any, x: Any) -> Any:
    """The same of the three arrays as SciPy keeps them; offsets are i32."""
    rows = (offsets[:-1], offsets[1:] - offsets[:-1])
    return fw.expand_reduce(
        lambda row: row[1],
        lambda row, k: numbers[row[0] + k] * x[columns[row[0] + k]],
        fw.add,
        0,
        rows,
    )


def plain_inputs(n: int, percent: int) -> Arrays:
    """The same matrix."""
    rows, x = inputs(n, percent)
    numbers, columns = (np.asarray(part) for part in rows.values)
    return np.asarray(rows.offsets).astype(np.int32), numbers, columns, x


def inputs(n: int, percent: int) -> Arrays:
    """A square matrix; each row is about equally filled, its columns in order."""
    random = np.random.default_rng(12)
    lengths = random.binomial(n, percent / 100, n)
    columns, ends = np.empty(lengths.sum(), np.int32), np.cumsum(lengths)
    for start, length in zip(ends - lengths, lengths, strict=True):
        chosen = random.choice(n, length, replace=False, shuffle=False)
        columns[start : start + length] = np.sort(chosen)
    numbers = random.random(len(columns), np.float32)
    return fw.ragged((numbers, columns), lengths=lengths), random.random(n, np.float32)


def peers(tools: Tools, rows: Any, x: Any) -> dict[str, Call]:
    """Of the arrays that a Ragged has."""
    numbers, columns = (np.asarray(part) for part in rows.values)
    return plain_peers(tools, np.asarray(rows.offsets), numbers, columns, x)


def plain_peers(tools: Tools, offsets: Any, numbers: Any, columns: Any, x: Any) -> dict[str, Call]:
    """SciPy on the same arrays; NumPy stores the products."""
    n = len(offsets) - 1
    offsets, y = offsets.astype(np.int64), np.zeros(n, np.float32)
    found: dict[str, Call] = {}
    if sparse := tools.scipy("sparse"):
        shape = (n, len(x))
        matrix = sparse.csr_array((numbers, columns, offsets.astype(np.int32)), shape)
        found["scipy"] = lambda: matrix @ x
    if native := tools.c("spmv.c"):
        loop = native.bind("spmv", numbers, columns, offsets, x, y, n)
        parallel = native.bind("spmv_parallel", numbers, columns, offsets, x, y, n)
        found["C loop"] = lambda: (loop(), y)[1]
        found["C OpenMP gathers"] = lambda: (parallel(), y)[1]
    if tools.numba:
        prange = numba_loop(tools.numba)
        found["numba"] = lambda: prange(numbers, columns, offsets, x, y)
    if not found:
        dense = np.zeros((n, len(x)), np.float32)
        dense[np.repeat(np.arange(n), np.diff(offsets)), columns] = numbers
        found["numpy, dense"] = lambda: dense @ x
    return found


def numba_loop(numba: Any) -> Any:
    """All cores, a row at a time."""

    @numba.njit(parallel=True, fastmath=True)
    def loop(numbers, columns, offsets, x, y):
        for i in numba.prange(len(y)):
            total = np.float32(0)
            for k in range(offsets[i], offsets[i + 1]):
                total += numbers[k] * x[columns[k]]
            y[i] = total
        return y

    return loop


NEEDS = (
    Faster(1.1, "C OpenMP"), Faster(1.5, "scipy"),
    At(V3, Faster(1, "C OpenMP")), At(V3, Faster(1.3, "scipy")),
)  # fmt: skip
ROWS = [
    Row(f"spmv_{percent}", f"SpMV CSR f32 10^4 x 10^4, {percent} %", 10**4, 10**3, program,
        partial(inputs, percent=percent), NEEDS, peers, tolerance=1e-3, one_kernel=True)
    for percent in (1, 5, 10, 20)
] + [
    Row(f"spmv_plain_{percent}", f"SpMV of plain CSR arrays f32 10^4 x 10^4, {percent} %", 10**4,
        10**3, plain, partial(plain_inputs, percent=percent), NEEDS, plain_peers, tolerance=1e-3)
    for percent in (1, 5, 10, 20)
]  # fmt: skip
