"""Arrays of elements that are made of one word each; what elements draw that need more words.

    drawn(key, (n, 3), "uniform", 64, lambda word, i: ..)       element i of what word i makes

A block of Philox is four words: elements are computed block by block and stored side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from flatweave.base.dtypes import DType, f32, f64
from flatweave.base.errors import DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import reshaped
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.elements.scalars import astype
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.ragged.ragged import Ragged, value_count
from flatweave.frontend.standard.arrangement import in_turn
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import scalar_i64, shape_of
from flatweave.frontend.values.promotion import dtype_of
from flatweave.random.generator import Generator, Words
from flatweave.random.keys import opened
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

Element = Callable[[Any, Any], Any]


def drawn(key: Any, shape: Any, who: str, bits: int, element: Element) -> Any:
    """An array of `shape`: of word i and i, what `element` makes; of a Ragged, one of its rows."""
    made, words = opened(key, who)
    if isinstance(shape, Ragged):
        return Ragged.made(_row(made, words, value_count(shape), bits, element), shape.offsets)
    wanted = shape_of(shape, who)
    if not wanted:
        return element(made.block(words, 0, bits)[0], 0)
    return reshaped(_row(made, words, extents.product(wanted), bits, element), wanted)


def _row(made: Generator, words: Words, count: Atom, bits: int, element: Element) -> Any:
    """`count` elements."""
    size = made.per_block(bits)
    blocks = extents.floordiv(extents.add(count, index(size - 1)), index(size))

    def block(b: Any) -> Any:
        first = b * size
        return tuple(element(word, first + j) for j, word in enumerate(made.block(words, b, bits)))

    found = map(block, iota(scalar_i64(blocks)))
    if size == 1:
        return found[0]
    return in_turn(found, (count,))


def turns_of(key: Any, who: str) -> Callable[[Any, Any], Sequence[Any]]:
    """turn(i, t): two words of 64 bits that element i has at its turn t, and nobody else."""
    made, words = opened(key, who)
    return partial(made.own, words)


def float_dtype(dtype: Any, who: str) -> DType:
    """f32 or f64. Raises DTypeError for others."""
    wanted = dtype_of(dtype)
    if wanted not in (f32, f64):
        raise DTypeError(
            f"{who} gives f32 or f64, not {wanted.name}.",
            where=user_location(), remedy="Convert what it gives: fw.astype(x, dtype).",
        )  # fmt: skip
    return wanted


def fractions(key: Any, shape: Any, who: str, dtype: DType, element: Any) -> Any:
    """An array of what `element` makes of numbers in [0, 1): the upper bits of a word each."""
    kept = opened(key, who)[0].fraction[dtype.bits]

    def number(word: Any, i: Any) -> Any:
        whole = astype(word >> dtype.bits - kept, f"i{dtype.bits}")
        return element(astype(whole, dtype) * 2.0**-kept)

    return drawn(key, shape, who, dtype.bits, number)
