"""The single-pass scan's chain of blocks: publish, look back, go on (Merrill, Garland 2016).

Slot t holds what is known of the first t blocks: state 0 nothing, 1 the aggregate of block t - 1,
2 the prefix of all of them. Slot 0 is what the scan begins with, set by the host. A block walks
back to the nearest prefix and folds the aggregates behind it from left to right, so the result
never depends on timing: it is always ((first fn agg 0) fn agg 1) fn ..

Timing says whether this block or one behind it joins its aggregate to what lies before: where
copies of the operator might disagree it is called (`called.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.syntax import Acquire, Backoff, Load, Release, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If, While
from flatweave.terms.syntax import Atom, Var

NOTHING, AGGREGATE, PREFIX = index(0), index(1), index(2)
Operator = Callable[[Builder, Sequence[Atom]], tuple[Atom, ...]]
Clear = Callable[[Var, Atom], None]


@record
class Chain:
    """The buffers of one chain, as the host holds them; `last` is the slot behind all blocks."""

    states: Var
    aggregates: tuple[Var, ...]
    prefixes: tuple[Var, ...]
    last: Atom

    def free(self, host: Builder) -> None:
        for buffer in (self.states, *self.aggregates, *self.prefixes):
            host.emit(Free(buffer))


def make_chain(
    host: Builder, first: Sequence[Atom], blocks: Atom, site: int, clear: Clear | None = None
) -> Chain:
    """Allocate a chain for `blocks` blocks; slot 0 is known, the others are not.

    `clear` sets the states by a launch where the host had better not.
    """
    slots = host.add(blocks, index(1))

    def array(dtype: object) -> Var:
        assert isinstance(dtype, DType)
        return host.emit(Alloc(dtype, slots, site))[0]

    states = array(i64)
    aggregates = tuple(array(atom.type) for atom in first)
    prefixes = tuple(array(atom.type) for atom in first)
    if clear is None:
        host.emit(Store(states, index(0), PREFIX))
    for buffer, atom in zip(prefixes, first, strict=True):
        host.emit(Store(buffer, index(0), atom))
    if clear is None:
        _clear_on_host(host, states, slots)
    else:
        clear(states, slots)
    return Chain(states, aggregates, prefixes, blocks)


def _clear_on_host(host: Builder, states: Var, slots: Atom) -> None:
    inside = host.inner()
    slot = inside.param("t", i64)
    inside.emit(Store(states, slot, NOTHING))
    host.emit(For(index(1), slots, index(1), inside.close([slot], []), ()))


def publish(
    b: Builder, kernel: KernelBuilder, chain: Chain, block: Atom, values: Sequence[Atom],
    *, whole: bool,
) -> None:  # fmt: skip
    """Tell the blocks behind this one its aggregate, or (`whole`) the prefix up to its end."""
    slot = b.add(block, index(1))
    for buffer, value in zip(chain.prefixes if whole else chain.aggregates, values, strict=True):
        b.emit(Store(kernel.buffer(buffer), slot, value))
    b.emit(Release(kernel.buffer(chain.states), slot, PREFIX if whole else AGGREGATE))


def look_back(
    b: Builder, kernel: KernelBuilder, chain: Chain, block: Atom, fn: Operator
) -> tuple[Atom, ...]:
    """All elements of the blocks before this one, combined."""
    states = kernel.buffer(chain.states)
    nearest = _nearest_prefix(b, states, block)
    prefix = [b.emit(Load(kernel.buffer(buffer), nearest))[0] for buffer in chain.prefixes]
    inside = b.inner()
    slot = inside.param("t", i64)
    state = [inside.param("s", atom.type) for atom in prefix]
    aggregate = [inside.emit(Load(kernel.buffer(a), slot))[0] for a in chain.aggregates]
    body = inside.close([slot, *state], fn(inside, [*state, *aggregate]))
    start, stop = b.add(nearest, index(1)), b.add(block, index(1))
    return b.emit(For(start, stop, index(1), body, tuple(prefix)))


def _nearest_prefix(b: Builder, states: Var, block: Atom) -> Atom:
    """The last slot up to `block` whose prefix is known, all aggregates behind it known too."""
    known = b.emit(Acquire(states, block))[0]
    test = b.inner()
    t, state, attempt = (test.param(name, i64) for name in ("t", "state", "attempt"))
    holds = test.close([t, state, attempt], [test.apply("ne", state, PREFIX)])
    turn = b.inner()
    t, state, attempt = (turn.param(name, i64) for name in ("t", "state", "attempt"))
    unknown = turn.apply("eq", state, NOTHING)
    pause = turn.inner()
    pause.emit(Backoff(attempt))
    turn.emit(If(unknown, pause.close([], []), NO_BODY))
    back = turn.apply("select", unknown, t, turn.sub(t, index(1)))
    again = turn.apply("select", unknown, turn.add(attempt, index(1)), index(0))
    body = turn.close([t, state, attempt], [back, turn.emit(Acquire(states, back))[0], again])
    return b.emit(While(holds, body, (block, known, index(0))))[0]


def go_on(
    b: Builder, kernel: KernelBuilder, chain: Chain, block: Atom, aggregate: Sequence[Atom],
    fn: Operator,
) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:  # fmt: skip
    """Publish the block's aggregate and prefix; where its elements start and end."""
    publish(b, kernel, chain, block, aggregate, whole=False)
    prefix = look_back(b, kernel, chain, block, fn)
    end = fn(b, [*prefix, *aggregate])
    publish(b, kernel, chain, block, end, whole=True)
    return prefix, end
