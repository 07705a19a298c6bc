"""Parts of pull arrays, their elements in another order, and the bits of their indices."""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ShapeError
from flatweave.kernel.checks import need
from flatweave.kernel.code import Extent
from flatweave.kernel.pulls import Pull, need_pull

# -- parts ----------------------------------------------------------------------------------------
#
# Parts of pull arrays, and their elements in another order; nothing is stored.


def take(n: Extent, xs: Any) -> Any:
    """The first n elements; of a push array, what it puts there. Raises ShapeError for an n that is
    less than 0 or more than there are.

    Types: `n: integer, xs: t[m] -> t[n]`. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.take(3, xs))(np.arange(8))
        Array([0, 1, 2], dtype=int64)
    """
    if hasattr(xs, "taken"):
        return xs.taken(n)
    array = need_pull(xs, "take")
    need_part(n, array.length, "take")
    return Pull(n, array.at)


def need_part(n: Any, length: Extent, who: str) -> None:
    """Expect 0 <= n <= length."""
    remedy = "Give a number from 0 to the length."
    need(0, n, f"{who}({{0}}, xs) of an array of {{1}} elements.", remedy, n, length)
    need(n, length, f"{who}({{0}}, xs) of an array of {{1}} elements.", remedy, n, length)


def drop(n: Extent, xs: Any) -> Pull:
    """All but the first n elements. Raises ShapeError for an n that is less than 0 or more than
    there are.

    Types: `n: integer, xs: pull t[m] -> pull t[m - n]`. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.drop(3, xs))(np.arange(8))
        Array([3, 4, 5, 6, 7], dtype=int64)
    """
    array = need_pull(xs, "drop")
    need_part(n, array.length, "drop")
    return Pull(array.length - n, lambda i: array.at(i + n))


def split_at(n: Extent, xs: Any) -> tuple[Pull, Pull]:
    """The first n elements, and the rest. Raises ShapeError for an n that is less than 0 or more
    than there are.

    Types: `n: integer, xs: pull t[m] -> (pull t[n], pull t[m - n])`. Source: Obsidian (Svensson
    2013).

        >>> fk.kernel(lambda xs: fk.split_at(3, xs)[1])(np.arange(8))
        Array([3, 4, 5, 6, 7], dtype=int64)
    """
    array = need_pull(xs, "split_at")
    need_part(n, array.length, "split_at")
    return Pull(n, array.at), Pull(array.length - n, lambda i: array.at(i + n))


