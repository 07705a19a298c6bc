"""Writing to computed indices where threads may collide: the variant for machines with atomics.

    merge add dest     atomic add dest[j] x                     any order gives the same combination
    place dest         atomic maximum winners[j] i; elements[i] = x      i counts in running order,
                       then for each j:  dest[j] = elements[winners[j]]  so the last one wins

The first part of each stands where the sweep feeds its sinks; `place.py` is the other variant.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.base.errors import Unsupported
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.rules import ATOMIC
from flatweave.kernel_ir.syntax import Atomic, AtomicUpdate, BlockIndex, Load, Store
from flatweave.lower.context import Lowering
from flatweave.lower.element import Elements
from flatweave.lower.fill import fill
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.outputs import Merged, Placed
from flatweave.lower.walk import Position, State, Walk
from flatweave.ops import Merge, Place
from flatweave.ops.rows import scalar_type
from flatweave.passes.operators import component_functions, is_commutative
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Let

NOBODY = index(-1)


def merged(low: Lowering, let: Let, sink: Merge) -> Merged:
    """The arrays that elements are combined into, which this sweep may write."""
    parts = component_lambdas(sink)
    if parts is None:
        raise Unsupported(
            "permute and reduce_by_index with an operator that mixes the components of a tuple "
            f"are not there yet on {low.machine.name}: an atomic update has room for one scalar.",
            where=let.where,
            remedy='Run this function with target="cpu", or combine each component on its own.',
        )
    extent = low.host.product(low.scope.array(sink.dest[0]).shape)
    return Merged(tuple(low.own(array, let) for array in sink.dest), parts, extent)


def component_lambdas(sink: Merge) -> tuple[str | Lambda, ...] | None:
    """The operator of each component, by its name where it has one; None where they are mixed."""
    if len(sink.dest) == 1:
        names = component_functions(sink.fn)
        return (names[0] if names and names[0] in ATOMIC else sink.fn,)
    names = component_functions(sink.fn)
    if names is None or not is_commutative(sink.fn):
        return None
    dtypes = [scalar_type(param) for param in sink.fn.params]
    return tuple(
        name if name in ATOMIC else lambda_of(name, dtype)
        for name, dtype in zip(names, dtypes, strict=False)
    )


def placed(low: Lowering, let: Let, sink: Place, taken: Sequence[Atom], total: Atom) -> Placed:
    """The arrays to write, nobody's yet, and room for every element."""
    extent = low.host.product(low.scope.array(sink.dest[0]).shape)
    dest = tuple(low.own(array, let) for array in sink.dest)
    winners = low.host.emit(Alloc(i64, extent, low.site()))[0]
    fill(low, let, winners, extent, NOBODY, NOBODY)
    elements = tuple(low.alloc_like(atom, total) for atom in sink.dest)
    return Placed(dest, winners, elements, extent)


def merge_element(
    b: Builder, elements: Elements, merged: Merged, taken: Sequence[Atom]
) -> None:
    """Combine one element into its place; outside it is dropped."""
    kernel = elements.kernel
    place, *values = taken
    place = b.cast(place, i64)
    inside = b.inner()
    for fn, dest, value in zip(merged.functions, merged.dest, values, strict=True):
        buffer = kernel.buffer(dest)
        if isinstance(fn, str):
            inside.emit(Atomic(fn, buffer, place, value))
        else:
            inside.emit(AtomicUpdate(elements.function(inside, fn), buffer, place, value))
    b.emit(If(_is_inside(b, kernel, place, merged.extent), inside.close([], []), NO_BODY))


def place_element(
    b: Builder, kernel: KernelBuilder, placed: Placed, taken: Sequence[Atom], order: Atom
) -> None:
    """Keep one element, and claim its place for it; outside nothing is claimed."""
    place, *values = taken
    place = b.cast(place, i64)
    for buffer, value in zip(placed.elements, values, strict=True):
        b.emit(Store(kernel.buffer(buffer), order, value))
    inside = b.inner()
    inside.emit(Atomic("maximum", kernel.buffer(placed.winners), place, order))
    b.emit(If(_is_inside(b, kernel, place, placed.extent), inside.close([], []), NO_BODY))


def write_winners(low: Lowering, let: Let, placed: Placed) -> None:
    """Launch: every place that somebody claimed gets the element that came last."""
    machine = low.machine
    kernel = low.kernel(let, "_place")
    b, extent = kernel.body, kernel.capture(placed.extent)
    size = index(max(1, machine.block_bytes // i64.bytes))
    lo = b.mul(b.emit(BlockIndex())[0], size)
    hi = b.apply("minimum", b.add(lo, size), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        winner = c.emit(Load(kernel.buffer(placed.winners), position.flat))[0]
        claimed = c.apply("ge", winner, index(0))
        if position.active is not None:
            claimed = c.apply("and", claimed, position.active)
        inside = c.inner()
        for buffer, elements in zip(placed.dest, placed.elements, strict=True):
            value = inside.emit(Load(kernel.buffer(elements), winner))[0]
            inside.emit(Store(kernel.buffer(buffer), position.flat, value))
        c.emit(If(claimed, inside.close([], []), NO_BODY))
        return state

    walk = Walk(machine, (extent,), extent, machine.lanes([i64]), False, False, ())
    walk.block(b, lo, hi, (), step)
    ahead = low.host.add(placed.extent, low.host.sub(size, index(1)))
    low.launch(kernel, low.host.apply("floordiv", ahead, size))
    for buffer in (placed.winners, *placed.elements):
        low.host.emit(Free(buffer))


def _is_inside(b: Builder, kernel: KernelBuilder, place: Atom, extent: Atom) -> Atom:
    return b.apply("lt", b.cast(place, u64), b.cast(kernel.capture(extent), u64))


NO_BODY = Lambda((), (), ())
