"""recurrence: a loop that hands a carry from element to element, or a parallel scan.

    step(carry, x) -> (carry, y)        jax.lax.scan's meaning

The step is tried on a carry that is a function of a carry (`carry_functions.py`) instead of a
number. Where the new carry has the same form, such functions are composed by a scan, and the
outputs are a map over the carries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.tables.carry_functions import Affine, MaxPlus, MinPlus, OrAnd

Step = Callable[[Any, Any], tuple[Any, Any]]


@fw.operation(static="axis reverse parallel")
def recurrence(
    step: Callable[[Any, Any], Any], initial: Any, xs: Any, *, axis: int = 0, reverse: bool = False,
    parallel: bool | None = None,
) -> Any:  # fmt: skip
    """`step(carry, x) -> (carry, y)` from element to element: (the last carry, all outputs).

    As `jax.lax.scan`: `xs` is any structure of arrays, of which a step gets the elements at one
    index along `axis`, with `reverse` from the last to the first; outputs are stacked along that
    axis. For a Ragged, each row separately, from one `initial`. Where the new carry is one number
    and a multiple of the old one plus a number, its maximum or minimum with a number after a sum,
    or its `&` and `|` with bools, a parallel scan computes the carries, which rounds otherwise than
    the loop. `parallel=False` is always the loop, `parallel=True` never.

    Types: `step: (c, a) -> (c, b), initial: c, xs: a[n] -> c, b[n]`. Raises OperatorError for
    `parallel=True` where no scan is known, ArgumentError for a step that gives no pair, and
    ShapeError for arrays of different lengths. Source: `jax.lax.scan`.

        >>> fw.recurrence(lambda c, x: (0.5 * c + x, c), 0.0, [1.0, 2.0, 4.0])
        (Array(5.25, dtype=float64), Array([0. , 1. , 2.5], dtype=float64))
    """
    if isinstance(xs, fw.Ragged):
        return fw.map(
            lambda row: recurrence(step, initial, row, reverse=reverse, parallel=parallel), xs
        )
    xs = fw.asarray(xs) if isinstance(xs, list) and not xs else _arrays(xs)
    step = _paired(step)
    if axis:
        xs = _each(lambda x: fw.moveaxis(x, axis, 0), xs)
    if parallel is not False:
        found = _in_parallel(step, initial, xs, reverse)
        if found is not None:
            fw.note("the recurrence is a parallel scan of functions of the carry")
            return _stacked(found, axis)
    if parallel:
        raise fw.OperatorError.here(
            "recurrence knows no parallel form of this step.",
            "Leave parallel=True out; or compose functions of the carry yourself, with fw.scan.",
        )
    fw.note("the recurrence is a loop over the elements in order")
    return _stacked(_in_turn(step, initial, xs, reverse), axis)


def _paired(step: Callable[[Any, Any], Any]) -> Step:
    """The step, whose results are looked at: a carry and an output."""

    def checked(carry: Any, x: Any) -> tuple[Any, Any]:
        found = step(carry, x)
        if isinstance(found, tuple | list) and len(found) == 2:
            return found[0], found[1]
        what = f"{len(found)} values" if isinstance(found, tuple | list) else "one value"
        raise fw.ArgumentError.here(
            f"The step of a recurrence gives a carry and an output, but this one gives {what}.",
            "Return both: `lambda y, x: (0.9 * y + 0.1 * x,) * 2` where the carry is the output.",
        )

    return checked


def _stacked(found: tuple[Any, Any], axis: int) -> tuple[Any, Any]:
    carry, outputs = found
    if axis:
        outputs = _each(lambda y: fw.moveaxis(y, 0, axis), outputs)
    return carry, outputs


def _each(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A function of the arrays of structures that are alike."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {name: _each(f, part, *(o[name] for o in others)) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        parts = [_each(f, *group) for group in zip(tree, *others, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree)]
        new = {n: _each(f, *(getattr(o, n) for o in (tree, *others))) for n in names}
        return dataclasses.replace(tree, **new)
    return f(tree, *others)


def _arrays(xs: Any) -> Any:
    return _each(fw.asarray, xs)


def _first(xs: Any) -> Any:
    """An array of a structure."""
    found: list[Any] = []
    _each(found.append, xs)
    if not found:
        raise fw.ArgumentError.here("recurrence got no array.", "Give it one: xs=fw.iota(n).")
    return found[0]


def _in_turn(step: Step, initial: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    """The loop."""
    n = _first(xs).shape[0]

    def output(x: Any) -> Any:
        """The first output, for its type: of a carry in the dtypes that steps give."""
        carry = fw.where(True, initial, step(initial, x)[0])
        y = step(carry, x)[1]
        return 0 if y is None else y

    is_none: list[bool] = []

    def probed(x: Any) -> Any:
        is_none.append(step(initial, x)[1] is None)
        return output(x)

    room = fw.map(probed, xs)
    outputs = None if is_none[0] else _each(fw.zeros_like, room)

    def one(i: Any, state: Any) -> Any:
        carry, written = state
        at = n - 1 - i if reverse else i
        carry, y = step(carry, _each(lambda x: x[at], xs))
        if written is not None:
            written = _each(lambda out, value: fw.replace(out, at, value), written, y)
        return carry, written

    return fw.fori_loop(0, n, one, (initial, outputs))  # type: ignore[no-any-return]


def _in_parallel(step: Step, initial: Any, xs: Any, reverse: bool) -> tuple[Any, Any] | None:
    """The scan of forms; None where the step gives none."""
    start = fw.asarray(initial) if _is_number(initial) else None
    if start is None or start.ndim:
        return None
    cls = _form_of(step, start, xs)
    if cls is None:
        return None

    def parts(x: Any) -> Any:
        form = step(cls(*cls.identity), x)[0]
        return form.parts(_type(step, initial, x))

    forms = fw.map(parts, xs)
    dtype = forms[0].dtype
    begin = (dtype.type(cls.identity[0]), start.astype(dtype), True)

    def compose(f: Any, g: Any) -> Any:
        whole = cls(*f).then(cls(*g))
        return whole.a, whole.b, whole.resets

    if reverse:
        forms = _each(fw.reverse, forms)
    after = fw.scan(compose, begin, forms, check=False)[1]
    before = fw.concat([fw.full(1, start.astype(dtype)), after])
    n = after.shape[0]
    carries = before[:-1]
    if reverse:
        carries = fw.reverse(carries)
    is_none: list[bool] = []

    def output(c: Any, x: Any) -> Any:
        y = step(c, x)[1]
        is_none.append(y is None)
        return 0 if y is None else y

    outputs = fw.map(output, carries, xs)
    return before[n], None if is_none[0] else outputs


def _is_number(value: Any) -> bool:
    return not isinstance(value, tuple | list | dict) and not dataclasses.is_dataclass(value)


def _type(step: Step, initial: Any, x: Any) -> Any:
    """The dtype of carries."""
    return fw.where(True, initial, step(initial, x)[0]).dtype


def _form_of(step: Step, initial: Any, xs: Any) -> Any:
    """The class of forms that a step maps to themselves, or None."""
    for cls in (OrAnd,) if initial.dtype == fw.bool_ else (Affine, MaxPlus, MinPlus):
        found: list[Any] = []

        def tried(x: Any, cls: Any = cls, found: list[Any] = found) -> Any:
            form = step(cls(*cls.identity), x)[0]
            dtype = _type(step, initial, x)
            fits = cls in (Affine, OrAnd) or fw.isdtype(dtype, "real floating")
            found.append(type(form) is cls and fits)
            return 0

        try:
            fw.map(tried, xs)
        except Exception:  # what a step does with a number need not work with a form
            continue
        if found and found[0]:
            return cls
    return None
