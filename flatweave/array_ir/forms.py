"""Which operations may stand where, before and after the pass `sweep`.

    TRACED   what the user wrote: array operations anywhere, nested in element functions too
    SWEPT    sweeps on the host only; element functions are scalar work with reads and folds
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


@dataclass(frozen=True, slots=True)
class Form:
    """What may stand on the host (in the program's body and its loops) and in element functions.

    With `scalar` an element function binds scalars only.
    """

    name: str
    host: frozenset[str]
    element: frozenset[str]
    scalar: bool = False


TRACED = Form(
    "traced",
    host=CONTROL | ARRAYS | {"check", "index", "locate"},
    element=CONTROL | ARRAYS | {"check", "index", "locate"},
)
SWEPT = Form(
    "swept",
    host=CONTROL | {"sweep", "concat", "empty", "reshape", "order", "check", "index", "locate"},
    element=CONTROL | {"index", "fold", "prefix", "check", "locate"},
    scalar=True,
)
