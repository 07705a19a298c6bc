"""What functions of fw do with missing values: rules by the kind of function.

    elementwise     f(x.values), valid where all operands are
    & and |         Kleene: False & missing is False, True | missing is True
    reductions      of the values that are there; running totals, too: missing ones stay missing
    sorts           missing elements last
    sets and runs   by groups: a missing element equals a missing one, and comes last
    moves           values and bools moved alike
    methods         of text: missing where the text is
    isin, rank, ..  missing where the element is
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.tables.groups import group_by
from flatweave.tables.keys import decoded
from flatweave.tables.nullable import RULES, Nullable, is_text, with_offsets
from flatweave.tables.numbering import firsts
from flatweave.tables.selection import worst
from flatweave.tables.verbs import drop_none

ELEMENTWISE = (
    "abs", "acos", "acosh", "add", "arccos", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_not", "bitwise_xor", "cbrt", "ceil", "clip", "copysign", "cos", "cosh", "equal",
    "erf", "erfc", "exp", "exp2", "expm1", "floor", "floordiv", "fma", "greater",
    "greater_equal", "hypot", "isfinite", "isinf", "isnan", "left_shift", "less", "less_equal",
    "log", "log1p", "log2", "log10", "logical_not", "logical_xor", "maximum", "minimum", "mod",
    "mul", "neg", "not_equal", "positive", "power", "reciprocal", "right_shift", "round",
    "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh", "truediv", "trunc",
    "astype", "fmax", "fmin", "fmod", "heaviside", "isclose", "logaddexp", "nan_to_num", "rint",
    "sinc", "degrees", "radians", "signbit", "nextafter",
)  # fmt: skip
MOVES = (
    "broadcast_to", "expand_dims", "flip", "gather", "getitem", "moveaxis", "permute_dims",
    "ravel", "repeat", "reshape", "reverse", "roll", "rolling", "_rolling_by", "rotate", "row",
    "slices", "squeeze", "swapaxes", "take", "tile", "transpose",
)  # fmt: skip


def parts(x: Any) -> tuple[Any, Any]:
    """Values, and bools where they are there; None where all are. Of a Ragged of such both are
    a Ragged."""
    if isinstance(x, Nullable):
        return x.values, x.valid
    if isinstance(x, fw.Ragged):
        values, valid = parts(x.values)
        whole = with_offsets(values, x.offsets)
        return whole, None if valid is None else with_offsets(valid, x.offsets)
    return x, None


def together(values: Any, valid: Any) -> Any:
    """Values and bools as a Nullable, or as a Ragged of such."""
    if isinstance(values, fw.Ragged):
        return with_offsets(together(values.values, valid.values), values.offsets)
    return Nullable(values, valid)


def _and(flags: list[Any], like: Any) -> Any:
    """Where all of some bools hold, in the shape of a result."""
    every = functools.reduce(fw.bitwise_and, flags)
    if isinstance(like, fw.Ragged):
        is_ragged = isinstance(every, fw.Ragged)
        return every if is_ragged else fw.bitwise_and(every, fw.equal(like, like) | True)
    return fw.broadcast_to(every, like.shape) if like.ndim else every


def elementwise(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The function of the values, missing where one of them is."""
    pairs = [parts(x) for x in args]
    named = {name: parts(x) for name, x in options.items()}
    values = function(*(v for v, _ in pairs), **{name: v for name, (v, _) in named.items()})
    flags = [flag for _, flag in (*pairs, *named.values()) if flag is not None]
    return together(values, _and(flags, values))


