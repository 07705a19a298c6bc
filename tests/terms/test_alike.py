"""Functions are alike that differ in names only."""

import pytest

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.array_ir.syntax import parse_program
from flatweave.terms.operators import alike
from flatweave.terms.syntax import Lambda
from flatweave.terms.traverse import lambdas_in

FOLDS = """
f(n: i64) =>
    s = fold n (k: i64 =>
        {0}) (add i64) [0]
    t = fold n (j: i64 =>
        {1}) (add i64) [0]
    in s, t
"""


def bodies(first, second):
    """The bodies of two folds that see the same parameters."""
    lets = parse_program(FOLDS.format(first, second)).fn.lets
    return [lambdas_in(let.op)[0] for let in lets]


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("u = add k 1\n in u", "w = add j 1\n in w", True),
        ("u = add k 1\n in u", "w = add j 2\n in w", False),
        ("u = add k 1\n in u", "w = sub j 1\n in w", False),
        ("u = add k n\n in u", "w = add n j\n in w", False),
        ("u = add k 1\n in u", "w = add j 1\n in j", False),
        ("u = add k 1\n in k", "in j", False),
        ("u = if true (() => k) (() => n)\n in u", "w = if true (() => j) (() => n)\n in w", True),
        ("u = if true (() => k) (() => n)\n in u", "w = if true (() => n) (() => j)\n in w", False),
    ],
)
def test_two_bodies(first, second, equal):
    """Bound variables compare by their positions, free ones by identity."""
    assert alike(*bodies(first, second)) is equal


def test_types_of_parameters_count():
    """An operator on floats is not one on integers."""
    f, g = (parse_program(f"f(a: {t}) =>\n in 1").fn for t in ("i64", "f32"))

    assert alike(f, Lambda(f.params, (), f.results)) and not alike(f, g)
