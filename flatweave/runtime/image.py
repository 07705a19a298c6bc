"""Machine code that a process can map without a linker: bytes, and what is filled in when mapped.

    code | constants, addresses of other symbols | data          each part from a page on
    MappedCode(image, symbol_address).address("fw_main")

Distances within an image are fixed when it is made (`elf.py`); left are the addresses of symbols
outside of it and, seldom, its own. Code is never writable once it is executable.
"""

from __future__ import annotations

import ctypes
import functools
import marshal
import mmap
from collections.abc import Callable, Mapping
from typing import Any

from flatweave.base.errors import CompilerBug
from flatweave.base.records import record
from flatweave.runtime.systems.symbols import Missing, symbol_address

READ, EXECUTE = 1, 4  # of sys/mman.h; Windows has no such numbers, and maps no images


class Unfit(Exception):
    """Bytes that are no image, or an image that cannot be mapped here."""


@record(eq=True)
class Image:
    """The sizes of the three parts, whole pages; their bytes, without zeros at the end; where
    symbols are that it defines; where the addresses of others go; where its own go."""

    sizes: tuple[int, int, int]
    content: bytes
    defined: Mapping[str, int]
    wanted: tuple[tuple[int, str], ...]
    own: tuple[tuple[int, int], ...]

    def plain(self) -> tuple[object, ...]:
        """The same as numbers, texts and bytes, for `marshal`."""
        return self.sizes, self.content, dict(self.defined), self.wanted, self.own


class MappedCode:
    """An image in memory, for as long as this object lives."""

    __slots__ = ("__weakref__", "_base", "_memory", "defined")
    stored_as = ""  # no object of it is left

    def __init__(self, image: Image, find: Callable[[str], int]) -> None:
        """Raises Unfit where a symbol is not found, or the system refuses."""
        self.defined = image.defined
        try:
            self._memory = mmap.mmap(-1, sum(image.sizes), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as failure:
            raise Unfit(str(failure)) from None
        self._memory[: len(image.content)] = image.content
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for at, symbol in image.wanted:
            try:
                self._fill(at, find(symbol))
            except Missing as failure:
                raise Unfit(str(failure)) from None
        for at, target in image.own:
            self._fill(at, self._base + target)
        code, constants, _ = image.sizes
        self._protect(0, code, READ | EXECUTE)
        self._protect(code, constants, READ)

    def address(self, symbol: str) -> int:
        """The address of a function or global."""
        if symbol not in self.defined:
            raise CompilerBug(f"the image has no {symbol}")
        return self._base + self.defined[symbol]

    def _fill(self, at: int, address: int) -> None:
        self._memory[at : at + 8] = address.to_bytes(8, "little")

    def _protect(self, start: int, size: int, access: int) -> None:
        if size and _mprotect()(self._base + start, size, access) != 0:
            raise Unfit("the system refuses to make memory executable")


def to_bytes(content: Any) -> bytes:
    """Numbers, texts, bytes and tuples of them as bytes."""
    return marshal.dumps(content)


def from_bytes(content: bytes) -> object:
    """What `to_bytes` was given; Unfit for other bytes."""
    try:
        return marshal.loads(content)
    except (EOFError, ValueError, TypeError) as failure:
        raise Unfit(str(failure)) from None


def image_from(content: object) -> Image:
    """The image that `plain` made plain; Unfit for anything else."""
    match content:
        case (
            (int(code), int(constants), int(data)), bytes(raw), dict(defined), tuple(wanted),
            tuple(own),
        ):  # fmt: skip
            return Image((code, constants, data), raw, defined, wanted, own)
    raise Unfit("not an image")


@functools.cache
def _mprotect() -> Callable[[int, int, int], int]:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return prototype(symbol_address("mprotect"))
