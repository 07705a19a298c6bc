"""Sets of lanes for a segmented scan: where they are kept, and how masks are made of them.

    in words     a bit for each lane, in general registers: where masks have registers of their own,
                 shifting and cutting them is dearer there
    in signs     a lane as wide as those of the values, whose sign bit counts: what a select by the
                 sign (vblendv) takes as it is, so that a mask never needs to be spread out
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.text.module import Body, vec
from flatweave.codegen.llvm.text.vectors import mask_of_word, splat

EveryBit = Callable[[Body, str, int, int], str]
"""Every so manieth bit of a word from a first one on, side by side."""


class LaneSets(Protocol):
    """Sets of the lanes of one register; texts of whatever type they are kept in."""

    def of_runs(self, word: str, length: int) -> list[str]:
        """Lane l of set k is bit l * length + k of a word: element k of each lane's run."""

    def of_word(self, word: str) -> str:
        """Lane l is bit l."""

    def word(self, lanes: str) -> str:
        """The bits of a set, as an i64."""

    def either(self, one: str, other: str) -> str:
        """The lanes of both."""

    def with_first(self, lanes: str) -> str:
        """Lane 0, too."""

    def outside(self, lanes: str) -> str:
        """The mask of all other lanes."""


class InWords:
    """Sets as words of 64 bits."""

    def __init__(self, body: Body, width: int, every_bit: EveryBit) -> None:
        self.body = body
        self.width = width
        self.every_bit = every_bit

    def of_runs(self, word: str, length: int) -> list[str]:
        return [self.every_bit(self.body, word, k, length) for k in range(length)]

    def of_word(self, word: str) -> str:
        return word

    def word(self, lanes: str) -> str:
        return lanes

    def either(self, one: str, other: str) -> str:
        return self.body.let(f"or i64 {one}, {other}")

    def with_first(self, lanes: str) -> str:
        return self.body.let(f"or i64 {lanes}, 1")

    def outside(self, lanes: str) -> str:
        word = self.body.let(f"xor i64 {lanes}, -1")
        return mask_of_word(self.body, self.width, word)


class InSigns:
    """Sets as vectors of integers whose sign bits count; the other bits are anything."""

    def __init__(self, body: Body, kept: DType, width: int) -> None:
        self.body = body
        self.kept = kept
        self.width = width
        self.kind = vec(kept, width)

    def of_runs(self, word: str, length: int) -> list[str]:
        """The bits of the last elements move to the signs, those before them follow."""
        last = self._shifted_up(word, length, length - 1)
        others = [
            self.body.let(f"shl {self.kind} {last}, splat ({self.kept.llvm} {length - 1 - k})")
            for k in range(length - 1)
        ]
        return [*others, last]

    def of_word(self, word: str) -> str:
        return self._shifted_up(word, 1, 0)

    def word(self, lanes: str) -> str:
        set_ = self.body.let(f"icmp slt {self.kind} {lanes}, zeroinitializer")
        bits = self.body.let(f"bitcast <{self.width} x i1> {set_} to i{self.width}")
        return self.body.let(f"zext i{self.width} {bits} to i64")

    def either(self, one: str, other: str) -> str:
        return self.body.let(f"or {self.kind} {one}, {other}")

    def with_first(self, lanes: str) -> str:
        kept = self.kept.llvm
        others = f", {kept} 0" * (self.width - 1)
        return self.body.let(f"or {self.kind} {lanes}, <{kept} {-1 << self.kept.bits - 1}{others}>")

    def outside(self, lanes: str) -> str:
        return self.body.let(f"icmp sge {self.kind} {lanes}, zeroinitializer")

    def _shifted_up(self, word: str, step: int, first: int) -> str:
        """Bit first + l * step of a word as the sign of lane l."""
        kept = self.kept
        if kept is not i64:
            word = self.body.let(f"trunc i64 {word} to {kept.llvm}")
        top = kept.bits - 1 - first
        places = ", ".join(f"{kept.llvm} {top - lane * step}" for lane in range(self.width))
        everywhere = splat(self.body, kept, self.width, word)
        return self.body.let(f"shl {self.kind} {everywhere}, <{places}>")
