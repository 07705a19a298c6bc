"""Staged arrays: Python values that write kernel IR and are never stored in it.

    xs = read([buffer], n)                    Pull: ask it for an element, and it writes the load
    ys = map(square, reverse(xs))             still a Pull; nothing is written
    zs = force(b, ys)                         memory of this level, a for_all of stores, a barrier
    store(b, concat(b, push(zs, BLOCK), ..), [out])

A **Pull** is a length and a function from an index to an element: who reads it says in which order
and by whom it is computed. A **Push** is a length and a program that puts every element where it
belongs: who made it says so, and so pushes are concatenated and permuted without asking, element
by element, where an element comes from. Functions on them fuse, always: only **force** makes memory
and lets threads read what others have computed.

Elements are tuples of scalars, stored as one array for each component. All code is written for a
level, that of the builder `b` it goes to: a kernel's own is code of a block, and `for_all` gives
code of warps and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import overload

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import BLOCK, MEMORY, THREAD, ForAll, Level
from flatweave.kernel_ir.syntax import Lanes, Load, Store, Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var

Values = tuple[Atom, ...]
At = Callable[[Builder, Atom], Values]
Put = Callable[[Builder, Atom, Values], None]
Act = Callable[[Builder, Atom], None]
To = Callable[[Builder, Atom], Atom]


@record(eq=True)
class Pull:
    """An array as a function: `at(b, i)` writes to b what computes element i, and gives it."""

    extent: Atom
    at: At


@record(eq=True)
class Push:
    """An array as a program: `write(b, put)` writes code of `level` that puts every element.

    It calls `put(b, i, values)` where element i is known. Each index below the extent is to be put
    once; one that never is has no value, and one that is put twice is a race.
    """

    extent: Atom
    level: Level
    write: Callable[[Builder, Put], None]


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


def store(
    b: Builder, array: Pull | Push, buffers: Sequence[Var], first: Atom | int = 0
) -> None:
    """Write an array to memory, without a barrier."""
    base = extent_of(first)

    def put(c: Builder, i: Atom, values: Values) -> None:
        place = c.add(base, i)
        store_each(c, buffers, place, values)

    _pushed(b, array).write(b, put)


def store_each(b: Builder, buffers: Iterable[Var], at: Atom, values: Iterable[Atom]) -> None:
    """The components of an element, each into its buffer."""
    for buffer, value in zip(buffers, values, strict=True):
        b.emit(Store(buffer, at, value))


def allocate(b: Builder, types: Sequence[DType], count: int) -> tuple[Var, ...]:
    """Memory of the unit whose code this is, for `count` elements."""
    make = MEMORY[level_of(b)]
    return tuple(b.emit(make(dtype, max(1, count)))[0] for dtype in types)


def force(b: Builder, array: Pull | Push, most: int | None = None) -> Pull:
    """Compute an array into memory of this level, once, and let all threads of the unit read it.

    A length that is known at run time only needs a bound, `most`.
    """
    level = level_of(b)
    if isinstance(array.extent, Const):
        most = int(array.extent.value)
    if most is None:
        raise ShapeError(
            f"force makes memory of a {level.word}, whose size is fixed when a kernel is "
            f"compiled, but the length {array.extent} is known at run time only.",
            where=b.where,
            remedy="Say how many elements there are at most: force(b, xs, most=1024).",
        )
    memory = allocate(b, element_types(b, array), most)
    store(b, array, memory)
    if level is not THREAD:
        b.emit(Sync(level.word))
    return read(memory, array.extent)


def element_types(b: Builder, array: Pull | Push) -> tuple[DType, ...]:
    """The dtypes of an array's components, found by writing an element nobody keeps."""
    scratch = b.inner()
    scratch.hoists = False
    if isinstance(array, Pull):
        return dtypes_of(b, array.at(scratch, scratch.param("i", i64)))
    seen: list[Values] = []
    array.write(scratch, lambda inside, i, values: seen.append(values))
    if not seen:
        raise ArgumentError("a push array puts no element.", where=b.where)
    return dtypes_of(b, seen[0])


def dtypes_of(b: Builder, values: Values) -> tuple[DType, ...]:
    """The dtypes of an element's components."""
    found = []
    for atom in values:
        if not isinstance(atom.type, DType):
            raise ArgumentError(f"{atom} is no scalar, and so no component.", where=b.where)
        found.append(atom.type)
    return tuple(found)


# -- from pull to push ----------------------------------------------------------------------------


def push(array: Pull, level: Level, each: int = 1) -> Push:
    """A pull array as a program: a thread's puts one element after the other, any other level's
    gives each thread `each` neighbours."""

    def write(b: Builder, put: Put) -> None:
        if level is THREAD:
            _put_each(b, array, index(0), array.extent, put)
        elif each == 1:
            for_all(b, THREAD, array.extent, lambda inside, i: put(inside, i, array.at(inside, i)))
        else:
            count = b.apply("floordiv", b.add(array.extent, index(each - 1)), index(each))
            for_all(b, THREAD, count, lambda inside, u: some(inside, u, put))

    def some(b: Builder, u: Atom, put: Put) -> None:
        lo = b.mul(u, index(each))
        hi = b.apply("minimum", b.add(lo, index(each)), array.extent)
        _put_each(b, array, lo, hi, put)

    return Push(array.extent, level, write)


