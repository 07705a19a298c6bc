"""The levels of a machine; staged arrays: Python values that write code of a level.

    xs = read([buffer], n)            Pull: ask it for an element, and it writes the load
    ys = part(xs, 8, 32)              still a Pull; nothing is written
    zs = force(b, ys)                 memory of this level, a for_all of stores, a barrier

A **Pull** is a length and a function from an index to an element: who reads it says in which order
and by whom it is computed. Functions on them fuse, always: only **force** makes memory and lets
threads read what others have computed.

Elements are tuples of scalars, stored as one array for each component. All code is written for a
level, that of the builder `b` it goes to: a kernel's own is code of a block, and `for_all` gives
code of warps and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.kernel_ir import IN_LANES, LEVEL_NAMES, Action, KernelOp
from flatweave.kernel_ir.syntax import Lanes, Load, Shared, Store, Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Const,
    Lambda,
    Let,
    Type,
    Var,
    function_misfits,
    op,
    operator_misfits,
    types_misfit,
    types_of,
)
from flatweave.terms.traverse import walk_lets, with_bodies, with_lets

# The levels of a machine: thread < warp < block < grid; what runs at each, and whose memory it
# is.
#
#     level     what it is                its memory      who waits at a barrier
#     thread    a lane of a warp          local           nobody
#     warp      lanes in lock step        warp_shared     sync level=warp: its threads
#     block     warps with one memory     shared          sync: its warps
#     grid      the blocks of a launch    global          nobody: the next launch comes after all
#
# The code of a kernel is code of a block. `for_all` runs a body once for each of n units of a
# lower level, all of them in parallel: body 0 to body n - 1 in no order, on as many warps or
# threads as there are; one thread may take many of them.
#
#     kernel halves(n: i64, xs: global f32, sums: global f32) =>
#         b: i64 = block_index
#         lo: i64 = mul b 64
#         s: shared f32 = shared f32 64
#         for_all thread 64 (i: i64 =>
#             j: i64 = add lo i
#             x: f32 = load xs j
#             store s i x)
#         sync                                     # what one thread wrote another may read now


class Level(IntEnum):
    """A level of the machine; a lower one is part of a higher one.

    Source: CUDA's hierarchy of threads.

        >>> fk.THREAD < fk.WARP < fk.BLOCK < fk.GRID
        True
    """

    THREAD = 0
    WARP = 1
    BLOCK = 2
    GRID = 3

    @property
    def word(self) -> str:
        """The level as texts say it."""
        return LEVEL_NAMES[self]

    @property
    def space(self) -> str:
        """The memory that a unit of this level has to itself."""
        return SPACES[self]


THREAD, WARP, BLOCK, GRID = Level
SPACES = {THREAD: "local", WARP: "warp_shared", BLOCK: "shared", GRID: "global"}
LEVELS = dict(zip(LEVEL_NAMES, Level, strict=True))


@op
class ForAll(Action):
    """Runs `body(i)` for each i below `count`, in parallel, each by one unit of `level`.

    `each` is the number of consecutive elements of a thread of a block; for 0 the machine decides
    (`kernel_passes/sequentialize.py`).
    """

    level: str
    count: Atom
    body: Lambda
    each: int = 1
    stands = frozenset({"block", "warp"})

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        yield from function_misfits("the body", self.body, (i64,), ())


@op
class Local(KernelOp):
    """Memory of one thread for `count` elements, gone when its body ends."""

    dtype: DType
    count: int
    stands = IN_LANES | {"thread"}

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "local"),)


@op
class WarpShared(KernelOp):
    """Memory of one warp for `count` elements, gone when its body ends."""

    dtype: DType
    count: int
    stands = frozenset({"warp"})

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "warp_shared"),)


MEMORY: dict[Level, type[Local] | type[WarpShared] | type[Shared]] = {
    THREAD: Local,
    WARP: WarpShared,
    BLOCK: Shared,
}
"""What makes memory of each level inside a kernel; that of the grid comes from the host."""


# Elements combined by all threads of a block, before it is said which thread takes which.
#
#     reduce_all (add f32) [0.0f32] 1024 1024
#         (i: i64 => .. in x)                     element i
#         (r: i64, sum: f32 => store sums r sum)  what is done with the sum of row r
#         each=4
#
# They are used next to `for_all` in code that is not yet divided among threads.
# `kernel_passes/sequentialize.py` writes what the threads do; no machine, verifier or simulator
# meets one of these.
#
#     try_operator (a: f64, b: f64 => ..) [0.0f64] n 0
#         (i: i64 => .. in x)                     element i
#
# tries the operator of a reduction or scan. A first call of the kernel runs it in the simulator
# (`operator_checks/in_kernels.py`); it is in no code that a machine runs (`without_tries`).
#
#     try_over_blocks (a: f64, b: f64 => ..) [first] block [total]
#
# tries one that combines a value of each block, in the order of the blocks.


@record
class OfAll(Action):
    """Combines `element(i)` for i below `count`, in rows of `row` neighbours, by an associative
    `fn`, whose value of no elements is `neutral`; `body` is what a thread does with a result.

    Each thread takes up to `each` elements; for 0 the machine decides.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    count: int
    row: int
    element: Lambda
    body: Lambda
    each: int = 1
    stands = frozenset({"block"})

    def misfits(self) -> Iterator[str]:
        types = types_of(self.neutral)
        yield from operator_misfits(self.fn, types)
        yield from function_misfits("the element", self.element, (i64,), types)
        yield from function_misfits("the body", self.body, (i64, *types), ())
        if self.count < 0 or self.row < 1 or self.count % self.row:
            yield f"{self.count} elements are no whole rows of {self.row}"
        if self.each < 0:
            yield f"each thread takes {self.each} elements"


