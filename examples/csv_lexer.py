"""A CSV lexer in one pass over the bytes: a scan over functions from states to states.

    python examples/csv_lexer.py                  a table made of Python's own library
    python examples/csv_lexer.py FILE             this file; compared with Python's csv module

Whether a comma ends a field depends on every quote before it, so a lexer seems to need one byte
after the other. But each byte *is* a function from states to states, and composing functions is
associative: a scan over composition gives the state before every byte, on all cores at once. The
rest is a filter: of the bytes that belong to a field, and of the positions where a field ends.

A function over six states is one number: five bits for each state, which say where the state goes.
A state is written as the position of its five bits, so that applying a function is shift and mask.
"""

from __future__ import annotations

import csv
import io
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw

BITS = 5
STATES = range(0, 6 * BITS, BITS)
# at the start of a record, of a field, in a plain field, in a quoted one, after a quote in a
# quoted one (its end, or the first of two that stand for one), after a carriage return
RECORD, FIELD, PLAIN, QUOTED, CLOSED, RETURN = STATES


def function(*goes_to: int) -> int:
    """The number of the function that takes each state, in their order, to these."""
    return sum(to << state for state, to in zip(STATES, goes_to, strict=True))


#                   RECORD  FIELD   PLAIN   QUOTED  CLOSED  RETURN
SAME = function(*STATES)
COMMA = function(FIELD, FIELD, FIELD, QUOTED, FIELD, FIELD)
NEWLINE = function(RECORD, RECORD, RECORD, QUOTED, RECORD, RECORD)
CARRIAGE = function(RETURN, RETURN, RETURN, QUOTED, RETURN, RETURN)
QUOTE = function(QUOTED, QUOTED, PLAIN, CLOSED, QUOTED, QUOTED)
OTHER = function(PLAIN, PLAIN, PLAIN, QUOTED, PLAIN, PLAIN)

WITHIN, ENDS_FIELD, ENDS_ROW, ENDS_BLANK = range(4)  # what a byte is to the table


def step(byte: Any) -> Any:
    """What a byte does to the states."""
    does = fw.where(byte == ord(","), COMMA, OTHER)
    does = fw.where(byte == ord("\n"), NEWLINE, does)
    does = fw.where(byte == ord("\r"), CARRIAGE, does)
    return fw.where(byte == ord('"'), QUOTE, does).astype(fw.u32)


def then(f: Any, g: Any) -> Any:
    """First f, then g: associative, not commutative."""
    both = 0
    for state in STATES:
        between = (f >> state) & 31
        both = both | (((g >> between) & 31) << state)
    return both


def role(before: Any, byte: Any) -> Any:
    """What a byte ends, if anything, and whether it belongs to the content of a field."""
    state = (before >> RECORD) & 31  # everything before it, applied to the first state
    line_end = (byte == ord("\n")) | (byte == ord("\r"))
    second = (byte == ord("\n")) & (state == RETURN)  # of a line end of two bytes
    ends = (state != QUOTED) & ~second & (line_end | (byte == ord(",")))
    empty = (state == RECORD) | (state == RETURN)
    opens = empty | (state == FIELD)
    mark = (byte == ord('"')) & (opens | (state == QUOTED))
    what = fw.where(line_end, fw.where(empty, ENDS_BLANK, ENDS_ROW), ENDS_FIELD)
    return fw.where(ends, what, WITHIN).astype(fw.u8), ~(ends | second | mark)


@fw.jit
def lex(text: Any) -> Any:
    """The bytes of all fields; where in them each field ends; and what ends with it."""
    before = fw.scan(then, SAME, fw.map(step, text), exclusive=True)
    what, kept = fw.map(role, before, text)
    ends, kinds = fw.filter(lambda end: end[1] != WITHIN, (fw.cumsum(kept), what))
    content, _ = fw.filter(lambda byte: byte[1], (text, kept))
    return content, ends, kinds


def terminated(data: bytes) -> np.ndarray:
    """The bytes of a table, its last row ended too."""
    is_ended = not data or data.endswith((b"\n", b"\r"))
    return np.frombuffer(data if is_ended else data + b"\n", np.uint8)


def rows(data: bytes) -> list[list[str]]:
    """A table as Python's csv module gives it."""
    content, ends, kinds = (np.asarray(part) for part in lex(terminated(data)))
    if content.size != ends[-1:].sum():
        raise ValueError("a quoted field is not closed")
    letters = content.tobytes()
    table: list[list[str]] = []
    row: list[str] = []
    start = 0
    for end, kind in zip(ends.tolist(), kinds.tolist(), strict=True):
        row.append(letters[start:end].decode())
        start = end
        if kind != ENDS_FIELD:
            table.append([] if kind == ENDS_BLANK else row)
            row = []
    return table


def python_rows(data: bytes) -> list[list[str]]:
    """The same by the csv module."""
    csv.field_size_limit(1 << 30)
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def library_table(limit: int = 20_000_000) -> bytes:
    """A row for each paragraph of Python's library: module, number, text with all its quotes."""
    written = io.StringIO(newline="")
    table = csv.writer(written)
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        paragraphs = path.read_text(encoding="utf-8", errors="replace").split("\n\n")
        table.writerows((path.stem, number, text) for number, text in enumerate(paragraphs))
        if written.tell() > limit:
            break
    return written.getvalue().encode(errors="replace")


def main(argv: list[str]) -> int:
    """Lex a file, compare with the csv module: 0 when they agree."""
    data = Path(argv[0]).read_bytes() if argv else library_table()
    text = terminated(data)
    lex(text[:100])  # compile
    start = time.perf_counter()
    content, ends, _ = lex(text)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = python_rows(data)
    python_seconds = time.perf_counter() - start
    size = text.size / 1e9
    print(f"{len(expected)} rows, {ends.size} fields with {content.size} bytes of {text.size}")
    print(f"flatweave:  {seconds:.3f} s  {size / seconds:.2f} GB/s")
    print(f"csv module: {python_seconds:.3f} s  {size / python_seconds:.2f} GB/s")
    if rows(data) != expected:
        print("WRONG: the rows differ from those of the csv module")
        return 1
    return 0


def cases(limit: int = 20_000_000) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in Python, whether they agree."""
    data = library_table(limit)
    text = terminated(data)
    yield (
        "CSV (next to module csv)",
        f"{text.size / 1e6:.0f} MB of CSV",
        lambda: lex(text),
        lambda: python_rows(data),
        lambda _, pythons: rows(data) == pythons,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
