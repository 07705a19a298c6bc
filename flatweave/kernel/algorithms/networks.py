"""Networks: stages of an array with a force between them, and comparators of pairs.

    compose([f, g])        g of f, with a store after each: three phases of a block
    two(f)                 f of both halves;  ilv(f)  of the even and of the odd elements
    bin_split(k, f)        f of each of 2^k parts of one length
    ilv1(i, f, g)          a column of comparators, one element for each thread
    ilv2(i, f, g)          the same, a pair for each thread and no test

A column pairs each element that has bit b of its index clear, the left one, with one that has it
set; f(left, right) becomes the left one, g(left, right) the right one. Which is whose partner:

    ilv(i)          i = b        bit b flipped                 2 7 4 9 | ..  2^i positions away
    vee(i)          i = b        bits 0 to b flipped           first with last of 2^(i + 1)
    ilv_vee(i, j)   i + j = b    bits i to b flipped           vee(j) of elements with stride 2^i
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flatweave.base.errors import ShapeError
from flatweave.base.source import user_location
from flatweave.kernel.arrays.chunks import conc
from flatweave.kernel.arrays.loops import cond
from flatweave.kernel.arrays.pulls import Pull, halve, need_even, need_pull, static
from flatweave.kernel.arrays.pushes import Push, Put, pushed
from flatweave.kernel.storage.stores import force
from flatweave.kernel.writing.checks import need

Stage = Callable[[Any], Any]
Op = Callable[[Any, Any], Any]

# -- bits of an index -----------------------------------------------------------------------------


def one_bits(i: int) -> int:
    """The lowest i bits, all 1."""
    _need_bits(i, "one_bits")
    return (1 << i) - 1


def zero_bits(i: int, x: Any) -> Any:
    """x with the lowest i bits 0."""
    return x & ~one_bits(i) if i else x


def low_bit(i: int, x: Any) -> Any:
    """Whether bit i of x is 0."""
    _need_bits(i, "low_bit")
    return (x & (1 << i)) == 0


def flip_bit(i: int, x: Any) -> Any:
    """x with bit i flipped."""
    _need_bits(i, "flip_bit")
    return x ^ (1 << i)


def flip_lsbs_to(i: int, x: Any) -> Any:
    """x with bits 0 to i flipped."""
    return x ^ one_bits(i + 1)


def flip_bits_from(i: int, j: int, x: Any) -> Any:
    """x with bits i to i + j flipped."""
    _need_bits(i, "flip_bits_from")
    return x ^ (one_bits(j + 1) << i)


def insert_zero(i: int, x: Any) -> Any:
    """x with a 0 pushed in as bit i: the left one of pair x."""
    return x + zero_bits(i, x)


# -- stages ---------------------------------------------------------------------------------------


def compose(stages: Iterable[Stage], store: Stage = force) -> Stage:
    """One stage after the other, and what each gives is stored: `store` is force unless given."""
    listed = list(stages)

    def composed(xs: Any) -> Any:
        for stage in listed:
            xs = store(stage(xs))
        return xs

    return composed


def repeated(n: int, stage: Stage) -> Stage:
    """A stage n times, stored between: the thesis's rep."""
    return compose([stage] * n)


def two(f: Stage) -> Stage:
    """f of the first half, and of the rest."""
    return bin_split(1, f)


