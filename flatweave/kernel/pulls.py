"""Pull arrays: a length and a function from an index to an element (Svensson 2013, 1.2.4).

    xs[i]                   writes what computes element i, where it is asked for
    map(f, reverse(xs))     still a pull array: nothing is written, so everything fuses

Elements are numbers, trees of them, or arrays: `split_up` gives a pull array of pull arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flatweave.base.dtypes import i64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.pretty import listed
from flatweave.base.source import user_location
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.scope import entered
from flatweave.kernel.checks import Test, guarded, in_row, need, need_function, need_length
from flatweave.kernel.code import Extent, extent_of, here, numbers, place, simplest, writing
from flatweave.terms.build import Builder, index

At = Callable[[Any], Any]
if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    T = WithDefault("T", default=Any)
else:
    T = TypeVar("T")


class Pull(Generic[T]):
    """An array as a function. `length` is an int, or a number of the host where it is not known
    when the kernel is written.

    Types: `t[length]`; `xs[i]` is an element, `xs[a:b]` a part. Raises IndexOutOfBounds for an
    index outside. Source: pull arrays of Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: xs[1:3])(np.arange(4))
        Array([1, 2], dtype=int64)
    """

    __slots__ = ("_at", "columns", "each", "length", "made", "memory", "within")

    def __init__(
        self, length: Extent, at: At, memory: Any = None, each: int | None = None
    ) -> None:
        self.length = simplest(length)
        self._at = at
        self.made = user_location()
        self.memory = memory  # what holds it, if that holds nothing else
        self.columns: tuple[Pull, ...] | None = None  # of what it was zipped, if it was
        self.each = each  # how many elements each thread takes that puts it
        self.within: tuple[Test, ...] = ()  # when the row is there that it is, if that is not sure

    def __class_getitem__(cls, dtype: Any) -> Any:
        return Typed(dtype)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return _slice(self, i)
        return guarded(i, self.length, "a pull array", self._at, self.within)

    def at(self, i: Any) -> Any:
        """Element i, of which is known that there is one."""
        return in_row(numbers([place(i)])[0], self.within, self._at)

    def there(self, tests: tuple[Test, ...]) -> Pull:
        """The same array as a row that is there only where the tests hold."""
        found = Pull(self.length, self._at, None, self.each)
        found.within = (*self.within, *tests)
        return found

    def __setitem__(self, i: Any, value: Any) -> None:
        raise ArgumentError.here(
            "a pull array is a function, and has no elements to change.",
            "Make memory with its elements, m = fk.fill(xs), and change that: m[i] = x.",
        )

    def _no_operator(self, *_: Any) -> Any:
        message = "a pull array has no operators: it is a function from an index to an element."
        remedy = "Combine elements: fk.zip_with(fw.add, xs, ys), fk.map(lambda x: 2 * x, xs)."
        raise ArgumentError.here(message, remedy)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _no_operator

    def __len__(self) -> int:
        return static(self.length, "len")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Pull({self.length if isinstance(self.length, int) else 'n'})"


class Typed:
    """What a kernel's parameter is annotated with: `xs: fk.Pull[fw.f32]`."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


def static(length: Extent, who: str) -> int:
    """A length that must be known when the kernel is written."""
    if isinstance(length, int):
        return length
    raise ShapeError.here(
        f"{who} needs a length that is known when the kernel is written, and this one is known at "
        "run time only.",
        "Cut the array into parts of one length with split_up, and give a block each.",
    )


def need_pull(xs: Any, who: str, remedy: str = "") -> Pull:
    """The array itself, if it can be indexed."""
    if isinstance(xs, Pull):
        return xs
    if type(xs).__name__ == "Push":
        raise ArgumentError.here(
            f"{who} needs a pull array: which element of a push array stands where, its own "
            "program says.",
            "Make a pull array of it by force.",
        )
    raise ArgumentError.here(
        f"{who} needs a pull array, got {kind_of(xs)}.",
        remedy or "A kernel's arguments are pull arrays; pull(n, f) makes one.",
    )


def pull(length: Extent, at: At) -> Pull:
    """The array of at(0), .. at(length - 1). Raises ShapeError for a length below 0.

    Types: `length: integer, at: i64 -> t -> pull t[length]`. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda n: fk.pull(n, lambda i: i * i))(4)
        Array([0, 1, 4, 9], dtype=int64)
    """
    need_function(at, who="pull")
    need_length(length, "pull")
    return Pull(length, at)


def element_seen(xs: Pull) -> Any:
    """An element, written where it is thrown away: to see whether it is an array."""
    return element_and_code(xs)[0]


def element_and_code(xs: Pull) -> tuple[Any, Builder]:
    """An element, and the code that is thrown away, which computes it."""
    code = here().builder.inner()
    code.hoists = False
    with entered(writing().scope_of(code)):
        return xs.at(any_index(code, xs)), code


