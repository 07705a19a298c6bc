"""Distributions: uniform, normal, exponential; bits, integers, Poisson's; orders and samples.

Integers of a range are unbiased: the upper half of the product of a word and the length of the
range, where the lower half is not among those that would make some numbers likelier; such a word
is replaced (Lemire, "Fast random integer generation in an interval", 2019). Poisson counts are
found by products of uniforms for small means (Knuth), by transformed rejection for others
(Hoermann, "The transformed rejection method for generating Poisson random variables", 1993).
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from flatweave.base.dtypes import DType, f64, i64, u32, u64
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError
from flatweave.frontend.arrays.shapes import raveled, reshaped
from flatweave.frontend.arrays.sorting import argsort
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import exp, log, log1p, maximum, minimum, mul_hi, sqrt
from flatweave.frontend.elements.scalars import astype, floor, where
from flatweave.frontend.functions.callbacks import check
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.control import while_loop
from flatweave.frontend.functions.scans import cumsum
from flatweave.frontend.standard.searching import searchsorted
from flatweave.frontend.trace.extents import length_of, product, same, scalar_i64, shape_of
from flatweave.frontend.trace.tracers import as_tracer, scalar_of
from flatweave.frontend.values.arguments import dtype_of
from flatweave.frontend.values.array import describe
from flatweave.random.keys import drawn, float_dtype, fractions, turns_of

# numerators and denominators, highest power first, near the middle, towards the ends, and far out
_WIDE = (
    (
        (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
         13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
        (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
         5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
    ),
    (
        (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
         1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
         4.6303378461565452959, 1.42343711074968357734),
        (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
         0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
         2.05319162663775882187, 1.0),
    ),
    (
        (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
         0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
         5.4637849111641143699, 6.6579046435011037772),
        (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
         7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
         0.59983220655588793769, 1.0),
    ),
)  # fmt: skip
_NARROW = (
    ((59.10937472, 159.29113202, 50.434271938, 3.3871327179),
     (67.18756360, 78.757757664, 17.895169469, 1.0)),
    ((0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777),
     (0.12021132975, 0.73700164250, 1.0)),
    ((0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150),
     (0.012258202635, 0.24197894225, 1.0)),
)  # fmt: skip


@operation(static="dtype")
def uniform(key: Any, shape: Any = (), low: Any = 0.0, high: Any = 1.0, dtype: Any = f64) -> Any:
    """Numbers that are as likely anywhere in [low, high): `low + (high - low) * u`.

    With a key of Philox, u is what `numpy.random.Generator(numpy.random.Philox(key=seed)).random`
    gives, with 53 random bits for f64 and 24 for f32; of Threefry what `jax.random.uniform` gives,
    with 52 and 23. `shape` is an extent, a tuple of them, or a Ragged for rows of its lengths;
    `low` and `high` are broadcast against it.
    Raises NegativeExtentError, DTypeError for other dtypes.

    Types: `key, shape: extents, low, high: float -> f64[shape]`. Source: `numpy.random.Generator`.

        >>> fw.random.uniform(fw.random.key(0), 3).dtype == fw.f64
        True
    """
    wanted = float_dtype(dtype, "uniform")
    u = fractions(key, shape, "uniform", wanted, lambda u: u)
    if _is_number(low, 0.0) and _is_number(high, 1.0):
        return u
    least = astype(low, wanted)
    return least + (astype(high, wanted) - least) * u


def _is_number(value: Any, number: float) -> bool:
    """Whether a parameter was left at this number."""
    return isinstance(value, int | float) and value == number


@operation(static="dtype")
def normal(key: Any, shape: Any = (), mean: Any = 0.0, std: Any = 1.0, dtype: Any = f64) -> Any:
    """Numbers of the normal distribution: `mean + std * z`, within 9.1 of 0 for f64, 6.3 for f32.

    `shape` is as of `uniform`. Raises NegativeExtentError, DTypeError for other dtypes.

    Types: `key, shape: extents, mean, std: float -> f64[shape]`.
    Source: `jax.random.normal`; inversion of the distribution function.

        >>> fw.random.normal(fw.random.key(0), (2, 3)).shape
        (2, 3)
    """
    wanted = float_dtype(dtype, "normal")
    z = drawn(key, shape, "normal", wanted.bits, lambda word, i: _quantile(word, wanted))
    if _is_number(mean, 0.0) and _is_number(std, 1.0):
        return z
    return astype(mean, wanted) + astype(std, wanted) * z


def _quantile(word: Any, dtype: Any) -> Any:
    """Where the normal distribution function is the middle of a word's interval."""
    bits, signed = word.element.bits, f"i{word.element.bits}"
    is_low = word >> bits - 1 == 0
    end = (astype(astype(minimum(word, ~word), signed), dtype) + 0.5) * 2.0**-bits
    middle, towards, far = _WIDE if dtype is f64 else _NARROW
    q = 0.5 - end
    near = _quotient(middle, 0.180625 - q * q) * q
    r = sqrt(-log(end))
    tail = where(r <= 5.0, _quotient(towards, r - 1.6), _quotient(far, r - 5.0))
    z = where(q <= 0.425, near, tail)
    return where(is_low, -z, z)


