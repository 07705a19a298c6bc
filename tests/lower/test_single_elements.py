"""Loops that write single elements: no kernel for an element, no test of owners in an iteration."""

import numpy as np
import pytest

import flatweave as fw


def running(xs):
    """A loop that writes each element once."""

    def one(i, state):
        carry, out = state
        carry = fw.sqrt(carry * carry * 0.5 + xs[i])
        return carry, fw.replace(out, i, carry)

    return fw.fori_loop(0, xs.shape[0], one, (0.0, fw.zeros_like(xs)))[1]


def expected(xs):
    found, carry = [], 0.0
    for x in xs:
        carry = np.sqrt(carry * carry * 0.5 + x)
        found.append(carry)
    return np.array(found)


def loop_of(text):
    """The lines of the first loop of the host program."""
    lines = text[text.index(" = for ") :].split("\n")
    depth = len(lines[1]) - len(lines[1].lstrip())
    end = next(k for k, line in enumerate(lines[1:], 1) if not line.startswith(" " * depth))
    return "\n".join(lines[1:end])


def test_an_element_is_written_by_the_host():
    """An iteration launches nothing; whether the array has one owner is asked once, before."""
    xs = np.arange(9.0)
    f = fw.jit(running, target="cpu")

    np.testing.assert_array_equal(f(xs), expected(xs))
    inside = loop_of(f.stages(xs).text["kernel"])
    assert "store s_" in inside
    assert "launch" not in inside
    assert "is_unique" not in inside


def test_a_state_that_others_own_is_copied_once():
    """The array before the loop stays what it was, inside the program and for the caller."""

    @fw.jit(target="cpu")
    def f(xs, n):
        before = xs + 1
        after = fw.fori_loop(0, n, lambda i, out: fw.replace(out, i, -out[i]), before)
        again = fw.fori_loop(0, n, lambda i, out: fw.replace(out, i, 7.0), xs)
        return before, after, again

    xs = np.arange(3.0)
    for n in (0, 2):
        before, after, again = f(xs, n)
        assert before.tolist() == [1.0, 2.0, 3.0]
        assert after.tolist() == [-1.0, -2.0, 3.0][:n] + [1.0, 2.0, 3.0][n:]
        assert again.tolist() == [7.0] * n + xs[n:].tolist()
        assert xs.tolist() == [0.0, 1.0, 2.0]


def test_states_that_are_exchanged():
    """Exchanged arrays are not assumed to have one owner."""

    @fw.jit(target="cpu")
    def f(xs, ys):
        def one(i, state):
            a, b = state
            return fw.replace(b, i, a[i] + b[i]), a

        return fw.fori_loop(0, xs.shape[0], one, (xs, ys))

    xs, ys = np.arange(4.0), np.ones(4)
    a, b = xs.copy(), ys.copy()
    for i in range(4):
        c = b.copy()
        c[i] += a[i]
        a, b = c, a
    assert [part.tolist() for part in f(xs, ys)] == [a.tolist(), b.tolist()]


@pytest.mark.parametrize("index", [-1, 0, 2, 3])
def test_updates_and_indices_outside(index):
    """An operator is applied where the host is, too; an index outside is dropped."""

    @fw.jit(target="cpu")
    def f(xs, i, value):
        return fw.reduce_by_index(xs, fw.add, 0.0, fw.stack([i]), fw.stack([value]), check=False)

    found = [1.0, 2.0, 3.0]
    if 0 <= index < 3:
        found[index] += 5.0
    assert f(np.array([1.0, 2.0, 3.0]), index, 5.0).tolist() == found


def test_few_long_rows_run_separately():
    """A loop by element runs row by row, however few and uneven the rows are."""
    rows = fw.ragged(np.arange(5000.0), lengths=[4999, 0, 1])
    f = fw.jit(lambda rows: fw.map(running, rows).values, target="cpu")

    np.testing.assert_array_equal(f(rows)[:4999], expected(np.arange(4999.0)))
    assert [name for name, *_ in f.stages(rows).launched if name.endswith("_by_row")]
