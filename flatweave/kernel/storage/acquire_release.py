"""Words that a block publishes and later blocks of the launch wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import DTypeError, NestingError, Unsupported
from flatweave.kernel.arrays.loops import seq_while
from flatweave.kernel.storage.stores import MEMORY_IN_TEXT, Memory, need_memory
from flatweave.kernel.writing.checks import guarded
from flatweave.kernel.writing.code import emit, here, level, place, trace
from flatweave.kernel_ir.hierarchy import BLOCK
from flatweave.kernel_ir.syntax import Acquire, Backoff, Release, Sync
from flatweave.terms.syntax import Atom

# How a block learns what an earlier one of the same launch has done: words that are released.
#
#     wait_until(lambda state: state == READY, states, b)     block b - 1 has said that it is ready
#     sums[b + 1] = sums[b] + mine                            what it wrote before is there
#     release(states, b + 1, READY)                           and so is this, for block b + 1
#
# Words are i64, in memory of the grid. Blocks start in the order of their numbers: a block may
# wait for those before it, and for no other, which may not have started, and never would. Code of
# a block, outside of its for_all: all its threads wait. OpenCL does not promise that other blocks
# run while one waits.


def release(m: Memory, i: Any, value: Any) -> None:
    """m[i] = value, after everything that the block has written so far: an acquire sees that.

    Types: `m: Memory of i64[n], i: integer, value: i64 -> None`. Raises NestingError outside of
    a block's code, DTypeError for memory other than the grid's i64. Source: C++'s
    `memory_order_release`.

        >>> @fk.kernel
        ... def published(xs):
        ...     words = fk.fill(fk.replicate(2, 0))
        ...     fk.for_all(2, lambda b: fk.release(words, b, b + 7))
        ...     return words
        >>> published(np.arange(2))
        Array([7, 8], dtype=int64)
    """
    _expect_words(m, "release")
    (atom,) = m.kind.atoms(value)
    here().emit(Sync())
    guarded(i, m.length, MEMORY_IN_TEXT, lambda at: _release(m, place(at), atom))


def _release(m: Memory, at: Atom, value: Atom) -> None:
    emit(Release(m.buffers[0], at, value))


def acquire(m: Memory, i: Any) -> Any:
    """m[i]; what was written before its release may be read from now on.

    Types: `m: Memory of i64[n], i: integer -> i64`. Raises NestingError outside of a block's
    code, DTypeError for memory other than the grid's i64. Source: C++'s `memory_order_acquire`.

        >>> @fk.kernel
        ... def published(xs):
        ...     words = fk.fill(fk.replicate(2, 0))
        ...     def block(b):
        ...         fk.release(words, b, b + 7)
        ...         return fk.singleton(fk.acquire(words, b))
        ...     return fk.generate(2, block)
        >>> published(np.arange(2))
        Array([7, 8], dtype=int64)
    """
    _expect_words(m, "acquire")
    return guarded(
        i, m.length, MEMORY_IN_TEXT,
        lambda at: m.kind.value(emit(Acquire(m.buffers[0], place(at)))),
    )  # fmt: skip


def wait_until(holds: Callable[[Any], Any], m: Memory, i: Any) -> Any:
    """Acquire m[i] again and again, until it holds; that value.

    Raises Unsupported for machines whose blocks may not wait for each other.

    Types: `holds: i64 -> bool, m: Memory of i64[n], i: integer -> i64`. Raises NestingError
    outside of a block's code, DTypeError for memory other than the grid's i64. Source:
    decoupled look-back (Merrill and Garland 2016).

        >>> @fk.kernel
        ... def in_order(xs):
        ...     words = fk.fill(fk.pull(3, lambda i: fk.cond(i == 0, lambda: 1, lambda: 0)))
        ...     def block(b):
        ...         before = fk.wait_until(lambda word: word > 0, words, b)
        ...         fk.release(words, b + 1, before * 10)
        ...         return fk.singleton(before)
        ...     return fk.generate(2, block)
        >>> in_order(np.arange(2))
        Array([ 1, 10], dtype=int64)
    """
    _expect_words(m, "wait_until")
    expect_progress()

    def turn(state: Any) -> Any:
        _, attempt = state
        emit(Backoff(attempt.atom))
        return acquire(m, i), attempt + 1

    found, _ = seq_while(lambda state: ~holds(state[0]), turn, (acquire(m, i), 0))
    return found


def expect_progress() -> None:
    """Refuse a machine whose blocks may not wait for each other."""
    machine = trace().machine
    if not machine.forward_progress:
        raise Unsupported.here(
            f"a block waits for another one, and {machine.name} does not promise that the other "
            "one runs meanwhile.",
            "Take two launches: force what each block has, scan that in a second launch, "
            "and add it in a third; or run it on the CPU.",
        )


def _expect_words(m: Memory, who: str) -> None:
    """Refuse memory that no block can wait for, and code of units that would wait one by one."""
    need_memory(m, who)
    around = level()
    if around is not BLOCK:
        raise NestingError.here(
            f"{who} is for a whole block, and this is code of a {around.word}.",
            "Write it in code of the block, after the for_all.",
        )
    if m.kind.dtypes != (i64,) or m.buffers[0].type.space != "global":  # type: ignore[union-attr]
        raise DTypeError.here(
            f"{who} is of words of i64 in memory of the grid, and this is {m.kind}.",
            "Make them in code of the grid: fk.fill(fk.replicate(n, 0)).",
        )
