"""What reductions, scans and combining writes mean, once for all of them.

    prefixes(op, ne, xs, starts)      y[i] = y[i-1] op x[i], from `ne` at each start

Few elements go through a plain loop. Many are combined by doubling, whole columns at a time, which
gives the same where `op` is associative, as every operator here exactly is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.expressions import call
from tests.oracle.operators import Operator

Columns = tuple[np.ndarray, ...]
FEW = 200


def columns_of(value: Any) -> Columns:
    """The arrays of a value, which may be one or a tuple."""
    return value if isinstance(value, tuple) else (value,)


def as_value(columns: Columns) -> Any:
    """One array alone, several as a tuple."""
    return columns[0] if len(columns) == 1 else columns


def element(op: Operator, literals: Any) -> Columns:
    """An element of literals in the operator's dtypes."""
    return tuple(
        np.dtype(dtype).type(literal.value)
        for dtype, literal in zip(op.dtypes, literals, strict=True)
    )


def apply(op: Operator, a: Columns, b: Columns) -> Columns:
    """`a op b`, element by element."""
    return columns_of(call(op.function, {}, as_value(a), as_value(b)))


def prefixes(op: Operator, ne: Columns | None, xs: Columns, starts: np.ndarray) -> Columns:
    """Every prefix of every segment, `ne` at the left of each where there is one."""
    if not len(starts):
        return xs
    begin = starts.copy()
    begin[0] = True
    if ne is not None:
        wide = tuple(np.full(len(begin), e, x.dtype) for e, x in zip(ne, xs, strict=True))
        xs = _chosen(begin, apply(op, wide, xs), xs)
    return (one_by_one if len(begin) <= FEW else doubled)(op, xs, begin)


def one_by_one(op: Operator, xs: Columns, begin: np.ndarray) -> Columns:
    """Every prefix of every segment, by its definition."""
    found = tuple(np.empty_like(x) for x in xs)
    carry: Columns = ()
    for i, first in enumerate(begin):
        now = tuple(x[i] for x in xs)
        carry = now if first else apply(op, carry, now)
        for column, value in zip(found, carry, strict=True):
            column[i] = value
    return found


def doubled(op: Operator, xs: Columns, begin: np.ndarray) -> Columns:
    """The same: after k steps each element combines the 2^k up to it in its segment."""
    place = np.arange(len(begin))
    first = np.maximum.accumulate(np.where(begin, place, 0))
    found, distance = xs, 1
    while distance < len(begin):
        later = tuple(x[distance:] for x in found)
        joined = apply(op, tuple(x[:-distance] for x in found), later)
        reaches = place[distance:] - distance >= first[distance:]
        kept = _chosen(reaches, joined, later)
        found = tuple(
            np.concatenate([x[:distance], y]) for x, y in zip(found, kept, strict=True)
        )
        distance *= 2
    return found


def _chosen(condition: np.ndarray, a: Columns, b: Columns) -> Columns:
    return tuple(np.where(condition, x, y) for x, y in zip(a, b, strict=True))


def turned(op: Operator) -> Operator:
    """The operator with its operands exchanged, by which suffixes are prefixes."""
    a, b = op.function.params
    function = type(op.function)((b, a), op.function.results)
    return Operator(op.name, function, op.dtypes, op.neutral, op.other, op.prepare)


def scanned(
    op: Operator, ne: Columns, xs: Columns, exclusive: bool = False, reverse: bool = False
) -> Columns:
    """The scan of an array."""
    if reverse:
        flipped = tuple(x[::-1] for x in xs)
        return tuple(x[::-1] for x in scanned(turned(op), ne, flipped, exclusive))
    found = prefixes(op, ne, xs, np.zeros(len(xs[0]), bool))
    if not exclusive:
        return found
    return tuple(
        np.concatenate([np.array([e], x.dtype), x])[: len(x)]
        for e, x in zip(ne, found, strict=True)
    )


def reduced(op: Operator, ne: Columns, xs: Columns) -> Columns:
    """All elements combined, from `ne`."""
    found = prefixes(op, ne, xs, np.zeros(len(xs[0]), bool))
    return tuple(x[-1] for x in found) if len(xs[0]) else ne


def reduced_rows(op: Operator, ne: Columns, xs: Columns, lengths: np.ndarray) -> Columns:
    """Each row combined, from `ne`."""
    ends = np.cumsum(lengths)
    begin = np.zeros(len(xs[0]), bool)
    begin[(ends - lengths)[lengths > 0]] = True
    found = prefixes(op, ne, xs, begin)
    return tuple(
        np.where(lengths > 0, x[np.maximum(ends - 1, 0)] if len(x) else e, e).astype(x.dtype)
        for e, x in zip(ne, found, strict=True)
    )


def combined(op: Operator, dest: Columns, places: np.ndarray, values: Columns) -> Columns:
    """`dest` with the values combined into their indices in order; indices outside are dropped."""
    size = len(dest[0])
    inside = (places >= 0) & (places < size)
    at = np.concatenate([np.arange(size), places[inside]])
    order = np.argsort(at, kind="stable")
    both = [np.concatenate([d, v[inside]])[order] for d, v in zip(dest, values, strict=True)]
    ends = np.cumsum(np.bincount(at, minlength=size))
    begin = np.zeros(len(at), bool)
    begin[ends[:-1]] = True
    found = prefixes(op, None, tuple(both), begin)
    return tuple(x[ends - 1] for x in found)
