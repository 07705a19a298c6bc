"""Passes of a sort whose elements are divided into runs, which are counted before they move.

    counts[d, r]   how many elements with digit d the run r has            one launch
    starts         the prefixes of all counts, digit by digit               one launch
    moved          each run moves its elements, in order, from its starts   one launch

A *run* is some neighbours: a block's on a CPU (`blocks.py`), a lane's where lanes are threads and
blocks must not wait for each other (`lanes.py`). Order is kept inside a run and between runs.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.lower.host.context import Declared
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.scan.block_partials import scan_block_partials
from flatweave.lower.sort.digit_pass import DigitPass, Runs
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import Let, Var

ADD = lambda_of("add", i64)


class CountedRuns:
    """Three launches for a digit."""

    def __init__(self, let: Let, runs: Runs) -> None:
        self.let = let
        self.runs = runs
        self.most_bits = runs.most_bits

    def begin(self, digits: DigitPass) -> tuple[Var, ...]:
        """Room for the counts of a pass."""
        lowering, host = digits.lowering, digits.lowering.host
        entries = host.mul(digits.count, self.runs.count)
        return host.emit(Alloc(i64, entries, lowering.site()), "counts")

    def move(self, digits: DigitPass, shared: tuple[Var, ...]) -> None:
        """Count, scan, move."""
        lowering, runs, (counts,) = digits.lowering, self.runs, shared
        self._launch(digits, "_count", Role.COUNT, runs.write_count, counts)
        entries, parts = lowering.host.mul(digits.count, runs.count), [(ADD, (index(0),))]
        starts = scan_block_partials(lowering, self.let, parts, [counts], entries)[0]
        self._launch(digits, "", Role.PASS, runs.write_move, starts)
        lowering.host.emit(Free(starts))

    def _launch(
        self, digits: DigitPass, suffix: str, role: Role,
        write: Callable[[DigitPass, KernelBuilder, Var], None], table: Var,
    ) -> None:  # fmt: skip
        """A kernel of the pass. Of several keys a digit may have the bits of one alone, so that the
        others need not be read."""
        lowering, runs = digits.lowering, self.runs
        if not lowering.machine.shares_memory:
            kernel = lowering.kernel(self.let, suffix)
            write(digits, kernel, table)
            return lowering.launch(kernel, runs.blocks, role)
        needs = [*digits.needs, *runs.needs, table]

        def later(name: str, digits: DigitPass) -> Declared:
            return lowering.later(
                self.let, name + suffix, needs, lambda kernel, own: write(digits, kernel, table)
            )

        found = digits.of_one_key(lowering.host)
        variants = [(only, later(f"_key{one.only}", one)) for only, one in found]
        lowering.launch_first(variants, later("", digits), runs.blocks, role)