def halve(xs: Any) -> tuple[Pull, Pull]:
    """The first half, and the rest.

    Types: `xs: pull t[n] -> (pull t[n / 2], pull t[n - n / 2])`. Raises ArgumentError for what
    is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.halve(xs)[1])(np.arange(8))
        Array([4, 5, 6, 7], dtype=int64)
    """
    array = need_pull(xs, "halve")
    return split_at(array.length // 2, array)


def every_nth(n: int, first: int, xs: Any) -> Pull:
    """Elements first, first + n, first + 2 n, .. Raises ShapeError for steps below 1, and for a
    first one outside the array.

    Types: `n: int, first: int, xs: pull t[m] -> pull t[..]`. Source: Python's slices,
    `xs[first::n]`.

        >>> fk.kernel(lambda xs: fk.every_nth(3, 1, xs))(np.arange(8))
        Array([1, 4, 7], dtype=int64)
    """
    array = need_pull(xs, "every_nth")
    need(1, n, "every_nth({0}, k, xs) has a step below 1.", "Give a step from 1 on.", n)
    need_part(first, array.length, f"every_nth({n if isinstance(n, int) else 'n'}, ..), from")
    return Pull((array.length - first + n - 1) // n, lambda i: array.at(i * n + first))


def evens(xs: Any) -> Pull:
    """Elements 0, 2, 4, ..

    Types: `xs: pull t[n] -> pull t[(n + 1) / 2]`. Raises ArgumentError for what is no pull
    array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(fk.evens)(np.arange(8))
        Array([0, 2, 4, 6], dtype=int64)
    """
    return every_nth(2, 0, xs)


def odds(xs: Any) -> Pull:
    """Elements 1, 3, 5, ..

    Types: `xs: pull t[n] -> pull t[n / 2]`. Raises ArgumentError for what is no pull array.
    Source: Obsidian (Svensson 2013).

        >>> fk.kernel(fk.odds)(np.arange(8))
        Array([1, 3, 5, 7], dtype=int64)
    """
    return every_nth(2, 1, xs)


def even_odds(xs: Any) -> tuple[Pull, Pull]:
    """Elements 0, 2, 4, .. and 1, 3, 5, ..

    Types: `xs: pull t[n] -> (pull t[(n + 1) / 2], pull t[n / 2])`. Raises ArgumentError for
    what is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.even_odds(xs)[1])(np.arange(8))
        Array([1, 3, 5, 7], dtype=int64)
    """
    return evens(xs), odds(xs)


def reverse(xs: Any) -> Pull:
    """The last element first.

    Types: `xs: pull t[n] -> pull t[n]`. Raises ArgumentError for what is no pull array. Source:
    Obsidian (Svensson 2013).

        >>> fk.kernel(fk.reverse)(np.arange(4))
        Array([3, 2, 1, 0], dtype=int64)
    """
    array = need_pull(xs, "reverse")
    return Pull(array.length, lambda i: array.at(array.length - 1 - i))


def first(xs: Any) -> Any:
    """The first element.

    Types: `xs: pull t[n] -> t`. Raises IndexOutOfBounds for no elements, ArgumentError for what
    is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.singleton(fk.first(xs)))(np.arange(8))
        Array([0], dtype=int64)
    """
    return need_pull(xs, "first")[0]


def last(xs: Any) -> Any:
    """The last element.

    Types: `xs: pull t[n] -> t`. Raises IndexOutOfBounds for no elements, ArgumentError for what
    is no pull array. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.singleton(fk.last(xs)))(np.arange(8))
        Array([7], dtype=int64)
    """
    array = need_pull(xs, "last")
    return array[array.length - 1]


def pair(xs: Any) -> Pull:
    """Neighbours as tuples: (x0, x1), (x2, x3), .. Raises ShapeError for an odd length.

    Types: `xs: pull t[2 n] -> pull (t, t)[n]`. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.map(lambda p: p[0] * p[1], fk.pair(xs)))(np.arange(8))
        Array([ 0,  6, 20, 42], dtype=int64)
    """
    array = need_pull(xs, "pair")
    need_even(array.length, "pair")
    return Pull(array.length // 2, lambda i: (array.at(2 * i), array.at(2 * i + 1)))


def need_even(length: Extent, who: str) -> None:
    """Expect a length of which none is left over."""
    message = f"{who} takes two elements at a time, and {{0}} leave one over."
    remedy = "Leave the last one out with fk.take, or pad: fk.padded(2, xs, 0)."
    need(length % 2, 0, message, remedy, length)


# -- index bits -----------------------------------------------------------------------------------
#
# Bits of an index: which element is whose partner in a sorting network.


def one_bits(i: int) -> int:
    """The lowest i bits, all 1.

    Types: `i: int -> int`. Raises ShapeError for an i below 0. Source: Obsidian (Svensson
    2013).

        >>> fk.one_bits(3)
        7
    """
    need_bits(i, "one_bits")
    return (1 << i) - 1


def zero_bits(i: int, x: Any) -> Any:
    """x with the lowest i bits 0.

    Types: `i: int, x: integer -> integer`. Raises ShapeError for an i below 0. Source: Obsidian
    (Svensson 2013).

        >>> fk.zero_bits(2, 15)
        12
    """
    return x & ~one_bits(i) if i else x


def low_bit(i: int, x: Any) -> Any:
    """Whether bit i of x is 0.

    Types: `i: int, x: integer -> bool`. Raises ShapeError for an i below 0. Source: Obsidian
    (Svensson 2013).

        >>> fk.low_bit(0, 6)
        True
    """
    need_bits(i, "low_bit")
    return (x & (1 << i)) == 0


def flip_bit(i: int, x: Any) -> Any:
    """x with bit i flipped.

    Types: `i: int, x: integer -> integer`. Raises ShapeError for an i below 0. Source: Obsidian
    (Svensson 2013).

        >>> fk.flip_bit(1, 5)
        7
    """
    need_bits(i, "flip_bit")
    return x ^ (1 << i)


def flip_lsbs_to(i: int, x: Any) -> Any:
    """x with bits 0 to i flipped.

    Types: `i: int, x: integer -> integer`. Raises ShapeError for an i below 0. Source: Obsidian
    (Svensson 2013).

        >>> fk.flip_lsbs_to(1, 4)
        7
    """
    return x ^ one_bits(i + 1)


def flip_bits_from(i: int, j: int, x: Any) -> Any:
    """x with bits i to i + j flipped.

    Types: `i: int, j: int, x: integer -> integer`. Raises ShapeError for an i or j below 0.
    Source: Obsidian (Svensson 2013).

        >>> fk.flip_bits_from(1, 1, 0)
        6
    """
    need_bits(i, "flip_bits_from")
    return x ^ (one_bits(j + 1) << i)


def insert_zero(i: int, x: Any) -> Any:
    """x with a 0 pushed in as bit i: the left one of pair x.

    Types: `i: int, x: integer -> integer`. Raises ShapeError for an i below 0. Source: Obsidian
    (Svensson 2013).

        >>> fk.insert_zero(1, 3)
        5
    """
    return x + zero_bits(i, x)


def need_bits(count: int, who: str) -> None:
    """Expect the number of a bit, or how many there are."""
    message, remedy = f"{who}({{0}}, ..) of bits.", "Give a whole number from 0 on."
    if isinstance(count, int) and count < 0:  # outside of a kernel, too
        raise ShapeError.here(message.format(count), remedy)
    need(0, count, message, remedy, count)
