"""The prices of ten million European options by the formula of Black and Scholes.

    python examples/blackscholes.py               10,000,000 options
    python examples/blackscholes.py 1000000       1,000,000 options

One map with logarithms, exponentials and error functions: NumPy makes some thirty passes over
memory, one for each operation; here it is one pass, and nothing in between is stored.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw

RATE, VOLATILITY = np.float32(0.02), np.float32(0.30)


def normal_cdf(x: Any) -> Any:
    """The share of a normal distribution below x."""
    return 0.5 * (1 + fw.erf(x * math.sqrt(0.5)))


@fw.jit
def prices(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
    """The prices of calls and of puts."""

    def option(spot: Any, strike: Any, years: Any) -> Any:
        spread = volatility * fw.sqrt(years)
        d1 = (fw.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
        discounted = strike * fw.exp(-rate * years)
        call = spot * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)
        return call, call - spot + discounted

    return fw.map(option, spot, strike, years)


def numpy_erf(x: np.ndarray) -> np.ndarray:
    """The error function to seven digits (Abramowitz and Stegun 7.1.26): NumPy has none."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = 0.254829592 + t * (
        -0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))
    )
    return np.copysign(1 - t * series * np.exp(-x * x), x)


def numpy_prices(
    spot: np.ndarray, strike: np.ndarray, years: np.ndarray, rate: Any, volatility: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The same in NumPy."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    below_d1, below_d2 = ((1 + numpy_erf(d * math.sqrt(0.5))) / 2 for d in (d1, d1 - spread))
    discounted = strike * np.exp(-rate * years)
    call = spot * below_d1 - discounted * below_d2
    return call, call - spot + discounted


def exact_call(spot: float, strike: float, years: float) -> float:
    """The price of one call in double precision."""
    rate, volatility = float(RATE), float(VOLATILITY)
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    below_d1, below_d2 = (0.5 * (1 + math.erf(d * math.sqrt(0.5))) for d in (d1, d1 - spread))
    return spot * below_d1 - strike * math.exp(-rate * years) * below_d2


def options(number: int) -> tuple[np.ndarray, ...]:
    """Spot prices, strike prices and years of random options."""
    draw = np.random.default_rng(1973)
    bounds = ((5, 30), (1, 100), (0.25, 10))
    return tuple(draw.uniform(low, high, number).astype(np.float32) for low, high in bounds)


def largest_error(calls: Any, market: tuple[np.ndarray, ...], samples: int = 10_000) -> float:
    """How far some of the calls are from the exact price."""
    every = max(1, len(market[0]) // samples)
    picked = (column[::every].tolist() for column in (np.asarray(calls), *market))
    return max((abs(call - exact_call(*rest)) for call, *rest in zip(*picked)), default=0.0)


def main(argv: list[str]) -> int:
    """Price options, compare with the exact formula: 0 when all are right to a hundredth cent."""
    market = options(int(argv[0]) if argv else 10_000_000)
    prices(*(column[:1] for column in market), RATE, VOLATILITY)  # compile
    start = time.perf_counter()
    calls, puts = prices(*market, RATE, VOLATILITY)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    numpy_prices(*market, RATE, VOLATILITY)
    numpy_seconds = time.perf_counter() - start
    error = largest_error(calls, market)
    print(f"{calls.size} options: mean call {calls.mean():.4f}, mean put {puts.mean():.4f}")
    print(f"flatweave: {seconds:.3f} s, NumPy: {numpy_seconds:.3f} s; largest error {error:.1e}")
    return 0 if error < 1e-4 else 1


def cases(number: int = 10_000_000) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    market = options(number)
    yield (
        "Black-Scholes",
        f"{number:,} options, f32",
        lambda: prices(*market, RATE, VOLATILITY),
        lambda: numpy_prices(*market, RATE, VOLATILITY),
        lambda ours, _: largest_error(ours[0], market) < 1e-4,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
