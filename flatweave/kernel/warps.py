"""What the threads of a warp do together: shuffles, reductions and scans of a warp's array.

    shuffle_up(d, xs)       element i is element i - d; the first d stay what they are
    shuffle_xor(m, xs)      element i is element i ^ m
    warp_scan(op, xs)       all prefixes; op need not commute

They are code of a warp (`pconcat_map(.., level=WARP)`), of any length: where there are more
elements than lanes, a lane has several. Values travel through the warp's own memory; its barrier
is a warp's, and no other warp waits. Where each lane of a device has one element and all lanes
come, they go from register to register (`kernel_passes/registers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ArgumentError, NestingError
from flatweave.base.source import user_location
from flatweave.kernel.chunks import need_distance
from flatweave.kernel.code import level
from flatweave.kernel.loops import cond
from flatweave.kernel.operators import Check, function_on, keep_laws, kind_of_elements
from flatweave.kernel.pulls import Pull, static
from flatweave.kernel.stores import force
from flatweave.kernel_ir.hierarchy import WARP

Op = Callable[[Any, Any], Any]


def shuffle(to: Callable[[Any], Any], xs: Any) -> Pull:
    """Element i is element to(i), which another lane has computed.

    Types: `to: i64 -> integer, xs: t[n] -> pull t[n]`. Raises NestingError outside of a warp's
    code, IndexOutOfBounds for an index outside. Source: CUDA's `__shfl_sync`.

        >>> @fk.kernel
        ... def of_warps(xs):
        ...     def warp(part):
        ...         return fk.shuffle(lambda i: 3 - i, part)
        ...     def block(b):
        ...         return fk.pconcat_map(warp, fk.split_up(4, xs), level=fk.WARP)
        ...     return fk.generate(1, block)
        >>> of_warps(np.arange(8))
        Array([3, 2, 1, 0, 7, 6, 5, 4], dtype=int64)
    """
    kept = _kept(xs, "shuffle")
    return Pull(kept.length, lambda i: kept[to(i)])


def shuffle_up(d: int, xs: Any) -> Pull:
    """Element i is element i - d; the first d stay what they are.

    Types: `d: int, xs: t[n] -> pull t[n]`. Raises NestingError outside of a warp's code,
    ShapeError for a d below 0. Source: CUDA's `__shfl_up_sync`.

        >>> @fk.kernel
        ... def of_warps(xs):
        ...     def warp(part):
        ...         return fk.shuffle_up(1, part)
        ...     def block(b):
        ...         return fk.pconcat_map(warp, fk.split_up(4, xs), level=fk.WARP)
        ...     return fk.generate(1, block)
        >>> of_warps(np.arange(8))
        Array([0, 0, 1, 2, 4, 4, 5, 6], dtype=int64)
    """
    kept = _kept(xs, "shuffle_up")
    need_distance(d, "shuffle_up")
    return Pull(kept.length, lambda i: kept.at(cond(i < d, lambda: i, lambda: i - d)))


def shuffle_down(d: int, xs: Any) -> Pull:
    """Element i is element i + d; the last d stay what they are.

    Types: `d: int, xs: t[n] -> pull t[n]`. Raises NestingError outside of a warp's code,
    ShapeError for a d below 0. Source: CUDA's `__shfl_down_sync`.

        >>> @fk.kernel
        ... def of_warps(xs):
        ...     def warp(part):
        ...         return fk.shuffle_down(1, part)
        ...     def block(b):
        ...         return fk.pconcat_map(warp, fk.split_up(4, xs), level=fk.WARP)
        ...     return fk.generate(1, block)
        >>> of_warps(np.arange(8))
        Array([1, 2, 3, 3, 5, 6, 7, 7], dtype=int64)
    """
    kept = _kept(xs, "shuffle_down")
    need_distance(d, "shuffle_down")
    rest = kept.length - d
    return Pull(kept.length, lambda i: kept.at(cond(i < rest, lambda: i + d, lambda: i)))


def shuffle_xor(mask: int, xs: Any) -> Pull:
    """Element i is element i ^ mask: swaps neighbours for mask 1, halves for n / 2.

    Types: `mask: int, xs: t[n] -> pull t[n]`. Raises NestingError outside of a warp's code,
    ArgumentError when n is no power of two above `mask`. Source: CUDA's `__shfl_xor_sync`.

        >>> @fk.kernel
        ... def of_warps(xs):
        ...     def warp(part):
        ...         return fk.shuffle_xor(1, part)
        ...     def block(b):
        ...         return fk.pconcat_map(warp, fk.split_up(4, xs), level=fk.WARP)
        ...     return fk.generate(1, block)
        >>> of_warps(np.arange(8))
        Array([1, 0, 3, 2, 5, 4, 7, 6], dtype=int64)
    """
    kept = _kept(xs, "shuffle_xor")
    n = static(kept.length, "shuffle_xor")
    if n & (n - 1) or not 0 <= mask < n:
        raise ArgumentError.here(
            f"shuffle_xor with {mask} of {n} elements pairs some with none.",
            "Take a power of two of elements, and a mask below it.",
        )
    return Pull(n, lambda i: kept.at(i ^ mask))


def warp_reduce(op: Op, xs: Any, *, check: bool = True) -> Any:
    """All elements combined in their order: neighbours, then neighbours of those. `op` must be
    associative, and is tried unless `check` is False.

    Types: `op: (t, t) -> t, xs: t[n] -> t`. Raises NestingError outside of a warp's code,
    ArgumentError for no elements, OperatorError for an `op` that is not associative. Source:
    CUDA's `__reduce_sync`, for any operator.

        >>> @fk.kernel
        ... def of_warps(xs):
        ...     def warp(part):
        ...         return fk.singleton(fk.warp_reduce(fw.add, part))
        ...     def block(b):
        ...         return fk.pconcat_map(warp, fk.split_up(4, xs), level=fk.WARP)
        ...     return fk.generate(1, block)
        >>> of_warps(np.arange(8))
        Array([ 6, 22], dtype=int64)
    """
    kept = _kept(xs, "warp_reduce")
    n = static(kept.length, "warp_reduce")
    if n < 1:
        raise ArgumentError.here(
            "warp_reduce of no elements has no value.", "Give the warp one element at least."
        )
    _expect_associative(op, kept, n, "warp_reduce", check)
    while n > 1:
        kept = force(_of_neighbours(op, kept, n))
        n = (n + 1) // 2
    return kept.at(0)


def _of_neighbours(op: Op, xs: Pull, n: int) -> Pull:
    """Pairs combined; an odd one out is left as it is."""
    if n % 2 == 0:
        return Pull(n // 2, lambda i: op(xs.at(2 * i), xs.at(2 * i + 1)))
    return Pull(
        n // 2 + 1,
        lambda i: cond(
            i < n // 2, lambda: op(xs.at(2 * i), xs.at(2 * i + 1)), lambda: xs.at(2 * i)
        ),
    )


def warp_scan(op: Op, xs: Any, *, check: bool = True) -> Pull:
    """All prefixes, in log n steps: after the one with distance d, element i combines the last 2 d
    that end at it. `op` must be associative, and is tried unless `check` is False.

    Types: `op: (t, t) -> t, xs: t[n] -> pull t[n]`. Raises NestingError outside of a warp's
    code, OperatorError for an `op` that is not associative. Source: Hillis and Steele 1986.

        >>> @fk.kernel
        ... def of_warps(xs):
        ...     def warp(part):
        ...         return fk.warp_scan(fw.add, part)
        ...     def block(b):
        ...         return fk.pconcat_map(warp, fk.split_up(4, xs), level=fk.WARP)
        ...     return fk.generate(1, block)
        >>> of_warps(np.arange(8))
        Array([ 0,  1,  3,  6,  4,  9, 15, 22], dtype=int64)
    """
    kept = _kept(xs, "warp_scan")
    n, d = static(kept.length, "warp_scan"), 1
    _expect_associative(op, kept, n, "warp_scan", check)
    while d < n:
        kept = force(_of_distance(op, kept, d))
        d *= 2
    return kept


def _of_distance(op: Op, xs: Pull, d: int) -> Pull:
    return Pull(
        xs.length, lambda i: cond(i < d, lambda: xs.at(i), lambda: op(xs.at(i - d), xs.at(i)))
    )


def _expect_associative(op: Op, xs: Pull, n: int, who: str, check: bool) -> None:
    """Refuse an operator that does not associate, where it combines anything."""
    if n > 1:
        kind = kind_of_elements(xs)
        keep_laws(op, function_on(kind, op), kind, xs, (), who, Check(check, user_location()))


def _kept(xs: Any, who: str) -> Pull:
    """An array in memory of the warp whose code this is."""
    around = level()
    if around is not WARP:
        raise NestingError.here(
            f"{who} is what threads of a warp do together, and this is code of a {around.word}.",
            f"Give warps their parts: pconcat_map(lambda part: fk.{who}(.., part), "
            "fk.split_up(32, xs), level=fk.WARP).",
        )
    kept: Pull = force(xs)
    return kept