def _put_each(b: Builder, array: Pull, lo: Atom, hi: Atom, put: Put) -> None:
    """The elements from lo to hi, in order."""
    with b.loop(lo, hi) as (inside, i):
        put(inside, i, array.at(inside, i))


def _pushed(b: Builder, array: Pull | Push) -> Push:
    """An array as a program of the code it goes to."""
    here = level_of(b)
    if isinstance(array, Pull):
        return push(array, here)
    if array.level is not here:
        raise ArgumentError(
            f"a push array of a {array.level.word} is written in code of a {here.word}.",
            where=b.where,
            remedy=f"Write it in code of a {array.level.word}; or make a pull array of it by force "
            f"there, and push that at {here.name}.",
        )
    return array


# -- functions on arrays --------------------------------------------------------------------------


@overload
def map(fn: Callable[[Builder, Values], Values], array: Pull) -> Pull: ...
@overload
def map(fn: Callable[[Builder, Values], Values], array: Push) -> Push: ...
def map(fn: Callable[[Builder, Values], Values], array: Pull | Push) -> Pull | Push:
    """`fn` of each element."""
    if isinstance(array, Pull):
        return Pull(array.extent, lambda b, i: fn(b, array.at(b, i)))

    def write(b: Builder, put: Put) -> None:
        array.write(b, lambda inside, i, values: put(inside, i, fn(inside, values)))

    return Push(array.extent, array.level, write)


def zipped(*arrays: Pull) -> Pull:
    """Elements side by side: the components of the first, then those of the second, .."""
    first = arrays[0].extent
    for array in arrays[1:]:
        if array.extent != first:
            raise ShapeError(
                f"zipped needs arrays of one length, got {first!r} and {array.extent!r}.",
                remedy="Cut all to one length: part(xs, 0, n).",
            )
    return Pull(first, lambda b, i: tuple(atom for array in arrays for atom in array.at(b, i)))


def zip_with(fn: Callable[[Builder, Values], Values], *arrays: Pull) -> Pull:
    """`fn` of the elements of several arrays side by side."""
    pairs = zipped(*arrays)
    return Pull(pairs.extent, lambda b, i: fn(b, pairs.at(b, i)))


def gather(array: Pull, source: To, extent: Atom | int | None = None) -> Pull:
    """Element i is element source(i) of the array."""
    count = array.extent if extent is None else extent_of(extent)
    return Pull(count, lambda b, i: array.at(b, source(b, i)))


def permute(array: Push, to: To) -> Push:
    """Element i goes to index to(i); all indices are distinct."""

    def write(b: Builder, put: Put) -> None:
        array.write(b, lambda inside, i, values: put(inside, to(inside, i), values))

    return Push(array.extent, array.level, write)


def reverse(array: Pull) -> Pull:
    """The last element first."""
    return gather(array, lambda b, i: b.sub(b.sub(array.extent, index(1)), i))


def part(array: Pull, first: Atom | int, extent: Atom | int) -> Pull:
    """`extent` elements from `first` on."""
    lo = extent_of(first)
    return gather(array, lambda b, i: b.add(lo, i), extent)


def halve(b: Builder, array: Pull) -> tuple[Pull, Pull]:
    """The first half, and the rest."""
    middle = b.apply("floordiv", array.extent, index(2))
    return part(array, 0, middle), part(array, middle, b.sub(array.extent, middle))


def concat(b: Builder, *arrays: Push) -> Push:
    """One array after the other, each by its own program: no element asks whose it is."""
    level = arrays[0].level
    firsts: list[Atom] = [index(0)]
    for array in arrays:
        firsts.append(b.add(firsts[-1], array.extent))
        if array.level is not level:
            raise ArgumentError(
                f"concat has push arrays of a {level.word} and of a {array.level.word}.",
                where=b.where,
                remedy="Push all of them at one level.",
            )

    def write(c: Builder, put: Put) -> None:
        for first, array in zip(firsts, arrays, strict=False):
            permute(array, lambda d, i, first=first: d.add(first, i)).write(c, put)  # type: ignore[misc]

    return Push(firsts[-1], level, write)


def concat_units(
    b: Builder, level: Level, count: Atom | int, extent: Atom | int,
    make: Callable[[Builder, Atom], Push],
) -> Push:  # fmt: skip
    """`make(b, u)` of `count` units of a level, in parallel, concatenated; each has `extent`
    elements and is written by code of its unit."""
    here, size, many = level_of(b), extent_of(extent), extent_of(count)

    def write(c: Builder, put: Put) -> None:
        def unit(d: Builder, u: Atom) -> None:
            first = d.mul(u, size)
            permute(make(d, u), lambda e, i: e.add(first, i)).write(d, put)

        for_all(c, level, many, unit)

    return Push(b.mul(many, size), here, write)
