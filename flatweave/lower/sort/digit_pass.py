"""What the kernels of a sort's passes share: one digit of the keys, and what ways of passing do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.sort.key_bits import KeyBits, KeyDigits
from flatweave.ops import RadixSort
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, Var
from flatweave.terms.traverse import free_vars, needed_for

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
    """A pass as the host sees it: the digit number `turn`, which begins at bit `shift`. `only` is
    the one key that has bits of it, where that is known."""

    key: KeyDigits
    turn: Atom
    shift: Atom
    target: tuple[Var, ...]
    only: int | None = None

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
        """Each element of run r with digit d goes to starts[d * runs + r], the next one behind."""
