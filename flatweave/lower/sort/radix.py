"""Sorting, by digits of unsigned keys, the least significant first: the host's part.

    for each key, the last one first:
        for each digit of the bits that vary:
            move the elements into the order of the digit, equal ones as they are

How a pass moves them is the machine's: it counts runs of elements and scans the counts before
(`counted_runs.py`), or does it in one launch whose blocks look back (`sweeps.py`). Every pass is
stable, so that the result is the only one there is, however elements are divided.

Which bits vary is known when the program runs: it decides on how many digits there are, and how
wide they are. Elements go back and forth between two buffers; where nobody needs the unsorted array
any more, its own is one of them. See Note [What a pass costs].
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free, IsUnique, Retain
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.schedule.sorting import elements_each, sorts_by_lane
from flatweave.lower.sort.blocks import BlockRuns
from flatweave.lower.sort.counted_runs import CountedRuns
from flatweave.lower.sort.digit_pass import DigitPass, KeyDigits, Passes, ceil_div
from flatweave.lower.sort.lanes import LaneRuns
from flatweave.lower.sort.sweeps import Sweeps
from flatweave.ops import RadixSort
from flatweave.ops.rows import array_type, scalar_type
from flatweave.terms.build import index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, Let, Var, constant


def lower_radix_sort(lowering: Lowering, let: Let) -> None:
    """Emit the passes of a sort and bind its results."""
    assert isinstance(let.op, RadixSort)
    _RadixSortLowering(lowering, let, let.op).run()


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

    def __init__(self, lowering: Lowering, let: Let, op: RadixSort) -> None:
        self.lowering = lowering
        self.let = let
        self.op = op
        self.dtypes = [array_type(x).dtype for x in op.xs]
        self.total = lowering.scope.array(op.xs[0]).shape[0]
        self.passes = self._choose()

    def _choose(self) -> Passes:
        """How this machine passes."""
        lowering, total, dtypes = self.lowering, self.total, self.dtypes
        if (each := elements_each(lowering.machine, dtypes)) > 0:
            return Sweeps(lowering, self.let, total, dtypes, each)
        made = LaneRuns if sorts_by_lane(lowering.machine) else BlockRuns
        return CountedRuns(lowering, self.let, made(lowering, total, dtypes))

    def run(self) -> None:
        lowering, host = self.lowering, self.lowering.host
        source = tuple(lowering.scope.array(x).buffer for x in self.op.xs)
        target = tuple(lowering.alloc_like(x, self.total) for x in self.op.xs)
        spare = tuple(self._spare(x) for x in self.op.xs)
        buffers = _Buffers(source, target, spare)
        for key in reversed(range(len(self.op.varying))):
            buffers = self._passes(buffers, key)
        for var, buffer in zip(self.let.vars, buffers.source, strict=True):
            host.emit(Retain(buffer))
            lowering.scope.bind(var, HostArray(buffer, (self.total,)))
        for buffer in (*target, *spare):
            host.emit(Free(buffer))

    def _spare(self, x: Atom) -> Var:
        """The buffer of the unsorted array, once more, or a fresh one where others need that."""
        lowering, host = self.lowering, self.lowering.host
        assert isinstance(x, Var)
        buffer = lowering.scope.array(x).buffer
        needed = x not in lowering.last_uses.get(self.let, ()) or self.op.xs.count(x) > 1
        if needed or buffer in lowering.program.kept_by_caller:
            return lowering.alloc_like(x, self.total)
        lowering.take(buffer)
        again, fresh = host.inner(), host.inner()
        again.emit(Retain(buffer))
        made = fresh.emit(Alloc(array_type(x).dtype, self.total, lowering.site()))[0]
        choice = If(host.emit(IsUnique(buffer))[0], again.close([], [buffer]),
                    fresh.close([], [made]))  # fmt: skip
        return host.emit(choice, "buffer")[0]

    # -- the digits of one key --------------------------------------------------------------------

    def _passes(self, buffers: _Buffers, key: int) -> _Buffers:
        """One pass for each digit between the least and the greatest bit that vary."""
        lowering, host = self.lowering, self.lowering.host
        varying = lowering.scope.scalar(self.op.varying[key])
        dtype = scalar_type(varying)
        least = host.cast(host.apply("ctz", varying), i64)
        zeros = host.cast(host.apply("clz", varying), i64)
        bits = host.sub(host.sub(index(dtype.bits), zeros), least)
        some = host.apply("gt", self.total, index(1))
        bits = host.apply("select", some, host.apply("maximum", bits, index(0)), index(0))
        many = ceil_div(host, bits, self.passes.most_bits)
        width = ceil_div(host, bits, host.apply("maximum", many, index(1)))
        values = host.apply("shl", index(1), width)
        digits = KeyDigits(key, varying, least, many, width, values)
        shared = self.passes.begin(self._digit(lowering, digits, index(0), least, buffers))
        inside = lowering.inner()
        turn = inside.host.param("d", i64)
        state = [inside.host.param("buffer", buffer.type) for buffer in buffers.all()]
        found = self._pass(inside, digits, turn, _Buffers.of(state), shared)
        body = inside.host.close([turn, *state], found)
        after = host.emit(For(index(0), many, index(1), body, buffers.all()))
        for buffer in shared:
            host.emit(Free(buffer))
        return _Buffers.of(after)

    def _digit(
        self, lowering: Lowering, key: KeyDigits, turn: Atom, shift: Atom, buffers: _Buffers
    ) -> DigitPass:
        return DigitPass(lowering, self.op, key, turn, shift, buffers.source, buffers.target)

    def _pass(
        self, lowering: Lowering, key: KeyDigits, turn: Atom, buffers: _Buffers,
        shared: tuple[Var, ...],
    ) -> tuple[Var, ...]:  # fmt: skip
        """The buffers after a pass; a digit that is the same everywhere needs none."""
        host, dtype = lowering.host, scalar_type(key.varying)
        shift = host.add(key.least, host.mul(turn, key.width))
        mask = host.cast(host.sub(key.values, index(1)), dtype)
        digit = host.apply("and", host.apply("shr", key.varying, host.cast(shift, dtype)), mask)
        varies = host.apply("ne", digit, constant(0, dtype))
        inside = lowering.inner()
        self.passes.move(self._digit(inside, key, turn, shift, buffers), shared)
        then = inside.host.close([], buffers.moved().all())
        other = host.inner().close([], buffers.all())
        return host.emit(If(varies, then, other), "buffer")


# Note [What a pass costs]
#
# Measured on Zen 4, one thread, 2^24 keys of 32 bits, in nanoseconds for each key and pass:
#
#     counting                                       0.4
#     moving, each element stored where it belongs   1.0, and 3.4 where places lie 2^k apart
#     moving, lines of 16 around the caches          1.6 with 8 bits, 1.8 with 11
#     moving, lines of 32                            1.4 with 8 bits, 1.5 with 11
#
# so that three digits of 11 bits take three quarters of the time of four of 8. With a value of four
# bytes beside the key a move costs 2.1 and 2.7: three quarters become nine tenths; with wider ones
# the lines of 2048 digits leave the second-level cache, and narrow digits win. A line shorter than
# 32 elements is full too often (a branch that nobody foretells), and two of a digit's lines in each
# run are shared with its neighbours: hence few runs, and wide digits only where runs are long. The
# bandwidth of memory is far off: a pass moves 8 bytes a key, which takes 0.1 ns.
