"""The languages of the C family: names, types and constants, atomic updates, and what differs."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType, bool_, i64, stored
from flatweave.base.errors import CompilerBug
from flatweave.base.records import record
from flatweave.kernel_ir.memory_ops import EXCHANGE
from flatweave.scalar.ops import TABLE
from flatweave.terms.syntax import BufferType, Const, Type, Var

# The differences between the languages of the C family: qualifiers, barriers, warp operations.
#
# The same emitter writes both; a dialect supplies the words below and three functions. `exchange`
# gives every lane the values of another lane, `ballot` the set of lanes where a flag holds: all
# collectives of a warp are written with these two. Where lanes can meet in memory only,
# `spread` puts all lanes' values there, and a lane reads what it needs without further barriers.


class KernelText(Protocol):
    """A kernel under emission, as a dialect's functions see it."""

    threads: int
    width: int

    def line(self, text: str) -> None:
        """Append a statement."""

    def temporary(self, dtype: DType, expression: str, hint: str = "fw_t") -> str:
        """A new named variable that holds a value."""

    def declare_shared(self, name: str, dtype: DType, count: int) -> str:
        """Memory of the block, stated once at the kernel's head."""


Values = Sequence[tuple[str, DType]]
Exchange = Callable[[KernelText, Values, str], list[str]]
Spread = Callable[[KernelText, Values], list[str]]
Ballot = Callable[[KernelText, str], str]
OwnAtomic = Callable[[str, DType], str | None]


@record(eq=True)
class Dialect:
    """One language: CUDA C or OpenCL C.

    `head` begins a kernel: {name}, {threads} and {params} stand for themselves. `global_pointer`
    spells a pointer to {type}, `only_read` qualifies one to memory that a kernel does not write;
    `block` is the block's number where blocks start in any order, and
    `acquire` and `release` are statements on {to}, {at} and {value}; `acquire_lanes` is one for
    each lane separately, after which all lanes see what any of them sees. `load_whole` and
    `store_whole`, by number of words, access {first} and {second} at once, and order nothing else.
    `first_lane` gives all lanes of a warp the first lane's {to}; it is "" where a warp cannot
    synchronise separately. `pause` is a waiting thread's next pause after {attempt} others.
    `popcount` and `highest` count the set bits of a 32-bit word, and find the highest. `atomic`
    gives the device's native atomic update, as an expression on at and x, where it has one.
    `match` is the function fw_match(number, bits), "" where lanes are not matched.
    `function` begins a function that is never inlined. `shared_space` qualifies the target of a
    pointer to shared memory, and `shared_fence` orders one thread's accesses there.
    """

    name: str
    prelude: str
    head: str
    global_pointer: str
    only_read: str
    shared: str
    shared_space: str
    shared_fence: str
    thread: str
    block: str
    barrier: str
    warp_barrier: str
    claim: str
    acquire: str
    acquire_lanes: str
    release: str
    load_whole: Mapping[int, str]
    store_whole: Mapping[int, str]
    first_lane: str
    pause: str
    popcount: str
    highest: str
    exchange: Exchange
    spread: Spread | None
    ballot: Ballot
    match: str
    atomic: OwnAtomic
    function: str


# Constants, names and types as C spells them, for every language of the C family.
#
# 1.5f32 -> 1.5f      -1i64 -> (-1L)      inf f64 -> FW_F64(0x7ff0000000000000UL)


_SUFFIX = {"i32": "", "i64": "L", "u32": "U", "u64": "UL"}


def scalar_type(type_: Type) -> DType:
    """The type of a scalar variable."""
    if not isinstance(type_, DType):
        raise CompilerBug(f"{type_} is no scalar type")
    return type_


def literal(const: Const) -> str:
    """A constant as an expression of its C type."""
    dtype, value = const.dtype, const.value
    if dtype is bool_:
        return "true" if value else "false"
    if dtype.is_float:
        return _float_literal(dtype, float(value))
    return _integer_literal(dtype, int(value))


def _float_literal(dtype: DType, value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        code, word, tail = ("<f", "<I", "U") if dtype.bits == 32 else ("<d", "<Q", "UL")
        bits = struct.unpack(word, struct.pack(code, value))[0]
        return f"FW_F{dtype.bits}({bits:#x}{tail})"
    text = repr(dtype.numpy.type(value).item()) if dtype.bits == 64 else f"{value:.9g}"
    if not re.search(r"[.e]", text):
        text += ".0"
    text += "f" if dtype.bits == 32 else ""
    return f"({text})" if text.startswith("-") else text


def _integer_literal(dtype: DType, value: int) -> str:
    if dtype.bits < 32:
        return f"(({dtype.c}){value})"
    if dtype.is_signed and value == -(1 << (dtype.bits - 1)):
        return f"({value + 1}{_SUFFIX[dtype.name]} - 1)"
    text = f"{value}{_SUFFIX[dtype.name]}"
    if dtype is not i64 and dtype.bits == 64:
        return f"(({dtype.c}){text})"
    return f"({text})" if value < 0 else text


class VariableNames:
    """A C name for each variable, given once."""

    def __init__(self) -> None:
        self._names: dict[Var, str] = {}
        self._taken: set[str] = set()

    def of(self, var: Var) -> str:
        """The variable's own name, made fit and unlike all others."""
        if var not in self._names:
            self._names[var] = self.fresh(var.name)
        return self._names[var]

    def again(self, var: Var) -> str:
        """Another name for a variable from here on, for its low bits."""
        self._names[var] = self.fresh(f"low_{self.of(var)}")
        return self._names[var]

    def share(self, var: Var, other: Var) -> str:
        """One name for two variables: a loop's state, and its result after the loop."""
        self._names[var] = self.of(other)
        return self._names[var]

    def fresh(self, hint: str) -> str:
        """A name that nothing has; every one ends in a number or _, so none is a keyword."""
        name = re.sub(r"\W", "_", hint)
        if name.startswith("fw_"):
            name += str(len(self._taken))
        elif not re.search(r"_\d+$", name):
            name += "_"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


# Atomic updates in C: the device's own where it has them, else compare-and-swap on a word.
#
#     atomic add  i32      atomic_add(at, x)                          atomicAdd(at, x)
#     atomic add  f32      old = *at; compare-and-swap with old + x until it succeeds
#     atomic add  i8       the same on the 32-bit word around it
#
# `FW_SWAP32`, `FW_SWAP64` and the conversions of bits come from the dialect's prelude. Where
# pointers to shared memory are of another type than those to global memory, both have functions.


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
"""Writes the first error by index, site and value into the status, under a lock. Only the thread
of the first element waits for the lock: where lanes run in lock step, a lane that waits for another
may wait for ever."""


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
