"""Elements of filters and scans: what is before those that are read is computed with them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.operator_checks.lazy_arrays import (
    MANY,
    Array,
    Lazy,
    Unknown,
    raveled,
    read,
    unraveled,
)
from flatweave.ops import Scan
from flatweave.terms.batch import Env, Value, Values

FEW = 64  # that a filter begins with
LIKE_A_LET = 1 << 13
"""Elements that take as long as a let of a few."""


def filtered(mask: Array, xs: Sequence[Array]) -> tuple[Any, ...]:
    """The elements that are kept: the first ones, where counting all would take long."""
    size: int | None = mask.shape[0]
    count: Any = None
    if size is not None and size <= LIKE_A_LET:
        with suppress(Unknown):
            count = np.asarray(np.count_nonzero(read(mask, [np.arange(size)])))

    def place(i: Value) -> Value:
        end = 0
        while end < (MANY if size is None else min(size, MANY)):
            end = max(2 * end, FEW) if size is None else min(max(2 * end, FEW), size)
            kept = np.flatnonzero(read(mask, [np.arange(end)]))
            if i.max(initial=0) < kept.size:
                return kept[i]
        raise Unknown

    extent = None if count is None else int(count)
    arrays = [Lazy(x.dtype, (extent,), lambda i, x=x: read(x, [place(i)])) for x in xs]
    return (count, *arrays)


def scanned(
    interp: Interp, env: Env, op: Scan, xs: Sequence[Array], starts: Sequence[Array]
) -> tuple[Lazy, ...]:
    """The first prefixes, or in reverse the last suffixes."""
    shape, neutral, size = xs[0].shape, interp.atoms(env, op.neutral), xs[0].size
    fn = operators.flipped(op.fn) if op.reverse else op.fn

    def prefixes(*at: Value) -> Values:
        linear = raveled(shape, at)
        if op.reverse:
            linear = _from_the_end(linear, size)
        end = int(linear.max(initial=0)) + 1
        if end > MANY:
            raise Unknown
        linears = np.arange(end)
        first = unraveled(shape, _from_the_end(linears, size) if op.reverse else linears)
        columns = tuple(read(x, first) for x in xs)
        flags = tuple(read(s, [np.arange(end)]) for s in starts)
        found = operators.scan(interp, env, fn, neutral, columns, op.exclusive, flags)
        return tuple(column[linear] for column in found)

    return tuple(
        Lazy(x.dtype, shape, lambda *at, k=k: prefixes(*at)[k]) for k, x in enumerate(xs)
    )


def _from_the_end(linear: Value, size: int | None) -> Value:
    """Positions counted from the other end."""
    if size is None:
        raise Unknown
    return size - 1 - linear
