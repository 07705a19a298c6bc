"""The table of derivatives of scalar functions: complete, and right over each domain."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.scope import current
from flatweave.gradients.scalars import NONE, RULES
from flatweave.scalar.ops import TABLE, evaluate

ANYWHERE = np.array([-3.1, -1.2, -0.4, 0.3, 0.8, 1.7, 2.9])
POSITIVE = np.array([0.05, 0.3, 0.9, 1.0, 1.8, 7.5])
INSIDE = np.array([-0.95, -0.4, 0.1, 0.6, 0.9])
ABOVE = np.array([1.1, 1.8, 4.5])
DOMAINS = {
    "sqrt": POSITIVE, "rsqrt": POSITIVE, "log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE,
    "log1p": POSITIVE, "asin": INSIDE, "acos": INSIDE, "atanh": INSIDE, "acosh": ABOVE,
    "cbrt": np.concatenate([POSITIVE, -POSITIVE]),
}  # fmt: skip
PAIRS = {"pow": (POSITIVE, ANYWHERE), "mod": (ANYWHERE, np.array([1.3, -0.7, 2.2]))}
SHORT = {"of_f16", "of_bf16", "to_f16", "to_bf16"}
UNARY = [name for name in RULES if TABLE[name].arity == 1 and name not in SHORT]
BINARY = [name for name in RULES if TABLE[name].arity == 2]


def test_every_function_has_a_derivative_or_a_reason():
    """A function that is added to the table needs a rule, or a sentence."""
    assert set(RULES) | set(NONE) == set(TABLE)
    assert not set(RULES) & set(NONE)
    assert all(reason.endswith(".") for reason in NONE.values())


def apply(name, *xs):
    """A function of the table, on the elements of arrays."""
    def one(*values):
        atoms = [as_tracer(value).atom for value in values]
        return tracer_of(current().apply(name, *atoms))

    return fw.map(one, *xs)


def partial(name, operand, *xs):
    """The derivative by one operand, forward."""
    tangents = tuple(np.full(x.shape, float(k == operand)) for k, x in enumerate(xs))
    with fw.target("interp"):
        return np.asarray(fw.jvp(lambda *args: apply(name, *args), xs, tangents)[1])


def difference(name, operand, *xs):
    """The same by central differences."""
    step = 1e-6
    ahead, behind = (
        [x + sign * step * (k == operand) for k, x in enumerate(xs)] for sign in (1, -1)
    )
    return (evaluate(name, *ahead) - evaluate(name, *behind)) / (2 * step)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name):
    """Over the domain."""
    xs = DOMAINS.get(name, ANYWHERE)

    np.testing.assert_allclose(partial(name, 0, xs), difference(name, 0, xs), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name):
    """By each of them, over pairs."""
    first, second = PAIRS.get(name, (ANYWHERE, ANYWHERE[::-1] + 0.05))
    a, b = (grid.reshape(-1) for grid in np.meshgrid(first, second))

    for operand in (0, 1):
        found, expected = partial(name, operand, a, b), difference(name, operand, a, b)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_fma_and_select():
    """Functions of three operands."""
    a, b, c = ANYWHERE, ANYWHERE + 1, ANYWHERE - 1

    np.testing.assert_array_equal(partial("fma", 0, a, b, c), b)
    np.testing.assert_array_equal(partial("fma", 1, a, b, c), a)
    np.testing.assert_array_equal(partial("fma", 2, a, b, c), 1)
    with fw.target("interp"):
        chosen = fw.grad(lambda x: fw.sum(fw.where(x > 0, x * 2, x * 3)))(a)
    np.testing.assert_array_equal(chosen, np.where(a > 0, 2, 3))


ENDS = {
    ("sqrt", 0.0): np.inf, ("sqrt", np.inf): 0.0, ("cbrt", 0.0): np.inf, ("cbrt", np.inf): 0.0,
    ("rsqrt", np.inf): 0.0, ("rsqrt", 0.0): -np.inf, ("log", 0.0): np.inf, ("log", np.inf): 0.0,
    ("log1p", -1.0): np.inf, ("log1p", np.inf): 0.0, ("exp", -np.inf): 0.0, ("exp", np.inf): np.inf,
    ("expm1", -np.inf): 0.0, ("exp2", -np.inf): 0.0, ("tanh", np.inf): 0.0, ("tanh", -np.inf): 0.0,
    ("atan", np.inf): 0.0, ("asinh", np.inf): 0.0, ("asinh", 1e300): 1e-300, ("asin", 1.0): np.inf,
    ("acos", -1.0): -np.inf, ("acosh", 1.0): np.inf, ("acosh", np.inf): 0.0,
    ("acosh", 1e300): 1e-300, ("atanh", 1.0): np.inf, ("erf", np.inf): 0.0, ("erf", 50.0): 0.0,
    ("erfc", -np.inf): 0.0, ("abs", 0.0): 0.0, ("abs", -np.inf): -1.0, ("abs", np.inf): 1.0,
}  # fmt: skip


@pytest.mark.parametrize("name, x", ENDS)
def test_ends_and_infinities(name, x):
    """The limit where there is one; abs'(0) = 0."""
    assert partial(name, 0, np.array([x])) == pytest.approx(ENDS[name, x], rel=1e-12)


