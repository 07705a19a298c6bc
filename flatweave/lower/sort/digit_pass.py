"""What the kernels of a sort's passes share: one digit of one key, and what ways of passing do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.ops import RadixSort
from flatweave.ops.rows import scalar_type
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, Var
from flatweave.terms.traverse import free_vars, needed_for

Read = Callable[[Builder, int], Atom]
"""Component number k of an element."""


@record
class KeyBits:
    """The bits of a key that vary: all of those from `least` up to `end`. As the host sees them."""

    varying: Atom
    least: Atom
    end: Atom

    def count(self, b: Builder) -> Atom:
        """How many they are."""
        return b.sub(self.end, self.least)

    def leading(self, b: Builder, count: Atom) -> KeyBits:
        """So many of them, or all that there are."""
        least = b.apply("maximum", b.sub(self.end, count), self.least)
        return KeyBits(self.varying, least, self.end)

    def digits(self, b: Builder, most: Atom) -> KeyDigits:
        """Digits of at most so many bits."""
        count = self.count(b)
        many = ceil_div(b, count, b.apply("maximum", most, index(1)))
        width = ceil_div(b, count, b.apply("maximum", many, index(1)))
        values = b.apply("shl", index(1), width)
        return KeyDigits(self.varying, self.least, many, width, values)


@record
class KeyDigits:
    """A key's bits that vary, as digits: `many` of them, from bit `least` on, each of `width` bits
    with so many `values`. All as the host sees them."""

    varying: Atom
    least: Atom
    many: Atom
    width: Atom
    values: Atom


@record
class Keyed:
    """Elements and one of their keys, number `number`; what kernels read of them."""

    lowering: Lowering
    op: RadixSort
    number: int
    source: tuple[Var, ...]

    @property
    def dtype(self) -> DType:
        """The key's."""
        return scalar_type(self.op.varying[self.number])

    def key_at(self, b: Builder, kernel: KernelBuilder, at: Atom) -> Atom:
        """The key of the element at `at`."""

        def read(c: Builder, k: int) -> Atom:
            return c.emit(Load(kernel.buffer(self.source[k]), at))[0]

        return self.key_of(b, kernel, read)

    def key_of(self, b: Builder, kernel: KernelBuilder, read: Read) -> Atom:
        """The key of an element."""
        fn = self._key()
        elements = Elements(kernel, index(0), self.lowering.checks)
        for k in self.read:
            elements.env[fn.params[k]] = read(b, k)
        elements.emit(b, fn.lets)
        return elements.atoms(fn.results)[0]

    @property
    def read(self) -> list[int]:
        """The components of an element that its key reads."""
        fn = self._key()
        used = free_vars(Lambda((), fn.lets, fn.results))
        return [k for k, param in enumerate(fn.params) if param in used]

    @property
    def cost(self) -> int:
        """What the key costs, in units of one addition."""
        return cost_of_body(self._key())

    def _key(self) -> Lambda:
        """The one key of this pass, as a function of the elements."""
        fn = self.op.fn
        result = fn.results[self.number]
        return Lambda(fn.params, needed_for(fn.lets, [result]), (result,))


@record
class DigitPass(Keyed):
    """A pass as the host sees it: the digit number `turn`, which begins at bit `shift` of a key."""

    key: KeyDigits
    turn: Atom
    shift: Atom
    target: tuple[Var, ...]

    @property
    def count(self) -> Atom:
        """How many values the digit has."""
        return self.key.values

    def digit(self, b: Builder, kernel: KernelBuilder, at: Atom) -> Atom:
        """The digit of the element at `at`, as wide as the key."""
        return self.digit_of(b, kernel, self.key_at(b, kernel, at), kernel.capture(self.shift))

    def digit_of(self, b: Builder, kernel: KernelBuilder, key: Atom, shift: Atom) -> Atom:
        """The digit that begins at a bit of the key."""
        dtype = scalar_type(key)
        low = b.cast(shift, dtype)
        mask = b.cast(b.sub(kernel.capture(self.count), index(1)), dtype)
        return b.apply("and", b.apply("shr", key, low), mask)


class Passes(Protocol):
    """How a machine moves elements by a digit: from `begin`, once for a key, each pass gets what
    all of them share. Digits have up to `most_bits` bits."""

    most_bits: Atom

    def begin(self, digits: DigitPass) -> tuple[Var, ...]:
        """Emit what comes before the passes of a key, the first of which this is; buffers that live
        as long as they."""

    def move(self, digits: DigitPass, shared: tuple[Var, ...]) -> None:
        """Emit a pass: the source's elements go to the target, in the order of the digit."""


class Runs(Protocol):
    """How a machine divides the elements into runs, and how runs count and move theirs.

    `count` runs by `blocks` blocks; digits have up to `most_bits` bits.
    """

    count: Atom
    blocks: Atom
    most_bits: Atom

    def __init__(self, lowering: Lowering, total: Atom, dtypes: Sequence[DType]) -> None: ...

    def write_count(self, digits: DigitPass, kernel: KernelBuilder, counts: Var) -> None:
        """counts[d * runs + r] = how many elements of run r have the digit d."""

    def write_move(self, digits: DigitPass, kernel: KernelBuilder, starts: Var) -> None:
        """Each element of run r with digit d goes to starts[d * runs + r], the next one behind."""


def ceil_div(b: Builder, a: Atom, by: Atom) -> Atom:
    """a / by, rounded up."""
    return b.apply("floordiv", b.add(a, b.sub(by, index(1))), by)
