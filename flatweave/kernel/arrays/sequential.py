"""Threads that take several elements each: `fk.sequential(q)`.

    @fk.sequential(4)
    def block(part):                     # of 1,024 elements: 256 threads
        return fk.scan(plus, fk.map(f, part), 0)

What a function writes for the threads of a block is written for a qth of them, with the same
meaning: `for_all`, `force`, `reduce`, `scan`, and what it gives. Any number of elements will do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ArgumentError, NestingError
from flatweave.base.source import user_location
from flatweave.frontend.values.array import kind_of
from flatweave.kernel.arrays.pulls import Pull
from flatweave.kernel.arrays.pushes import Push, Put
from flatweave.kernel.writing.code import KernelTrace, level, trace, writing
from flatweave.kernel_ir.hierarchy import BLOCK
from flatweave.kernel_passes.factor import CHOSEN

MOST = 1024


def sequential(q: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let each thread of a block take q elements, in all that a function of a block or of the grid
    writes: above its def, or sequential(q)(fn).

    Without q it is as many as suit the machine: few on a GPU, on a CPU so many that its vector
    registers are filled. The result is the same for every q; the last threads take fewer where q
    does not divide a length. Raises ArgumentError for a q that is no whole number from 1 on.
    """
    if q is not None and (type(q) is not int or not 1 <= q <= MOST):
        raise ArgumentError(
            f"sequential(q) gives each thread q elements, from 1 to {MOST}, got {q!r}.",
            where=user_location(),
            remedy="Give a whole number; small ones such as 4 or 8 suit GPUs.",
        )

    def around(fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(fn):
            raise ArgumentError(
                f"sequential(q) stands above a function, got {kind_of(fn)}.",
                where=user_location(),
                remedy="Write @fk.sequential(4) above the def of what a block does.",
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
        raise NestingError(
            f"sequential(q) in code of a {level().word}: it says what the threads of a block take.",
            where=user_location(),
            remedy="Write it above the function of the block, or above the kernel's.",
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
