"""What the kernels of a sort's pass share: one digit of one key, and how elements are divided."""

from __future__ import annotations

from collections.abc import Sequence
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


@record
class DigitPass:
    """A pass as the host sees it: `count` digits, which begin at bit `shift` of a key."""

    lowering: Lowering
    op: RadixSort
    key: int
    shift: Atom
    count: Atom
    source: tuple[Var, ...]
    target: tuple[Var, ...]

    def digit(self, b: Builder, kernel: KernelBuilder, at: Atom) -> Atom:
        """The digit of the element at `at`, as wide as the key."""
        fn = self._key()
        elements = Elements(kernel, index(0), self.lowering.checks)
        used = free_vars(Lambda((), fn.lets, fn.results))
        pairs = [pair for pair in zip(fn.params, self.source, strict=True) if pair[0] in used]
        for param, buffer in pairs:
            elements.env[param] = b.emit(Load(kernel.buffer(buffer), at))[0]
        elements.emit(b, fn.lets)
        key = elements.atoms(fn.results)[0]
        dtype = scalar_type(key)
        shift = b.cast(kernel.capture(self.shift), dtype)
        mask = b.cast(b.sub(kernel.capture(self.count), index(1)), dtype)
        return b.apply("and", b.apply("shr", key, shift), mask)

    @property
    def cost(self) -> int:
        """What the key costs, in units of one addition."""
        return cost_of_body(self._key())

    def _key(self) -> Lambda:
        """The one key of this pass, as a function of the elements."""
        fn = self.op.fn
        result = fn.results[self.key]
        return Lambda(fn.params, needed_for(fn.lets, [result]), (result,))


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
