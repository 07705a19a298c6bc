"""Sparse matrices as ragged arrays: the product with a vector, and PageRank of modules by it.

    python examples/sparse_matrices.py            the modules of Python's own library
    python examples/sparse_matrices.py FOLDER     the modules below a folder

In compressed rows (CSR), as SciPy keeps them too, a matrix is a Ragged whose values are pairs: a
number and its column. The function for one row is all there is to write; rows may be empty, and
nothing is stored but the product (Elsman, Henriksen and Serup 2019, section 6).
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw

DAMPING, CLOSE = 0.85, 1e-10
TOPICS = ("", "asyncio", "email", "unittest")
IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+)?import[ \t]+\(?([\w., \t]+)", re.M)


def rows_of(matrix: Any) -> fw.Ragged:
    """The rows of a scipy.sparse matrix in CSR form; its numbers and columns are not copied."""
    return fw.ragged(matrix)


@fw.jit
def spmv(rows: Any, x: Any) -> Any:
    """A sparse matrix times a vector."""
    return fw.map(lambda row: fw.sum(fw.map(lambda v, j: v * x[j], *row)), rows)


@fw.jit
def spmm(rows: Any, xs: Any) -> Any:
    """A sparse matrix times a dense one: each row of the product is a sum of rows of `xs`."""
    return fw.map(lambda row: fw.sum(fw.map(lambda v, j: v * xs[j], *row), axis=0), rows)


@fw.jit
def pagerank(rows: Any, start: Any) -> Any:
    """Where a reader ends up who follows links, and now and then restarts; and the iterations.

    Each column of `start` says where one reader begins. From a page without links one begins anew.
    """

    def turn(state: Any) -> Any:
        rank, _, turns = state
        moved = DAMPING * spmm(rows, rank)
        moved = moved + (1 - fw.sum(moved, axis=0)) * start
        return moved, fw.max(fw.abs(moved - rank)), turns + 1

    rank, _, turns = fw.while_loop(lambda state: state[1] > CLOSE, turn, (start, 1.0, 0))
    return rank, turns


def numpy_spmv(rows: fw.Ragged, x: np.ndarray) -> np.ndarray:
    """The same in NumPy, which stores all products."""
    (numbers, columns), offsets = rows.values, np.asarray(rows.offsets)
    sums = np.zeros(len(rows), x.dtype)
    filled = offsets[1:] > offsets[:-1]  # of an empty row, reduceat would give the next number
    if filled.any():
        products = np.asarray(numbers) * x[np.asarray(columns)]
        sums[filled] = np.add.reduceat(products, offsets[:-1][filled])
    return sums


def numpy_pagerank(rows: fw.Ragged, start: np.ndarray, turns: int) -> np.ndarray:
    """The same in NumPy, after `turns` iterations."""
    rank = start
    for _ in range(turns):
        moved = DAMPING * np.stack([numpy_spmv(rows, column) for column in rank.T], axis=1)
        rank = moved + (1 - moved.sum(axis=0)) * start
    return rank


def modules_below(folder: Path) -> dict[str, bytes]:
    """The text of each module, by its name; tests are left out."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if all(part.isidentifier() and part not in ("test", "tests") for part in parts):
            name = ".".join(parts).removesuffix(".__init__")
            found[name] = path.read_bytes()
    return found


def imports_of(name: str, text: bytes, known: dict[str, Any]) -> set[str]:
    """The modules, of those that are known, that a module imports."""
    found = set()
    for dots, origin, names in IMPORT.findall(text):
        package = name.split(".")[: -len(dots)] if dots else []
        base = [*package, *filter(None, origin.decode().split("."))]
        for said in names.decode().split(","):
            path = [*base, *said.split()[0].split(".")] if said.split() else base
            while path and ".".join(path) not in known:
                path.pop()
            found.add(".".join(path))
    return found - {"", name}


def links(texts: dict[str, bytes]) -> fw.Ragged:
    """The matrix of imports: in row i and column j, the part of j's imports that i is."""
    number = {name: i for i, name in enumerate(texts)}
    pairs = [
        (number[to], j, 1 / len(imported))
        for j, (name, text) in enumerate(texts.items())
        for imported in [imports_of(name, text, number)]
        for to in imported
    ]
    to, origin, parts = (np.array(column) for column in zip(*sorted(pairs), strict=True))
    lengths = np.bincount(to.astype(np.int64), minlength=len(texts))
    return fw.ragged((parts, origin.astype(np.int32)), lengths=lengths)


def starts(names: list[str]) -> np.ndarray:
    """For each topic a column: readers begin at any module whose name starts so."""
    columns = [[name.startswith(topic) for name in names] for topic in TOPICS]
    chosen = np.array(columns, np.float64).T
    return chosen / np.maximum(chosen.sum(axis=0), 1)


def main(argv: list[str]) -> int:
    """Rank modules, compare with NumPy: 0 when they agree."""
    texts = modules_below(Path(argv[0] if argv else sysconfig.get_path("stdlib")))
    names, rows = list(texts), links(texts)
    start = starts(names)
    rank, turns = pagerank(rows, start)
    rank = np.asarray(rank)
    total = rows.values[0].size
    print(f"{len(rows)} modules with {total} imports; ranks after {turns} turns,")
    print("of a reader who begins at any module, or at one of a package:\n")
    print("  ".join(f"{topic or 'any':<23}" for topic in TOPICS).rstrip())
    for place in range(10):
        best = [int(np.argsort(-column)[place]) for column in rank.T]
        cells = (f"{100 * rank[i, k]:4.1f} % {names[i]:<16.16}" for k, i in enumerate(best))
        print("  ".join(cells).rstrip())
    return 0 if np.allclose(rank, numpy_pagerank(rows, start, int(turns))) else 1


def random_rows(n: int, density: float) -> fw.Ragged:
    """A square matrix of random numbers in random columns."""
    draw = np.random.default_rng(1)
    lengths = draw.binomial(n, density, n)
    columns = draw.integers(0, n, lengths.sum(), np.int32)
    return fw.ragged((draw.random(len(columns), np.float32), columns), lengths=lengths)


def cases(n: int = 10_000) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    rows, x = random_rows(n, 0.1), np.random.default_rng(2).random(n, np.float32)
    yield (
        "sparse x vector",
        f"{n:,} x {n:,}, 10 % filled, f32",
        lambda: spmv(rows, x),
        lambda: numpy_spmv(rows, x),
        lambda ours, numpys: np.allclose(ours, numpys, rtol=1e-3),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