@op
class ReduceAll(OfAll):
    """A thread runs `body(r, value)` for each row r; with `any_order` the operator commutes."""

    any_order: bool = False


@op
class ScanAll(OfAll):
    """A thread runs `body(i, prefix)` for each i; with `exclusive` a prefix ends before its
    element. Where `before` is given, each row goes on from it."""

    exclusive: bool = False
    before: tuple[Atom, ...] = ()

    def misfits(self) -> Iterator[str]:
        yield from OfAll.misfits(self)
        if self.before:
            yield from types_misfit("what stands before", self.before, types_of(self.neutral))


@op
class TryOperator(Action):
    """Tries an associative `fn` on `element(i)` for i below `length`, in rows of `row` neighbours,
    one row for 0. Where `neutral` is given, it must be."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    length: Atom
    row: int
    element: Lambda
    stands = frozenset({"block", "warp"})

    def misfits(self) -> Iterator[str]:
        types = self.element.result_types()
        yield from operator_misfits(self.fn, types)
        yield from function_misfits("the element", self.element, (i64,), types)


@op
class TryOverBlocks(Action):
    """Tries an associative `fn` on what the first blocks of a launch have, `total` in this one,
    after `first`, which is before all of them."""

    fn: Lambda
    first: tuple[Atom, ...]
    block: Atom
    total: tuple[Atom, ...]
    stands = frozenset({"block"})

    def misfits(self) -> Iterator[str]:
        yield from operator_misfits(self.fn, types_of(self.total))
        yield from operator_misfits(self.fn, types_of(self.first))


TRIES = (TryOperator, TryOverBlocks)


def tries_in(fn: Lambda) -> list[Let]:
    """The lets of a body that try operators."""
    return [let for let in walk_lets(fn) if isinstance(let.op, TRIES)]


def without_tries(fn: Lambda) -> Lambda:
    """A body without them."""
    left = [let for let in fn.lets if not isinstance(let.op, TRIES)]
    return with_lets(fn, [with_bodies(let, without_tries) for let in left])


Values = tuple[Atom, ...]
At = Callable[[Builder, Atom], Values]
Put = Callable[[Builder, Atom, Values], None]
Act = Callable[[Builder, Atom], None]


@record(eq=True)
class Pull:
    """An array as a function: `at(b, i)` writes to b what computes element i, and gives it."""

    extent: Atom
    at: At


class UnitCode(Builder):
    """Code of one unit of a level."""

    def __init__(self, outer: Builder | None, level: Level) -> None:
        super().__init__(outer=outer)
        self.level = level
        self.index: Var | None = None  # which of the units it is


def level_of(b: Builder) -> Level:
    """Whose code goes to a builder: that of a block, outside of every `for_all`."""
    scope: Builder | None = b
    while scope is not None:
        if isinstance(scope, UnitCode):
            return scope.level
        scope = scope.outer
    return BLOCK


def for_all(b: Builder, level: Level, count: Atom | int, body: Act) -> None:
    """`body(b, i)` for each i below `count`, in parallel, as code of one unit of `level`."""
    here = level_of(b)
    if level >= here:
        raise ArgumentError(
            f"code of a {here.word} has no {level.word}s below it to share work among.",
            where=b.where,
            remedy="Write `loop` for a loop in one thread." if here is THREAD else
            "for_all goes down: from a block to its warps or threads, from a warp to its threads.",
        )  # fmt: skip
    inside = UnitCode(b, level)
    i = inside.param("i", i64)
    body(inside, i)
    b.emit(ForAll(level.word, extent_of(count), inside.close([i], [])))


@contextmanager
def in_lanes(b: Builder, width: int) -> Iterator[Builder]:
    """A body that the lanes of a warp run."""
    region = b.inner()
    yield region
    b.emit(Lanes(width, region.close([], [])))


def fold(
    b: Builder, lo: Atom, hi: Atom, init: Values, step: Callable[[Builder, Atom, Values], Values],
    hint: str = "i",
) -> Values:  # fmt: skip
    """A loop from lo to hi that carries values: `step(b, i, values)` gives the next."""
    inside, i, state = b.iteration(hint, init)
    return inside.close_loop(lo, hi, init, step(inside, i, state))


def extent_of(count: Atom | int) -> Atom:
    """A length, known now or at run time."""
    return index(count) if isinstance(count, int) else count


# -- memory ---------------------------------------------------------------------------------------


def read(buffers: Sequence[Var], extent: Atom | int, first: Atom | int = 0) -> Pull:
    """The elements in memory from `first` on, one buffer for each component."""
    base = extent_of(first)

    def at(b: Builder, i: Atom) -> Values:
        place = b.add(base, i)
        return tuple(b.emit(Load(buffer, place))[0] for buffer in buffers)

    return Pull(extent_of(extent), at)


def store_each(b: Builder, buffers: Iterable[Var], at: Atom, values: Iterable[Atom]) -> None:
    """The components of an element, each into its buffer."""
    for buffer, value in zip(buffers, values, strict=True):
        b.emit(Store(buffer, at, value))


def allocate(b: Builder, types: Sequence[DType], count: int) -> tuple[Var, ...]:
    """Memory of the unit whose code this is, for `count` elements."""
    make = MEMORY[level_of(b)]
    return tuple(b.emit(make(dtype, max(1, count)))[0] for dtype in types)


def force(b: Builder, array: Pull) -> Pull:
    """Compute an array into memory of this level, once, and let all threads of the unit read it."""
    assert isinstance(array.extent, Const)
    memory = allocate(b, element_types(b, array), int(array.extent.value))
    for_all(b, THREAD, array.extent, lambda c, i: store_each(c, memory, i, array.at(c, i)))
    b.emit(Sync(level_of(b).word))
    return read(memory, array.extent)


def element_types(b: Builder, array: Pull) -> tuple[DType, ...]:
    """The dtypes of an array's components, found by writing an element nobody keeps."""
    scratch = b.inner()
    scratch.hoists = False
    return dtypes_of(b, array.at(scratch, scratch.param("i", i64)))


def dtypes_of(b: Builder, values: Values) -> tuple[DType, ...]:
    """The dtypes of an element's components."""
    found = []
    for atom in values:
        if not isinstance(atom.type, DType):
            raise ArgumentError(f"{atom} is no scalar, and so no component.", where=b.where)
        found.append(atom.type)
    return tuple(found)


# -- functions on arrays --------------------------------------------------------------------------


def part(array: Pull, first: Atom | int, extent: Atom | int) -> Pull:
    """`extent` elements from `first` on."""
    lo = extent_of(first)
    return Pull(extent_of(extent), lambda b, i: array.at(b, b.add(lo, i)))
