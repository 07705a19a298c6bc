"""Updates that are indivisible, and those under a lock, lane after lane.

An update under a lock goes step by step, as on a machine: take the lock or wait, load, let others
go on, store, give the lock back. Who uses the element without that lock is found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.kernel_ir.updates import EXCHANGE, Atomic, AtomicUpdate, LockedUpdate
from flatweave.scalar import ops as scalar
from flatweave.simulator.access import Accessor
from flatweave.simulator.agents import Agent
from flatweave.simulator.control import Event, Steps
from flatweave.simulator.faults import Misuse
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.syntax import Atom, Lambda

FREE, TAKEN = 0, 1


class Updater(Accessor):
    """Runs updates for one warp."""

    def _atomic(self, env: Env, op: Atomic) -> Steps:
        yield Event.LOOK
        at, values = self._each(env, (op.index, op.value))
        before = np.empty(at.shape, values.dtype)
        buffer = self._buffer(env, op.buffer)
        self._count(env, buffer, "atomics", at.reshape(-1))
        for lane in self._lanes_in_turn(at):
            place = buffer.updated(int(at[lane]), self._one_of(env, lane))
            before[lane] = place[0]
            new = values[lane]
            place[0] = new if op.fn == EXCHANGE else scalar.evaluate(op.fn, place[0], new)
        self.progress.events += 1
        return (before,)

    def _update(self, env: Env, op: AtomicUpdate) -> Steps:
        """An element of one word or of several."""
        yield Event.LOOK
        at, *new = self._each(env, (op.index, *op.values_))
        buffer, words = self._buffer(env, op.buffer), len(new)
        self._count(env, buffer, "atomics", at.reshape(-1) * words)
        for lane in self._lanes_in_turn(at):
            by, first = self._one_of(env, lane), int(at[lane]) * words
            found = [buffer.updated(first + k, by) for k in range(words)]
            self._change(env, op.fn, found, [x[lane] for x in new])
        self.progress.events += 1
        return ()

    def _locked(self, env: Env, op: LockedUpdate) -> Steps:
        at, *new = self._each(env, (op.index, *op.values_))
        buffers, locks = [self._buffer(env, var) for var in op.buffers], self._buffer(env, op.locks)
        for buffer in buffers:
            self._count(env, buffer, "reads", at.reshape(-1))
            self._count(env, buffer, "writes", at.reshape(-1))
        self._count(env, locks, "atomics", at.reshape(-1) % op.stripes)
        for lane in self._lanes_in_turn(at):
            by, stripe = self._one_of(env, lane), int(at[lane]) % op.stripes
            yield Event.LOOK
            while locks.updated(stripe, by)[0] != FREE:
                yield Event.WAIT
            locks.data[stripe] = TAKEN
            way = self.progress.lock(locks, stripe)
            found = [buffer.updated(int(at[lane]), by, way) for buffer in buffers]
            copies = [place.copy() for place in found]
            yield Event.LOOK
            self._change(env, op.fn, copies, [x[lane] for x in new])
            for place, copy in zip(found, copies, strict=True):
                place[0] = copy[0]
            locks.data[stripe] = FREE
            self.progress.events += 1
        return ()

    def _change(
        self, env: Env, fn: Lambda, places: Sequence[Value], values: Sequence[Value]
    ) -> None:
        """fn on an element and new values."""
        args = (*(x.copy() for x in places), *(np.asarray(x).reshape(1) for x in values))
        for place, result in zip(places, self.apply(env, fn, args), strict=True):
            place[0] = result[0]

    def _lanes_in_turn(self, at: Value) -> list[tuple[int, ...]]:
        """The lanes one after the other: no machine says in which order."""
        if at.ndim == 0:
            return [()]
        if self.agent.units is not None:  # which come in such an order already
            return [(lane,) for lane in range(at.size)]
        groups = self.progress.schedule.units(np.arange(at.size))
        return [(int(lane),) for group in groups for lane in group]

    def _one_of(self, env: Env, lane: tuple[int, ...]) -> Agent:
        """Who does the update of one lane."""
        if self.agent.units is None or env.positions is None:
            return self.agent
        return self.agent.some(env.positions[list(lane)])

    def _each(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """Values of one shape, for an update of each lane."""
        if env.size is None and self.agent.warps > 1:
            raise Misuse("an atomic outside of lanes: how many warps do it?")
        found = self.atoms(env, atoms)
        shape = () if env.size is None else (env.size,)
        shape = np.broadcast_shapes(shape, *(x.shape for x in found))
        return tuple(np.broadcast_to(x, shape) for x in found)
