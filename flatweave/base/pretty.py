"""Text for people: lists and tables, and sentences that keep their facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from flatweave.base.source import Location

# -- pretty ---------------------------------------------------------------------------------------
#
# Plain text for people: lists in a sentence, indented bodies, aligned tables, sizes, times.
#
#     table(["stage", "seconds"], [["fuse", 0.25], ["codegen", 1.5]], right={1})
#
#     stage    seconds
#     fuse        0.25
#     codegen      1.5


def indent(text: str, by: int = 2) -> str:
    """Every line that is not empty, moved right by `by` spaces."""
    return "\n".join(" " * by + line if line else line for line in text.split("\n"))


def lines(*parts: str) -> str:
    """The parts that are not empty, one below the other."""
    return "\n".join(part for part in parts if part)


def listed(words: Iterable[object], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`: a list inside a sentence."""
    items = [str(word) for word in words]
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that this one is likely to stand for; "" where none is near."""
    found = min(((_edits(word.lower(), each), each) for each in known), default=(0, ""))
    return found[1] if 2 * found[0] <= len(found[1]) else ""


def _edits(a: str, b: str) -> int:
    """How many letters must be put in, left out or replaced to get from one word to the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 launch`, `2 launches`: the number with its noun."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], right: Collection[int] = ()
) -> str:
    """Columns aligned with two spaces between them; the columns in `right` end together."""
    body = [[str(cell) for cell in row] for row in rows]
    whole = [list(header), *body] if header else body
    if not whole:
        return ""
    widths = [max(len(cell) for cell in column) for column in zip(*whole, strict=True)]
    return "\n".join(aligned(row, widths, right) for row in whole)


def aligned(row: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    """One row of a table."""
    cells = [
        cell.rjust(width) if i in right else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def size(n_bytes: int) -> str:
    """`512 B`, `1.5 KiB`, `40.0 MiB`: a size in memory."""
    amount = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024:
            return f"{n_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} EiB"


def duration(seconds: float) -> str:
    """`850 ns`, `12.3 us`, `4.56 ms`, `7.89 s`: a time with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


# -- diagnostics ----------------------------------------------------------------------------------
#
# Sentences for people that keep the facts they are made of: they print and compare as text.
#
# note = Note("a scan is stored (f64[n]): total.py:4 needs it first", where=.., array="f64[n]")
# note.line                   total.py:3 "is stored" in note         True


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