def any_index(code: Builder, xs: Pull) -> Tracer:
    """The first index; of an array of no elements one of which nothing is known."""
    if isinstance(xs.length, int) and xs.length == 0:
        return numbers([code.param("i", i64, below=extent_of(xs.length))])[0]
    return numbers([index(0)])[0]


# -- elements -------------------------------------------------------------------------------------


def over(fn: Callable[..., Any], who: str, arrays: tuple[Any, ...]) -> Pull:
    """`fn` of the elements side by side; `zip` takes the length of the shortest array."""
    need_function(fn, who=who)
    pulls = [need_pull(xs, who) for xs in arrays]
    if not pulls:
        raise ArgumentError.here(
            f"{who} needs at least one array.", "Use pull(n, f) for a function of the index."
        )
    length = _common([xs.length for xs in pulls], who)
    return Pull(length, lambda i: fn(*(xs.at(i) for xs in pulls)))


def _common(lengths: list[Extent], who: str) -> Extent:
    """One length of all: the least of those that are known; others are equal, but for `zip`."""
    known = [n for n in lengths if isinstance(n, int)]
    if len(known) == len(lengths):
        return min(known)
    others = list({n.atom: n for n in lengths if not isinstance(n, int)}.values())
    if known:
        shown = listed([str(n) if isinstance(n, int) else "one known at run time" for n in lengths])
        raise ShapeError.here(
            f"{who} has arrays of different lengths: {shown}.", "Cut them to one: xs[:n]."
        )
    for n in others[1:] if who != "zip" else ():
        for less, more in ((others[0], n), (n, others[0])):
            message = f"{who} has arrays of different lengths: {{0}} and {{1}}."
            need(less, more, message, CUT, others[0], n)
    return shortest(others)  # in a kernel later code runs after a failure, too


CUT = "Cut the longer one, for instance with xs[:ys.length]; fk.zip takes the shortest length."


def shortest(lengths: list[Tracer]) -> Extent:
    """The least of some lengths of the host."""
    scope = lengths[0].scope
    found = lengths[0]
    for n in lengths[1:]:
        atom = scope.apply("minimum", found.atom, n.atom)
        found = Tracer(atom, scope.home((atom,)))
    return found


def zip(*arrays: Any) -> Pull:
    """Elements side by side, as tuples.

    Types: `arrays: pull t[n], pull u[n], .. -> pull (t, u, ..)[n]`, as long as the shortest.
    Raises ArgumentError for what is no pull array, and for no arrays. Source: Python's `zip`.

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda p: p[0] - p[1], fk.zip(xs, fk.reverse(xs)))
        >>> example(np.arange(4))
        Array([-3, -1,  1,  3], dtype=int64)
    """
    found = over(lambda *values: values, "zip", arrays)
    found.columns = arrays
    return found


def zip_with(fn: Callable[..., Any], *arrays: Any) -> Pull:
    """`fn` of the elements of several arrays side by side; as long as the shortest, if lengths
    are known when the kernel is written.

    Types: `fn: (t, u, ..) -> r, arrays: pull t[n], pull u[n], .. -> pull r[n]`. Raises ShapeError
    for other lengths that differ, ArgumentError for what is no pull array, and for no arrays.
    Source: Haskell's `zipWith`.

        >>> fk.kernel(lambda xs: fk.zip_with(fw.add, xs, fk.reverse(xs)))(np.arange(4))
        Array([3, 3, 3, 3], dtype=int64)
    """
    return over(fn, "zip_with", arrays)


def unzip(xs: Any) -> tuple[Pull, ...]:
    """An array of tuples as a tuple of arrays.

    Types: `xs: pull (t, u, ..)[n] -> (pull t[n], pull u[n], ..)`. Raises ArgumentError when the
    elements are no tuples. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.unzip(fk.pair(xs))[1])(np.arange(8))
        Array([1, 3, 5, 7], dtype=int64)
    """
    array = need_pull(xs, "unzip")
    seen = array.columns or element_seen(array)
    if not isinstance(seen, tuple):
        raise ArgumentError.here(
            f"unzip needs an array of tuples, and its elements are {kind_of(seen)}.",
            "Make tuples of them: fk.pair(xs), or fk.zip(xs, ys).",
        )
    width = len(seen)
    return tuple(
        Pull(array.length, lambda i, part=part: component(array, i, part))  # type: ignore[misc]
        for part in range(width)
    )


def component(xs: Pull, i: Any, part: int) -> Any:
    """One component of element i of an array of tuples; of zipped arrays, without the others."""
    return xs.at(i)[part] if xs.columns is None else xs.columns[part].at(i)


