"""Floats: uniform, normal, exponential; orders and samples."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ShapeError
from flatweave.frontend.arrays.sorting import argsort
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import log, log1p, minimum, sqrt
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.functions.scans import cumsum
from flatweave.frontend.standard.searching import searchsorted
from flatweave.frontend.trace.extents import length_of, product, same, scalar_i64, shape_of
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import describe
from flatweave.random.discrete import bits, integers
from flatweave.random.keys import drawn, float_dtype, fractions

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
    (
        (59.10937472, 159.29113202, 50.434271938, 3.3871327179),
        (67.18756360, 78.757757664, 17.895169469, 1.0),
    ),
    (
        (0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777),
        (0.12021132975, 0.73700164250, 1.0),
    ),
    (
        (0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150),
        (0.012258202635, 0.24197894225, 1.0),
    ),
)


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
    """One polynomial over another."""
    above, below = (_polynomial(coefficients, x) for coefficients in pair)
    return above / below


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """By Horner's rule; a product and a sum, each rounded, on every target."""
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


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
    if array.ndim:
        return array[argsort(bits(key, array.shape[0]))]
    return argsort(bits(key, array))


@operation(static="replace")
def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None) -> Any:
    """Elements of an array along axis 0, or of 0, 1, .. a - 1, drawn at random.

    `p` has a weight for each, which need not add up to 1; by default all are as likely. Without
    `replace` none is drawn twice. Raises ShapeError where more are drawn so than there are, or
    where weights and elements differ in number.

    Types: `key, a: t[n, ..] or n, shape: extents -> t[shape, ..]`. Source: `jax.random.choice`.

        >>> fw.random.choice(fw.random.key(0), [7], 3)
        Array([7, 7, 7], dtype=int64)
    """
    array: Any = as_tracer(a, "what choice chooses from")
    count = array.shape[0] if array.ndim else array
    extents = shape_of(shape, "choice")
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
    if replace:
        if p is None:
            at = integers(key, 0, count, shape)
        else:
            sums = cumsum(weights)
            found = searchsorted(sums, uniform(key, shape) * sums[-1], "right")
            at = minimum(found, count - 1)
    else:
        if p is None:
            order = permutation(key, count)
        else:
            order = argsort(exponential(key, count) / weights)
        total = scalar_i64(product(extents))
        at = order[:total].reshape(*[scalar_i64(e) for e in extents]) if extents else order[0]
    return array[at] if array.ndim else at
