"""The sizes at which the rows of a nest are done one after the other: data of a machine.

    Thresholds(rows=64, longest=65536, share=16, mean=8).admits(Sizes(rows=1000, ..))

A machine has some for all programs (`lower/machine/`); what `fw.tune` measures of one program
stands before them (`Schedule.tuned`).
"""

from __future__ import annotations

from flatweave.base.records import record

FAR = 1 << 62
"""More than any nest has."""


@record(eq=True)
class Sizes:
    """So many rows, with so many values together, and so many the longest of them."""

    rows: int
    values: int
    longest: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.values} values, at most {self.longest} in a row"


@record(eq=True)
class Thresholds:
    """Rows are done one after the other where there are at least `rows` of them, with `mean` values
    each or more, the longest with from `least` to `longest` values and at most one of `share` parts
    of all.
    """

    rows: int
    longest: int
    share: int
    mean: int
    least: int = 0

    def admits(self, sizes: Sizes) -> bool:
        """Whether rows of these sizes are done one after the other."""
        return (
            sizes.rows >= self.rows
            and self.least <= sizes.longest <= self.longest
            and sizes.longest * self.share <= sizes.values
            and sizes.rows * self.mean <= sizes.values
        )

    def __str__(self) -> str:
        if self in (ALWAYS, NEVER):
            return "always" if self == ALWAYS else "never"
        parts = [f"from {self.rows} rows on"]
        parts += [f"of at most {self.longest} values"] if self.longest < FAR else []
        parts += [f"the longest with 1/{self.share} of all at most"] if self.share else []
        parts += [f"{self.mean} values each or more"] if self.mean else []
        parts += [f"the longest of {self.least} values or more"] if self.least else []
        return ", ".join(parts)


ALWAYS, NEVER = Thresholds(0, FAR, 0, 0), Thresholds(FAR, 0, 0, 0)


@record(eq=True)
class ByGain:
    """Thresholds by what a nest has for which doing its rows one after the other is worth while."""

    loops: Thresholds
    sorts: Thresholds

    def of(self, gain: str) -> Thresholds:
        """Those for `loops` or for `sorts`."""
        return self.loops if gain == "loops" else self.sorts
