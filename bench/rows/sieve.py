"""How many primes there are up to 10^8, by expansion (Elsman and others 2019, section 5).

The primes up to the root come from the same sieve; every number above it has a flag, even ones too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import INTEGER, Tools


def unstruck(primes: Any, start: Any, stop: Any) -> Any:
    """For each number from start on, below stop, whether it is no multiple of these primes."""
    multiples = fw.expand(lambda p: stop // p - 1, lambda p, i: (2 + i) * p, primes)
    return fw.scatter(fw.full(stop - start, True), multiples - start, False)


def listed(n: Any) -> Any:
    """The primes up to n: in each iteration those from c to its square."""

    def turn(state: Any) -> Any:
        primes, c = state
        stop = fw.where(c <= n // c, c * c, n + 1)
        numbers = c + fw.iota(stop - c, n.dtype)
        new, _ = fw.filter(lambda entry: entry[1], (numbers, unstruck(primes, c, stop)))
        return fw.concat([primes, new]), stop

    none = fw.empty(0, n.dtype)
    return fw.while_loop(lambda state: state[1] <= n, turn, (none, 2))[0]


def program(n: Any) -> Any:
    """Those up to the root, and the numbers above it that they leave."""
    root = fw.sqrt(n.astype(fw.f64)).astype(n.dtype)
    primes = listed(root)
    return primes.shape[0] + fw.sum(unstruck(primes, root + 1, n + 1))


def inputs(n: int) -> Arrays:
    """The bound."""
    return (np.int32(n),)


def odd_only(n: int) -> int:
    """Below n, of odd numbers only; 2 replaces the 1 among them."""
    odd = np.ones(n // 2, bool)  # of 1, 3, 5, ..
    for k in range(3, int(n**0.5) + 1, 2):
        if odd[k // 2]:
            odd[k * k // 2 :: k] = False
    return int(np.count_nonzero(odd))


def peers(tools: Tools, n: Any) -> dict[str, Call]:
    """A plain one in C; those of NumPy and Numba leave the even numbers out."""
    n = int(n) + 1
    found: dict[str, Call] = {"numpy, odd only": lambda: odd_only(n)}
    if native := tools.c("sieve.c"):
        found["C byte sieve"] = native.bind("sieve", n, gives=INTEGER)
    if tools.numba:
        loop = numba_loop(tools.numba)
        found["numba, odd only"] = lambda: loop(n)
    return found


def numba_loop(numba: Any) -> Any:
    """The same loop, compiled."""

    @numba.njit
    def loop(n):
        odd = np.ones(n // 2, np.bool_)
        k = 3
        while k * k < n:
            if odd[k // 2]:
                for i in range(k * k // 2, n // 2, k):
                    odd[i] = False
            k += 2
        return odd.sum()

    return loop


ROWS = [
    Row("sieve", "sieve of Eratosthenes to 10^8", 10**8, 10**6, program, inputs,
        (Faster(2, "C byte sieve"), Faster(1, "numpy")), peers, bytes_each=1.5)
]  # fmt: skip
