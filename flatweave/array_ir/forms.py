"""Which operations may stand where, at each stage of a program.

    TRACED   what the user wrote: array operations anywhere, nested in element functions too
    SWEPT    sweeps on the host only; element functions are scalar work with reads and folds
    FLAT     as SWEPT, and rows may be combined by a sweep over their elements; what is lowered
"""

from __future__ import annotations

from dataclasses import dataclass

CONTROL = frozenset({"apply", "cast", "if", "while", "for"})
ARRAYS = frozenset(
    {
        "concat", "empty", "filter", "generate", "map", "permute", "reduce", "reduce_segments",
        "reshape", "scan", "scatter", "sort",
    }
)  # fmt: skip
READS = frozenset({"check", "index", "locate"})


@dataclass(frozen=True, slots=True)
class Form:
    """What may stand on the host (in the program's body and its loops) and in element functions.

    With `scalar` an element function binds scalars only. `sinks` are those that sweeps may have.
    """

    name: str
    host: frozenset[str]
    element: frozenset[str]
    scalar: bool = False
    sinks: frozenset[str] = frozenset()

    def is_within(self, other: Form) -> bool:
        """Whether every program of this form is one of the other form, too."""
        return (
            self.host <= other.host
            and self.element <= other.element
            and self.sinks <= other.sinks
            and (self.scalar or not other.scalar)
        )


TRACED = Form("traced", host=CONTROL | ARRAYS | READS, element=CONTROL | ARRAYS | READS)
SWEPT = Form(
    "swept",
    host=CONTROL | READS | {"sweep", "empty", "reshape", "order"},
    element=CONTROL | READS | {"fold", "prefix"},
    scalar=True,
    sinks=frozenset(
        {"store", "compact", "combine", "combine_segments", "place", "merge", "insert"}
    ),
)
FLAT = Form("flat", SWEPT.host, SWEPT.element, scalar=True, sinks=SWEPT.sinks | {"combine_rows"})
FORMS = (TRACED, SWEPT, FLAT)
