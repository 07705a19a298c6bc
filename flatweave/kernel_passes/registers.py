"""Memory of a block in which no two threads use the same element becomes the thread's.

    s = shared f32 1024                         s = thread_memory f32 4 width=32
    for_all thread 256 (t =>                    for_all thread 256 (t =>
        for 0 4 1 (j => store s (t + 256 j) x))     for 0 4 1 (j => store s j x))
    sync                                 ==>    sync
    for_all thread 256 (t =>                    for_all thread 256 (t =>
        for 0 4 1 (j => load s (t + 256 j)))        for 0 4 1 (j => load s j))

A thread's elements either have a stride (t + s j, j from 0 on) or are neighbours (q t + j, j below
q), the same in all uses. The pass applies where lanes are threads and a block has a thread for each
iteration of these loops. Then thread t is the same thread in all of them. Lane l of warp w of a
loop over warps is thread 32 w + l of such loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatweave.access import Value
from flatweave.access.analyse import Values, kernel_values
from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, WARP, ForAll, WarpShared
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.syntax import Kernel, Lane, Load, Shared, Store, Unit
from flatweave.kernel_ir.warp_ops import ShuffleLanes
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.bounds import Sum
from flatweave.terms.build import index
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Var
from flatweave.terms.traverse import (
    atoms_in,
    free_vars,
    lambdas_in,
    walk_lets,
    with_bodies,
    with_lets,
)

MOST_BYTES = 128
"""Of registers that a thread has for one array: half of the 255 of 4 bytes for two of them."""


def registers(unit: Unit, shape: BlockShape) -> Unit:
    """The unit, with threads' own elements in registers; as it is where lanes are no threads."""
    if not shape.simt:
        return unit
    unit = unit.complete()
    return Unit(unit.host, tuple(registers_of(kernel, shape) for kernel in unit.kernels))


def registers_of(kernel: Kernel, shape: BlockShape) -> Kernel:
    """A kernel with less shared memory."""
    found = list(_uses(kernel.body, kernel_values(kernel.body), None, shape.width))
    own: dict[Var, _Own] = {}
    kept: dict[Var, Var] = {}
    for let in kernel.body.lets:
        if isinstance(let.op, Shared):
            var = let.vars[0]
            uses = [use for buffer, use, _ in found if buffer is var]
            divided = _own(uses, let.op, shape.warps * shape.width)
            if divided is not None:
                own[var] = divided
                kept[var] = Var(var.name, BufferType(let.op.dtype, "local"))
    if not own:
        return kernel
    numbered = {id(let): use for _, use, let in found if let is not None and use is not None}
    body = _Rewriter(own, kept, numbered, shape.width).function(kernel.body)
    return replace(kernel, body=body)


# -- where elements are ---------------------------------------------------------------------------

@record(eq=True)
class _Loop:
    """A loop over threads, and the loops inside of it with their known ends."""

    thread: Var
    count: int
    turns: Mapping[Var, tuple[int, int]]


@record(eq=True)
class _Use:
    """An element that a thread loads or stores: t times `step`, and `rest` from `low` to `high`,
    which is `number` times `stride` where it is no single element."""

    step: int
    stride: int
    number: Var | None
    first: int
    low: int
    high: int
    threads: int


def _uses(
    fn: Lambda, values: Values, loop: _Loop | None, width: int
) -> Iterator[tuple[Var, _Use | None, Let | None]]:
    """All uses of memory in a body, and where; None for a use that says nothing.

    Lanes of warp w that count from `width` w on are threads as those of a loop over threads are.
    """
    for let in fn.lets:
        match let.op:
            case Load(buffer=buffer, index=at) | Store(buffer=buffer, index=at):
                yield buffer, _use(values.of(at), loop), let
            case ForAll(level=level, count=Const(value=count), body=body) if (
                LEVELS[level] in (THREAD, WARP) and loop is None
            ):
                yield from _uses(body, values, _Loop(body.params[0], int(count), {}), width)
            case Lane(base=base, reverse=False) if (
                loop is not None and values.of(base) == Sum({loop.thread: width})
            ):
                loop = _Loop(let.vars[0], loop.count * width, loop.turns)
            case For(lo=Const(value=lo), hi=Const(value=hi), step=Const(value=1)) if loop:
                j = let.op.body.params[0]
                turns = {**loop.turns, j: (int(lo), int(hi) - 1)}
                inner = replace(loop, turns=turns)
                yield from _uses(let.op.body, values, inner, width)
            case Apply():
                pass
            case ForAll(body=body):
                yield from ((var, None, None) for var in free_vars(body))
            case op:
                yield from ((var, None, None) for var in atoms_in(op) if isinstance(var, Var))
                for body in lambdas_in(op):
                    yield from _uses(body, values, loop, width)


