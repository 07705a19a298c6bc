"""Which operations may stand where, at each stage of a program.

    TRACED   what the user wrote: array operations anywhere, nested in element functions too
    SWEPT    sweeps on the host only; element functions are scalar work with reads and folds, and
             the host may call one
    FLAT     as SWEPT, and rows may be combined by a sweep over their elements; what is lowered
"""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.terms.syntax import Op

CONTROL = frozenset({"apply", "cast", "if", "while", "for"})
HOST_BODIES = CONTROL | {"by_row"}
"""Operations of the host whose bodies are of the host, too."""
READS = frozenset({"check", "index", "locate"})


@record(eq=True)
class Form:
    """What may stand on the host (in the program's body and its loops) and in element functions.

    With `arrays`, operations on arrays as users write them may stand anywhere (`Op.traced`); with
    `scalar`, an element function binds scalars only; with `rows`, sweeps combine rows.
    """

    name: str
    host: frozenset[str]
    element: frozenset[str]
    arrays: bool = False
    scalar: bool = False
    rows: bool = False

    def allows(self, op: Op, *, on_host: bool) -> bool:
        """Whether an operation may stand on the host, or in an element function."""
        named = self.host if on_host else self.element
        return op.name in named or (self.arrays and op.traced)

    def is_within(self, other: Form) -> bool:
        """Whether every program of this form is one of the other form, too."""
        return (
            self.host <= other.host
            and self.element <= other.element
            and self.arrays <= other.arrays
            and self.rows <= other.rows
            and (self.scalar or not other.scalar)
        )


TRACED = Form("traced", host=CONTROL | READS, element=CONTROL | READS, arrays=True)
SWEPT = Form(
    "swept",
    host=HOST_BODIES
    | READS
    | {"suits", "sweep", "empty", "reshape", "fold", "radix_sort", "sort_row", "sort_rows",
       "call_kernel", "callback"},
    element=CONTROL | READS | {"fold", "prefix"},
    scalar=True,
)
FLAT = Form("flat", SWEPT.host, SWEPT.element, scalar=True, rows=True)
FORMS = (TRACED, SWEPT, FLAT)
