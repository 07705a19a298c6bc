"""Tracebacks without frames of ours: of a mistake in a program, the lines of that program are left.

flatten(sums)                 app.py:9          kept
Jitted.__call__ .. trace      flatweave/..      20 frames, left out
lambda x: x if x > 0 else 0   app.py:4          kept
Tracer.__bool__               flatweave/..      left out
NotTraceableError: ..
"""

from __future__ import annotations

from types import TracebackType

from flatweave.base.config import config
from flatweave.base.errors import UserError

PACKAGE = __name__.partition(".")[0]


def leave_ours_out(error: Exception) -> None:
    """Take our frames out of the traceback of a user's mistake; `FLATWEAVE_DEBUG=1` leaves all.

    An error that a line of ours raises and that is no UserError is a fault of ours: it keeps them.
    """
    kept: list[TracebackType] = []
    is_ours = True
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_globals.get("__name__") or ""
        is_ours = name.partition(".")[0] == PACKAGE
        if not is_ours:
            kept.append(step)
        step = step.tb_next
    if config.debug or (is_ours and not isinstance(error, UserError)):
        return
    shown: TracebackType | None = None
    for step in reversed(kept):
        shown = TracebackType(shown, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = shown
    if isinstance(error.__cause__, UserError):  # which NumPy wrapped in its own error
        leave_ours_out(error.__cause__)