def test_two_operands_at_their_ends():
    """Powers of 0, and lengths and angles at the origin and at infinity."""
    zero, two, infinite = np.array([0.0]), np.array([2.0]), np.array([np.inf])

    assert partial("pow", 0, zero, two) == 0
    assert partial("pow", 1, zero, two) == 0
    assert partial("pow", 0, zero, zero) == 0
    assert partial("hypot", 0, zero, zero) == 0
    assert partial("hypot", 0, infinite, two) == 1
    assert partial("hypot", 1, infinite, two) == 0
    assert partial("atan2", 0, zero, zero) == 0
    assert partial("atan2", 1, two, infinite) == 0
    assert partial("copysign", 0, -two, -two) == 1


def test_the_first_of_equals_is_chosen():
    """Of two equal operands the first one has the derivative, of NaN that one."""
    a, b = np.array([1.0, 1.0, np.nan, 1.0]), np.array([1.0, 2.0, 1.0, np.nan])

    np.testing.assert_array_equal(partial("maximum", 0, a, b), [1, 0, 1, 0])
    np.testing.assert_array_equal(partial("maximum", 1, a, b), [0, 1, 0, 1])
    np.testing.assert_array_equal(partial("minimum", 0, a, b), [1, 1, 1, 0])


FUNCTIONS = {  # of complex numbers, ours and NumPy's
    **{name: (getattr(fw, name), getattr(np, name)) for name in [
        "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
        "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sinc", "square",
    ]},
    "power": (lambda z: fw.power(z, 2.5), lambda z: z**2.5),
    "exponent": (lambda z: fw.power(2.0, z), lambda z: 2.0**z),
    "quotient": (lambda z: (z - 3) / (z + 3), lambda z: (z - 3) / (z + 3)),
}  # fmt: skip
ON_AXES = [0j, 0.4 + 0j, -0.4 + 0j, 0.4j, -0.4j, 1.1 + 0j, 1.1j, 1.1 + 1.1j, 0.3 - 0.3j]
CUT = {"log", "log2", "sqrt", "arccosh", "power"}  # to the left of 0


def around(f, z, order):
    """A derivative by Cauchy's integral over a small circle."""
    turns = np.exp(2j * np.pi * np.arange(64) / 64)
    return order * np.mean(f(z + 0.1 * turns) * turns**-order) / 0.1**order


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_functions_on_the_axes(name):
    """Where a part is 0, or both are equal, the formula is differentiated, not a choice for it."""
    ours, numpys = FUNCTIONS[name]
    left = name in CUT
    points = [z for z in ON_AXES if not (left and z.real <= 0 and z.imag == 0)]
    if name.startswith("arc"):  # cut along one of the axes beyond 1
        points = [z for z in points if abs(z) < 1 or (z.real and z.imag)]
    if name == "arccosh":
        points = [z for z in points if z.imag]

    def part(v):
        return fw.real(ours(v[0] + 1j * v[1]))

    at = np.array([[z.real, z.imag] for z in points])
    with fw.target("interp"):
        slopes, hessians = fw.map(fw.grad(part), at), fw.map(fw.hessian(part), at)

    first, second = (np.array([around(numpys, z, n) for z in points]) for n in (1, 2))
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(slopes, np.stack([first.real, -first.imag], 1), **near)
    wanted = np.stack([second.real, -second.imag, -second.imag, -second.real], 1)
    np.testing.assert_allclose(np.reshape(hessians, (-1, 4)), wanted, **near)
