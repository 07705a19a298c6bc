"""What programs functions become: their parameters, what is shared, what is checked."""

import re

import numpy as np

import flatweave as fw

X, M, I = np.arange(5.0), np.arange(6.0).reshape(2, 3), np.array([0, 1])  # noqa: E741


def text(f, *args):
    """The traced program as text."""
    return fw.jit(f, target="interp").stages(*args).text["array"]


def test_parameters():
    """Extents, then the array; scalars by themselves; then what is read from outside."""
    table = np.arange(4, dtype=np.int8)
    head = text(lambda m, s: fw.sum(m) * s + fw.sum(table), M, 1.5).splitlines()[0]

    assert re.fullmatch(
        r"<lambda>\(n_1: i64, n_2: i64, m_3: f64\[n_1, n_2\], s_4: f64,"
        r" (n_\d+): i64, c_\d+: i8\[\1\]\) =>",
        head,
    )


def test_sharing_by_identity():
    """What a variable holds is computed once."""

    def f(x):
        y = fw.sum(x * 2)
        return y + y * y

    assert text(f, X).count("reduce") == 1


def test_scalar_work_is_shared_by_value():
    """Index arithmetic that is written twice is done once."""
    assert text(lambda x: (x[1:], x[:-1], x[1:]), X).count("sub n_1 1") == 1


def test_what_does_not_depend_on_the_element_is_computed_outside():
    """A scalar of the outer body stays in the outer body."""
    lines = text(lambda x, s: fw.map(lambda v: v * fw.exp(s), x), X, 1.5).splitlines()

    assert next(line for line in lines if "exp" in line).startswith("    t_")
    assert not next(line for line in lines if "exp" in line).startswith("     ")


def test_reads_at_the_index_are_not_checked():
    """`generate(n, i => x[i])` is always inside; `x[i + 1]` is not."""
    plain = text(lambda x: fw.generate(x.shape[0], lambda i: x[i]), X)
    moved = text(lambda x: fw.generate(x.shape[0], lambda i: x[i + 1]), X)

    assert "checked=false" in plain
    assert "select" not in plain
    assert "checked=false" not in moved
    assert "select" not in moved  # i + 1 is not below 0


def test_indices_that_may_be_negative_wrap():
    """Python's meaning costs a comparison where nothing is known."""
    assert "select" in text(lambda x, i: x[i], X, I)
    assert "select" not in text(lambda x, i: x[i], X, I.astype(np.uint8))


def test_equal_extents_are_not_checked():
    """Arrays made from one another fit; two arguments are checked once."""
    assert "check" not in text(lambda x: x + x * 2 + fw.iota(x.shape[0]), X)
    assert text(lambda x, y: (x + y, x * y), X, X).count("check") == 1


def test_argument_extents_are_not_specialised():
    """Also an extent of 1 is a variable, until broadcasting asks."""
    assert "f64[n_1]" in text(lambda x: x + 1, X[:1])


def test_elementwise_work_is_a_map():
    """To the depth of all axes, without index arithmetic."""
    program = text(lambda m: m * 2 + 1, M)

    assert program.count("map") == 2
    assert "generate" not in program


def test_lines_of_the_user():
    """Every let knows the line that wrote it."""

    def f(x):
        y = x * 2
        return fw.scan(fw.add, 0, y)

    program = fw.jit(f, target="interp")
    program.stages(X)
    entry = next(iter(program._entries.values()))
    lines = [let.where.text.strip() for let in entry.plain.traced.program.fn.lets]
    assert lines == ["y = x * 2", "return fw.scan(fw.add, 0, y)"]


def test_loops_keep_extents_that_do_not_change():
    """Only an extent that the body changes becomes state."""
    fixed = text(lambda x: fw.fori_loop(0, 3, lambda i, s: s * 2, x), X)
    moving = text(lambda x: fw.fori_loop(0, 3, lambda i, s: s[1:], x), X)

    assert fixed.count("i64") == 2  # n_1 and the counter
    assert "n_1, x_2]" in moving


def test_tracing_a_loop_again_leaves_nothing_behind():
    """What the first attempt emitted is taken back, checks too."""
    program = text(
        lambda x: fw.fori_loop(0, 3, lambda i, s: s[1:] + fw.iota(s.shape[0] - 1), x), X
    )

    assert program.count("iota") + program.count("generate") <= 3
    assert program.count("for ") == 1
