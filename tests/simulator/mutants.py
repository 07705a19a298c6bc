"""Kernels deliberately broken: copies of a unit, each with one thing missing that orders its work.

    sync                 is left out
        release              becomes a plain store: earlier writes are not published
    acquire, acquire_lanes    becomes a plain load: nobody is listened to
    atomic, locked_update, atomic_update    become load, combine, store
    load_whole, store_whole   become plain loads and stores, one for each word
    release              once more, stands before the stores that it is to publish (`early`)
        load_whole, store_whole   of two words access one at a time (`torn`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import i64
from flatweave.base.errors import CompilerBug
from flatweave.base.records import record, replace
from flatweave.kernel_ir.memory_ops import (
    AcquireLanes,
    Atomic,
    AtomicUpdate,
    LoadWhole,
    LockedUpdate,
    StoreWhole,
)
from flatweave.kernel_ir.syntax import Acquire, Backoff, Load, Release, Store, Sync, Unit
from flatweave.simulator.run import run
from flatweave.simulator.schedules import Failure, Schedule
from flatweave.terms.control import Apply, For
from flatweave.terms.print import print_let
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, map_field, walk_lets

ORDERING = (
    Sync, Release, Acquire, AcquireLanes, LoadWhole, StoreWhole, Atomic, AtomicUpdate, LockedUpdate,
)  # fmt: skip


@record
class Mutant:
    """A broken copy: the kernel, the let that is missing, and how many like it stand before it."""

    kernel: str
    number: int
    let: Let
    unit: Unit

    @property
    def lost(self) -> Op:
        """What is missing."""
        return self.let.op

    def __str__(self) -> str:
        return f"{self.kernel}, number {self.number}: {print_let(self.let)}"


def mutants(unit: Unit) -> Iterator[Mutant]:
    """Every copy with one thing missing."""
    return _broken(unit, lambda op: isinstance(op, ORDERING), without_order)


def torn(unit: Unit) -> Iterator[Mutant]:
    """Every copy that accesses the words of one index one at a time, once."""
    return _broken(
        unit, lambda op: isinstance(op, LoadWhole | StoreWhole) and _words_of(op) > 1, _one_by_one
    )


def seldom(unit: Unit) -> set[tuple[Var, ...]]:
    """What is bound by lanes that look at a window once more: from 33 blocks on that may happen."""
    return {
        let.vars for kernel in unit.complete().kernels for loop in walk_lets(kernel.body)
        if isinstance(loop.op, For) for let in walk_lets(loop.op.body)
        if isinstance(let.op, LoadWhole)
    }  # fmt: skip


def _broken(
    unit: Unit, chosen: Callable[[Op], bool], instead: Callable[[Let], Iterator[Let]]
) -> Iterator[Mutant]:
    unit = unit.complete()
    for kernel in unit.kernels:
        sites = _Break(-1, chosen, instead)
        sites.body(kernel.body)
        for number in range(sites.seen):
            broken = _Break(number, chosen, instead)
            body = broken.body(kernel.body)
            assert broken.what is not None
            made = replace(kernel, body=body)
            kernels = tuple(made if k is kernel else k for k in unit.kernels)
            yield Mutant(kernel.name, number, broken.what, Unit(unit.host, kernels))


def early(unit: Unit) -> Iterator[Mutant]:
    """Every copy with one release before the stores that stood in front of it."""
    unit = unit.complete()
    for kernel in unit.kernels:
        number = 0
        while (made := _hasty(kernel.body, number)) is not None:
            body, let = made
            broken = replace(kernel, body=body)
            kernels = tuple(broken if k is kernel else k for k in unit.kernels)
            yield Mutant(kernel.name, number, let, Unit(unit.host, kernels))
            number += 1


def _hasty(fn: Lambda, number: int) -> tuple[Lambda, Let] | None:
    """The body with release `number` moved up over the stores before it, and that release."""
    seen = 0
    moved: list[Let] = []

    def body(fn: Lambda) -> Lambda:
        nonlocal seen
        lets: list[Let] = []
        for let in fn.lets:
            lets.append(replace(let, op=map_field(let.op, lambda atom: atom, body)))
            if isinstance(let.op, Release):
                seen += 1
                if seen - 1 == number:
                    moved.append(let)
                    at = len(lets) - 1
                    while at and isinstance(lets[at - 1].op, Store):
                        at -= 1
                    lets.insert(at, lets.pop())
        return replace(fn, lets=tuple(lets))

    made = body(fn)
    return (made, moved[0]) if moved else None


class _Break:
    """Takes one thing out of a body, the one with this number of those that are chosen."""

    def __init__(
        self, number: int, chosen: Callable[[Op], bool], instead: Callable[[Let], Iterator[Let]]
    ) -> None:
        self.chosen = chosen
        self.instead = instead
        self.number = number
        self.seen = 0
        self.what: Let | None = None

    def body(self, fn: Lambda) -> Lambda:
        """The body, broken if the thing is in it."""
        return replace(fn, lets=tuple(made for let in fn.lets for made in self._let(let)))

    def _let(self, let: Let) -> Sequence[Let]:
        if not self.chosen(let.op):
            return [replace(let, op=map_field(let.op, lambda atom: atom, self.body))]
        self.seen += 1
        if self.seen - 1 != self.number:
            return [let]
        self.what = let
        return list(self.instead(let))


def without_order(let: Let) -> Iterator[Let]:
    """What stands where something that orders stood."""
    match let.op:
        case Release(buffer=buffer, index=index, value=value):
            yield replace(let, op=Store(buffer, index, value))
        case Acquire(buffer=buffer, index=index) | AcquireLanes(buffer=buffer, index=index):
            yield replace(let, op=Load(buffer, index))
        case LoadWhole(buffer=buffer, index=index, count=count):
            for k, var in enumerate(let.vars):
                yield from _word(let, (var,), index, count, k, lambda at: Load(buffer, at))
        case StoreWhole(buffer=buffer, index=index, values_=values):
            for k, value in enumerate(values):
                yield from _word(
                    let, (), index, len(values), k, lambda at, value=value: Store(buffer, at, value)
                )
        case Atomic(fn=fn, buffer=buffer, index=index, value=value):
            (before,) = let.vars
            after = Var(f"{before.name}_after", before.type)
            yield replace(let, op=Load(buffer, index))
            yield replace(let, vars=(after,), op=Apply(fn, (before, value)))
            yield replace(let, vars=(), op=Store(buffer, index, after))
        case AtomicUpdate(fn=fn, buffer=buffer, index=index, values_=values):
            assert len(values) == 1, "an element of several words"
            yield from _plainly(let, fn, [buffer], index, values)
        case LockedUpdate(fn=fn, buffers=buffers, index=index, values_=values):
            yield from _plainly(let, fn, buffers, index, values)


def _one_by_one(let: Let) -> Iterator[Let]:
    """Words of an index one at a time, with others at work between them."""
    buffer, index, count = let.op.buffer, let.op.index, _words_of(let.op)
    for k in range(count):
        if isinstance(let.op, StoreWhole):
            value = let.op.values_[k]
            yield from _word(
                let, (), index, count, k, lambda at, value=value: StoreWhole(buffer, at, (value,))
            )
            yield replace(let, vars=(), op=Backoff(Const(0, i64)))
        else:
            yield from _word(let, (let.vars[k],), index, count, k, lambda at: LoadWhole(buffer, at))


def _words_of(op: Op) -> int:
    return op.count if isinstance(op, LoadWhole) else len(op.values_)


def _word(
    let: Let, bound: tuple[Var, ...], index: Atom, count: int, k: int, op: Callable[[Atom], Op]
) -> Iterator[Let]:
    """The access to word `k` of an index."""
    first, at = Var(f"first_{k}", i64), Var(f"at_{k}", i64)
    yield replace(let, vars=(first,), op=Apply("mul", (index, Const(count, i64))))
    yield replace(let, vars=(at,), op=Apply("add", (first, Const(k, i64))))
    yield replace(let, vars=bound, op=op(at))


def _plainly(
    let: Let, fn: Lambda, buffers: Sequence[Var], index: Atom, values: Sequence[Atom]
) -> Iterator[Let]:
    for param, buffer in zip(fn.params, buffers, strict=False):
        yield replace(let, vars=(param,), op=Load(buffer, index))
    given = Substitution(dict(zip(fn.params[len(buffers) :], values, strict=True)))
    for inner in fn.lets:
        yield replace(inner, op=given.op(inner.op))
    for buffer, result in zip(buffers, fn.results, strict=True):
        yield replace(let, vars=(), op=Store(buffer, index, given.atom(result)))


def is_found(
    unit: Unit, args: Sequence[Any], wanted: Sequence[Any], orders: Sequence[Schedule],
    at_once: int = 3, agree: Callable[[Any, Any], bool] | None = None,
) -> str:  # fmt: skip
    """How the simulator finds that a unit is broken: its words, or in which order the results are
    others; "" if it does not."""
    agree = agree or _are_same
    for schedule in orders:
        try:
            found = run(unit, list(args), at_once, schedule=schedule)
        except CompilerBug as bug:
            return bug.message
        if isinstance(found, Failure) or not all(map(agree, found, wanted)):
            return f"other results by {schedule}"
    return ""


def _are_same(found: Any, wanted: Any) -> bool:
    return bool(np.array_equal(found, wanted))


