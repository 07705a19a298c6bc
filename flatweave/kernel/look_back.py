"""Blocks that wait for each other: a scan over all blocks of a launch while they run.

    chain = fk.chain(blocks, 0)                             in code of the grid: nothing known yet
    before = fk.look_back(op, chain, b, total)              in code of block b: what all before have

A block publishes what its own elements combine to, goes back from its left neighbour to the nearest
block that knows the whole of what is before it, combines in order what it meets, and publishes that
(Merrill, Garland 2016). So a scan reads its input once, where the two-launch way reads it twice.

`signals.py` has the words to write another way of waiting.

On machines whose blocks may wait for earlier ones: the CPU, CUDA, the simulator. OpenCL promises
nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.algorithms import look_back as algorithm
from flatweave.algorithms.look_back import NOTHING, PREFIX, Slots
from flatweave.algorithms.meet import by_first_warp
from flatweave.base.errors import NestingError, Unsupported
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.scalars import where
from flatweave.kernel.code import Extent, here, level, place, trace
from flatweave.kernel.elements import Kind
from flatweave.kernel.folds import operator_on
from flatweave.kernel.pulls import Pull
from flatweave.kernel.stores import Memory, fill
from flatweave.kernel_ir.arrays import Values
from flatweave.kernel_ir.hierarchy import GRID, THREAD, Level
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Const


@record
class Chain:
    """What blocks know of those before them, in memory of the grid: a slot more than there are
    blocks, the first of which is what stands before all."""

    kind: Kind
    ne: Any
    states: Memory
    aggregates: Memory
    prefixes: Memory


def chain(blocks: Extent, first: Any) -> Chain:
    """Memory in which `blocks` blocks publish; `first` is what stands before all of them, of the
    dtypes that are combined."""
    _need(GRID, "chain")
    _expect_progress()
    slots = blocks + 1
    states = fill(Pull(slots, lambda i: where(i == 0, _value(PREFIX), _value(NOTHING))))
    aggregates = fill(Pull(slots, lambda i: first))
    prefixes = fill(Pull(slots, lambda i: first))
    return Chain(aggregates.kind, first, states, aggregates, prefixes)


def _value(atom: Any) -> int:
    assert isinstance(atom, Const)
    return int(atom.value)


def look_back(op: Callable[[Any, Any], Any], chain: Chain, block: Any, total: Any) -> Any:
    """What all blocks before this one have, combined in order, `total` being what it has itself;
    the blocks behind it may go on then. Each block of the launch calls it once."""
    _need_below_grid("look_back")
    at = place(block, "the block")
    mine = tuple(chain.kind.atoms(total, "what a block has"))
    slots = Slots(chain.aggregates.buffers, chain.states.buffers[0], chain.prefixes.buffers)
    operator = operator_on(chain.kind, op, chain.ne)

    def go_on(b: Builder) -> Values:
        before, _ = algorithm.go_on(b, slots, at, mine, operator.combine)
        return before

    b = here().builder
    one = not trace().machine.simt
    return chain.kind.value(go_on(b) if one else by_first_warp(b, chain.kind.dtypes, go_on))


def _need(wanted: Level, who: str) -> None:
    if level() is not wanted:
        raise NestingError(
            f"{who} is for code of the {wanted.word}, and this is code of a {level().word}.",
            where=user_location(), remedy=f"Call it in code of the {wanted.word}.",
        )  # fmt: skip


def _need_below_grid(who: str) -> None:
    if level() in (GRID, THREAD):
        raise NestingError(
            f"{who} is for a whole block, and this is code of a {level().word}.",
            where=user_location(),
            remedy="Call it in code of a block: for_all(blocks, lambda b: ..), outside of the "
            "loops over its threads.",
        )
    _expect_progress()


def _expect_progress() -> None:
    """Refuse a machine whose blocks may not wait for each other."""
    machine = trace().machine
    if not machine.forward_progress:
        raise Unsupported(
            f"a block waits for another one, and {machine.name} does not promise that the other "
            "one runs meanwhile.",
            where=user_location(),
            remedy="Take two launches: force what each block has, scan that in a second launch, "
            "and add it in a third; or run it on the CPU.",
        )
