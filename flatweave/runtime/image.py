"""Machine code that a process maps without a linker: images, and how object files become them."""

from __future__ import annotations

import ctypes
import functools
import marshal
import mmap
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from flatweave.base.errors import CompilerBug
from flatweave.base.records import record
from flatweave.runtime.systems import Missing, symbol_address

# Machine code that a process can map without a linker: bytes, and what is filled in when mapped.
#
#     code | constants, addresses of other symbols | data          each part from a page on
#     MappedCode(image, symbol_address).address("fw_main")
#
# Distances within an image are fixed when it is made (`image.py`); left are the addresses of
# symbols outside of it and, seldom, its own. Code is never writable once it is executable.


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


# Object files of LLVM become images: placed, and relocated as far as one can beforehand.
#
#     call memset (PLT32)          ==>   call stub;   stub: jmp [rip + slot];   slot: wanted memset
#     mov rax, fw_x (GOTPCREL)     ==>   mov rax, [rip + slot];                 slot: wanted fw_x
#     lea rdi, constants (PC32)    ==>   the distance, which is fixed
#
# What LLVM emits for us: 64-bit ELF for x86-64, position-independent, the small code model. An
# object with anything else in it is Unfit, and linked by LLVM in every process. Tables for
# unwinding are left out: nothing throws through compiled code.


X86_64 = 62
RELOCATABLE = 1
PROGBITS, SYMTAB, RELA, NOBITS, UNWIND = 1, 2, 4, 8, 0x70000001
WRITABLE, PRESENT, EXECUTABLE, OF_THREAD = 1, 2, 4, 0x400
UNDEFINED, RESERVED = 0, 0xFF00
# kinds of relocations: S the symbol, A a number, P the position, G the slot of the symbol's address
ABS64, PC32, PLT32, GOTPCREL, PC64, GOTPCRELX, REX_GOTPCRELX = 1, 2, 4, 9, 24, 41, 42
JUMP = b"\xff\x25"  # jmp [rip + ..]
STUB_BYTES = 8
PAGE = mmap.PAGESIZE


