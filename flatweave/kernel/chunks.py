"""Arrays cut into arrays of one length and joined; threads that take several elements each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ArgumentError, NestingError, ShapeError
from flatweave.frontend.values.array import kind_of
from flatweave.kernel.checks import index_of, need, need_length
from flatweave.kernel.code import Extent, KernelTrace, level, trace, writing
from flatweave.kernel.loops import cond
from flatweave.kernel.pulls import Pull, component, element_and_code, need_pull
from flatweave.kernel.pushes import Push, Put
from flatweave.kernel_ir.hierarchy import BLOCK
from flatweave.kernel_passes.sequentialize import CHOSEN

# Arrays cut into arrays of one length, and joined, without a store.
#
# split_up(k, xs)[i][j] = xs[i * k + j]        neighbours
# coalesce(k, xs)[i][j] = xs[i + s * j]        stride s = n / k


REMEDY = "Pad it: fk.split_up(k, xs, pad=0) fills the last part up."
WRONG_SIZE = "fix_size wants {n} elements, and there are {{0}}."
UNEVEN = "{who} cuts {{0}} elements into parts of {k}, and that leaves some over."


def split_up(k: int, xs: Any, pad: Any = None) -> Pull:
    """Parts of k neighbours each; k is known when the kernel is written.

    With `pad`, the last part is filled up with it. Raises ShapeError for a length that is no
    multiple of k, where it is known at run time then.

    Types: `k: int, xs: pull t[n], pad: t -> pull (pull t[k])[n / k]`. Source: Obsidian
    (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.map(fk.last, fk.split_up(4, xs)))(np.arange(8))
        Array([3, 7], dtype=int64)
    """
    array = need_pull(xs, "split_up")
    if pad is not None and not (isinstance(array.length, int) and array.length % _size(k) == 0):
        return _filled_up(k, array, pad)
    count = parts_of(k, array.length, "split_up")
    return Pull(count, lambda i: Pull(k, lambda j: array.at(i * k + j)))


def _filled_up(k: int, array: Pull, value: Any) -> Pull:
    """Parts of k elements, which ask where the array ends only in the part where it does."""
    n = array.length

    def part(u: Any) -> Pull:
        first = u * k

        def at(j: Any) -> Any:
            i = first + j
            return cond(
                first + k <= n,
                lambda: array.at(i),
                lambda: cond(i < n, lambda: array.at(i), lambda: value),
            )

        return Pull(k, at)

    return Pull((n + (_size(k) - 1)) // k, part)


def coalesce(k: int, xs: Any) -> Pull:
    """n / k parts of k elements each, with stride n / k: when each thread takes a
    part, neighbouring threads read neighbours.

    Types: `k: int, xs: pull t[n] -> pull (pull t[k])[n / k]`. Raises ShapeError when k does not
    divide n, ArgumentError for what is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.flatten(fk.coalesce(2, xs)))(np.arange(8))
        Array([0, 4, 1, 5, 2, 6, 3, 7], dtype=int64)
    """
    array = need_pull(xs, "coalesce")
    count = parts_of(k, array.length, "coalesce")
    return Pull(count, lambda i: Pull(k, lambda j: array.at(i + count * j)))


def padded(k: int, xs: Any, value: Any) -> Pull:
    """The array followed by `value`, up to a multiple of k.

    Types: `k: int, xs: pull t[n], value: t -> pull t[n rounded up]`. Raises ShapeError for a k
    below 1, ArgumentError for what is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.padded(4, xs, -1))(np.arange(6))
        Array([ 0,  1,  2,  3,  4,  5, -1, -1], dtype=int64)
    """
    array = need_pull(xs, "padded")
    _size(k, "padded")
    n = array.length
    return Pull(
        (n + (k - 1)) // k * k, lambda i: cond(i < n, lambda: array.at(i), lambda: value)
    )


def parts_of(k: int, length: Extent, who: str) -> Extent:
    """How many parts of k elements there are; none may be left over."""
    _size(k, who)
    need(length % k, 0, UNEVEN.format(who=who, k=k), REMEDY, length)
    return length // k


def _size(k: Any, who: str = "split_up") -> int:
    """How many elements a part has."""
    if not isinstance(k, int) or k < 1:
        raise ShapeError.here(
            f"{who} cuts into parts of {k!r} elements.",
            "Give a whole number from 1 on, such as 256.",
        )
    return k


def fix_size(n: int, xs: Any) -> Pull:
    """The array, whose length is known to be n: refused when it runs with another.

    Types: `n: int, xs: pull t[n] -> pull t[n]`. Raises ShapeError when it has another length,
    ArgumentError for what is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.riffle(fk.fix_size(4, xs)))(np.arange(4))
        Array([0, 2, 1, 3], dtype=int64)
    """
    array = need_pull(xs, "fix_size")
    need_length(n, "fix_size")
    for less, more in ((n, array.length), (array.length, n)):
        need(less, more, WRONG_SIZE.format(n=n), "Cut or pad it before.", array.length)
    return array if isinstance(array.length, int) else Pull(n, array.at)


def conc(a: Any, b: Any) -> Pull:
    """One array after the other, by a test in each element: see concat_p for one without.

    Types: `a: pull t[n], b: pull t[m] -> pull t[n + m]`. Raises ArgumentError for what is no
    pull array, DTypeError for elements of two structures. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.conc(xs, xs))(np.arange(3))
        Array([0, 1, 2, 0, 1, 2], dtype=int64)
    """
    first, second = need_pull(a, "conc"), need_pull(b, "conc")
    return Pull(
        first.length + second.length,
        lambda i: cond(i < first.length, lambda: first.at(i), lambda: second.at(i - first.length)),
    )


def unpair(xs: Any) -> Pull:
    """An array of pairs as one of twice the length, by a test in each element.

    Types: `xs: pull (t, t)[n] -> pull t[2 n]`. Raises ArgumentError for what is no pull array.
    Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.unpair(fk.pair(fk.reverse(xs))))(np.arange(4))
        Array([3, 2, 1, 0], dtype=int64)
    """
    pairs = need_pull(xs, "unpair")
    return Pull(
        2 * pairs.length,
        lambda i: cond(
            i % 2 == 0, lambda: component(pairs, i // 2, 0), lambda: component(pairs, i // 2, 1)
        ),
    )


def need_distance(d: Any, who: str) -> None:
    """Expect a distance from 0 on."""
    remedy = "Give a distance from 0 on; the other function shifts the other way."
    need(0, d, f"{who} by {{0}} elements.", remedy, d)


def shift_right(d: int, fill: Any, xs: Any) -> Pull:
    """Element i is element i - d; the first d are `fill`. Raises ShapeError for a d below 0.

    Types: `d: integer, fill: t, xs: pull t[n] -> pull t[n]`. Source: EmbArBB (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.shift_right(3, 0, xs))(np.arange(8))
        Array([0, 0, 0, 0, 1, 2, 3, 4], dtype=int64)
    """
    array = need_pull(xs, "shift_right")
    need_distance(d, "shift_right")
    return Pull(array.length, lambda i: cond(i < d, lambda: fill, lambda: array.at(i - d)))


def shift_left(d: int, fill: Any, xs: Any) -> Pull:
    """Element i is element i + d; the last d are `fill`. Raises ShapeError for a d below 0.

    Types: `d: integer, fill: t, xs: pull t[n] -> pull t[n]`. Source: EmbArBB (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.shift_left(3, 0, xs))(np.arange(8))
        Array([3, 4, 5, 6, 7, 0, 0, 0], dtype=int64)
    """
    array = need_pull(xs, "shift_left")
    need_distance(d, "shift_left")
    return Pull(
        array.length, lambda i: cond(i < array.length - d, lambda: array.at(i + d), lambda: fill)
    )


def rotate(d: int, xs: Any) -> Pull:
    """Element i is element (i + d) mod n.

    Types: `d: integer, xs: pull t[n] -> pull t[n]`. Raises ArgumentError for what is no pull
    array. Source: Futhark's `rotate`.

        >>> fk.kernel(lambda xs: fk.rotate(3, xs))(np.arange(8))
        Array([3, 4, 5, 6, 7, 0, 1, 2], dtype=int64)
    """
    array = need_pull(xs, "rotate")
    return Pull(array.length, lambda i: array.at((i + d) % array.length))


def row_length(rows: Pull, who: str) -> Extent:
    """How long each row of an array of arrays is; of none it is not known where a row says it."""
    row, code = element_and_code(rows)
    length = as_row(row, who).length
    if not isinstance(length, int) and code.scope_of(length.atom) is code:
        need(1, rows.length, f"{who} of an array of {{0}} rows: how long they are is not known.",
             "Ask for the number of rows before.", rows.length)  # fmt: skip
    return length


def as_row(row: Any, who: str) -> Pull:
    """A row of an array of arrays."""
    if isinstance(row, Pull):
        return row
    raise ArgumentError.here(
        f"{who} needs an array of pull arrays, and its elements are {kind_of(row)}.",
        "Cut the array into rows with split_up(k, xs).",
    )


def transpose(xs: Any) -> Pull:
    """Element [i][j] is element [j][i].

    Types: `xs: pull (pull t[m])[n] -> pull (pull t[n])[m]`. Raises ArgumentError when the
    elements are not pull arrays. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.flatten(fk.transpose(fk.split_up(4, xs))))(np.arange(8))
        Array([0, 4, 1, 5, 2, 6, 3, 7], dtype=int64)
    """
    rows = need_pull(xs, "transpose")
    inner = row_length(rows, "transpose")
    return Pull(inner, lambda i: Pull(rows.length, lambda j: rows.at(j).at(i)))


def flatten(xs: Any) -> Pull:
    """The rows of a pull array of pull arrays, concatenated.

    Types: `xs: pull (pull t[m])[n] -> pull t[n m]`. Raises ArgumentError when the elements are
    not pull arrays. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.flatten(fk.transpose(fk.split_up(2, xs))))(np.arange(8))
        Array([0, 2, 4, 6, 1, 3, 5, 7], dtype=int64)
    """
    rows = need_pull(xs, "flatten")
    width = row_length(rows, "flatten")

    def at(i: Any) -> Any:
        return rows.at(index_of(i // width, rows.length)).at(index_of(i % width, width))

    return Pull(rows.length * width, at)


# Threads that take several elements each: `fk.sequential(q)`.
#
#     @fk.sequential(4)
#     def block(part):                     # of 1,024 elements: 256 threads
#         return fk.scan(plus, fk.map(f, part), 0)
#
# What a function writes for the threads of a block is written for a qth of them, with the same
# meaning: `for_all`, `force`, `reduce`, `scan`, and what it gives. Any number of elements will
# do.


MOST = 1024


def sequential(q: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let each thread of a block take q elements of everything that a function of a block or of the
    grid writes: above its def, or sequential(q)(fn).

    Without q the machine decides: few on a GPU, on a CPU enough to fill its vector
    registers. The result is the same for every q; the last threads take fewer where q
    does not divide a length. Raises ArgumentError for a q that is no whole number from 1 on.

    Types: `q: int -> decorator`. Source: Marslev and Grønborg 2024.

        >>> @fk.kernel(threads=2)
        ... @fk.sequential(4)
        ... def doubled(xs):
        ...     return fk.map(lambda x: x * 2, xs)
        >>> doubled(np.arange(8))
        Array([ 0,  2,  4,  6,  8, 10, 12, 14], dtype=int64)
    """
    if q is not None and (type(q) is not int or not 1 <= q <= MOST):
        raise ArgumentError.here(
            f"sequential(q) gives each thread q elements, from 1 to {MOST}, got {q!r}.",
            "Give a whole number; small ones such as 4 or 8 suit GPUs.",
        )

    def around(fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(fn):
            raise ArgumentError.here(
                f"sequential(q) decorates a function, got {kind_of(fn)}.",
                "Write @fk.sequential(4) above the def of what a block does.",
            )

        @functools.wraps(fn)
        def taking(*args: Any, **kwargs: Any) -> Any:
            if not isinstance(writing(), KernelTrace):
                return fn(*args, **kwargs)  # elements alone: there are no threads
            _expect_threads()
            each = CHOSEN if q is None else q
            with trace().taking(each):
                return _given(fn(*args, **kwargs), each)

        return taking

    return around


def _expect_threads() -> None:
    """Refuse code of single threads, and of warps, which have their own number of lanes."""
    if level() < BLOCK:
        raise NestingError.here(
            f"sequential(q) in code of a {level().word}: it says what the threads of a block take.",
            "Write it above the function of the block, or above the kernel's.",
        )


def _given(value: Any, each: int) -> Any:
    """What a function gives, put by threads that take q elements."""
    if isinstance(value, tuple):
        return tuple(_given(part, each) for part in value)
    if isinstance(value, Pull):
        return Pull(value.length, value._at, value.memory, each)
    if isinstance(value, Push):
        return _pushed(value, each)
    return value


def _pushed(array: Push, each: int) -> Push:
    def write(put: Put) -> None:
        with trace().taking(each):
            array.write(put)

    made = Push(None, write, array.level, array.same)
    made.shares_lengths(array)  # which are known while it is written
    return made
