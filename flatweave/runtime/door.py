"""The one lazy door: the compiler is imported when the first program must be compiled.

    compiler().build(program, "cpu", True, CHOSEN)

In front of it is what traces and what runs; behind it `pipeline`, with passes, lowering, code
generation and LLVM, which cost twice as much to import. The import is work of a thread of its own,
so that an interrupt leaves no module half made, and under a lock that a fork waits for: a child
would wait for ever for the import of a thread that is not there.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from flatweave.base.forks import IMPORTS, wait_at_fork
from flatweave.base.locks import Lock
from flatweave.runtime.deep import on_deep_stack

COMPILER = "flatweave.pipeline"
IMPORTING = Lock()


def compiler() -> ModuleType:
    """The module `pipeline`."""
    return _OPENED[0] if _OPENED else on_deep_stack(_open)


def _open() -> ModuleType:
    with IMPORTING:
        if not _OPENED:
            _OPENED.append(importlib.import_module(COMPILER))
        return _OPENED[0]


_OPENED: list[ModuleType] = []
wait_at_fork(IMPORTS, IMPORTING.__enter__, lambda: IMPORTING.__exit__(None, None, None))
