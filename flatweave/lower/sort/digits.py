"""The digits of a sort: the keys of an element as one long number, and one pass over a digit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType, i64, u32, u64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.context import Lowering
from flatweave.lower.element_functions import Elements
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.ops import RadixSort
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.syntax import Atom, Lambda, Var, constant, scalar_type
from flatweave.terms.traverse import free_vars, needed_for

# -- The keys of an element as one long number, of which a sort takes its digits -------------------
#
#     keys        a: u64, from 1000 to 4000, all even       b: u8, 0 or 16
#
#     fields      a - 1000, without its last bit            b, without its last four bits
#     the number  |------- 11 bits -------|                 | 1 bit |
#
# Of each key there are the bits that vary, of the key itself or of what is left when the least is
# taken off it, whichever are fewer: keys around zero differ in all bits, and by little. The bits of
# the last key come last, so that the order of the numbers is that of the keys. A number may have
# more bits than a word: a digit, or up to a word's bits, are taken from anywhere in it.


@record
class Field:
    """A key's part of the number: the key less `base`, whose bit 0 is bit `place` of the number.
    `varying` has every bit of it that is not the same everywhere; the first of them is bit `start`
    of the number."""

    base: Atom
    varying: Atom
    place: Atom
    start: Atom


@record
class KeyBits:
    """The bits of the number from `least` up to `end`, as the host sees them; `dtype` is the word
    that bits are taken in."""

    fields: tuple[Field, ...]
    dtype: DType
    least: Atom
    end: Atom

    @property
    def rest(self) -> int:
        """Bits that a number may have more than a word."""
        bits = sum(scalar_type(field.varying).bits for field in self.fields)
        return max(0, bits - self.dtype.bits)

    @property
    def needs(self) -> list[Atom]:
        """The host values of which a kernel makes fields."""
        return [atom for field in self.fields for atom in (field.base, field.place)]

    def count(self, b: Builder) -> Atom:
        """How many they are."""
        return b.sub(self.end, self.least)

    def leading(self, b: Builder, count: Atom) -> KeyBits:
        """The `count` leading bits, or all bits if there are fewer."""
        least = b.apply("maximum", b.sub(self.end, count), self.least)
        return KeyBits(self.fields, self.dtype, least, self.end)

    def digits(self, b: Builder, most: Atom) -> KeyDigits:
        """Digits of at most `most` bits."""
        count = self.count(b)
        many = ceil_div(b, count, b.apply("maximum", most, index(1)))
        width = ceil_div(b, count, b.apply("maximum", many, index(1)))
        values = b.apply("shl", index(1), width)
        return KeyDigits(self, many, width, values)

    def reduced(
        self, b: Builder, keys: Sequence[Atom], capture: Callable[[Atom], Atom]
    ) -> list[Atom]:
        """The fields of an element's keys."""
        pairs = zip(keys, self.fields, strict=True)
        return [b.apply("sub", key, capture(field.base)) for key, field in pairs]

    def varying(self, b: Builder, shift: Atom) -> Atom:
        """Which bits from `shift` on vary."""
        return self.word(b, [field.varying for field in self.fields], shift, lambda atom: atom)

    def has(self, b: Builder, number: int, shift: Atom, end: Atom) -> Atom:
        """Whether no bit of the number from `shift` up to `end` is another field's."""
        above = b.apply("ge", shift, self.fields[number].start)
        if not number:
            return above
        return b.apply("and", above, b.apply("le", end, self.fields[number - 1].start))

    def word_of(
        self, b: Builder, number: int, key: Atom, shift: Atom, capture: Callable[[Atom], Atom]
    ) -> Atom:
        """A word of the number from a bit of one field on, as far as that goes."""
        field, dtype = self.fields[number], scalar_type(key)
        down = b.cast(b.sub(shift, capture(field.place)), dtype)
        inside = b.apply("and", down, constant(dtype.bits - 1, dtype))
        value = b.apply("sub", key, capture(field.base))
        return b.cast(b.apply("shr", value, inside), self.dtype)

    def word(
        self, b: Builder, fields: Sequence[Atom], shift: Atom, capture: Callable[[Atom], Atom]
    ) -> Atom:
        """A word of the number from bit `shift` on, right but for the word's highest bit where
        the number goes on above it."""
        if len(fields) == 1:
            inside = constant(self.dtype.bits - 1, self.dtype)
            return b.apply("shr", fields[0], b.apply("and", b.cast(shift, self.dtype), inside))
        found: Atom = constant(0, self.dtype)
        # an amount of `up` that is cut off moves but one bit into the word, the highest
        for value, field in zip(fields, self.fields, strict=True):
            place = capture(field.place)
            up = b.apply("minimum", b.sub(place, shift), index(self.dtype.bits - 1))
            part = b.cast(value, self.dtype)
            for name, by in (("shl", up), ("shr", b.sub(shift, place))):
                distance = b.cast(b.apply("maximum", by, index(0)), self.dtype)
                part = b.apply(name, part, distance)
            found = b.apply("or", found, part)
        return found


