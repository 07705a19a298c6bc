"""Plain text for people: lists in a sentence, indented bodies, aligned tables, sizes, times.

    table(["stage", "seconds"], [["fuse", 0.25], ["codegen", 1.5]], right={1})

    stage    seconds
    fuse        0.25
    codegen      1.5
"""

from collections.abc import Collection, Iterable, Sequence


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
