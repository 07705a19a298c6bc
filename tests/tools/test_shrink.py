"""The command that makes a failing program small."""

import pytest

from flatweave.array_ir.syntax import print_program
from flatweave.ops import Scan
from flatweave.terms.control import Apply
from flatweave.terms.traverse import walk_lets
from tests.laws.programs import random_program
from tools.shrink import disagrees, main, shrink

WRONG = """\
wrong(n: i64, xs: i32[n]) =>
    a: i32[n] = map (x: i32 => add x 1i32) [xs]
    b: i32[n] = map (x: i32 =>
        y: i32 = mul x x
        z: i32 = clz y
        in z) [a]
    s: i32 = reduce (add i32) [0i32] [a]
    in b, s
"""


def has(kind):
    """The predicate: an operation of this kind is somewhere in the program."""
    return lambda program: any(isinstance(let.op, kind) for let in walk_lets(program.fn))


def test_what_fails_is_what_is_left():
    """A program of twelve steps of which one matters becomes that one, and what it reads."""
    program = next(p for s in range(50) if has(Scan)(p := random_program(s, 12)[0]))
    small = shrink(program, has(Scan))

    assert isinstance(small.fn.lets[-1].op, Scan)
    assert len(small.fn.lets) <= 2  # one more where the scan needs arrays of another dtype
    assert len(small.fn.params) <= 2  # the extent, and an array unless the scan is of positions


def test_inner_functions_shrink_too():
    """One operation deep inside an element function."""

    def fails(program):
        ops = [let.op for let in walk_lets(program.fn)]
        return any(isinstance(op, Apply) and op.fn == "select" for op in ops)

    program = next(p for s in range(200) if fails(p := random_program(s, 8)[0]))

    assert len(list(walk_lets(shrink(program, fails).fn))) <= 4


@pytest.mark.parametrize("seed", range(3))
def test_a_right_program_does_not_fail(seed, tmp_path, capsys):
    """Machine code agrees with the interpreter."""
    program, _ = random_program(seed, 4)
    path = tmp_path / "right.air"
    path.write_text(print_program(program))

    assert not disagrees(program, "cpu")
    assert main([str(path)]) == 1
    assert "does not fail" in capsys.readouterr().err


def test_a_wrong_interpreter_is_found(tmp_path, capsys, monkeypatch):
    """Where bits are counted wrongly the two disagree, and the rest of the program is dropped."""
    path = tmp_path / "wrong.air"
    path.write_text(WRONG)
    monkeypatch.setattr("flatweave.scalar.ops.np.bitwise_count", lambda x: x * 0)

    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert "clz" in out and "reduce" not in out
    assert len(out.splitlines()) <= 4
