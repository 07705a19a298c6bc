"""What an analysis says of a value is so, for random bodies on small spaces and on huge numbers."""

from itertools import product
from random import Random

import numpy as np
import pytest

from flatweave.access import NOTHING, Modified, most, replaced
from flatweave.access.analyse import Accesses, find_offset
from flatweave.base.dtypes import i64
from flatweave.passes.telescope import shortened_sum
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Var
from tests.access.bodies import (
    AXES,
    OTHER,
    OWN,
    N,
    at,
    environment,
    random_body,
    value_of,
    values_of,
)

SMALL = environment(*product(range(4), range(3), (1, 5), (-2, 9)))
HUGE = environment(
    (2**62, 3, 2**62 + 1, -(2**63)), (2**63 - 2, 2**31, 2**33, 2**63 - 1), (-(2**63), -1, 3, 5)
)
BODIES = 120


def bodies(first):
    """A share of the random bodies, each with what is known of it."""
    for seed in range(first, BODIES, 4):
        lets = random_body(Random(seed))
        yield lets, Accesses(AXES, lets)


@pytest.fixture(autouse=True)
def wrapping():
    """Integers wrap."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("first", range(4))
def test_a_sum_has_the_value_of_what_it_is_of(first):
    """Also where integers wrap; and what is said to have a value has it."""
    for lets, known in bodies(first):
        for env in (SMALL, HUGE):
            values = values_of(lets, env)
            for let in lets:
                found = known.of(let.vars[0])
                assert np.all(value_of(found, env) == values[let.vars[0]]), (lets, found)
                assert np.all(at(values, known.atom(found)) == values[let.vars[0]])


@pytest.mark.parametrize("first", range(4))
def test_a_value_depends_on_its_axes_alone(first):
    """Along other axes it stays the same, and so do its terms."""
    for lets, known in bodies(first):
        for axis in AXES:
            here = values_of(lets, SMALL)
            there = values_of(lets, {**SMALL, axis: SMALL[axis] + 1})
            for var in (let.vars[0] for let in lets):
                inside = any(axis in known.along_term(term) for term in known.of(var).terms)
                if axis not in known.along(var) or not inside:
                    assert np.all(here[var] == there[var])


@pytest.mark.parametrize("first", range(4))
def test_a_step_leads_to_the_next_value(first):
    """Along each axis; and f(i + 1) is f(i) with i + 1 for i."""
    steps = 0
    for lets, known in bodies(first):
        for axis, env in product(AXES, (SMALL, HUGE)):
            here, there = values_of(lets, env), values_of(lets, {**env, axis: env[axis] + 1})
            for var in (let.vars[0] for let in lets):
                at_next = replaced(known.of(var), {axis: Sum({axis: 1}, 1)})
                assert np.all(value_of(at_next, env) == there[var])
                step = known.step(var, axis)
                steps += step is not None and step != NOTHING
                if step is not None:
                    assert np.all(here[var] + value_of(step, env) == there[var])
    assert steps > 20


@pytest.mark.parametrize("first", range(4))
def test_a_shortened_sum_has_the_same_value(first):
    """Where terms go away, and where they are added several times."""
    shorter = 0
    for seed in range(first, 2 * BODIES, 4):
        lets = random_body(Random(seed), plain=("add", "sub"), share=1)
        known = Accesses(AXES, lets)
        made = [let for each in lets for let in shortened_sum(Builder(), known, each)]
        shorter += made != lets
        for env in (SMALL, HUGE):
            before, after = values_of(lets, env), values_of(made, env)
            assert all(np.all(before[var] == after[var]) for var in before)
    assert shorter


NEAR = {
    -2: lambda b, i, n: b.apply("maximum", b.sub(i, index(2)), index(0)),
    -1: lambda b, i, n: b.apply("minimum", b.add(NEAR[-2](b, i, n), index(1)), n),
    1: lambda b, i, n: b.sub(n, b.apply("abs", b.sub(b.sub(n, i), index(1)))),
    2: lambda b, i, n: b.apply("abs", b.add(i, index(2))),
    3: lambda b, i, n: b.apply("mod", b.add(i, index(3)), n),
    -4: lambda b, i, n: b.apply(
        "select", b.apply("lt", i, index(4)), b.sub(b.add(i, n), index(4)), b.sub(i, index(4))
    ),
}  # fmt: skip
"""Indices next to an element's own, as boundaries of stencils write them."""


@pytest.mark.parametrize("offset", NEAR)
def test_an_index_is_at_its_offset_where_no_edge_is_near(offset):
    """Of the 100th element of 1,000; along no other axis, and not at twice the index."""
    b = Builder()
    near, far = NEAR[offset](b, OWN, N), b.mul(OWN, index(2))
    known = Accesses(AXES, b.lets)

    assert find_offset(known, near, OWN) == offset
    assert values_of(b.lets, environment((100, 0, 1000, 0)))[near] == 100 + offset
    assert find_offset(known, near, OTHER) is find_offset(known, far, OWN) is None


def test_no_value_is_above_the_most_that_it_can_be():
    """Of sums of minima, maxima, quotients and remainders, where nothing wraps."""
    bounded = 0
    for seed in range(400):
        lets = random_body(Random(seed), plain=("add", "sub", "minimum", "maximum", "minimum"))
        known, values = Accesses(AXES, lets), values_of(lets, SMALL)
        for let in lets:
            bound = most(known.of(let.vars[0]))
            assert bound is None or np.all(values[let.vars[0]] <= bound), (lets, bound)
            bounded += bound is not None
    assert bounded > 100


def test_the_most_of_many_minima_is_found_at_once():
    """Each of 60 may be a variable or 3, so there are 2**60 sums."""
    names = [Sum({Var(f"x{k}", i64): 1}) for k in range(60)]
    low = [Modified("minimum", (x, Sum({}, 3)), 3) for x in names]
    near = [Modified("minimum", (x, y), 3) for x, y in zip(names, names[1:], strict=False)]

    assert most(Sum(dict.fromkeys(low, 1))) == 180
    assert most(Sum(dict.fromkeys(low, 2), 5)) == 365
    assert most(Sum(dict.fromkeys(near, 1))) is None
    assert most(Sum(dict.fromkeys(near, -1))) is None
    assert most(Sum({Modified("floordiv", (Sum(dict.fromkeys(low, 1)), Sum({}, 9)), 200): 1})) == 20
