"""What is proven of integers holds, and what programs rely on is proven."""

import itertools

import numpy as np
import pytest

from flatweave.base.dtypes import i32, i64, u8
from flatweave.scalar.function import evaluate_cast
from flatweave.scalar.ops import evaluate
from flatweave.terms.control import Apply, Cast
from flatweave.terms.inequalities import is_at_least, is_index
from flatweave.terms.syntax import Const, Var


class Facts:
    """What a builder would know of some variables."""

    def __init__(self, made=(), inside=(), lengths=(), holds=()):
        self.made, self.below = dict(made), dict(inside)
        self.lengths, self.holding = set(lengths), list(holds)

    def definition(self, atom):
        return self.made.get(atom)

    def inside(self, var):
        return self.below.get(var)

    def is_length(self, atom):
        return atom in self.lengths

    def least(self, extent):
        return 0 if extent in self.lengths else -(2**63)

    def conditions(self):
        return iter(self.holding)

    def indices(self):
        return iter(self.below)


def number(value):
    return Const(value, i64)


J, N, T, B, K, X = (Var(name, i64) for name in "jntbkx")


def test_an_index_is_below_its_extent():
    """And an index further on only if it is known to be that far from the end."""
    near = Facts({K: Apply("add", (J, number(1)))}, {J: (N, 0)}, {N})
    far = Facts({K: Apply("add", (J, number(1)))}, {J: (N, 1)}, {N})

    assert is_index(near, J, N)
    assert not is_index(near, K, N)
    assert is_index(far, K, N)


def test_positions_in_blocks_are_below_the_whole():
    """256 b + t for b below n // 256 and t below 256."""
    made = {
        K: Apply("floordiv", (N, number(256))),
        B: Apply("mul", (X, number(256))),
        J: Apply("add", (B, T)),
    }
    facts = Facts(made, {X: (K, 0), T: (number(256), 0)}, {N})

    assert is_index(facts, J, N)
    assert not is_index(Facts(made, {X: (K, 0), T: (number(257), 0)}, {N}), J, N)


def test_a_condition_that_holds_is_used():
    """Behind `if i >= d`, i - d is no less than 0."""
    made = {K: Apply("sub", (J, T))}
    inside = {J: (N, 0), T: (N, 0)}

    assert not is_at_least(Facts(made, inside, {N}), K, number(0))
    for condition in [(Apply("lt", (J, T)), False), (Apply("ge", (J, T)), True)]:
        assert is_at_least(Facts(made, inside, {N}, [condition]), K, number(0))
    for condition in [(Apply("lt", (J, T)), True), (Apply("ge", (J, T)), False)]:
        assert not is_at_least(Facts(made, inside, {N}, [condition]), K, number(0))


def test_a_minimum_is_no_more_than_its_operands():
    """And a maximum no less than each."""
    low, high = Var("l", i64), Var("h", i64)
    facts = Facts({low: Apply("minimum", (J, T)), high: Apply("maximum", (J, T))})

    assert is_at_least(facts, J, low) and is_at_least(facts, T, low)
    assert is_at_least(facts, high, J) and is_at_least(facts, high, T)
    assert not is_at_least(facts, low, J)


@pytest.mark.parametrize("fn", ["floordiv", "mod"])
def test_a_divisor_that_is_bounded_by_its_quotient(fn):
    """What is asked of the divisor leads back to the quotient: nothing follows, and it ends."""
    made = {K: Apply(fn, (X, T)), B: Apply("add", (J, K))}
    inside = {J: (N, 0), X: (N, 0)}
    facts = Facts(made, inside, {N, T}, [(Apply("ge", (T, K)), True)])

    assert not is_at_least(facts, B, N)
    assert is_at_least(facts, T, K)


def test_a_sum_that_may_wrap_says_nothing():
    """x + 1 is no more than x for the greatest x."""
    narrow, more, wide = Var("x", i32), Var("y", i32), Var("w", i64)
    facts = Facts({more: Apply("add", (narrow, Const(1, i32))), wide: Cast(i64, more)})

    assert not is_at_least(facts, more, narrow)
    assert not is_at_least(Facts({K: Apply("add", (X, number(1)))}), K, X)


def made_of(rng, first):
    """A few integers made of others, in the order in which they are made."""
    made, atoms = {}, [*first, *map(number, (0, 1, 2, 5, 64))]
    for k in range(6):
        fn = rng.choice(["add", "sub", "mul", "minimum", "maximum", "floordiv", "mod"])
        a, b = (atoms[i] for i in rng.integers(0, len(atoms), 2))
        if fn in ("floordiv", "mod"):
            b = number(int(rng.choice([1, 2, 5, 64])))
        var = Var(f"v{k}", i64)
        made[var] = Apply(str(fn), (a, b))
        atoms.append(var)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_what_is_proven_holds_for_every_value(seed):
    """Integers made at random of a byte and of an index; all pairs are compared."""
    rng = np.random.default_rng(seed)
    byte, wide = Var("u", u8), Var("w", i64)
    made = {wide: Cast(i64, byte), **made_of(rng, [wide, J])}
    facts = Facts(made, {J: (number(7), 0)})
    columns = {byte: np.repeat(np.array([0, 1, 7, 128, 255], "u1"), 7), J: np.tile(np.arange(7), 5)}

    def value(atom):
        return np.full(35, atom.value) if isinstance(atom, Const) else columns[atom]

    for var, op in made.items():
        if isinstance(op, Cast):
            columns[var] = evaluate_cast(value(op.arg), i64)
        else:
            columns[var] = evaluate(op.fn, *map(value, op.args))
    for a, b in itertools.permutations([*made, J, number(3)], 2):
        if is_at_least(facts, a, b):
            assert (value(a) >= value(b)).all(), (made, a, b)
        if is_index(facts, a, b):
            assert ((value(a) >= 0) & (value(a) < value(b))).all(), (made, a, b)
