"""A terminal shows what takes long to compile, on a line that is gone when it is done."""

import os
import pty
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import flatweave as fw
from flatweave.base import recording
from flatweave.base.config import config
from flatweave.base.recording import PhaseTimer
from flatweave.runtime import native

CLEAR = "\r\x1b[K"


@contextmanager
def terminal() -> Iterator[Callable[[], str]]:
    """Standard error is a terminal inside, which tells what it has shown."""
    ours, theirs = pty.openpty()
    before = sys.stderr
    with open(theirs, "w", encoding="utf-8") as sys.stderr:

        def text() -> str:
            sys.stderr.write("|")  # what is written comes in pieces: this ends the last one
            sys.stderr.flush()
            found = ""
            while not found.endswith("|"):
                found += os.read(ours, 10_000).decode()
            return found.removesuffix("|")

        try:
            yield text
        finally:
            sys.stderr = before
            os.close(ours)


@pytest.fixture
def slow(monkeypatch):
    """LLVM takes its time."""
    real = native.compile_object

    def compile_object(text, **given):
        time.sleep(0.7)
        return real(text, **given)

    monkeypatch.setattr(native, "compile_object", compile_object)


def spread(xs, by):
    """Another program for each `by`, of several kernels."""
    return fw.cumsum(xs / by), fw.sort(xs - by)


def call(by: float) -> None:
    with config.scoped(no_cache=True):
        first, second = fw.jit(spread, target="cpu", static_argnames="by")(np.arange(1000.0), by)
    assert len(first) == len(second) == 1000


def test_a_terminal_shows_the_function_its_line_and_its_kernels(slow, monkeypatch):
    """The line is written again as kernels are made, and erased at the end."""
    monkeypatch.setattr(recording, "PATIENCE", 0.1)
    with terminal() as text:
        call(2.5)
        lines = text().split(CLEAR)

    place = f"tests/base/test_progress.py:{spread.__code__.co_firstlineno + 2}"
    assert lines[0] == lines[-1] == ""
    assert lines[1].startswith(f"flatweave: compiling spread ({place})")
    assert any(re.search(r", \d of [1-9] kernels, \d s$", line) for line in lines), lines
    assert not recording._SHOWN


def test_the_line_is_written_again_when_it_changes(monkeypatch):
    """As kernels are made; the same text is not written twice, and one line is shown at a time."""
    monkeypatch.setattr(recording, "PATIENCE", 0.0)
    timer = PhaseTimer("search")
    shown, others = recording.shown(timer), recording.shown(PhaseTimer("other"))
    with terminal() as text, shown as look, others as other:
        look()
        other()
        timer.expect(3)
        look()
        timer.finish(2)
        look()
        look()
        lines = text().split(CLEAR)

    assert [re.sub(r", \d+ s$", "", line) for line in lines] == [
        "",
        "flatweave: compiling search",
        "flatweave: compiling search, 0 of 3 kernels",
        "flatweave: compiling search, 2 of 3 kernels",
    ]
    assert not recording._SHOWN


def test_nothing_is_said_of_what_is_compiled_soon(slow):
    """As nearly all programs are."""
    with terminal() as text:
        call(3.5)
        assert text() == ""


def test_nothing_is_said_where_nobody_looks(slow, monkeypatch, capfd):
    """Not into a file, nor a pipe."""
    monkeypatch.setattr(recording, "PATIENCE", 0.1)
    call(4.5)

    assert capfd.readouterr().err == ""


def test_a_terminal_that_is_gone_does_not_matter(slow, monkeypatch):
    """The compilation goes on."""
    monkeypatch.setattr(recording, "PATIENCE", 0.0)
    monkeypatch.setattr(recording, "_is_terminal", lambda: True)
    monkeypatch.setattr(sys, "stderr", Gone())
    call(5.5)

    assert Gone.written > 1


class Gone:
    """A terminal whose window has been closed."""

    written = 0

    def write(self, text: str) -> None:
        Gone.written += 1
        raise OSError(5, "Input/output error")
