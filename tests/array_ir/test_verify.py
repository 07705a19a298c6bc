"""Well-formed programs pass; each broken rule is found, and the message shows the let."""

import hypothesis
import pytest

from flatweave.array_ir.syntax import (
    FLAT,
    SWEPT,
    TRACED,
    Form,
    Program,
    form_of_text,
    parse_program,
    verify,
)
from flatweave.base.dtypes import f32, i64
from flatweave.base.errors import CompilerBug
from flatweave.ops import Map, Reduce
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Const, Lambda, Let, Var
from tests.terms.generated import programs

ALL = Form("any", FLAT.host, FLAT.element, arrays=True, rows=True)

SWEPT_PROGRAM = """
f(n: i64, xs: f32[n]) =>
    ys: f32[n], k: i64, zs: f32[k] = sweep [n] (i: i64 =>
        x: f32 = index xs [i]
        p: f32 = prefix (add f32) [0.0f32] [x]
        s: f32 = fold 3 (j: i64 => x) (add f32) [p]
        q: bool = lt s 1.0f32
        in s, q, x) [store, compact 1]
    in ys, zs
"""


@hypothesis.given(programs())
def test_random_programs_are_well_formed(program):
    """What the Builder makes passes."""
    verify(program, ALL)


@hypothesis.given(programs(traced=True))
def test_traced_programs_are_well_formed(program):
    """Without sweeps and folds it is what a user may have written."""
    verify(program, TRACED)


def test_a_swept_program_is_well_formed():
    """Sweeps on the host, reads, folds and prefixes in their bodies."""
    verify(parse_program(SWEPT_PROGRAM), SWEPT)


