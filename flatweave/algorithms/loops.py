"""Loops inside an element: long folds by blocks, searches of bytes by words.

Blocks keep the rounding errors of sums small:

    end = lo + (hi - lo) // 64 * 64
    total = neutral
    for q in lo, lo + 64, .. < end:
        block = neutral
        for k in q, q + 1, .. < q + 64:     block = step block k
        total = fn total block
    for k in end, end + 1, .. < hi:         total = step total k

Blocks are grouped the same way: 64 make a block of blocks, and 64 of these a block of the third
kind. A sequential sum of n floats is wrong by up to n roundings. Here no element takes part in
more than 4 * 64 + n / 2^18 additions, each of which all lanes of a loop do at once. This is for
every operator that adds floats; the others have no such error, or one that no grouping changes, as
products have.

Folds of less than 64 iterations are the last loop alone. As this and the blocks are short, they run
without a look at whether the call is cancelled.

The step stands twice in that code, and a fold in it four times, one in that eight times. So a step
that loops itself is written once, in a nest of loops whose last blocks are shorter and go on from
the total before them:

    for q in lo, lo + 64, .. < hi:
        whole = q + 64 <= hi
        found = neutral if whole else total
        for k in q, q + 1, .. < min(q + 64, hi):     found = step found k
        total = fn total found if whole else found
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from flatweave.base.dtypes import DType, bool_, i64, u8, u64
from flatweave.base.records import record
from flatweave.kernel_ir.memory_ops import LoadWord
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import walk_lets

BLOCK = 64
"""Iterations of a block, blocks of a block of blocks, and so on."""
LEVELS = 3
"""How often blocks make a larger one."""
Join = Callable[[Builder, Sequence[Atom]], Sequence[Atom]]
"""What emits the operator on a left and a right operand."""


def adds_floats(fn: Lambda) -> bool:
    """Whether an operator adds floats, which rounds."""
    return any(
        isinstance(let.op, Apply) and let.op.fn in ("add", "sub") and _is_float(let.vars[0].type)
        for let in walk_lets(fn)
    )


def _is_float(type_: object) -> bool:
    return isinstance(type_, DType) and type_.numpy.kind == "f"


def long_fold(
    b: Builder, lo: Atom, hi: Atom, step: int, body: Lambda, neutral: Sequence[Atom], fn: Lambda,
    join: Join,
) -> tuple[Atom, ...]:  # fmt: skip
    """A loop from lo to hi whose `body` takes a position and the state, and gives the next state;
    `join` emits `fn`, the operator on states. The state may concatenate those of several folds."""
    start = tuple(neutral)
    if not adds_floats(fn) or _is_short(lo, hi, step):
        return b.emit(For(lo, hi, index(step), body, start))
    joined = partial(_joined, fn, join)
    if any(isinstance(let.op, For | While) for let in walk_lets(body)):
        return _written_once(b, (lo, hi), step, body, start, start, joined, LEVELS)
    size = index(BLOCK * step)
    end = b.add(lo, b.round_down(b.sub(hi, lo), size))

    def blocks(c: Builder, first: Atom, last: Atom, level: int) -> tuple[Atom, ...]:
        each = index(BLOCK**level * step)
        inside, p, state = c.iteration("p", start)
        after = inside.add(p, each)
        if level > 1:
            found = blocks(inside, p, inside.apply("minimum", after, last), level - 1)
        else:
            found = inside.emit(For(p, after, index(step), inside.copy(body), start))
        return inside.close_loop(first, last, start, joined(inside, [*state, *found]), each)

    return b.emit(For(end, hi, index(step), body, blocks(b, lo, end, LEVELS)))


def _written_once(
    b: Builder, bounds: tuple[Atom, Atom], step: int, body: Lambda, start: Sequence[Atom],
    neutral: Sequence[Atom], join: Join, level: int,
) -> tuple[Atom, ...]:  # fmt: skip
    """The loop from `start` on in blocks of `level` kinds, the body in the innermost alone."""
    first, last = bounds
    if level == 0:
        return b.emit(For(first, last, index(step), body, tuple(start)))
    each = index(BLOCK**level * step)
    inside, p, state = b.iteration("p", start)
    after = inside.add(p, each)
    whole = inside.apply("le", after, last)

    def either(full: Sequence[Atom], rest: Sequence[Atom]) -> list[Atom]:
        pairs = zip(full, rest, strict=True)
        return [inside.apply("select", whole, one, other) for one, other in pairs]

    block = p, inside.apply("minimum", after, last)
    begin = either(neutral, state)
    found = _written_once(inside, block, step, body, begin, neutral, join, level - 1)
    ended = either(join(inside, [*state, *found]), found)
    return inside.close_loop(first, last, start, ended, each)


def chunk(
    b: Builder, steps: tuple[Atom, Atom], size: int, body: Lambda, neutral: Sequence[Atom],
    load: Callable[[Builder], Sequence[Atom]], store: Callable[[Builder, Sequence[Atom]], None],
    fn: Lambda, join: Join,
) -> None:  # fmt: skip
    """Up to `size` iterations of folds whose states are in memory between them, from the first at 0
    on. As many as that are a block, whose results are joined to the state."""
    first = b.apply("eq", steps[0], index(0))
    joins = adds_floats(fn)
    full = b.apply("eq", b.sub(steps[1], steps[0]), index(size)) if joins else FALSE
    anew, on = b.inner(), b.inner()
    fresh = b.apply("or", first, full)
    begin = If(fresh, anew.close([], neutral), on.close([], load(on)))
    found: tuple[Atom, ...] = b.emit(For(*steps, index(1), body, b.emit(begin)))
    if not joins:
        return store(b, found)
    whole = b.apply("and", full, b.apply("not", first))
    # loaded here, not before the loop, where they would take registers
    with b.branches(whole) as (block, rest):
        store(block, _joined(fn, join, block, [*load(block), *found]))
        store(rest, found)


def _joined(fn: Lambda, join: Join, b: Builder, operands: Sequence[Atom]) -> list[Atom]:
    """The states of some folds, all of the left ones first, joined one by one."""
    each, half, joined = len(fn.results), len(operands) // 2, list[Atom]()
    for k in range(0, half, each):
        joined += join(b, [*operands[k : k + each], *operands[half + k : half + k + each]])
    return joined


def _is_short(lo: Atom, hi: Atom, step: int) -> bool:
    """Whether a loop is known to be one block at most."""
    if not isinstance(lo, Const) or not isinstance(hi, Const):
        return False
    return int(hi.value) - int(lo.value) <= BLOCK * step


# --------------------------------------------------------------------------------------------------
# Searches: loops from one position to the next while tests of the elements there hold.
#
#     while [p] (p => ne (index xs p) 32) (p => add p 1)
#     ==>
#     last = extent - 8                                  where the last word of the array begins
#     stops q = flags of the elements of the word at min q last that end the loop
#     q = while [p] (q => stops q == 0 and q <= last) (q => q + 8)
#     if stops q != 0 and q <= last then q + ctz (stops q) / 8
#                                   else while [q] ..    near the end, and where a check fails
#
# An element is a byte, and its flag the highest bit of that. Other bits are 0, and none is carried
# from a byte to the next one:
#
#     x != 0      the highest bit of   (x & 127) + 127 | x
#     x >= y                           x & ~y | ~(x xor y) & ((x | 128) - (y & 127))


EACH = int.from_bytes(bytes([1] * u64.bytes), "little")
LOW, HIGH, NONE = (Const(EACH * byte, u64) for byte in (127, 128, 0))


@record
class Read:
    """An element of an array of bytes, so far from the position."""

    xs: Atom
    offset: int


@record
class Search:
    """What a loop tests at a position: the lets of `tests` make it of the elements `reads`."""

    holds: Atom
    tests: Sequence[Let]
    reads: Mapping[Atom, Read]


def search_words(
    b: Builder, search: Search, start: Atom, array: Callable[[Atom], tuple[Var, Sequence[Atom]]],
    atom: Callable[[Atom], Atom],
) -> tuple[Atom, Atom]:  # fmt: skip
    """A position up to which the tests hold, and whether they are known not to hold there; `array`
    and `atom` are the kernel's for the program's."""
    reads = search.reads.values()
    buffers = {read.xs: array(read.xs) for read in reads}
    least = index(-min(0, *(read.offset for read in reads)))
    lasts = [b.sub(buffers[read.xs][1][0], index(u64.bytes + read.offset)) for read in reads]
    last = lasts[0]
    for other in lasts[1:]:
        last = b.apply("minimum", last, other)

    def stops(c: Builder, q: Atom) -> Atom:
        words: dict[Atom, Atom] = {}
        for var, read in search.reads.items():
            buffer, (extent,) = buffers[read.xs]
            at = c.add(c.apply("minimum", q, last), index(read.offset))
            words[var] = c.once(LoadWord(buffer, at, extent, u64, whole=True), buffer, at)
        flags = _Flags(c, words, atom, {})
        for let in search.tests:
            assert isinstance(let.op, Apply)
            flags.flags[let.vars[0]] = flags.test(let.op)
        return flags.opposite(flags.of(search.holds))

    def goes_on(c: Builder, state: tuple[Atom, ...]) -> Atom:
        none = c.apply("eq", stops(c, state[0]), NONE)
        return c.apply("and", none, c.apply("le", state[0], last))

    def steps(c: Builder) -> Sequence[Atom]:
        is_inside = c.apply("ge", start, least)
        begin = c.apply("select", is_inside, start, c.add(last, index(1)))
        (q,) = c.repeat(
            [begin], goes_on, lambda d, state: [d.add(state[0], index(u64.bytes))], "q",
            through_memory=True,
        )  # fmt: skip
        flags = stops(c, q)
        known = c.apply("and", c.apply("ne", flags, NONE), c.apply("le", q, last))
        passed = c.apply("shr", c.cast(c.apply("ctz", flags), i64), index(3))
        found = c.apply("select", known, c.add(q, passed), q)
        return c.apply("select", is_inside, found, start), known

    at, known = b.choose(b.apply("ge", last, least), steps, lambda _: [start, FALSE])
    return at, known


@record
class _Flags:
    """Emits tests for all elements of words at once; `flags` has those so far."""

    b: Builder
    words: Mapping[Atom, Atom]
    atom: Callable[[Atom], Atom]
    flags: dict[Atom, Atom]

    def of(self, value: Atom) -> Atom:
        """The flags of a truth value."""
        if value in self.flags:
            return self.flags[value]
        if value in self.words:
            return self._some(self.words[value])
        return self.b.apply("select", self.atom(value), HIGH, NONE)

    def test(self, op: Apply) -> Atom:
        """The flags of a test."""
        b = self.b
        if op.fn == "not":
            return self.opposite(self.of(op.args[0]))
        if op.args[0].type is bool_:
            fn = "xor" if op.fn in ("eq", "ne") else op.fn
            joined = b.apply(fn, *map(self.of, op.args))
            return self.opposite(joined) if op.fn == "eq" else joined
        x, y = map(self._word, op.args)
        match op.fn:
            case "eq":
                return self.opposite(self._some(b.apply("xor", x, y)))
            case "ne":
                return self._some(b.apply("xor", x, y))
            case "ge":
                return self._at_least(x, y)
            case "le":
                return self._at_least(y, x)
            case "lt":
                return self.opposite(self._at_least(x, y))
        return self.opposite(self._at_least(y, x))

    def opposite(self, flags: Atom) -> Atom:
        """The flags of a test that holds where this one does not."""
        return self.b.apply("xor", flags, HIGH)

    def _word(self, value: Atom) -> Atom:
        """The elements that are tested, or a word of one value."""
        if value in self.words:
            return self.words[value]
        byte = self.b.cast(self.b.cast(self.atom(value), u8), u64)
        return self.b.apply("mul", byte, Const(EACH, u64))

    def _some(self, word: Atom) -> Atom:
        """Where a byte is not 0."""
        b = self.b
        low = b.apply("add", b.apply("and", word, LOW), LOW)
        return b.apply("and", b.apply("or", low, word), HIGH)

    def _at_least(self, x: Atom, y: Atom) -> Atom:
        """Where a byte is at least the other word's."""
        b = self.b
        same = self.opposite(b.apply("xor", x, y))
        low = b.apply("sub", b.apply("or", x, HIGH), b.apply("and", y, LOW))
        larger = b.apply("and", x, b.apply("xor", y, HIGH))
        return b.apply("and", b.apply("or", larger, b.apply("and", same, low)), HIGH)
