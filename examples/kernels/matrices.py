"""Matrices: transposed, and multiplied, by tiles in shared memory.

    python examples/kernels matrices

    transpose_plain   reads along rows and writes down columns: neighbours write with a large stride
    transpose_tiles   a block transposes a tile of 32 x 32 in shared memory: rows on both sides;
                      a tile's row is padded by one element, so that columns are in different banks
    product_plain     a thread for each element, which reads a row and a column from global memory
    product_tiles     a block for each tile of the result, to which all threads bring tiles of both
                      matrices step by step; each element that was read is used 32 times

Tiles over the edge are filled up with zeros, and what lies over the edge is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from flatweave import kernel as fk

TILE = 32


def up(n: Any) -> Any:
    """How many tiles it takes."""
    return (n + (TILE - 1)) // TILE


def by_warps(rows: int, body: Callable[[Any, Any], None]) -> None:
    """`body(i, j)` for each index of a tile: a warp for each row, a lane for each column."""
    fk.for_all(rows, lambda i: fk.for_all(TILE, lambda j: body(i, j)), level=fk.WARP)


def tile_of(a: Any, top: Any, left: Any, pitch: int = TILE) -> Any:
    """A tile of a matrix in shared memory; element i, j of it is `tile(i, j)`."""
    rows, columns = a.length, a[0].length

    def write(put: Any) -> None:
        def load(i: Any, j: Any) -> None:
            row, column = top + i, left + j
            inside = (row < rows) & (column < columns)
            put(i * pitch + j, fk.cond(inside, lambda: a[row][column], lambda: 0))

        by_warps(TILE, load)

    held = fk.force(fk.make_push(TILE * pitch, write))
    return lambda i, j: held[i * pitch + j]


# -- transposition --------------------------------------------------------------------------------


@fk.kernel
def transpose_plain(a: Any) -> Any:
    """One element after the other, in the order of the result."""
    return fk.transpose(a)


@fk.kernel
def transpose_tiles(a: Any) -> Any:
    """The elements of the result, row after row."""
    rows, columns = a.length, a[0].length

    def write(put: Any) -> None:
        def block(down: Any, along: Any) -> None:
            top, left = down * TILE, along * TILE
            tile = tile_of(a, top, left, pitch=TILE + 1)

            def store(i: Any, j: Any) -> None:
                row, column = left + i, top + j
                inside = (row < columns) & (column < rows)
                fk.when(inside, lambda: put(row * rows + column, tile(j, i)))

            by_warps(TILE, store)

        fk.for_all((up(rows), up(columns)), block)

    return fk.make_push(rows * columns, write)


def zero_of(row: Any) -> Any:
    """0 in the dtype of a row, which may be empty."""
    return fk.cond(row.length > 0, lambda: row[0] * 0, lambda: 0)


# -- product --------------------------------------------------------------------------------------


@fk.kernel
def product_plain(a: Any, b: Any) -> Any:
    """The elements of the result, row after row."""
    n, m, depth = a.length, b[0].length, b.length

    def element(i: Any, j: Any) -> Any:
        products = fk.pull(depth, lambda k: a[i][k] * b[k][j])
        return fk.seq_reduce(lambda x, y: x + y, products, 0)

    return fk.pull(n, lambda i: fk.pull(m, lambda j: element(i, j)))


@fk.kernel
def product_tiles(a: Any, b: Any) -> Any:
    """The elements of the result, row after row; each thread has four of a column in its loop."""
    n, m, depth = a.length, b[0].length, b.length
    quarter = TILE // 4

    def write(put: Any) -> None:
        def block(down: Any, along: Any) -> None:
            top, left = down * TILE, along * TILE
            sums = fk.fill(fk.replicate(TILE * TILE, zero_of(a[0])))

            def turn(step: Any) -> None:
                of_a, of_b = tile_of(a, top, step * TILE), tile_of(b, step * TILE, left)

                def thread(i: Any, j: Any) -> None:
                    rows = [i + quarter * part for part in range(4)]

                    def add(k: Any, state: Any) -> Any:
                        x = of_b(k, j)
                        return tuple(
                            s + of_a(row, k) * x for row, s in zip(rows, state, strict=True)
                        )

                    found = fk.seq_for(0, TILE, add, tuple(sums[r * TILE + j] for r in rows))
                    for row, value in zip(rows, found, strict=True):
                        sums[row * TILE + j] = value

                by_warps(quarter, thread)
                fk.barrier()

            fk.seq_for(0, up(depth), turn)

            def store(i: Any, j: Any) -> None:
                row, column = top + i, left + j
                inside = (row < n) & (column < m)
                fk.when(inside, lambda: put(row * m + column, sums[i * TILE + j]))

            by_warps(TILE, store)

        fk.for_all((up(n), up(m)), block)

    return fk.make_push(n * m, write)


KERNELS = {
    kernel.__name__: kernel
    for kernel in (transpose_plain, transpose_tiles, product_plain, product_tiles)
}


def transpose(name: str, a: np.ndarray) -> np.ndarray:
    """A matrix turned round by a kernel."""
    return np.asarray(KERNELS[name](a)).reshape(a.shape[::-1])


def product(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices by a kernel."""
    return np.asarray(KERNELS[name](a, b)).reshape(a.shape[0], b.shape[1])


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n, m, k = (33, 9, 40) if quick else (1000, 1100, 900)
    draw = np.random.default_rng(1)
    a, b = (draw.integers(-9, 10, shape).astype(np.float32) for shape in ((n, k), (k, m)))
    for name in ("transpose_plain", "transpose_tiles"):
        yield (
            name, f"{n} x {k}, f32", partial(transpose, name, a),
            lambda: np.ascontiguousarray(a.T), np.array_equal,
        )  # fmt: skip
    for name in ("product_plain", "product_tiles"):
        yield (
            name, f"{n} x {k} by {k} x {m}, f32", partial(product, name, a, b), lambda: a @ b,
            np.array_equal,
        )  # fmt: skip
