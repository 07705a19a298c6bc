"""Lines, words, bytes and the longest line of text, as `wc -lwcL` counts them, by one reduce.

    python examples/wc.py                         all ASCII text below /usr/share/doc
    python examples/wc.py FILE...                 these files, concatenated
    python examples/wc.py --megabytes 500         the text repeated to 500 MB, in a race with wc

Counting lines is easy to do in parallel; the longest line is not: a piece of text cut out of the
middle of a line does not know in which column it starts, and a tab in it jumps to the next multiple
of 8, wherever that is. So a piece is described by what it does to *any* start: `Piece` holds that,
`join` puts two neighbours together, and because `join` is associative, all cores can work at once.

Columns are those of `wc` in the C locale: printable ASCII is one wide, every other byte is zero. A
word is a run of bytes that are no white space. For ASCII text that is what wc gives, byte by byte.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw

PLAIN = bytes(range(32, 127)) + b"\t\n\v\f\r"  # the bytes of ASCII text


class Piece(NamedTuple):
    """What a piece of text counts, and what it does to the column where it starts."""

    lines: Any
    words: Any
    first: Any  # the kind of its first byte: 2 in a word, 1 white space, 0 no byte
    last: Any  # the kind of its last byte
    head: Any  # columns before its first tab or line end
    tabbed: Any  # a tab comes before any line end
    body: Any  # columns from that tab's stop to the first line end
    ended: Any  # it has a line end
    tail: Any  # columns after its last line end
    longest: Any  # the longest line that starts and ends inside


NOTHING = Piece(0, 0, 0, 0, 0, False, 0, False, 0, 0)


def piece_of(byte: Any) -> Piece:
    """One byte of text."""
    newline, tab = byte == ord("\n"), byte == ord("\t")
    ended = newline | (byte == ord("\f")) | (byte == ord("\r"))
    space = ended | tab | (byte == ord(" ")) | (byte == ord("\v"))
    kind = fw.where(space, 1, 2)
    width = (byte >= ord(" ")) & (byte <= ord("~"))
    return Piece(
        lines=newline.astype(fw.i64),
        words=kind - 1,
        first=kind,
        last=kind,
        head=width.astype(fw.i64),
        tabbed=tab,
        body=0,
        ended=ended,
        tail=0,
        longest=0,
    )


def column_after(start: Any, piece: Piece) -> Any:
    """The column at a piece's first line end, or at its end, when it starts in column `start`."""
    column = start + piece.head
    stop = (column | 7) + 1  # a tab goes to the next multiple of 8
    return fw.where(piece.tabbed, stop + piece.body, column)


def join(x: Piece, y: Piece) -> Piece:
    """Two successive pieces: associative, not commutative."""
    start = fw.where(x.ended, x.tail, fw.where(x.tabbed, x.body, x.head))
    met = column_after(start, y)
    cut_word = (x.last == 2) & (y.first == 2)
    line = fw.where(x.ended & y.ended, met, 0)
    return Piece(
        lines=x.lines + y.lines,
        words=x.words + y.words - cut_word.astype(fw.i64),
        first=fw.where(x.first == 0, y.first, x.first),
        last=fw.where(y.last == 0, x.last, y.last),
        head=fw.where(x.ended | x.tabbed, x.head, x.head + y.head),
        tabbed=x.tabbed | (~x.ended & y.tabbed),
        body=fw.where(x.ended, x.body, fw.where(x.tabbed, met, y.body)),
        ended=x.ended | y.ended,
        tail=fw.where(y.ended, y.tail, fw.where(x.ended, met, 0)),
        longest=fw.maximum(fw.maximum(x.longest, y.longest), line),
    )


@fw.jit
def count(text: Any) -> Any:
    """Lines, words, bytes and the longest line of an array of bytes."""
    all_of_it = fw.reduce(join, NOTHING, fw.map(piece_of, text))
    first_line = column_after(0, all_of_it)
    longest = fw.maximum(all_of_it.longest, fw.maximum(first_line, all_of_it.tail))
    return all_of_it.lines, all_of_it.words, text.size, longest


