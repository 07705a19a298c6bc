"""Writing to computed indices where threads may collide: atomic instructions, compare-and-swap.

    scatter_reduce add dest   atomic add dest[j] x              any order gives the same combination
    scatter_store dest        atomic maximum winners[j] i; elements[i] = x
                              then for each j: dest[j] = elements[winners[j]]
                              i counts in running order, so the last one wins

The first part of each stands where the sweep feeds its sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from flatweave.algorithms.block_scans import Packing, packing_of
from flatweave.base.dtypes import DType, i64, u32, u64
from flatweave.base.pretty import listed
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Free, Role, free
from flatweave.kernel_ir.memory_ops import ATOMIC, Atomic, AtomicUpdate
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.context import Lowering, each_place, fill
from flatweave.lower.element_functions import Elements
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import NOT_COMBINED, ScatterVariant, When, combining
from flatweave.ops import ScatterReduce, ScatterStore
from flatweave.passes.operators import is_commutative, is_exact, may_commute
from flatweave.terms.build import Builder, index
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Lambda, Let, Var, scalar_type

# -- The arrays that threads write to side by side, as the host holds them -------------------------


NOT_COMMUTATIVE = "it takes elements in any order, and a op b is not b op a"


class Updates(Protocol):
    """Arrays of `extent` elements into which blocks combine theirs side by side.

    `update` combines one element into an index in bounds; `finish` runs after all updates.
    """

    @property
    def dest(self) -> tuple[Var, ...]: ...

    @property
    def extent(self) -> Atom: ...

    def update(
        self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]
    ) -> None: ...

    def finish(self, lowering: Lowering, let: Let) -> None: ...


class Update(ScatterVariant):
    """A variant in which blocks combine elements side by side, as they come."""

    chosen = When.ALWAYS
    stores: ClassVar[bool] = False
    """Whether it also does what combines nothing."""

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        sink = combining(facts.op)
        if sink is None:
            return "" if cls.stores else NOT_COMBINED
        return cls.misfit(machine, sink) if may_commute(sink.fn) else NOT_COMMUTATIVE

    @classmethod
    def keeps_bits(cls, facts: SweepFacts) -> bool:
        sink = combining(facts.op)
        return sink is None or is_exact(sink.fn)

    @classmethod
    def misfit(cls, machine: Machine, sink: ScatterReduce) -> str:
        """Why an operator that may commute cannot be done so; "" if it can."""
        return ""

    @classmethod
    def arrays(
        cls, lowering: Lowering, let: Let, sink: ScatterReduce, dest: tuple[Var, ...], extent: Atom
    ) -> Updates:
        """The arrays that elements are combined into."""
        raise NotImplementedError


@record
class Claims:
    """Which element came last at each index, and all elements in running order."""

    dest: tuple[Var, ...]
    winners: Var
    elements: tuple[Var, ...]
    extent: Atom


NOBODY = index(-1)
NOT_ATOMIC = f"its operator is none of {listed(ATOMIC)}, component by component"


@record
class ByComponent:
    """Arrays that are updated by a separate function for each component."""

    dest: tuple[Var, ...]
    extent: Atom
    functions: tuple[str | Lambda, ...]

    def update(self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]) -> None:
        """One instruction, or a swap, for each component."""
        for fn, dest, value in zip(self.functions, self.dest, values, strict=True):
            buffer = elements.kernel.buffer(dest)
            if isinstance(fn, str):
                b.emit(Atomic(fn, buffer, place, value))
            else:
                b.emit(AtomicUpdate(elements.function(b, fn), buffer, place, (value,)))

    def finish(self, lowering: Lowering, let: Let) -> None:
        """All is where it belongs."""


class ByAtomics(Update):
    """Updates each component independently, by an instruction or a swap."""

    name = "atomic"
    stores = True

    @classmethod
    def misfit(cls, machine: Machine, sink: ScatterReduce) -> str:
        names = component_functions(sink.fn)
        return "" if names and all(name in ATOMIC for name in names) else NOT_ATOMIC

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        sink = combining(facts.op)
        if sink is None:
            return True
        return is_commutative(sink.fn) and not cls.misfit(machine, sink)

    @classmethod
    def arrays(
        cls, lowering: Lowering, let: Let, sink: ScatterReduce, dest: tuple[Var, ...], extent: Atom
    ) -> ByComponent:
        return ByComponent(dest, extent, tuple(component_functions(sink.fn) or ()))


def make_claims(
    lowering: Lowering, let: Let, sink: ScatterStore, taken: Sequence[Atom], total: Atom
) -> Claims:
    """The arrays to write, nobody's yet, and room for every element."""
    extent = lowering.host.product(lowering.scope.array(sink.dest[0]).shape)
    dest = lowering.own_all(sink.dest, let)
    winners = lowering.alloc(i64, extent)
    fill(lowering, let, winners, extent, NOBODY, NOBODY)
    elements = tuple(lowering.alloc_like(atom, total) for atom in sink.dest)
    return Claims(dest, winners, elements, extent)


