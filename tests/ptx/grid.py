"""A launch of a PTX kernel: all threads of the grid as lanes of NumPy arrays.

Each lane has a program counter. A step takes the lanes at one of them, runs instructions until the
next one that may divide or stop them, and goes on. Lanes wait at barriers, shuffles and votes until
all are there that these name. A lane's clock counts its instructions; lanes that are ahead of
others by more than WINDOW wait, so that a lane that looks for what others store does not keep them
from it. `order` sets the clocks at the start: which blocks and warps are early is what kernels must
not depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.ptx.counts import Counts
from tests.ptx.memory import LOCAL, SHARED, TABLES, GlobalMemory, IllegalAddress, Space, cells
from tests.ptx.parse import Address, Function, Instruction, Module, Operand, Register, Symbol
from tests.ptx.registers import WARP
from tests.ptx.values import COMPUTED, DTYPES, Lanes
from tests.ptx.warps import AT_BLOCK, AT_WARP, GONE, RUNS, Warps

WINDOW = 2000  # instructions
SLEEP = 400  # what a sleep counts as
MOST_STEPS = 2_000_000
FOREVER = np.iinfo(np.int64).max
ORDERS = ("forwards", "backwards", "mixed")
NOTHING = {"membar", "fence", "pragma", "cvta", "discard", "applypriority", "prefetch"}
CARRY = {"addc", "subc", "madc"}
BREAKS = {"bra", "call", "ret", "exit", "trap", "nanosleep", "activemask"} | {
    "bar", "barrier", "shfl", "vote",
}  # fmt: skip


class Stuck(Exception):
    """Lanes wait for others that never come."""


class Trapped(Exception):
    """A kernel ended itself by `trap`."""


def missing(module: Module) -> set[str]:
    """Instructions of a module that cannot be run here."""
    known = {*COMPUTED, *NOTHING, *BREAKS, *CARRY, "ld", "st", "atom", "red", "mov", "cvt"}
    return {i.text for i in module.code if i.op[0] not in known}


def launch(
    module: Module, name: str, memory: GlobalMemory, grid: int, threads: int,
    params: Mapping[str, bytes], order: str = "forwards", seed: int = 0,
    counts: Counts | None = None,
) -> Grid:  # fmt: skip
    """Run a kernel to its end, and count what it does; raises IllegalAddress, Stuck, Trapped."""
    lanes = Grid(module, module.entries[name], memory, grid, threads, params)
    lanes.counts = counts
    lanes.delay(order, seed)
    with np.errstate(all="ignore"):
        lanes.run()
    return lanes


class Grid(Warps):
    """Lanes, the memory that they share, and how they go from instruction to instruction."""

    def __init__(
        self, module: Module, entry: Function, memory: GlobalMemory, grid: int, threads: int,
        params: Mapping[str, bytes],
    ) -> None:  # fmt: skip
        super().__init__(module, entry.start, grid, threads)
        self.memory, self.params = memory, params
        self.shared = Space(grid, entry.shared)
        self.local = Space(self.count, module.sizes["local"])
        self.constant = Space(1, module.sizes["const"])
        for at, raw in module.constant.values():
            self.constant.bytes[at : at + len(raw)] = np.frombuffer(raw, np.uint8)
        self.executed = 0
        self.counts: Counts | None = None

    def delay(self, order: str, seed: int) -> None:
        """Which blocks and warps are ahead of others."""
        if order == "backwards":
            self.clock += (self.grid - 1 - self.block) * 2 * WINDOW
        elif order == "mixed":
            random = np.random.default_rng(seed)
            self.clock += random.permutation(self.grid)[self.block] * WINDOW
            self.clock += random.integers(0, WINDOW, self.count // WARP)[self.lane // WARP]

    # -- steps ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Until all lanes are gone."""
        for _ in range(MOST_STEPS):
            runs = self.state == RUNS
            if not runs.any():
                if (self.state == GONE).all():
                    return
                raise Stuck(self.where())
            low = np.where(runs, self.clock, FOREVER).min()
            runs &= self.clock <= low + WINDOW
            at = int(np.where(runs, self.pc, FOREVER).min())
            self.step(at, np.flatnonzero(runs & (self.pc == at)))
        raise Stuck(f"after {MOST_STEPS} steps {self.where()}")

    def where(self) -> str:
        """Which instructions lanes wait at."""
        waits = np.unique(self.pc[self.state != GONE])
        return "lanes wait at " + "; ".join(self.module.code[at].text for at in waits)

    def step(self, at: int, who: Lanes) -> None:
        """Run these lanes until they may divide, stop or wait."""
        code, first = self.module.code, at
        while code[at].op[0] not in BREAKS:
            self.one(code[at], who)
            at += 1
        instruction = code[at]
        self.clock[who] += at + 1 - first
        self.executed += (at + 1 - first) * len(who)
        self.pc[who] = at + 1
        if self.counts is not None:
            self.counts.steps(first, at, who)
        if instruction.guard is not None:
            does = self.read(instruction.guard, DTYPES["pred"], who) != instruction.negated
            who = who[does]
        if len(who):
            getattr(self, instruction.op[0])(instruction, at, who)

    def one(self, instruction: Instruction, who: Lanes) -> None:
        """One instruction that every lane goes on from."""
        if instruction.guard is not None:
            who = who[self.read(instruction.guard, DTYPES["pred"], who) != instruction.negated]
            if not len(who):
                return
        name = instruction.op[0]
        try:
            if name in CARRY or "cc" in instruction.op:
                self.carried(instruction, who)
            elif name in COMPUTED:
                self.compute(instruction, who)
            elif name not in NOTHING:
                getattr(self, name)(instruction, who)
            elif name == "cvta":
                self.cvta(instruction, who)
        except IllegalAddress as error:
            raise IllegalAddress(f"{error}: {instruction.text}") from None

    # -- memory -----------------------------------------------------------------------------------

    def places(self, instruction: Instruction, address: Address, size: int, who: Lanes) -> list[
        tuple[Lanes, Lanes, Lanes]
    ]:  # fmt: skip
        """Memories, offsets in them, and which of the lanes go there."""
        at = self.read(address.base, DTYPES["u64"], who).astype(np.int64) + address.offset
        if (at % size).any():
            raise IllegalAddress(f"an address is no multiple of the {size} bytes that are read")
        space = next((p for p in instruction.op if p in ("global", "shared", "local", "const")), "")
        if space in ("shared", "local"):
            at %= 1 << 32  # addresses have 32 bits there, so that a sum of them wraps
        if space:
            return self.within(instruction, space, at, size, who)
        found = []
        bounds = (("shared", SHARED, LOCAL), ("local", LOCAL, TABLES), ("global", TABLES, FOREVER))
        for name, low, high in bounds:
            some = np.flatnonzero((at >= low) & (at < high))
            if len(some):
                base = 0 if name == "global" else low
                for memory, offsets, part in self.within(
                    instruction, name, at[some] - base, size, who[some]
                ):
                    found.append((memory, offsets, some[part]))
        if sum(len(some) for _, _, some in found) != len(who):
            raise IllegalAddress(f"an address below all spaces: {at.min():#x}")
        return found

    def within(
        self, instruction: Instruction, space: str, at: Lanes, size: int, who: Lanes,
    ) -> list[tuple[Lanes, Lanes, Lanes]]:  # fmt: skip
        """The same for addresses of one space."""
        everybody = np.arange(len(who))
        if self.counts is not None:
            self.counts.access(space, instruction, at, size, who)
        if space in ("global", "const") and (at < TABLES + (1 << 32)).all():
            return [(self.constant.bytes, self.constant.offsets(at - TABLES, 0, size), everybody)]
        if space in ("global", "const"):
            return list(self.memory.split(at, size))
        memory, owners = (self.shared, self.block[who]) if space == "shared" else (self.local, who)
        return [(memory.bytes, memory.offsets(at, owners, size), everybody)]

    def ld(self, instruction: Instruction, who: Lanes) -> None:
        """Load one value, or several consecutive ones."""
        to, source = instruction.operands
        kind = DTYPES[instruction.op[-1]]
        if isinstance(source, Register):
            self.write(to, self.read(source, kind, who), who)
            return
        assert isinstance(source, Address)
        if instruction.op[1] == "param":
            assert isinstance(source.base, Symbol)
            raw = self.params[source.base.name][source.offset :][: kind.itemsize]
            self.write(to, np.full(len(who), np.frombuffer(raw, kind)[0]), who)
            return
        parts = to if isinstance(to, tuple) else (to,)
        for memory, offsets, some in self.places(
            instruction, source, kind.itemsize * len(parts), who
        ):
            for k, part in enumerate(parts):
                self.write(part, cells(memory, kind)[offsets // kind.itemsize + k], who[some])

    def st(self, instruction: Instruction, who: Lanes) -> None:
        """Store one value, or several consecutive ones."""
        to, source = instruction.operands
        kind = DTYPES[instruction.op[-1]]
        if isinstance(to, Register):
            self.write(to, self.read(source, kind, who), who)
            return
        assert isinstance(to, Address)
        parts = source if isinstance(source, tuple) else (source,)
        for memory, offsets, some in self.places(instruction, to, kind.itemsize * len(parts), who):
            for k, part in enumerate(parts):
                values = self.read(part, kind, who[some])
                cells(memory, kind)[offsets // kind.itemsize + k] = values

    def atom(self, instruction: Instruction, who: Lanes) -> None:
        """Read, change and write, one lane after another."""
        to, address, *values = instruction.operands
        self.atomic(instruction, to, address, values, who)

    def red(self, instruction: Instruction, who: Lanes) -> None:
        """As `atom`, without the previous value."""
        address, *values = instruction.operands
        self.atomic(instruction, (), address, values, who)

    def atomic(
        self, instruction: Instruction, to: Operand, address: Operand, operands: list[Operand],
        who: Lanes,
    ) -> None:  # fmt: skip
        """One lane after another, in the order of their numbers."""
        assert isinstance(address, Address)
        kind = DTYPES[instruction.op[-1]]
        change = _CHANGES[next(part for part in instruction.op[1:] if part in _CHANGES)]
        for memory, offsets, some in self.places(instruction, address, kind.itemsize, who):
            mine = who[some]
            values = [self.read(operand, kind, mine) for operand in operands]
            places, before = cells(memory, kind), np.empty(len(mine), kind)
            for k, at in enumerate(offsets // kind.itemsize):
                before[k] = places[at]
                places[at] = change(places[at], *(each[k] for each in values))
            self.write(to, before, mine)

    # -- control ----------------------------------------------------------------------------------

    def bra(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """Go on elsewhere."""
        label = instruction.operands[0]
        assert isinstance(label, str)
        self.pc[who] = self.module.labels[label]

    def call(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """Go to a function, and come back after this."""
        name = instruction.operands[0]
        assert isinstance(name, str)
        self.whole(Register(f"{name}:back", 64))[who] = at + 1
        self.pc[who] = self.module.functions[name].start

    def ret(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """Back from a function; from a kernel, to the end."""
        inside = max(
            (f for f in self.module.functions.values() if f.start <= at), key=lambda f: f.start
        )
        if inside.name in self.module.entries:
            self.exit(instruction, at, who)
        else:
            self.pc[who] = self.registers[f"{inside.name}:back"][who].astype(np.int64)

    def exit(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """These lanes are done; who waits for them waits no longer."""
        self.state[who] = GONE
        for block in np.unique(self.block[who]):
            self.release(block)
        warps = np.isin(self.lane // WARP, who // WARP)
        for place in np.unique(self.pc[warps & (self.state == AT_WARP)]):
            waits = np.flatnonzero(warps & (self.state == AT_WARP) & (self.pc == place))
            self.together(self.module.code[place], place, waits)

    def trap(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """An error of the kernel."""
        raise Trapped(instruction.text)

    def nanosleep(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """Others go first."""
        self.clock[who] += SLEEP

    def bar(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """Wait for the block, or for lanes of the warp."""
        if "warp" in instruction.op:
            self.together(instruction, at, who)
            return
        self.state[who] = AT_BLOCK
        for block in np.unique(self.block[who]):
            self.release(block)

    barrier = bar

    def release(self, block: int) -> None:
        """Go on where all lanes of a block that are not gone wait for it."""
        size = self.warps * WARP
        mine = slice(block * size, (block + 1) * size)
        state = self.state[mine]
        if ((state == AT_BLOCK) | (state == GONE)).all() and (state == AT_BLOCK).any():
            self.clock[mine] = self.clock[mine][state == AT_BLOCK].max()
            self.state[mine] = np.where(state == AT_BLOCK, RUNS, state)


_CHANGES: dict[str, Callable[..., Any]] = {
    "add": lambda old, a: old + a, "min": min, "max": max, "and": lambda old, a: old & a,
    "or": lambda old, a: old | a, "xor": lambda old, a: old ^ a, "exch": lambda old, a: a,
    "cas": lambda old, wanted, new: new if old == wanted else old,
    "inc": lambda old, a: old + 1 if old < a else 0,
    "dec": lambda old, a: a if old == 0 or old > a else old - 1,
}  # fmt: skip
