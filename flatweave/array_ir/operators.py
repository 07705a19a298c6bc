"""Elements combined by an operator, in order: reductions, scans, and writes that collide.

Operators are associative, so a tree of calls serves: an operator is called log n times, on batches.
An operator on whole rows is called for one row after the other.
"""

from __future__ import annotations

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.terms.batch import Env, Value, Values, assign, prepend, spread, take
from flatweave.terms.syntax import Lambda
from flatweave.terms.traverse import scalars_only


def elements(fn: Lambda, xs: Values) -> Values:
    """What an operator runs over: rows where it takes one, else scalars in row-major order."""
    return tuple(x.reshape(-1) for x in xs) if scalars_only(fn.params) else xs


def reduce(interp: Interp, env: Env, fn: Lambda, neutral: Values, columns: Values) -> Values:
    """neutral fn x[0] fn .. fn x[n-1]"""
    if not interp.is_batched(fn):
        for k in range(len(columns[0])):
            neutral = interp.call(env, fn, (*neutral, *_rows(columns, k)))
        return neutral
    while (size := len(columns[0])) > 1:
        even = take(columns, slice(0, size - size % 2, 2))
        pairs = apply(interp, env, fn, (*even, *take(columns, slice(1, None, 2))))
        columns = prepend(pairs, take(columns, slice(size - size % 2, None)))
    return interp.call(env, fn, (*neutral, *_rows(columns, 0))) if size else neutral


def combine(interp: Interp, env: Env, fn: Lambda, groups: Value, columns: Values) -> Values:
    """Neighbours of one group combined, in order, until every group has one element.

    Equal groups stand together; where `env` has a batch, they number its elements.
    """
    while True:
        starts = np.flatnonzero(np.diff(groups, prepend=-1) != 0)
        sizes = np.diff(starts, append=len(groups))
        if len(starts) == len(groups):
            return columns
        place = np.arange(len(groups)) - np.repeat(starts, sizes)
        last = place == np.repeat(sizes, sizes) - 1
        left = np.flatnonzero((place % 2 == 0) & ~last)
        args = (*take(columns, left), *take(columns, left + 1))
        columns = tuple(column.copy() for column in columns)
        if interp.is_batched(fn):
            joined = interp.call(env.take(groups[left]), fn, args)
        else:
            joined = interp.each(env, fn, args, len(left))
        assign(columns, left, joined)
        groups, columns = groups[place % 2 == 0], take(columns, place % 2 == 0)


def scan(
    interp: Interp, env: Env, fn: Lambda, neutral: Values, columns: Values,
    exclusive: bool = False, starts: Values = (),
) -> Values:  # fmt: skip
    """y[i] = neutral fn x[0] fn .. fn x[i], or up to x[i-1] when `exclusive`.

    Where a flag starts a segment at k, from there on y[i] = neutral fn x[k] fn .. fn x[i]; when
    `exclusive`, y[k] is the neutral element.
    """
    if not interp.is_batched(fn):
        return _scan_rows(interp, env, fn, neutral, columns, exclusive, starts)
    i = np.arange(len(columns[0]))
    first = np.full(len(i), -1)  # where the element's segment starts
    for flag in starts:
        first = np.maximum.accumulate(np.where(flag, i, -1))
    distance = 1
    while distance < len(i):  # element i holds the last `distance` elements up to i
        alone = take(columns, slice(distance, None))
        joined = apply(interp, env, fn, (*take(columns, slice(-distance)), *alone))
        joined = _where((i - distance >= first)[distance:], joined, alone)
        columns = prepend(take(columns, slice(distance)), joined)
        distance *= 2
    columns = apply(interp, env, fn, (*neutral, *columns))
    if exclusive and len(i):
        columns = prepend(neutral, take(columns, slice(-1)))
        columns = _where(first < i, columns, spread(neutral, len(i)))
    return columns


def _where(mask: Value, a: Values, b: Values) -> Values:
    """Columns from `a` where the mask holds, from `b` elsewhere."""
    return tuple(np.where(mask, x, y) for x, y in zip(a, b, strict=True))


def flipped(fn: Lambda) -> Lambda:
    """(a, b) => fn(b, a), in which a suffix becomes a prefix."""
    half = len(fn.params) // 2
    return Lambda((*fn.params[half:], *fn.params[:half]), fn.lets, fn.results)


def apply(interp: Interp, env: Env, fn: Lambda, args: Values) -> Values:
    """An operator on columns; the last operand is one."""
    size = len(args[-1])
    if not interp.is_batched(fn):
        return interp.each(env, fn, spread(args, size), size)
    return spread(interp.call(env.batch(size), fn, args), size)


def _scan_rows(
    interp: Interp, env: Env, fn: Lambda, neutral: Values, columns: Values,
    exclusive: bool, starts: Values,
) -> Values:  # fmt: skip
    """A scan whose operator works on one row at a time."""
    results = tuple(np.empty_like(column) for column in columns)
    total = neutral
    for k in range(len(columns[0])):
        fresh, row = any(flag[k] for flag in starts), _rows(columns, k)
        before = neutral if fresh else total
        total = interp.call(env, fn, (*before, *row))
        assign(results, np.asarray(k), before if exclusive else total)
    return results


def _rows(columns: Values, k: int) -> Values:
    """Element k of every column, also where it is a scalar."""
    return tuple(np.asarray(column[k]) for column in columns)


def scatter_store(dest: Values, indices: Value, columns: Values) -> Values:
    """dest[indices[i]] = x[i]; an index outside drops its element, the last of equal ones wins."""
    results = tuple(array.copy() for array in dest)
    inside = (indices >= 0) & (indices < len(dest[0]))
    assign(results, indices[inside], take(columns, inside))  # of equal indices NumPy keeps the last
    return results


def met(dest: Values, indices: Value, columns: Values) -> tuple[Values, Value]:
    """What meets at each index: the element there, then those that are written, in order. The flags
    say where the next index begins."""
    kept = np.flatnonzero((indices >= 0) & (indices < len(dest[0])))
    order = kept[np.argsort(indices[kept], kind="stable")]
    targets = indices[order]
    first = np.flatnonzero(np.diff(targets, prepend=-1) != 0)
    both = tuple(
        np.insert(x[order], first, there[targets[first]])
        for x, there in zip(columns, dest, strict=True)
    )
    return both, np.insert(np.zeros(len(order), bool), first, True)


def scatter_reduce(
    interp: Interp, env: Env, fn: Lambda, dest: Values, indices: Value, columns: Values
) -> Values:
    """dest[indices[i]] = dest[indices[i]] fn x[i]; an index outside drops its element."""
    results = tuple(array.copy() for array in dest)
    kept = np.flatnonzero((indices >= 0) & (indices < len(dest[0])))
    order = kept[np.argsort(indices[kept], kind="stable")]
    targets = np.unique(indices[order])
    if len(targets):
        totals = combine(interp, env, fn, indices[order], take(columns, order))
        assign(results, targets, apply(interp, env, fn, (*take(dest, targets), *totals)))
    return results
