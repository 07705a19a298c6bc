"""A reduction over all elements: each block leaves a partial result, joined in order of blocks."""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.host import Free
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.kernel.long_folds import long_fold
from flatweave.lower.scan.block_partials import scan_block_partials
from flatweave.lower.sweep.sink import HostSweep, LoweredSink
from flatweave.terms.build import index


class CombineSink(LoweredSink):
    """What the last pass does for it, it does for all reductions of the sweep together."""

    def allocate(self, sweep: HostSweep) -> None:
        lowering, blocks = sweep.lowering, sweep.blocks
        self.partials = tuple(lowering.alloc_like(atom, blocks) for atom in self.sink.neutral)

    def bind(self, sweep: HostSweep) -> None:
        if sweep.lowering.machine.shares_memory:
            self._join_on_host(sweep)
        else:
            self._join_by_launch(sweep)

    def _join_on_host(self, sweep: HostSweep) -> None:
        lowering, host = sweep.lowering, sweep.lowering.host
        inside = host.inner()
        block = inside.param("b", i64)
        state = [inside.param("s", atom.type) for atom in self.sink.neutral]
        parts = [inside.emit(Load(buffer, block))[0] for buffer in self.partials]
        body = inside.close([block, *state], lowering.call(inside, self.sink.fn, [*state, *parts]))
        neutral = tuple(lowering.scope.scalar(atom) for atom in self.sink.neutral)
        results = long_fold(
            host, index(0), sweep.blocks, 1, body, neutral, self.sink.fn,
            lambda b, operands: lowering.call(b, self.sink.fn, operands),
        )  # fmt: skip
        for var, result in zip(self.vars, results, strict=True):
            lowering.scope.bind(var, result)
        for buffer in self.partials:
            host.emit(Free(buffer))

    def _join_by_launch(self, sweep: HostSweep) -> None:
        """Where the host has no access to memory at no cost."""
        lowering, parts = sweep.lowering, [(self.sink.fn, self.sink.neutral)]
        prefixes = scan_block_partials(lowering, sweep.let, parts, self.partials, sweep.blocks)
        for var, prefix in zip(self.vars, prefixes, strict=True):
            lowering.scope.bind(var, lowering.host.emit(Load(prefix, sweep.blocks))[0])
        for buffer in (*self.partials, *prefixes):
            lowering.host.emit(Free(buffer))
