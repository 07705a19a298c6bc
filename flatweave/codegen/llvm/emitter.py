"""The state of emission: how variables are held, in which lanes code runs, and dispatch by op.

An `Emitter` writes a body of lets into a `Code`. Its `width` is 1 for uniform code and W inside
`lanes W`; its `mask` says which lanes run (None: all). What an op becomes is written in the files
around this one, as a handler `(emitter, let, its op) -> how the let's variables are held`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import gcd
from typing import Any, NamedTuple

from flatweave.access.analyse import Values
from flatweave.base.dtypes import BY_NAME, DType, bool_, i64, u8
from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm.isa.portable import InstructionSet
from flatweave.codegen.llvm.math.scalar import emit_cast
from flatweave.codegen.llvm.module import Code, Phi, constant, shuffle, splat, vec, word_of_mask
from flatweave.codegen.llvm.shapes import LINEAR, REVERSED, UNIFORM, VARYING, Shape
from flatweave.kernel_ir.lane_facts import Zeros
from flatweave.kernel_ir.warp_ops import ScanLanes, ShiftLanes
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Type, Var


class Held(NamedTuple):
    """How a variable is held: its shape and its text, and for a host buffer that of its owner.

    A varying value may be held in blocked layout besides (llvm/by_flags.py).
    """

    shape: Shape
    text: str
    owner: str = ""
    blocked: tuple[str, ...] = ()


Handler = Callable[["Emitter", Let, Any], Sequence[Held]]
Handlers = Mapping[type[Op], Handler]


class Emitter:
    """One body under emission: its lanes, what is known of its variables, and where text goes."""

    def __init__(
        self,
        code: Code,
        isa: InstructionSet,
        handlers: Handlers,
        held: dict[Var, Held],
        width: int = 1,
        shapes: Mapping[Var, Shape] | None = None,
        zeros: Zeros | None = None,
    ) -> None:
        self.code = code
        self.isa = isa
        self.handlers = handlers
        self.held = held
        self.width = width
        self.shapes: Mapping[Var, Shape] = shapes or {}
        self.zeros: Zeros = zeros or {}
        self.mask: str | None = None
        self.made: dict[Var, Op] = {}
        self.collectives: dict[Var, ScanLanes | ShiftLanes] = {}
        self.counts: dict[str, str] = {}  # masks of the first lanes: how many these are
        self.values = Values(self._varying)
        self.depth = 0  # loops around
        self.is_rare = False  # code that runs where an error is found
        self._known: dict[tuple[str, ...], str] = {}

    def at(self, width: int, shapes: Mapping[Var, Shape] | None = None) -> Emitter:
        """An emitter of code that runs in `width` lanes, all of them."""
        known = self.shapes if shapes is None else shapes
        known = known if width > 1 else {}
        made = Emitter(self.code, self.isa, self.handlers, self.held, width, known, self.zeros)
        made.made, made.depth, made.is_rare = self.made, self.depth, self.is_rare
        made.collectives, made.counts = self.collectives, self.counts
        made.values = self.values
        return made

    def inside(self, mask: str | None = None) -> Emitter:
        """An emitter for a body that may not run; under a mask, or the same lanes as here."""
        inner = self.at(self.width)
        inner.mask = mask or self.mask
        inner._known = dict(self._known)
        return inner

    def turn(self, mask: str | None = None) -> Emitter:
        """An emitter for an iteration of a loop, under a mask or for the same lanes as here."""
        inner = self.inside(mask)
        inner.depth += 1
        return inner

    # -- running bodies ---------------------------------------------------------------------------

    def run(self, fn: Lambda, args: Sequence[Held] = ()) -> list[Held]:
        """Emit `fn` on these arguments; how its results are held."""
        self.bind(fn.params, args)
        for let in fn.lets:
            handler = self.handlers.get(type(let.op))
            if handler is None:
                raise CompilerBug(f"{let.op.name} cannot stand here", where=let.where)
            self.bind(let.vars, handler(self, let, let.op))
            if isinstance(let.op, Apply | Cast):
                self.made[let.vars[0]] = let.op
            elif isinstance(let.op, ScanLanes | ShiftLanes) and len(let.vars) == 1:
                self.collectives[let.vars[0]] = let.op
        return [self.hold(atom) for atom in fn.results]

    def bind(self, variables: Sequence[Var], held: Sequence[Held]) -> None:
        """State how variables are held."""
        self.held.update(zip(variables, held, strict=True))

    def _varying(self, var: Var) -> Op | None:
        """The function that makes a vector; other values are linear in the lanes."""
        return self.made.get(var) if self.hold(var).shape is VARYING else None

    def shape(self, var: Var) -> Shape:
        """The shape the analysis found."""
        return self.shapes.get(var, UNIFORM)

    # -- atoms as text ----------------------------------------------------------------------------

    def hold(self, atom: Atom) -> Held:
        """How an atom is held here."""
        if isinstance(atom, Const):
            return Held(UNIFORM, constant(atom.dtype, 1, atom.value))
        return self.held[atom]

    def uniform(self, atom: Atom) -> str:
        """The text of a value that is the same in all lanes."""
        held = self.hold(atom)
        if held.shape is not UNIFORM:
            raise CompilerBug(f"{atom!r} differs from lane to lane where it must not")
        return held.text

    def vector(self, atom: Atom) -> str:
        """The text of an atom's value in every lane."""
        return self.lanes(self.hold(atom), scalar_type(atom.type))

    def lanes(self, held: Held, dtype: DType) -> str:
        """The text of a held value in every lane."""
        if held.shape is VARYING or self.width == 1:
            return held.text
        if held.shape is UNIFORM:
            return self.splat(held.text, dtype)
        return self.spread(held, dtype)

    def splat(self, text: str, dtype: DType) -> str:
        """The same value in every lane."""
        key = (text, vec(dtype, self.width))
        return self.once(key, lambda: splat(self.code, dtype, self.width, text))

    def once(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """What `make` emits, made when it is first asked for in this body or one around it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def spread(self, held: Held, dtype: DType) -> str:
        """A linear value, base + lane or base - lane, modulo an integer dtype."""
        key = (f"{held.shape.name} {held.text}", vec(dtype, self.width))
        if key not in self._known:
            text = held.text
            if dtype is not i64:
                text = emit_cast(self.code, i64, dtype, 1, text)
            opcode = "add" if held.shape is LINEAR else "sub"
            base, steps = self.splat(text, dtype), lane_numbers(dtype, self.width)
            self._known[key] = self.code.let(f"{opcode} {key[1]} {base}, {steps}")
        return self._known[key]

    def convert(self, held: Held, type_: Type, shape: Shape) -> Held:
        """The same value held in another shape."""
        if held.shape is shape:
            return held
        if shape is not VARYING:
            raise CompilerBug(f"a {held.shape.name} value cannot be made {shape.name}")
        return Held(VARYING, self.lanes(held, scalar_type(type_)))

    def held_type(self, type_: Type, shape: Shape) -> str:
        """The LLVM type of a variable held so."""
        if not isinstance(type_, DType):
            return "ptr"
        return vec(type_, self.width if shape is VARYING else 1)

    def lowest(self, index: Held) -> str:
        """The lowest element that a linear index reaches."""
        if index.shape is not REVERSED:
            return index.text
        return self.code.let(f"sub i64 {index.text}, {self.width - 1}")

    # -- masks ------------------------------------------------------------------------------------

    @property
    def mask_type(self) -> str:
        """The LLVM type of a mask."""
        return f"<{self.width} x i1>"

    def masked(self, condition: str) -> str:
        """The lanes that run here and where `condition` holds."""
        if self.mask is None:
            return condition
        return self.combined("and", self.mask, condition)

    def negated(self, condition: str) -> str:
        """The lanes where `condition` does not hold, running or not."""
        return self.combined("xor", condition, "splat (i1 true)")

    def combined(self, opcode: str, a: str, b: str) -> str:
        """Two masks combined; their words, too, if one of them has a word."""
        mask, words = self.code.let(f"{opcode} {self.mask_type} {a}, {b}", "m"), self.code.words
        if a in words or b in words:
            x, y = (word_of_mask(self.code, self.width, m) for m in (a, b))
            words[mask] = self.code.let(f"{opcode} i64 {x}, {y}")
        return mask

    def mask_bits(self, mask: str | None) -> str:
        """A mask as an integer with one bit for each lane, lane 0 lowest."""
        if mask is None:
            return "-1"
        return self.code.let(f"bitcast {self.mask_type} {mask} to i{self.width}")

    def first_lanes(self, count: str) -> str:
        """The mask of the first `count` lanes; an i64 from 0 to the width."""
        mask = self._first_lanes(count, u8)
        self.counts[mask] = count
        return mask

    def fitting(self, mask: str, dtype: DType) -> str:
        """A mask as lanes of a dtype select by it: that of the first lanes is compared in lanes
        of the same size, so that no mask is packed or widened."""
        if mask not in self.counts or dtype is bool_:
            return mask
        return self._first_lanes(self.counts[mask], BY_NAME[f"u{dtype.bits}"])

    def _first_lanes(self, count: str, dtype: DType) -> str:
        kind = vec(dtype, self.width)
        many = self.splat(emit_cast(self.code, i64, dtype, 1, count), dtype)
        return self.code.let(f"icmp slt {kind} {lane_numbers(dtype, self.width)}, {many}", "m")

    def any(self, mask: str) -> str:
        """Whether any lane of the mask is set."""
        if mask in self.counts:
            return self.code.let(f"icmp ne i64 {self.counts[mask]}, 0")
        return self.code.let(f"icmp ne i{self.width} {self.mask_bits(mask)}, 0")

    def select(self, mask: str, dtype: DType, a: str, b: str) -> str:
        """a in the lanes of the mask, b in the others."""
        if a == b:
            return a
        kind, fitting = vec(dtype, self.width), self.fitting(mask, dtype)
        return self.code.let(f"select {self.mask_type} {fitting}, {kind} {a}, {kind} {b}")

    def last_active(self, text: str, dtype: DType) -> str:
        """The value of the last lane that runs."""
        kind = vec(dtype, self.width)
        if self.mask is None:
            return self.code.let(f"extractelement {kind} {text}, i64 {self.width - 1}")
        bits = f"i{self.width}"
        mask = f"{bits} {self.mask_bits(self.mask)}"
        zeros = self.code.call(bits, f"@llvm.ctlz.{bits}", mask, "i1 true")
        lane = self.code.let(f"sub {bits} {self.width - 1}, {zeros}")
        return self.code.let(f"extractelement {kind} {text}, {bits} {lane}")


def scalar_type(type_: Type) -> DType:
    """The dtype of a scalar's type."""
    if not isinstance(type_, DType):
        raise CompilerBug(f"a value of {type_} is not a scalar")
    return type_


@cache
def lane_numbers(dtype: DType, width: int) -> str:
    """The constant <0, 1, 2, ..>."""
    return f"<{', '.join(f'{dtype.llvm} {i}' for i in range(width))}>"


# Loops: a head with phis, which are written once the values of the next iteration are known.


class Loop:
    """A loop, which begins here: what it carries, by types and first values, has these names."""

    def __init__(self, code: Code, stem: str, *carried: tuple[str, str]) -> None:
        self._code, self._carried, self._before = code, carried, code.block
        self._head, self._turn, self._done = code.names("head", "turn", "done")
        code.enter(self._head)
        self._hole = code.hole()
        self.names = [code.fresh(stem) for _ in carried]

    def goes_on(self, condition: str) -> None:
        """End the head: an iteration follows, or the loop's end."""
        self._code.branch(condition, self._turn, self._done)
        self._code.label(self._turn)

    def again(self, *following: str, until: str | None = None) -> None:
        """End an iteration by the values of the next; `until` says that it was the last."""
        code = self._code
        phis: list[Phi] = [
            (name, type_, [(first, self._before), (value, code.block)])
            for name, (type_, first), value in zip(
                self.names, self._carried, following, strict=True
            )
        ]
        code.fill(self._hole, phis)
        if until is None:
            code.jump(self._head)
        else:
            code.branch(until, self._done, self._head)
        code.label(self._done)


class LaneLoop(Loop):
    """A loop over the lanes in the bits of a mask, of which there is at least one, in order."""

    def __init__(self, code: Code, width: int, mask: str, *carried: tuple[str, str]) -> None:
        bits = f"i{width}"
        super().__init__(code, "lane", (bits, mask), *carried)
        lane = code.call(bits, f"@llvm.cttz.{bits}", f"{bits} {self.names[0]}", "i1 true")
        self.lane = f"{bits} {lane}"

    def next(self, *following: str) -> None:
        """End an iteration; the next lane follows, if there is one."""
        code, left, ((bits, _), *_) = self._code, self.names[0], self._carried
        rest = code.let(f"and {bits} {left}, {code.let(f'sub {bits} {left}, 1')}")
        self.again(rest, *following, until=code.let(f"icmp eq {bits} {rest}, 0"))


# Prefetches: what asks for cache lines that will be loaded soon. One that is not there does no
# harm.


LINE = 64
"""Bytes that one prefetch brings."""


def prefetch(e: Emitter, buffer: str, size: int, index: str, first: int, count: int) -> None:
    """Prefetch `count` bytes, from `first` bytes after an element of `size` bytes on."""
    for offset in range(first, first + count, LINE):
        place = f"[{size} x i8], ptr {buffer}, i64 {index}, i64 {offset}"
        line = e.code.let(f"getelementptr {place}")
        e.code.call("void", "@llvm.prefetch.p0", f"ptr {line}", "i32 0", "i32 3", "i32 1")


AT_ONCE = 4 * LINE
"""Bytes of a store: LLVM stores the registers of one in any order. With groups of eight lines in
descending order a Zen 4 fills 134 MB at 11 GB/s, with four in any order at 22."""


def store_lanes(
    e: Emitter, at: str, kept: DType, lanes: int, text: str, streaming: bool
) -> None:  # fmt: skip
    """Elements from an address on, in runs of `AT_ONCE` in the order of memory."""
    e.code.has_streamed = e.code.has_streamed or streaming
    most = min(lanes, AT_ONCE // kept.bytes)
    align = gcd(LINE, lanes * kept.bytes) if streaming else kept.bytes
    hint = ", !nontemporal !0" if streaming else ""
    for first in range(0, lanes, most):
        count = min(most, lanes - first)
        part = text if count == lanes else shuffle(
            e.code, vec(kept, lanes), text, range(first, first + count)
        )  # fmt: skip
        place = f"getelementptr inbounds {kept.llvm}, ptr {at}, i64 {first}"
        to = e.code.let(place) if first else at
        e.code.line(f"store {vec(kept, count)} {part}, ptr {to}, align {align}{hint}")
