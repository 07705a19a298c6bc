"""Arrays and rows as a notebook shows them: facts, and a small picture; and tags of HTML and SVG.

    array(xs)     f64[512, 512] · 2.0 MiB, and a picture of it; of other ranks the elements as text
    rows(xss)     1,000 rows · 31,415 values · f64 · 253 KiB, and a histogram of their lengths

    tag("a", "x < y", href="#k")          <a href="#k">x &lt; y</a>

Colours of text and lines are those of the notebook, so that they fit light and dark ones. Nothing
here takes long: of large arrays some elements are looked at, and of those on a device none.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import as_dtype
from flatweave.base.pretty import counted, size
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.array import SHOWN, HostArray, describe
from flatweave.frontend.values.elsewhere import at_hand
from flatweave.frontend.values.number_formats import is_short, widened
from flatweave.frontend.values.tree import flat_values, flatten, spelled

EMPTY = frozenset({"br", "img", "input"})


class Markup(str):
    """Markup, which goes into other markup as it is."""


def text(thing: object) -> str:
    """A thing as markup."""
    return thing if isinstance(thing, Markup) else html.escape(str(thing))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element; `class_` is class, `data_of` is data-of; an attribute None is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            words.append(f'{key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"')
    if name in EMPTY:
        return Markup(f"<{' '.join(words)}>")
    return Markup(f"<{' '.join(words)}>{''.join(map(text, content))}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Parts concatenated."""
    return Markup(text(between).join(map(text, parts)))


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> Markup:
    """A table with a line for its head; on narrow screens it scrolls separately."""
    top = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    whole = tag("table", tag("thead", top), tag("tbody", *body))
    return tag("div", whole, class_="scroll")


def more(summary: object, *content: object, **attributes: object) -> Markup:
    """What opens when somebody asks for it."""
    return tag("details", tag("summary", summary), *content, **attributes)


# -- Texts that users ask to be written to a file --------------------------------------------------


# Numbers as pixels: small ones dark, large ones light, as a PNG in a line of text.
#
# png(np.eye(3))       "data:image/png;base64,iVBORw0.."


Numbers = np.ndarray[Any, np.dtype[Any]]
# dark blue over green to yellow: as bright for the colour-blind, and in grey
COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
LAST = 254  # the palette's entry for the largest number
UNKNOWN = 255  # that of what is no finite number
GREY = (128, 128, 128)


def palette() -> bytes:
    """Red, green and blue of each entry."""
    at = np.linspace(0, len(COLOURS) - 1, LAST + 1)
    parts = [np.interp(at, range(len(COLOURS)), part) for part in zip(*COLOURS, strict=True)]
    known = np.stack(parts, axis=-1).round().astype(np.uint8)
    return known.tobytes() + bytes(GREY)


def levels(numbers: Numbers) -> tuple[Numbers, float, float]:
    """Entries of the palette for numbers, and the least and the largest finite one."""
    with np.errstate(all="ignore"):
        shown = np.abs(numbers) if numbers.dtype.kind == "c" else numbers
        shown = shown.astype(np.float64)
        finite = np.isfinite(shown)
        least = float(shown[finite].min()) if finite.any() else 0.0
        most = float(shown[finite].max()) if finite.any() else 0.0
        # halves first: the distance of the largest floats is no float
        width = most / 2 - least / 2
        part = (shown / 2 - least / 2) / width if width else np.zeros(shown.shape)
        entries = np.where(finite, np.clip(part, 0, 1) * LAST, UNKNOWN)
    return entries.round().astype(np.uint8), least, most


def png(entries: Numbers) -> str:
    """A picture of entries of the palette, a pixel each."""
    height, width = entries.shape
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(entries))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, of a palette
    parts = ((b"IHDR", head), (b"PLTE", palette()), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    made = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in parts)
    return "data:image/png;base64," + base64.b64encode(made).decode("ascii")


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


MOST_PIXELS = 128  # of a side
LEAST_SIDE = 96  # of a picture, as far as whole numbers of dots for a pixel allow
MOST_ROWS = 65_536  # whose lengths are looked at
BARS, HIGH, WIDE = 24, 60, 10  # of a histogram: bars, the height of the largest, the width of each
STYLE = "font:13px/1.5 system-ui,sans-serif;margin:.2em 0"
DIM = "opacity:.7"
LINE = "1px solid color-mix(in srgb,currentColor 25%,transparent)"


def array(given: HostArray) -> str:
    """An array: what it is, and its elements where they are at hand."""
    facts = [describe(given), size(given.nbytes)]
    values = at_hand(given)
    if values is None:
        note = tag("div", f"The elements are on {given.device}: nothing was copied.", style=DIM)
        return _block([*facts, given.device], note)
    is_picture = values.ndim == 2 and values.size and as_dtype(values.dtype).kind in "biufc"
    parts = [_picture(values)] if is_picture else []
    if not is_picture or values.size <= SHOWN:
        parts.append(_text(str(given)))
    return _block(facts, *parts)


