"""Push arrays: a length and a program that puts every element where it belongs (Svensson 2013,
1.2.4, after Claessen, Sheeran and Svensson 2012).

    push(xs)                each element put by a thread of the level that writes it
    concat_p(a, b)          first the program of a, then that of b: no element asks whose it is
    pconcat(parts)          the program of each part by a unit of the level below, all in parallel

The producer of a push array decides the order of its elements and their units, so it cannot be
indexed. An element that is never put has no value, and one that is put twice is a race: the
simulator finds both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ArgumentError, NestingError
from flatweave.base.source import user_location
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.scope import entered
from flatweave.kernel.checks import guarded, need_length
from flatweave.kernel.code import Extent, here, level, simplest, trace
from flatweave.kernel.loops import for_all, seq_for, when
from flatweave.kernel.parts import need_part
from flatweave.kernel.pulls import Pull, need_pull, over, static
from flatweave.kernel_ir.hierarchy import GRID, THREAD, Level


class Put:
    """Where a program puts its elements: `put(i, value)`, or `put[k](i, value)` in array k."""

    __slots__ = ("_array", "_put", "room")

    def __init__(
        self, put: Callable[[Any, Any], None], array: Callable[[int], Put] | None = None,
        room: Extent | None = None,
    ) -> None:  # fmt: skip
        self._put = put
        self._array = array
        self.room = room  # how many elements there are where it puts, if that is another length

    def __call__(self, i: Any, value: Any) -> None:
        self._put(i, value)

    def __getitem__(self, k: int) -> Put:
        if self._array is None:
            raise ArgumentError.here(
                "a program that gives several arrays, where one array is needed.",
                "Force it: xs, ys = fk.force(..); or return it from the kernel.",
            )
        return self._array(k)


Write = Callable[[Put], None]


class Push:
    """An array as a program: `write(put)` writes code that calls put(i, value) for each element.

    `level` is the code's, None for any. An unknown length is found by writing the program.
    Types: `t[length]`; a program may put several. Source: Claessen, Sheeran and Svensson 2012.

        >>> fk.kernel(lambda xs: fk.push(xs))(np.arange(4))
        Array([0, 1, 2, 3], dtype=int64)
    """

    __slots__ = ("_lengths", "_write", "into", "level", "made", "same")

    def __init__(
        self, length: Extent | None, write: Write, level: Level | None = None,
        same: Callable[[], Pull] | None = None,
    ) -> None:  # fmt: skip
        self._lengths: dict[int, Extent] = {}
        self._write = write
        self.level = level
        self.made = user_location()
        self.same = same  # the same array as a function, if every element is put separately
        self.into = False  # whether the memory it is written to decides the number of elements
        if length is not None:
            self.know(length)

    @property
    def length(self) -> Extent:
        """How many elements there are."""
        if not self._lengths:
            _write_in_vain(self)
        if len(self._lengths) > 1:
            raise ArgumentError.here(
                "a program that gives several arrays, where one array is needed.",
                "Force it and ask each: xs, ys = fk.force(..).",
            )
        return self._lengths[0]

    @property
    def known_length(self) -> Extent | None:
        """The length, if it is known already; that of the first array of several."""
        return self._lengths.get(0)

    @property
    def arrays(self) -> int:
        """How many arrays a program puts that has been written: 1, unless units give several."""
        return max(1, len(self._lengths))

    def length_of(self, k: int) -> Extent:
        """How many elements array k has."""
        if k not in self._lengths:
            _write_in_vain(self)
        return self._lengths[k]

    def knows(self, k: int) -> bool:
        """Whether the length of array k is known already."""
        return k in self._lengths

    def know(self, length: Extent, k: int = 0) -> None:
        """The length of array k, known from now on."""
        self._lengths[k] = simplest(length)

    def shares_lengths(self, other: Push) -> None:
        """This is another way to write a program: their lengths are known together."""
        self._lengths = other._lengths

    def write(self, put: Put) -> None:
        """Write the program here."""
        around = level()
        if self.level is not None and self.level is not around:
            raise NestingError.here(
                f"a push array of a {self.level.word} is written in code of a {around.word}.",
                f"Give it to units of that level with pconcat, or force it in code of a "
                f"{self.level.word}.",
            )
        self._write(put)

    def permuted(self, to: Callable[[Any], Any]) -> Push:
        """Element i goes to index to(i)."""
        made = self._with(lambda put: lambda i, value: _put_inside(put, to(i), value, made))
        return made

    def mapped(self, fn: Callable[[Any], Any]) -> Push:
        """`fn` of every element."""
        made = self._with(lambda put: lambda i, value: put(i, fn(value)), into=self.into)
        if (same := self.same) is not None:
            made.same = lambda: over(fn, "map", (same(),))
        return made

    def taken(self, n: Extent) -> Push:
        """The elements that it puts below index n."""
        if self.known_length is not None:
            need_part(n, self.known_length, "take")

        def below(put: Put, i: Any, value: Any) -> None:
            if isinstance(n, int) and n < 1:
                in_vain(lambda: put(i, value))  # which tells what the elements would be
            else:
                when(i < n, lambda: put(i, value))

        made = self._with(lambda put: lambda i, value: below(put, i, value))
        write = made._write

        def checked(put: Put) -> None:
            write(put)
            need_part(n, self.length, "take")  # which is known by now

        made._write = checked
        made.know(n)
        if (same := self.same) is not None:
            made.same = lambda: Pull(n, same()._at)
        return made

    def _with(
        self, wrap: Callable[[Put], Callable[[Any, Any], None]], into: bool = False
    ) -> Push:
        """The same program, which puts elements another way."""
        made = Push(self.known_length, lambda put: None, self.level)
        made.into = into

        def write(put: Put) -> None:
            def put_one(i: Any, value: Any) -> None:
                if made.known_length is None:
                    made.know(self.length)
                wrapped(i, value)

            wrapped = wrap(put)
            self._write(Put(put_one, room=put.room if into else None))
            if made.known_length is None:
                made.know(self.length)

        made._write = write
        return made

    def __getitem__(self, i: Any) -> Any:
        raise ArgumentError.here(
            "a push array cannot be indexed: which element stands where, its own program says.",
            "Make a pull array of it by force.",
        )

    def __len__(self) -> int:
        return static(self.length, "len")

    def __repr__(self) -> str:
        lengths = [str(n) if isinstance(n, int) else "n" for n in self._lengths.values()]
        return f"Push({', '.join(lengths or 'n')})"


def _write_in_vain(array: Push) -> None:
    """Write a push array where nobody sees it, so that its length is known."""
    made = trace()
    launches = len(made.kernels)
    in_vain(lambda: array.write(_nowhere()))
    del made.kernels[launches:]


def in_vain(write: Callable[[], None]) -> None:
    """Write code that is thrown away."""
    code = here().builder.inner()
    code.hoists = False
    with entered(trace().scope_of(code)):
        write()


def _nowhere(k: int = 0) -> Put:
    """Elements are dropped."""
    return Put(lambda i, value: None, _nowhere)


# -- from pull to push ----------------------------------------------------------------------------


def make_push(
    length: Extent | tuple[Extent, ...], write: Write, level: Level | None = None
) -> Push:
    """The push array of `length` elements that `write(put)` puts, by put(index, value).

    With a tuple of lengths it is as many arrays, of which put[k](index, value) puts array k.

    Types: `length: integer, write: (put: (i64, t) -> None) -> None; gives push t[length]`.
    Raises ShapeError for a length below 0, IndexOutOfBounds for an index outside. Source: push
    arrays (Claessen, Sheeran and Svensson 2012).

        >>> @fk.kernel
        ... def reversed(xs):
        ...     def write(put):
        ...         fk.for_all(4, lambda b: put(3 - b, xs[b]))
        ...     return fk.make_push(4, write)
        >>> reversed(np.arange(4))
        Array([3, 2, 1, 0], dtype=int64)
    """
    lengths = length if isinstance(length, tuple) else (length,)
    for each in lengths:
        need_length(each, "make_push")

    def checked(put: Put, k: int) -> Put:
        return Put(
            lambda i, value: _put_inside(put, i, value, lengths[k]), lambda j: checked(put[j], j)
        )

    made = Push(None, lambda put: write(checked(put, 0)), level)
    for k, each in enumerate(lengths):
        made.know(each, k)
    return made


def _put_inside(put: Put, i: Any, value: Any, length: Extent | Push) -> None:
    """Put at an index that a user says, which is to be inside of what there is."""
    room = put.room if put.room is not None else length
    if isinstance(room, Push):
        room = room.length
    guarded(i, room, "a push array", lambda at: put(at, value))


def push(xs: Any, level: Level | None = None) -> Push:
    """A pull array as a program: a thread puts one element after the other; of a warp or block
    each element is put by a thread; those of the grid are divided among blocks.

    Types: `xs: pull t[n], level: Level -> push t[n]`. Raises ArgumentError for what is no pull
    array. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(lambda part: fk.push(fk.reverse(part)), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    if isinstance(xs, Push):
        return xs
    array = need_pull(xs, "push")

    def write(put: Put) -> None:
        around = _level()
        with trace().taking(array.each):
            if around is THREAD:
                seq_for(0, array.length, lambda i: put(i, array.at(i)))
            elif around is GRID:
                _by_blocks(array, trace().block_elements, put)
            else:
                for_all(array.length, lambda i: put(i, array.at(i)))

    return Push(array.length, write, level, lambda: array)


def _level() -> Level:
    return level()


def _by_blocks(array: Pull, most: int, put: Put) -> None:
    """Each block has `most` consecutive elements, the last one the rest."""
    n = array.length

    def block(b: Any) -> None:
        base = b * most
        mine = _least(most, n - base)
        for_all(mine, lambda i: put(base + i, array.at(base + i)))

    for_all((n + (most - 1)) // most, block)


def _least(a: Any, b: Any) -> Any:
    return minimum(a, b)


def scatter(to: Callable[[Any], Any], xs: Any, length: Extent | None = None) -> Push:
    """Element i goes to index to(i) of `length`, all distinct; indices without an element have no
    value. `m.write(scatter(to, xs))` writes them into existing memory.

    Types: `to: i64 -> integer, xs: t[n], length: integer -> push t[length]`. Raises
    IndexOutOfBounds for an index outside. Source: push arrays (Claessen, Sheeran and Svensson
    2012).

        >>> fk.kernel(lambda xs: fk.scatter(lambda i: 7 - i, xs))(np.arange(8))
        Array([7, 6, 5, 4, 3, 2, 1, 0], dtype=int64)
    """
    moved = pushed(xs).permuted(to)
    if length is not None:
        need_length(length, "scatter")
        moved.know(length)
    moved.into = length is None
    return moved


def pushed(xs: Any) -> Push:
    """What a unit gives, as a push array: an array, or a number or tuple as its one element.

    A tuple of arrays gives several arrays: one program puts all of them.
    """
    if isinstance(xs, Push):
        return xs
    if isinstance(xs, Pull):
        return push(xs)
    if isinstance(xs, tuple) and any(isinstance(x, Pull | Push) for x in xs):
        return _side_by_side([pushed(x) for x in xs])
    return Push(1, lambda put: put(0, xs), same=lambda: Pull(1, lambda i: xs))


def _side_by_side(parts: list[Push]) -> Push:
    """Several arrays, each by a separate program, in order."""
    made = Push(None, lambda put: None)

    def write(put: Put) -> None:
        for k, part in enumerate(parts):
            made.know(part.length, k)  # before the first element is put
            part.write(put[k])

    known = [part.known_length for part in parts]
    if None not in known:
        made._lengths.update(enumerate(known))  # type: ignore[arg-type]
    made._write = write
    return made


def map(fn: Callable[..., Any], *arrays: Any) -> Any:
    """`fn` of every element; of several pull arrays, side by side.

    Types: `fn: (t, u, ..) -> r, arrays: t[n], u[n], .. -> r[n]`, pull or push as they are.
    Raises ArgumentError for what is no pull array or push array. Source: Obsidian (Svensson
    2013).

        >>> fk.kernel(lambda xs: fk.map(lambda x: x + 1, xs))(np.arange(4))
        Array([1, 2, 3, 4], dtype=int64)
    """
    if len(arrays) == 1 and isinstance(arrays[0], Push):
        return arrays[0].mapped(fn)
    if any(isinstance(xs, Push) for xs in arrays):
        message = f"map of several arrays needs pull arrays, got {kind_of(arrays[0])}."
        remedy = "Make pull arrays of them by force."
        raise ArgumentError.here(message, remedy)
    return over(fn, "map", arrays)
