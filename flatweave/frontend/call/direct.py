"""Calls that machine code makes: which signatures of a function it knows.

    direct = DirectCalls()
    direct.call(xs, 2.5)                    NotImplemented: the call has to be made in Python
    direct.enter(key, args, entry)          after a call that Python made
    direct.call(xs, 2.5)                    the result; Ellipsis where the program ran in vain

Only what needs no Python is entered: a program of the CPU for the switches of the process, whose
operators have been tried, that calls no Python function, and whose arguments nobody donates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.config import CURRENT, PROCESS, config
from flatweave.base.recording import OPEN
from flatweave.frontend.call.signature import quick
from flatweave.frontend.values.array import HostArray, HostComplex, host_array
from flatweave.frontend.values.scope import TRACING
from flatweave.runtime import calls
from flatweave.runtime.calls import AS_THEY_ARE, Signature
from flatweave.runtime.cpu import CpuProgram

MOST = 32  # signatures of a function: a call is compared with each of them


class Direct(NamedTuple):
    """What machine code calls: a program, its arguments after the user's, what makes the result of
    several arrays, whether its operators have been tried, and how it is given arrays."""

    program: CpuProgram
    hidden: Sequence[Any]
    finish: Callable[[list[Any]], Any] | None
    is_tried: bool
    rows: int = AS_THEY_ARE


def in_python(*args: Any) -> Any:
    """What calls a function no signature of which is known."""
    return NotImplemented


class DirectCalls:
    """The signatures of a function whose calls machine code makes; `call` makes them."""

    __slots__ = ("_signatures", "call")

    call: Callable[..., Any]
    _signatures: dict[tuple[Any, ...], Signature | None]

    def __init__(self) -> None:
        self.forget()

    def enter(self, key: tuple[Any, ...], args: Sequence[Any], run: Any) -> None:
        """Let machine code call what `run` calls for arguments like these, if it can; `key` is what
        `quick` gives for them."""
        if key in self._signatures or config.current is not PROCESS or PROCESS.debug:
            return
        direct: Direct | None = run.direct() if hasattr(run, "direct") else None
        if direct is None:
            self._take(key, None)
        elif direct.is_tried and _is_open():
            values = [arg._values if isinstance(arg, HostArray) else arg for arg in args]
            rest = direct.program, values, direct.hidden, direct.rows, direct.finish
            self._take(key, calls.signature(*rest))

    def again(self, result: Any, args: Sequence[Any]) -> Any:
        """The result of a call that was repeated in Python, as are others like it from now on."""
        key: list[Any] = []
        if quick(tuple(args), key, []):
            self._take(tuple(key), None)
        return result

    def forget(self) -> None:
        """Let Python make all calls again."""
        self.call, self._signatures = in_python, {}

    def _take(self, key: tuple[Any, ...], signature: Signature | None) -> None:
        signatures = {**self._signatures, key: signature}
        while len(signatures) > MOST:
            del signatures[next(iter(signatures))]
        known = [each for each in signatures.values() if each is not None]
        self._signatures = signatures
        self.call = calls.callable_for(known) if known else in_python


def _is_open() -> bool:
    example = host_array(np.zeros(1))
    known = calls.Known(HostArray, HostComplex, example, CURRENT, PROCESS, OPEN, TRACING)
    return calls.open_for(known)
