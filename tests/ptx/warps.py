"""What lanes of a warp do together: barriers, shuffles, votes."""

from __future__ import annotations

import numpy as np

from tests.ptx.parse import Instruction, Module, Operand
from tests.ptx.registers import WARP, Registers
from tests.ptx.values import DTYPES, Lanes

RUNS, AT_WARP, AT_BLOCK, GONE = range(4)
UNKNOWN = np.uint32(0xDEADBEEF)  # what a shuffle gives where it reads from a lane that is not in it


class Warps(Registers):
    """Lanes, where they are, and who of them waits."""

    def __init__(self, module: Module, start: int, grid: int, threads: int) -> None:
        super().__init__(module, grid, threads)
        self.pc = np.full(self.count, start, np.int64)
        self.state = np.where(self.thread < threads, RUNS, GONE).astype(np.int8)

    def together(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """Lanes wait for those of the mask, then do it as one."""
        self.state[who], self.pc[who] = AT_WARP, at
        warps = np.unique(who // WARP)
        lanes = (warps[:, None] * WARP + np.arange(WARP)).ravel()
        waits = ((self.state[lanes] == AT_WARP) & (self.pc[lanes] == at)).reshape(-1, WARP)
        alive = (self.state[lanes] != GONE).reshape(-1, WARP)
        mask = self.read(instruction.operands[-1], DTYPES["u32"], lanes).reshape(-1, WARP)
        wanted = mask & _packed(alive)[:, None]
        ready = waits & (_packed(waits)[:, None] & wanted == wanted)
        if not ready.any():
            return
        done = lanes[ready.ravel()]
        if instruction.op[0] == "shfl":
            self.shuffled(instruction, lanes, ready)
        elif instruction.op[0] == "vote":
            self.voted(instruction, lanes, ready, mask)
        self.state[done], self.pc[done] = RUNS, at + 1
        latest = np.where(ready, self.clock[lanes].reshape(-1, WARP), 0).max(axis=1)
        self.clock[done] = np.repeat(latest, WARP)[ready.ravel()]

    shfl = vote = together

    def shuffled(self, instruction: Instruction, lanes: Lanes, ready: Lanes) -> None:
        """Values of other lanes of these warps (PTX ISA 9.7.9.6)."""
        to, source, by, limit, _ = instruction.operands
        u32 = DTYPES["u32"]
        values, by, limit = (
            self.read(each, u32, lanes).reshape(-1, WARP) for each in (source, by, limit)
        )
        lane = np.arange(WARP, dtype=np.int64)
        by = by.astype(np.int64) & 31
        clamp, segment = limit.astype(np.int64) & 31, limit.astype(np.int64) >> 8 & 31
        low = lane & segment
        high = low | clamp & ~segment
        mode = next(part for part in instruction.op if part in ("idx", "up", "down", "bfly"))
        if mode == "up":
            origin = lane - by
            inside = origin >= high
        else:
            origin = {"idx": low | by & ~segment, "down": lane + by, "bfly": lane ^ by}[mode]
            inside = origin <= high
        origin = np.where(inside, origin, lane)
        rows = np.arange(len(values))[:, None]
        found = np.where(ready[rows, origin], values[rows, origin], UNKNOWN).astype(np.uint32)
        chosen = ready.ravel()
        predicate: Operand = ()
        if isinstance(to, tuple):
            to, predicate = to
        self.write(to, found.ravel()[chosen], lanes[chosen])
        self.write(predicate, np.broadcast_to(inside, ready.shape).ravel()[chosen], lanes[chosen])

    def voted(self, instruction: Instruction, lanes: Lanes, ready: Lanes, mask: Lanes) -> None:
        """A predicate of all lanes of the mask."""
        to, source, _ = instruction.operands
        flags = self.read(source, DTYPES["pred"], lanes).reshape(-1, WARP) & ready
        bits = _packed(flags)[:, None] & mask
        some = _packed(ready)[:, None] & mask
        mode = next(part for part in instruction.op if part in ("ballot", "any", "all", "uni"))
        result = {
            "ballot": bits, "any": bits != 0, "all": bits == some,
            "uni": (bits == some) | (bits == 0),
        }[mode]  # fmt: skip
        chosen = ready.ravel()
        self.write(to, np.broadcast_to(result, ready.shape).ravel()[chosen], lanes[chosen])

    def activemask(self, instruction: Instruction, at: int, who: Lanes) -> None:
        """The lanes of the warp that are here."""
        here = np.zeros(self.count, bool)
        here[who] = True
        self.write(instruction.operands[0], _packed(here.reshape(-1, WARP))[who // WARP], who)


def _packed(flags: Lanes) -> Lanes:
    """The flags of each warp as bits of u32."""
    weights = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
    return np.where(flags, weights, np.uint32(0)).sum(axis=1, dtype=np.uint32)
