"""Atomic updates in C: the device's own where it has them, else compare-and-swap on a word.

    atomic add  i32      atomic_add(at, x)                          atomicAdd(at, x)
    atomic add  f32      old = *at; compare-and-swap with old + x until it succeeds
    atomic add  i8       the same on the 32-bit word around it

`FW_SWAP32`, `FW_SWAP64` and the conversions of bits come from the dialect's prelude. Where pointers
to shared memory are of another type than those to global memory, both have functions.
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_
from flatweave.codegen.c.dialect import Dialect
from flatweave.codegen.c.values import stored
from flatweave.kernel_ir.updates import EXCHANGE
from flatweave.scalar.ops import TABLE
from flatweave.terms.syntax import BufferType, Var

REPORT = """\
FW_FN void fw_report(FW_GLOBAL int64_t *status, int64_t code, int64_t site,
                     int64_t index, int64_t value, int64_t extent) {
    volatile FW_GLOBAL int64_t *words = status;
    FW_GLOBAL uint32_t *lock = (FW_GLOBAL uint32_t *)(status + 5);
    FW_GLOBAL uint64_t *first = (FW_GLOBAL uint64_t *)(status + 8);
    const uint64_t mine = ~(uint64_t)index;
    for (uint64_t seen = *(volatile FW_GLOBAL uint64_t *)first; seen < mine;) {
        const uint64_t found = FW_SWAP64(first, seen, mine);
        seen = found == seen ? mine : found;
    }
    for (int done = 0; !done;) {
        if (*(volatile FW_GLOBAL uint64_t *)first != mine) {
            done = 1;
        } else if (FW_SWAP32(lock, 0, 1) == 0) {
            FW_FENCE();
            if (words[0] == 0 || index < words[2] || (index == words[2] && (site < words[1]
                || (site == words[1] && value < words[3])))) {
                words[1] = site; words[2] = index; words[3] = value; words[4] = extent;
                words[0] = code;
            }
            FW_FENCE();
            FW_SWAP32(lock, 1, 0);
            done = 1;
        }
    }
}
"""
"""Writes the first error by index, site and value into the status; threads take turns by a lock.
Only the thread of the first element waits for it: where lanes go together, one that waits for
another may wait for ever."""


GLOBAL = "FW_GLOBAL"


def space_of(dialect: Dialect, buffer: Var) -> str:
    """What qualifies a pointer to an element that is updated."""
    assert isinstance(buffer.type, BufferType)
    if buffer.type.space != "shared":
        return GLOBAL
    return dialect.shared_space


def atomic_helper(
    dialect: Dialect, fn: str, dtype: DType, space: str = GLOBAL
) -> tuple[str, tuple[str, ...]]:
    """The name of a function (at, x) -> old value, and the functions to write before it."""
    name = f"fw_atomic_{fn}_{dtype.name}" + ("" if space == GLOBAL else "_shared")
    expression = dialect.atomic(fn, dtype)
    if expression is not None:
        head = f"FW_FN {dtype.c} {name}({space} {dtype.c} *at, {dtype.c} x)"
        return name, (f"{head} {{\n    return {expression};\n}}\n",)
    if fn == EXCHANGE:
        return name, (_by_swap(name, dtype, "x", space),)
    spelled = TABLE[fn].c(dtype)
    combined = spelled.template.format("old", "x")
    return name, (*spelled.helpers, _by_swap(name, dtype, combined, space))


def _by_swap(name: str, dtype: DType, combined: str, space: str) -> str:
    """A compare-and-swap loop on the word that holds the element."""
    swap = Swap(dtype, space)
    begin = "".join(f"    {line}\n" for line in swap.begin("at"))
    return (
        f"FW_FN {dtype.c} {name}({space} {stored(dtype).c} *at, {dtype.c} x) {{\n"
        f"{begin}"
        f"    for (;;) {{\n"
        f"        const {dtype.c} old = {swap.old};\n"
        f"        const {dtype.c} made = {combined};\n"
        f"        const {swap.word} found = {swap.attempt('made')};\n"
        f"        if (found == seen) return old;\n"
        f"        seen = found;\n"
        f"    }}\n"
        f"}}\n"
    )


class Swap:
    """Compare-and-swap of the word that holds an element; `seen` is what was last read there."""

    def __init__(self, dtype: DType, space: str = GLOBAL) -> None:
        self.dtype = dtype
        self.space = space
        self.bits = 64 if stored(dtype).bits == 64 else 32
        self.word = f"uint{self.bits}_t"
        self.old = _unpack(dtype, "seen")

    def begin(self, at: str) -> list[str]:
        """Statements that find the word, and the shift of the element in it."""
        lines = [f"{self.space} {self.word} *word = ({self.space} {self.word} *)({at});"]
        if stored(self.dtype).bits < 32:
            aligned = f"({self.space} {self.word} *)((uint64_t)({at}) & ~(uint64_t)3)"
            lines = [
                f"{self.space} {self.word} *word = {aligned};",
                f"const int shift = (int)((uint64_t)({at}) & 3) * 8;",
            ]
        return [*lines, f"{self.word} seen = *(volatile {self.space} {self.word} *)word;"]

    def attempt(self, made: str) -> str:
        """A compare-and-swap that puts a new element into the word; gives what was there."""
        return f"FW_SWAP{self.bits}(word, seen, {_pack(self.dtype, made)})"


def _unpack(dtype: DType, word: str) -> str:
    """An element out of its word."""
    if dtype.is_float:
        return f"FW_F{dtype.bits}({word})"
    if dtype is bool_:
        return f"((uint8_t)({word} >> shift) != 0)"
    return f"({dtype.c})({word} >> shift)" if dtype.bits < 32 else f"({dtype.c}){word}"


def _pack(dtype: DType, value: str) -> str:
    """A word with a new element in it."""
    if dtype.is_float:
        return f"FW_BITS{dtype.bits}({value})"
    kept = stored(dtype)
    if kept.bits >= 32:
        return f"(uint{kept.bits}_t){value}"
    mask = f"((uint32_t){(1 << kept.bits) - 1} << shift)"
    return f"((seen & ~{mask}) | ((uint32_t)(uint{kept.bits}_t){value} << shift))"
