"""What a launch costs, counted while the interpreter runs it: instructions of warps, sectors of
global memory, conflicts in shared memory, barriers.

    with cuda_by_ptx() as driver:
        driver.counts = []
        fw.jit(f, target="cuda")(xs)
    driver.counts[0].kinds()        {"integer": 812, "load": 64, ..}     instructions of warps

A warp whose lanes are at two instructions executes both, as on the device. Lanes whose guard fails
are counted with the others: a warp takes an issue slot for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.ptx.parse import Address, Instruction, Module, Operand, Register
from tests.ptx.values import Lanes

WARP, SECTOR, BANKS, WORD = 32, 32, 32, 4
MERGED = 1000  # accesses


@dataclass
class Traffic:
    """Accesses of warps to a space: how many, bytes that lanes asked for, and what it takes:
    sectors of 32 bytes of global memory, passes over the banks of shared memory."""

    requests: int = 0
    bytes: int = 0
    units: int = 0
    least: int = 0
    touched: list[Lanes] = field(default_factory=list)
    """Sectors, each access's own."""

    def add(self, requests: int, asked: int, units: int, least: int) -> None:
        """Some more accesses; `least` units would have been enough for these bytes."""
        self.requests += requests
        self.bytes += asked
        self.units += units
        self.least += least

    def touch(self, sectors: Lanes) -> None:
        """Sectors that an access is to."""
        self.touched.append(np.unique(sectors))
        if len(self.touched) > MERGED:
            self.touched = [np.unique(np.concatenate(self.touched))]

    @property
    def distinct(self) -> int:
        """Sectors that are accessed at least once: what memory moves if caches keep the rest."""
        return len(np.unique(np.concatenate(self.touched))) if self.touched else 0


@dataclass
class Counts:
    """One launch."""

    module: Module
    name: str
    grid: int
    threads: int
    executed: Lanes = field(init=False)
    """How often each instruction of the module was executed by a warp."""
    traffic: dict[str, Traffic] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing has been executed."""
        self.executed = np.zeros(len(self.module.code), np.int64)

    def steps(self, first: int, last: int, who: Lanes) -> None:
        """Lanes execute the instructions from `first` to `last`."""
        self.executed[first : last + 1] += _warps(who)

    def access(
        self, space: str, instruction: Instruction, at: Lanes, size: int, who: Lanes
    ) -> None:
        """Lanes access `size` bytes each at these addresses of a space."""
        kind = {"ld": "load", "st": "store"}.get(instruction.op[0], "atomic")
        traffic = self.traffic.setdefault(f"{space} {kind}", Traffic())
        warp = who // WARP
        if space == "shared":
            units, least = _passes(at, size, who, kind == "atomic")
        else:
            # an access is aligned and has 16 bytes at most: it is inside one sector
            units = len(np.unique(warp * (1 << 44) + at // SECTOR))
            least = -(-len(who) * size // SECTOR)
            traffic.touch(at // SECTOR)
        traffic.add(_warps(who), len(who) * size, units, least)

    def kinds(self) -> Counter[str]:
        """Instructions of warps, by what they do."""
        found: Counter[str] = Counter()
        for at in np.flatnonzero(self.executed):
            found[kind_of(self.module.code[at])] += int(self.executed[at])
        return found

    def waits(self) -> Counter[str]:
        """How often warps need a result that takes long, by the instruction that gives it.

        Several results that were asked for before the first is needed are waited for once; what
        one basic block asks for and another needs is not seen.
        """
        found: Counter[str] = Counter()
        code, ends = self.module.code, set(self.module.labels.values())
        pending: dict[str, str] = {}
        for at in range(len(code)):
            instruction = code[at]
            if at in ends:
                pending = {}
            needed = {pending[name] for name in _reads(instruction) if name in pending}
            if needed:
                found[max(needed, key=_SLOW.index)] += int(self.executed[at])
                pending = {}
            kind = _slow(instruction)
            if kind:
                pending |= dict.fromkeys(_names(instruction.operands[:1]), kind)
        return found


_SLOW = ("shuffle", "shared", "global")
"""In the order of their times."""


def _slow(instruction: Instruction) -> str:
    """The kind of an instruction whose result takes long; empty for others."""
    name = instruction.op[0]
    if name in ("ld", "atom"):
        if "param" in instruction.op:
            return ""
        return "shared" if "shared" in instruction.op else "global"
    return "shuffle" if name in ("shfl", "vote") else ""


def _reads(instruction: Instruction) -> set[str]:
    """Registers that an instruction needs."""
    stores = instruction.op[0] in ("st", "red", "bra", "bar", "barrier")
    names = _names(instruction.operands[0 if stores else 1 :])
    return names | ({instruction.guard.name} if instruction.guard else set())


def _names(operands: Sequence[Operand]) -> set[str]:
    """Registers of operands."""
    found: set[str] = set()
    for operand in operands:
        if isinstance(operand, Register):
            found.add(operand.name)
        elif isinstance(operand, Address):
            found |= _names([operand.base])
        elif isinstance(operand, tuple):
            found |= _names(operand)
    return found


def _warps(who: Lanes) -> int:
    """How many warps these lanes, in order, are of."""
    return int(np.count_nonzero(np.diff(who // WARP))) + 1 if len(who) else 0


def _passes(at: Lanes, size: int, who: Lanes, serial: bool) -> tuple[int, int]:
    """Passes over the banks for accesses of shared memory, and how many would do without conflicts.

    A pass serves a word of each bank. Lanes of 8 bytes are served by halves of a warp, lanes of 16
    by quarters. Lanes that read one word share it; atomic updates of one word are serial.
    """
    words = max(1, size // WORD)
    part = (who // WARP) * words + who % WARP * words // WARP
    word = (at[:, None] // WORD + np.arange(words)).ravel()
    part = np.repeat(part, words)
    place = np.stack([part, word % BANKS, word])
    if not serial:
        place = np.unique(place, axis=1)
    if not place.shape[1]:
        return 0, 0
    groups, counts = np.unique(place[0] * BANKS + place[1], return_counts=True)
    parts, starts = np.unique(groups // BANKS, return_index=True)
    return int(np.maximum.reduceat(counts, starts).sum()), len(parts)


_KINDS: Mapping[str, tuple[str, ...]] = {
    "load": ("ld",), "store": ("st",), "atomic": ("atom", "red"), "barrier": ("bar", "barrier"),
    "shuffle": ("shfl", "vote", "activemask", "match"),
    "branch": ("bra", "call", "ret", "exit", "trap"), "fence": ("membar", "fence", "nanosleep"),
    "special": ("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh"),
}  # fmt: skip
_BY_NAME = {name: kind for kind, names in _KINDS.items() for name in names}


def kind_of(instruction: Instruction) -> str:
    """`load`, `float`, `integer`: the row of the table that counts an instruction."""
    name, last = instruction.op[0], instruction.op[-1]
    if name in ("ld", "st") and instruction.op[1] == "param":
        return "integer"
    if name in ("bar", "barrier") and "warp" in instruction.op:
        return "shuffle"
    if name == "cvta":
        return "integer"
    return _BY_NAME.get(name, "float" if last in ("f32", "f64", "f16") else "integer")
