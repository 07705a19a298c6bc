"""Keys, generators (functions from a key and a counter to words), and arrays made of words.

    key(7)                  a key for Philox; key(7, "threefry") for the bits of JAX
    split(key, 3)           three keys, each for one use
    keys(key, n)            an array of n keys for `map`; n may be computed
    fold_in(key, step)      the key of a step, a row, a worker

    drawn(key, (n, 3), "uniform", 64, lambda word, i: ..)       element i of what word i makes

Counters of different uses differ in their last word, so that no two uses of a key share a block. A
block of Philox is four words: elements are computed block by block and stored side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from flatweave.base.dtypes import DType, f32, f64, u32, u64
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.frontend.arrays.shapes import reshaped
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import mul_hi
from flatweave.frontend.elements.scalars import astype
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.ragged.ragged import Ragged, value_count
from flatweave.frontend.standard.arrangement import in_turn
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import scalar_i64, shape_of
from flatweave.frontend.trace.tracers import as_tracer, scalar_of
from flatweave.frontend.values.arguments import dtype_of
from flatweave.frontend.values.array import Tracer, describe
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

Words = Sequence[Any]  # traced scalars of one unsigned dtype


class Generator(Protocol):
    """Two words of `word` are a key."""
    name: str
    word: DType
    fraction: ClassVar[Mapping[int, int]]  # how many bits of a word make a number in [0, 1)

    def seeded(self, seed: Any) -> Words:
        """The key of a computed seed of up to 64 bits."""

    def per_block(self, bits: int) -> int:
        """How many words of 32 or 64 bits one block gives."""

    def block(self, key: Words, number: Any, bits: int) -> Words:
        """The words of block 0, 1, .. of an array."""

    def own(self, key: Words, element: Any, turn: Any) -> Words:
        """Two words of 64 bits for one element, at its draw 0, 1, .."""

    def child(self, key: Words, number: Any) -> Words:
        """Key 0, 1, .. of those that a key is split into."""

    def folded(self, key: Words, data: Any) -> Words:
        """The key that a key and a number make."""


# Philox 4x64 of ten rounds: four words of 64 bits from a key of two and a counter of four.
#
#     philox([k0, k1], [c0, c1, c2, c3])    the block that numpy.random.Philox gives at this counter
#
# Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3. NumPy's
# first block is that of counter 1, so ours is. The last word of the counter is 0 for arrays, and
# distinguishes the other uses.

ROUNDS = 10
_FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B  # the golden ratio, and the square root of 3, less 1
_CHILD, _FOLDED, _PHILOX = 1, 2, 3


def philox(key: Words, counter: Words) -> Words:
    """The block of a counter."""
    (k0, k1), (c0, c1, c2, c3) = key, (astype(word, u64) for word in counter)
    for _ in range(ROUNDS):
        high0, low0 = mul_hi(c0, _FACTORS[0]), c0 * _FACTORS[0]
        high1, low1 = mul_hi(c2, _FACTORS[1]), c2 * _FACTORS[1]
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
    return c0, c1, c2, c3


class Philox:
    """Keys of two u64; an array's words are those of numpy.random.Philox, in order."""

    name = "philox"
    word = u64
    fraction: ClassVar[Mapping[int, int]] = {32: 24, 64: 53}

    def seeded(self, seed: Any) -> Words:
        """The seed, and 0."""
        return astype(seed, u64), astype(0, u64)

    def per_block(self, bits: int) -> int:
        """Four words of 64 bits, or their eight halves."""
        return 4 * 64 // bits

    def block(self, key: Words, number: Any, bits: int) -> Words:
        """Words of 32 bits are the lower half, then the upper half of one of 64."""
        words = philox(key, (number + 1, 0, 0, 0))
        if bits == 64:
            return words
        return [half for word in words for half in (astype(word, u32), astype(word >> 32, u32))]

    def own(self, key: Words, element: Any, turn: Any) -> Words:
        """The first two words of the block of the element and the draw."""
        return philox(key, (element, turn, 0, _PHILOX))[:2]

    def child(self, key: Words, number: Any) -> Words:
        """The first two words of a block."""
        return philox(key, (number, 0, 0, _CHILD))[:2]

    def folded(self, key: Words, data: Any) -> Words:
        """The first two words of a block."""
        return philox(key, (data, 0, 0, _FOLDED))[:2]


