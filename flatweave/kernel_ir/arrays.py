"""Staged arrays: Python values that write kernel IR and are never stored in it.

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

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import BLOCK, MEMORY, THREAD, ForAll, Level
from flatweave.kernel_ir.syntax import Lanes, Load, Store, Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var

Values = tuple[Atom, ...]
At = Callable[[Builder, Atom], Values]
Put = Callable[[Builder, Atom, Values], None]
Act = Callable[[Builder, Atom], None]


@record(eq=True)
class Pull:
    """An array as a function: `at(b, i)` writes to b what computes element i, and gives it."""

    extent: Atom
    at: At


# -- code -----------------------------------------------------------------------------------------


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
