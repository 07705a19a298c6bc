"""Operators tried by the first call: those that are wrong, and those that only look so."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.operator_checks.first_calls import FirstCalls

RNG = np.random.default_rng(3)
XS = RNG.normal(size=40)
NATURAL = RNG.integers(1, 50, 40)
P = 2**31 - 1


@pytest.fixture(autouse=True)
def interpreted():
    """No machine code is needed here, and what earlier tests have tried does not count."""
    with config.scoped(target="interp", no_cache=True):
        yield


def f4(*parts):
    """Elements of f32."""
    return tuple(np.asarray(part, np.float32) for part in parts)


# -- wrong -----------------------------------------------------------------------------------------

WRONG = {
    "exponential average": (lambda y, x: 0.9 * y + 0.1 * x, 0.0, XS),
    "exponential average of what hardly changes": (
        lambda y, x: 0.9 * y + 0.1 * x, 0.0, 100 + XS / 1000,
    ),
    "subtraction in disguise": (lambda a, b: a + -b, 0.0, XS),
    "average": (lambda a, b: (a + b) / 2, 0.0, XS),
    "average of integers": (lambda a, b: (a + b) // 2, 0, NATURAL),
    "square and add": (lambda a, b: a * a + b, 0.0, XS),
    "a fold with a map inside": (lambda total, x: total + x * x, 0.0, XS),
    "a counter": (lambda n, x: n + 1, 0, NATURAL),
    "a run that ends at 0": (lambda a, b: fw.where(b == 0, 0, a + b), 0, NATURAL % 2),
    "hysteresis": (lambda a, b: fw.where(abs(a - b) > 0.5, b, a), 0.0, XS),
    "clipped sum of both signs": (lambda a, b: fw.clip(a + b, 0.0, 1.0), 0.0, XS),
    "length": (lambda a, b: fw.sqrt(a * a + b), 0.0, abs(XS)),
    "wrong pair": (
        lambda a, b: (a[0] + b[0], a[1] * b[0] + 1), (0.0, 0.0), (XS, XS),
    ),
    "affine, its parts swapped": (
        lambda f, g: (f[0] * g[0], f[1] + f[0] * g[1] * 2), (1.0, 0.0), (XS, XS),
    ),
    "f32": (lambda y, x: np.float32(0.9) * y + np.float32(0.1) * x, 0.0, f4(XS)[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_operator_that_is_not_associative_is_an_error(name):
    """In reductions, scans and segments, at once and in jit, with the values and the way out."""
    op, initial, xs = WRONG[name]
    size = len(xs[0] if isinstance(xs, tuple) else xs)
    flags = np.arange(size) % 10 == 0

    for call in (
        lambda: fw.reduce(op, initial, xs),
        lambda: fw.scan(op, initial, xs),
        lambda: fw.segmented_scan(op, initial, flags, xs),
        lambda: fw.jit(lambda v: fw.segmented_reduce(op, initial, flags, v))(xs),
    ):
        with pytest.raises(fw.OperatorError, match="(?s)not associative: with x = .* fw.fori_loop"):
            call()


# -- right -----------------------------------------------------------------------------------------


def moments(a, b):
    """Count, mean and sum of squares of two parts (Chan and others)."""
    n = a[0] + b[0]
    d = b[1] - a[1]
    share = b[0] / n
    return n, a[1] + d * share, a[2] + b[2] + d * d * a[0] * share


def argmax(a, b):
    """The larger value with its index."""
    first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    return fw.where(first, a[0], b[0]), fw.where(first, a[1], b[1])


def product(a, b):
    """Of 2x2 matrices."""
    return (
        a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
    )  # fmt: skip


def log_sum_exp(a, b):
    """Stable, in the log domain."""
    high = fw.maximum(a, b)
    return high + fw.log(fw.exp(a - high) + fw.exp(b - high))


def softmax(a, b):
    """Greatest value, and the sum of what is left, as attention combines blocks."""
    high = fw.maximum(a[0], b[0])
    return high, a[1] * fw.exp(a[0] - high) + b[1] * fw.exp(b[0] - high)


def flagged(op):
    """(value, flag) of segments."""
    return lambda a, b: (fw.where(b[1], b[0], op(a[0], b[0])), a[1] | b[1])


def quaternions(a, b):
    """Their product."""
    w, x, y, z = a
    p, q, r, s = b
    return (
        w * p - x * q - y * r - z * s, w * q + x * p + y * s - z * r,
        w * r - x * s + y * p + z * q, w * s + x * r - y * q + z * p,
    )  # fmt: skip


def top_2(a, b):
    """The two largest, the larger first."""
    high = fw.maximum(a[0], b[0])
    return high, fw.maximum(fw.minimum(a[0], b[0]), fw.where(a[0] > b[0], a[1], b[1]))


def rotations(a, b):
    """Angles, as they are on a circle."""
    return (a + b) % (2 * np.pi)


def runs(a, b):
    """Runs of equal values: first, last, how often it changes."""
    return a[0], b[1], a[2] + b[2] + (a[1] != b[0]).astype(fw.i64)


TABLE = np.array([0x2130, 0x3021, 0x1111, 0x3210, 0x0012])


def states(a, b):
    """Transitions of four states, packed: first a, then b."""
    found = a & 0
    for k in range(4):
        there = (a >> (4 * k)) & 15
        found = found | (((b >> (4 * there)) & 15) << (4 * k))
    return found


UNIT = RNG.normal(size=(4, 40))
UNIT /= np.sqrt((UNIT**2).sum(0))
RIGHT = {
    "saturating sum": (lambda a, b: fw.minimum(a + b, 100), 0, NATURAL),
    "saturating bytes": (
        lambda a, b: fw.minimum(a.astype(fw.u16) + b, 255).astype(fw.u8), 0,
        NATURAL.astype(np.uint8) * 5,
    ),
    "sum modulo p": (lambda a, b: (a + b) % 97, 0, NATURAL),
    "hash modulo p": (
        lambda a, b: (a[0] * b[0] % P, (a[1] * b[0] + b[1]) % P), (1, 0),
        (np.full(40, 31), NATURAL),
    ),
    "moments": (moments, (0.0, 0.0, 0.0), (np.ones(40), XS, 0 * XS)),
    "moments of f32": (moments, (0.0, 0.0, 0.0), f4(np.ones(40), 1000 + XS, 0 * XS)),
    "argmax": (argmax, (-np.inf, -1), (XS.round(1), np.arange(40))),
    "argmax of f32 that was computed": (
        argmax, (-np.inf, -1), (f4(XS)[0] * np.float32(0.1), np.arange(40)),
    ),
    "matrices of f32": (product, (1.0, 0.0, 0.0, 1.0), f4(XS, XS + 1, XS - 1, 0.1 * XS)),
    "matrices that cancel": (product, (1.0, 0.0, 0.0, 1.0), f4(1e4 * XS, XS, -XS, 1e-4 * XS)),
    "log of a sum": (log_sum_exp, -np.inf, XS),
    "log of a sum, f32": (log_sum_exp, -1e30, f4(100 * XS)[0]),
    "softmax": (softmax, (-np.inf, 0.0), f4(10 * XS, np.ones(40))),
    "states of a parser": (states, 0x3210, TABLE[NATURAL % 5]),
    "segments by flags": (flagged(lambda a, b: a + b), (0.0, False), (XS, XS > 1)),
    "affine": (
        lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0), f4(0.9 + 0 * XS, XS),
    ),
    "affine, integers that wrap": (
        lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1, 0),
        ((NATURAL * 2654435761).astype(np.int32), NATURAL.astype(np.int32)),
    ),
    "maximum with NaN": (
        lambda a, b: fw.where(a > b, a, b), -np.inf, np.where(NATURAL % 5 == 0, np.nan, XS),
    ),
    "quaternions": (quaternions, (1.0, 0.0, 0.0, 0.0), f4(*UNIT)),
    "union of intervals": (
        lambda a, b: (fw.minimum(a[0], b[0]), fw.maximum(a[1], b[1])), (np.inf, -np.inf),
        (XS, XS + 1),
    ),
    "two largest": (top_2, (-np.inf, -np.inf), (XS, np.full(40, -np.inf))),
    "angles": (rotations, 0.0, np.pi / 4 * (NATURAL % 8)),
    "runs of equal values": (runs, (0, 0, 0), (NATURAL // 9, NATURAL // 9, 0 * NATURAL)),
    "runs of equal floats": (runs, (0.0, 0.0, 0), (XS.round(), XS.round(), 0 * NATURAL)),
    "the last one that is not missing": (
        lambda a, b: (fw.where(b[1], b[0], a[0]), a[1] | b[1]), (0.0, False), (XS, XS > 0),
    ),
    "sum of f16": (lambda a, b: a + b + 0, 0.0, XS.astype(np.float16)),
    "large cancellation": (
        lambda a, b: a + b + 0.0, 0.0, f4(np.where(NATURAL % 2, 1e8, -1e8) + XS)[0],
    ),
    "greatest common divisor": (
        lambda a, b: fw.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0],
        0, NATURAL * 6,
    ),
    "or, and, exclusive or": (lambda a, b: a ^ b, 0, NATURAL),
    "balance of parentheses": (
        lambda a, b: (a[0] + fw.maximum(b[0] - a[1], 0), fw.maximum(a[1] - b[0], 0) + b[1]),
        (0, 0), (1 * (NATURAL % 2 == 0), 1 * (NATURAL % 2 == 1)),
    ),
    "lattice": (lambda a, b: fw.where(a == b, a, 3), 0, NATURAL * 0),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_an_operator_that_is_associative_is_none(name):
    """Whatever its elements look like."""
    op, initial, xs = RIGHT[name]

    fw.reduce(op, initial, xs)
    fw.jit(lambda v: fw.scan(op, initial, v))(xs)


# -- writes ----------------------------------------------------------------------------------------

AT = np.array([0, 1, 0, 2, 1, 0, -1, 5])


def test_what_meets_at_an_index_must_commute():
    """The order in which it meets is open; what is at different indices never meets."""
    zeros, values = np.zeros(3), np.arange(1.0, 9)

    with pytest.raises(fw.OperatorError, match="not commutative: with x = 0.0 and y = 1.0"):
        fw.permute(lambda a, b: b + 0 * a, zeros, AT, values)
    with pytest.raises(fw.OperatorError, match="not commutative"):
        fw.reduce_by_index(zeros, lambda a, b: a + b + a * a * b, 0.0, AT, values)
    with pytest.raises(fw.OperatorError, match="not associative"):
        fw.permute(lambda a, b: (a + b) / 2, zeros, AT, values)
    keyed = fw.permute(
        lambda a, b: (fw.maximum(a[0], b[0]), a[1] + b[1] + 0),
        (np.zeros(3, int), zeros), AT, (AT, values),
    )  # fmt: skip
    assert keyed[1].tolist() == [10.0, 7.0, 4.0]


def test_the_nearest_may_be_any_of_those_that_tie():
    """An operator that gives one of its operands; not one that always gives the last."""
    far = np.full(3, 9), np.full(3, -1)
    elements = np.array([5, 4, 5, 3, 4, 7, 1, 1]), np.arange(8)

    def nearer(a, b):
        return tuple(fw.where(a[0] <= b[0], x, y) for x, y in zip(a, b, strict=True))

    assert fw.permute(nearer, far, AT, elements)[0].tolist() == [5, 4, 3]
    with pytest.raises(fw.OperatorError, match="not commutative"):
        fw.permute(lambda a, b: b, far, AT, elements)


def test_an_identity_must_be_neutral():
    """Wherever it may be applied any number of times."""
    zeros, values = np.zeros(3, np.int64), np.arange(-3, 5)
    for call in (
        lambda: fw.histogram(3, AT, values, fw.maximum, 0),
        lambda: fw.histogram(3, AT, values, fw.add, 10),
        lambda: fw.reduce_by_index(zeros, fw.minimum, 0, AT, values),
        lambda: fw.jit(lambda e: fw.reduce_by_index(zeros, fw.add, e, AT, values))(3),
    ):
        with pytest.raises(fw.OperatorError, match="is not neutral"):
            call()
    assert fw.histogram(3, AT, abs(values), fw.maximum, 0).tolist() == [3, 2, 0]
    assert fw.reduce(fw.maximum, 7, values) == 7


# -- when ------------------------------------------------------------------------------------------


def test_a_check_counts_only_where_elements_say_something():
    """Three that differ and act on one another, not all fixed points; else the next call checks."""
    f = fw.jit(lambda v: fw.reduce(lambda a, b: a * a + b, 0.0, v))

    for silent in (np.zeros(9), np.ones(2), np.empty(0), np.full(5, np.nan), np.array([0.0, 1.0])):
        f(silent)
    f(np.arange(3.0))  # 0 acts on nothing
    with pytest.raises(fw.OperatorError):
        f(XS)


def test_all_of_a_few_elements_are_tried():
    """The first three of these five keep the law."""
    with pytest.raises(fw.OperatorError, match="with x = 1.0, y = 2.0 and z = 3.0"):
        fw.reduce(lambda a, b: a / 2 + b, 0.0, np.arange(5.0))


def test_later_calls_try_nothing():
    """Once its operator has been tried, a program runs and nothing else."""
    f = fw.jit(lambda v: fw.reduce(lambda a, b: fw.minimum(a + b, 100), 0, v))

    assert f(NATURAL) == 100
    assert f(-NATURAL) <= 0  # where it is not associative
    assert f.taken(NATURAL)[0].checks.is_done


def test_it_can_be_left_out():
    """For one call, or for a program."""
    op = WRONG["square and add"][0]

    fw.reduce(op, 0.0, XS, check=False)
    fw.jit(lambda v: fw.scan(op, 0.0, v), checks=False)(XS)
    fw.jit(lambda v: fw.histogram(3, AT, v, fw.add, 10, check=False))(np.arange(8))
    with pytest.raises(fw.OperatorError):
        fw.reduce(op, 0.0, XS)
    with pytest.raises(fw.ArgumentError, match="check must be True or False"):
        fw.reduce(op, 0.0, XS, check="no")
    with pytest.raises(fw.OperatorError, match="a - b, which is not associative"):
        fw.reduce(lambda a, b: a - b, 0.0, XS, check=False)


def test_threads_may_make_the_first_call_together():
    """Each of them sees the error."""
    f = fw.jit(lambda v: fw.reduce(WRONG["average"][0], 0.0, v))

    def one(_):
        with fw.target("interp"), pytest.raises(fw.OperatorError):
            f(XS)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(8)))


def test_another_call_may_finish_the_tries(monkeypatch):
    """While one tries, as on another thread."""
    f = fw.jit(lambda v: fw.reduce(lambda a, b: fw.minimum(a + b, 99), 0, v))
    tried = FirstCalls.__call__

    def meanwhile(checks, args):
        monkeypatch.setattr(FirstCalls, "__call__", tried)
        assert f(NATURAL) == 99
        tried(checks, args)

    monkeypatch.setattr(FirstCalls, "__call__", meanwhile)
    assert f(NATURAL) == 99