def rows(given: Ragged) -> str | None:
    """Rows: what they are, and how many have which length; None inside a trace."""
    if not isinstance(given.offsets, HostArray):
        return None
    leaves, tree = flatten(flat_values(given))
    text = spelled(tree, [str(leaf.dtype) for leaf in leaves])
    n_bytes = sum(leaf.nbytes for leaf in leaves) + _offsets(given)
    count, total = given.offsets.shape[0] - 1, int(leaves[0].shape[0]) if leaves else 0
    facts = [counted(count, "row"), counted(total, "value"), text, size(n_bytes)]
    offsets = at_hand(given.offsets)
    if offsets is None:
        facts.append(given.offsets.device)
    known = [] if offsets is None or count < 1 else [_histogram(offsets, count)]
    is_here = all(at_hand(leaf) is not None for leaf in flatten(given)[0])
    if is_here and total + count <= SHOWN:
        known.append(_text(repr(given)))
    return _block(facts, *known)


def _offsets(given: Any) -> int:
    """The bytes of the offsets of all levels."""
    found = 0
    while isinstance(given, Ragged):
        found += given.offsets.nbytes  # type: ignore[attr-defined]
        given = given.values
    return found


def _block(facts: Sequence[str], *content: Markup) -> str:
    return tag("div", tag("div", tag("b", facts[0]), f" · {' · '.join(facts[1:])}"), *content,
               style=STYLE)  # fmt: skip


def _text(text: str) -> Markup:
    return tag("pre", text, style="margin:.2em 0")


def _picture(values: Numbers) -> Markup:
    """Elements as pixels: all, or evenly chosen ones."""
    height, width = values.shape
    step = max(1.0, max(height, width) / MOST_PIXELS)
    lines, columns = (_chosen(extent, step) for extent in (height, width))
    chosen = values[np.ix_(lines, columns)]
    entries, least, most = levels(widened(chosen) if is_short(chosen) else chosen)
    scale = max(1, LEAST_SIDE // max(entries.shape))
    image = tag(
        "img", src=png(entries), alt=f"a picture of {height} x {width} numbers",
        width=entries.shape[1] * scale, height=entries.shape[0] * scale,
        style=f"image-rendering:pixelated;border:{LINE};margin:.3em 0",
    )  # fmt: skip
    shown = f"; {entries.shape[0]} x {entries.shape[1]} of all elements are shown"
    said = f"{least:.4g} (dark) to {most:.4g} (light)"
    some = "" if entries.shape == values.shape else shown
    kind = "absolute values " if values.dtype.kind == "c" else ""
    return joined([image, tag("div", f"{kind}{said}{some}", style=DIM)])


def _chosen(extent: int, step: float) -> Numbers:
    """Positions along an axis, evenly chosen."""
    count = max(1, round(extent / step))
    return np.linspace(0, extent - 1, count).round().astype(np.int64)


def _histogram(offsets: Numbers, count: int) -> Markup:
    """How many rows have which length: of all, or of rows that are evenly chosen."""
    places = np.linspace(0, count - 1, min(count, MOST_ROWS)).round().astype(np.int64)
    lengths = offsets[places + 1] - offsets[places]
    least, most = int(lengths.min()), int(lengths.max())
    bars = min(BARS, most - least + 1)
    edges = np.linspace(least, most + 1, bars + 1)
    counts, _ = np.histogram(lengths, edges)
    top = int(counts.max())
    boxes = []
    for k, n in enumerate(counts.tolist()):
        first, last = int(np.ceil(edges[k])), int(np.ceil(edges[k + 1])) - 1
        which = f"length {first}" if first == last else f"lengths {first} to {last}"
        high = max(round(HIGH * n / top), 1) if n else 0
        boxes.append(tag(
            "rect", tag("title", f"{which}: {counted(n, 'row')}"), x=k * WIDE, y=HIGH - high,
            width=WIDE - 1, height=high, fill="currentColor", opacity=".6",
        ))  # fmt: skip
    wide = bars * WIDE
    label = f"row lengths from {least} to {most}"
    picture = tag("svg", *boxes, width=wide, height=HIGH, viewBox=f"0 0 {wide} {HIGH}", role="img",
                  aria_label=label, style=f"border-bottom:{LINE};margin:.3em 0 0")  # fmt: skip
    mean = float(lengths.mean())
    some = "" if len(lengths) == count else f", of {len(lengths):,} rows evenly chosen"
    said = f"{label}, {mean:.4g} on average{some}"
    return joined([tag("div", picture), tag("div", said, style=DIM)])
