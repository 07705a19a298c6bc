"""Integers: bits as they are, uniform in a range, and counts of the Poisson distribution.

Integers of a range are unbiased: the upper half of the product of a word and the length of the
range, where the lower half is not among those that would make some numbers likelier; such a word
is replaced (Lemire, "Fast random integer generation in an interval", 2019). Poisson counts are
found by products of uniforms for small means (Knuth), by transformed rejection for others
(Hoermann, "The transformed rejection method for generating Poisson random variables", 1993).
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType, f64, i64, u32, u64
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.frontend.arrays.shapes import raveled, reshaped
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import abs, exp, log, maximum, mul_hi, sqrt
from flatweave.frontend.elements.scalars import astype, floor, where
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.control import while_loop
from flatweave.frontend.trace.extents import product, scalar_i64, shape_of
from flatweave.frontend.trace.tracers import as_tracer, scalar_of
from flatweave.frontend.values.arguments import dtype_of
from flatweave.random.keys import drawn, turns_of

SMALL_MEAN = 10.0  # below it a count takes about as many products as it is high


def _integer_dtype(dtype: Any, who: str) -> DType:
    """A dtype of integers. Raises DTypeError for others."""
    wanted = dtype_of(dtype)
    if not wanted.is_integer:
        raise DTypeError.here(
            f"{who} gives integers, not {wanted.name}.",
            "Convert what it gives: fw.astype(x, dtype).",
        )
    return wanted


@operation(static="dtype")
def bits(key: Any, shape: Any = (), dtype: Any = u64) -> Any:
    """Random bits: integers of which each is as likely as every other.

    u64 of Philox are `numpy.random.Philox(key=seed).random_raw`, integers of Threefry
    `jax.random.bits`; narrow ones are the lowest bits of words of 32. `shape` is as of `uniform`.
    Raises NegativeExtentError, DTypeError for floats and bools.

    Types: `key, shape: extents -> u64[shape]`, of Threefry u32. Source: `numpy.random.Philox`.

        >>> fw.random.bits(fw.random.key(0), 3).shape
        (3,)
    """
    wanted = _integer_dtype(dtype, "bits")
    return drawn(key, shape, "bits", max(32, wanted.bits), lambda word, i: astype(word, wanted))


def integers(key: Any, low: Any, high: Any = None, shape: Any = (), dtype: Any = i64) -> Any:
    """Integers of [low, high), or of [0, low) without `high`, each as likely as every other.

    `shape` is as of `uniform`. Where a computed range is empty, all are `low`. Raises
    ArgumentError for an empty range of Python numbers or one outside of the dtype,
    NegativeExtentError, DTypeError for floats and bools.

    Types: `key, low, high: integers, shape: extents -> i64[shape]`.
    Source: `numpy.random.Generator.integers`.

        >>> fw.max(fw.random.integers(fw.random.key(0), 6, shape=99)) < 6
        Array(True, dtype=bool)
    """
    wanted = _integer_dtype(dtype, "integers")
    first, end = (0, low) if high is None else (low, high)
    if not isinstance(first, int) or not isinstance(end, int):
        return _integers(key, first, end, shape, wanted, False)
    _check_range(first, end, wanted)
    if end - first == 2**wanted.bits:
        return bits(key, shape, wanted)
    number = wanted.numpy.type
    return _integers(key, number(first), number(end - 1), shape, wanted, True)


@operation(static="dtype is_closed", name="integers")
def _integers(key: Any, low: Any, high: Any, shape: Any, dtype: Any, is_closed: bool) -> Any:
    """Integers of [low, high), or of [low, high] where it is closed, and not all of the dtype."""
    first, last = (scalar_of(each, "a bound of integers") for each in (low, high))
    begin, length = _word(first, dtype), _word(last, dtype) - _word(first, dtype)
    length = as_tracer(length + 1 if is_closed else where(last > first, length, 0))
    turn = turns_of(key, "integers")
    unfair = (0 - length) % length

    def element(word: Any, i: Any) -> Any:
        def again(state: Any) -> Any:
            t, _ = state
            fresh = turn(i, t)[0]
            return t + 1, fresh if length.element is u64 else astype(fresh, u32)

        _, word = while_loop(lambda s: s[1] * length < unfair, again, (astype(0, i64), word))
        return astype(begin + mul_hi(word, length), dtype)

    return drawn(key, shape, "integers", length.element.bits, element)


def _word(value: Any, dtype: DType) -> Any:
    """A bound in the unsigned arithmetic of an integer dtype, at least 32 bits wide."""
    return astype(astype(value, dtype), u64 if dtype.bits == 64 else u32)


def _check_range(low: int, high: int, dtype: DType) -> None:
    """Whether Python numbers are a range of integers of a dtype."""
    if low >= high:
        raise ArgumentError.here(
            f"integers needs a range that holds one, got [{low}, {high}).",
            "The end is not among them: it must be above the start.",
        )
    if low < dtype.low or high - 1 > dtype.high:
        raise ArgumentError.here(
            f"[{low}, {high}) does not fit {dtype.name}.", "Give a wider dtype=."
        )


@operation(static="dtype")
def poisson(key: Any, mean: Any, shape: Any = None, dtype: Any = i64) -> Any:
    """Counts of events that come independently, `mean` on average; 0 for a mean of 0 or NaN.

    `mean` is a number, with a `shape` for many counts, or an array with a mean for each. Raises
    ArgumentError for both, NegativeExtentError, DTypeError for floats and bools.

    Types: `key, mean: float, shape: extents -> i64[shape]`. Source: `jax.random.poisson`.

        >>> fw.random.poisson(fw.random.key(0), 0.0, 3)
        Array([0, 0, 0], dtype=int64)
    """
    wanted = _integer_dtype(dtype, "poisson")
    means: Any = astype(as_tracer(mean, "the mean of poisson"), f64)
    turn = turns_of(key, "poisson")
    if means.ndim == 0:
        extents = shape_of(() if shape is None else shape, "poisson")
        if not extents:
            return astype(_count(turn, 0, means), wanted)
        places = iota(scalar_i64(product(extents)))
        found = map(lambda i: astype(_count(turn, i, means), wanted), places)
        return reshaped(as_tracer(found), extents)
    if shape is not None:
        raise ArgumentError.here(
            "poisson of an array of means takes no shape; the result has the shape of the means.",
            "Broadcast the means: fw.broadcast_to(mean, shape).",
        )
    flat: Any = raveled(means)
    found = map(lambda m, i: astype(_count(turn, i, m), wanted), flat, iota(flat.shape[0]))
    return reshaped(as_tracer(found), means.extents)


def _unit(word: Any) -> Any:
    """A number in (0, 1]."""
    return (astype(astype(word >> 11, i64), f64) + 1.0) * 2.0**-53


def _count(turn: Any, i: Any, mean: Any) -> Any:
    """One count, as a float, from the words of element `i`."""
    is_small = ~(mean >= SMALL_MEAN)
    small = where(is_small & (mean > 0.0), mean, 0.0)
    limit = exp(-small)

    def multiply(state: Any) -> Any:
        k, product, t = state
        return k + 1.0, product * _unit(turn(i, t)[0]), t + 1

    count, _, _ = while_loop(
        lambda s: is_small & (small > 0.0) & (s[1] > limit), multiply, (-1.0, 1.0, 0)
    )
    return where(is_small, maximum(count, 0.0), _large_count(turn, i, mean, is_small))


def _large_count(turn: Any, i: Any, mean: Any, is_small: Any) -> Any:
    """Algorithm PTRS, for means from 10 on; of smaller ones it gives nothing of use, at once."""
    m = maximum(where(is_small, SMALL_MEAN, mean), SMALL_MEAN)
    b = 0.931 + 2.53 * sqrt(m)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    log_mean = log(m)

    def attempt(state: Any) -> Any:
        _, _, t = state
        first, second = turn(i, t)
        u, v = _unit(first) - 0.5, _unit(second)
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + m + 0.43)
        is_sure = (us >= 0.07) & (v <= v_r)
        is_out = (k < 0.0) | ((us < 0.013) & (v > us))
        fits = log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= (
            k * log_mean - m - _log_factorial(maximum(k, 0.0))
        )
        return is_sure | (~is_out & fits), k, t + 1

    _, count, _ = while_loop(lambda s: ~s[0], attempt, (is_small, 0.0, 0))
    return count


def _log_factorial(k: Any) -> Any:
    """log(k!) by Stirling's series at k + 8, less the logarithms of what is between."""
    x = k + 8.0
    above = (k + 1.0) * (k + 2.0) * (k + 3.0) * (k + 4.0) * (k + 5.0) * (k + 6.0) * (k + 7.0)
    y = 1.0 / (x * x)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))))) / x
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + series - log(above)
