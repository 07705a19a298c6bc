"""Prices of European calls and puts, f32: arithmetic, exp, log, sqrt and erf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools

RATE, VOLATILITY = 0.02, 0.3
DRIFT = RATE + 0.5 * VOLATILITY * VOLATILITY


def price(spot: Any, strike: Any, years: Any, of: Any, erf: Any) -> Any:
    """Call and put, with a library's functions."""
    root = VOLATILITY * of.sqrt(years)
    d1 = (of.log(spot / strike) + DRIFT * years) / root
    d2 = d1 - root
    now = strike * of.exp(-RATE * years)
    call = spot * (0.5 + 0.5 * erf(d1 * 0.70710678)) - now * (0.5 + 0.5 * erf(d2 * 0.70710678))
    return call, call - spot + now


def program(spot: Any, strike: Any, years: Any) -> Any:
    """Call and put of every option."""
    return fw.map(lambda s, k, t: price(s, k, t, fw, fw.erf), spot, strike, years)


def inputs(n: int) -> Arrays:
    """Options around the money."""
    random = np.random.default_rng(5)
    spot = random.random(n, np.float32) * np.float32(25) + np.float32(5)
    strike = random.random(n, np.float32) * np.float32(90) + np.float32(10)
    years = random.random(n, np.float32) * np.float32(9.75) + np.float32(0.25)
    return spot, strike, years


def peers(tools: Tools, spot: Any, strike: Any, years: Any) -> dict[str, Call]:
    """The same formula; C and Numba have a polynomial for the normal distribution."""
    n, args = len(spot), (spot, strike, years)
    call, put = np.zeros_like(spot), np.zeros_like(spot)
    found: dict[str, Call] = {}
    if special := tools.scipy("special"):
        found["numpy"] = lambda: price(*args, np, special.erf)
    if native := tools.c("blackscholes.c"):
        loop = native.bind("black_scholes", *args, call, put, n)
        parallel = native.bind("black_scholes_parallel", *args, call, put, n)
        found["C loop"] = lambda: (loop(), (call, put))[1]
        found["C OpenMP libmvec"] = lambda: (parallel(), (call, put))[1]
    if tools.numba:
        prange = numba_loop(tools.numba)
        found["numba"] = lambda: prange(*args, call, put)
    if tools.jax:
        jax = tools.jax
        compiled = jax.jit(lambda s, k, t: price(s, k, t, jax.numpy, jax.scipy.special.erf))
        on_device = [jax.numpy.asarray(x) for x in args]
        found["jax"] = lambda: jax.block_until_ready(compiled(*on_device))
    return found


def numba_loop(numba: Any) -> Any:
    """All cores, fast mathematics; `erf` would make it five times slower."""
    f = np.float32
    rate, volatility, drift = map(f, (RATE, VOLATILITY, DRIFT))

    @numba.njit(fastmath=True, inline="always")
    def below(d):
        k = f(1) / (f(1) + f(0.2316419) * abs(d))
        rest = f(1.781477937) + k * (f(-1.821255978) + k * f(1.330274429))
        p = k * (f(0.31938153) + k * (f(-0.356563782) + k * rest))
        tail = f(0.39894228) * math.exp(f(-0.5) * d * d) * p
        return f(1) - tail if d > 0 else tail

    @numba.njit(parallel=True, fastmath=True)
    def loop(spot, strike, years, call, put):
        for i in numba.prange(len(spot)):
            root = volatility * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + drift * years[i]) / root
            now = strike[i] * math.exp(-rate * years[i])
            value = spot[i] * below(d1) - now * below(d1 - root)
            call[i] = value
            put[i] = value - spot[i] + now
        return call, put

    return loop


NEEDS = (Faster(1, "C OpenMP"), Faster(2, "numba"), OneThread())
ROWS = [
    Row("black_scholes", "Black-Scholes f32 10^7", 10**7, 10**6, program, inputs, NEEDS, peers,
        tolerance=1e-3)
]  # fmt: skip
