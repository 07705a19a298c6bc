"""Bits of an index: which element is whose partner in a sorting network."""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import ShapeError
from flatweave.kernel.writing.checks import need


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
