"""Exponentials and error functions in LLVM at any width."""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.codegen.llvm.values import Value

# Exponentials in LLVM at any width: exp, exp2, expm1, sinh, cosh, tanh.
#
#     e**x = 2**k * e**r        k = round(x / ln 2), |r| <= ln 2 / 2, e**r by a polynomial
#
# Adding 1.5 * 2**52 (f32: 2**23) rounds to a whole number and leaves it in the low bits of the
# sum, so no conversion to an integer can overflow. Polynomials are minimax fits (Remez), at most
# 2 ulp in all. NaN passes through every comparison below.


LOG2E = 1.4426950408889634


@record(eq=True)
class Format:
    """What exponentials need to know of a float format."""

    mantissa: int
    bias: int
    magic: float  # adding it rounds to a whole number
    magic_bits: int
    ln2: tuple[float, float]
    largest: float  # half of e**x is inf from here on
    smallest: float  # e**x is 0 up to here
    vanishing: float  # e**x - 1 is -1 up to here
    saturated: float  # tanh x is 1 from here on
    exp: tuple[float, ...]  # (e**r - 1 - r) / r**2
    expm1: tuple[float, ...]  # the same, relative to e**r - 1
    exp2: tuple[float, ...]  # (2**r - 1) / r for |r| <= 1/2


_F32 = Format(
    mantissa=23,
    bias=127,
    magic=1.5 * 2.0**23,
    magic_bits=0x4B400000,
    ln2=(0.693147182464599609375, -1.904654299957768e-09),
    largest=90.0,
    smallest=-105.0,
    vanishing=-20.0,
    saturated=10.0,
    exp=(0.5, 0.166665182, 0.0416662022, 0.00836902484, 0.00139507256),
    expm1=(0.5, 0.166666672, 0.0416663513, 0.0083332723, 0.00139412121, 0.000199144924),
    exp2=(0.693147182, 0.240226507, 0.0555041097, 0.00961803645, 0.00133334298, 0.0001546735,
          1.53151977e-05),
)  # fmt: skip
_F64 = Format(
    mantissa=52,
    bias=1023,
    magic=1.5 * 2.0**52,
    magic_bits=0x4338000000000000,
    ln2=(0.6931471805599453, 2.3190468138462996e-17),
    largest=711.0,
    smallest=-746.0,
    vanishing=-40.0,
    saturated=20.0,
    exp=(
        0.5000000000000013, 0.166666666666667, 0.041666666666513225, 0.008333333333306724,
        0.001388888894765904, 0.00019841269918397626, 2.4801489215548943e-05,
        2.755721541173278e-06, 2.763155852430549e-07, 2.5118139037636217e-08,
    ),
    expm1=(
        0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321436,
        0.0013888888888866514, 0.0001984126988667371, 2.480158736121044e-05,
        2.755724360887368e-06, 2.7557242192055643e-07, 2.5109261914878464e-08,
        2.0924620806087774e-09,
    ),
    exp2=(
        0.6931471805599453, 0.24022650695910072, 0.0555041086648217, 0.009618129107628496,
        0.0013333558146389867, 0.0001540353039334053, 1.525273385682276e-05,
        1.3215486833520278e-06, 1.0178050949505679e-07, 7.054888079197047e-09,
        4.4567151604317696e-10, 2.5742044872955114e-11,
    ),
)  # fmt: skip


def format_of(x: Value) -> Format:
    """The constants of a value's dtype."""
    return _F32 if x.dtype.bits == 32 else _F64


def at_most(x: Value, high: float) -> Value:
    """The smaller of x and a number; NaN stays."""
    return (x > high).where(x.number(high), x)


def at_least(x: Value, low: float) -> Value:
    """The greater of x and a number; NaN stays."""
    return (x < low).where(x.number(low), x)


def nearest(x: Value, factor: float) -> tuple[Value, Value]:
    """round(x * factor), as a float and as an integer; small enough for `magic`."""
    f = format_of(x)
    total = x.fma(factor, f.magic)
    return total - f.magic, total.bits() - f.magic_bits


