"""How the threads of a `for_all` are taken in steps of vectors, where a step has all its lanes.

    f32, nothing but sums    100 threads     steps of 64 lanes, of 32, of 4: 64 + 32 + 4
    f64, a loop that turns as often as its lane says                steps of 8 lanes, one register
    count known at run time                  steps of 128 lanes, of 16, one by one what is left

    row and column of a tile, i // 32 and i % 32            steps of 32 lanes: of one row

A value of a step fills several registers: additions that do not wait for each other, and reads of
whole lines of cache. How many depends on how many values the body holds at once, as they must fit
the registers; a register has as many lanes as fit of the widest element of memory that is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType
from flatweave.base.errors import Unsupported
from flatweave.base.records import record
from flatweave.kernel_ir import KernelOp
from flatweave.kernel_ir.hierarchy import ForAll, Local, WarpShared
from flatweave.kernel_ir.lane_facts import BITS, Variation, meets, missed, zeros_in
from flatweave.kernel_ir.memory_ops import Atomic, AtomicUpdate, LockedUpdate
from flatweave.kernel_ir.syntax import Lanes, Load, Store, Sync
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Var, constant, scalar_type
from flatweave.terms.traverse import Substitution, free_vars, lambdas_in, walk_lets

MOST_LANES = 128
"""Lanes of the widest step: eight registers of 16. Sums of 2^24 f32 on 2 cores of a Zen 5 with
AVX-512, in ms, with steps of 8, 16, 32, 64 and 128 lanes: 2.66, 1.78, 1.71, 1.10, 0.93."""
LOCAL_BYTES = 16 * 1024
"""Memory that the lanes of a step may have for their own: half of the nearest cache."""
SMALL = 40
"""Lets of a body that is written out for a step of a third width."""


@record(eq=True)
class Registers:
    """The vector registers of a machine: how many, of how many bytes."""

    count: int
    size: int


def step_widths(op: ForAll, registers: Registers) -> tuple[int, int]:
    """Lanes of the widest step for threads, and those of one register."""
    memory = [let.op for let in walk_lets(op.body) if isinstance(let.op, Local)]
    own = sum(each.count * each.dtype.bytes for each in memory)
    one = max(1, registers.size // max(_bytes_used(op.body), default=8))
    many = min(_registers_each(op, registers.count), max(1, MOST_LANES // one))
    while many > 1 and own * one * many > LOCAL_BYTES:
        many //= 2
    runs = [run for run in _runs(op.body) if run >= one]
    while many > 1 and any(one * many > run for run in runs):
        many //= 2
    return one * many, one


def _runs(fn: Lambda) -> Iterator[int]:
    """How many neighbours are together in what a body computes of its thread's number by quotients,
    remainders and bits: those of a row, of half a network."""
    places = set(fn.params)
    for let in walk_lets(fn):
        if not isinstance(let.op, Apply) or places.isdisjoint(let.op.args):
            continue
        places.update(let.vars)
        match let.op:
            case Apply(fn="floordiv" | "mod" | "and" | "xor", args=(_, Const(value=by))) if by:
                yield 1 << max(zeros_in(int(by)), zeros_in(int(by) + 1))
            case Apply(fn="shr", args=(_, Const(value=by))) if 0 < by < BITS:
                yield 1 << int(by)


def _bytes_used(fn: Lambda) -> Iterator[int]:
    """The sizes of the elements that a body moves, and of what its loops carry."""
    for let in walk_lets(fn):
        match let.op:
            case Load(buffer=buffer) | Store(buffer=buffer) | Atomic(buffer=buffer):
                assert isinstance(buffer.type, BufferType)
                yield buffer.type.dtype.bytes
            case AtomicUpdate() | LockedUpdate():
                yield max(_bytes(atom) for atom in let.op.values_)
            case Local(dtype=dtype):
                yield dtype.bytes
            case While(init=init) | For(init=init) if init:
                yield max(_bytes(atom) for atom in init)


def _bytes(atom: Atom) -> int:
    dtype = atom.type
    return dtype.bytes if isinstance(dtype, DType) else 8


def _registers_each(op: ForAll, count: int) -> int:
    """How many registers each value may have, a power of two."""
    variation = Variation(Lambda((), (Let((), op),), ()))
    varying = [
        let.op for let in walk_lets(op.body)
        if isinstance(let.op, While | For | If) and variation.turns(let.op)
    ]  # fmt: skip
    if any(isinstance(each, While | For) for each in varying):
        return 1  # a step iterates until its last lane is done
    most = 2 if varying else max(1, count // 4)
    held = max(1, _held_at_once(op.body))
    while most > 1 and most * held > count * 3 // 4:
        most //= 2
    return most


def _held_at_once(fn: Lambda, around: int = 0) -> int:
    """The most values of a body that are in registers at once. Addresses are not counted: a step
    needs one scalar for each."""
    values = _values(fn)
    last: dict[Var, int] = {}
    for number, let in enumerate(fn.lets):
        for var in free_vars(let.op):
            last[var] = number
    for atom in fn.results:
        if isinstance(atom, Var):
            last[atom] = len(fn.lets)
    alive = {var for var in fn.params if var in values and var in last}
    most = around + len(alive)
    for number, let in enumerate(fn.lets):
        after = {var for var in alive if last[var] > number}
        for inner in lambdas_in(let.op):
            kept = after.union(alive.intersection(free_vars(inner)))
            most = max(most, _held_at_once(inner, around + len(kept)))
        alive = after.union(var for var in let.vars if var in values and var in last)
        most = max(most, around + len(alive))
    return most


def _values(fn: Lambda) -> set[Var]:
    """The variables of a body that are more than indices: values from memory or loops."""
    found = set(fn.params[1:])
    for let in fn.lets:
        if isinstance(let.op, Load | If | While | For | Atomic) or found.intersection(
            free_vars(let.op)
        ):
            found.update(let.vars)
    return found


def parts(op: ForAll, count: Atom, registers: Registers) -> list[tuple[int, int | None]]:
    """Widths of the steps in sequence, and where the steps of each width end. None: the end is the
    last multiple of the width, found at run time."""
    widest, one = step_widths(op, registers)
    if not isinstance(count, Const):
        small = sum(1 for _ in walk_lets(op.body)) <= SMALL
        widths = (widest, one, 1) if small else (widest, 1)
        return [(width, None) for width in dict.fromkeys(widths)]
    left, end = int(count.value), 0
    while widest > one and left % widest and left % one == 0:
        widest //= 2
    made: list[tuple[int, int | None]] = []
    while left:
        width = min(widest, 1 << (left.bit_length() - 1)) if len(made) < 2 else 1
        turns = left // width
        end, left = end + turns * width, left - turns * width
        made.append((width, end))
    return made


# -- Code of warps that must meet although some of them have nothing to do -------------------------
#
# Where a barrier of a warp is one of the block, warps without work come to it, too, and skip what
# stands between:
#
#     x = load s i                 x = if active (load s i) 0
#     store t i x                  if active (store t i x)
#     sync level=warp              sync level=warp
#     y = load t j                 y = if active (load t j) 0
#
# A loop around a barrier must then take the same iterations in all warps.


def expect_together(body: Lambda) -> None:
    """Refuse code in which some warps of a block meet where others do not come."""
    for let, around in missed(body):
        raise Unsupported(
            f"warps meet at {let.op.name} inside {around.op.name}, which turns otherwise in "
            "one warp than in another; here all warps of a block meet at once.",
            where=let.where,
            remedy="Let all warps take the same turns, and work only in those that are theirs.",
        )


class Emitter(Protocol):
    """What emits lets of a kernel anew."""

    renaming: Substitution

    def body(self, b: Builder, lets: Sequence[Let]) -> None:
        """Emit lets."""


def emit_guarded(
    e: Emitter, b: Builder, lets: Sequence[Let], active: Atom, results: Sequence[Atom] = ()
) -> None:
    """Emit the code of a warp so that it works only where `active`, and meets all others.

    `results` are what is read of it from outside.
    """
    waiting: list[Let] = []
    for k, let in enumerate(lets):
        if isinstance(let.op, WarpShared):
            e.body(b, [let])
        elif not meets(let):
            waiting.append(let)
        else:
            _emit_if(e, b, waiting, Lambda((), tuple(lets[k:]), tuple(results)), active)
            waiting = []
            _emit_meeting(e, b, let, active)
    _emit_if(e, b, waiting, Lambda((), (), tuple(results)), active)


def _emit_if(
    e: Emitter, b: Builder, lets: Sequence[Let], after: Lambda, active: Atom
) -> None:
    """Lets where `active`; what later ones read is 0 elsewhere."""
    if not lets:
        return
    read = free_vars(after)
    wanted = [var for let in lets for var in let.vars if var in read]
    then = b.inner()
    e.body(then, lets)
    found = [e.renaming.atom(var) for var in wanted]
    zeros = [constant(0, scalar_type(var)) for var in wanted]
    op = If(active, then.close([], found), Lambda((), (), tuple(zeros)))
    e.renaming.mapping.update(zip(wanted, b.emit(op), strict=True))


def _emit_meeting(e: Emitter, b: Builder, let: Let, active: Atom) -> None:
    """A barrier, a collective, or a loop that contains one and has the same trip count in every
    warp. A warp without work contributes zeros."""
    if isinstance(let.op, Sync) or (isinstance(let.op, KernelOp) and let.op.together):
        e.body(b, [let])
        return
    if isinstance(let.op, Lanes):
        region = b.inner()
        emit_guarded(e, region, let.op.body.lets, active, let.op.body.results)
        found = [e.renaming.atom(atom) for atom in let.op.body.results]
        lanes = Lanes(let.op.width, region.close([], found))
        e.renaming.mapping.update(zip(let.vars, b.emit(lanes), strict=True))
        return
    if not isinstance(let.op, For) or not _is_known(let.op):
        raise Unsupported(
            f"the warps of a for_all meet inside {let.op.name}, and some of them have no work.",
            where=let.where,
            remedy="Let their number be a multiple of the block's warps, "
            "or let them meet in loops whose turns are known.",
        )
    op = let.op
    inside = b.inner()
    params = [inside.param(param.name, param.type) for param in op.body.params]
    e.renaming.mapping.update(zip(op.body.params, params, strict=True))
    emit_guarded(e, inside, op.body.lets, active, op.body.results)
    results = [e.renaming.atom(atom) for atom in op.body.results]
    init = tuple(e.renaming.atom(atom) for atom in op.init)
    made = For(op.lo, op.hi, op.step, inside.close(params, results), init)
    e.renaming.mapping.update(zip(let.vars, b.emit(made), strict=True))


def _is_known(op: For) -> bool:
    return all(isinstance(atom, Const) for atom in (op.lo, op.hi, op.step))
