"""First kernels: sums, maps, reversals and joins of arrays, and what each becomes.

    python examples/kernels first

A pull array says what element i is, and whoever reads it computes it; a push array brings the
program that puts its elements, and says who computes what. Maps, reversals and joins of either
store nothing. `force` stores, once, for all threads of a block to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from flatweave import kernel as fk

PART = 256


def plus(a: Any, b: Any) -> Any:
    """An operator."""
    return a + b


# -- one element for each thread ------------------------------------------------------------------


def vec_add(a: Any, b: Any) -> Any:
    """The sums of two arrays side by side: in code of any level."""
    return fk.zip_with(plus, a, b)


@fk.kernel(threads=32)
def vec_add_by_blocks(a: Any, b: Any) -> Any:
    """The same, 32 elements by each block, one by each thread of it."""
    return fk.pconcat(fk.zip_with(vec_add, fk.split_up(32, a), fk.split_up(32, b)))


@fk.kernel
def map_fusion(xs: Any) -> Any:
    """Two maps, one pass: nothing is stored between them."""
    return fk.map(lambda x: x + 1, fk.map(lambda x: x * 2, xs))


@fk.kernel
def maps_apart(xs: Any) -> Any:
    """The same with a force between: an array in shared memory, and a barrier."""

    def block(part: Any) -> Any:
        return fk.map(lambda x: x + 1, fk.force(fk.map(lambda x: x * 2, part)))

    return fk.pconcat_map(block, fk.split_up(PART, xs))


# -- reversals ------------------------------------------------------------------------------------


def reverse_local(part: Any) -> Any:
    """Thread i reads the element opposite: neighbours read neighbours, backwards."""
    return fk.push(fk.reverse(part))


def reverse_in_shared(part: Any) -> Any:
    """Thread i reads element i, and shared memory turns them round."""
    return fk.push(fk.reverse(fk.force(part)))


@fk.kernel
def reverses(xs: Any) -> Any:
    """Each part of 256 turned round."""
    return fk.pconcat_map(reverse_local, fk.split_up(PART, xs))


@fk.kernel
def large_reverse(xs: Any) -> Any:
    """All turned round: the parts, and their order."""
    return fk.pconcat(fk.reverse(fk.p_map(reverse_in_shared, fk.split_up(PART, xs))))


# -- joins ----------------------------------------------------------------------------------------


@fk.kernel
def cat_arrays(xs: Any) -> Any:
    """A part and its reverse behind it: a thread for each element asks whose it is."""
    return fk.pconcat_map(lambda part: fk.conc(part, fk.reverse(part)), fk.split_up(16, xs))


@fk.kernel
def cat_arrays_p(xs: Any) -> Any:
    """The same by half the threads, each of which stores twice and asks nothing."""
    return fk.pconcat_map(lambda part: fk.concat_p(part, fk.reverse(part)), fk.split_up(16, xs))


@fk.kernel
def zipp_unpair(a: Any, b: Any) -> Any:
    """An element of each array in turn: a thread for each place asks which."""
    return fk.unpair(fk.zip(a, b))


@fk.kernel
def zipp_unpair_p(a: Any, b: Any) -> Any:
    """The same by half the threads, without a question."""
    parts = fk.zip_with(fk.zip, fk.split_up(32, a), fk.split_up(32, b))
    return fk.pconcat_map(fk.unpair_p, parts)


# -- sums -----------------------------------------------------------------------------------------


def tree_sum(part: Any) -> Any:
    """Neighbours are added until one is left; a store and a barrier for each halving."""
    while part.length > 1:
        part = fk.force(fk.zip_with(plus, *fk.even_odds(part)))
    return part


@fk.kernel
def sums(xs: Any) -> Any:
    """The sum of each 8 elements."""
    return fk.pconcat_map(tree_sum, fk.split_up(8, xs))


@fk.kernel
def sums_by_threads(xs: Any) -> Any:
    """The same, one thread for each sum, in a loop."""

    def block(part: Any) -> Any:
        return fk.pconcat_map(lambda eight: fk.seq_reduce(plus, eight), fk.split_up(8, part))

    return fk.pconcat_map(block, fk.split_up(PART, xs))


KERNELS = {
    kernel.__name__: kernel
    for kernel in (
        vec_add_by_blocks, map_fusion, maps_apart, reverses, large_reverse, cat_arrays,
        cat_arrays_p, zipp_unpair, zipp_unpair_p, sums, sums_by_threads,
    )
}  # fmt: skip
NUMPY: dict[str, Callable[..., Any]] = {
    "vec_add_by_blocks": lambda a, b: a + b,
    "map_fusion": lambda xs: xs * 2 + 1,
    "maps_apart": lambda xs: xs * 2 + 1,
    "reverses": lambda xs: xs.reshape(-1, PART)[:, ::-1].ravel(),
    "large_reverse": lambda xs: xs[::-1],
    "cat_arrays": lambda xs: _and_back(xs),
    "cat_arrays_p": lambda xs: _and_back(xs),
    "zipp_unpair": lambda a, b: np.stack([a, b], 1).ravel(),
    "zipp_unpair_p": lambda a, b: np.stack([a, b], 1).ravel(),
    "sums": lambda xs: xs.reshape(-1, 8).sum(1, dtype=xs.dtype),
    "sums_by_threads": lambda xs: xs.reshape(-1, 8).sum(1, dtype=xs.dtype),
}
"""The same in NumPy; lengths are multiples of 256."""


def _and_back(xs: np.ndarray) -> np.ndarray:
    parts = xs.reshape(-1, 16)
    return np.concatenate([parts, parts[:, ::-1]], axis=1).ravel()


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    n = 1 << (10 if quick else 24)
    draw = np.random.default_rng(1)
    arrays = [draw.integers(-9, 10, n, dtype=np.int32) for _ in range(2)]
    for name, ours in KERNELS.items():
        numpys = NUMPY[name]
        some = arrays[: numpys.__code__.co_argcount]
        yield (name, f"{n:,} i32", partial(ours, *some), partial(numpys, *some), np.array_equal)
