"""Sorting, by digits of unsigned keys, the least significant first: the host's part.

    for each digit of the keys' bits that vary, the least significant one first:
        move the elements into the order of the digit, equal ones as they are

The keys of an element are one long number (`digits.py`). How a pass moves elements is the
machine's: it counts runs of them and scans the counts before (`counted_runs.py`), or does it in one
launch whose blocks look back (`onesweep.py`). Every pass is stable, so that the result is the only
one there is, however elements are divided.

The program finds out at run time which bits vary; they determine how many digits there are, and how
wide they are. The last pass moves only the arrays that are read. The program also finds out whether
elements are in order, strictly descending, or few: these need no passes (`turned`,
`short_rows.py`). Elements alternate between two buffers; if the unsorted array is not needed any
more, its buffer is one of them. See Note [What a pass costs].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.host import IsUnique, Retain, Role, free
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.context import Lowering
from flatweave.lower.in_place import again_or_fresh
from flatweave.lower.kernel_builder import HostArray, KernelBuilder, place_blocks, write_places
from flatweave.lower.schedule.plan import elements_each, sorts_by_lane
from flatweave.lower.sort.counted_runs import BlockRuns, CountedRuns, LaneRuns
from flatweave.lower.sort.cpu_passes import LEAST, Mend
from flatweave.lower.sort.digits import (
    DigitPass,
    KeyBits,
    KeyDigits,
    Keyed,
    Passes,
    bits_of,
    ceil_div,
)
from flatweave.lower.sort.onesweep import Sweeps
from flatweave.lower.sort.short_rows import few_elements, in_network
from flatweave.ops import RadixSort
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.control import If, While
from flatweave.terms.syntax import Atom, Let, Var, array_type, constant

# -- A sort of elements each of which comes before the one before it: from the last to the first ---
#
#     9 7 4 1     1 4 7 9


def turned(lowering: Lowering, let: Let, op: RadixSort, total: Atom) -> list[Var]:
    """The buffers of the elements, the last one first."""
    machine, host = lowering.machine, lowering.host
    source = [lowering.scope.array(x).buffer for x in op.xs]
    target = [lowering.alloc_like(x, total) for x in op.xs]
    dtypes = [array_type(x).dtype for x in op.xs]

    def write(kernel: KernelBuilder) -> None:
        count = kernel.capture(total)
        moves = [(kernel.buffer(x), kernel.buffer(y)) for x, y in zip(source, target, strict=True)]

        def at(b: Builder, i: Atom) -> None:
            behind = b.sub(b.sub(count, index(1)), i)
            for old, new in moves:
                b.emit(Store(new, i, b.emit(Load(old, behind))[0]))

        write_places(machine, kernel, count, dtypes, at)

    needs = [*source, *target, total]
    kernel = lowering.later(let, "_turned", needs, lambda kernel, own: write(kernel))
    lowering.launch(kernel, place_blocks(host, machine, total, dtypes), Role.VARIANT)
    return target


Way = Callable[[Lowering, Let, RadixSort, Atom], Sequence[Var]]
"""Emits a sort of the given number of elements; returns their buffers."""


def lower_radix_sort(lowering: Lowering, let: Let) -> None:
    """Emit a sort and bind its results: what suits the elements' order and number, or passes."""
    op, host = let.op, lowering.host
    assert isinstance(op, RadixSort)
    total = lowering.scope.array(op.xs[0]).shape[0]
    rises, falls = map(lowering.scope.scalar, op.order or (FALSE, FALSE))
    unordered = host.apply("not", rises)
    ways: list[tuple[Atom, Way]] = []
    if op.order:
        ways.append((host.apply("and", falls, unordered), turned))
    if lowering.machine.threads_are_long:
        is_short = host.apply("le", total, index(few_elements(lowering.machine, op.fn)))
        ways.append((host.apply("and", is_short, unordered), in_network))
    found = _first(lowering, let, total, ways)
    for var, buffer in zip(let.vars, found, strict=True):
        lowering.scope.bind(var, HostArray(buffer, (total,)))


def _first(
    lowering: Lowering, let: Let, total: Atom, ways: Sequence[tuple[Atom, Way]]
) -> Sequence[Var]:
    """The sorted elements' buffers, by the first of the ways whose condition holds, else passes."""
    assert isinstance(let.op, RadixSort)
    if not ways:
        return _RadixSortLowering(lowering, let, let.op, total).run()
    (condition, way), *others = ways
    then, other = lowering.inner(optional=True), lowering.inner(optional=True)
    for inside in (then, other):
        inside.where, inside.last_uses = lowering.where, lowering.last_uses
    bodies = (
        then.host.close([], way(then, let, let.op, total)),
        other.host.close([], _first(other, let, total, others)),
    )
    return lowering.host.emit(If(condition, *bodies), "buffer")


