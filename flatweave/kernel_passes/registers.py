"""Memory of a block of which each thread uses elements of its own only becomes the thread's.

    s = shared f32 1024                         s = thread_memory f32 4 width=32
    for_all thread 256 (t =>                    for_all thread 256 (t =>
        for 0 4 1 (j => store s (t + 256 j) x))     for 0 4 1 (j => store s j x))
    sync                                 ==>    sync
    for_all thread 256 (t =>                    for_all thread 256 (t =>
        for 0 4 1 (j => load s (t + 256 j)))        for 0 4 1 (j => load s j))

Either the elements of a thread are so many apart (t + s j, j from 0 on), or they are neighbours
(q t + j, j below q), the same in all uses. It is done where lanes are threads, and a block has one
for each turn of these loops; then thread t of all of them is the same one. Lane l of warp w of a
loop over warps is thread 32 w + l of such loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flatweave.access.analyse import Values, kernel_values
from flatweave.access.value import Value
from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, WARP, ForAll
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.syntax import Kernel, Lane, Load, Shared, Store, Unit
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.bounds import Sum
from flatweave.terms.build import index
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, map_field

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
    """Which element of its own a thread uses, if it is such."""
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
    """How many elements a thread has, and how far apart these are; neighbours are 1 apart."""

    count: int
    apart: int


def _own(uses: list[_Use | None], op: Shared, threads: int) -> _Own | None:
    """How memory is divided among threads, if no element is used by two of them."""
    known = [use for use in uses if use is not None]
    if not known or len(known) < len(uses) or max(use.threads for use in known) > threads:
        return None
    if min(use.low for use in known) < 0:
        return None
    steps = {use.step for use in known}
    if steps == {1}:
        apart = _apart(known)
        found = None if apart is None else _Own(-(-op.count // apart), apart)
    elif len(steps) == 1:
        (q,) = steps
        near = all(use.stride <= 1 and use.high < q for use in known)
        found = _Own(q, 1) if near else None
    else:
        found = None
    return found if found and found.count * op.dtype.bytes <= MOST_BYTES else None


def _apart(uses: list[_Use]) -> int | None:
    """The one distance of a thread's elements: no less than there are threads."""
    most = max(use.threads for use in uses)
    apart = {use.stride for use in uses if use.number is not None} or {most}
    if len(apart) > 1 or min(apart) < most:
        return None
    (distance,) = apart
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
        return replace(fn, lets=tuple(new for let in fn.lets for new in self._let(let)))

    def _let(self, let: Let) -> Iterator[Let]:
        op = let.op
        if let.vars and let.vars[0] in self.kept:
            var = let.vars[0]
            assert isinstance(op, Shared)
            made = ThreadMemory(op.dtype, self.own[var].count, self.width)
            yield replace(let, vars=(self.kept[var],), op=made)
        elif isinstance(op, Load | Store) and op.buffer in self.kept:
            own, use = self.own[op.buffer], self.uses[id(let)]
            first = index(use.first // own.apart)
            at: Atom = first if use.number is None else use.number
            if use.number is not None and first.value:
                at = Var("k", i64)
                yield Let((at,), Apply("add", (use.number, first)), let.where)
            yield replace(let, op=op.replace(buffer=self.kept[op.buffer], index=at))
        else:
            yield replace(let, op=map_field(op, lambda atom: atom, self.function))
