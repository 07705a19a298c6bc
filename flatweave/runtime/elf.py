"""Object files of LLVM become images: placed, and relocated as far as one can beforehand.

    call memset (PLT32)          ==>   call stub;   stub: jmp [rip + slot];   slot: wanted memset
    mov rax, fw_x (GOTPCREL)     ==>   mov rax, [rip + slot];                 slot: wanted fw_x
    lea rdi, constants (PC32)    ==>   the distance, which is fixed

What LLVM emits for us: 64-bit ELF for x86-64, position-independent, the small code model. An object
with anything else in it is Unfit, and linked by LLVM in every process. Tables for unwinding are
left out: nothing throws through compiled code.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from typing import NamedTuple

from flatweave.runtime.image import Image, Unfit

X86_64 = 62
RELOCATABLE = 1
PROGBITS, SYMTAB, RELA, NOBITS, UNWIND = 1, 2, 4, 8, 0x70000001
WRITABLE, PRESENT, EXECUTABLE, OF_THREAD = 1, 2, 4, 0x400
UNDEFINED, RESERVED = 0, 0xFF00
# kinds of relocations: S the symbol, A a number, P the place, G the slot of the symbol's address
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
    """A row of the symbol table: its name, the number of its section, its place in that."""

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
        """Each relocation of what is kept: place, kind, symbol, and (section, addend)."""
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
