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

from collections.abc import Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import ForAll, Local
from flatweave.kernel_ir.lane_facts import BITS, Variation, zeros_in
from flatweave.kernel_ir.memory_ops import Atomic, AtomicUpdate, LockedUpdate
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

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
    apart = [
        let.op for let in walk_lets(op.body)
        if isinstance(let.op, While | For | If) and variation.turns(let.op)
    ]  # fmt: skip
    if any(isinstance(each, While | For) for each in apart):
        return 1  # a step turns as often as its last lane wants
    most = 2 if apart else max(1, count // 4)
    held = max(1, _held_at_once(op.body))
    while most > 1 and most * held > count * 3 // 4:
        most //= 2
    return most


def _held_at_once(fn: Lambda, around: int = 0) -> int:
    """How many values of a body are in registers at once, at most; places in memory are not
    counted, as they are one number for a step."""
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
    """The variables of a body that are no mere places: all that its memory or its loops hold."""
    found = set(fn.params[1:])
    for let in fn.lets:
        if isinstance(let.op, Load | If | While | For | Atomic) or found.intersection(
            free_vars(let.op)
        ):
            found.update(let.vars)
    return found


def parts(op: ForAll, count: Atom, registers: Registers) -> list[tuple[int, int | None]]:
    """Widths of the steps in turn, and where those of each end: None where it is found at run
    time, as the last multiple of the width."""
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