def scatter_reduce_element(
    b: Builder, elements: Elements, updates: Updates, taken: Sequence[Atom]
) -> None:
    """Combines one element into its index; drops it if the index is out of bounds."""
    place, *values = taken
    place = b.cast(place, i64)
    there = _is_inside(b, elements.kernel, place, updates.extent)
    with b.when(there) as inside:
        updates.update(inside, elements, place, values)


def claim_element(
    b: Builder, kernel: KernelBuilder, claims: Claims, taken: Sequence[Atom], order: Atom
) -> None:
    """Stores one element and claims its index for it; claims nothing if that is out of bounds."""
    place, *values = taken
    place = b.cast(place, i64)
    store_each(b, map(kernel.buffer, claims.elements), order, values)
    with b.when(_is_inside(b, kernel, place, claims.extent)) as inside:
        inside.emit(Atomic("maximum", kernel.buffer(claims.winners), place, order))


def write_winners(lowering: Lowering, let: Let, claims: Claims) -> None:
    """Emits the launch that writes to every claimed index the element that came last."""

    def write(b: Builder, kernel: KernelBuilder, j: Atom) -> None:
        winner = b.emit(Load(kernel.buffer(claims.winners), j))[0]
        with b.when(b.apply("ge", winner, index(0))) as inside:
            for buffer, elements in zip(claims.dest, claims.elements, strict=True):
                value = inside.emit(Load(kernel.buffer(elements), winner))[0]
                inside.emit(Store(kernel.buffer(buffer), j, value))

    each_place(lowering, let, "_winners", Role.PASS, claims.extent, [i64], write)
    free(lowering.host, claims.winners, *claims.elements)


def _is_inside(b: Builder, kernel: KernelBuilder, place: Atom, extent: Atom) -> Atom:
    return b.apply("lt", b.cast(place, u64), b.cast(kernel.capture(extent), u64))


# -- Elements swapped whole: an element of a few bytes is one word ---------------------------------
#
#     (f32, u32)      pack:    words[j] = bits depth[j] | colour[j] << 32
#                     update:  words[j] = pack (fn (unpack words[j]) value)    again unless won
#                     unpack:  depth[j], colour[j] = unpack words[j]
#
# An element of one component is swapped where it is. Of more than eight bytes there are two words,
# which a CPU swaps together.


def bits_of(dtypes: Sequence[DType]) -> int:
    """The bits of one element in memory."""
    return sum(8 * dtype.bytes for dtype in dtypes)


