"""A reduction over all elements: each block leaves a partial result, joined in order of blocks."""

from __future__ import annotations

from flatweave.algorithms.long_folds import adds_floats
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.host import Free
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.scan.block_partials import scan_block_partials
from flatweave.lower.sweep.sink import HostSweep, LoweredSink
from flatweave.terms.build import index
from flatweave.terms.control import For

GROUP = 64
"""Partial results that are joined to each other before they are joined to those before them."""


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
        neutral = tuple(lowering.scope.scalar(atom) for atom in self.sink.neutral)
        fn, after = self.sink.fn, lowering.call(inside, self.sink.fn, [*state, *parts])
        if adds_floats(fn):  # no float takes part in many additions: see algorithms/long_folds.py
            total = [inside.param("s", atom.type) for atom in neutral]
            full = inside.apply("eq", inside.apply("mod", block, index(GROUP)), index(GROUP - 1))
            joined = lowering.call(inside, fn, [*total, *after])
            pairs = zip([*neutral, *joined], [*after, *total], strict=True)
            chosen = [inside.apply("select", full, *pair) for pair in pairs]
            body = inside.close([block, *state, *total], chosen)
            found = host.emit(For(index(0), sweep.blocks, index(1), body, neutral * 2))
            results = lowering.call(host, fn, [*found[len(neutral) :], *found[: len(neutral)]])
        else:
            body = inside.close([block, *state], after)
            results = host.emit(For(index(0), sweep.blocks, index(1), body, neutral))
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
