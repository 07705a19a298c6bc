"""The sieve of Eratosthenes, flattened by expansion, and the spiral that its primes draw.

    python examples/sieve.py                      the primes up to 100,000,000
    python examples/sieve.py 1000000 [FOLDER]     up to another number, the picture into this folder

In every turn the sieve doubles the digits that it knows: by the primes below c it sifts the numbers
from c to c * c (Elsman, Henriksen and Serup 2019, section 5). `nested` divides every number by
every prime (figure 5). `flattened` expands each prime to its multiples, of which there are fewer
the larger it is, and strikes them out (figure 6): `expand` fuses into `scatter`, so multiples are
never stored; only a flag for each number and the primes are stored.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import flatweave as fw

FOLDER = Path("build") / "demo"
LIMIT, SIDE = 100_000_000, 400


def undivided(primes: Any, start: Any, stop: Any) -> Any:
    """For each number from start on, below stop, whether no prime divides it."""

    def is_prime(k: Any) -> Any:
        return fw.sum(fw.map(lambda p: k % p == 0, primes)) == 0

    return fw.map(is_prime, start + fw.iota(stop - start, primes.dtype))


def unstruck(primes: Any, start: Any, stop: Any) -> Any:
    """The same, where each prime strikes out its multiples."""
    multiples = fw.expand(lambda p: stop // p - 1, lambda p, i: (2 + i) * p, primes)
    return fw.scatter(fw.full(stop - start, True), multiples - start, False)


def sieve(n: Any, sift: Callable[[Any, Any, Any], Any]) -> Any:
    """The primes up to n, of n's dtype: each iteration those from c up to its square, or to n."""

    def turn(state: Any) -> Any:
        primes, c = state
        stop = fw.where(c <= n // c, c * c, n + 1)
        numbers = c + fw.iota(stop - c, n.dtype)
        new, _ = fw.filter(lambda entry: entry[1], (numbers, sift(primes, c, stop)))
        return fw.concat([primes, new]), stop

    none = fw.empty(0, n.dtype)
    return fw.while_loop(lambda state: state[1] <= n, turn, (none, 2))[0]


@fw.jit
def nested(n: Any) -> Any:
    """The primes up to n, by division."""
    return sieve(n, undivided)


@fw.jit
def flattened(n: Any) -> Any:
    """The primes up to n, by their multiples."""
    return sieve(n, unstruck)


@fw.jit
def count(n: Any) -> Any:
    """How many primes there are up to n; those above its root are counted, not listed."""
    root = fw.sqrt(n.astype(fw.f64)).astype(n.dtype)
    primes = sieve(root, unstruck)
    return primes.shape[0] + fw.sum(unstruck(primes, root + 1, n + 1))


@fw.jit
def spiral(primes: Any, extent: Any) -> Any:
    """Ulam's picture: 1 is in the middle, the numbers wind around it, primes are marked."""
    flags = fw.scatter(fw.full(extent * extent + 1, False), primes, True)

    def number(row: Any, column: Any) -> Any:
        x, y = column - (extent - 1) // 2, extent // 2 - row
        ring = fw.maximum(fw.abs(x), fw.abs(y))
        last = (2 * ring + 1) ** 2  # of the ring, in its lower right corner
        side = fw.where(y == ring, last - 5 * ring - x, last - 7 * ring + y)
        side = fw.where(x == -ring, last - 3 * ring - y, side)
        return fw.where(y == -ring, last - ring + x, side)

    return fw.generate((extent, extent), lambda row, column: flags[number(row, column)])


def numpy_sieve(n: int) -> np.ndarray:
    """The same in NumPy, which strikes out odd numbers only."""
    odd = np.ones((n + 1) // 2, bool)  # of 1, 3, 5, ..
    odd[:1] = False
    for i in range(3, int(n**0.5) + 1, 2):
        if odd[i // 2]:
            odd[i * i // 2 :: i] = False
    return np.concatenate([np.array([2][: n - 1]), 2 * np.flatnonzero(odd) + 1])


def draw(primes: Any, side: int, folder: Path) -> Path:
    """Write the spiral; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(spiral(primes, side)) * np.uint8(255)).save(folder / "primes.png")
    return folder / "primes.png"


def main(argv: list[str]) -> int:
    """Sift, draw, compare with NumPy: 0 when they agree."""
    limit = np.int32(argv[0] if argv else LIMIT)
    flattened(np.int32(9))  # compile
    start = time.perf_counter()
    primes = flattened(limit)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = numpy_sieve(int(limit))
    numpy_seconds = time.perf_counter() - start
    print(f"{len(primes):,} primes up to {limit:,}, the last ones {primes[-3:].tolist()}")
    print(f"flatweave: {seconds:.3f} s, NumPy, odd numbers only: {numpy_seconds:.3f} s")
    print(draw(flattened(SIDE * SIDE), SIDE, Path(argv[1]) if len(argv) > 1 else FOLDER))
    return 0 if np.array_equal(primes, expected) else 1


def cases(limit: int = LIMIT) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    yield (
        "sieve of Eratosthenes",
        f"primes up to {limit:,}",
        lambda: flattened(np.int32(limit)),
        lambda: numpy_sieve(limit),
        np.array_equal,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
