"""Push arrays whose parts are written by units of the level below, or by threads that are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from flatweave.base.errors import ArgumentError, NestingError, ShapeError
from flatweave.kernel.checks import guarded, need, need_function, need_space
from flatweave.kernel.code import Extent, NotElements, here, level, trace
from flatweave.kernel.loops import below, for_all, seq_for
from flatweave.kernel.pulls import Pull, is_static, need_pull, over, static
from flatweave.kernel.pushes import Push, Put, push, pushed
from flatweave.kernel_ir.hierarchy import GRID, THREAD, Level

# Push arrays whose parts are written by units of the level below, or in order.
#
# pconcat(parts)          each part by a separate block, warp or thread, all in parallel
# seq_concat(parts)       by one unit, in a loop
# concat_p(a, b)          two programs, one after another


def pconcat(arrays: Any, level: Level | None = None) -> Push:
    """The arrays in a pull array, concatenated, each put by a unit of the level below.

    Units of the grid are blocks, of a block threads, or with level=WARP warps. All arrays have
    one length, known when the kernel is written; a number is an array of one element.

    Types: `arrays: pull (t[m])[n], level: Level -> push t[n m]`. Raises ArgumentError for what
    is no pull array, NestingError in code of a thread. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.pconcat(fk.coalesce(2, xs)))(np.arange(8))
        Array([0, 4, 1, 5, 2, 6, 3, 7], dtype=int64)
    """
    parts = need_pull(arrays, "pconcat")

    def write(put: Put, made: Push) -> None:
        units = below(level, "pconcat")
        for_all(parts.length, lambda u: _put_part(parts, u, put, made, "pconcat"), units)

    made = _joined(write)
    made.same = lambda: _elements(parts)
    return made


def _joined(write: Callable[[Put, Push], None]) -> Push:
    """A push array whose length its program finds out: `write(put, it)`."""
    made = Push(None, lambda put: write(put, made))
    return made


def _put_part(parts: Pull, u: Any, put: Put, made: Push, who: str) -> None:
    """Part u of arrays of one length, at its offset in the concatenation."""
    part = pushed(parts.at(u))
    alone = isinstance(parts.length, int) and parts.length == 1

    def length_of(k: int) -> Extent:
        length = part.length_of(k)
        return length if alone else _length_of_all(length, who)

    def of(k: int, to: Put) -> Put:
        def there(i: Any, value: Any) -> None:
            length = length_of(k)
            if not made.knows(k):
                made.know(parts.length * length, k)
            to(i if alone else u * length + i, value)

        return Put(there, lambda j: of(j, put[j]))

    part.write(of(0, put))
    for k in range(part.arrays):
        made.know(parts.length * length_of(k), k)


def _length_of_all(length: Extent, who: str) -> Extent:
    """The length of each part: one that the host knows, so that it is the same for all."""
    if isinstance(length, int) or length.scope is trace().root:
        return length
    raise ShapeError.here(
        f"{who} joins parts of one length, and the units compute theirs.",
        "Put them where they belong with make_push(total, write), by offsets that a launch before "
        "has found: fk.scan of the lengths.",
    )


def _elements(parts: Pull) -> Pull:
    """The arrays in a pull array, concatenated, element by element.

    Raises NotElements where a part is more than its elements.
    """
    restore = here().snapshot()
    length = static(as_elements(parts.at(0)).length, "pconcat")
    restore()
    return Pull(
        parts.length * length, lambda i: as_elements(parts.at(i // length)).at(i % length)
    )


def as_elements(value: Any) -> Pull:
    """An array as a function from its indices. Raises NotElements where it is more than that."""
    if isinstance(value, Pull):
        return value
    same = pushed(value).same
    if same is None:
        raise NotElements
    return same()


def pconcat_map(fn: Callable[[Any], Any], xs: Any, level: Level | None = None) -> Push:
    """`fn` of each element of a pull array, by a unit of the level below; what they give, one
    after the other. `fn` writes code of its unit, in which it may force.

    Types: `fn: t -> u[m], xs: pull t[n], level: Level -> push u[n m]`. Raises ArgumentError for
    what is no pull array, NestingError in code of a thread. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.pconcat_map(fk.reverse, fk.split_up(4, xs)))(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    need_function(fn, who="pconcat_map")
    array = need_pull(xs, "pconcat_map")
    return pconcat(Pull(array.length, lambda i: fn(array.at(i))), level)


def generate(
    n: Extent | tuple[Extent, ...], fn: Callable[..., Any], level: Level | None = None
) -> Push:
    """The results of fn(0), .. fn(n - 1), concatenated, each by a unit of the level below; for
    (n, k) those of fn(0, 0), fn(0, 1), .. fn(n - 1, k - 1).

    Types: `n: integer or a tuple of them, fn: i64, .. -> t or t[m], level: Level -> push t[n m]`.
    Raises ShapeError for an n below 0, NestingError in code of a thread. Source: Accelerate's
    `generate`.

        >>> fk.kernel(lambda n: fk.generate(n, lambda i: i * i))(4)
        Array([0, 1, 4, 9], dtype=int64)
    """
    need_function(fn, who="generate")
    total, indices = need_space(n, "generate")
    return pconcat(Pull(total, lambda u: fn(*indices(u))), level)


def p_map(fn: Callable[[Any], Any], xs: Any) -> Pull:
    """`fn` of each element, to be given to units by pconcat.

    Types: `fn: t -> u[m], xs: pull t[n] -> pull (u[m])[n]`. Raises ArgumentError for what is no
    pull array. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat(fk.p_map(fk.reverse, fk.split_up(4, xs)))
        >>> example(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    need_function(fn, who="p_map")
    array = need_pull(xs, "p_map")
    return Pull(array.length, lambda i: fn(array.at(i)))


def p_zip_with(fn: Callable[..., Any], *arrays: Any) -> Pull:
    """`fn` of elements side by side, to be given to units by pconcat.

    Types: `fn: (t, u, ..) -> r[m], arrays: pull t[n], pull u[n], .. -> pull (r[m])[n]`. Raises
    ArgumentError for what is no pull array. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def joined(xs):
        ...     parts = fk.split_up(2, xs)
        ...     return fk.pconcat(fk.p_zip_with(fk.conc, parts, parts))
        >>> joined(np.arange(4))
        Array([0, 1, 0, 1, 2, 3, 2, 3], dtype=int64)
    """
    return over(fn, "p_zip_with", arrays)


def seq_concat(arrays: Any) -> Push:
    """The arrays in a pull array, concatenated, by one unit in a loop.

    Types: `arrays: pull (t[m])[n] -> push t[n m]`. Raises ArgumentError for what is no pull
    array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.seq_concat(fk.split_up(2, xs)))(np.arange(8))
        Array([0, 1, 2, 3, 4, 5, 6, 7], dtype=int64)
    """
    parts = need_pull(arrays, "seq_concat")

    def write(put: Put, made: Push) -> None:
        seq_for(0, parts.length, lambda u: _put_part(parts, u, put, made, "seq_concat"))

    return _joined(write)


def concat_p(*arrays: Any) -> Push:
    """One array after the other, each by its own program: no element asks whose it is.

    Types: `arrays: t[n], t[m], .. -> push t[n + m + ..]`. Raises DTypeError for elements of two
    structures. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.concat_p(xs, fk.reverse(xs)))(np.arange(3))
        Array([0, 1, 2, 2, 1, 0], dtype=int64)
    """
    parts = [pushed(xs) for xs in arrays]
    if not parts:
        raise ArgumentError.here("concat_p needs at least one array.", "Give two.")

    def write(put: Put, made: Push) -> None:
        made.know(sum(part.length for part in parts))  # before the first element is put
        first: Any = 0
        for part in parts:
            part.write(Put(lambda i, value, first=first: put(first + i, value)))  # type: ignore[misc]
            first = first + part.length

    made = _joined(write)
    known = [part.known_length for part in parts]
    if all(length is not None for length in known) and is_static(*known):  # type: ignore[arg-type]
        made.know(sum(known))  # type: ignore[arg-type]
    return made


def interleave_p(evens: Any, odds: Any) -> Push:
    """Two arrays of one length, interleaved, by two programs. Raises ShapeError for
    two lengths.

    Types: `evens: t[n], odds: t[n] -> push t[2 n]`. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.interleave_p(xs, fk.reverse(xs)))(np.arange(3))
        Array([0, 2, 1, 1, 2, 0], dtype=int64)
    """
    first, second = pushed(evens), pushed(odds)

    def write(put: Put, made: Push) -> None:
        _need_same(first, second)
        made.know(2 * first.length)
        first.write(Put(lambda i, value: put(2 * i, value)))
        second.write(Put(lambda i, value: put(2 * i + 1, value)))

    if first.known_length is not None and second.known_length is not None:
        _need_same(first, second)
    return _twice(first, _joined(write))


def _need_same(first: Push, second: Push) -> None:
    """Expect one length of both."""
    n, m = first.length, second.length
    for less, more in ((n, m), (m, n)):
        need(less, more, "interleave_p of {0} and {1} elements.", "Cut both to one length.", n, m)


def _twice(half: Push, made: Push) -> Push:
    """An array that has twice the elements of another."""
    if half.known_length is not None:
        made.know(2 * half.known_length)
    return made


def unpair_p(xs: Any) -> Push:
    """An array of pairs as one of twice the length: each thread puts both, without a test.

    Types: `xs: pull (t, t)[n] -> push t[2 n]`. Raises ArgumentError for what is no pull array.
    Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.unpair_p(fk.pair(fk.reverse(xs))))(np.arange(4))
        Array([3, 2, 1, 0], dtype=int64)
    """
    pairs = pushed(xs)

    def write(put: Put, made: Push) -> None:
        def both(i: Any, value: Any) -> None:
            put(2 * i, value[0])
            put(2 * i + 1, value[1])

        made.know(2 * pairs.length)
        pairs.write(Put(both))

    return _twice(pairs, _joined(write))


# Push arrays that say which thread puts which elements, each several.
#
# push_n(2, xs)       thread 0: x0 x1    thread 1: x2 x3     neighbours
# load(2, xs)         thread 0: x0 x2    thread 1: x1 x3     stride of the threads
# push_how(2, how, xs)                                       a list of indices for each thread


def push_n(n: int, xs: Any) -> Push:
    """As push, with n neighbours put by each thread: thread t has n t, .. n t + n - 1.

    Types: `n: int, xs: pull t[m] -> push t[m]`. Raises NestingError outside of a block's code,
    ShapeError when n does not divide m. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(lambda part: fk.push_n(2, part), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([0, 1, 2, 3, 4, 5, 6, 7], dtype=int64)
    """
    return _by_units(n, xs, "push_n", lambda t, j, threads: t * n + j)


def load(n: int, xs: Any) -> Push:
    """As push, with n elements put by each of m threads, with stride m: t, t + m, t + 2 m, ..

    Neighbouring threads read neighbours: coalesced on a GPU.

    Types: `n: int, xs: pull t[m] -> push t[m]`. Raises NestingError outside of a block's code,
    ShapeError when n does not divide m. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(lambda part: fk.load(2, part), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([0, 1, 2, 3, 4, 5, 6, 7], dtype=int64)
    """
    return _by_units(n, xs, "load", lambda t, j, threads: t + j * threads)


def push_how(threads: int, how: Callable[[Any], Sequence[Any]], xs: Any) -> Push:
    """As push, by `threads` threads, where thread t puts the elements how(t): a list of indices,
    [t, t + 256] of 512 elements. Each element must be in one list (the thesis's syncHow).

    Types: `threads: int, how: i64 -> list of i64, xs: pull t[n] -> push t[n]`. Raises
    NestingError outside of a block's code, KernelError on the interpreter for an element that
    no list has. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     def block(part):
        ...         return fk.push_how(2, lambda t: [t, t + 2], part)
        ...     return fk.pconcat_map(block, fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([0, 1, 2, 3, 4, 5, 6, 7], dtype=int64)
    """
    array = need_pull(xs, "push_how")
    if not isinstance(threads, int) or threads < 1:
        raise ShapeError.here(
            f"push_how shares work among {threads!r} threads.",
            "Give a whole number from 1 on, such as 256.",
        )

    def thread(t: Any, put: Put) -> None:
        for i in how(t):
            guarded(i, array.length, "an array of push_how", lambda at: put(at, array.at(at)))

    def write(put: Put) -> None:
        if level() is THREAD:
            seq_for(0, threads, lambda t: thread(t, put))
        elif level() is GRID:
            _refuse_grid("push_how", f"{threads}, how")
        else:
            for_all(threads, lambda t: thread(t, put))

    return Push(array.length, write)


def _refuse_grid(who: str, given: str) -> NoReturn:
    raise NestingError.here(
        f"{who} is for the threads of a block, and this is code of the grid.",
        f"Give blocks their parts first: pconcat_map(lambda part: fk.{who}({given}, part), "
        "fk.split_up(1024, xs)).",
    )


def _by_units(n: int, xs: Any, who: str, place: Callable[[Any, Any, int], Any]) -> Push:
    """An array of which each thread puts n elements."""
    array = need_pull(xs, who)
    return Push(
        array.length, lambda put: _units(n, array, who, place, put), same=lambda: array
    )


def _units(
    n: int, array: Pull, who: str, place: Callable[[Any, Any, int], Any], put: Put
) -> None:
    """Each thread of the block puts n elements, in a loop."""
    if level() is GRID:
        _refuse_grid(who, str(n))
    length = static(array.length, who)
    if level() is THREAD:
        push(array).write(put)
        return
    if n < 1 or length % n:
        raise ShapeError.here(
            f"{who} gives each thread {n} elements, and {length} are no multiple of it.",
            "Choose a divisor of the length.",
        )
    threads = length // n

    def thread(t: Any) -> None:
        def one(j: Any) -> None:
            i = place(t, j, threads)
            put(i, array.at(i))

        seq_for(0, n, one)

    for_all(threads, thread)