def ix_map(fn: Callable[[Any], Any], xs: Any) -> Any:
    """Element i is element fn(i) of a pull array; that of a push array goes to index fn(i).

    Types: `fn: i64 -> integer, xs: pull t[n] -> pull t[n]`. Raises IndexOutOfBounds for an
    index outside. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.ix_map(lambda i: i ^ 1, xs))(np.arange(8))
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """
    need_function(fn, who="ix_map")
    if hasattr(xs, "permuted"):
        return xs.permuted(fn)
    array = need_pull(xs, "ix_map")
    return Pull(array.length, lambda i: array[fn(i)])


def gather(fn: Callable[[Any], Any], xs: Any, length: Extent) -> Pull:
    """`length` elements, of which number i is element fn(i).

    Types: `fn: i64 -> integer, xs: pull t[n], length: integer -> pull t[length]`. Raises
    IndexOutOfBounds for an index outside, ArgumentError for what is no pull array. Source:
    Accelerate's `gather`.

        >>> fk.kernel(lambda xs: fk.gather(lambda i: 2 * i, xs, 3))(np.arange(8))
        Array([0, 2, 4], dtype=int64)
    """
    array = need_pull(xs, "gather")
    need_length(length, "gather")
    return Pull(length, lambda i: array[fn(i)])


# -- parts ----------------------------------------------------------------------------------------


def _slice(xs: Pull, part: slice) -> Pull:
    """Elements from `start` on, below `stop`."""
    if part.step not in (None, 1):
        raise ArgumentError.here(
            "a slice of a pull array has no step.", "Use every_nth(n, k, xs) or ix_map."
        )
    if isinstance(xs.length, int) and all(
        bound is None or isinstance(bound, int) for bound in (part.start, part.stop)
    ):
        known, end, _ = part.indices(xs.length)
        return Pull(max(0, end - known), lambda i: xs.at(i + known))
    start = _bound(part.start, 0, xs.length)
    stop = _bound(part.stop, xs.length, xs.length)
    inside = [
        need(0, start, "a slice begins at {0}, before the array.", INSIDE, start),
        need(start, stop, "a slice begins at {0} and ends at {1}, before it.", INSIDE, start, stop),
        need(stop, xs.length, "a slice ends at {0}, in an array of {1} elements.", INSIDE, stop,
             xs.length),
    ]  # fmt: skip
    length = stop - start
    for holds in inside:
        if holds is not None:  # after a failure there are no elements
            length = numbers([here().apply("select", holds, place(length), index(0))])[0]
    return Pull(length, lambda i: xs.at(i + start))


INSIDE = "Give bounds from 0 to the length, the first one first: fw.clip brings others inside."


def _bound(bound: Any, otherwise: Any, length: Any) -> Any:
    """Where a slice begins or ends; a negative number counts from the end."""
    if bound is None:
        return otherwise
    return length + bound if isinstance(bound, int) and bound < 0 else bound


def singleton(value: Any) -> Pull:
    """One element.

    Types: `value: t -> pull t[1]`. Raises ArgumentError for what is no element. Source:
    Obsidian (Svensson 2013).

        >>> fk.kernel(lambda x: fk.singleton(x * x))(3)
        Array([9], dtype=int64)
    """
    return Pull(1, lambda i: value)


def replicate(n: Extent, value: Any) -> Pull:
    """n times the same. Raises ShapeError for an n below 0.

    Types: `n: integer, value: t -> pull t[n]`. Source: Haskell's `replicate`.

        >>> fk.kernel(lambda n: fk.replicate(n, 7))(3)
        Array([7, 7, 7], dtype=int64)
    """
    need_length(n, "replicate")
    return Pull(n, lambda i: value)


def iterations(n: Extent) -> Pull:
    """0, 1, .. n - 1. Raises ShapeError for an n below 0.

    Types: `n: integer -> pull i64[n]`. Source: Python's `range`.

        >>> fk.kernel(lambda n: fk.iterations(n))(4)
        Array([0, 1, 2, 3], dtype=int64)
    """
    need_length(n, "iterations")
    return Pull(n, lambda i: i)


# -- parts of one length --------------------------------------------------------------------------


def rows(shape: tuple[Extent, ...], at: Callable[..., Any]) -> Pull:
    """A pull array of pull arrays, to the depth of a shape: at(i, j, ..) is an element."""
    if len(shape) == 1:
        return Pull(shape[0], at)
    return Pull(shape[0], lambda i: rows(shape[1:], lambda *rest: at(i, *rest)))


def total(shape: tuple[Extent, ...]) -> Extent:
    """How many elements a shape has."""
    count: Any = math.prod(shape)
    return simplest(count)


def is_static(*lengths: Extent) -> bool:
    """Whether all of these are known when the kernel is written."""
    return all(isinstance(n, int) for n in lengths)
