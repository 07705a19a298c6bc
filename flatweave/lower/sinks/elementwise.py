"""Where the elements of a sweep go in its last pass: stores, inserts, kept elements, updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flatweave.kernel_ir.syntax import Store, StoreCompact
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.scan_levels import ScanLevels, with_slots
from flatweave.lower.sinks.outputs import Outputs
from flatweave.lower.sinks.single_evaluation import SingleEvaluation
from flatweave.lower.sinks.write_combining import WriteCombining
from flatweave.lower.traverse.position import FALSE, NO_BODY, Position, State, while_active
from flatweave.lower.update.atomic import merge_element, place_element
from flatweave.ops import Sweep
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom


def slot_of_compact(scans: ScanLevels, k: int) -> int:
    """Which carry says where the next element kept by sink `k` goes."""
    return next(slot for slot, record in with_slots(scans.records) if record.compact == k)


@dataclass(frozen=True, eq=False)
class SinkWriter:
    """Writes the sinks of one step; `ends` says where the kept elements of this warp end."""

    op: Sweep
    scans: ScanLevels
    outputs: Outputs
    kernel: KernelBuilder
    total: Atom
    streaming: bool
    ends: Sequence[Atom]
    staging: WriteCombining | SingleEvaluation | None = None

    def write(
        self, b: Builder, elements: Elements, position: Position, carries: State
    ) -> None:
        """Feed every sink but the reductions; `carries` are those before this step."""
        target = b.inner() if position.active is not None else b
        for k, taken in enumerate(self.op.portions()):
            if k in self.outputs.stores:
                value = elements.atoms(taken)[0]
                buffer = self.kernel.buffer(self.outputs.stores[k])
                streaming = self.streaming and position.width > 1 and position.aligned
                target.emit(Store(buffer, position.flat, value, streaming))
            elif k in self.outputs.inserts:
                host_buffer, offset = self.outputs.inserts[k]
                place = target.add(self.kernel.capture(offset), position.flat)
                buffer = self.kernel.buffer(host_buffer)
                target.emit(Store(buffer, place, elements.atoms(taken)[0]))
            elif k in self.outputs.merges:
                merge_element(target, elements, self.outputs.merges[k], elements.atoms(taken))
            elif k in self.outputs.places:
                order = position.flat
                if self.op.reverse:
                    order = target.sub(target.sub(self.total, index(1)), order)
                place_element(
                    target, self.kernel, self.outputs.places[k], elements.atoms(taken), order
                )
            elif k in self.outputs.compacts:
                self._compact(b, elements, k, taken, position, carries)
        if target is not b and position.active is not None and target.lets:
            b.emit(If(position.active, target.close([], []), NO_BODY))

    def _compact(
        self, b: Builder, elements: Elements, k: int, taken: Sequence[Atom],
        position: Position, carries: State,
    ) -> None:  # fmt: skip
        slot = slot_of_compact(self.scans, k)
        place, limit = carries[slot], self.ends[slot]
        flag, *values = elements.atoms(taken)
        keep = while_active(b, (flag,), (FALSE,), position)[0]
        if self.staging is not None:
            buffers = self.staging.buffers[k]
            place, limit = b.sub(place, self.staging.bases[k]), index(self.staging.room)
        else:
            buffers = tuple(self.kernel.buffer(buffer) for buffer in self.outputs.compacts[k])
        if position.width > 1:
            b.emit(StoreCompact(buffers, place, limit, keep, tuple(values)))
            return
        inside = b.inner()
        for buffer, value in zip(buffers, values, strict=True):
            inside.emit(Store(buffer, place, value))
        b.emit(If(keep, inside.close([], []), NO_BODY))