def bin_split(k: int, f: Stage) -> Stage:
    """f of each of 2^k parts of one length, joined without a test: each index tells its part."""

    def stage(xs: Any) -> Pull:
        array = need_pull(xs, "bin_split")
        _need_bits(k, "bin_split")
        width = _parts(array, 1 << k, "bin_split")
        length = static(f(_part(array, 0, width)).length, "bin_split")
        return Pull(
            length << k, lambda i: f(_part(array, i // length * width, width))[i % length]
        )

    return stage


def _part(array: Pull, first: Any, width: int) -> Pull:
    return Pull(width, lambda i: array.at(first + i))


def _parts(array: Pull, count: int, who: str) -> int:
    """The length of each of `count` parts; all must be equal."""
    n = static(array.length, who)
    if n % count:
        raise ShapeError(
            f"{who} needs {count} parts of one length, and {n} elements do not give them.",
            where=user_location(), remedy="Take a power of two of elements, such as 256.",
        )  # fmt: skip
    return n // count


def fan(op: Op) -> Stage:
    """The last element of the first half combined with each of the second: a step of Sklansky's."""

    def stage(xs: Any) -> Pull:
        first, second = halve(xs)
        middle = first[static(first.length, "fan") - 1]
        return conc(first, Pull(second.length, lambda i: op(middle, second.at(i))))

    return stage


def ilv(f: Stage) -> Stage:
    """f of the even and of the odd elements, interleaved again without a
    test: the index determines the side."""

    def stage(xs: Any) -> Pull:
        array = need_pull(xs, "ilv")
        half = _parts(array, 2, "ilv")

        def of(first: Any) -> Any:
            return f(Pull(half, lambda j: array.at(2 * j + first)))

        length = static(of(0).length, "ilv")
        return Pull(2 * length, lambda i: of(i % 2)[i // 2])

    return stage


def riffle(xs: Any) -> Pull:
    """The two halves interleaved: a perfect shuffle. Raises ShapeError for an odd
    length."""
    array = need_pull(xs, "riffle")
    need_even(array.length, "riffle")
    first, second = halve(array)
    return Pull(
        2 * first.length,
        lambda i: cond(i % 2 == 0, lambda: first.at(i // 2), lambda: second.at(i // 2)),
    )


def on_evens(f: Callable[[Any, Any], tuple[Any, Any]]) -> Stage:
    """f of the pairs (0, 1), (2, 3), ..; f gives both."""
    return _pairwise(f, 0, "on_evens")


def on_odds(f: Callable[[Any, Any], tuple[Any, Any]]) -> Stage:
    """f of the pairs (1, 2), (3, 4), ..; who has no partner stays."""
    return _pairwise(f, 1, "on_odds")


def _pairwise(f: Callable[[Any, Any], tuple[Any, Any]], first: int, who: str) -> Stage:
    def stage(xs: Any) -> Push:
        array = need_pull(xs, who)
        n = static(array.length, who)
        pairs = (n - first) // 2
        alone = [*range(first), *range(first + 2 * pairs, n)]

        def write(put: Put) -> None:
            both = Pull(pairs, lambda t: f(array.at(2 * t + first), array.at(2 * t + first + 1)))

            def of_pair(t: Any, made: Any) -> None:
                put(2 * t + first, made[0])
                put(2 * t + first + 1, made[1])

            pushed(both).write(Put(of_pair))
            for i in alone:
                pushed(array[i : i + 1]).write(Put(lambda _, x, i=i: put(i, x)))  # type: ignore[misc]

        return Push(n, write)

    return stage


# -- columns of comparators -----------------------------------------------------------------------


def ilv1(i: int, f: Op, g: Op) -> Stage:
    """Pairs at distance 2^i; an element for each thread, which tests whether it is the left one."""
    return _by_elements(i, lambda x: flip_bit(i, x), f, g, "ilv1")


def vee1(i: int, f: Op, g: Op) -> Stage:
    """The first with the last of each 2^(i + 1), the second with the last but one, .."""
    return _by_elements(i, lambda x: flip_lsbs_to(i, x), f, g, "vee1")


def ilv_vee1(i: int, j: int, f: Op, g: Op) -> Stage:
    """vee1(j) of the elements with stride 2^i."""
    return _by_elements(i + j, lambda x: flip_bits_from(i, j, x), f, g, "ilv_vee1")


def ilv2(i: int, f: Op, g: Op) -> Stage:
    """As ilv1, a pair for each thread: half as many, and none of them asks."""
    return _by_pairs(i, lambda x: flip_bit(i, x), f, g, "ilv2")


def vee2(i: int, f: Op, g: Op) -> Stage:
    """As vee1, a pair for each thread."""
    return _by_pairs(i, lambda x: flip_lsbs_to(i, x), f, g, "vee2")


def ilv_vee2(i: int, j: int, f: Op, g: Op) -> Stage:
    """As ilv_vee1, a pair for each thread."""
    return _by_pairs(i + j, lambda x: flip_bits_from(i, j, x), f, g, "ilv_vee2")


def _by_elements(bit: int, partner: Callable[[Any], Any], f: Op, g: Op, who: str) -> Stage:
    def stage(xs: Any) -> Pull:
        array = need_pull(xs, who)
        _whole_pairs(array, bit, who)

        def at(x: Any) -> Any:
            other = partner(x)
            return cond(
                low_bit(bit, x),
                lambda: f(array.at(x), array.at(other)),
                lambda: g(array.at(other), array.at(x)),
            )

        return Pull(array.length, at)

    return stage


def _by_pairs(bit: int, partner: Callable[[Any], Any], f: Op, g: Op, who: str) -> Stage:
    def stage(xs: Any) -> Push:
        array = need_pull(xs, who)
        _whole_pairs(array, bit, who)
        pairs = Pull(array.length // 2, lambda t: t)

        def write(put: Put) -> None:
            def of_pair(t: Any, _: Any) -> None:
                left = insert_zero(bit, t)
                right = partner(left)
                a, b = array.at(left), array.at(right)
                put(left, f(a, b))
                put(right, g(a, b))

            pushed(pairs).write(Put(of_pair))

        return Push(array.length, write)

    return stage


def _need_bits(count: int, who: str) -> None:
    """Expect the number of a bit, or how many there are."""
    need(0, count, f"{who}({{0}}, ..) of bits.", "Give a whole number from 0 on.", count)


def _whole_pairs(array: Pull, bit: int, who: str) -> None:
    n = static(array.length, who)
    _need_bits(bit, who)
    if n % (2 << bit):
        raise ShapeError(
            f"{who} pairs elements within {2 << bit}, and {n} elements are no multiple of it.",
            where=user_location(), remedy=f"Take {2 << bit} elements, or a multiple of it.",
        )  # fmt: skip