@record
class KeyDigits:
    """Some bits of the number as digits: `many` of them, each of `width` bits with `values`
    possible values. All as the host sees them."""

    bits: KeyBits
    many: Atom
    width: Atom
    values: Atom


def bits_of(lowering: Lowering, op: RadixSort, total: Atom) -> KeyBits:
    """The bits that vary between the keys of `total` elements; no bits if these are in order."""
    b = lowering.host
    fields: list[Field] = []
    least: Atom = index(0)
    end: Atom = index(0)
    seen = list(zip(op.varying, op.least, op.most, strict=True))
    for found in reversed(seen):
        varying, lowest, highest = map(lowering.scope.scalar, found)
        base, mask = _fewer(b, varying, lowest, highest)
        low = b.cast(b.apply("ctz", varying), i64)
        high = b.sub(index(scalar_type(varying).bits), b.cast(b.apply("clz", mask), i64))
        if not fields:
            least = low
        place = b.sub(end, low) if fields else index(0)
        fields.insert(0, Field(base, mask, place, end))
        end = b.add(place, b.apply("maximum", high, low))
    wanted = b.apply("gt", total, index(1))
    for rises in op.order[:1]:
        wanted = b.apply("and", wanted, b.apply("not", lowering.scope.scalar(rises)))
    end = b.apply("select", wanted, end, least)
    return KeyBits(tuple(fields), _word([scalar_type(v) for v in op.varying]), least, end)


def _fewer(b: Builder, varying: Atom, least: Atom, most: Atom) -> tuple[Atom, Atom]:
    """The base to subtract from a key, and the bits that vary then: the bits that are the same in
    all keys, or the minimum of the keys if that leaves fewer bits."""
    dtype = scalar_type(varying)
    zeros = b.apply("clz", b.apply("sub", most, least))
    lower = b.apply("gt", zeros, b.apply("clz", varying))
    same = b.apply("and", least, b.apply("not", varying))
    ones = b.apply("shr", constant(-1, dtype), zeros)
    return b.apply("select", lower, least, same), b.apply("select", lower, ones, varying)


def _word(dtypes: Sequence[DType]) -> DType:
    """What bits of such keys are taken in."""
    if len(dtypes) == 1:
        return dtypes[0]
    return u32 if sum(dtype.bits for dtype in dtypes) <= u32.bits else u64


def ceil_div(b: Builder, a: Atom, by: Atom) -> Atom:
    """a / by, rounded up, of numbers that are not negative; `by` is known to be positive."""
    whole = b.cast(b.add(a, b.sub(by, index(1))), u64)
    return b.cast(b.apply("floordiv", whole, b.cast(by, u64)), i64)


# --------------------------------------------------------------------------------------------------
# What the kernels of a sort's passes share: one digit of the keys, and what ways of passing do.


Read = Callable[[Builder, int], Atom]
"""Component number k of an element."""
JOINED = 4
"""Additions that it takes to join one more key to an element's number."""


@record
class Keyed:
    """Elements and the bits of their keys; what kernels read of them."""

    lowering: Lowering
    op: RadixSort
    bits: KeyBits
    source: tuple[Var, ...]

    def keys_at(self, b: Builder, kernel: KernelBuilder, at: Atom) -> list[Atom]:
        """The keys of the element at `at`."""

        def read(c: Builder, k: int) -> Atom:
            return c.emit(Load(kernel.buffer(self.source[k]), at))[0]

        return self.keys_of(b, kernel, read)

    def keys_of(self, b: Builder, kernel: KernelBuilder, read: Read) -> list[Atom]:
        """The keys of an element."""
        fn = self.asked
        elements = Elements(kernel, index(0), self.lowering.checks)
        for k in self.read:
            elements.env[fn.params[k]] = read(b, k)
        elements.emit(b, fn.lets)
        return list(elements.atoms(fn.results))

    def word(self, b: Builder, kernel: KernelBuilder, keys: list[Atom], shift: Atom) -> Atom:
        """A word of an element's number, from bit `shift` on."""
        fields = self.bits.reduced(b, keys, kernel.capture)
        return self.bits.word(b, fields, shift, kernel.capture)

    @property
    def asked(self) -> Lambda:
        """What gives the keys of an element."""
        return self.op.fn

    @property
    def read(self) -> list[int]:
        """The components of an element that its keys read."""
        fn = self.asked
        used = free_vars(Lambda((), fn.lets, fn.results))
        return [k for k, param in enumerate(fn.params) if param in used]

    @property
    def cost(self) -> int:
        """What the keys cost, and what it costs to join several, in units of one addition."""
        return cost_of_body(self.asked) + JOINED * (len(self.asked.results) - 1)


