"""Public functions: recorded when called inside a trace, run at once outside of every one.

    @operation(static="axis keepdims")
    def sum(xs, axis=None, keepdims=False): ..       written for traced arrays alone

`static` names the parameters that decide what the program is: a call outside a trace compiles anew
for each of their values, while every other number, an extent too, is an argument at run time. The
body is given Python's own numbers and tuples for them, whatever the caller has
(`arguments.py`). In `structured` ones a list is a structure, as a tuple is; elsewhere one of
numbers is an array. `numbers`, and `shape`, are structures of a few numbers, also when an array
holds them. `lists`, and `arrays`, are lists of arrays, also when one array holds them. What `parts`
names may be tuples, dicts, .. of one structure, each part of which is worked on. An `elementwise`
function of a Ragged works on its values (`ragged/elementwise.py`), an `axial` one goes along its
axes (`ragged/reductions.py`). Elementwise functions and `reduction`s of arrays of any rank share
their programs (`shared_ranks.py`). `renamed` gives parameters by other names that are
accepted, those that they had before or that NumPy has: `renamed="ne=initial"`. A call with more
arguments by position than there are parameters is in NumPy's `order`, with `out`. A `composed` one
is written on public functions, which decide what it means for complex numbers; its name is its own.
To one of `any_dtype` floats of 16 bits are given as they are, to others as f32.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from flatweave.base.errors import FUNCTIONS, ArgumentError
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.call.direct import CONSTANT_FUNCTIONS, DirectCalls
from flatweave.frontend.trace.run_time_checks import leave_ours_out
from flatweave.frontend.values.arguments import (
    CLASSES,
    TELLING,
    in_numpys_order,
    overridden,
    python_numbers,
    python_value,
)
from flatweave.frontend.values.array import METHODS, Array, HostArray, describe, separate
from flatweave.frontend.values.elsewhere import by_strides, is_large
from flatweave.frontend.values.number_formats import speaks_of_complex, speaks_of_short
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import (
    flatten,
    is_irregular,
    is_node,
    is_structure,
    spelled,
    unflatten,
)
from flatweave.frontend.values.untraceable import must_take
from flatweave.runtime.lazy_import import opened

P = ParamSpec("P")
R = TypeVar("R")


@record
class Operation:
    """A public function as the evaluator sees it: its body, and which parameters are static."""

    name: str
    body: Callable[..., Any]
    positional: tuple[str, ...]  # names of the parameters before *args
    rest: str  # the name of *args, or ""
    static: frozenset[str]
    host: Callable[..., Any] | None  # a short cut for host arrays; NotImplemented: not this call
    moves: Callable[..., Any] | None  # NumPy's function, which gives a view of the first argument
    values: int  # the number of leading arguments whose values never change the program
    is_elementwise: bool
    is_reduction: bool  # its first argument without an `axis` is one row of elements
    structured: frozenset[str]  # in these a list of numbers is separate numbers, not an array
    lists: frozenset[str]  # in these a list is separate arrays
    direct: DirectCalls


Evaluator = Callable[[Operation, tuple[Any, ...], dict[str, Any]], Any]
OF_MISSING = frozenset({"skip_missing"})
"""A reduction's options for missing values, which arrays do not have."""
# the one slot through which calls outside a trace run; eager.py fills it when it is imported
EVALUATOR: list[Evaluator] = []


