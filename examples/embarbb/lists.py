"""Linked lists: how far each element is from the end of its list, by pointer jumping.

    python examples/embarbb lists

Each iteration doubles the distance of a pointer, so a list of n takes log n iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def ranks(following: Any) -> Any:
    """The number of elements after each one; the last of a list is followed by itself."""
    own = fw.iota(following.shape[0])

    def unfinished(state: Any) -> Any:
        following, _ = state
        return fw.any(following != following[following])

    def jump(state: Any) -> Any:
        following, ranks = state
        return following[following], ranks + ranks[following]

    return fw.while_loop(unfinished, jump, (following, (following != own).astype(fw.i64)))[1]


def plain_ranks(following: np.ndarray) -> np.ndarray:
    """The same from the ends of the lists on, one element after the other."""
    before = {int(b): a for a, b in enumerate(following) if a != b}
    found = np.zeros(len(following), np.int64)
    for place in np.flatnonzero(following == np.arange(len(following))).tolist():
        count = 0
        while place in before:
            place, count = before[place], count + 1
            found[place] = count
    return found


def lists(n: int, many: int) -> np.ndarray:
    """`n` elements in `many` lists, in random order."""
    order = np.random.default_rng(6).permutation(n)
    following = np.arange(n)
    for part in np.array_split(order, many):
        following[part[:-1]] = part[1:]
    return following


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in plain Python, whether they agree."""
    n = 300 if quick else 1 << 18
    following = lists(n, 5)
    yield ("list ranking", f"{n} in 5 lists", lambda: ranks(following),
           lambda: plain_ranks(following), np.array_equal)  # fmt: skip
