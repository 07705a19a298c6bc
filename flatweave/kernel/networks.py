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
from flatweave.kernel.chunks import conc
from flatweave.kernel.loops import cond
from flatweave.kernel.parts import (
    flip_bit,
    flip_bits_from,
    flip_lsbs_to,
    halve,
    insert_zero,
    low_bit,
    need_bits,
    need_even,
)
from flatweave.kernel.pulls import Pull, need_pull, static
from flatweave.kernel.pushes import Push, Put, pushed
from flatweave.kernel.stores import force

Stage = Callable[[Any], Any]
Op = Callable[[Any, Any], Any]

# -- stages ---------------------------------------------------------------------------------------


def compose(stages: Iterable[Stage], store: Stage = force) -> Stage:
    """One stage after the other, and what each gives is stored: `store` is force unless given.

    Types: `stages: list of (pull -> pull), store: pull -> pull`, gives a stage. Raises what the
    stages raise. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.compose([fk.reverse, fk.riffle]), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([3, 1, 2, 0, 7, 5, 6, 4], dtype=int64)
    """
    listed = list(stages)

    def composed(xs: Any) -> Any:
        for stage in listed:
            xs = store(stage(xs))
        return xs

    return composed


def repeated(n: int, stage: Stage) -> Stage:
    """A stage n times, stored between: the thesis's rep.

    Types: `n: int, stage: pull t[m] -> pull t[m]`, gives a stage. Raises what the stage raises.
    Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.repeated(2, fk.riffle), fk.split_up(8, xs))
        >>> example(np.arange(8))
        Array([0, 2, 4, 6, 1, 3, 5, 7], dtype=int64)
    """
    return compose([stage] * n)


def two(f: Stage) -> Stage:
    """f of the first half, and of the rest.

    Types: `f: pull t[n] -> pull u[m]`, gives a stage `pull t[2 n] -> pull u[2 m]`. Raises
    ShapeError for an odd length. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.two(fk.reverse), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """
    return bin_split(1, f)


def bin_split(k: int, f: Stage) -> Stage:
    """f of each of 2^k parts of one length, joined without a test: each index tells its part.

    Types: `k: int, f: pull t[n] -> pull u[m]`, gives a stage `pull t[2^k n] -> pull u[2^k m]`.
    Raises ShapeError when the parts are not equal. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.bin_split(1, fk.reverse), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """

    def stage(xs: Any) -> Pull:
        array = need_pull(xs, "bin_split")
        need_bits(k, "bin_split")
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
        raise ShapeError.here(
            f"{who} needs {count} parts of one length, and {n} elements do not give them.",
            "Take a power of two of elements, such as 256.",
        )
    return n // count


def fan(op: Op) -> Stage:
    """The last element of the first half combined with each of the second: a step of Sklansky's.

    Types: `op: (t, t) -> t`, gives a stage `pull t[n] -> pull t[n]`. Raises ShapeError for a
    length that is known at run time only. Source: Sklansky's scan, in Obsidian (Svensson 2013).

        >>> fk.kernel(lambda xs: fk.pconcat_map(fk.fan(fw.add), fk.split_up(4, xs)))(np.arange(8))
        Array([ 0,  1,  3,  4,  4,  5, 11, 12], dtype=int64)
    """

    def stage(xs: Any) -> Pull:
        first, second = halve(xs)
        middle = first[static(first.length, "fan") - 1]
        return conc(first, Pull(second.length, lambda i: op(middle, second.at(i))))

    return stage