def power_of_two(k: Value) -> Value:
    """2**k for an integer k within the exponents of normal numbers."""
    f = _F32 if k.dtype.bits == 32 else _F64
    return ((k + f.bias) << f.mantissa).as_float()


def scale(x: Value, k: Value) -> Value:
    """x * 2**k for |x| near 1, rounded once, into zero, subnormals and inf."""
    scaled = x.body.module.isa.scale(x.body, x.dtype, x.width, x.text, k.text)
    if scaled is not None:
        return Value(x.body, x.dtype, x.width, scaled)
    half = k >> 1
    return x * power_of_two(half) * power_of_two(k - half)


def exp(x: Value, halvings: int = 0) -> Value:
    """e**x / 2**halvings."""
    f = format_of(x)
    x = at_least(at_most(x, f.largest), f.smallest)
    n, k = nearest(x, LOG2E)
    return scale(_exp_of_rest(_rest(x, n), f.exp) + 1.0, k - halvings if halvings else k)


def exp_of_sum(high: Value, low: Value, factor: Value, factor_low: Value) -> Value:
    """e**(high + low) * (factor + factor_low): the low parts are digits that the others lack."""
    f = format_of(high)
    x = at_least(at_most(high, f.largest), f.smallest)
    n, k = nearest(x, LOG2E)
    tail = _exp_of_rest(_rest(x, n) + low, f.exp)
    return scale(factor + tail.fma(factor, factor_low), k)


def _rest(x: Value, n: Value) -> Value:
    """x - n * ln 2."""
    high, low = format_of(x).ln2
    return n.fma(-low, n.fma(-high, x))


def _exp_of_rest(r: Value, coefficients: tuple[float, ...]) -> Value:
    """e**r - 1 for |r| <= ln 2 / 2."""
    return (r * r).fma(r.polynomial(*coefficients), r)


def exp2(x: Value) -> Value:
    """2**x."""
    f = format_of(x)
    x = at_least(at_most(x, f.largest * LOG2E), f.smallest * LOG2E)
    n, k = nearest(x, 1.0)
    r = x - n
    return scale(r.fma(r.polynomial(*f.exp2), 1.0), k)


def expm1(x: Value) -> Value:
    """e**x - 1, accurate near 0."""
    quarter, rest, near = _quarter_expm1(x)
    return near.where(rest, quarter * 4.0).copysign(x)


def _quarter_expm1(x: Value) -> tuple[Value, Value, Value]:
    """(e**x - 1) / 4; and e**x - 1 with whether |x| <= ln 2 / 2, where it keeps more digits."""
    f = format_of(x)
    limited = at_least(at_most(x, f.largest - 0.5), f.vanishing)
    n, k = nearest(limited, LOG2E)
    p = _exp_of_rest(_rest(limited, n), f.expm1)
    quarter = power_of_two(k - 2)  # 2**k may be inf where (e**x - 1) / 2 is not
    return quarter.fma(p, quarter - 0.25), p, k.eq(0)


def sinh(x: Value) -> Value:
    """(e**x - e**-x) / 2."""
    quarter, rest, near = _quarter_expm1(x.abs())
    whole = near.where(rest, quarter * 4.0)
    part = near.where(rest, quarter)
    factor = near.where(x.number(0.5), 2.0)
    return ((part + part / (whole + 1.0)) * factor).copysign(x)


def cosh(x: Value) -> Value:
    """(e**x + e**-x) / 2."""
    half = exp(x.abs(), halvings=1)
    return half + 0.25 / half


def tanh(x: Value) -> Value:
    """(e**2x - 1) / (e**2x + 1)."""
    size = at_most(x.abs(), format_of(x).saturated)
    quarter, rest, near = _quarter_expm1(size + size)
    part = near.where(rest, quarter)
    return (part / (part + near.where(x.number(2.0), 0.5))).copysign(x)


