"""One scattering sweep on its way to its launches: where it writes, and what it writes there.

    dest[index] = value       scatter_store    the last element in the sweep's order stays
    dest[index] fn= value     scatter_reduce   elements meet in the sweep's order, or in groups

A variant (`Division`) decides which block writes what; `choose.py` selects the variant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial
from typing import ClassVar

from flatweave.algorithms.operator import Combine
from flatweave.base.dtypes import DType, f32, f64, i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import Values, store_each
from flatweave.kernel_ir.host import Role, Threads
from flatweave.kernel_ir.syntax import Load, Shared, StoreCompact
from flatweave.lower.context import Declared, Lowering, Own, Write
from flatweave.lower.kernel_builder import KernelBuilder, called_for_nan
from flatweave.lower.machine import ADDING, WIDEST, Machine
from flatweave.lower.schedule.arrangement import arrange_lanes
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import ScatterVariant, SweepPlan, When, combining
from flatweave.lower.schedule.steps import ALWAYS, Cache, RFactor, Rows, Stream, Version
from flatweave.lower.schedule.versions import why_version
from flatweave.lower.sweep.launches import holds, suffix
from flatweave.lower.sweep.scans import ScannedBody
from flatweave.lower.sweep.writer import KernelWriter, call_operator
from flatweave.lower.traverse.steps import Position, State, count_lanes
from flatweave.ops import Sweep
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Let, Var, scalar_type, types_of


class Scattering:
    """A scattering sweep on the host: its destination, which it owns, and its sizes."""

    def __init__(self, lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan) -> None:
        op = facts.op
        dest = op.sinks[0].updated
        self.lowering = lowering
        self.let = let
        self.op = op
        self.sink = combining(op)
        """What combines elements that meet; None where the last one stays."""
        self.facts = facts
        self.plan = plan
        self.dest = lowering.own_all(dest, let)
        self.held = [dtype_in(buffer) for buffer in self.dest]
        """The dtypes of what is written to, in which elements are combined."""
        self.dtypes = [scalar_type(value) for value in op.body.results[1:]]
        self.extent = lowering.host.product(lowering.scope.array(dest[0]).shape)
        self.total = lowering.host.product([lowering.scope.scalar(e) for e in op.shape])
        bound = {var for inner in op.body.lets for var in inner.vars} | set(op.body.params)
        self.varying = [k for k, atom in enumerate(op.body.results[1:]) if atom in bound]
        """The components whose values differ from element to element."""
        self.role = Role.PASS
        """What the launches of a variant are that may always run."""
        self.one_is_faster: Atom | None = None
        """Whether one owner is faster than several; None where only the threads say so."""

    def into(self, dest: Sequence[Var], role: Role) -> Scattering:
        """The same sweep into other buffers, whose dtypes may be wider."""
        other = copy(self)
        other.role = role
        other.dest = tuple(dest)
        other.held = [dtype_in(buffer) for buffer in dest]
        return other

    @cached_property
    def threads(self) -> Atom:
        """How many threads there are, asked once."""
        return self.lowering.host.emit(Threads())[0]

    def later(self, suffix: str, write: Write, own: Own = (), why: str = "") -> Declared:
        """A kernel of this sweep, written when somebody asks for it."""
        needs = [*self.lowering.reads(self.op), *self.dest, self.extent, self.total]
        return self.lowering.later(self.let, suffix, needs, write, own, why)

    def visiting(
        self, name: str, write: Callable[[KernelWriter, Sequence[Var]], None], own: Own,
        why: str,
    ) -> list[tuple[Version, Declared]]:  # fmt: skip
        """Kernels that visit the elements, one for each variant of the plan."""

        def made(version: Version) -> Declared:
            reasons = [why, why_version(version, self.plan.versions)]
            return self.later(
                f"{name}{suffix(version)}",
                lambda kernel, params: write(self.writer(kernel, version), params), own,
                "; ".join(reason for reason in reasons if reason),
            )  # fmt: skip

        return [(version, made(version)) for version in self.plan.versions]

    def launch(
        self, kernels: Sequence[tuple[Version, Declared]], blocks: Atom, role: Role, host: Builder,
        own: Sequence[Atom], alone: Sequence[tuple[Version, Declared]] = (), is_alone: Atom = FALSE,
    ) -> None:  # fmt: skip
        """Launch the kernel of the first variant whose condition holds, of those that run `alone`
        where `is_alone`."""
        options = [
            (host.apply("and", is_alone, self._holds(host, version)), kernel)
            for version, kernel in alone
        ]
        *others, (_, last) = kernels
        options += [(self._holds(host, version), kernel) for version, kernel in others]
        self.lowering.launch_first(options, last, blocks, role, host, own)

    def _holds(self, host: Builder, version: Version) -> Atom:
        if version.guard == ALWAYS:
            return TRUE
        return holds(self.lowering, host, version, self.facts, (self.total,), self.total)

    def writer(
        self, kernel: KernelBuilder, version: Version | None = None, width: int | None = None
    ) -> KernelWriter:
        """What visits the elements in a kernel, `width` lanes at a time, or as their body asks."""
        lowering, version = self.lowering, version or self.plan.plain
        if width is not None:
            lanes = arrange_lanes(lowering.machine, self.op, self.facts.known, width)
            along = Rows(version.rows.along)
            version = version.only(Stream, Cache, RFactor).but(lanes, along)
        return KernelWriter(
            lowering, self.facts, self.plan, version, (), kernel, self.total, self.total
        )

    def combine(
        self, kernel: KernelBuilder, b: Builder, old: Sequence[Atom], new: Sequence[Atom]
    ) -> Values:
        """old fn new, in their dtypes, for scatter_reduce sinks."""
        assert self.sink is not None
        fn, dtypes = self.sink.fn, types_of(old)
        if dtypes == fn.result_types():
            return call_operator(self.lowering, kernel, b, fn, [*old, *new])
        names = component_functions(fn)
        assert names is not None  # see `widened`
        parts = zip(names, old, new, strict=True)
        return tuple(b.apply(name, left, right) for name, left, right in parts)

    def anywhere(self, kernel: KernelBuilder) -> Combine | None:
        """What combines old values and new ones to the same bits wherever in a kernel it stands."""
        if self.sink is None:
            return None
        combine = partial(self.combine, kernel)
        return called_for_nan(kernel.body, self.sink.fn, combine, self.held)

    def dest_in(self, kernel: KernelBuilder) -> list[Var]:
        """The destination inside a kernel."""
        return [kernel.buffer(buffer) for buffer in self.dest]

    def whole(self, kernel: KernelBuilder, varying: Sequence[Atom]) -> list[Atom]:
        """An element's values, those that are the same for all put in."""
        known = dict(zip(self.varying, varying, strict=True))
        values = self.op.body.results[1:]
        return [known[k] if k in known else kernel.scalar(atom) for k, atom in enumerate(values)]

    def write(
        self, kernel: KernelBuilder, b: Builder, dest: Sequence[Var], at: Atom,
        varying: Sequence[Atom], combine: Combine | None = None,
    ) -> None:  # fmt: skip
        """Writes one element to its index in `dest`, by the operator as `combine` applies it."""
        values: Sequence[Atom] = self.whole(kernel, varying)
        if self.sink is not None:
            old = [b.emit(Load(buffer, at))[0] for buffer in dest]
            join = combine or partial(self.combine, kernel)
            values = join(b, tuple(old), cast_like(b, dest, values))
        store_each(b, dest, at, values)