def numpy_count(text: np.ndarray) -> tuple[int, int, int]:
    """Lines, words and bytes as one counts them in NumPy; tab stops have no simple form there."""
    space = np.zeros(256, bool)
    space[list(b"\t\n\v\f\r ")] = True
    in_word = ~space[text]
    starts = np.count_nonzero(in_word[1:] & ~in_word[:-1]) + int(in_word[:1].sum())
    return np.count_nonzero(text == ord("\n")), starts, text.size


def wc(path: str) -> tuple[int, ...] | None:
    """What the program wc says of a file; None where there is no wc that knows -L."""
    command = shutil.which("wc")
    if command is None:
        return None
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(
        [command, "-lwcL", path], env=environment, capture_output=True, text=True, check=False
    )
    return tuple(int(word) for word in done.stdout.split()[:4]) if done.returncode == 0 else None


def is_ascii_text(data: bytes | np.ndarray) -> bool:
    """Whether all bytes are printable ASCII or white space."""
    return not bytes(data).translate(None, PLAIN)


def files_below(folder: Path, pattern: str = "*") -> Iterator[Path]:
    """The ASCII text files below a folder, in the order of their names."""
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and os.access(path, os.R_OK) and is_ascii_text(path.read_bytes()):
            yield path


def default_text() -> bytes:
    """The text of /usr/share/doc; of Python's library where that is missing or small."""
    data = b"".join(path.read_bytes() for path in files_below(Path("/usr/share/doc")))
    if len(data) >= 1_000_000:
        return data
    library = files_below(Path(sysconfig.get_path("stdlib")), "*.py")
    return b"".join(path.read_bytes() for path in library)


def repeated(data: bytes, extent: int) -> bytes:
    """Text repeated to this many bytes."""
    return (data * (extent // max(len(data), 1) + 1))[:extent]


def mapped(path: str) -> np.ndarray:
    """The bytes of a file, not read before they are needed."""
    return np.memmap(path, np.uint8, "r") if os.path.getsize(path) else np.empty(0, np.uint8)


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and the seconds until it was there."""
    start = time.perf_counter()
    result = job()
    return result, time.perf_counter() - start


def race(data: bytes) -> bool:
    """Print what Flatweave and wc count in one file, and how fast; whether they agree."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(data)
        file.flush()
        del data
        count(np.zeros(1, np.uint8))  # compile
        ours, seconds = timed(lambda: count(mapped(file.name)))
        theirs, wc_seconds = timed(lambda: wc(file.name))
        size = os.stat(file.name).st_size / 1e9
    counted = tuple(int(number) for number in ours)
    print(f"flatweave: {counted}  {seconds:.2f} s  {size / seconds:.2f} GB/s")
    if theirs is None:
        print("wc: no installed wc supports -L")
        return True
    print(f"GNU wc:    {theirs}  {wc_seconds:.2f} s  {size / wc_seconds:.2f} GB/s")
    print(f"Flatweave takes {seconds / wc_seconds:.2f} of the time of wc")
    return counted == theirs


def main(argv: list[str]) -> int:
    """Count, print, compare with wc: 0 when they agree."""
    parser = argparse.ArgumentParser(description="lines, words, bytes, longest line of text")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--megabytes", type=int, help="repeat the text to this size")
    options = parser.parse_args(argv)
    read = b"".join(path.read_bytes() for path in options.files)
    data = read if options.files else default_text()
    if options.megabytes:
        data = repeated(data, options.megabytes * 1_000_000)
    ascii_only = is_ascii_text(data)
    agree = race(data)
    if not ascii_only:
        print("not all of it is ASCII text: versions of wc differ in what its other bytes are")
    return 0 if agree or not ascii_only else 1


def cases(megabytes: int = 500) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    text = np.frombuffer(repeated(default_text(), megabytes * 1_000_000), np.uint8)
    yield (
        "wc -lwcL",
        f"{megabytes} MB of text",
        lambda: count(text),
        lambda: numpy_count(text),
        lambda ours, numpys: tuple(int(number) for number in ours)[:3] == numpys,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
