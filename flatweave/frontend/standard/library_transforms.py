"""Transforms by SciPy, or by NumPy where SciPy is not installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.functions.callbacks import ShapeDtypeStruct
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.standard.library import complex_of, floats, kept, part_of, step
from flatweave.frontend.values.scope import current
from flatweave.terms.syntax import Const

NORMS = ("backward", "ortho", "forward")
OF_REALS = frozenset({"rfft", "ihfft", "rfftn"})


@functools.cache
def _library() -> tuple[Any, str]:
    """The library, and what notes call it."""
    try:
        from scipy import fft as found  # optional dependency
    except ImportError:
        return np.fft, "NumPy's transforms"
    return found, "SciPy's transforms"


def at_once(name: str) -> Callable[..., Any]:
    """The short cut for arrays that are here; what the library refuses goes the way of others."""

    def host(x: Any, /, **options: Any) -> Any:
        values = None if is_on_device() else floats(x)
        if values is None or (name in OF_REALS and values.dtype.kind == "c"):
            return NotImplemented
        lengths = options.get("s")
        if lengths is not None:
            if not _are_lengths(lengths):
                return NotImplemented
            if options.get("axes") is None:
                options["axes"] = tuple(range(-len(lengths), 0))
        if "n" in options and options["n"] is not None and not _are_lengths((options["n"],)):
            return NotImplemented
        try:
            return kept(getattr(_library()[0], name)(values, **options))
        except (TypeError, ValueError, IndexError):
            return NotImplemented

    return host


def _are_lengths(lengths: Any) -> bool:
    return isinstance(lengths, tuple | list) and all(type(n) is int and n > 0 for n in lengths)


def is_on_device() -> bool:
    """Whether what is called runs on a device."""
    return config.target.partition(":")[0] in ("cuda", "opencl")


def transformed(
    name: str, rows: Any, width: Any, dtype: DType, norm: Any, *length: Any
) -> Any:
    """The transform of each row by the library; it is given the length where that does not follow.
    """
    compute, library = getattr(_library()[0], name), _library()[1]
    scope = current()
    if scope.trace.in_chunks and scope.outer is None and _are_several(rows):
        return map(lambda row: transformed(name, row, width, dtype, norm, *length), rows)

    def run(x: Any, *n: Any, norm: Any) -> Any:
        return compute(x, *(int(np.ravel(each)[0]) for each in n), norm=norm)

    result = ShapeDtypeStruct((*rows.shape[:-1], width), dtype)
    return step(compute, [rows, *length], [result], library, run, norm=norm_of(norm))[0]


def transformed_along(name: str, array: Any, axes: tuple[int, ...], norm: Any) -> Any:
    """The transform along several axes, counted from the last one."""
    compute, library = getattr(_library()[0], name), _library()[1]
    result = ShapeDtypeStruct(array.shape, complex_of(array))
    return step(compute, [array], [result], library, axes=axes, norm=norm_of(norm))[0]


def _are_several(rows: Any) -> bool:
    """Whether rows, and not one row, may be divided among chunks."""
    plain = part_of(rows)
    return plain.ndim == 2 and not isinstance(plain.extents[0], Const)


def norm_of(norm: Any) -> str:
    """The name of a way to divide; None is "backward"."""
    norm = "backward" if norm is None else norm
    if norm not in NORMS:
        raise ArgumentError(
            f"norm of a transform is one of {', '.join(NORMS)}, got {norm!r}.",
            where=user_location(), remedy='Leave it out for "backward".',
        )  # fmt: skip
    return str(norm)
