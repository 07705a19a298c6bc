"""NumPy's functions on arrays of ours, traced or not: each calls the function of the same meaning.

    np.concatenate([xs, ys])                fw.concat([xs, ys])
    np.sort(xs, axis=0)                     fw.sort(xs, axis=0)
    np.partition(xs, 50)                    NumPy's own outside of a trace, inside of one an error
    np.pad(xs, 2, mode="mean")              as well: fw.pad lacks the mode

A call uses the names of NumPy's parameters. Parameters without effect on the result are dropped.
A call that our function cannot serve is NumPy's own outside a trace.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from flatweave.base.errors import ArgumentError, NotTraceableError, UserError
from flatweave.frontend import ALIASES, MODULES, public
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.arrays.sources import concat
from flatweave.frontend.elements.scalars import clip
from flatweave.frontend.standard import fft, linalg
from flatweave.frontend.standard.arrangement import moveaxis, squeeze, stack
from flatweave.frontend.standard.norms import diagonal, outer, trace
from flatweave.frontend.standard.searching import take, where
from flatweave.frontend.values.array import METHODS, Array, Tracer, separate
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.exchange import has_functions
from flatweave.frontend.values.number_formats import Composed
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import Node


class Form(NamedTuple):
    """How a function of ours is called for one of NumPy's."""

    call: Callable[..., Any]
    positional: int = 1  # the number of NumPy's parameters given by position; others by name
    renamed: Mapping[str, str] = {}
    always: frozenset[str] = frozenset()  # parameters whose default here is another than NumPy's


R = TypeVar("R")


def _raveled(x: Any, axis: Any) -> tuple[Any, int]:
    """An array and an axis; all elements, and axis 0, where none is named."""
    return (reshape(x, -1), 0) if axis is None else (x, axis)


def _concatenate(arrays: Any, axis: Any = 0) -> Array:
    return concat([reshape(x, -1) for x in arrays] if axis is None else list(arrays), axis or 0)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Array:
    return clip(a, a_min if min is None else min, a_max if max is None else max)


def _over_all(fn: Callable[..., R]) -> Callable[..., R]:
    """A function along an axis, which goes over all elements where none is named."""

    @functools.wraps(fn)
    def call(a: Any, axis: Any = None, **named: Any) -> R:
        x, axis = _raveled(a, axis)
        return fn(x, axis=axis, **named)

    return call


def _take(a: Any, indices: Any, axis: Any = None) -> Array:
    x, axis = _raveled(a, axis)
    return take(x, indices, axis=axis)


def _outer(a: Any, b: Any) -> Array:
    return outer(reshape(a, -1), reshape(b, -1))


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    return diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    return trace(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def _required(fn: Callable[..., Any]) -> int:
    """How many arguments a function must be given."""
    given = inspect.signature(fn).parameters.values()
    return len([p for p in given if p.default is p.empty and p.kind is not p.VAR_POSITIONAL])


DDOF = {"ddof": "correction"}
AXIS = frozenset({"axis"})
# functions whose parameters have NumPy's meaning and order
SAME = (
    "all any argmax argmin broadcast_arrays broadcast_to count_nonzero cross cumulative_prod "
    "cumulative_sum diff dot empty_like expand_dims flip full_like imag matrix_transpose max mean "
    "meshgrid min moveaxis nonzero ones_like prod real repeat reshape roll round searchsorted sum "
    "take_along_axis tensordot tile transpose tril triu unstack zeros_like"
)
FORMS: dict[str, Form] = {
    **{name: Form(METHODS[name], _required(METHODS[name])) for name in SAME.split()},
    **{name: Form(fn, _required(fn)) for name in (*MODULES, *ALIASES)
       if ".numpy_functions." in MODULES[ALIASES.get(name, name)] if callable(fn := public(name))},
    **{f"{module}.{name}": Form(fn, _required(fn))
       for module, ours in (("linalg", linalg), ("fft", fft)) for name in ours.__all__
       if (fn := getattr(ours, name)) and not name.endswith("freq")},  # which takes no array
    **{name: Form(_over_all(METHODS[name])) for name in ("cumsum", "cumprod")},
    **{name: Form(_over_all(METHODS[name]), 1, {}, AXIS) for name in ("sort", "argsort")},
    **{name: Form(METHODS[name], 1, DDOF) for name in ("std", "var")},
    "amax": Form(METHODS["max"]), "amin": Form(METHODS["min"]), "where": Form(where, 3),
    "clip": Form(_clip), "take": Form(_take, 2), "concatenate": Form(_concatenate),
    "stack": Form(lambda x, axis=0: stack(list(x), axis)), "squeeze": Form(squeeze, 1, {}, AXIS),
    "outer": Form(_outer, 2), "trace": Form(_trace, 4), "diagonal": Form(_diagonal, 4),
    "copy": Form(separate), "shape": Form(lambda a: a.shape), "ndim": Form(lambda a: a.ndim),
}  # fmt: skip
# not what: left out
HOW = frozenset({"kind", "stable", "subok", "assume_unique", "copy", "optimize", "sorted"})


def called(
    func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...], named: dict[str, Any]
) -> object:
    """What a function of NumPy gives for arrays among which there is one of ours."""
    if any(has_functions(kind) for kind in types):
        noted: list[Any] = []
        theirs, rest = _plain((args, named), noted)
        is_here = not any(isinstance(value, Tracer | Node) for value in noted)
        return func(*theirs, **rest) if is_here else NotImplemented
    form = FORMS.get(_name(func))
    given = None if form is None else _arguments(func, form, args, named)
    if form is None or given is None:
        return _without_counterpart(func, args, named, form is not None)
    try:
        return form.call(*given[0], **given[1])
    except UserError as refused:
        if innermost() is None:
            with contextlib.suppress(Exception):  # ours says more
                return _without_counterpart(func, args, named, True)
        raise refused