def test_an_if_may_give_arrays_of_its_own_extent():
    """The extent is a result as well, and the array is bound under it."""
    text = """
    f(n: i64, xs: f32[n], p: bool) =>
        m, ys = if p (() =>
            mask = map (x: f32 => lt x 1.0f32) [xs]
            k, kept = filter mask [xs]
            in k, kept) (() => n, xs)
        s = reduce (add f32) [0.0f32] [ys]
        in s, m, ys
    """

    verify(parse_program(text), TRACED)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y: f32 = add n 1\n in y", "y is f32, not i64"),
        ("y: i64 = neg xs\n in y", "does not fit its operands"),
        ("y: i64 = add n 1.0f32\n in y", "needs operands of one dtype"),
        ("y: f32[4] = map (x: f32 => x) [xs]\n in y", r"y is f32\[4\], not f32\[n\]"),
        ("y: i64[n] = map (x: i64 => x) [xs]\n in y", "the function takes"),
        ("y: f32 = reduce (lt f32) [0.0f32] [xs]\n in y", "the operator gives"),
        ("y: i64 = reduce (add f32) [0] [xs]\n in y", "the neutral element"),
        ("y: f32[n] = scan (add f64) [0.0f64] [xs]\n in y", "the neutral element"),
        ("y = scan (add f32) [0.0f32] [xs] starts=[xs]\n in y", "the flag of segments"),
        ("p = map (x: f32 => true) [xs]\n y = scan (add f32) [0.0f32] [xs] starts=[p, p]\n in y",
         "2 flags say where segments start"),
        ("y: f32 = index xs [0, 1]\n in y", "2 indices into rank 1"),
        ("y: f32 = index xs [0.0f32]\n in y", "the indices"),
        ("y: i64 = if n (() => 1) (() => 2)\n in y", "the condition"),
        ("y: i64 = if true (() => 1) (() => 2.0f32)\n in y", "the second body gives"),
        ("y: f32[n] = if true (() => xs) (() => xs)\n in y", "its extents are no results"),
        ("y: i64 = for 0 n 1 (i: i64, s: f32 => s) [0]\n in y", "the body takes"),
        ("y: i64 = while (s: i64 => s) (s: i64 => s) [0]\n in y", "the condition gives"),
        ("m: i64, y: f32[m] = filter xs [xs]\n in y", "the mask"),
        (
            "y = map (x: f32 => fold 3 (i: i64 => 1) (add i64) [0]) [xs]\n in y",
            "fold is not allowed in an element function",
        ),
        ("check n same [n] text\n in n", "the condition"),
        ("y: f32[n] = scatter [xs] xs [xs]\n in y", "the indices"),
        ("y: f32[n] = sweep [n] (i: i64 => 1.0f32) [store]\n in y", "sweep is not allowed"),
        ("y: f32 = prefix (add f32) [0.0f32] [1.0f32]\n in y", "prefix is not allowed"),
        ("m, y = reduce_segments (add f32) [0.0f32] xs [xs]\n in y", "the starts"),
        ("p = map (x: f32 => true) [xs]\n m, y = reduce_segments (add i64) [0] p [xs]\n in y",
         "the neutral element"),
    ],
)
def test_what_does_not_fit_is_found(body, message):
    """Types, lambdas and forms, each with the sentence that names it."""
    with pytest.raises(CompilerBug, match=message):
        verify(parse_program(f"f(n: i64, xs: f32[n]) => {body}"), TRACED)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y: f32[n] = map (x: f32 => x) [xs]\n in y", "map is not allowed on the host"),
        ("y: f32[n] = sweep [n] (i: i64 => 1.0f32, 2) [store]\n in y", "sinks do not take 2"),
        (
            "y = sweep [n] (i: i64 => fold 3 (j: i64 => 1.0f32) (add i64) [0]) [store]\n in y",
            "the body gives",
        ),
        ("y: f32 = sweep [n] (i: i64 => i) [combine (add f32) [0.0f32]]\n in y", "is combined"),
        (
            "m, y = sweep [n] (i: i64 => i, i) [combine_segments (add i64) [0]]\n in y",
            "is combined",
        ),
        (
            "y = sweep [n] (i: i64 => true, true, i) [combine_rows (add i64) [0] n]\n in y",
            "is combined",
        ),
        (
            "y = sweep [n] (i: i64 => i, true, i) [combine_rows (add i64) [0] 1.0f32]\n in y",
            "the number of rows",
        ),
        (
            "m, y = sweep [n] (i: i64 => true, i) [combine_segments (add i64) [0]] reverse=true\n"
            " in y",
            "needs a sweep from the front",
        ),
        (
            "y = sweep [n] (i: i64 => prefix (add i64) [0] [i] initial=[1.0f32]) [store]\n in y",
            "the initial element",
        ),
        (
            "y = sweep [n] (i: i64 => prefix (add i64) [0] [i] starts=[true] initial=[1]) [store]\n"
            " in y",
            "an initial element is applied once",
        ),
        (
            "y = sweep [n] (i: i64 =>\n a = generate [i] (j: i64 => j)\n in i) [store]\n in y",
            "generate is not allowed in an element function",
        ),
        (
            "y = sweep [n] (i: i64 =>\n a = if true (() => prefix (add i64) [0] [i]) (() => i)\n"
            " in a) [store]\n in y",
            "elsewhere than directly",
        ),
        (
            "y = sweep [n] (i: i64 =>\n m, a = if true (() => n, xs) (() => n, xs)\n in i)"
            " [store]\n in y",
            "makes an array",
        ),
        (
            "y, z = sweep [n] (i: i64 =>\n v = index xs [i]\n in i, v, v) "
            "[scatter_reduce (add f32) [] [xs], store]\n in y, z",
            "computed indices shares its sweep",
        ),
        (
            "y, z = sweep [n] (i: i64 =>\n v = index xs [i]\n in i, v, i, v) "
            "[scatter_store [xs], scatter_store [xs]]\n in y, z",
            "computed indices shares its sweep",
        ),
        (
            "m = add n n\n ys: f32[m] = concat m [xs, xs]\n in ys",
            "concat is not allowed on the host",
        ),
    ],
)
def test_what_is_lowered(body, message):
    """Arrays are made on the host only, by sweeps."""
    with pytest.raises(CompilerBug, match=message):
        verify(parse_program(f"f(n: i64, xs: f32[n]) => {body}"), FLAT)


