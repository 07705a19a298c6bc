"""Names of the language that the next step fills: sorting.

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
sort = _later("sort", "The elements in stable ascending order.", NUMPY)
argsort = _later("argsort", "The places of the elements in stable ascending order.", NUMPY)
sort_by_key = _later("sort_by_key", "Keys in stable order, and their values.", NUMPY)