def ilv(f: Stage) -> Stage:
    """f of the even and of the odd elements, interleaved again without a
    test: the index determines the side.

    Types: `f: pull t[n] -> pull u[m]`, gives a stage `pull t[2 n] -> pull u[2 m]`. Raises
    ShapeError for an odd length. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.ilv(fk.reverse), fk.split_up(8, xs))
        >>> example(np.arange(8))
        Array([6, 7, 4, 5, 2, 3, 0, 1], dtype=int64)
    """

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
    length.

    Types: `xs: pull t[2 n] -> pull t[2 n]`. Source: Obsidian (Svensson 2013).

        >>> fk.kernel(fk.riffle)(np.arange(8))
        Array([0, 4, 1, 5, 2, 6, 3, 7], dtype=int64)
    """
    array = need_pull(xs, "riffle")
    need_even(array.length, "riffle")
    first, second = halve(array)
    return Pull(
        2 * first.length,
        lambda i: cond(i % 2 == 0, lambda: first.at(i // 2), lambda: second.at(i // 2)),
    )


def on_evens(f: Callable[[Any, Any], tuple[Any, Any]]) -> Stage:
    """f of the pairs (0, 1), (2, 3), ..; f gives both.

    Types: `f: (t, t) -> (t, t)`, gives a stage `pull t[n] -> push t[n]`. Raises ShapeError for
    a length that is known at run time only. Source: odd-even transposition sort (Batcher 1968).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.on_evens(lambda a, b: (b, a)), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """
    return _pairwise(f, 0, "on_evens")


def on_odds(f: Callable[[Any, Any], tuple[Any, Any]]) -> Stage:
    """f of the pairs (1, 2), (3, 4), ..; who has no partner stays.

    Types: `f: (t, t) -> (t, t)`, gives a stage `pull t[n] -> push t[n]`. Raises ShapeError for
    a length that is known at run time only. Source: odd-even transposition sort (Batcher 1968).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.on_odds(lambda a, b: (b, a)), fk.split_up(4, xs))
        >>> example(np.arange(8))
        Array([0, 2, 1, 3, 4, 6, 5, 7], dtype=int64)
    """
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
    """Pairs at distance 2^i; an element for each thread, which tests whether it is the left one.

    Types: `i: int, f: (t, t) -> t, g: (t, t) -> t`, gives a stage `pull t[n] -> pull t[n]`.
    Raises ShapeError when n is no multiple of 2^(i + 1). Source: the bitonic merger (Batcher
    1968), in Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.ilv1(1, fw.minimum, fw.maximum), fk.split_up(4, xs))
        >>> example(np.array([3, 1, 0, 2]))
        Array([0, 1, 3, 2], dtype=int64)
    """
    return _by_elements(i, lambda x: flip_bit(i, x), f, g, "ilv1")


def vee1(i: int, f: Op, g: Op) -> Stage:
    """The first with the last of each 2^(i + 1), the second with the last but one, ..

    Types: `i: int, f: (t, t) -> t, g: (t, t) -> t`, gives a stage `pull t[n] -> pull t[n]`.
    Raises ShapeError when n is no multiple of 2^(i + 1). Source: the periodic balanced sorter
    (Dowd 1989), in Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.vee1(1, fw.minimum, fw.maximum), fk.split_up(4, xs))
        >>> example(np.array([3, 1, 0, 2]))
        Array([2, 0, 1, 3], dtype=int64)
    """
    return _by_elements(i, lambda x: flip_lsbs_to(i, x), f, g, "vee1")


def ilv_vee1(i: int, j: int, f: Op, g: Op) -> Stage:
    """vee1(j) of the elements with stride 2^i.

    Types: `i: int, j: int, f: (t, t) -> t, g: (t, t) -> t`, gives a stage
    `pull t[n] -> pull t[n]`. Raises ShapeError when n is no multiple of 2^(i + j + 1). Source:
    Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.ilv_vee1(1, 1, fw.minimum, fw.maximum), fk.split_up(8, xs))
        >>> example(np.arange(8)[::-1].copy())
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """
    return _by_elements(i + j, lambda x: flip_bits_from(i, j, x), f, g, "ilv_vee1")


def ilv2(i: int, f: Op, g: Op) -> Stage:
    """As ilv1, a pair for each thread: half as many, and none of them asks.

    Types: `i: int, f: (t, t) -> t, g: (t, t) -> t`, gives a stage `pull t[n] -> push t[n]`.
    Raises ShapeError when n is no multiple of 2^(i + 1). Source: the bitonic merger (Batcher
    1968), in Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.ilv2(1, fw.minimum, fw.maximum), fk.split_up(4, xs))
        >>> example(np.array([3, 1, 0, 2]))
        Array([0, 1, 3, 2], dtype=int64)
    """
    return _by_pairs(i, lambda x: flip_bit(i, x), f, g, "ilv2")


def vee2(i: int, f: Op, g: Op) -> Stage:
    """As vee1, a pair for each thread.

    Types: `i: int, f: (t, t) -> t, g: (t, t) -> t`, gives a stage `pull t[n] -> push t[n]`.
    Raises ShapeError when n is no multiple of 2^(i + 1). Source: the periodic balanced sorter
    (Dowd 1989), in Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.vee2(1, fw.minimum, fw.maximum), fk.split_up(4, xs))
        >>> example(np.array([3, 1, 0, 2]))
        Array([2, 0, 1, 3], dtype=int64)
    """
    return _by_pairs(i, lambda x: flip_lsbs_to(i, x), f, g, "vee2")


def ilv_vee2(i: int, j: int, f: Op, g: Op) -> Stage:
    """As ilv_vee1, a pair for each thread.

    Types: `i: int, j: int, f: (t, t) -> t, g: (t, t) -> t`, gives a stage
    `pull t[n] -> push t[n]`. Raises ShapeError when n is no multiple of 2^(i + j + 1). Source:
    Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.pconcat_map(fk.ilv_vee2(1, 1, fw.minimum, fw.maximum), fk.split_up(8, xs))
        >>> example(np.arange(8)[::-1].copy())
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """
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


def _whole_pairs(array: Pull, bit: int, who: str) -> None:
    n = static(array.length, who)
    need_bits(bit, who)
    if n % (2 << bit):
        raise ShapeError.here(
            f"{who} pairs elements within {2 << bit}, and {n} elements are no multiple of it.",
            f"Take {2 << bit} elements, or a multiple of it.",
        )
