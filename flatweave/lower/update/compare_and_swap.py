"""Combining elements by compare-and-swap: an element of a few bytes is one word, swapped whole.

    (f32, u32)      pack:    words[j] = bits depth[j] | colour[j] << 32
                    update:  words[j] = pack (fn (unpack words[j]) value)    again unless won
                    unpack:  depth[j], colour[j] = unpack words[j]

An element of one component is swapped where it is. Of more than eight bytes there are two words,
which a CPU swaps together.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import BY_NAME, DType, u32, u64
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.memory_ops import AtomicUpdate
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.context import Lowering, each_place
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.machine.machine import Machine
from flatweave.lower.update.atomic import ByAtomics, Update, Updates
from flatweave.ops import ScatterReduce
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var


def bits_of(dtypes: Sequence[DType]) -> int:
    """The bits of one element in memory."""
    return sum(8 * dtype.bytes for dtype in dtypes)


@record
class Packing:
    """Where the components of an element are in its words: (word, bit), the widest first."""

    dtypes: tuple[DType, ...]
    word: DType
    words: int
    places: tuple[tuple[int, int], ...]

    @staticmethod
    def of(dtypes: Sequence[DType]) -> Packing:
        """Components never lie across two words: their widths are powers of two."""
        total = bits_of(dtypes)
        start, starts = 0, {}
        for k in sorted(range(len(dtypes)), key=lambda k: -dtypes[k].bytes):
            starts[k] = start
            start += 8 * dtypes[k].bytes
        places = tuple(divmod(starts[k], u64.bits) for k in range(len(dtypes)))
        words = -(-total // u64.bits)
        return Packing(tuple(dtypes), u32 if total <= u32.bits else u64, words, places)

    def pack(self, b: Builder, values: Sequence[Atom]) -> list[Atom]:
        """The words of an element."""
        packed: list[Atom] = [Const(0, self.word)] * self.words
        for value, (word, bit) in zip(values, self.places, strict=True):
            moved = b.apply("shl", b.cast(_unsigned(b, value), self.word), Const(bit, self.word))
            packed[word] = b.apply("or", packed[word], moved)
        return packed

    def unpack(self, b: Builder, words: Sequence[Atom]) -> list[Atom]:
        """The components of an element."""
        values = []
        for dtype, (word, bit) in zip(self.dtypes, self.places, strict=True):
            moved = b.apply("shr", words[word], Const(bit, self.word))
            bits = b.cast(moved, BY_NAME[f"u{8 * dtype.bytes}"])
            values.append(b.apply("from_bits", bits) if dtype.is_float else b.cast(bits, dtype))
        return values


def _unsigned(b: Builder, value: Atom) -> Atom:
    """The bits of a value."""
    dtype = scalar_type(value)
    if dtype.is_float:
        return b.apply("bits", value)
    return b.cast(value, BY_NAME[f"u{8 * dtype.bytes}"])


@record
class InPlace:
    """Elements of one component."""

    dest: tuple[Var, ...]
    extent: Atom
    fn: Lambda

    def update(self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]) -> None:
        """Swap it where it is."""
        buffer = elements.kernel.buffer(self.dest[0])
        b.emit(AtomicUpdate(elements.function(b, self.fn), buffer, place, tuple(values)))

    def finish(self, lowering: Lowering, let: Let) -> None:
        """All is where it belongs."""


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
        old = [fn.param("old", packing.word) for _ in range(packing.words)]
        new = [fn.param("new", packing.word) for _ in range(packing.words)]
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
            for buffer, value in zip(self.dest, self.packing.unpack(b, found), strict=True):
                b.emit(Store(kernel.buffer(buffer), j, value))

        each_place(
            lowering, let, "_unpack", Role.PACK, self.extent, [self.packing.word], unpack
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
            lowering, let, "_pack", Role.PACK, self.extent, [self.packing.word], pack
        )

    def _words(self, b: Builder, j: Atom) -> list[Atom]:
        """Where the words of an element are."""
        first = b.mul(j, index(self.packing.words))
        return [b.add(first, index(k)) for k in range(self.packing.words)]


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
    ) -> InPlace | Packed:
        if len(dest) == 1:
            return InPlace(dest, extent, sink.fn)
        packing = Packing.of([scalar_type(result) for result in sink.fn.results])
        room = lowering.host.mul(extent, index(packing.words))
        buffer = lowering.host.emit(Alloc(packing.word, room, lowering.site()))[0]
        packed = Packed(dest, extent, sink.fn, packing, buffer)
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
