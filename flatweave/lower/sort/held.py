"""Elements that the threads of a block hold in their registers: so many each, loaded at once.

    thread t of warp w, turn k      element first + (w each + k) 32 + t: neighbours load neighbours
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.arrays import choose, extent_of, when
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.traverse.warp_share import warp_index
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var, constant

Turn = Callable[[Builder, Atom, Atom, Atom], None]
"""What a lane does in a turn: its number, the place in the block, and whether that has an element.
"""


class Held:
    """Some components of the elements of a block, of which each thread holds `each`."""

    def __init__(
        self, kernel: KernelBuilder, machine: Machine, each: int, source: Sequence[Var],
        components: Sequence[int],
    ) -> None:  # fmt: skip
        self.kernel, self.each, self.lanes = kernel, each, machine.lanes([])
        self.size = index(each * self.lanes * machine.warps)
        self.warp = warp_index(kernel.body, machine)
        self.source = {k: kernel.buffer(source[k]) for k in components}
        self.memory = {
            k: kernel.body.emit(ThreadMemory(dtype_in(buffer), each, self.lanes))[0]
            for k, buffer in self.source.items()
        }

    def load(self, b: Builder, first: Atom, count: Atom) -> None:
        """The `count` elements from `first` on; what threads hold beside them is 0."""

        def act(c: Builder, k: Atom, at: Atom, active: Atom) -> None:
            place = c.add(first, at)
            zeros = tuple(constant(0, dtype_in(buffer)) for buffer in self.source.values())

            def loaded(d: Builder) -> tuple[Atom, ...]:
                return tuple(d.emit(Load(buffer, place))[0] for buffer in self.source.values())

            values = choose(c, active, loaded, lambda d: zeros)
            for buffer, value in zip(self.memory.values(), values, strict=True):
                c.emit(Store(buffer, k, value))

        self.turns(b, count, act)

    def component(self, k: Atom) -> Callable[[Builder, int], Atom]:
        """The element of turn k, component by component."""
        return lambda b, number: b.emit(Load(self.memory[number], k))[0]

    def turns(self, b: Builder, count: Atom, act: Turn) -> None:
        """All threads go through the places of the elements that they hold."""
        region = b.inner()
        self.turns_inside(region, count, act)
        b.emit(Lanes(self.lanes, region.close([], [])))

    def turns_inside(self, region: Builder, count: Atom, act: Turn) -> None:
        """The same in lanes."""
        start = region.mul(self.warp, index(self.each * self.lanes))
        inside = region.inner()
        k = inside.param("k", i64)
        base = inside.add(start, inside.mul(k, index(self.lanes)))
        at = inside.emit(Lane(base))[0]
        act(inside, k, at, inside.apply("lt", at, count))
        region.emit(For(index(0), index(self.each), index(1), inside.close([k], []), ()))


def by_threads(
    b: Builder, machine: Machine, count: Atom | int, act: Callable[[Builder, Atom], None]
) -> None:
    """Act at 0, 1, .. below `count`, divided among the threads of the block."""
    extent = extent_of(count)

    def step(c: Builder, position: Position, state: State) -> State:
        assert position.active is not None
        when(c, position.active, lambda d: act(d, position.flat))
        return state

    flat(machine, extent, machine.lanes([])).block(b, index(0), extent, (), step)
