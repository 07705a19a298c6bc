"""Errors: the whole message, word for word, and what each class also is."""

import pickle

import pytest

from flatweave.base import errors
from flatweave.base.errors import ArgumentError, CompilerBug, ShapeError, UserError
from flatweave.base.source import Location

SAXPY = Location("examples/saxpy.py", 12, "    return fw.map(axpy, xs, ys[1:])", 11, 35, "saxpy")


def test_a_message_has_its_five_parts_in_order():
    """What is wrong, where, whence the values, what to do, where to read."""
    error = ShapeError(
        "map needs arrays of one length, got 1000 and 999.",
        where=SAXPY,
        origins=[
            "xs: f32[1000]  from argument 1 of saxpy",
            "ys[1:]: f32[999]  from slice at examples/saxpy.py:12",
        ],
        remedy="Cut both to the shorter one with xs[:999], or pad ys.",
        more="shape-lengths",
    )

    assert str(error) == (
        "map needs arrays of one length, got 1000 and 999.\n"
        "  examples/saxpy.py:12:    return fw.map(axpy, xs, ys[1:])\n"
        "                                  ^~~~~~~~~~~~~~~~~~~~~~~~\n"
        "  xs: f32[1000]  from argument 1 of saxpy\n"
        "  ys[1:]: f32[999]  from slice at examples/saxpy.py:12\n"
        "  Cut both to the shorter one with xs[:999], or pad ys.\n"
        "  More: docs/errors.md#shape-lengths"
    )


def test_parts_that_say_nothing_are_left_out():
    """A message alone is followed only by where to read."""
    assert str(ShapeError("no.")) == "no.\n  More: docs/errors.md#shape-error"


def test_a_remedy_of_several_lines_stays_indented():
    """A program inside the remedy keeps its own indentation."""
    error = ArgumentError("no.", remedy="Write\n    fw.map(f, xs)", more="switches")

    assert str(error) == (
        "no.\n  Write\n      fw.map(f, xs)\n  More: docs/errors.md#switches"
    )


def test_a_place_without_source_is_named():
    """In a REPL there is no line to show, but a number."""
    error = ShapeError("no.", where=Location("<stdin>", 3))

    assert str(error) == "no.\n  <stdin>:3\n  More: docs/errors.md#shape-error"


def test_a_compiler_bug_names_its_pass_and_how_to_replay():
    """Whoever reports it can copy the message and needs nothing else."""
    bug = CompilerBug(
        "flatten gave a program in which x_3 is not bound.",
        pass_name="flatten",
        where=SAXPY,
        program="total xs: f32[n] =>\n  ys = map f x_3\n       ^ not bound\n",
        replay="python -m flatweave.tools.opt --pass flatten bug.air",
    )

    assert str(bug) == (
        "flatten gave a program in which x_3 is not bound.\n"
        "  In the pass flatten.\n"
        "  examples/saxpy.py:12:    return fw.map(axpy, xs, ys[1:])\n"
        "                                  ^~~~~~~~~~~~~~~~~~~~~~~~\n"
        "  total xs: f32[n] =>\n"
        "    ys = map f x_3\n"
        "         ^ not bound\n"
        "  Replay: python -m flatweave.tools.opt --pass flatten bug.air\n"
        "  This is a fault in Flatweave, not in your program: please report it with this text.\n"
        "  More: docs/errors.md#compiler-bug"
    )
    assert not isinstance(bug, UserError)


@pytest.mark.parametrize(
    ("name", "builtins"),
    [
        ("ShapeError", [ValueError]),
        ("DTypeError", [TypeError]),
        ("EscapedArrayError", [RuntimeError]),
        ("NotTraceableError", [TypeError]),
        ("IndexOutOfBounds", [IndexError, LookupError]),
        ("NegativeExtentError", [ValueError]),
        ("ExtentOverflowError", [OverflowError, ArithmeticError]),
        ("OperatorError", [TypeError]),
        ("NestingError", [TypeError]),
        ("ArgumentError", [TypeError, ValueError]),
        ("OutOfMemory", [MemoryError]),
        ("DeviceError", [RuntimeError]),
        ("Unsupported", [NotImplementedError]),
    ],
)
def test_every_user_error_is_also_the_builtin_one_expects(name, builtins):
    """Code written for NumPy's exceptions catches ours."""
    error = getattr(errors, name)("no.")

    assert isinstance(error, UserError)
    assert all(isinstance(error, builtin) for builtin in builtins)
    assert str(error) == f"no.\n  More: docs/errors.md#{error.anchor}"


def test_errors_travel_between_processes():
    """A worker process hands its error to the parent, message and all."""
    error = ShapeError("no.", where=SAXPY, origins=["xs: f32[3]"], remedy="Do not.")

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is ShapeError
    assert str(copy) == str(error)


def test_a_bug_travels_between_processes():
    """The pass and the replay command survive the journey."""
    bug = CompilerBug("no.", pass_name="fuse", replay="python -m flatweave.tools.opt")

    assert str(pickle.loads(pickle.dumps(bug))) == str(bug)