def kleene(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """`&` and `|` of bools: known where one operand decides."""
    (a, a_valid), (b, b_valid) = parts(x), parts(y)
    if fw.result_type(*(getattr(v, "dtype", None) or type(v) for v in (a, b))) != fw.bool_:
        return elementwise(function, x, y)
    is_and = function.__name__.endswith("and")
    found = function(a, b)
    yes = True if isinstance(found, fw.Ragged) else fw.full(found.shape, True)
    a_valid, b_valid = (yes if flag is None else flag for flag in (a_valid, b_valid))
    decides_a, decides_b = (fw.logical_not(a), fw.logical_not(b)) if is_and else (a, b)
    valid = (a_valid & b_valid) | (a_valid & decides_a) | (b_valid & decides_b)
    value = fw.bitwise_and(found, valid) if is_and else (a_valid & a) | (b_valid & b)
    return together(value, valid)


def condition(p: Any) -> Any:
    """A condition as bools, a missing one as False."""
    values, valid = parts(p)
    return values if valid is None else fw.bitwise_and(values, valid)


def where(function: Callable[..., Any], p: Any, a: Any, b: Any) -> Any:
    """Element by element one of two, missing where the chosen one is."""
    chosen = condition(p)
    (a, a_valid), (b, b_valid) = parts(a), parts(b)
    values = function(chosen, a, b)
    if a_valid is None and b_valid is None:
        return values
    valid = function(chosen, *(True if flag is None else flag for flag in (a_valid, b_valid)))
    return together(values, _and([valid], values))


def filtered(function: Callable[..., Any], p: Callable[..., Any], xs: Any) -> Any:
    """`filter` and `partition`: elements whose condition is missing do not hold."""
    if not isinstance(xs, Nullable):
        return NotImplemented
    if is_text(xs.values):
        holds = condition(fw.map(p, xs))
        return xs[holds] if function is fw.filter else (xs[holds], xs[fw.logical_not(holds)])
    found = function(lambda e: condition(p(Nullable(*e))), (xs.values, xs.valid))
    return Nullable(*found) if function is fw.filter else tuple(Nullable(*part) for part in found)


def reduced(
    function: Callable[..., Any], xs: Any, axis: Any = None, dtype: Any = None,
    keepdims: bool = False, *, initial: Any = None, where: Any = None, skip_missing: bool = True,
) -> Any:  # fmt: skip
    """A reduction of the values that are present; missing if an extremum has no values."""
    values, valid = parts(xs)
    name = function.__name__
    if is_text(values):
        return _extreme_text(function, values, valid)
    mask = valid if where is None else fw.bitwise_and(valid, where)
    options = {"axis": axis, "keepdims": keepdims}
    given = {"initial": initial, "dtype": dtype}
    more = {key: value for key, value in given.items() if value is not None}
    if name in ("min", "max") and initial is None:
        more["initial"] = worst(values.dtype, name == "min")
    found = function(values, where=mask, **options, **more)
    if not skip_missing:
        missing = fw.logical_not(valid)
        lost = missing if where is None else fw.bitwise_and(missing, where)
        has = fw.logical_not(fw.any(lost, **options))
    elif name in ("min", "max", "mean") and initial is None:
        has = fw.any(mask, **options)
    else:
        has = fw.full(found.shape, True) if not isinstance(found, fw.Ragged) else found == found
    return together(found, has)


def _extreme_text(function: Callable[..., Any], values: Any, valid: Any) -> Any:
    """The least or the greatest string that is there."""
    texts, numbers = fw.unique_inverse(values)
    return decoded(function(Nullable(numbers, valid)), texts)


def of_known(
    function: Callable[..., Any], xs: Any, *args: Any, axis: Any = None, skip_missing: bool = True,
    **options: Any,
) -> Any:  # fmt: skip
    """A statistic of the values that are there, of all or of each row; missing for none."""
    values, valid = parts(xs)
    if valid is None:
        return NotImplemented
    is_ragged = isinstance(xs, fw.Ragged)
    rows = is_ragged and axis in (1, -1) and not isinstance(values.values, fw.Ragged)
    if not rows and (is_ragged or (axis is not None and xs.ndim > 1)):
        return NotImplemented
    along: dict[str, Any] = {"axis": 1} if rows else {}
    known = drop_none(xs) if rows else xs.drop_none()
    count = known.lengths if rows else fw.asarray(known.shape[0])
    has = count > 0 if skip_missing else fw.all(valid, **along)
    return together(function(known, *args, **along, **options), has)


def extreme(function: Callable[..., Any], xs: Any, axis: Any = None, **options: Any) -> Any:
    """Where the least or the greatest value is that is there, of one row or each of several."""
    if isinstance(xs, Nullable) and xs.ndim == 1:
        row = with_offsets(xs, fw.concat([fw.full(1, 0), fw.full(1, xs.shape[0])]))
        return getattr(row, function.__name__)(axis=1)[0]
    is_ragged = isinstance(xs, fw.Ragged) and axis in (1, -1)
    return getattr(xs, function.__name__)(axis=1) if is_ragged else NotImplemented


def ordered(
    function: Callable[..., Any], xs: Any, key: Any = None, descending: bool = False, **options: Any
) -> Any:  # fmt: skip
    """`sort` and `argsort`: missing elements last, in their order."""
    if not isinstance(xs, Nullable) or key is not None or options.get("axis") not in (None, 0, -1):
        return NotImplemented
    rank = xs.valid if descending else fw.logical_not(xs.valid)
    keys: Any = fw.unique_inverse(xs.values)[1] if is_text(xs.values) else xs.values
    blank = fw.where(xs.valid, keys, fw.zeros_like(keys))
    order = fw.argsort((rank, blank), descending=descending)
    return order if function is fw.argsort else Nullable(xs.values[order], xs.valid[order])


def moved(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Values and bools, moved alike. A missing condition is False; an index must be known."""
    masks = [isinstance(x, Nullable) and x.dtype == fw.bool_ for x in args[1:]]
    rest = [condition(x) if mask else x for x, mask in zip(args[1:], masks, strict=True)]
    if parts(args[0])[1] is None or any(parts(x)[1] is not None for x in rest):
        return NotImplemented

    def move(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: move(field) for name, field in part.items()}
        return function(part, *rest, **options)

    return together(*map(move, parts(args[0])))


def joined(function: Callable[..., Any], arrays: Any, *args: Any, **options: Any) -> Any:
    """`concat` and `stack`."""
    pairs = [parts(x) for x in arrays]
    flags = [_yes(value) if flag is None else flag for value, flag in pairs]
    values = function([value for value, _ in pairs], *args, **options)
    return together(values, function(flags, *args, **options))


def _yes(x: Any) -> Any:
    if isinstance(x, fw.Ragged):
        return with_offsets(_yes(x.values), x.offsets)
    return fw.full((x if is_text(x) else fw.asarray(x)).shape, True)


class NoAttributeError(fw.ArgumentError, AttributeError):
    """A Nullable has nothing of this name."""


def attribute(x: Nullable, name: str) -> Any:
    """A method of Strings, of values that are text; others have none."""
    if name.startswith("_"):
        raise AttributeError(f"a Nullable has no attribute {name!r}.")
    method = getattr(type(x.values), name, None) if is_text(x.values) else None
    if callable(method):
        return functools.wraps(method)(functools.partial(_of_texts, method, x))
    raise NoAttributeError.here(
        f"a Nullable has no attribute {name!r}.",
        f"Use fw.{name}(x)." if hasattr(fw, name) else
        f"Work on the values that are there, x.drop_none().{name}; or on x.values and x.valid."
        if hasattr(x.values, name)
        else "help(fw.Nullable) shows what there is; functions are in fw: fw.sort(x).",
    )  # fmt: skip


def _of_texts(method: Callable[..., Any], x: Nullable, *args: Any, **options: Any) -> Any:
    """What a method gives for each text; one that is missing is read as a number, too."""
    texts = x.fill_none("0") if method.__name__ == "to_numbers" and x.ndim else x.values
    return Nullable(method(texts, *args, **options), x.valid)


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
    rest = [part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted]
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
    (own, valid), known = parts(x), values.drop_none() if isinstance(values, Nullable) else values
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


RULES.update(dict.fromkeys(ELEMENTWISE, elementwise))
RULES.update(dict.fromkeys(MOVES, moved))
RULES.update(dict.fromkeys((*NEUTRAL, "cummax", "cummin"), running))
for names, rule in (
    ("bitwise_and bitwise_or logical_and logical_or", kleene),
    ("sum prod min max any all mean", reduced),
    ("median std var quantile percentile ptp logsumexp average", of_known),
    ("argmin argmax", extreme),
    ("sort argsort", ordered),
    ("concat stack", joined),
    ("filter partition", filtered),
    ("unique unique_all unique_counts unique_inverse unique_values value_counts",
     _of_vector(sets)),
    ("changed run_lengths", _of_vector(runs)),
    ("n_unique count_nonzero", _of_vector(count_of)),
    ("nonzero flatnonzero argwhere", flags),
    ("segment_sum segment_prod segment_max segment_min", segments),
    ("append hstack", one_after_the_other),
    ("dot vecdot", dotted),
):  # fmt: skip
    RULES.update(dict.fromkeys(names.split(), rule))
RULES.update(
    where=where, attribute=attribute, diff=differences, histogram=histogram, isin=member,
    rank=_of_vector(ranked), searchsorted=position, top_k=_of_vector(best),
)  # fmt: skip