def _use(at: Value, loop: _Loop | None) -> _Use | None:
    """Which of its private elements a thread uses, or None if the element is not private."""
    if loop is None:
        return None
    step, first = at.terms.get(loop.thread, 0), at.more
    others = {term: n for term, n in at.terms.items() if term is not loop.thread}
    if step < 1 or len(others) > 1:
        return None
    if not others:
        return _Use(step, 0, None, first, first, first, loop.count)
    ((number, stride),) = others.items()
    if not isinstance(number, Var) or number not in loop.turns or stride < 1:
        return None
    low, high = loop.turns[number]
    return _Use(
        step, stride, number, first, first + stride * low, first + stride * high, loop.count
    )  # fmt: skip


# -- whose they are -------------------------------------------------------------------------------


@record(eq=True)
class _Own:
    """The number of elements of a thread, and their stride; neighbours have stride 1."""

    count: int
    stride: int


def _own(uses: list[_Use | None], op: Shared, threads: int) -> _Own | None:
    """How memory is divided among threads, if no element is used by two of them."""
    known = [use for use in uses if use is not None]
    if not known or len(known) < len(uses) or max(use.threads for use in known) > threads:
        return None
    if min(use.low for use in known) < 0:
        return None
    steps = {use.step for use in known}
    if steps == {1}:
        stride = _stride(known)
        found = None if stride is None else _Own(-(-op.count // stride), stride)
    elif len(steps) == 1:
        (q,) = steps
        near = all(use.stride <= 1 and use.high < q for use in known)
        found = _Own(q, 1) if near else None
    else:
        found = None
    return found if found and found.count * op.dtype.bytes <= MOST_BYTES else None


def _stride(uses: list[_Use]) -> int | None:
    """The one distance of a thread's elements: no less than there are threads."""
    most = max(use.threads for use in uses)
    stride = {use.stride for use in uses if use.number is not None} or {most}
    if len(stride) > 1 or min(stride) < most:
        return None
    (distance,) = stride
    return None if any(use.first % distance for use in uses) else distance


# -- in registers ---------------------------------------------------------------------------------


@record
class _Rewriter:
    """Code in which some memory is that of threads: for each variable how it is divided, and what
    it becomes."""

    own: Mapping[Var, _Own]
    kept: Mapping[Var, Var]
    uses: Mapping[int, _Use]
    width: int

    def function(self, fn: Lambda) -> Lambda:
        """A body anew."""
        return with_lets(fn, (new for let in fn.lets for new in self._let(let)))

    def _let(self, let: Let) -> Iterator[Let]:
        op = let.op
        if let.vars and let.vars[0] in self.kept:
            var = let.vars[0]
            assert isinstance(op, Shared)
            made = ThreadMemory(op.dtype, self.own[var].count, self.width)
            yield replace(let, vars=(self.kept[var],), op=made)
        elif isinstance(op, Load | Store) and op.buffer in self.kept:
            own, use = self.own[op.buffer], self.uses[id(let)]
            first = index(use.first // own.stride)
            at: Atom = first if use.number is None else use.number
            if use.number is not None and first.value:
                at = Var("k", i64)
                yield Let((at,), Apply("add", (use.number, first)), let.where)
            yield replace(let, op=op.replace(buffer=self.kept[op.buffer], index=at))
        else:
            yield with_bodies(let, self.function)


# -- Memory of a warp in which each lane has one element becomes a register, read by shuffles ------
#
#     m = warp_shared f32 32                      m = thread_memory f32 1 width=32
#     for_all thread 32 (i => store m i x)        for_all thread 32 (i => store m 0 x)
#     sync level=warp                      ==>    sync level=warp
#     for_all thread 32 (i =>                     for_all thread 32 (i =>
#         j = xor i 1                                 j = xor i 1
#         y = load m j)                               z = load m 0
#                                                     y = shuffle_lanes [z] j)
#
# So what `fk.shuffle` and its like force goes from register to register, as do the steps of a scan
# that a user writes for 32 elements. It is done where lanes have shuffles, where every lane has an
# element and stores it once, and where all of them come to each load. Barriers that then order
# nothing go with `barriers.py`.


def shuffles(unit: Unit, shape: BlockShape) -> Unit:
    """The unit with less memory of warps; as it is where lanes have no shuffles."""
    if not shape.shuffles:
        return unit
    unit = unit.complete()
    return Unit(unit.host, tuple(shuffles_of(kernel, shape.width) for kernel in unit.kernels))


def shuffles_of(kernel: Kernel, width: int) -> Kernel:
    """A kernel whose warps have lanes with shuffles."""

    def body(fn: Lambda) -> Lambda:
        return with_lets(fn, map(let_of, fn.lets))

    def let_of(let: Let) -> Let:
        op = let.op
        if isinstance(op, ForAll) and LEVELS[op.level] is WARP:
            return replace(let, op=op.replace(body=_of_warp(op.body, width)))
        return with_bodies(let, body)

    return replace(kernel, body=body(kernel.body))


def _of_warp(fn: Lambda, width: int) -> Lambda:
    """Code of a warp."""
    kept = {
        let.vars[0]: Var(let.vars[0].name, BufferType(let.op.dtype, THREAD.space))
        for let in fn.lets
        if isinstance(let.op, WarpShared) and let.op.count == width
        and _is_one_each(fn, let.vars[0], width)
    }  # fmt: skip
    return _Writer(kept, width).function(fn) if kept else fn


# -- who has what ---------------------------------------------------------------------------------


@record(eq=True)
class _UseOfWarp:
    """A load or store of one loop over all lanes, and whether it is of the lane's own element."""

    loop: int
    stores: bool
    own: bool


def _is_one_each(fn: Lambda, memory: Var, width: int) -> bool:
    """Whether each lane stores its own element once, before the loads of all lanes."""
    uses = list(_uses_of_warp(fn, memory, width))
    all_uses = sum(memory in atoms_in(let.op) for let in walk_lets(fn))
    stores = [use for use in uses if use.stores]
    if len(uses) < all_uses or len(stores) != 1 or not stores[0].own:
        return False
    return all(use.loop > stores[0].loop for use in uses if not use.stores)


def _uses_of_warp(fn: Lambda, memory: Var, width: int) -> Iterator[_UseOfWarp]:
    """The uses in loops over all lanes, under no condition."""
    for number, let in enumerate(fn.lets):
        op = let.op
        if not isinstance(op, ForAll) or op.count != Const(width, op.count.type):  # type: ignore[arg-type]
            continue
        for inner in op.body.lets:
            if isinstance(inner.op, Load | Store) and inner.op.buffer is memory:
                own = inner.op.index is op.body.params[0]
                yield _UseOfWarp(number, isinstance(inner.op, Store), own)


# -- in registers ---------------------------------------------------------------------------------


@record
class _Writer:
    """Code of a warp in which some memory is a register of each lane."""

    kept: Mapping[Var, Var]
    width: int

    def function(self, fn: Lambda) -> Lambda:
        """The code anew."""
        return replace(fn, lets=tuple(self._let(let) for let in fn.lets))

    def _let(self, let: Let) -> Let:
        op = let.op
        if let.vars and let.vars[0] in self.kept:
            assert isinstance(op, WarpShared)
            made = ThreadMemory(op.dtype, 1, self.width)
            return replace(let, vars=(self.kept[let.vars[0]],), op=made)
        if isinstance(op, ForAll):
            i, lets = op.body.params[0], op.body.lets
            inside = tuple(new for inner in lets for new in self._use(inner, i))
            return replace(let, op=op.replace(body=replace(op.body, lets=inside)))
        return let

    def _use(self, let: Let, i: Var) -> Sequence[Let]:
        op = let.op
        if not isinstance(op, Load | Store) or op.buffer not in self.kept:
            return [let]
        own = op.replace(buffer=self.kept[op.buffer], index=index(0))
        if isinstance(op, Store) or op.index is i:
            return [replace(let, op=own)]
        held = Var("held", dtype_in(op.buffer))
        shuffled = ShuffleLanes((held,), op.index)
        return [Let((held,), own, let.where), replace(let, op=shuffled)]
