"""Scans over the blocks of a launch: each block continues from what earlier ones published.

The words that a block publishes, and that later blocks of the launch wait for, come first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.algorithms import look_back as algorithm
from flatweave.algorithms.block_scans import NOTHING, PREFIX, Packing, Slots, Words, packing_of
from flatweave.algorithms.look_back import lanes_look_back
from flatweave.algorithms.operator import by_first_warp
from flatweave.base.dtypes import i64
from flatweave.base.errors import DTypeError, NestingError, Unsupported
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.scalars import where
from flatweave.kernel.checks import guarded
from flatweave.kernel.code import Extent, emit, here, level, numbers, place, trace
from flatweave.kernel.elements import Kind, kind_of_leaves, leaves_of
from flatweave.kernel.loops import seq_while
from flatweave.kernel.operators import Check, keep_law_over_blocks, operator_on
from flatweave.kernel.pulls import Pull
from flatweave.kernel.stores import MEMORY_IN_TEXT, Memory, fill, need_memory
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, THREAD, Level, Values
from flatweave.kernel_ir.syntax import Acquire, Backoff, Release, Sync
from flatweave.passes.operators import is_exact
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Const

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


# A scan over all blocks of a launch reads its input once, where two launches read it twice:
# blocks wait for each other (Merrill, Garland 2016).
#
#     chain = fk.chain(blocks, 0)                   in code of the grid: nothing known yet
#     before = fk.look_back(op, chain, b, total)    in code of block b: what all before it have
#
# A block publishes what its own elements combine to, goes back from its left neighbour to the
# nearest block that knows the whole of what is before it, combines in order what it meets, and
# publishes that, and nothing of other memory. It is for machines whose blocks may wait for
# earlier ones: the CPU, CUDA, the simulator. OpenCL promises nothing of the kind.
# `fk.release`, `fk.acquire` and `fk.wait_until` write another way of waiting.


@record
class Chain:
    """What blocks know of those before them, in memory of the grid: a slot more than there are
    blocks, the first of which is what stands before all."""

    kind: Kind
    first: Any
    slots: Slots | Words


def chain(blocks: Extent, first: Any) -> Chain:
    """Memory in which `blocks` blocks publish; `first` is what stands before all of them, of the
    dtypes that are combined. A slot is one word where the machine stores them at once.

    Types: `blocks: integer, first: t -> Chain of t[blocks + 1]`. Raises NestingError outside of
    the grid's code, Unsupported where blocks may not wait. Source: decoupled look-back (Merrill
    and Garland 2016).

        >>> @fk.kernel
        ... def running_sums(xs):
        ...     parts = fk.split_up(4, xs)
        ...     chain = fk.chain(parts.length, 0)
        ...     def block(b):
        ...         total = fk.reduce(fw.add, parts[b], 0)
        ...         return fk.scan(fw.add, parts[b], 0, fk.look_back(fw.add, chain, b, total))
        ...     return fk.generate(parts.length, block)
        >>> running_sums(np.arange(8))
        Array([ 0,  1,  3,  6, 10, 15, 21, 28], dtype=int64)
    """
    _need(GRID, "chain")
    expect_progress()
    slots = blocks + 1
    kind = kind_of_leaves(*leaves_of(first, "what stands before all blocks"))
    components = [(dtype, dtype.bits) for dtype in kind.dtypes]
    packing = packing_of(components, trace().machine.whole_words)
    if packing is not None:
        words = fill(Pull(slots * packing.count, lambda i: _word(packing, kind.atoms(first), i)))
        return Chain(kind, first, Words(packing, words.buffers[0]))
    states = fill(Pull(slots, lambda i: where(i == 0, _value(PREFIX), _value(NOTHING))))
    aggregates = fill(Pull(slots, lambda i: first))
    prefixes = fill(Pull(slots, lambda i: first))
    return Chain(kind, first, Slots(aggregates.buffers, states.buffers[0], prefixes.buffers))


def _word(packing: Packing, first: list[Atom], i: Any) -> Any:
    """Word i of a chain before any block has published: the first slot is known."""
    found: Any = _value(NOTHING)
    for k, word in enumerate(packing.pack(here().builder, first, PREFIX)):
        found = where(i == k, numbers([word])[0], found)
    return found


def _value(atom: Any) -> int:
    assert isinstance(atom, Const)
    return int(atom.value)


def look_back(
    op: Callable[[Any, Any], Any], chain: Chain, block: Any, total: Any, *, check: bool = True
) -> Any:
    """The combination of all blocks before this one, in order; `total` is this block's aggregate.
    After the call later blocks may continue. Each block of the launch calls it once.

    `op` must be associative. The first call tests it on aggregates of the first blocks, unless
    `check` is False.

    Types: `op: (t, t) -> t, chain: Chain of t, block: integer, total: t -> t`. Raises
    NestingError outside of a block's code, OperatorError for an `op` that is not associative,
    Unsupported where blocks may not wait. Source: decoupled look-back (Merrill and Garland
    2016).

        >>> @fk.kernel
        ... def running_sums(xs):
        ...     parts = fk.split_up(4, xs)
        ...     chain = fk.chain(parts.length, 0)
        ...     def block(b):
        ...         total = fk.reduce(fw.add, parts[b], 0)
        ...         return fk.scan(fw.add, parts[b], 0, fk.look_back(fw.add, chain, b, total))
        ...     return fk.generate(parts.length, block)
        >>> running_sums(np.arange(8))
        Array([ 0,  1,  3,  6, 10, 15, 21, 28], dtype=int64)
    """
    _need_below_grid("look_back")
    at = place(block, "the block")
    mine = tuple(chain.kind.atoms(total, "what a block has"))
    slots, operator = chain.slots, operator_on(chain.kind, op, chain.first)
    b, machine = here().builder, trace().machine
    keep_law_over_blocks(
        op, operator.function(b), operator.neutral, at, mine, "look_back",
        Check(check, user_location()),
    )  # fmt: skip
    if not machine.simt:
        return chain.kind.value(algorithm.go_on(b, slots, at, mine, operator.combine)[0])
    look = lanes_look_back(
        b, slots, at, operator, machine.lanes([i64]), exact=is_exact(operator.function(b))
    )

    def go_on(c: Builder) -> Values:
        return algorithm.go_on(c, slots, at, mine, operator.combine, look)[0]

    return chain.kind.value(by_first_warp(b, chain.kind.dtypes, go_on))


def _need(wanted: Level, who: str) -> None:
    if level() is not wanted:
        raise NestingError.here(
            f"{who} is for code of the {wanted.word}, and this is code of a {level().word}.",
            f"Call it in code of the {wanted.word}.",
        )


def _need_below_grid(who: str) -> None:
    if level() in (GRID, THREAD):
        raise NestingError.here(
            f"{who} is for a whole block, and this is code of a {level().word}.",
            "Call it in code of a block: for_all(blocks, lambda b: ..), outside of the "
            "loops over its threads.",
        )
    expect_progress()
