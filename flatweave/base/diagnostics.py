"""Sentences for people that keep the facts they are made of: they print and compare as text.

note = Note("a scan is stored (f64[n]): total.py:4 needs it first", where=.., array="f64[n]")
note.line                   total.py:3
"is stored" in note         True
"""

from __future__ import annotations

from typing import Any

from flatweave.base.source import Location


class Diagnostic(str):
    """A sentence, and the line of the program that it is about, where that is known."""

    where: Location | None

    @property
    def line(self) -> str:
        """The line that it is about, `total.py:3`; "" where that is unknown."""
        return str(self.where) if self.where else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return (str, (str(self),))  # another process has the sentence, not the program


class Note(Diagnostic):
    """What was decided about an array or a kernel, and why: `str` of it is the whole sentence."""

    what: str
    """What it is about: "a scan"."""
    name: str
    """The array that is stored, as the program calls it; "" where it is about none."""
    array: str
    """The type of that array: `f64[n_1]`."""
    reason: str
    """Why that was decided."""
    remedy: str
    """What would help, if anything is known to."""
    kernel: str
    """The kernel that runs for this reason; "" where it is about none."""
    cost: float
    """What is computed again for each element, in additions; 0 where nothing is."""

    def __new__(
        cls, text: str, where: Location | None = None, *, what: str = "", name: str = "",
        array: str = "", reason: str = "", remedy: str = "", kernel: str = "", cost: float = 0,
    ) -> Note:  # fmt: skip
        """A sentence about this line; without a `reason`, the whole of it is one."""
        made = super().__new__(cls, text)
        made.where, made.what, made.name, made.array = where, what, name, array
        made.reason, made.remedy, made.kernel = reason or text, remedy, kernel
        made.cost = cost
        return made


class StoredArray(Diagnostic):
    """An array that a program writes to memory: `str` of it is `t_12: f64[n_1], share.py:3`."""

    name: str
    """What it is called in the program."""
    type: str
    """Its dtype and extents: `f64[n_1]`."""
    is_result: bool
    """Whether the caller gets it."""
    bytes: int | None
    """Its size for the arguments at hand; None where only a run tells it."""

    def __new__(
        cls, name: str, type: str, is_result: bool, where: Location | None, bytes: int | None
    ) -> StoredArray:
        """The array of this name and type."""
        place = f", {where.file}:{where.line}" if where else ""
        made = super().__new__(cls, f"{name}: {type}{' (result)' if is_result else ''}{place}")
        made.name, made.type, made.is_result = name, type, is_result
        made.where, made.bytes = where, bytes
        return made
