"""Tracebacks of mistakes have the lines of the program, and few of ours."""

import traceback

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.pretty import counted
from flatweave.frontend.trace.run_time_checks import leave_ours_out


def modules_of(error):
    """The modules whose lines a traceback has, outermost first."""
    names = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [name.partition(".")[0] for name in names]


def branching(x):
    return x if x > 0 else -x


@fw.jit
def positive(xs):
    return fw.map(branching, xs)


@pytest.mark.parametrize("call", [positive, lambda xs: fw.map(branching, xs)])
def test_lines_of_the_program_are_left(call):
    """Those from the call to the line that is wrong, and at most two of ours."""
    with pytest.raises(fw.NotTraceableError) as caught:
        call(np.arange(3.0))

    found = modules_of(caught.value)
    lines = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert lines[-1] == "branching"
    assert found.count("flatweave") <= 2


def test_an_error_of_the_program_itself_is_shown_alike():
    """What a line of the user's raises while it is traced is no fault of ours."""
    with pytest.raises(ZeroDivisionError) as caught:
        fw.jit(lambda x: x * (1 // 0))(1)

    assert modules_of(caught.value).count("flatweave") <= 2


def test_all_frames_are_there_where_they_are_asked_for():
    """`FLATWEAVE_DEBUG=1` shows every frame."""
    with config.scoped(debug=True), pytest.raises(fw.NotTraceableError) as caught:
        positive(np.arange(3))

    assert modules_of(caught.value).count("flatweave") > 5


def test_a_fault_of_ours_keeps_its_frames():
    """An internal error leads to the line of ours that raised it."""
    with pytest.raises(TypeError) as caught:
        counted(2, None)

    leave_ours_out(caught.value)
    assert modules_of(caught.value)[-1] == "flatweave"
