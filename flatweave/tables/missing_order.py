"""What functions of fw that order or count elements do with missing values.

    sets and runs    by groups: a missing element equals a missing one, and comes last
    running totals   of the elements that are present; missing ones stay missing
    isin, rank, ..   missing where the element is
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.tables.groups import group_by
from flatweave.tables.missing import condition, joined, of_known, parts, together
from flatweave.tables.nullable import RULES, Nullable
from flatweave.tables.numbering import firsts
from flatweave.tables.selection import worst

NEUTRAL = {"cumsum": 0, "cumprod": 1, "cumulative_sum": 0, "cumulative_prod": 1}


def _one_axis(x: Any) -> bool:
    return isinstance(x, Nullable) and x.ndim == 1


def _of_vector(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for a vector of which some elements are missing."""
    def applied(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
        return rule(function, x, *args, **options) if _one_axis(x) else NotImplemented

    return applied


def sets(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """`unique` and its relatives, `value_counts`: a missing element is the last value."""
    groups = group_by(x)
    name = function.__name__
    if name != "unique":
        found = function(groups.index)  # its numbers are the groups', all of which occur
        keys = (groups.keys, *found[1:]) if isinstance(found, tuple) else groups.keys
        return type(found)(*keys) if hasattr(found, "_fields") else keys
    wanted = [*args, *[False] * (3 - len(args))]
    names = ("return_index", "return_inverse", "return_counts")
    wanted = [options.get(each, flag) for each, flag in zip(names, wanted, strict=True)]
    found = firsts(groups.index, groups.sizes.shape[0]), groups.index, groups.sizes
    extra = zip(found, wanted, strict=True)
    rest = [part for part, is_wanted in extra if is_wanted]
    return (groups.keys, *rest) if rest else groups.keys


def runs(function: Callable[..., Any], x: Any) -> Any:
    """`changed` and `run_lengths`."""
    groups = group_by(x)
    found = function(groups.index)
    return found if function.__name__ == "changed" else (groups.keys[found[0]], found[1])


def count_of(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """`n_unique` and `count_nonzero`: of the elements that are present."""
    return function(x.drop_none(), *args, **options)


def ranked(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """`rank`: missing elements have none."""
    return Nullable(function(group_by(x).index, *args, **options), x.valid)


def best(function: Callable[..., Any], x: Any, k: Any, axis: int = -1, largest: bool = True) -> Any:
    """`top_k`: missing elements last."""
    order = fw.argsort(x, descending=largest)
    kept = function(fw.iota(x.shape[0]), k, largest=False)[0]
    return x[order[kept]], order[kept]


def running(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """Running totals and extremes."""
    values, valid = parts(x)
    if not isinstance(x, Nullable):
        return NotImplemented
    name = function.__name__
    neutral = NEUTRAL[name] if name in NEUTRAL else worst(values.dtype, name == "cummin")
    return Nullable(function(fw.where(valid, values, neutral), *args, **options), valid)


def differences(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """`diff`: missing where one of two elements is."""
    if args or options or not _one_axis(x):
        return NotImplemented
    return Nullable(function(x.values), x.valid[1:] & x.valid[:-1])


def member(function: Callable[..., Any], x: Any, values: Any, **options: Any) -> Any:
    """`isin`: missing where the element is; missing values to search are none."""
    (own, valid), known = parts(x), values
    if isinstance(values, Nullable):
        known = values.drop_none()
    found = function(own, known, **options)
    return found if valid is None else together(found, valid)


def position(function: Callable[..., Any], xs: Any, v: Any, *args: Any, **options: Any) -> Any:
    """`searchsorted`: a missing element has no position."""
    if isinstance(xs, Nullable):
        return NotImplemented
    return Nullable(function(xs, v.values, *args, **options), v.valid)


def flags(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """`nonzero`, `flatnonzero`, `argwhere`: a missing element is not selected."""
    values, valid = parts(x)
    return function(condition(Nullable(values != 0, valid)), *args, **options)


def segments(function: Callable[..., Any], data: Any, ids: Any, *args: Any, **options: Any) -> Any:
    """Segment reductions: of the elements that are present, in segments whose id is."""
    (values, valid), (ids, has_id) = parts(data), parts(ids)
    if valid is None and has_id is None:
        return NotImplemented
    for mask in (valid, has_id):
        ids = ids if mask is None else fw.where(mask, ids, -1)
    return function(values, ids, *args, **options)


def histogram(function: Callable[..., Any], n: Any, idx: Any, *args: Any, **options: Any) -> Any:
    """Missing indices are dropped."""
    values, valid = parts(idx)
    if valid is None:
        return NotImplemented
    return function(n, fw.where(valid, values, -1), *args, **options)


def dotted(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """`dot` and `vecdot` of vectors: of the pairs that are present."""
    return fw.sum(fw.mul(x, y))


def one_after_the_other(function: Callable[..., Any], *args: Any) -> Any:
    """`append` and `hstack` of vectors."""
    arrays = args[0] if function.__name__ == "hstack" else args
    return joined(fw.concat, list(arrays))


RULES.update(dict.fromkeys(
    ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "value_counts"),
    _of_vector(sets),
))  # fmt: skip
RULES.update(dict.fromkeys(("changed", "run_lengths"), _of_vector(runs)))
RULES.update(dict.fromkeys(("n_unique", "count_nonzero"), _of_vector(count_of)))
RULES.update(dict.fromkeys((*NEUTRAL, "cummax", "cummin"), running))
RULES.update(dict.fromkeys(("ptp", "logsumexp", "average"), of_known))
RULES.update(dict.fromkeys(("nonzero", "flatnonzero", "argwhere"), flags))
RULES.update(dict.fromkeys(
    ("segment_sum", "segment_prod", "segment_max", "segment_min"), segments
))  # fmt: skip
RULES.update(dict.fromkeys(("append", "hstack"), one_after_the_other))
RULES.update(dict.fromkeys(("dot", "vecdot"), dotted), diff=differences, histogram=histogram,
             isin=member, rank=_of_vector(ranked), searchsorted=position,
             top_k=_of_vector(best))  # fmt: skip