@record
class _Buffers:
    """Where the elements are, where the next pass puts them, and where the one after that does."""

    source: tuple[Var, ...]
    target: tuple[Var, ...]
    spare: tuple[Var, ...]

    def moved(self) -> _Buffers:
        """After a pass."""
        return _Buffers(self.target, self.spare, self.target)

    def all(self) -> tuple[Var, ...]:
        return (*self.source, *self.target, *self.spare)

    @staticmethod
    def of(buffers: Sequence[Var]) -> _Buffers:
        third = len(buffers) // 3
        source, target = buffers[:third], buffers[third : 2 * third]
        return _Buffers(tuple(source), tuple(target), tuple(buffers[2 * third :]))


class _RadixSortLowering:
    """One sort on its way to its launches."""

    def __init__(self, lowering: Lowering, let: Let, op: RadixSort, total: Atom) -> None:
        self.lowering = lowering
        self.let = let
        self.op = op
        self.dtypes = [array_type(x).dtype for x in op.xs]
        self.total = total
        self.mend: Mend | None = None
        unread = lowering.last_uses.get(let, ())
        self.wanted = tuple(k for k, var in enumerate(let.vars) if var not in unread)
        self.passes = self._choose()

    def _choose(self) -> Passes:
        """How this machine passes."""
        lowering, total, dtypes = self.lowering, self.total, self.dtypes
        if (each := elements_each(lowering.machine, dtypes)) > 0:
            return Sweeps(lowering, self.let, total, dtypes, each)
        if sorts_by_lane(lowering.machine):
            return CountedRuns(self.let, LaneRuns(lowering, total, dtypes))
        runs = BlockRuns(lowering, total, dtypes)
        self.mend = Mend(self.let, runs.blocks, runs.size, total)
        return CountedRuns(self.let, runs)

    def run(self) -> tuple[Var, ...]:
        """The buffers of the sorted elements."""
        lowering, host = self.lowering, self.lowering.host
        source = tuple(lowering.scope.array(x).buffer for x in self.op.xs)
        target = tuple(lowering.alloc_like(x, self.total) for x in self.op.xs)
        spare = tuple(self._spare(x) for x in self.op.xs)
        buffers = _Buffers(source, target, spare)
        buffers = self._by_digits(buffers, bits_of(lowering, self.op, self.total))
        for buffer in buffers.source:
            host.emit(Retain(buffer))
        free(host, *target, *spare)
        return buffers.source

    def _spare(self, x: Atom) -> Var:
        """The buffer of the unsorted array, once more, or a fresh one where others need that."""
        lowering = self.lowering
        assert isinstance(x, Var)
        buffer = lowering.scope.array(x).buffer
        needed = x not in lowering.last_uses.get(self.let, ()) or self.op.xs.count(x) > 1
        if needed or buffer in lowering.program.kept_by_caller:
            return lowering.alloc_like(x, self.total)
        lowering.take(buffer)
        unique = lowering.host.emit(IsUnique(buffer))[0]
        return again_or_fresh(lowering, buffer, unique, array_type(x).dtype, self.total)

    # -- how many bits ----------------------------------------------------------------------------

    def _by_digits(self, buffers: _Buffers, bits: KeyBits) -> _Buffers:
        """The elements by all bits, or by the leading ones that will do."""
        if self.mend is None:
            return self._passes(self.lowering, buffers, bits, TRUE)
        keyed = Keyed(self.lowering, self.op, bits, buffers.source)
        wanted = self._wanted(self.mend, keyed)
        return self._until_mended(self.mend, bits, wanted, buffers)

    def _wanted(self, mend: Mend, keyed: Keyed) -> Atom:
        """How many of the bits are sorted by; all where fewer cannot save a pass."""
        host, count = self.lowering.host, keyed.bits.count(self.lowering.host)
        fewest = mend.fewest_bits(host)
        passes = ceil_div(host, fewest, host.apply("maximum", self.passes.most_bits, index(1)))
        saves = host.apply("gt", count, host.mul(passes, self.passes.most_bits))
        many = host.apply("ge", self.total, index(LEAST))
        inside = self.lowering.inner()
        found = mend.leading(replace(keyed, lowering=inside), fewest)
        other = host.inner().close([], [count])
        pays = host.apply("and", saves, many)
        return host.emit(If(pays, inside.host.close([], [found]), other))[0]

    def _until_mended(
        self, mend: Mend, bits: KeyBits, wanted: Atom, buffers: _Buffers
    ) -> _Buffers:
        """Passes over the wanted bits and mend; where that gives up, passes over all."""
        host, test, inside = self.lowering.host, self.lowering.host.inner(), self.lowering.inner()
        init = (TRUE, wanted, *buffers.all())
        asked = [test.param("s", atom.type) for atom in init]
        again, number, *state = params = [inside.host.param("s", atom.type) for atom in init]
        chosen = bits.leading(inside.host, number)
        left_out = inside.host.apply("gt", chosen.least, bits.least)
        is_end = inside.host.apply("not", left_out)
        after = self._passes(inside, _Buffers.of(state), chosen, is_end)
        some = inside.inner()
        gave_up = mend.emit(Keyed(some, self.op, chosen, after.source))
        nothing = inside.host.inner().close([], [FALSE])
        (again,) = inside.host.emit(If(left_out, some.host.close([], [gave_up]), nothing))
        body = inside.host.close(params, [again, bits.count(inside.host), *after.all()])
        found = host.emit(While(test.close(asked, [asked[0]]), body, init), "buffer")
        return _Buffers.of(found[2:])

    # -- the digits of some bits ------------------------------------------------------------------

    def _passes(
        self, lowering: Lowering, buffers: _Buffers, bits: KeyBits, is_end: Atom
    ) -> _Buffers:
        """One pass for each digit; `is_end` says whether nothing reads keys after them."""
        host = lowering.host
        digits = bits.digits(host, self.passes.most_bits)
        first = self._digit(lowering, digits, index(0), bits.least, buffers, is_end)
        shared = self.passes.begin(first)
        inside = lowering.inner()
        turn = inside.host.param("d", i64)
        state = [inside.host.param("buffer", buffer.type) for buffer in buffers.all()]
        found = self._pass(inside, digits, turn, _Buffers.of(state), shared, is_end)
        after = inside.host.close_loop(index(0), digits.many, buffers.all(), found)
        free(host, *shared)
        return _Buffers.of(after)

    def _digit(
        self, lowering: Lowering, digits: KeyDigits, turn: Atom, shift: Atom, buffers: _Buffers,
        is_end: Atom,
    ) -> DigitPass:  # fmt: skip
        final = lowering.host.apply("eq", turn, lowering.host.sub(digits.many, index(1)))
        return DigitPass(
            lowering, self.op, digits.bits, buffers.source, digits, turn, shift, buffers.target,
            lowering.host.apply("and", final, is_end), self.wanted,
        )  # fmt: skip

    def _pass(
        self, lowering: Lowering, digits: KeyDigits, turn: Atom, buffers: _Buffers,
        shared: tuple[Var, ...], is_end: Atom,
    ) -> tuple[Var, ...]:  # fmt: skip
        """The buffers after a pass; a digit that is the same everywhere needs none."""
        host, dtype = lowering.host, digits.bits.dtype
        shift = host.add(digits.bits.least, host.mul(turn, digits.width))
        mask = host.cast(host.sub(digits.values, index(1)), dtype)
        digit = host.apply("and", digits.bits.varying(host, shift), mask)
        varies = host.apply("ne", digit, constant(0, dtype))
        inside = lowering.inner()
        self.passes.move(self._digit(inside, digits, turn, shift, buffers, is_end), shared)
        then = inside.host.close([], buffers.moved().all())
        other = host.inner().close([], buffers.all())
        return host.emit(If(varies, then, other), "buffer")


# Note [What a pass costs]
#
# Measured on Zen 4, one thread, 2^24 keys of 32 bits, in nanoseconds for each key and pass:
#
#     counting                                       0.4
#     moving, each element stored where it belongs   1.0, and 3.4 if targets differ by 2^k
#     moving, lines of 16 around the caches          1.6 with 8 bits, 1.8 with 11
#     moving, lines of 32                            1.4 with 8 bits, 1.5 with 11
#
# so that three digits of 11 bits take three quarters of the time of four of 8. With a four-byte
# value in addition to the key, a move costs 2.1 and 2.7: three quarters become nine tenths. With
# wider values, the lines of 2048 digits leave the second-level cache, and narrow digits win. A line
# shorter than 32 elements is full too often (a branch that is mispredicted). Two lines of each
# digit in each run are shared with its neighbours: hence few runs, and 11 bits only for long runs.
# Up to 10 bits are used if that saves a pass and the lines of all digits stay in the second-level
# cache. A pass is far from the bandwidth of memory: it moves 8 bytes a key, which takes 0.1 ns.