def _name(func: Callable[..., Any]) -> str:
    """`sort`, `linalg.det`"""
    module = func.__module__.removeprefix("numpy").removeprefix(".")
    return f"{module}.{func.__name__}" if module in ("linalg", "fft") else func.__name__


_signature = functools.lru_cache(inspect.signature)


def _arguments(
    func: Callable[..., Any], form: Form, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments for the function of ours; None where it lacks a parameter."""
    known = _signature(func).parameters
    bound = _signature(func).bind(*args, **named)
    bound.apply_defaults()
    ours = inspect.signature(form.call).parameters
    values: list[Any] = []
    rest: dict[str, Any] = {}
    for place, (name, value) in enumerate(bound.arguments.items()):
        if known[name].kind is inspect.Parameter.VAR_POSITIONAL:
            values += value
        elif known[name].kind is inspect.Parameter.VAR_KEYWORD:
            rest.update(value)
        elif place < form.positional:
            values.append(value)
        elif name in form.always or not (name in HOW or value is known[name].default):
            rest[form.renamed.get(name, name)] = value
    return (values, rest) if rest.keys() <= ours.keys() else None


def _without_counterpart(
    func: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], is_known: bool
) -> object:
    """NumPy's own function, where the values are here."""
    name = f"numpy.{_name(func)}" + (" with these arguments" if is_known else "")
    found: list[Any] = []
    plain = _plain((args, named), found)
    traced = [value for value in found if isinstance(value, Tracer | Composed)]
    for value in traced:
        first = getattr(value, value.parts[0]) if isinstance(value, Composed) else value
        if first.is_gone:
            raise first.escaped()
    if traced:
        raise NotTraceableError.here(
            f"{name} has no counterpart that can be traced, and NumPy's own needs values, which are"
            " known only when the compiled function runs.",
            "Write it with functions of fw, or return the array and call NumPy on the result.",
        )
    if any(isinstance(value, Node) for value in found):
        raise ArgumentError.here(
            f"{name} has no counterpart for a Ragged.",
            "Call it on rows.values, and cut the result with fw.ragged(.., offsets=..).",
        )
    return func(*plain[0], **plain[1])


def _plain(value: Any, found: list[Any]) -> Any:
    """Arguments with NumPy's arrays in place of ours, which are noted."""
    if isinstance(value, Array | Node):
        found.append(value)
        is_here = not isinstance(value, Tracer | Node)
        return value.to_numpy() if is_here else value  # type: ignore[union-attr]
    if isinstance(value, Chunked):
        return value.to_numpy()
    if type(value) in (tuple, list):
        return type(value)(_plain(item, found) for item in value)
    if type(value) is dict:
        return {key: _plain(item, found) for key, item in value.items()}
    return value
