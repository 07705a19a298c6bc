"""Derivatives that users give: custom_vjp, custom_jvp; and checkpoint."""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk

X = np.array([1.2, 2.1, 3.3, -1.5, 0.7])
ROWS = fw.ragged([[1.0, 2.0], [], [3.0, 4.5, -1.0]])


@pytest.fixture(autouse=True)
def interpreted():
    """All of it is one program to another."""
    with fw.target("interp"):
        yield


def equal(found, expected):
    """Two values, up to rounding."""
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12)


@fw.custom_vjp
def tenfold(x):
    """A sine whose derivative is ten times too great, so that tests see the rule."""
    return fw.sin(x)


tenfold.defvjp(lambda x: (fw.sin(x), fw.cos(x)), lambda cos, c: (10 * c * cos,))


@fw.custom_jvp
def cube(x):
    """A cube whose first derivative is ten times too great."""
    return x * x * x


@cube.defjvp
def cube_rule(primals, tangents):
    """Calls its own function, as rules do."""
    (x,), (v,) = primals, tangents
    return cube(x), 30 * x * x * v


class Pair(NamedTuple):
    """Two arrays."""

    a: np.ndarray
    b: np.ndarray


@dataclass
class Model:
    """Parameters, of which one is no float."""

    w: np.ndarray
    n: int