def _quotient(pair: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    """One polynomial over another, by Horner's rule: products and sums, each rounded."""
    above, below = (reduce(lambda total, each: total * x + each, one) for one in pair)
    return above / below


@operation(static="dtype")
def exponential(key: Any, shape: Any = (), scale: Any = 1.0, dtype: Any = f64) -> Any:
    """Numbers of the exponential distribution, `-scale * log(1 - u)`; their mean is `scale`.

    `shape` is as of `uniform`. Raises NegativeExtentError, DTypeError for other dtypes.

    Types: `key, shape: extents, scale: float -> f64[shape]`.
    Source: `jax.random.exponential`; inversion of the distribution function.

        >>> fw.min(fw.random.exponential(fw.random.key(0), 9)) >= 0
        Array(True, dtype=bool)
    """
    wanted = float_dtype(dtype, "exponential")
    z = fractions(key, shape, "exponential", wanted, lambda u: -log1p(-u))
    return z if _is_number(scale, 1.0) else z * astype(scale, wanted)


@operation()
def permutation(key: Any, x: Any) -> Any:
    """0, 1, .. x - 1 in a random order, or the rows of an array along axis 0.

    Sorted by 64 random bits each; two of n are equal, and stay in order, with a chance of
    n*n / 2**65.

    Types: `key, x: n or t[n, ..] -> i64[n]` or `t[n, ..]`. Raises ArgumentError for what is no key.
    Source: `jax.random.permutation`.

        >>> fw.sort(fw.random.permutation(fw.random.key(0), 4))
        Array([0, 1, 2, 3], dtype=int64)
    """
    array: Any = as_tracer(x, "what permutation permutes")
    n = array.shape[0] if array.ndim else array
    at = argsort(drawn(key, n, "permutation", 64, lambda word, i: word))
    return array[at] if array.ndim else at


@operation(static="replace")
def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None) -> Any:
    """Elements of an array along axis 0, or of 0, 1, .. a - 1, drawn at random.

    `p` has a weight for each, 1 by default. Without `replace` none is drawn twice.
    Raises ShapeError where more are drawn than there are, or than have a weight above 0, or where
    numbers of weights and elements differ; ArgumentError for a weight below 0, infinite or NaN.

    Types: `key, a: t[n, ..] or n, shape: extents -> t[shape, ..]`. Source: `jax.random.choice`.

        >>> fw.random.choice(fw.random.key(0), [7], 3)
        Array([7, 7, 7], dtype=int64)
    """
    array: Any = as_tracer(a, "what choice chooses from")
    count = array.shape[0] if array.ndim else array
    extents = shape_of(shape, "choice")
    held, kind = count, "elements"
    if p is not None:
        weights: Any = astype(as_tracer(p, "the weights of choice"), f64)
        if weights.ndim != 1:
            raise ShapeError.here(
                f"choice takes a row of weights, got {describe(weights)}.",
                "Give one weight for each element.",
            )
        same(
            array.extents[0] if array.ndim else length_of(array, "a of choice"),
            weights.extents[0],
            "choice needs a weight for each element, got {0} elements and {1} weights.",
            remedy="Give p= as many weights as there are elements.",
        )
        sound, wish = (weights >= 0) & (weights < float("inf")), "Give 0 for what is never drawn."
        check(sound, "weight {0} of choice is not a finite number from 0 on.", remedy=wish)
        held, kind = weights[weights > 0].shape[0], "weights above 0"
    total: Any = scalar_i64(product(extents))
    wish, needed = "With replace=True an element is drawn more than once.", total
    if replace:
        wish, needed = "Check how many there are first.", minimum(total, 1)
    text = f"choice needs {{0}} or more {kind}, got {{1}}."
    check(held >= needed, text, needed, held, error=ShapeError, remedy=wish)
    if replace and p is None:
        at = integers(key, 0, count, shape)
    elif replace:
        sums = cumsum(weights)
        at = minimum(searchsorted(sums, uniform(key, shape) * sums[-1], "right"), count - 1)
    else:
        order = permutation(key, count) if p is None else argsort(exponential(key, count) / weights)
        at = order[:total].reshape(*[scalar_i64(e) for e in extents]) if extents else order[0]
    return array[at] if array.ndim else at


SMALL_MEAN = 10.0  # below it a count takes about as many products as it is high


def _integer_dtype(dtype: Any, who: str) -> DType:
    """A dtype of integers. Raises DTypeError for others."""
    wanted = dtype_of(dtype)
    if not wanted.is_integer:
        raise DTypeError.here(
            f"{who} gives integers, not {wanted.name}.", "Convert them: fw.astype(x, dtype)."
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