@record
class Stage:
    """Shared memory for elements that go to [first, last): their indices and varying values."""

    places: Var
    dtype: DType
    values: tuple[Var, ...]
    room: int

    @staticmethod
    def of(b: Builder, scattering: Scattering, count: int, places: DType = i64) -> Stage:
        """Room for `count` elements, whose indices fit the given dtype."""
        room = count + WIDEST  # a whole step may write beyond the end
        dtypes = [scattering.dtypes[k] for k in scattering.varying]
        values = tuple(b.emit(Shared(dtype, room))[0] for dtype in dtypes)
        return Stage(b.emit(Shared(places, room))[0], places, values, room)

    def fill(
        self, b: Builder, source: Source, lo: Atom, hi: Atom, state: State
    ) -> tuple[Atom, State]:
        """The elements lo to hi that `source` lets through, on all lanes; how many they are."""

        def step(c: Builder, position: Position, known: State) -> State:
            place, values, mine, after = source.element(c, position, known[1:])
            buffers, width = (self.places, *self.values), position.width
            place = c.cast(place, self.dtype)
            if width > 1:
                kept = (place, *values)
                c.emit(StoreCompact(buffers, known[0], index(self.room), mine, kept))
            else:
                store_each(c, buffers, known[0], (place, *values))
            return (c.add(known[0], count_lanes(c, mine, width)), *after)

        count, *after = source.writer.traverse(()).block(b, lo, hi, (index(0), *state), step)
        return count, tuple(after)

    def element(self, b: Builder, k: Atom) -> tuple[Atom, list[Atom]]:
        """The index and the values of a staged element."""
        return self.place(b, k), [b.emit(Load(buffer, k))[0] for buffer in self.values]

    def place(self, b: Builder, k: Atom) -> Atom:
        """Where a staged element goes."""
        return b.cast(b.emit(Load(self.places, k))[0], i64)


