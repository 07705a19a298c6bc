"""Push arrays that say which thread puts which elements, each several.

    push_n(2, xs)       thread 0: x0 x1    thread 1: x2 x3     neighbours
    load(2, xs)         thread 0: x0 x2    thread 1: x1 x3     threads apart
    push_how(2, how, xs)                                       a list of indices for each thread
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from flatweave.base.errors import NestingError, ShapeError
from flatweave.base.source import user_location
from flatweave.kernel.arrays.loops import for_all, seq_for
from flatweave.kernel.arrays.pulls import Pull, need_pull, static
from flatweave.kernel.arrays.pushes import Push, Put, push
from flatweave.kernel.writing.checks import guarded
from flatweave.kernel.writing.code import level
from flatweave.kernel_ir.hierarchy import GRID, THREAD


def push_n(n: int, xs: Any) -> Push:
    """As push, with n neighbours put by each thread: thread t has n t, .. n t + n - 1."""
    array = need_pull(xs, "push_n")

    def write(put: Put) -> None:
        _units(n, array, "push_n", lambda t, j, threads: t * n + j, put)

    return Push(array.length, write, same=lambda: array)


def load(n: int, xs: Any) -> Push:
    """As push, with n elements put by each of m threads, m apart: t, t + m, t + 2 m, ..

    Neighbouring threads read neighbours: coalesced on a GPU.
    """
    array = need_pull(xs, "load")

    def write(put: Put) -> None:
        _units(n, array, "load", lambda t, j, threads: t + j * threads, put)

    return Push(array.length, write, same=lambda: array)


def push_how(threads: int, how: Callable[[Any], Sequence[Any]], xs: Any) -> Push:
    """As push, by so many threads, of which thread t puts the elements how(t): a list of indices,
    [t, t + 256] of 512 elements. Each element must be in one list (the thesis's syncHow)."""
    array = need_pull(xs, "push_how")
    if not isinstance(threads, int) or threads < 1:
        raise ShapeError(
            f"push_how shares work among {threads!r} threads.",
            where=user_location(), remedy="Give a whole number from 1 on, such as 256.",
        )  # fmt: skip

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
    raise NestingError(
        f"{who} is for the threads of a block, and this is code of the grid.",
        where=user_location(),
        remedy=f"Give blocks their parts first: pconcat_map(lambda part: fk.{who}({given}, part), "
        "fk.split_up(1024, xs)).",
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
        raise ShapeError(
            f"{who} gives each thread {n} elements, and {length} are no multiple of it.",
            where=user_location(), remedy="Choose a divisor of the length.",
        )  # fmt: skip
    threads = length // n

    def thread(t: Any) -> None:
        def one(j: Any) -> None:
            i = place(t, j, threads)
            put(i, array.at(i))

        seq_for(0, n, one)

    for_all(threads, thread)