ROWS = """
f(n: i64, xs: f32[n], m: i64, ends: i64[m]) =>
    ys = sweep [n] (p: i64 =>
        s: i64, start: i64 = locate ends 0 p
        x: f32 = index xs [p]
        first: bool = eq p start
        in s, first, x) [combine_rows (add f32) [0.0f32] m]
    in ys
"""


def test_rows_are_combined_in_flat_form():
    """Only `flatten` makes such sweeps, and what comes before it knows nothing of them."""
    verify(parse_program(ROWS), FLAT)
    with pytest.raises(CompilerBug, match="a sweep has no sink combine_rows in swept form"):
        verify(parse_program(ROWS), SWEPT)


@pytest.mark.parametrize(
    ("text", "form"),
    [(SWEPT_PROGRAM, SWEPT), (ROWS, FLAT), ("f(n: i64) =>\n in n", TRACED)],
)
def test_a_text_is_of_the_first_form_that_it_fits(text, form):
    """Texts do not say which form they are of."""
    assert form_of_text(parse_program(text)) is form


def test_forms_lie_within_one_another():
    """A swept program is flat as well; a traced one is neither."""
    assert SWEPT.is_within(FLAT) and not FLAT.is_within(SWEPT)
    assert not TRACED.is_within(FLAT) and not SWEPT.is_within(TRACED)


def broken(lets, results, params=()):
    """The message for a program made by hand."""
    with pytest.raises(CompilerBug) as caught:
        verify(Program("f", Lambda(params, tuple(lets), tuple(results))), TRACED)
    return str(caught.value)


def test_a_variable_is_bound_before_it_is_read():
    """And the message shows the let that reads it."""
    x, y = Var("x", i64), Var("y", i64)
    text = broken([Let((y,), Apply("add", (x, x)))], [y])

    assert "x is read where it is not in scope" in text
    assert "y: i64 = add x x" in text


def test_what_an_element_function_binds_stays_inside():
    """Its variables are out of scope after it."""
    n, x, y = Var("n", i64), Var("x", f32), Var("y", f32)
    xs, ys = Var("xs", ArrayType(f32, (n,))), Var("ys", ArrayType(f32, (n,)))
    fn = Lambda((x,), (Let((y,), Apply("neg", (x,))),), (y,))

    assert "not in scope" in broken([Let((ys,), Map(fn, (xs,)))], [y], (n, xs))


def test_a_variable_is_bound_once():
    """Not again in its own scope, and to nothing else in another."""
    x = Var("x", i64)
    again = Let((x,), Apply("neg", (index(1),)))
    assert "bound again" in broken([again, again], [x])

    n, t = Var("n", i64), Var("t", f32)
    xs = Var("xs", ArrayType(f32, (n,)))
    lets = []
    for fn in ("neg", "abs"):
        p, ys = Var("p", f32), Var("ys", ArrayType(f32, (n,)))
        lets.append(Let((ys,), Map(Lambda((p,), (Let((t,), Apply(fn, (p,))),), (t,)), (xs,))))
    assert "bound twice" in broken(lets, [], (n, xs))


def test_a_lambda_may_stand_in_two_places():
    """Its variables mean the same in both."""
    add = lambda_of("add", i64)

    def write(b):
        n = b.var("n", i64)
        xs = b.var("xs", ArrayType(i64, (n,)))
        totals = [b.emit(Reduce(add, (index(0),), (xs,)))[0] for _ in range(2)]
        return Program("f", b.close([n, xs], totals))

    verify(write(Builder()), TRACED)


def test_constants_are_values_of_their_dtype():
    """300 is no i8, 0.1 is no f32."""
    assert "not a value of f32" in broken([], [Const(0.1, f32)])


def test_extents_are_in_scope():
    """An array's type may not name what is bound later or elsewhere."""
    n = Var("n", i64)
    xs = Var("xs", ArrayType(f32, (n,)))

    assert "n is read where it is not in scope" in broken([], [xs], (xs,))