# erf and erfc in LLVM at any width.
#
# f32 erf x    x + x * P(x**2) up to 0.93, then 1 - e**Q(|x|)
# f64 erf x    x + x * P(x**2) up to 0.85, then 1 - erfc |x|
# erfc x       1 - erf x up to 0.5; e**(-x**2) * P(q) / (x + c), q = (x - c) / (x + c);
#              2 - erfc |x| below 0


# erf x / x - 1, in x**2
_NEAR_F32 = (0.12837923, -0.376126319, 0.112836875, -0.0268589426, 0.00519990828, -0.000813001883,
             8.3167688e-05)  # fmt: skip
# log(erfc x), for 0.92 <= x <= 4
_FAR_F32 = (0.000174683199, -1.12951493, -0.633346915, -0.108280078, 0.0251194164, -0.004171059,
            0.000434461748, -2.10949711e-05)  # fmt: skip
_NEAR_F64 = (
    0.1283791670955126, -0.3761263890318374, 0.11283791670954658, -0.026866170645011598,
    0.005223977623854523, -0.0008548326898888271, 0.00012055326771894152, -1.4925445968394252e-05,
    1.6457608299329698e-06, -1.6299795214088215e-07, 1.4185513453540482e-08,
    -8.826992785908684e-10,
)  # fmt: skip
# e**(x**2) * erfc x * (x + c), in q
_SCALED_F32 = (
    1.07400692, -0.88339448, 0.5902282, -0.310466528, 0.119530514, -0.0268353708, -0.00123430451,
    0.00306465663, -0.000470448926, -0.000305087655,
)  # fmt: skip
_SCALED_F64 = (
    1.095995661000491, -0.976548729080882, 0.7732087022652354, -0.5408538313132348,
    0.33085158787811486, -0.1740109372399632, 0.07638151490679138, -0.026370053339552987,
    0.006112055687261476, -0.00028095887494502836, -0.0004550529148847161, 0.0001768128816715367,
    -3.6341199308691877e-06, -1.886113468282519e-05, 4.691357350821436e-06,
    1.4247730164617893e-06, -8.405581120510033e-07, -7.630589001267092e-08,
    1.1781631595027281e-07, 1.4004937403247113e-09, -1.1560252614122266e-08,
)  # fmt: skip


def erf(x: Value) -> Value:
    """The error function."""
    size = x.abs()
    if x.dtype.bits == 32:
        far = 1.0 - exp(at_most(size, 4.0).polynomial(*_FAR_F32))
        return (size < 0.93).where(_near(x), far.copysign(x))
    far = 1.0 - _erfc_of_positive(at_most(size, 6.0))
    return (size < 0.85).where(_near(x), far.copysign(x))


def erfc(x: Value) -> Value:
    """1 - erf x, accurate for great x."""
    size = x.abs()
    value = _erfc_of_positive(at_most(size, 10.3 if x.dtype.bits == 32 else 28.0))
    return (size < 0.5).where(1.0 - _near(x), (x < 0.0).where(2.0 - value, value))


def _near(x: Value) -> Value:
    """erf near 0."""
    coefficients = _NEAR_F32 if x.dtype.bits == 32 else _NEAR_F64
    return x.fma((x * x).polynomial(*coefficients), x)


def _erfc_of_positive(x: Value) -> Value:
    """erfc from 0.4 on."""
    centre, coefficients = (3.0, _SCALED_F32) if x.dtype.bits == 32 else (4.0, _SCALED_F64)
    total = x + centre
    inverse = 1.0 / total
    # q decides several digits of the result, so what the two roundings above took is made good
    rest = (-inverse).fma(total, 1.0) - inverse * (x - (total - centre))
    better = inverse * rest
    q = better.fma(-2.0 * centre, inverse.fma(-2.0 * centre, 1.0))
    square = x * x
    lost = x.fma(-x, square)
    scaled = q.fma(q.polynomial(*coefficients[1:]), coefficients[0])
    factor = inverse * scaled
    factor_low = better.fma(scaled, inverse.fma(scaled, -factor))
    return exp_of_sum(-square, lost, factor, factor_low)
