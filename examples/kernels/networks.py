"""Sorters of a part in a block: networks of comparators, a force after each of their columns.

    python examples/kernels networks

             columns for 2^n
    tsort1   n (n + 1) / 2    bitonic; a thread for each element, which asks
    tsort2   n (n + 1) / 2    bitonic; a thread for each pair, which does not
    vsort    n (n + 1) / 2    the same of interleaved halves
    psort    n * n            one merger, again and again

Each column pairs all elements, and puts both of each pair:

    column         pairs i with                     pairs are left, right
    ilv(i)         i with bit i flipped             x, x ^ 2^i
    vee(i)         i with the bits up to i flipped  x, x ^ (2^(i+1) - 1)
    ilv_vee(i, j)  the bits from i to i + j         x, x ^ ((2^(j+1) - 1) << i)

A column has two forms: `fk.ilv1` and its like, in which a thread for each element asks whether it
is the left or the right one of its pair; and `fk.ilv2`, half as many threads, which put both and
ask nothing. After Claessen, Sheeran and Svensson (2012). A network sorts everything when it sorts
all inputs of zeros and ones, which is how the tests know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from flatweave import kernel as fk

PART = 512
LESS = fw.minimum, fw.maximum
"""A comparator: what goes left, and what goes right."""
Column = Callable[[Any], Any]
Pairs = Callable[..., Column]


# -- networks for 2^n elements, or for each 2^n of more -------------------------------------------


def bmerge(n: int) -> list[Column]:
    """Sorts what goes up, then down."""
    return [fk.ilv2(n - i, *LESS) for i in range(1, n + 1)]


def tmerge(n: int, vee: Pairs = fk.vee2, ilv: Pairs = fk.ilv2) -> list[Column]:
    """Merges two sorted halves."""
    return [vee(n - 1, *LESS), *(ilv(n - i, *LESS) for i in range(2, n + 1))]


def bpmerge(n: int) -> list[Column]:
    """Merges the sorted elements at even indices with those at odd indices."""
    return [fk.vee2(n - i, *LESS) for i in range(1, n + 1)]


def tsort(n: int, vee: Pairs = fk.vee2, ilv: Pairs = fk.ilv2) -> list[Column]:
    """Sorts: halves are merged, from pairs on. All comparators point one way."""
    return [column for i in range(1, n + 1) for column in tmerge(i, vee, ilv)]


def vsort(n: int) -> list[Column]:
    """Sorts: interleaved halves are merged, starting with elements at distance n / 2."""
    return [
        fk.ilv_vee2(i, j, *LESS) for i in reversed(range(n)) for j in reversed(range(n - i))
    ]


def psort(n: int) -> list[Column]:
    """Sorts: one and the same merger n times (Dowd, Perl, Rudolph and Saks 1989)."""
    return bpmerge(n) * n


def run(columns: Iterable[Column], xs: Any) -> Any:
    """The columns in order, a force after each."""
    return fk.compose(columns)(xs)


# -- kernels --------------------------------------------------------------------------------------

NETWORKS: dict[str, Callable[[int, Any], Any]] = {
    "tsort1": lambda n, xs: run(tsort(n, fk.vee1, fk.ilv1), xs),
    "tsort2": lambda n, xs: run(tsort(n), xs),
    "vsort": lambda n, xs: run(vsort(n), xs),
    "psort": lambda n, xs: run(psort(n), xs),
    "bmerge": lambda n, xs: run(bmerge(n), xs),
    "tmerge": lambda n, xs: run(tmerge(n), xs),
    "bpmerge": lambda n, xs: run(bpmerge(n), xs),
}
"""What a block does with 2^n elements. The first four sort; the others merge."""
SORTERS = list(NETWORKS)[:4]


def by_blocks(name: str, n: int = PART.bit_length() - 1) -> Any:
    """A kernel that gives each 2^n elements of an array to a block with such a network."""

    def columns(xs: Any) -> Any:
        return fk.pconcat_map(partial(NETWORKS[name], n), fk.split_up(1 << n, xs))

    columns.__name__ = name
    return fk.kernel(columns, threads=1 << n if name == "tsort1" else max(1, (1 << n) // 2))


KERNELS = {name: by_blocks(name) for name in NETWORKS}


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    count = 1 << (11 if quick else 22)
    keys = np.random.default_rng(1).integers(0, 1 << 32, count, dtype=np.uint32)
    for name in SORTERS:
        yield (
            name, f"{count:,} u32", partial(KERNELS[name], keys),
            lambda: np.sort(keys.reshape(-1, PART), axis=1).ravel(), np.array_equal,
        )  # fmt: skip
