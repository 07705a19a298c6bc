"""erf and erfc in LLVM at any width.

    f32 erf x    x + x * P(x**2) up to 0.93, then 1 - e**Q(|x|)
    f64 erf x    x + x * P(x**2) up to 0.85, then 1 - erfc |x|
    erfc x       1 - erf x up to 0.5; e**(-x**2) * P(q) / (x + c), q = (x - c) / (x + c);
                 2 - erfc |x| below 0
"""

from __future__ import annotations

from flatweave.codegen.llvm.math.exponentials import at_most, exp, exp_of_sum
from flatweave.codegen.llvm.text.values import Value

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