SINES, CUBES = 10 * np.cos(X), 30 * X * X
PLACES = {
    "outside": lambda f: lambda x: fw.sum(f(x)),
    "in jit": lambda f: fw.jit(lambda x: fw.sum(f(x))),
    "of jit": lambda f: lambda x: fw.sum(fw.jit(f)(x)),
    "in map": lambda f: lambda x: fw.sum(fw.map(f, x)),
    "in vmap": lambda f: lambda x: fw.sum(fw.vmap(f)(x)),
    "in a loop": lambda f: lambda x: fw.fori_loop(
        0, 1, lambda i, s: (f(s[0]), s[1] + fw.sum(f(s[0]))), (x, 0.0))[1],
    "in an element's loop": lambda f: lambda x: fw.sum(
        fw.map(lambda a: fw.fori_loop(0, 3, lambda i, s: s + f(a), 0.0) / 3, x)),
    "in a branch": lambda f: lambda x: fw.cond(x[0] > 0, lambda: fw.sum(f(x)), lambda: 0.0),
    "in an element's branch": lambda f: lambda x: fw.sum(
        fw.map(lambda a: fw.cond(a > 9, lambda: a, lambda: f(a)), x)),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_places(place):
    """Rules hold wherever their functions are called."""
    equal(fw.grad(PLACES[place](tenfold))(X), SINES)
    equal(fw.grad(PLACES[place](cube))(X), CUBES)
    along = fw.jvp(PLACES[place](cube), (X,), (np.ones(5),))[1]
    equal(along, CUBES.sum())


def test_inside_of_operators():
    """An operator of a scan may have rules."""
    plus = fw.custom_jvp(lambda a, b: a + b)
    plus.defjvps(lambda v, out, a, b: v, lambda v, out, a, b: v)

    equal(fw.grad(lambda x: fw.sum(fw.scan(plus, 0.0, x, check=False)))(X), [5, 4, 3, 2, 1])
    equal(fw.grad(lambda x: fw.reduce(plus, 0.0, x, check=False))(X), np.ones(5))

    def compose(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    given = fw.custom_jvp(compose)
    given.defjvp(lambda ps, vs: fw.jvp(compose, ps, vs))
    last = lambda op: lambda x: fw.scan(op, (1.0, 0.0), (x, x), check=False)[1][-1]
    equal(fw.grad(last(given))(X), fw.grad(last(compose))(X))


def test_without_derivatives_the_function_is_called_as_it_is():
    """Outside of traces and in programs."""
    equal(tenfold(X), np.sin(X))
    equal(fw.jit(tenfold)(X), np.sin(X))
    equal(fw.map(cube, X), X**3)
    stages = fw.jit(fw.grad(lambda x: fw.sum(tenfold(x) * cube(X)))).stages(X)
    assert "= custom" not in stages.text["array"]


def test_higher_derivatives():
    """Each uses the rule once more, or goes through what the rule does."""
    equal(fw.grad(fw.grad(cube))(2.0), 60 * 2)
    equal(fw.grad(fw.grad(fw.grad(cube)))(2.0), 60)
    equal(fw.grad(fw.grad(tenfold))(0.3), -10 * np.sin(0.3))
    equal(fw.jvp(fw.grad(tenfold), (0.3,), (1.0,))[1], -10 * np.sin(0.3))
    equal(fw.grad(lambda x: fw.jvp(cube, (x,), (1.0,))[1])(2.0), 120)
    equal(fw.hessian(lambda x: fw.sum(cube(x)))(X), np.diag(60 * X))
    equal(fw.jacrev(tenfold)(X), np.diag(SINES))
    equal(fw.jacfwd(cube)(X), np.diag(CUBES))
    equal(fw.jacrev(cube)(X), np.diag(CUBES))


def test_an_inner_derivative_leaves_the_outer_ones_rule():
    """A function of what only the outer derivative is taken by."""
    f = lambda y: fw.grad(lambda x: x * tenfold(y) * cube(y))(1.0)

    slope = 10 * np.cos(0.4) * 0.4**3 + np.sin(0.4) * 30 * 0.4**2
    equal(fw.grad(f)(0.4), slope)


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_structures(mode):
    """Arguments and results are trees; what is no float has None."""
    def f(d, k):
        return {"s": d["m"].w * k, "k": k, "p": Pair(d["z"] * 2, d["m"].n)}

    if mode == "vjp":
        f = fw.custom_vjp(f)

        def fwd(d, k):
            return f(d, k), (k, d)

        def bwd(saved, c):
            k, d = saved
            assert c["k"] is None and c["p"].b is None
            return {"m": Model(100 * c["s"] * k, None), "z": 7 * c["p"].a}, None

        f.defvjp(fwd, bwd)
    else:
        f = fw.custom_jvp(f)

        @f.defjvp
        def rule(primals, tangents):
            (d, k), (v, none) = primals, tangents
            assert none is None and v["m"].n is None
            out = {"s": 100 * v["m"].w * k, "k": None, "p": Pair(7 * v["z"], None)}
            return f(d, k), out

    given = {"m": Model(X, 2), "z": 1.5}
    out, back = fw.vjp(f, given, 3)
    equal(out["s"], 3 * X)
    assert out["k"] == 3 and out["p"].b == 2
    found = back({"s": X, "k": None, "p": Pair(2.0, None)})
    equal(found[0]["m"].w, 300 * X)
    equal(found[0]["z"], 14)
    assert found[0]["m"].n is None and found[1] is None


def test_rows():
    """A Ragged among arguments and results; a cotangent shares the offsets."""
    f = fw.custom_vjp(lambda rows: (fw.sum(rows, axis=1), rows * 2.0))
    f.defvjp(
        lambda rows: (f(rows), rows),
        lambda rows, c: (fw.map(lambda row, a, b: row * 0 + 5 * a + b, rows, c[0], c[1]),),
    )

    g = lambda rows: fw.sum(f(rows)[0] * np.array([1.0, 2.0, 3.0])) + fw.sum(f(rows)[1].values)
    found = fw.grad(g)(ROWS)

    assert np.asarray(found.offsets).tolist() == [0, 2, 2, 5]
    equal(found.values, [6, 6, 16, 16, 16])
    mapped = fw.grad(lambda rows: fw.sum(fw.map(lambda row: fw.sum(tenfold(row)), rows)))(ROWS)
    equal(mapped.values, 10 * np.cos(np.asarray(ROWS.values)))


def test_tangents_of_rows():
    """They share the offsets, as arguments and as results of a rule."""
    f = fw.custom_jvp(lambda rows: (rows * rows, fw.sum(rows, axis=1)))

    @f.defjvp
    def rule(primals, tangents):
        (rows,), (v,) = primals, tangents
        return f(rows), (10 * rows * v, fw.sum(v, axis=1))

    squares, sums = fw.jvp(f, (ROWS,), (ROWS,))[1]
    equal(squares.values, 10 * np.asarray(ROWS.values) ** 2)
    equal(sums, [3, 0, 6.5])
    found = fw.grad(lambda rows: fw.sum(f(rows)[0].values) + 2 * fw.sum(f(rows)[1]))(ROWS)
    equal(found.values, 10 * np.asarray(ROWS.values) + 2)


def test_few_elements_and_nan():
    """No element, one, and one that does not contribute."""
    for n in (0, 1):
        equal(fw.grad(lambda x: fw.sum(tenfold(x)))(np.zeros(n)), np.full(n, 10.0))
        equal(fw.grad(lambda x: fw.sum(fw.checkpoint(fw.cumsum)(x)))(np.zeros(n)), np.ones(n))
    masked = fw.grad(lambda x: fw.sum(fw.where(x > 0, cube(x), 0)))
    equal(masked(np.array([np.nan, 1.0])), [0, 30])


def test_loops_of_unknown_length():
    """In a while loop on the host, and in one of an element."""
    power = fw.custom_vjp(lambda n, x: x**n, nondiff_argnums=(0,))
    power.defvjp(lambda n, x: (x**n, x), lambda n, x, c: (10 * c * n * x ** (n - 1),))
    slope = fw.grad(lambda x: fw.while_loop(lambda s: s < 100.0, lambda s: power(2, s), x))

    equal(slope(2.0), 40 * 80 * 320)
    equal(fw.map(slope, [2.0, 3.0]), [40 * 80 * 320, 60 * 180 * 1620])


def test_results_whose_length_the_function_finds_out():
    """Extents are results, of the rule's, too."""
    positive = fw.custom_jvp(lambda x: fw.filter(lambda a: a > 1, x))

    @positive.defjvp
    def rule(primals, tangents):
        kept = fw.nonzero(primals[0] > 1)[0]
        return positive(*primals), 10 * fw.gather(tangents[0], kept)

    squares = lambda x: fw.sum(positive(x) ** 2)
    equal(fw.grad(squares)(X), np.where(X > 1, 20 * X, 0))
    equal(fw.jvp(squares, (X,), (np.ones(5),))[1], np.where(X > 1, 20 * X, 0).sum())

    first = fw.custom_vjp(lambda x, k: x[:k])
    first.defvjp(
        lambda x, k: (first(x, k), (x, k)),
        lambda saved, c: (fw.concat([3 * c, fw.zeros_like(saved[0][saved[1]:])]), None),
    )
    equal(fw.grad(lambda x: fw.sum(first(x, 2)))(X), [3, 3, 0, 0, 0])


def test_arguments_that_are_not_differentiated():
    """They may be anything, and come first to bwd and to the rule of a custom_jvp."""
    @functools.partial(fw.custom_vjp, nondiff_argnums=(0, 2))
    def apply(g, x, name="sin"):
        return g(x)

    def fwd(g, x, name):
        return apply(g, x, name), x

    def bwd(g, name, x, c):
        assert name == "sin" and g is fw.sin
        return (c * 10 * fw.cos(x),)

    apply.defvjp(fwd, bwd)
    equal(fw.grad(lambda x: fw.sum(apply(fw.sin, x)))(X), SINES)
    equal(fw.grad(lambda x: fw.sum(apply(fw.sin, name="sin", x=x)))(X), SINES)

    power = fw.custom_jvp(lambda x, n: x**n, nondiff_argnums=(1,))
    power.defjvp(lambda n, xs, vs: (xs[0] ** n, 10 * n * xs[0] ** (n - 1) * vs[0]))
    equal(fw.grad(lambda x: power(x, 3))(2.0), 120)


def test_defjvps():
    """A rule for each argument; None where there is nothing to add."""
    f = fw.custom_jvp(lambda x, y, k: x * y * k)
    f.defjvps(lambda v, out, x, y, k: v * y * k, lambda v, out, x, y, k: 10 * v * x * k, None)

    equal(fw.grad(f, argnums=(0, 1))(2.0, 3.0, 5), (15, 100))
    equal(fw.jvp(f, (2.0, 3.0, 5), (1.0, 1.0, None))[1], 115)


def test_none_is_zero():
    """For an argument, for a leaf of one, and for a tangent."""
    f = fw.custom_vjp(lambda x, y: (x + y, y))
    f.defvjp(lambda x, y: ((x + y, y), None), lambda saved, c: (c[0], None))
    equal(fw.grad(lambda x, y: fw.sum(f(x, y)[0]), argnums=(0, 1))(X, X), [np.ones(5), np.zeros(5)])

    g = fw.custom_jvp(lambda x: (x, x))
    g.defjvp(lambda xs, vs: ((xs[0], xs[0]), (vs[0], None)))
    equal(fw.grad(lambda x: fw.sum(g(x)[0] + g(x)[1]))(X), np.ones(5))


def test_complex_numbers_and_floats_of_16_bits():
    """Cotangents come and go as users see them, in JAX's convention."""
    z = np.array([1 + 2j, 3 - 1j])
    square = fw.custom_vjp(lambda z: z * z)
    square.defvjp(lambda z: (z * z, z), lambda z, c: (2 * z * c,))
    loss = lambda f: lambda z: fw.sum(fw.real(f(z)) * 2 + fw.imag(f(z)))
    equal(fw.grad(loss(square))(z), fw.grad(loss(lambda z: z * z))(z))
    twice = fw.custom_jvp(lambda z: z * z)
    twice.defjvp(lambda zs, vs: (twice(zs[0]), 2 * zs[0] * vs[0]))
    equal(fw.grad(loss(twice))(z), fw.grad(loss(lambda z: z * z))(z))
    equal(fw.jvp(twice, (z,), (z,))[1], 2 * z * z)

    halves = np.array([1.0, 2.0], np.float16)
    f = fw.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda saved, c: (c * 3,))
    found = fw.grad(lambda x: fw.sum(f(x)))(halves)
    assert found.dtype == np.float16 and found.tolist() == [3, 3]


def test_callbacks():
    """What is in the function needs no derivatives."""
    describe = fw.ShapeDtypeStruct
    call = lambda f, x: fw.pure_callback(f, describe(x.shape, fw.f64), x, vmap_method="sequential")
    sine = fw.custom_jvp(lambda x: call(np.sin, x))
    sine.defjvp(lambda xs, vs: (sine(*xs), call(np.cos, xs[0]) * vs[0]))
    other = fw.custom_vjp(lambda x: call(np.sin, x))
    other.defvjp(lambda x: (other(x), x), lambda x, c: (call(np.cos, x) * c,))

    for f in (sine, other):
        equal(fw.grad(lambda x, f=f: fw.sum(f(x) ** 2))(X), 2 * np.sin(X) * np.cos(X))
    rows = fw.grad(lambda r: fw.sum(fw.map(lambda row: fw.sum(sine(row)), r)))(ROWS)
    equal(rows.values, np.cos(np.asarray(ROWS.values)))
    equal(fw.jvp(sine, (X,), (X,))[1], np.cos(X) * X)


def test_rules_that_use_derivatives():
    """A rule may take derivatives itself, of values and tangents together."""
    f = fw.custom_jvp(lambda x: fw.sin(x))
    f.defjvp(lambda xs, vs: fw.jvp(lambda x: fw.sin(x), xs, vs))
    equal(fw.grad(lambda x: fw.sum(f(x)))(X), np.cos(X))
    g = fw.custom_vjp(lambda x: fw.cumsum(x * x))
    g.defvjp(lambda x: fw.vjp(lambda x: fw.cumsum(x * x), x), lambda back, c: back(c))
    equal(fw.grad(lambda x: fw.sum(g(x)))(X), 2 * X * np.arange(5, 0, -1))


def test_what_it_reads_from_around():
    """Arrays that are not differentiated may be read from around; also an outer derivative's."""
    def loss(x, y):
        f = fw.custom_vjp(lambda x: x * y)
        f.defvjp(lambda x: (x * y, None), lambda saved, c: (10 * c * y,))
        return fw.sum(f(x))

    equal(fw.grad(loss)(X, X), 10 * X)


def test_checkpoint():
    """The same derivatives, of every order; also of what is read from around."""
    plain = lambda x: fw.cumsum(fw.sin(x) * x)
    f = fw.checkpoint(plain)

    for of in (lambda g: lambda x: fw.sum(g(x) ** 2), lambda g: lambda x: fw.sum(g(g(x) * 0.1))):
        equal(fw.grad(of(f))(X), fw.grad(of(plain))(X))
        equal(fw.hessian(of(f))(X), fw.hessian(of(plain))(X))
    equal(fw.jvp(f, (X,), (X,))[1], fw.jvp(plain, (X,), (X,))[1])
    found = fw.grad(lambda y: fw.sum(fw.checkpoint(lambda x, k: x * y * k)(X, 2) * y))(X)
    equal(found, 4 * X * X)
    step = lambda g: lambda x: fw.sum(fw.fori_loop(0, 4, lambda i, s: g(s) * 0.3, x))
    equal(fw.grad(step(f))(X), fw.grad(step(plain))(X))
    nested = lambda g: lambda r: fw.sum(fw.map(lambda row: fw.sum(g(row) ** 2), r))
    equal(fw.grad(nested(f))(ROWS).values, fw.grad(nested(plain))(ROWS).values)
    pair = fw.checkpoint(lambda d: {"a": fw.filter(lambda v: v > 0, d["x"]), "b": d["k"] + 1})
    found = fw.grad(lambda d: fw.sum(pair(d)["a"] ** 2))({"x": X, "k": 1})
    equal(found["x"], np.where(X > 0, 2 * X, 0))


def test_checkpoint_of_some_arguments():
    """The others may be anything; keywords, too."""
    def f(x, g, scale=1.0):
        return g(x) * scale

    again = functools.partial(fw.checkpoint, static_argnums=(1,))(f)
    equal(fw.grad(lambda x: fw.sum(again(x, fw.sin, scale=3.0)))(X), 3 * np.cos(X))


def test_check_grads_of_reverse_mode_alone():
    """It compares with differences, so a custom_vjp can be checked."""
    f = fw.custom_vjp(lambda x: fw.sin(x))
    f.defvjp(lambda x: (fw.sin(x), x), lambda x, c: (c * fw.cos(x),))

    fw.check_grads(lambda x: fw.sum(f(x) ** 2), (X,), order=2, modes=("rev",))
    with pytest.raises(AssertionError):
        fw.check_grads(tenfold, (X,), order=1, modes=("rev",))


def test_checkpoint_is_a_loop_of_its_own():
    """So no pass shares what is computed again with what was computed before."""
    def loss(f):
        return lambda x: fw.sum(f(f(x)))

    def f(x):
        return fw.cumsum(fw.cos(fw.cumsum(fw.sin(x)))) * 0.1

    def scans_before_the_first_loop(g):
        text = fw.jit(fw.grad(loss(g))).stages(X).text["flat"]
        return text.partition(" = for ")[0].count("store")

    with fw.target("cpu"):
        kept, again = scans_before_the_first_loop(f), scans_before_the_first_loop(fw.checkpoint(f))
        assert again < kept
        equal(fw.grad(loss(fw.checkpoint(f)))(X), fw.grad(loss(f))(X))


def test_kernels():
    """A kernel has the derivative of the function around it; one of elements alone needs none."""
    turned = fk.kernel(
        lambda xs: fk.pconcat_map(lambda part: fk.reverse(fk.force(part)), fk.split_up(5, xs))
    )
    f = fw.custom_jvp(lambda x: turned(x))
    f.defjvp(lambda xs, vs: (f(xs[0]), fw.reverse(vs[0])))
    g = fw.custom_vjp(lambda x: turned(x))
    g.defvjp(lambda x: (g(x), None), lambda saved, c: (turned(c),))

    for of in (f, g):
        equal(fw.grad(lambda x, of=of: fw.sum(of(x) ** 2 * X))(X), 2 * X * X[::-1])
    doubled = fk.kernel(lambda xs: fk.map(lambda x: 2 * x, xs))
    equal(fw.grad(lambda x: fw.sum(doubled(x) ** 2))(X), 8 * X)


def test_linearize():
    """The derivative as a function, of structures, called as often as one likes, and inside."""
    f = lambda d, k: (fw.sort(fw.sin(d["x"]) * d["x"]) / fw.sum(d["x"]), k)
    given, along = {"x": X, "n": 2}, {"x": X * X, "n": None}
    expected = fw.jvp(f, (given, 3), (along, None))

    def twice(d, k, v):
        out, slope = fw.linearize(f, d, k)
        return out, slope(v, None), slope({"x": 2 * v["x"], "n": None}, None)

    for found in (twice(given, 3, along), fw.jit(twice)(given, 3, along)):
        equal(found[0][0], expected[0][0])
        equal(found[1][0], expected[1][0])
        equal(found[2][0], 2 * np.asarray(expected[1][0]))
        assert found[1][1] is None
    loops = lambda x: fw.fori_loop(0, 3, lambda i, s: fw.filter(lambda a: a < 9, fw.sin(s) * s), x)
    equal(fw.linearize(loops, X)[1](X), fw.jvp(loops, (X,), (X,))[1])
    rows = lambda r: fw.map(lambda row: fw.cumsum(row * row), r)
    equal(fw.linearize(rows, ROWS)[1](ROWS).values, fw.jvp(rows, (ROWS,), (ROWS,))[1].values)
    value, slope, aux = fw.linearize(lambda x: (x * x, x + 1), X, has_aux=True)
    equal(value, X * X)
    equal(slope(X), 2 * X * X)
    equal(aux, X + 1)
    inside = fw.map(lambda a: fw.linearize(cube, a)[1](1.0), X)
    equal(inside, CUBES)
    equal(fw.grad(lambda x: fw.sum(fw.linearize(fw.sin, x)[1](x)))(X), np.cos(X) - X * np.sin(X))
    equal(fw.map(fw.linearize(fw.sin, 0.0)[1], X), X)


def test_linearize_computes_once_what_depends_on_no_tangent():
    """However often the function is called."""
    def f(x, v):
        out, slope = fw.linearize(lambda x: x / fw.sum(fw.exp(x)), x)
        return out, slope(v), slope(v * v)

    assert fw.jit(f).stages(X, X).text["array"].count("reduce (add f64)") == 3


def test_linear_transpose():
    """Of structures, and of shapes alone."""
    f = lambda d: (3 * d["x"][:2], fw.cumsum(d["x"]) + fw.sum(d["y"]))
    back = fw.linear_transpose(f, {"x": X, "y": X})
    found = back((np.array([1.0, 2.0]), np.ones(5)))[0]

    equal(found["x"], [8, 10, 3, 2, 1])
    equal(found["y"], np.full(5, 5))
    shape = fw.ShapeDtypeStruct((3,), fw.f64)
    equal(fw.linear_transpose(lambda x: 2 * x, shape)(np.ones(3))[0], [2, 2, 2])
    inside = lambda x: fw.linear_transpose(lambda y: x * y, x)(x)[0]
    equal(fw.jit(inside)(X), X * X)
    equal(fw.grad(lambda x: fw.sum(inside(x)))(X), 2 * X)
    slope = fw.linearize(fw.sin, X)[1]
    equal(fw.linear_transpose(slope, X)(X)[0], X * np.cos(X))
