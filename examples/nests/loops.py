"""Loops in nests: each element has its own number of iterations and array in the state.

    python examples/nests loops

An option is priced on a trinomial tree of as many steps as it asks for: the values at its end are
taken back step by step, and become two fewer in each (Boyle 1988; a benchmark of Futhark's).
Collatz' sequences take from zero to hundreds of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


def put(spot: Any, strike: Any, years: Any, volatility: Any, rate: Any, steps: Any) -> Any:
    """The price of the right to sell for `strike` at any time, on a tree with `steps` steps."""
    time = years / fw.maximum(steps, 1)
    growth, jump = fw.exp(rate * time / 2), volatility * fw.sqrt(time / 2)
    high, low = fw.exp(jump), fw.exp(-jump)
    up, down = ((growth - low) / (high - low)) ** 2, ((high - growth) / (high - low)) ** 2
    discount = fw.exp(-rate * time)

    places = fw.iota(2 * steps + 1) - steps
    # in every step the prices are those of the end, without the outermost ones
    exercised = fw.maximum(strike - spot * fw.exp(2 * jump * places), 0)

    def turn(i: Any, values: Any) -> Any:
        held = up * values[2:] + (1 - up - down) * values[1:-1] + down * values[:-2]
        return fw.maximum(discount * held, exercised[i + 1 : 2 * steps - i])

    return fw.fori_loop(0, steps, turn, exercised)[0]


@fw.jit
def puts(*options: Any) -> Any:
    """The prices of many options, each on its own tree."""
    return fw.map(put, *options)


@fw.jit
def collatz(numbers: Any) -> Any:
    """How many steps each number takes to 1: half of an even one, 3 n + 1 of an odd one."""

    def step(state: Any) -> Any:
        n, steps = state
        return fw.where(n % 2 == 0, n >> 1, 3 * n + 1), steps + 1

    return fw.map(lambda n: fw.while_loop(lambda s: s[0] != 1, step, (n, 0))[1], numbers)


def numpy_put(spot: float, strike: float, years: float, volatility: float, rate: float,
              steps: int) -> float:  # fmt: skip
    """One price in NumPy."""
    time = years / max(steps, 1)
    growth, jump = np.exp(rate * time / 2), volatility * np.sqrt(time / 2)
    high, low = np.exp(jump), np.exp(-jump)
    up, down = ((growth - low) / (high - low)) ** 2, ((high - growth) / (high - low)) ** 2
    places = np.arange(-steps, steps + 1)
    values = np.maximum(strike - spot * np.exp(2 * jump * places), 0)
    for step in reversed(range(steps)):
        held = up * values[2:] + (1 - up - down) * values[1:-1] + down * values[:-2]
        places = np.arange(-step, step + 1)
        exercised = strike - spot * np.exp(2 * jump * places)
        values = np.maximum(np.exp(-rate * time) * held, np.maximum(exercised, 0))
    return float(values[0])


def numpy_collatz(numbers: np.ndarray) -> np.ndarray:
    """All numbers that are not at 1 yet take a step together."""
    n, steps = numbers.copy(), np.zeros_like(numbers)
    while (moving := n != 1).any():
        steps += moving
        n = np.where(moving, np.where(n % 2 == 0, n >> 1, 3 * n + 1), n)
    return steps


def market(number: int, longest: int) -> tuple[np.ndarray, ...]:
    """Random options: spot price, strike price, years, volatility, rate, steps."""
    draw = np.random.default_rng(1988)
    bounds = ((80, 120), (80, 120), (0.2, 2), (0.1, 0.4), (0.01, 0.05))
    columns = (draw.uniform(low, high, number) for low, high in bounds)
    return *columns, np.minimum(1 + draw.zipf(1.3, number), longest)


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    number, longest = (30, 40) if quick else (3000, 200)
    options = market(number, longest)
    yield (
        "options on trees",
        f"{number:,} options of 2 to {longest} steps",
        lambda: puts(*options),
        lambda: [numpy_put(*option) for option in zip(*options, strict=True)],
        np.allclose,
    )
    numbers = np.arange(1, 1000 if quick else 300_000)
    yield (
        "Collatz",
        f"the numbers to {numbers[-1]:,}",
        lambda: collatz(numbers),
        lambda: numpy_collatz(numbers),
        np.array_equal,
    )
