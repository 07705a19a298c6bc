"""Keys, and arrays of elements that are made of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.dtypes import DType, f32, f64
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.frontend.arrays.shapes import reshaped
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.scalars import astype
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.ragged.ragged import Ragged, value_count
from flatweave.frontend.standard.arrangement import in_turn
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import scalar_i64, shape_of
from flatweave.frontend.trace.tracers import as_tracer, scalar_of
from flatweave.frontend.values.arguments import dtype_of
from flatweave.frontend.values.array import Tracer, describe
from flatweave.random.generators import Generator, Philox, Threefry, Words
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

# Keys: what random numbers are computed from, two words each.
#
# key(7)                  a key for Philox; key(7, "threefry") for the bits of JAX
# split(key, 3)           three keys, each for one use
# keys(key, n)            an array of n keys for `map`; n may be computed
# fold_in(key, step)      the key of a step, a row, a worker


GENERATORS: dict[str, Generator] = {made.name: made for made in (Philox(), Threefry())}


class Key(NamedTuple):
    """Two words of 64 bits (Philox) or of 32 (Threefry). An ordinary value: `map` goes along arrays
    of keys, branches choose one, loops carry one along.

    Types: `first: u64, second: u64`, or u32. Source: Salmon 2011.

        >>> fw.random.key(1)
        Key(first=np.uint64(1), second=np.uint64(0))
    """

    first: Any
    second: Any


def _need_generator(name: Any) -> Generator:
    """The generator of a name."""
    if name not in GENERATORS:
        raise ArgumentError.here(
            f"there is no generator {name!r}.", "Use one of: " + ", ".join(GENERATORS) + "."
        )
    return GENERATORS[name]


def key(seed: Any, generator: str = "philox") -> Key:
    """The key of a seed, for the generator "philox" or "threefry".

    A Python number is a seed of 128 bits for Philox, as of `numpy.random.Philox(key=seed)`, and one
    of 64 for Threefry, as of `jax.random.key(seed)`; a negative one stands for its bits. A computed
    seed is an integer of up to 64 bits. Raises ArgumentError for other values.

    Types: `seed: integer -> Key`. Source: `numpy.random.Philox`.

        >>> type(fw.random.key(7)).__name__
        'Key'
    """
    made = _need_generator(generator)
    bits = made.word.bits
    if isinstance(seed, int) and not isinstance(seed, bool):
        if not -(2 ** (2 * bits - 1)) <= seed < 2 ** (2 * bits):
            raise ArgumentError.here(
                f"a seed of {generator} has {2 * bits} bits, got {seed}.",
                f"Take the rest: seed % 2**{2 * bits}.",
            )
        word = made.word.numpy.type
        low, high = (word(seed >> at & 2**bits - 1) for at in (0, bits))
        return Key(high, low) if generator == "threefry" else Key(low, high)
    made_of: Key = _key_of(seed, generator)
    return made_of


@operation(static="generator")
def _key_of(seed: Any, generator: str) -> Any:
    """The key of a computed seed."""
    value = scalar_of(seed, "a seed")
    if not value.element.is_integer:
        raise ArgumentError.here(
            f"a seed must be an integer, got {describe(value)}.",
            "Use a Python int, or an array of integers of rank 0.",
        )
    return Key(*_need_generator(generator).seeded(value))


def opened(given: Any, who: str) -> tuple[Generator, Words]:
    """The generator and the words of what a user calls a key."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ArgumentError.here(
            f"{who} takes a key first, got {_named(given)}.", "Make one: fw.random.key(seed)."
        )
    words = [as_tracer(word, "a word of a key") for word in given]
    found = [made for made in GENERATORS.values() if all(w.element is made.word for w in words)]
    if not found:
        raise ArgumentError.here(
            f"{who} takes a key first, two words of u64 or of u32, got a pair of "
            f"{describe(words[0])} and {describe(words[1])}.",
            "Make one: fw.random.key(seed).",
        )
    if any(word.ndim for word in words):
        raise ArgumentError.here(
            f"{who} takes one key, got an array of keys.",
            f"Map it: fw.map(lambda k: fw.random.{who}(k, ..), keys).",
        )
    return found[0], words


def _named(given: Any) -> str:
    """What was passed in place of a key, for a message."""
    if isinstance(given, Tracer):
        return describe(given)
    return repr(given) if isinstance(given, int | float | str) else f"a {type(given).__name__}"


@operation(static="n")
def split(key: Any, n: int = 2) -> Any:
    """A tuple of `n` keys whose numbers have nothing to do with each other, nor with the key's.

    Types: `key, n: int ->` a tuple of n keys. Raises ArgumentError for what is no key.
    Source: `jax.random.split`.

        >>> len(fw.random.split(fw.random.key(0), 3))
        3
    """
    made, words = opened(key, "split")
    if not isinstance(n, int) or isinstance(n, bool | np.generic) or n < 0:
        raise ArgumentError.here(
            f"split takes a Python number of keys, got {n!r}.",
            "For a computed number of keys use fw.random.keys.",
        )
    return tuple(Key(*made.child(words, astype(i, np.int64))) for i in range(n))


@operation()
def keys(key: Any, n: Any) -> Any:
    """An array of `n` keys, the same as those of `split`; `n` may be computed.

    Raises NegativeExtentError.

    Types: `key, n: extent -> keys[n]`. Source: `jax.random.split`.

        >>> fw.map(lambda k: fw.random.integers(k, 1), fw.random.keys(fw.random.key(0), 3))
        Array([0, 0, 0], dtype=int64)
    """
    made, words = opened(key, "keys")
    return map(lambda i: Key(*made.child(words, i)), iota(n))


@operation()
def fold_in(key: Any, data: Any) -> Any:
    """The key that a key and an integer make together: one for each step of a loop, for instance.

    Philox takes 64 bits of the integer, Threefry 32, as JAX does.

    Types: `key, number: integer -> key`. Raises ArgumentError for what is no key.
    Source: `jax.random.fold_in`.

        >>> fw.random.fold_in(fw.random.key(0), 1) == fw.random.key(0)
        False
    """
    made, words = opened(key, "fold_in")
    value = scalar_of(data, "the number of fold_in")
    return Key(*made.folded(words, value))


# Arrays of elements that are made of one word each; what elements draw that need more words.
#
#     drawn(key, (n, 3), "uniform", 64, lambda word, i: ..)       element i of what word i makes
#
# A block of Philox is four words: elements are computed block by block and stored side by side.


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
    """turn(i, t): two words of 64 bits that only element i has, at its draw t."""
    made, words = opened(key, who)
    return partial(made.own, words)


def float_dtype(dtype: Any, who: str) -> DType:
    """f32 or f64. Raises DTypeError for others."""
    wanted = dtype_of(dtype)
    if wanted not in (f32, f64):
        raise DTypeError.here(
            f"{who} gives f32 or f64, not {wanted.name}.",
            "Convert what it gives: fw.astype(x, dtype).",
        )
    return wanted


def fractions(key: Any, shape: Any, who: str, dtype: DType, element: Any) -> Any:
    """An array of what `element` makes of numbers in [0, 1): the upper bits of a word each."""
    kept = opened(key, who)[0].fraction[dtype.bits]

    def number(word: Any, i: Any) -> Any:
        whole = astype(word >> dtype.bits - kept, f"i{dtype.bits}")
        return element(astype(whole, dtype) * 2.0**-kept)

    return drawn(key, shape, who, dtype.bits, number)
