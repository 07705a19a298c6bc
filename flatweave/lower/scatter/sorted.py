"""Scattering sorted by index: elements of one index become a row, and each row is combined.

    keys, values = the index and the value of each element      out of bounds: the extent
    keys, values = radix_sort by key                            stable: in the order of the sweep
    rows[j]      = the values of key j combined, in order       balanced over elements, not indices
    dest[j]      = dest[j] fn rows[j]                           where there is a row

For machines with many threads. Nothing is atomic, so any operator works, and the indices alone
determine how elements are grouped. An operator without a neutral element is combined together with
a flag that says whether there is an element at all.

The first three are array operations, which are planned and lowered like those of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64, u32, u64
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Role, free
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.context import Lowering, each_place, name_of
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.lower.scatter.scattering import Division, Scattering
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import NOT_COMBINED, When, combining, neutral_of
from flatweave.ops import CombineRows, Index, RadixSort, Reshape, Sweep
from flatweave.ops import Store as Kept
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.syntax import Atom, Const, Lambda, Var, array_type, constant, scalar_type
from flatweave.terms.traverse import find_last_uses

# --------------------------------------------------------------------------------------------------
# An operator without a neutral element gets one: a flag before each element says whether there is
# one at all.
#
#     (true, a) op (true, b) = (true, a op b)      (false, _) op x = x op (false, _) = x


def with_flag(b: Builder, fn: Lambda) -> tuple[Lambda, tuple[Const, ...]]:
    """The operator on flagged elements, and its neutral element, whose flag is false."""
    half = len(fn.results)
    types = [param.type for param in fn.params[:half]]

    def combine(c: Builder, *given: Atom) -> Sequence[Atom]:
        (left, *old), (right, *new) = given[: 1 + half], given[1 + half :]
        found = c.choose(
            c.apply("and", left, right), lambda d: d.inline(fn, (*old, *new)),
            lambda d: [d.apply("select", left, x, y) for x, y in zip(old, new, strict=True)],
        )  # fmt: skip
        return (c.apply("or", left, right), *found)

    zeros = [constant(0, dtype) for dtype in types if isinstance(dtype, DType)]
    return b.function([bool_, *types, bool_, *types], combine), (FALSE, *zeros)


class Sorted(Division):
    """Elements are sorted by index; then they are combined like rows of a ragged array."""

    name = "sorted"
    reason = "elements are sorted by place, so that those that meet are combined in order"
    chosen = When.ALWAYS
    divides_scans = True

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        assert scattering.sink is not None
        self.sink = scattering.sink
        self.neutral = neutral_of(self.sink)

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        return NOT_COMBINED if combining(facts.op) is None else ""

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        return machine.atomics and super().suits(machine, facts)

    def launch(self, host: Builder) -> None:
        """The array operations, then one launch over the destination."""
        outside = self.scattering.lowering
        lowering = Lowering(outside.program, host, outside.scope.inner())
        lowering.where, lowering.may_not_run = outside.where, True
        made = self._combined_by_place()
        lowering.last_uses = find_last_uses(made)
        lowering.program.lower_lets(lowering, made)
        rows = [lowering.scope.array(result).buffer for result in made.results]
        self._join(lowering, rows)
        free(host, *rows)

    # -- the array operations ---------------------------------------------------------------------

    def _combined_by_place(self) -> Lambda:
        """The combined elements of each index, by operations on arrays."""
        s = self.scattering
        b = Builder(s.lowering.program.names)
        b.where = s.let.where
        total = b.product(s.op.shape)
        extent = array_type(self.sink.dest[0]).shape[0]
        keys, *values = self._in_running_order(b, extent, total)
        key = b.cast(extent, array_type(keys).dtype)
        by_key = b.function(
            [array_type(x).dtype for x in (keys, *values)], lambda c, *xs: xs[:1]
        )
        none = constant(0, scalar_type(key))
        sort = RadixSort(by_key, (_bits_up_to(b, key),), (none,), (key,), (), (keys, *values))
        arranged = b.emit(sort, self._named("sorted"))
        return b.close([], self._rows(b, arranged[0], arranged[1:], extent, total))

    def _in_running_order(self, b: Builder, extent: Atom, total: Atom) -> Sequence[Atom]:
        """The keys of all elements in the order of the sweep, then their values that vary."""
        s = self.scattering
        dtype = u32 if isinstance(extent, Const) and extent.value < 1 << 32 else u64

        def body(c: Builder, *indices: Atom) -> Sequence[Atom]:
            place, *values = c.inline(s.op.body, indices)
            there = c.apply("lt", c.cast(c.cast(place, i64), u64), c.cast(extent, u64))
            key = c.apply("select", there, c.cast(place, dtype), c.cast(extent, dtype))
            return (key, *(values[k] for k in s.varying))

        fn = b.function([i64] * len(s.op.shape), body)
        stores = tuple(Kept() for _ in fn.results)
        sweep = Sweep(s.op.shape, fn, stores, s.op.reverse)
        arrays: Sequence[Atom] = b.emit(sweep, self._named("keys"))
        if len(s.op.shape) > 1:
            arrays = [b.emit(Reshape(x, (total,)))[0] for x in arrays]
        if s.op.reverse:
            last = b.sub(total, index(1))
            turned = b.function([i64], lambda c, i: [_at(c, x, c.sub(last, i)) for x in arrays])
            arrays = b.emit(Sweep((total,), turned, stores), self._named("turned"))
        return arrays

    def _rows(
        self, b: Builder, keys: Atom, values: Sequence[Atom], extent: Atom, total: Atom
    ) -> tuple[Var, ...]:
        """The combined element of each index, and one for those that are out of bounds."""
        s = self.scattering
        moved = dict(zip(s.varying, values, strict=True))
        fn, neutral = self.sink.fn, self.neutral
        if not neutral:
            fn, neutral = with_flag(b, fn)

        def body(c: Builder, i: Atom) -> Sequence[Atom]:
            key = _at(c, keys, i)
            before = _at(c, keys, c.apply("maximum", c.sub(i, index(1)), index(0)))
            starts = c.apply("or", c.apply("eq", i, index(0)), c.apply("ne", key, before))
            found = [
                _at(c, moved[k], i) if k in moved else atom
                for k, atom in enumerate(s.op.body.results[1:])
            ]
            flag = () if self.neutral else (TRUE,)
            return (c.cast(key, i64), starts, *flag, *found)

        sink = CombineRows(b.copy(fn), neutral, b.add(extent, index(1)))
        return b.emit(Sweep((total,), b.function([i64], body), (sink,)), self._named("rows"))

    def _named(self, what: str) -> str:
        """A name that no array of the program has: plans are known by theirs."""
        return f"{name_of(self.scattering.let).replace('_', '')}{what}"

    # -- the destination --------------------------------------------------------------------------

    def _join(self, lowering: Lowering, rows: Sequence[Var]) -> None:
        """Emits the launch that combines each element of the destination with its row."""
        s = self.scattering

        def join(b: Builder, kernel: KernelBuilder, j: Atom) -> None:
            found = [b.emit(Load(kernel.buffer(buffer), j))[0] for buffer in rows]
            there, values = (TRUE, found) if self.neutral else (found[0], found[1:])
            dest = s.dest_in(kernel)
            with b.when(there) as inside:
                old = [inside.emit(Load(buffer, j))[0] for buffer in dest]
                store_each(inside, dest, j, s.combine(kernel, inside, old, values))

        each_place(lowering, s.let, "_sorted", Role.PASS, s.extent, s.dtypes, join)


def _at(b: Builder, xs: Atom, i: Atom) -> Atom:
    """An element that is there."""
    return b.emit(Index(xs, (i,), checked=False))[0]


def _bits_up_to(b: Builder, last: Atom) -> Atom:
    """All bits that numbers up to `last` may have."""
    dtype = scalar_type(last)
    some = b.apply("maximum", last, constant(1, dtype))
    ones = constant((1 << dtype.bits) - 1, dtype)
    return b.apply("shr", ones, b.cast(b.apply("clz", some), dtype))