def operation(
    *, static: str = "", host: Callable[..., Any] | None = None,
    moves: Callable[..., Any] | None = None, elementwise: bool = False,
    reduction: bool = False, structured: str = "", parts: str = "", numbers: str = "",
    lists: str = "", axial: bool = False, renamed: str = "", composed: bool = False,
    any_dtype: bool = False, name: str = "", order: str = "",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a public function by its meaning inside a trace; messages call a private body by the
    `name` of the function that calls it."""
    old_names = dict(pair.split("=") for pair in renamed.split())

    def declare(body: Callable[P, R]) -> Callable[P, R]:
        named, rest = _parameters(body)
        several = {"arrays", *lists.split()}.intersection(named)
        if axial:
            body = _along_rows_too(body, lambda: call, named)
        body = _on_complex_too(body, int(bool(several)) if composed else None)
        body = _on_short_too(body, any_dtype)
        if elementwise:
            body = _on_rows_too(body, frozenset(static.split()), named)
        if parts:
            body = _on_parts_too(body, parts.split(), named)
        options = OF_MISSING if reduction or axial else frozenset()
        body = _overridable(body, lambda: call, options, sys.maxsize if rest else len(named))
        telling = {*TELLING, *static.split()}
        convert: dict[str, Callable[[Any], Any]] = {
            **dict.fromkeys(["shape", *numbers.split()], python_numbers),
            **dict.fromkeys(several, _rows_of), **dict.fromkeys(static.split(), python_value),
        }  # fmt: skip
        if reduction:
            convert["where"] = _mask
        first = next((at for at, name in enumerate(named) if name in convert), sys.maxsize)
        taken = functools.partial(_taken, old_names, convert, named)
        known = Operation(
            name or body.__name__, body, named, rest[0] if rest else "",
            frozenset(static.split()) | options, host, moves,
            next((at for at, name in enumerate([*named, *rest]) if name in telling), sys.maxsize),
            elementwise, reduction, frozenset(["shape", *structured.split(), *numbers.split()]),
            frozenset(several), DirectCalls(),
        )  # fmt: skip
        direct = known.direct

        @functools.wraps(body)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            result: Any = NotImplemented
            # else the sizes say who computes, whatever was called before
            if host is None and not (moves and is_large(args)):
                result = direct.call(*args, **kwargs) if kwargs else direct.call(*args)
                if result is not NotImplemented and type(result) is not int:
                    return result
            if order and len(args) > len(named):
                args, kwargs = in_numpys_order(known.name, order, args, kwargs)  # type: ignore[assignment]
            if kwargs or len(args) > first:
                args, kwargs = taken(args, kwargs)  # type: ignore[assignment]
            scope = innermost()
            if scope is None:
                return _at_once(known, args, kwargs, result)
            trace = scope.trace
            around, trace.where = trace.where, user_location()
            try:
                result = body(*args, **kwargs)
            except TypeError:
                must_take(f"fw.{known.name}", known.body, args, kwargs)
                raise
            trace.where = around  # the location of the calling operation holds again
            return _no_argument(result, args)

        OPERATIONS[call] = known
        FUNCTIONS.add(call.__name__)
        CONSTANT_FUNCTIONS.add(call)
        if (body.__module__ or "").startswith("flatweave."):
            METHODS.setdefault(body.__name__, call)
        return call

    return declare


def _parameters(fn: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a function's parameters before *args, and that of *args if it has any.
    `inspect.signature`, which says more, takes ten times as long."""
    code = inspect.unwrap(fn).__code__
    after = code.co_argcount + code.co_kwonlyargcount
    rest = code.co_varnames[after : after + bool(code.co_flags & inspect.CO_VARARGS)]
    return code.co_varnames[: code.co_argcount], rest


def _at_once(
    known: Operation, args: tuple[Any, ...], kwargs: dict[str, Any], tried: Any
) -> Any:
    """The result of a call outside of every trace; `tried` is what machine code gave."""
    try:
        found = known.host(*args, **kwargs) if known.host else NotImplemented
        if known.moves and is_large(args):
            found = by_strides(known.moves, args, kwargs)
        if found is not NotImplemented:
            for arg in args:
                if arg is found:
                    return separate(found)
            return found
        if tried is NotImplemented:
            tried = known.direct.call(*args, **kwargs)
            found = NotImplemented if type(tried) is int else tried
        if found is NotImplemented:
            found = EVALUATOR[0](known, args, kwargs)
        if type(tried) is int:
            known.direct.refuse(tried)
        return _no_argument(found, args)
    except Exception as error:
        if isinstance(error, TypeError):
            must_take(f"fw.{known.name}", known.body, args, kwargs)
        leave_ours_out(error)
        raise


def _no_argument(result: Any, args: tuple[Any, ...]) -> Any:
    """A result that is another object than the arguments, which may be assigned to later."""
    if isinstance(result, Array):
        for arg in args:
            if arg is result or (type(arg) in (list, tuple) and any(x is result for x in arg)):
                return separate(result)
    return result


def _by_new_names(old_names: Mapping[str, str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a call by the names that parameters have now; an old name next to the new
    one stays, and no parameter takes it."""
    return {
        name if old_names.get(name, name) in kwargs else old_names[name]: value
        for name, value in kwargs.items()
    }


def _taken(
    old_names: Mapping[str, str], convert: dict[str, Callable[[Any], Any]], named: Sequence[str],
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:  # fmt: skip
    """The arguments of a call, each as its parameter wants it."""
    if old_names and kwargs:
        kwargs = _by_new_names(old_names, kwargs)
    for name in convert.keys() & kwargs.keys():
        kwargs[name] = convert[name](kwargs[name])
    return tuple(_converted(convert, named, args)), kwargs


def _converted(
    convert: dict[str, Callable[[Any], Any]], named: Sequence[str], args: tuple[Any, ...]
) -> Iterator[Any]:
    """Arguments by position, each as its parameter wants it."""
    for at, value in enumerate(args):
        name = named[at] if at < len(named) else ""
        yield convert[name](value) if name in convert else value


def _rows_of(value: Any) -> object:
    """A list of arrays; of one array that is here, its rows."""
    if isinstance(value, np.ndarray | HostArray) and value.ndim:
        return list(np.asarray(value))
    return value


def _mask(value: Any) -> object:
    """The `where` of a reduction; True leaves nothing out, as in NumPy."""
    return None if value is True else value


def _by_name(
    names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by the names of their parameters; TypeError for too many."""
    if len(args) > len(names):
        raise TypeError("too many positional arguments")
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _overridable(
    body: Callable[P, R], function: Callable[[], Callable[..., Any]], ignored: frozenset[str],
    most: int,
) -> Callable[P, R]:  # fmt: skip
    """The function, unless the class of an argument says what it does; `ignored` are options that
    only such classes know, and at most `most` arguments are given by position."""

    @functools.wraps(body)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        if CLASSES and len(args) <= most:
            found = overridden(function(), args, kwargs)
            if found is not NotImplemented:
                return found
        if ignored and kwargs:
            for name in ignored & kwargs.keys():
                del kwargs[name]
        return body(*args, **kwargs)

    return work


def _on_complex_too(body: Callable[P, R], level: int | None) -> Callable[P, R]:
    """The function, extended to complex numbers by a separate rule; a composed one, whose lists of
    numbers are arrays from some `level` on, is given them as they are."""

    @functools.wraps(body)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        options = [value for name, value in kwargs.items() if name != "order"]  # "F" is no dtype
        if speaks_of_complex(args) or (options and speaks_of_complex(options)):
            rules = opened("complex")
            if level is not None:
                return rules.composed(body, args, kwargs, level)
            return rules.on_complex(body, args, kwargs)
        return body(*args, **kwargs)

    return work


def _on_short_too(body: Callable[P, R], any_dtype: bool) -> Callable[P, R]:
    """The function, extended to floats of 16 bits, which it reads as f32 or moves as they are."""

    @functools.wraps(body)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        if speaks_of_short(args) or (kwargs and speaks_of_short(kwargs.values())):
            return opened("short").on_short(body, args, kwargs, any_dtype)
        return body(*args, **kwargs)

    return work


def _on_rows_too(
    body: Callable[P, R], static: frozenset[str], names: Sequence[str]
) -> Callable[P, R]:
    """The function, extended to Ragged arguments, for which it gives a Ragged."""

    def on_rows(fn: Callable[..., R], operands: dict[str, Any]) -> R:
        return METHODS["on_rows"](body.__name__, fn, operands)

    @functools.wraps(body)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        if not any(is_irregular(value) for value in (*args, *kwargs.values())):
            return body(*args, **kwargs)
        operands = _by_name(names, args, kwargs)
        fixed = {name: value for name, value in operands.items() if name in static}
        rest = {name: value for name, value in operands.items() if name not in static}
        if not any(map(is_irregular, rest.values())):
            return body(*args, **kwargs)
        return on_rows(functools.partial(work, **fixed), rest)

    return work


def _along_rows_too(
    body: Callable[P, R], function: Callable[[], Callable[..., Any]], names: Sequence[str]
) -> Callable[P, R]:
    """The function along an axis, extended to Ragged arguments, which come first."""

    @functools.wraps(body)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        given = _by_name(names, args, kwargs)
        if not is_irregular(given.get(names[0])):
            return body(*args, **kwargs)
        rows, axis = given.pop(names[0]), given.pop("axis", None)
        options = {name: value for name, value in given.items() if value is not None}
        return METHODS["along_rows"](function(), rows, axis, options)

    return work


def _on_parts_too(
    body: Callable[P, R], names: Sequence[str], positional: Sequence[str]
) -> Callable[P, R]:
    """The function, extended to structures in these parameters, for which it gives the like."""

    @functools.wraps(body)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        given = _by_name(positional, args, kwargs)
        alike = [name for name in names if name in given]
        if not any(is_structure(given[name]) for name in alike):
            return body(*args, **kwargs)
        flat = [flatten(given[name], is_node) for name in alike]
        tree = flat[0][1]
        for name, (_, other) in zip(alike, flat, strict=True):
            if other != tree:
                raise ArgumentError.here(
                    f"{body.__name__} needs {' and '.join(alike)} of one structure, got"
                    f" {_told(given[alike[0]])} and {_told(given[name])}.",
                    "Give a value for each part; fw.asarray(xs) makes an array of numbers"
                    " in a tuple.",
                )
        return unflatten(tree, [
            METHODS[body.__name__](**{**given, **dict(zip(alike, leaves, strict=True))})
            for leaves in zip(*(found for found, _ in flat), strict=True)
        ])  # fmt: skip

    return work


def _told(value: Any) -> str:
    leaves, tree = flatten(value, is_node)
    return spelled(tree, [
        describe(leaf) if isinstance(leaf, Array | np.ndarray) else type(leaf).__name__
        for leaf in leaves
    ])  # fmt: skip


# every public function that `operation` declared: their results depend on nothing but arguments
OPERATIONS: dict[Callable[..., Any], Operation] = {}
