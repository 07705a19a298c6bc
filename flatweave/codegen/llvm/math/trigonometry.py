"""Trigonometry in LLVM at any width, and calls of the C library for what has no polynomial."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.records import record
from flatweave.codegen.llvm.math.exponentials import nearest
from flatweave.codegen.llvm.module import vec
from flatweave.codegen.llvm.values import Value, call_function, rarely

# Calls of the C library, one lane after the other: slow, right, and there on every host.
#
# x: <4 x float>    ==>    four extractelement, four calls of @sinf, four insertelement


def lane_by_lane(name: str, operands: Sequence[Value]) -> Value:
    """The C library's function of every lane."""
    first = operands[0]
    body, scalar, width = first.body, first.dtype.llvm, first.width
    function = f"@{name}{'f' if first.dtype.bits == 32 else ''}"
    body.declare(f"{scalar} {function}({', '.join([scalar] * len(operands))}) nounwind")
    if width == 1:
        listed = ", ".join(f"{scalar} {x.text}" for x in operands)
        return first.let(f"call {scalar} {function}({listed})")
    kind, total = vec(first.dtype, width), "poison"
    for lane in range(width):
        texts = [body.let(f"extractelement {x.type} {x.text}, i64 {lane}") for x in operands]
        listed = ", ".join(f"{scalar} {text}" for text in texts)
        result = body.let(f"call {scalar} {function}({listed})")
        total = body.let(f"insertelement {kind} {total}, {scalar} {result}, i64 {lane}")
    return Value(body, first.dtype, width, total)


# Trigonometry in LLVM at any width: sin, cos, tan, asin, acos, atan, atan2.
#
#     x = n * pi/2 + r        |r| <= pi/4, pi/2 in three parts, every step one fma
#     sin x = (r, cos r, -r, -cos r)[n mod 4] with r for sin r
#
# Beyond `reach` the reduction would lose digits: those lanes, inf and NaN among them, are left to
# the C library, in a branch that is taken only when some lane needs it.


@record(eq=True)
class Circle:
    """pi and the polynomials of a float format."""

    reach: float
    half_pi: tuple[float, float, float]  # all positive, so that -0.0 stays -0.0
    sin: tuple[float, ...]  # (sin r - r) / r**3, in r**2
    cos: tuple[float, ...]  # (cos r - 1 + r**2 / 2) / r**4, in r**2
    atan: tuple[float, ...]  # (atan t - t) / t**3, in t**2, for |t| <= tan(pi/8)
    asin: tuple[float, ...]  # (asin t - t) / t**3, in t**2, for |t| <= 1/2


