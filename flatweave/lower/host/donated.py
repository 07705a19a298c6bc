"""Arrays that the caller of a program donates: the program may write their memory.

    host (n: i64, xs: global f64, xs_given: bool) =>
        xs_1: global f64 = adopt xs xs_given          from here on as if the program had made it

A call whose extents do not fit is retried with axes of extent 1 broadcast, and the retry must see
the original elements. Up to the last check of that kind an array has a second owner, so that writes
in place take a copy.

At the end: arrays in the state of a loop that the loop alone owns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flatweave.array_ir.fault import SAME
from flatweave.base.dtypes import DType, bool_
from flatweave.base.records import record
from flatweave.kernel_ir.host import Adopt, IsUnique, Retain
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import HostArray
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.nest.schedule import Axis, Tail, Version
from flatweave.ops import Check, Index, Sweep
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

UNUSED = "{} is donated, but no array of its dtype and extents is made where nobody reads it"


@record
class Given:
    """The parameters that say whether arrays are donated, and second owners by their last let."""

    flags: tuple[Var, ...]
    held: dict[Let, set[Var]]


def adopt(lowering: Lowering, fn: Lambda, donated: Sequence[int]) -> Given:
    """Take the arrays with these numbers, where a call donates them."""
    arrays = [param for param in fn.params if isinstance(param.type, ArrayType)]
    host, scope = lowering.host, lowering.scope
    chosen = [arrays[number] for number in donated]
    flags = [host.param(f"{param.name}_given", bool_) for param in chosen]
    last = _last_check(fn)
    held: dict[Let, set[Var]] = {}
    if last is not None and not lowering.machine.shares_memory and not isinstance(last.op, Check):
        chosen = []  # a kernel checks: failures are known when all is done
    for param, flag in zip(chosen, flags, strict=False):
        kept = scope.array(param)
        buffer = host.emit(Adopt(kept.buffer, flag), param.name)[0]
        scope.bind(param, HostArray(buffer, kept.shape))
        lowering.program.donated[buffer] = param.name.rpartition("_")[0] or param.name
        if last is not None:
            second = Var(param.name, param.type)
            scope.bind(second, HostArray(buffer, kept.shape))
            host.emit(Retain(buffer))
            held.setdefault(last, set()).add(second)
            lowering.program.until = last
    return Given(tuple(flags), held)


def _last_check(fn: Lambda) -> Let | None:
    """The last let after which no call is retried."""
    return next((let for let in reversed(fn.lets) if _checks(let)), None)


def _checks(let: Let) -> bool:
    inside = (inner for fn in lambdas_in(let.op) for inner in walk_lets(fn))
    return any(isinstance(each.op, Check) and each.op.kind == SAME for each in (let, *inside))


def tell_unused(lowering: Lowering) -> None:
    """Report arrays that are donated without effect."""
    program = lowering.program
    lowering.where = None
    for buffer, name in program.donated.items():
        if buffer not in program.taken:
            lowering.note(UNUSED.format(name))


def room_in(
    lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan, var: Var, count: Atom
) -> Var | None:
    """The memory of a donated array, or of one in the state of a loop, in which a sweep can store
    its results, as it reads each element for one result; fresh memory where the array has another
    owner. None where there is no such array."""
    source = _read_at_its_place(lowering, let, facts, plan, var)
    if source is None:
        return None
    kept, host = lowering.scope.array(source), lowering.host
    buffer = kept.buffer
    lowering.take(buffer)
    lowering.state.discard(buffer)
    assert isinstance(var.type, ArrayType) and isinstance(source.type, ArrayType)
    fits: Atom = host.emit(IsUnique(buffer))[0]
    if source.type.shape != var.type.shape:
        fits = host.apply("and", fits, host.apply("eq", count, host.product(kept.shape)))
    return again_or_fresh(lowering, buffer, fits, var.type.dtype, count)


def again_or_fresh(
    lowering: Lowering, buffer: Var, fits: Atom, dtype: DType, count: Atom
) -> Var:
    """A buffer once more, where it fits, or a fresh one."""

    def again(b: Builder) -> tuple[Atom, ...]:
        b.emit(Retain(buffer))
        return (buffer,)

    def fresh(b: Builder) -> tuple[Atom, ...]:
        return (lowering.alloc(dtype, count, host=b),)

    return lowering.host.choose(fits, again, fresh, "buffer")[0]


def _read_at_its_place(
    lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan, var: Var
) -> Var | None:
    """An array of the type of `var` that may be written and that nothing reads after a sweep. The
    sweep itself reads only the element at the index that it stores."""
    program, op = lowering.program, facts.op
    writable = (program.donated.keys() | lowering.state) - program.taken
    if not writable or not _goes_once(facts, plan):
        return None
    for source in sorted(lowering.last_uses.get(let, ()), key=lambda var: var.name):
        if lowering.scope.array(source).buffer in writable and _is_like(source, var):
            reads = [each.op for each in walk_lets(op.body) if source in free_vars(each.op)]
            if all(isinstance(read, Index) and read.indices == op.body.params for read in reads):
                return source
    return None


def _is_like(source: Var, var: Var) -> bool:
    """Whether two arrays have one dtype and shape, or may have: rows do not say how many elements
    they have in all."""
    a, b = source.type, var.type
    assert isinstance(a, ArrayType) and isinstance(b, ArrayType)
    return a.dtype is b.dtype and (a.shape == b.shape or a.rank == b.rank == 1)


def _goes_once(facts: SweepFacts, plan: SweepPlan) -> bool:
    """Whether a sweep visits each position once, and only stores."""
    op = facts.op
    is_plain = not facts.scans.depth and facts.located is None and not op.reverse
    return is_plain and op.only_stores and all(map(_is_apart, plan.versions))


def _is_apart(version: Version) -> bool:
    """Whether no two steps have an element in common."""
    lanes = version.lanes
    if lanes.peel or version.is_tiled:
        return False
    if lanes.axis is Axis.SPACE:
        return not version.guard.of_short_rows
    return lanes.axis is Axis.LAST and lanes.tail is Tail.SCALAR


def rewritten(fn: Lambda) -> set[int]:
    """The parts of a loop's state that each iteration only reads, writes to and hands on.

        for .. (i, xs => .. ; ys = sweep .. [scatter_store [xs]] in ys)

    If such an array has one owner before the loop, it has one in each iteration.
    """
    state = fn.params[len(fn.params) - len(fn.results) :]
    uses = Counter(var for let in fn.lets for var in free_vars(let.op))
    uses.update(var for var in fn.results if isinstance(var, Var))
    found: dict[Atom, Atom] = {}
    for let in fn.lets:
        if isinstance(let.op, Sweep):
            found.update(zip(let.vars, let.op.sinks[0].updated, strict=False))
    return {
        k for k, (param, result) in enumerate(zip(state, fn.results, strict=True))
        if found.get(result) == param and isinstance(result, Var) and uses[result] == 1
    }  # fmt: skip