@record
class Source:
    """The elements of a sweep inside a kernel; those that go outside [first, last) are dropped."""

    scattering: Scattering
    writer: KernelWriter
    first: Atom
    last: Atom

    @property
    def carries(self) -> State:
        """What the scans of the body start from."""
        kernel, records = self.writer.kernel, self.writer.scans.records
        return tuple(kernel.scalar(atom) for record in records for atom in record.first)

    def element(
        self, b: Builder, position: Position, state: State
    ) -> tuple[Atom, list[Atom], Atom, State]:
        """An element's index, its varying values, whether it counts, and the carries after it."""
        writer, body = self.writer, self.writer.op.body
        elements = writer.elements(position)
        depth = writer.scans.depth
        after = ScannedBody(writer).emit(b, elements, body.lets, depth, position, state)
        results = elements.atoms(body.results)
        values = [results[1 + k] for k in self.scattering.varying]
        place = b.cast(results[0], i64)
        above = b.cast(b.sub(place, self.first), u64)
        mine = b.apply("lt", above, b.cast(b.sub(self.last, self.first), u64))
        if position.active is not None:
            mine = b.apply("and", mine, position.active)
        return place, values, mine, after


def one_by_one(
    b: Builder, lo: Atom, hi: Atom, act: Callable[[Builder, Atom, int], None],
    unrolled: int = ADDING,
) -> None:  # fmt: skip
    """Calls act for lo, lo + 1, .. below hi, unrolled, with the iteration in the unrolled body."""
    whole = b.round_down(b.sub(hi, lo), index(unrolled))
    mid = b.add(lo, whole)
    parts = [(lo, mid, unrolled), (mid, hi, 1)] if unrolled > 1 else [(lo, hi, 1)]
    for first, last, turns in parts:
        with b.loop(first, last, turns) as (inside, i):
            for turn in range(turns):
                act(inside, inside.add(i, index(turn)), turn)



def cast_like(b: Builder, buffers: Sequence[Var], values: Sequence[Atom]) -> Values:
    """Values as the dtypes of these buffers."""
    return tuple(
        b.cast(value, dtype_in(buffer)) for buffer, value in zip(buffers, values, strict=True)
    )


def bytes_of(dtypes: Sequence[DType]) -> int:
    """The bytes of one element."""
    return sum(dtype.bytes for dtype in dtypes)


# -- A variant in which blocks divide a scattering sweep: when it runs, and its launches -----------


SCANS = "what it writes is scanned on the way, and blocks would have to wait for each other"


class Division(ScatterVariant):
    """A way of dividing one sweep; made with its kernels, which are written when they run.

    For machines whose blocks are few and run on: CPUs.
    """

    divides_scans: ClassVar[bool] = False
    """Whether it can divide a sweep whose elements depend on those before them."""

    writes_destination: ClassVar[bool] = False
    """Whether each element is combined with what the destination holds."""

    def __init__(self, scattering: Scattering, when: When) -> None:
        self.scattering = scattering
        self.when = when

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        if machine.atomics:
            return f"on {machine.name} there is no such division"
        return SCANS if facts.op.scans and not cls.divides_scans else ""

    @property
    def why(self) -> str:
        """Why it runs, and whether it is wished for."""
        is_forced = self.when is not When.PAYS and self.chosen is When.PAYS
        return f"{self.reason}, as the schedule says" if is_forced else self.reason

    def holds(self, host: Builder) -> Atom:
        """Whether it runs, found by the host."""
        match self.when:
            case When.ALWAYS:
                return TRUE
            case When.FITS:
                return self.fits(host)
            case When.PAYS:
                return self.pays(host)

    def fits(self, host: Builder) -> Atom:
        """Whether it has room for so large a destination."""
        return TRUE

    def pays(self, host: Builder) -> Atom:
        """Whether it has room, and the sizes are those that it is faster for."""
        raise NotImplementedError

    def launch(self, host: Builder) -> None:
        """Emit its launches."""
        raise NotImplementedError


# -- What is held of elements while they are combined ----------------------------------------------
#
# Elements that all add the same integer are counted: copies hold numbers of 32 bits. Sums of f32
# are f64, so that the error of a bin does not grow with its elements (`choose.py`).


def is_counted(op: Sweep) -> bool:
    """Whether an element only adds an integer that is the same for all elements."""
    sink = combining(op)
    assert sink is not None
    names = component_functions(sink.fn) or ["none"]
    values = op.body.results[1:]
    return all(name == "add" for name in names) and all(
        isinstance(value, Const) and value.dtype.is_integer for value in values
    )


def times_added(b: Builder, op: Sweep, counts: Sequence[Atom]) -> list[Atom]:
    """What is added as often as was counted."""
    return [
        b.mul(b.cast(count, value.dtype), value)
        for count, value in zip(counts, op.body.results[1:], strict=True)
        if isinstance(value, Const)
    ]


def widened(op: Sweep) -> list[DType] | None:
    """The dtypes of components in which their sums round seldom; None where none is a sum of f32,
    or the components are not combined one by one."""
    sink = combining(op)
    if sink is None:
        return None
    dtypes = [type_ for type_ in sink.fn.result_types() if isinstance(type_, DType)]
    names = component_functions(sink.fn)
    if names is None or ("add", f32) not in zip(names, dtypes, strict=True):
        return None
    pairs = zip(names, dtypes, strict=True)
    return [f64 if pair == ("add", f32) else pair[1] for pair in pairs]
