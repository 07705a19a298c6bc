"""What a sweep is, whatever machine it runs on: its scans, and the rows it walks along."""

from __future__ import annotations

from flatweave.access.analyse import Accesses
from flatweave.base.records import record
from flatweave.lower.schedule.arrangement import accesses_of
from flatweave.lower.schedule.contraction import Contraction, at_most, find_contraction
from flatweave.lower.schedule.division import find_located
from flatweave.lower.schedule.head_flags import HeadFlags, find_head_flags
from flatweave.lower.schedule.scan_levels import ScanLevels, ScanRecord, find_scan_levels
from flatweave.lower.schedule.short_rows import Ones, find_column, find_ones
from flatweave.lower.schedule.stencil import Neighbours, Stencil, find_neighbours, find_stencil
from flatweave.nest.schedule import Axis
from flatweave.ops import Check, Fold, Index, Locate, Sweep
from flatweave.terms.syntax import Atom
from flatweave.terms.traverse import walk_lets


@record
class SweepFacts:
    """Facts of a sweep, found once: plans are made of them, emission reads them.

    `known` is what its values are along its axes and those of its folds.
    `located` are the rows among which it locates its own positions; `heads` says which of its
    values only ask where those rows begin. `contraction` is the fold that its space is tiled for,
    `neighbours` what it reads of rows around an element's own, `stencil` what it reads at several
    places around it, `ones` what it is over rows of one element,
    `column` the same where lanes would lie along rows whose elements are folds.
    """

    op: Sweep
    known: Accesses
    scans: ScanLevels
    located: Locate | None
    heads: HeadFlags | None
    contraction: Contraction | None = None
    neighbours: Neighbours | None = None
    ones: Ones | None = None
    stencil: Stencil | None = None
    column: Ones | None = None

    @staticmethod
    def of(op: Sweep) -> SweepFacts:
        """The facts of a sweep."""
        located = find_located(op)
        scans, heads = find_scan_levels(op), find_head_flags(op, located)
        known = accesses_of(op)
        return SweepFacts(
            op, known, scans, located, heads, find_contraction(op, known),
            find_neighbours(op, known), find_ones(op), find_stencil(op, known), find_column(op),
        )  # fmt: skip

    def of_one(self, axis: Axis) -> Ones | None:
        """What the sweep is over rows of one element, where lanes would lie so."""
        if axis is Axis.LAST and not self.scans.depth:
            return self.column
        fits = Axis.LAST if self.scans.depth else Axis.FOLD
        return self.ones if axis is fits else None

    @property
    def can_fail(self) -> bool:
        """Whether an element may report an error: then the first in order must be the one."""
        return any(
            isinstance(let.op, Check) or (isinstance(let.op, Index) and let.op.checked)
            for let in walk_lets(self.op.body)
        )

    @property
    def even_folds(self) -> tuple[tuple[Fold, Atom], ...]:
        """The folds whose length is the same for all elements, or for all but the last ones, with
        that length."""
        body = self.op.body
        own = {*body.params, *(var for let in body.lets for var in let.vars)}
        folds = (let.op for let in body.lets if isinstance(let.op, Fold))
        lengths = ((fold, at_most(fold.extent, body, own)) for fold in folds)
        return tuple((fold, length) for fold, length in lengths if length is not None)

    @property
    def combines(self) -> tuple[ScanRecord, ...]:
        """The reductions that the sinks of the sweep make."""
        pairs = zip(self.op.sinks, self.op.portions(), strict=True)
        return tuple(
            ScanRecord(fn, sink.neutral, taken)  # type: ignore[attr-defined]
            for sink, taken in pairs
            if (fn := sink.reduction()) is not None
        )
