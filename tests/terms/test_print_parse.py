"""Terms print as text that people read first, and that reads back as the same terms."""

import hypothesis
import pytest

from flatweave.array_ir.syntax import parse_program, print_program, same
from flatweave.base.dtypes import f32, f64, i64
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.units import parse_unit, print_unit
from flatweave.ops import Map
from flatweave.scalar.ops import TABLE
from flatweave.terms.build import Builder
from flatweave.terms.print import constant_text
from flatweave.terms.syntax import OPS, PARTS, ArrayType, Var, constant
from tests.terms.generated import constants, programs

TOTAL = """\
total(n_1: i64, xs_2: f32[n_1]) =>
    a_3: f32[n_1] = map (x_4: f32 => mul x_4 x_4) [xs_2]
    b_5: f32[n_1] = map (x_4: f32 =>
        y_6: f32 = exp x_4
        z_7: f32 = add y_6 0.1f32
        in z_7) [a_3]
    s_8: f32 = reduce (add f32) [0.0f32] [b_5]
    in s_8
"""


UNIT = """\
host(n_1: i64, xs_2: global f32) =>
    ys_3: global f32 = alloc f32 n_1 0
    grid_4: i64 = floordiv n_1 16
    launch scale grid_4 [n_1, xs_2, ys_3]
    in ys_3

kernel scale(n_5: i64, xs_6: global f32, ys_7: global f32) warps 2 =>
    tile_8: shared f32 = shared f32 64
    b_9: i64 = block_index
    lanes 16 (() =>
        for 0 n_5 16 (i_10: i64 =>
            j_11: i64 = lane i_10
            x_12: f32 = load xs_6 j_11
            store ys_7 j_11 x_12 streaming=true) [])
    sync
"""


def test_a_program_reads_as_it_prints():
    """The text in a docstring is the program."""
    assert print_program(parse_program(TOTAL)) == TOTAL


def test_a_unit_reads_as_it_prints():
    """Host, kernels, buffers, effects without results."""
    unit = parse_unit(UNIT)

    assert print_unit(unit) == UNIT
    renamed = parse_unit(UNIT.replace("_1", "_71"))
    assert print_unit(unit, canonical=True) == print_unit(renamed, canonical=True)


def test_types_may_be_left_out():
    """What an op gives is inferred, extents included."""
    short = TOTAL.replace("a_3: f32[n_1]", "a_3").replace("z_7: f32", "z_7")
    short = short.replace("s_8: f32", "s_8")

    assert same(parse_program(short), parse_program(TOTAL))


def test_the_long_forms_read_as_well():
    """`apply add x y`, operators with their parameters, an i64 with its dtype, comments."""
    long = TOTAL.replace("mul x_4 x_4)", "q: f32 = apply mul x_4 x_4   # squared\n  in q)").replace(
        "(add f32)", "(p: f32, q: f32 => add p q)"
    )

    assert same(parse_program(long), parse_program(TOTAL))
    assert same(parse_program("f() => in 3i64"), parse_program("f() => 3"))


@hypothesis.given(programs())
def test_random_programs_survive(program):
    """parse(print(x)) == x, up to the names of variables."""
    text = print_program(program)
    again = parse_program(text)

    assert same(again, program)
    assert print_program(again) == print_program(parse_program(print_program(again)))
    assert chr(92) not in text


@hypothesis.given(constants())
def test_constants_survive(value):
    """Every float and every integer, bit for bit."""
    program = parse_program(f"f() => in {constant_text(value)}")

    assert program.fn.results == (value,)


def test_constants_are_short():
    """f32 prints as few digits as tell it from its neighbours."""
    texts = [constant_text(constant(v, t)) for v, t in [(0.1, f32), ("nan", f64), (-3, i64)]]

    assert texts == ["0.1f32", "nanf64", "-3"]


def test_strings_and_flags():
    """Strings keep their quotes; a flag prints only where it is not the default."""
    text = (
        'f(n: i64, xs: f32[n]) =>\n'
        '    p: bool = eq n 4\n'
        '    check p same [n] "two ""names"", (a) [b]"\n'
        '    y: f32 = index xs [0] checked=false\n'
        '    z: f32 = index xs [1]\n'
        '    in y, z\n'
    )

    assert print_program(parse_program(text)) == text


def test_names_that_mean_something_else_are_changed():
    """A variable cannot be called as a function, an operation or a dtype."""
    b = Builder()
    n, xs = Var("in", i64), Var("add", i64)
    program = Builder.close(b, [n, xs], [b.add(n, xs)])
    text = print_program(parse_program("f(a: i64, b: i64) => add a b"))

    assert "in_: i64, add_: i64" in print_program(type(parse_program(text))("f", program))


def test_one_name_for_two_variables_is_told_apart():
    """Distinct variables of one name print under two names, and same() still sees them."""
    b = Builder()
    x, y = Var("x", i64), Var("x", i64)
    first = parse_program("f(x: i64, y: i64) => in y")
    program = type(first)("f", b.close([x, y], [y]))

    assert same(parse_program(print_program(program)), first)
    assert not same(first, parse_program("f(x: i64, y: i64) => in x"))


def test_sibling_scopes_may_use_one_name():
    """A parameter's name is free again after its lambda."""
    b = Builder()
    n = Var("n", i64)
    xs = Var("xs", ArrayType(i64, (n,)))
    fn = b.function([i64], lambda c, x: [c.add(x, x)])
    (ys,) = b.emit(Map(fn, (xs,)))
    (zs,) = b.emit(Map(fn, (ys,)))
    text = print_program(type(parse_program("f() => in 1"))("f", b.close([n, xs], [zs])))

    assert text.count("(p_1: i64 => add p_1 p_1)") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(n: i64) => in m", "variable in scope"),
        ("f(n: i64) => x = mystery n in x", "expected an operation"),
        ("f(n: i64) => in 2.5", "whole number"),
        ("f(n: i64) => x: i64 = add n", "variable in scope"),
        ("f(n: i64) => in n )", "expected 'the end'"),
        ("f(add: i64) => in 1", "cannot be a variable"),
        ("f(n: i64) => in ?", "no token"),
    ],
)
def test_what_is_no_program_is_refused(text, message):
    """With the line where it goes wrong."""
    with pytest.raises(CompilerBug, match=message):
        parse_program(text)


def test_no_operation_is_called_as_a_scalar_function():
    """Else `add x y` could be either."""
    assert not TABLE.keys() & OPS.keys()
    assert not TABLE.keys() & PARTS.keys()
