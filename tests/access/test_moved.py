"""Values at the next index, and sums in which something goes away."""

import pytest

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.access.analyse import Accesses
from flatweave.array_ir.syntax import parse_program
from flatweave.base.dtypes import i64
from flatweave.passes.telescope import shortened_sum
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Var


def body(text):
    """The index of a sweep, its lets by name, and what they are made of."""
    lines = "\n".join(f"        {line}" for line in text.splitlines())
    program = parse_program(
        f"f(n: i64, xs: i64[n], ys: i32[n], c: i64) =>\n    a: i64[n] = sweep [n] (i: i64 =>\n"
        f"{lines}\n        in i) [store]\n    in a"
    )
    fn = program.fn.lets[0].op.body
    return fn.params[0], {let.vars[0].name.split("_")[0]: let for let in fn.lets}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a: i64 = add i 0\nz: i64 = add i 1", True),
        ("a: i64 = add i 1\nz: i64 = add i 3", False),
        ("a: i64 = sub i 2\nz: i64 = sub i 1", True),
        ("j: i64 = add i 1\na: i64 = mul i 3\nz: i64 = mul j 3", True),
        ("j: i64 = add i 1\na: i64 = mul i 3\nz: i64 = mul j 4", False),
        ("j: i64 = add i 1\na: i64 = mul i c\nz: i64 = mul j c", True),
        ("j: i64 = add i 1\na: i64 = mul i c\nz: i64 = mul c j", True),
        ("j: i64 = add i 1\na: i64 = index xs [i]\nz: i64 = index xs [j]", True),
        ("j: i64 = add i 1\nb: i32 = index ys [i]\nd: i32 = index ys [j]\n"
         "a: i64 = cast i64 b\nz: i64 = cast i64 d", True),
        ("j: i64 = add i 1\nb: i32 = index ys [i]\na: i64 = cast i64 b\nz: i64 = index xs [j]",
         False),
        ("j: i64 = add i 1\na: i64 = index xs [c]\nz: i64 = index xs [c]", True),
        ("j: i64 = add i 1\na: i64 = prefix (add i64) [0] [i]\nz: i64 = prefix (add i64) [0] [j]",
         False),
    ],
)  # fmt: skip
def test_the_next_of_a_term(text, holds):
    """What reads, casts and computes alike at i and at i + 1; a scan is no term of the index."""
    i, lets = body(text)
    known = Accesses([i], lets.values())
    (a,), (z,) = lets["a"].vars, lets["z"].vars

    assert (known.moved(known.of(a), i, Sum({i: 1}, 1)) == known.of(z)) is holds


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("a: i64 = floordiv i 4", 4),
        ("a: i64 = floordiv i c", 1),
        ("j: i64 = add i 1\na: i64 = floordiv j 4", 1),
        ("j: i64 = mod i 3\nk: i64 = floordiv i 3\na: i64 = index xs [k]", 3),
        ("a: i64 = add i 1", 1),
    ],
)
def test_neighbours_share_a_quotient(text, group):
    """Of their index alone, by a constant."""
    i, lets = body(text)

    assert Accesses([i], lets.values()).group(i) == group


def test_terms_of_two_bodies():
    """Each with a different index."""
    i, lets = body("j: i64 = add i 1\nz: i64 = mul j j")
    s = Var("s", i64)
    b = Builder()
    square = b.mul(s, s)

    known = Accesses([i], lets.values())
    values = Accesses([s], b.lets)
    next_ = values.moved(values.of(square), s, Sum({i: 1}, 1))
    assert next_ == known.of(lets["z"].vars[0])
    assert next_ != known.of(lets["j"].vars[0])


def shortened(b):
    """The lets of a builder, shorter where something goes away."""
    known = Accesses([], b.lets)
    return [let for each in b.lets for let in shortened_sum(b, known, each)]


def test_what_is_added_and_subtracted_goes_away():
    """In the order in which it stands; a sum that nothing goes away from stays as it is."""
    b = Builder()
    p, start, first = (b.param(name, i64) for name in ("p", "start", "first"))
    q = b.add(b.add(start, first), b.sub(p, start))
    *kept, last = shortened(b)

    assert [let.op for let in kept] == [let.op for let in b.lets[:2]]
    assert (last.vars, last.op.fn, last.op.args) == ((q,), "add", (first, p))


def test_what_is_added_twice_stays():
    """A sum of a sum with itself is no sum of different terms."""
    b = Builder()
    x, y = b.param("x", i64), b.param("y", i64)
    b.sub(b.add(b.add(x, y), b.add(x, y)), y)

    assert shortened(b) == b.lets


def test_what_is_left_twice_stays():
    """x + z + (x - z + y) is 2 x + y, which no sum of two says."""
    b = Builder()
    x, y, z = (b.param(name, i64) for name in "xyz")
    b.add(b.add(x, z), b.add(b.sub(x, z), y))

    assert shortened(b) == b.lets
