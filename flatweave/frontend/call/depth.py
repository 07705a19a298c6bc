"""Nesting that Python's stack does not hold: told in the user's terms.

    cond(p, lambda: cond(q, lambda: ..   300 deep      Unsupported: f nests too deeply
    def f(x): return f(x)                              RecursionError, which is Python's own matter
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from flatweave.base.errors import Unsupported
from flatweave.base.source import user_location

OURS = str(Path(__file__).parents[2])
LAST = 200
"""So many frames tell who recurses: those of a program that nests are ours and the user's."""


def too_deep(error: RecursionError, who: str) -> Exception:
    """What to raise instead of `error`; the error itself where only the user's code recurses."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not any(frame.f_code.co_filename.startswith(OURS) for frame in frames[-LAST:]):
        return error
    return Unsupported(
        f"{who} nests functions, branches or tuples deeper than Python's stack allows:"
        f" it holds {sys.getrecursionlimit()} calls.",
        where=user_location(),
        remedy="Use a loop (fw.fori_loop, fw.while_loop) for what is repeated, or allow more calls"
        " with sys.setrecursionlimit.",
    )