# Threefry 2x32 of twenty rounds: two words of 32 bits from a key of two and a counter of two.
#
# Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.2. Counters
# and words are used as `jax.random` uses them with `jax_threefry_partitionable`, its default:
# element i of an array comes from the counter i, and so does key i of those that a key is split
# into.

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_THREEFRY = 0x4F574E  # derives another key, for the draws of single elements


def threefry(key: Words, counter: Words) -> Words:
    """The block of a counter."""
    keys = *key, key[0] ^ key[1] ^ _PARITY
    x0, x1 = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << distance | x1 >> 32 - distance) ^ x0
        x0, x1 = x0 + keys[(group + 1) % 3], x1 + keys[(group + 2) % 3] + (group + 1)
    return x0, x1


def _halves(value: Any) -> Words:
    """The upper and the lower 32 bits of a number."""
    wide = astype(value, u64)
    return astype(wide >> 32, u32), astype(wide, u32)


class Threefry:
    """Keys of two u32, the upper half of the seed first; one block for each element."""

    name = "threefry"
    word = u32
    fraction: ClassVar[Mapping[int, int]] = {32: 23, 64: 52}

    def seeded(self, seed: Any) -> Words:
        """Its halves."""
        return _halves(seed)

    def per_block(self, bits: int) -> int:
        """One word of either width."""
        return 1

    def block(self, key: Words, number: Any, bits: int) -> Words:
        """Both words end to end, or the one folded into the other."""
        high, low = threefry(key, _halves(number))
        return [high ^ low] if bits == 32 else [_joined(high, low)]

    def own(self, key: Words, element: Any, turn: Any) -> Words:
        """From a key made for the element."""
        key = threefry((key[0] ^ _THREEFRY, key[1]), _halves(element))
        blocks = (threefry(key, _halves(2 * astype(turn, u64) + i)) for i in range(2))
        return [_joined(*block) for block in blocks]

    def child(self, key: Words, number: Any) -> Words:
        """The block of its number."""
        return threefry(key, _halves(number))

    def folded(self, key: Words, data: Any) -> Words:
        """The block of the lower 32 bits of `data`, as JAX has it."""
        return threefry(key, (astype(0, u32), astype(data, u32)))


def _joined(high: Any, low: Any) -> Any:
    """64 bits of two words."""
    return astype(high, u64) << 32 | astype(low, u64)


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
        low, high = (made.word.numpy.type(seed >> at & 2**bits - 1) for at in (0, bits))
        return Key(high, low) if generator == "threefry" else Key(low, high)
    made_of: Key = _key_of(seed, generator)
    return made_of


@operation(static="generator")
def _key_of(seed: Any, generator: str) -> Any:
    """The key of a computed seed."""
    return Key(*_need_generator(generator).seeded(_integer(seed, "a seed")))


def _integer(given: Any, what: str) -> Any:
    """One integer, which may be computed. Raises ArgumentError for a float, as of `key(1.5)`."""
    value = scalar_of(given, what)
    if not value.element.is_integer:
        raise ArgumentError.here(
            f"{what} must be an integer, got {describe(value)}.",
            "Use a Python int, or an array of integers of rank 0.",
        )
    return value


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

    `map` and `vmap` go along an array of keys, which `keys` gives.

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

    Types: `key, number: integer -> key`. Raises ArgumentError for what is no key, and for a float.
    Source: `jax.random.fold_in`.

        >>> fw.random.fold_in(fw.random.key(0), 1) == fw.random.key(0)
        False
    """
    made, words = opened(key, "fold_in")
    return Key(*made.folded(words, _integer(data, "the number of fold_in")))


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
    return found[0] if size == 1 else in_turn(found, (count,))


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