@record
class DigitPass(Keyed):
    """A pass as the host sees it: `turn` is the number of its digit, which begins at bit `shift`.
    `only` is the single key that has bits of the digit, if that is known. The `last` pass, after
    which nothing reads keys, need only move the components that are `wanted`."""

    key: KeyDigits
    turn: Atom
    shift: Atom
    target: tuple[Var, ...]
    last: Atom
    wanted: tuple[int, ...]
    only: int | None = None
    is_last: bool = False

    @property
    def moved(self) -> list[int]:
        """The components of an element that move."""
        return list(self.wanted if self.is_last else range(len(self.source)))

    @property
    def name(self) -> str:
        """What tells its kernels from those of other passes."""
        return ("" if self.only is None else f"_key{self.only}") + "_last" * self.is_last

    @property
    def asked(self) -> Lambda:
        """What gives the keys that have bits of the digit."""
        fn = self.op.fn
        if self.only is None:
            return fn
        results = fn.results[self.only : self.only + 1]
        return Lambda(fn.params, needed_for(fn.lets, results), results)

    @property
    def needs(self) -> list[Atom]:
        """The host values that a kernel of the pass may capture."""
        buffers = (*self.source, *self.target)
        reads = self.lowering.reads(self.op.fn)
        return [*reads, *buffers, *self.bits.needs, self.count, self.shift]

    @property
    def count(self) -> Atom:
        """How many values the digit has."""
        return self.key.values

    def digit(self, b: Builder, kernel: KernelBuilder, at: Atom) -> Atom:
        """The digit of the element at `at`, as wide as a word of the keys."""
        return self.digit_of(b, kernel, self.keys_at(b, kernel, at), kernel.capture(self.shift))

    def digit_of(
        self, b: Builder, kernel: KernelBuilder, keys: list[Atom], shift: Atom
    ) -> Atom:
        """The digit of an element's keys that begins at a bit."""
        mask = b.cast(b.sub(kernel.capture(self.count), index(1)), self.bits.dtype)
        if self.only is None:
            word = self.word(b, kernel, keys, shift)
        else:
            word = self.bits.word_of(b, self.only, keys[0], shift, kernel.capture)
        return b.apply("and", word, mask)

    def of_one_key(self, b: Builder) -> Iterator[tuple[Atom, DigitPass]]:
        """For each of several keys whether all of the digit's bits are its own, and the pass then.
        """
        many = len(self.bits.fields) > 1
        end = b.add(self.shift, self.key.width)
        for k in range(len(self.bits.fields) * many):
            yield self.bits.has(b, k, self.shift, end), replace(self, only=k)

    def ways(self, b: Builder) -> Iterator[tuple[Atom, DigitPass]]:
        """The same for how elements move: also whether the pass is the last one, and what it moves
        then."""
        some = list(self.of_one_key(b))
        if len(self.wanted) < len(self.source):
            for holds, each in [*some, (TRUE, self)]:
                yield b.apply("and", self.last, holds), replace(each, is_last=True)
        yield from some


class Passes(Protocol):
    """How a machine moves elements by a digit: from `begin` each pass gets what all of them share.
    Digits have up to `most_bits` bits."""

    most_bits: Atom

    def begin(self, digits: DigitPass) -> tuple[Var, ...]:
        """Emit what comes before the passes, the first of which this is; buffers that live as long
        as they."""

    def move(self, digits: DigitPass, shared: tuple[Var, ...]) -> None:
        """Emit a pass: the source's elements go to the target, in the order of the digit."""


class Runs(Protocol):
    """How a machine divides the elements into runs, and how runs count and move theirs.

    `count` runs by `blocks` blocks; digits have up to `most_bits` bits.
    """

    count: Atom
    blocks: Atom
    most_bits: Atom

    @property
    def needs(self) -> list[Atom]:
        """The host values of theirs that a kernel may capture."""

    def __init__(self, lowering: Lowering, total: Atom, dtypes: Sequence[DType]) -> None: ...

    def write_count(self, digits: DigitPass, kernel: KernelBuilder, counts: Var) -> None:
        """counts[d * runs + r] = how many elements of run r have the digit d."""

    def write_move(self, digits: DigitPass, kernel: KernelBuilder, starts: Var) -> None:
        """Elements of run r with digit d go to starts[d * runs + r] and the indices after it."""
