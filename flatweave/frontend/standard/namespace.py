"""What a library asks of an array's namespace: its functions, dtypes, devices and what they can do.

    x.__array_namespace__()                                 flatweave
    fw.__array_namespace_info__().default_dtypes()          {"integral": i64, ..}
"""

from __future__ import annotations

import sys
from typing import Any

from flatweave.base.dtypes import DType, c128, f64, i64
from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.standard.dtypes import KINDS, isdtype
from flatweave.frontend.values.exchange import DEVICES, HOST, on_device
from flatweave.frontend.values.operators import METHODS

VERSION = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)
NAMES = {
    dtype.numpy.name: dtype
    for kind in ("bool", "numeric")
    for dtype in KINDS[kind]
    if not dtype.is_short
}


class NamespaceInfo:
    """What arrays of this package can be, and what its functions can do."""

    def capabilities(self) -> dict[str, Any]:
        """Masks are indices, and extents may depend on values; of axes NumPy holds 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def devices(self) -> tuple[str, ...]:
        """Where arrays can be."""
        return DEVICES

    def default_device(self) -> str:
        """Where arrays are."""
        return HOST

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of what is made of Python numbers, and of places."""
        on_device(device, "default_dtypes")
        return {"real floating": f64, "complex floating": c128, "integral": i64, "indexing": i64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes by name, all of them or those of a kind, or of one of several kinds."""
        on_device(device, "dtypes")
        found = NAMES.items()
        return {name: dtype for name, dtype in found if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """What arrays of this package can be, and what its functions can do."""
    return NamespaceInfo()


def namespace(version: Any) -> Any:
    """The package, which has the standard's names; ArgumentError for a version it does not know."""
    if version is not None and version not in VERSIONS:
        raise ArgumentError(
            f"there is no version {version!r} of the array API standard here.",
            where=user_location(), remedy=f"Versions are: {', '.join(VERSIONS)}.",
        )  # fmt: skip
    return sys.modules[__name__.partition(".")[0]]


METHODS["namespace"] = namespace