def _packing(dtypes: Sequence[DType]) -> Packing:
    """Of an element in words, as few as hold it: components' widths are powers of two."""
    total = bits_of(dtypes)
    word = u32 if total <= u32.bits else u64
    components = [(dtype, 8 * dtype.bytes) for dtype in dtypes]
    packing = packing_of(components, -(-total // word.bits), 0, word)
    assert packing is not None
    return packing


@record
class Packed:
    """Elements of several components, in words while they are combined."""

    dest: tuple[Var, ...]
    extent: Atom
    fn: Lambda
    packing: Packing
    buffer: Var

    def update(self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]) -> None:
        """Swap the words for those of what the element and the value combine to."""
        packing = self.packing
        fn = b.inner()
        old = [fn.param("old", packing.kept) for _ in range(packing.count)]
        new = [fn.param("new", packing.kept) for _ in range(packing.count)]
        operands = [*packing.unpack(fn, old), *packing.unpack(fn, new)]
        made = packing.pack(fn, elements.call(fn, self.fn, operands))
        swap = fn.close([*old, *new], made)
        words = tuple(packing.pack(b, values))
        b.emit(AtomicUpdate(swap, elements.kernel.buffer(self.buffer), place, words))

    def finish(self, lowering: Lowering, let: Let) -> None:
        """Take the components out of the words."""

        def unpack(b: Builder, kernel: KernelBuilder, j: Atom) -> None:
            words = kernel.buffer(self.buffer)
            found = [b.emit(Load(words, at))[0] for at in self._words(b, j)]
            store_each(b, map(kernel.buffer, self.dest), j, self.packing.unpack(b, found))

        each_place(
            lowering, let, "_unpack", Role.PACK, self.extent, [self.packing.kept], unpack
        )
        lowering.host.emit(Free(self.buffer))

    def begin(self, lowering: Lowering, let: Let) -> None:
        """Put the components into the words."""

        def pack(b: Builder, kernel: KernelBuilder, j: Atom) -> None:
            values = [b.emit(Load(kernel.buffer(buffer), j))[0] for buffer in self.dest]
            words = self.packing.pack(b, values)
            for at, word in zip(self._words(b, j), words, strict=True):
                b.emit(Store(kernel.buffer(self.buffer), at, word))

        each_place(
            lowering, let, "_pack", Role.PACK, self.extent, [self.packing.kept], pack
        )

    def _words(self, b: Builder, j: Atom) -> list[Atom]:
        """Where the words of an element are."""
        first = b.mul(j, index(self.packing.count))
        return [b.add(first, index(k)) for k in range(self.packing.count)]


class BySwaps(Update):
    """The element swapped whole: it is small."""

    name = "cas"

    @classmethod
    def misfit(cls, machine: Machine, sink: ScatterReduce) -> str:
        size = sum(scalar_type(result).bytes for result in sink.fn.results)
        most = machine.swap_bytes
        if size <= most:
            return ""
        return f"its elements have {size} bytes, and at most {most} are swapped at once"

    @classmethod
    def arrays(
        cls, lowering: Lowering, let: Let, sink: ScatterReduce, dest: tuple[Var, ...], extent: Atom
    ) -> ByComponent | Packed:
        if len(dest) == 1:
            return ByComponent(dest, extent, (sink.fn,))
        packing = _packing([scalar_type(result) for result in sink.fn.results])
        room = lowering.host.mul(extent, index(packing.count))
        packed = Packed(dest, extent, sink.fn, packing, lowering.alloc(packing.kept, room))
        packed.begin(lowering, let)
        return packed


# -- Arrays into which all blocks combine elements as they come: by which kind of update -----------


UPDATES: Sequence[type[Update]] = (ByAtomics, BySwaps)
"""The first that suits an operator is the least that it asks for."""


def choose_updates(lowering: Lowering, let: Let, sink: ScatterReduce, variant: str) -> Updates:
    """The arrays that elements are combined into, which this sweep may write."""
    dest = lowering.own_all(sink.dest, let)
    extent = lowering.host.product(lowering.scope.array(sink.dest[0]).shape)
    update = next(each for each in UPDATES if each.name == variant)
    return update.arrays(lowering, let, sink, dest, extent)