_F32 = Circle(
    reach=1.0e5,
    half_pi=(1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
    sin=(-0.166666552, 0.00833216682, -0.00019515687),
    cos=(0.0416666456, -0.00138873525, 2.44366784e-05),
    atan=(-0.333333135, 0.199984357, -0.142427593, 0.105874479, -0.0606064945),
    asin=(0.166667536, 0.0749523565, 0.0454780757, 0.0241419934, 0.0422293097),
)
_F64 = Circle(
    reach=2.0**29,
    half_pi=(1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32),
    sin=(
        -0.1666666666666663, 0.00833333333332215, -0.00019841269829586668,
        2.755731361209759e-06, -2.5050745168118476e-08, 1.5896020883644486e-10,
    ),
    cos=(
        0.041666666666666595, -0.0013888888888873771, 2.4801587289250833e-05,
        -2.755731428248083e-07, 2.0875713402113776e-09, -1.1359118657274545e-11,
    ),
    atan=(
        -0.33333333333333187, 0.19999999999949727, -0.14285714279788608, 0.1111111076222756,
        -0.0909089712584419, 0.0769204863390277, -0.06662968887262034, 0.05846882401560273,
        -0.0503467072968985, 0.037944552730377196, -0.017773486992479732,
    ),
    asin=(
        0.16666666666666763, 0.07499999999970093, 0.04464285717528987, 0.030381942675124295,
        0.02237221590966364, 0.017351595442028276, 0.013981019133241922, 0.011397288850235787,
        0.010789341396337682, 0.003672119055350461, 0.021790786377871726, -0.02111689058397013,
        0.03270225532993485,
    ),
)  # fmt: skip


def _circle(x: Value) -> Circle:
    """The constants of a value's dtype."""
    return _F32 if x.dtype.bits == 32 else _F64


def _reduced(x: Value) -> tuple[Value, Value, Value]:
    """sin r, cos r, and n as an integer."""
    c = _circle(x)
    n, quadrant = nearest(x, 0.6366197723675814)
    r = x
    for part in c.half_pi:
        r = n.fma(-part, r)
    z = r * r
    sine = (r * z).fma(z.polynomial(*c.sin), r).copysign(r)  # -0.0 stays
    cosine = (z * z).fma(z.polynomial(*c.cos), z.fma(-0.5, 1.0))
    return sine, cosine, quadrant


def _within_reach(name: str, x: Value, usual: Value) -> Value:
    """The C library's value where the reduction cannot be trusted."""

    def from_library() -> Value:
        return call_function(f"{name}.far", lambda v: lane_by_lane(name, [v]), [x], "noinline")

    return rarely(~(x.abs() < _circle(x).reach), usual, from_library)


def _by_quadrant(quadrant: Value, even: Value, odd: Value) -> Value:
    """even, odd, -even, -odd."""
    chosen = (quadrant & 1).ne(0).where(odd, even)
    sign = (quadrant & 2) << (quadrant.dtype.bits - 2)
    return (chosen.bits() ^ sign).as_float()


def sin(x: Value) -> Value:
    """The sine."""
    sine, cosine, quadrant = _reduced(x)
    return _within_reach("sin", x, _by_quadrant(quadrant, sine, cosine))


def cos(x: Value) -> Value:
    """The cosine."""
    sine, cosine, quadrant = _reduced(x)
    return _within_reach("cos", x, _by_quadrant(quadrant + 1, sine, cosine))


def tan(x: Value) -> Value:
    """The tangent."""
    sine, cosine, quadrant = _reduced(x)
    odd = (quadrant & 1).ne(0)
    return _within_reach("tan", x, odd.where(-cosine, sine) / odd.where(sine, cosine))


def _arcsine(x: Value) -> tuple[Value, Value, Value]:
    """Whether |x| > 1/2, then asin of sqrt((1 - |x|) / 2), else of |x|; and |x|."""
    size = x.abs()
    far = size > 0.5
    z = far.where((1.0 - size) * 0.5, size * size)
    t = far.where(z.sqrt(), size)
    return far, (t * z).fma(z.polynomial(*_circle(x).asin), t), size


def asin(x: Value) -> Value:
    """The angle in [-pi/2, pi/2] whose sine is x."""
    high, low, _ = _circle(x).half_pi
    far, angle, _ = _arcsine(x)
    return far.where(high - (angle + angle - low), angle).copysign(x)


def acos(x: Value) -> Value:
    """The angle in [0, pi] whose cosine is x."""
    high, low, _ = _circle(x).half_pi
    far, angle, _ = _arcsine(x)
    twice = angle + angle
    beyond = (x < 0.0).where(2.0 * high - (twice - 2.0 * low), twice)
    return far.where(beyond, high - (angle.copysign(x) - low))


def _arctangent(y: Value, x: Value) -> Value:
    """The angle of (x, y) in the first quadrant, not both 0, not both inf."""
    c = _circle(x)
    high, low, _ = c.half_pi
    steep = y > x * 2.414213562373095
    middle = y > x * 0.41421356237309503
    up = steep.where(-x, middle.where(y - x, y))
    along = steep.where(y, middle.where(y + x, x))
    base = steep.where(x.number(high), middle.where(x.number(high / 2), 0.0))
    rest = steep.where(x.number(low), middle.where(x.number(low / 2), 0.0))
    t = up / along
    z = t * t
    return base + (rest + (t * z).fma(z.polynomial(*c.atan), t))


def atan(x: Value) -> Value:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
    return _arctangent(x.abs(), x.number(1.0)).copysign(x)


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y) in [-pi, pi]."""
    high, low, _ = _circle(x).half_pi
    up, along = y.abs(), x.abs()
    same_end = up.eq(along) & (up.eq(0.0) | up.eq(float("inf")))
    # At a corner the angle is 0 or pi for zeros, pi/4 or 3/4 pi for infinities.
    along = same_end.where(x.number(1.0), along)
    up = (same_end & up.ne(0.0)).where(x.number(1.0), up)
    huge = (up > 2.0**100) | (along > 2.0**100)
    tiny = (up < 2.0**-100) & (along < 2.0**-100)
    lift = 2.0**60 if x.dtype.bits == 32 else 2.0**600
    factor = huge.where(x.number(2.0**-20), tiny.where(x.number(lift), 1.0))
    angle = _arctangent(up * factor, along * factor)
    behind = 2.0 * high - (angle - 2.0 * low)
    return (x.bits() < 0).where(behind, angle).copysign(y)
