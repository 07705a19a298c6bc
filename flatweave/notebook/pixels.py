"""Numbers as pixels: small ones dark, large ones light, as a PNG in a line of text.

    png(np.eye(3))       "data:image/png;base64,iVBORw0.."
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

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