class Section(NamedTuple):
    """A row of the section table."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Symbol(NamedTuple):
    """A row of the symbol table: its name, the number of its section, its offset in that."""

    name: str
    section: int
    value: int
    is_global: bool


def image_of(found: bytes) -> Image:
    """The image of an object file; Unfit for what this does not know."""
    try:
        return _Linked(found).image()
    except (struct.error, IndexError, ValueError) as failure:
        raise Unfit(f"not an object file: {failure}") from None


class _Linked:
    """An object on its way: sections placed, stubs and slots handed out as they are asked for."""

    def __init__(self, found: bytes) -> None:
        self.found = found
        self.sections = _sections(found)
        self.symbols = self._symbols()
        self.places: dict[int, int] = {}
        self.stubs: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.own: list[tuple[int, int]] = []
        self.wanted: list[tuple[int, str]] = []

    def image(self) -> Image:
        """All of it."""
        relocations = list(self._relocations())
        names = {self._at(symbol).name for _, _, symbol, _ in relocations}
        code, constants, data = self._kept()
        end = self._place(code, 0)
        for name in sorted(names - {""}):
            self.stubs[name] = end = _up(end, STUB_BYTES)
            end += STUB_BYTES
        starts = [0, _up(end, PAGE)]
        end = self._place(constants, starts[1])
        for name in sorted(names - {""}):
            self.slots[name] = end = _up(end, 8)
            end += 8
        starts.append(_up(end, PAGE))
        end = _up(self._place(data, starts[2]), PAGE)
        content = bytearray(end)
        self._fill(content, relocations)
        ends = (*starts[1:], end)
        sizes = [stop - start for start, stop in zip(starts, ends, strict=True)]
        defined = {s.name: self._address(s) for s in self.symbols if s.is_global and s.section}
        return Image(
            (sizes[0], sizes[1], sizes[2]), bytes(content).rstrip(b"\0"), defined,
            tuple(self.wanted), tuple(self.own),
        )  # fmt: skip

    def _kept(self) -> tuple[list[int], list[int], list[int]]:
        """The sections of code, constants and data."""
        parts: tuple[list[int], list[int], list[int]] = ([], [], [])
        for number, section in enumerate(self.sections):
            if not section.flags & PRESENT or self._is_unwinding(section):
                continue
            if section.kind not in (PROGBITS, NOBITS) or section.flags & OF_THREAD:
                raise Unfit(f"a section of kind {section.kind}, flags {section.flags:#x}")
            if section.alignment > PAGE:
                raise Unfit("a section aligned to more than a page")
            is_data = 2 if section.flags & WRITABLE else 1
            parts[0 if section.flags & EXECUTABLE else is_data].append(number)
        return parts

    def _is_unwinding(self, section: Section) -> bool:
        names = self.sections[struct.unpack_from("<H", self.found, 62)[0]]
        return section.kind == UNWIND or _text(self.found, names.offset + section.name) == (
            ".eh_frame"
        )

    def _place(self, numbers: list[int], end: int) -> int:
        for number in numbers:
            section = self.sections[number]
            self.places[number] = end = _up(end, max(1, section.alignment))
            end += section.size
        return end

    def _fill(
        self, content: bytearray, relocations: list[tuple[int, int, int, tuple[int, int]]]
    ) -> None:
        for number, place in self.places.items():
            section = self.sections[number]
            if section.kind == PROGBITS:
                there = _content(self.found, section)
                content[place : place + len(there)] = there
        used: set[str] = set()
        for at, kind, symbol, (section_number, addend) in relocations:
            place = self.places[section_number] + at
            self._relocate(content, place, kind, self._at(symbol), addend, used)
        for name in sorted(used):
            stub, slot = self.stubs[name], self.slots[name]
            struct.pack_into("<2si", content, stub, JUMP, slot - stub - 6)
            known = [s for s in self.symbols if s.name == name and s.section != UNDEFINED]
            if known:
                self.own.append((slot, self._address(known[0])))
            else:
                self.wanted.append((slot, name))

    def _relocate(
        self, content: bytearray, place: int, kind: int, symbol: Symbol, addend: int,
        used: set[str],
    ) -> None:  # fmt: skip
        is_here = symbol.section != UNDEFINED
        if kind in (GOTPCREL, GOTPCRELX, REX_GOTPCRELX) and symbol.name:
            used.add(symbol.name)
            struct.pack_into("<i", content, place, self.slots[symbol.name] + addend - place)
        elif kind in (PC32, PLT32) and is_here:
            struct.pack_into("<i", content, place, self._address(symbol) + addend - place)
        elif kind == PLT32:
            used.add(symbol.name)
            struct.pack_into("<i", content, place, self.stubs[symbol.name] + addend - place)
        elif kind == PC64 and is_here:
            struct.pack_into("<q", content, place, self._address(symbol) + addend - place)
        elif kind == ABS64 and is_here:
            self.own.append((place, self._address(symbol) + addend))
        elif kind == ABS64 and not addend:
            self.wanted.append((place, symbol.name))
        else:
            raise Unfit(f"a relocation of kind {kind} for {symbol.name or 'a section'}")

    def _address(self, symbol: Symbol) -> int:
        """Where a symbol is in the image."""
        if symbol.section >= RESERVED or symbol.section not in self.places:
            raise Unfit(f"{symbol.name} is in no section that is kept")
        return self.places[symbol.section] + symbol.value

    def _at(self, number: int) -> Symbol:
        return self.symbols[number]

    def _symbols(self) -> list[Symbol]:
        tables = [section for section in self.sections if section.kind == SYMTAB]
        if len(tables) != 1:
            raise Unfit("not one table of symbols")
        names = self.sections[tables[0].link].offset
        rows = struct.iter_unpack("<IBBHQQ", _content(self.found, tables[0]))
        return [
            Symbol(_text(self.found, names + name), section, value, info >> 4 != 0)
            for name, info, _, section, value, _ in rows
        ]

    def _relocations(self) -> Iterator[tuple[int, int, int, tuple[int, int]]]:
        """Each relocation in the kept sections: offset, kind, symbol, and (section, addend)."""
        kept = {number for part in self._kept() for number in part}
        for section in self.sections:
            if section.kind == RELA and section.info in kept:
                for at, info, addend in struct.iter_unpack("<QQq", _content(self.found, section)):
                    yield at, info & 0xFFFFFFFF, info >> 32, (section.info, addend)


def _sections(found: bytes) -> list[Section]:
    if found[:6] != b"\x7fELF\x02\x01":
        raise Unfit("not a 64-bit object, low bytes first")
    kind, machine = struct.unpack_from("<HH", found, 16)
    if (kind, machine) != (RELOCATABLE, X86_64):
        raise Unfit(f"an object of kind {kind} for machine {machine}")
    start = struct.unpack_from("<Q", found, 40)[0]
    size, count = struct.unpack_from("<HH", found, 58)
    places = range(start, start + size * count, size)
    return [Section(*struct.unpack_from("<IIQQQQIIQQ", found, place)) for place in places]


def _content(found: bytes, section: Section) -> bytes:
    if section.offset + section.size > len(found):
        raise Unfit("an object that is cut off")
    return found[section.offset : section.offset + section.size]


def _text(found: bytes, at: int) -> str:
    return found[at : found.index(b"\0", at)].decode()


def _up(number: int, step: int) -> int:
    """The next multiple."""
    return -(-number // step) * step
