"""What is written in place: which reads come before the write, and which arrays may be written.

    for 0 n 1 (i: i64, xs: f64[n] =>                       for 0 n 1 (i: i64, xs: f64[n] =>
        ys: f64[n] = sweep [1] (..) [scatter_store [xs]]       x: f64 = index xs [j]
        x: f64 = index xs [j]                        ==>       ys: f64[n] = sweep [1] (..) [..]
        ..                                                     ..

An array that is read after the write would have to be copied for it, in each iteration of the loop:
so reads come first. A sweep that reads what it writes becomes two: the first one stores the values,
the second one writes them. Where it writes as many elements as the array has, a copy costs no more.

Arrays that the caller of a program donates:

    host (n: i64, xs: global f64, xs_given: bool) =>
        xs_1: global f64 = adopt xs xs_given          from here on as if the program had made it

A call whose extents do not fit is retried with axes of extent 1 broadcast, and the retry must see
the original elements. Up to the last check of that kind an array has a second owner, so that writes
in place take a copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from math import prod

from flatweave.array_ir.syntax import SAME, Program
from flatweave.base.dtypes import DType, bool_
from flatweave.base.records import record
from flatweave.kernel_ir.host import Adopt, IsUnique, Retain
from flatweave.lower.context import Lowering
from flatweave.lower.kernel_builder import HostArray
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.steps import Axis, Tail, Version
from flatweave.ops import HOST_BODIES, Check, Index, Locate, Reshape, Sink, Store, Sweep
from flatweave.passes.nests.hard import may_fail
from flatweave.passes.rewrite import rewrite
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Const,
    Lambda,
    Let,
    Op,
    Var,
    array_type,
    scalar_type,
)
from flatweave.terms.traverse import (
    Substitution,
    free_vars,
    lambdas_in,
    needed_for,
    walk_lets,
    with_bodies,
    with_lets,
)

# -- The reads of an array come before the write that takes it over --------------------------------

_Part = tuple[Sink, tuple[Atom, ...], tuple[Var, ...]]
"""A sink of a sweep, what it takes, and what it leaves."""


def reads_first(program: Program, donated: Sequence[int]) -> Program:
    """Order reads before writes, in every body of the host that a loop runs; if the caller donates
    arrays, in all others, too."""
    fn = _body(program.fn, repeats=bool(donated))
    if fn is program.fn:
        return program
    return rewrite(Program(program.name, fn), lambda b, op, let: None)


def _body(fn: Lambda, *, repeats: bool) -> Lambda:
    lets: Sequence[Let] = [_inner(let, repeats) for let in fn.lets]
    if repeats:
        views = _views(lets)
        lets = _reordered(_divided(lets, views), fn.results, views)
    return with_lets(fn, lets)


def _inner(let: Let, repeats: bool) -> Let:
    if not isinstance(let.op, HOST_BODIES):
        return let
    again = repeats or isinstance(let.op, While | For)
    return with_bodies(let, lambda fn: _body(fn, repeats=again))


def _views(lets: Sequence[Let]) -> dict[Atom, Atom]:
    """The array in memory that each reshaped array is."""
    found: dict[Atom, Atom] = {}
    for let in lets:
        if isinstance(let.op, Reshape):
            found[let.vars[0]] = found.get(let.op.xs, let.op.xs)
    return found


def taken_by(op: Op) -> Iterator[Atom]:
    """The arrays that an operation writes to, if nothing reads them later."""
    match op:
        case Sweep(sinks=sinks):
            for sink in sinks:
                yield from sink.updated
        case While(init=init) | For(init=init):
            yield from (atom for atom in init if isinstance(atom.type, ArrayType))
        case If(then=then, other=other):
            for fn in (then, other):
                views, outside = _views(fn.lets), free_vars(fn)
                taken = (atom for let in fn.lets for atom in taken_by(let.op))
                yield from (x for x in (views.get(x, x) for x in taken) if x in outside)


def _divided(lets: Sequence[Let], views: Mapping[Atom, Atom]) -> list[Let]:
    """The lets, where small writes are two sweeps if theirs reads an array that is written by then,
    or may fail before a later read of the array, which may fail, too."""
    done: list[Let] = []
    taken: set[Atom] = set()
    ever = {views.get(x, x) for let in lets for x in taken_by(let.op)}
    for k, let in enumerate(lets):
        op, own = let.op, {views.get(x, x) for x in taken_by(let.op)}
        taken |= own
        if isinstance(op, Sweep) and op.shape and own and (
            not _read(op.body, views).isdisjoint(taken) or may_fail(op) and any(
                not _read(later.op, views).isdisjoint(own) and may_fail(later.op)
                for later in lets[k + 1 :]
            )
        ) and not _is_full(op, [array_type(x).shape for x in (*own, *views)
                               if views.get(x, x) in own]):  # fmt: skip
            done += _halves(let, op, {x for x in free_vars(op) if views.get(x, x) in ever})
        else:
            done.append(let)
    return done


def _read(node: Op | Lambda, views: Mapping[Atom, Atom]) -> set[Atom]:
    return {views.get(x, x) for x in free_vars(node) if isinstance(x.type, ArrayType)}


def _is_full(op: Sweep, shapes: Sequence[tuple[Atom, ...]]) -> bool:
    """Whether a sweep has as many elements as the array whose shapes these are; an expansion may
    have more."""
    if op.shape in shapes or any(isinstance(let.op, Locate) for let in op.body.lets):
        return True
    elements, sizes = _known_size(op.shape), map(_known_size, shapes)
    return elements is not None and any(size is not None and size <= elements for size in sizes)


def _known_size(shape: tuple[Atom, ...]) -> int | None:
    known = [int(extent.value) for extent in shape if isinstance(extent, Const)]
    return prod(known) if len(known) == len(shape) else None


def _halves(let: Let, op: Sweep, written: Set[Atom]) -> list[Let]:
    """A sweep that stores the values, and one that reads and writes them; indices that take scalar
    work and reads of arrays that are not written are computed by both."""
    known, simple = set(op.body.params), list[Let]()
    made = {var for each in op.body.lets for var in each.vars}
    for each in op.body.lets:
        used = free_vars(each.op)
        is_read = isinstance(each.op, Index) and not each.op.checked and each.op.xs not in written
        is_simple = is_read or isinstance(each.op, Apply | Cast)
        if is_simple and all(x in known or x not in made for x in used):
            simple.append(each)
            known.update(each.vars)
    stored = list(dict.fromkeys(
        x for sink, taken in zip(op.sinks, op.portions(), strict=True) if sink.updated
        for x in taken if isinstance(x, Var) and x in made and x not in known
    ))  # fmt: skip
    if not stored:
        return [let]
    arrays = [Var("t", ArrayType(scalar_type(x), op.shape)) for x in stored]
    parts: list[_Part] = list(
        zip(op.sinks, op.portions(), op.binders_by_sink(let.vars), strict=True)
    )
    first = [part for part in parts if not part[0].updated]
    first += [(Store(), (x,), (array,)) for x, array in zip(stored, arrays, strict=True)]
    second = [part for part in parts if part[0].updated]
    renaming = Substitution(fresh=lambda var, type_: Var(var.name, type_))
    params = tuple(map(renaming.binder, op.body.params))
    reads = [Let((renaming.binder(x),), Index(array, params, checked=False), let.where)
             for x, array in zip(stored, arrays, strict=True)]  # fmt: skip
    results = [x for _, taken, _ in second for x in taken]
    reads += map(renaming.let, needed_for(simple, results))
    values = Lambda(op.body.params, op.body.lets, tuple(x for _, taken, _ in first for x in taken))
    writes = Lambda(params, tuple(reads), tuple(map(renaming.atom, results)))
    return [_part(let, op, values, first), _part(let, op, writes, second)]


def _part(let: Let, op: Sweep, body: Lambda, parts: Sequence[_Part]) -> Let:
    vars_ = tuple(var for _, _, vars_ in parts for var in vars_)
    sinks = tuple(sink for sink, _, _ in parts)
    return Let(vars_, op.replace(body=body, sinks=sinks), let.where)


def _reordered(
    lets: list[Let], results: Sequence[Atom], views: Mapping[Atom, Atom]
) -> list[Let]:
    """What reads an array that is written before, and what that needs, comes before the write."""
    returned = {views.get(x, x) for x in results}
    for write in list(lets):
        taken = {views.get(x, x) for x in taken_by(write.op)} - returned
        at = next(k for k, let in enumerate(lets) if let is write) if taken else 0
        moved = _moved(lets, at, taken, views) if taken else []
        if moved:
            others = [let for k, let in enumerate(lets) if k >= at and k not in moved]
            lets = [*lets[:at], *(lets[k] for k in moved), *others]
    return lets


def _moved(
    lets: Sequence[Let], at: int, taken: set[Atom], views: Mapping[Atom, Atom]
) -> list[int]:
    """What has to be moved before the let at an index that takes arrays over; nothing where that
    cannot be. Failures keep their order."""
    later = range(at + 1, len(lets))
    waiting = [k for k in later if not _read(lets[k].op, views).isdisjoint(taken)]
    makers = {var: k for k in (at, *later) for var in lets[k].vars} if waiting else {}
    found: set[int] = set()
    while waiting:
        k = waiting.pop()
        if k in found:
            continue
        if k == at or not taken.isdisjoint(views.get(x, x) for x in taken_by(lets[k].op)):
            return []
        found.add(k)
        waiting += (makers[var] for var in free_vars(lets[k].op) if var in makers)
        if may_fail(lets[k].op):
            waiting += (q for q in range(at, k) if may_fail(lets[q].op))
    for k in found:
        own = {views.get(x, x) for x in taken_by(lets[k].op)}
        left = (q for q in range(at + 1, k) if q not in found) if own else ()
        if any(not own.isdisjoint(_read(lets[q].op, views)) for q in left):
            return []
    return sorted(found)


def given_to(lowering: Lowering, let: Let) -> list[Var]:
    """The arrays that a branch owns, as it is the last to use them and writes to them."""
    array = lowering.scope.array
    taken = {array(x).buffer for x in taken_by(let.op)}
    last = sorted(lowering.last_uses.get(let, ()), key=lambda var: var.name) if taken else ()
    return [var for var in last if array(var).buffer in taken and var not in let.vars]


# -- Arrays that the caller donates ----------------------------------------------------------------

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
