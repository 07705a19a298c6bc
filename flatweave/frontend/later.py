"""Names of the language that the next step fills: irregular operations and sorting.

Each raises Unsupported with its name and, where there is one, a way round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from flatweave.base.errors import Unsupported
from flatweave.base.source import user_location


def _later(name: str, meaning: str, remedy: str) -> Callable[..., Any]:
    """A public function that is not there yet."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported(
            f"fw.{name} is not there yet.", where=user_location(), remedy=remedy
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning} Not there yet: raises Unsupported."
    return function


NUMPY = "Use NumPy outside the compiled function until then."
expand = _later("expand", "`get(x, i)` for every x and 0 <= i < size(x), in order.", NUMPY)
expand_reduce = _later("expand_reduce", "The reduction of each x's expansion.", NUMPY)
segmented_scan = _later(
    "segmented_scan", "A scan that starts anew at every flag.",
    "Scan tuples (flag, x) with an operator that forgets what came before a flag.",
)  # fmt: skip
segmented_reduce = _later("segmented_reduce", "The reduction of each segment.", NUMPY)
replicated_iota = _later("replicated_iota", "i, repeated reps[i] times, for every i.", NUMPY)
segmented_iota = _later("segmented_iota", "Each element's place in its segment.", NUMPY)
sort = _later("sort", "The elements in stable ascending order.", NUMPY)
argsort = _later("argsort", "The places of the elements in stable ascending order.", NUMPY)
sort_by_key = _later("sort_by_key", "Keys in stable order, and their values.", NUMPY)
ragged = _later("ragged", "An irregular nested array.", NUMPY)


class Ragged:
    """An irregular nested array: values and offsets. Not there yet: raises Unsupported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unsupported(
            "fw.Ragged is not there yet.", where=user_location(), remedy=NUMPY
        )
