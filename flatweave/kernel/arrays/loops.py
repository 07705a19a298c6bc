"""Loops and branches of the code being written: `for_all` below its level, `seq_*` in one unit.

    for_all(256, lambda i: ..)                 each i by a thread of the block, in no order
    total = seq_for(0, n, lambda i, s: s + xs[i], 0)
    value = cond(p, lambda: xs[i], lambda: 0)  one of two, the other is not computed
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import ArgumentError, DTypeError, NestingError
from flatweave.base.source import user_location
from flatweave.frontend.elements.conversion import cast
from flatweave.frontend.values.promotion import common
from flatweave.frontend.values.scope import entered
from flatweave.frontend.values.tree import Tree, unflatten
from flatweave.kernel.arrays.pulls import Pull, need_pull
from flatweave.kernel.writing.code import (
    Extent,
    extent_of,
    here,
    level,
    number,
    numbers,
    place,
    trace,
    writing,
)
from flatweave.kernel.writing.elements import Kind, leaves_of
from flatweave.kernel.writing.launch import launch
from flatweave.kernel_ir.arrays import UnitCode, level_of
from flatweave.kernel_ir.hierarchy import BLOCK, GRID, THREAD, WARP, ForAll, Level
from flatweave.terms.build import index
from flatweave.terms.control import NO_BODY, For, If, While
from flatweave.terms.syntax import Const, Lambda

BELOW = {GRID: BLOCK, BLOCK: THREAD, WARP: THREAD}
"""Who shares the work of a level, unless warps are asked for."""


def below(wanted: Level | None, who: str) -> Level:
    """The level whose units share the work of the code being written."""
    around = level()
    if around is THREAD:
        raise NestingError(
            f"{who} shares work among units below a thread, and there are none.",
            where=user_location(),
            remedy="A thread goes one by one: use seq_for, seq_reduce, seq_scan or push. Blocks "
            "have threads, or warps which have threads; deeper nests do not exist.",
        )
    found = BELOW[around] if wanted is None else Level(wanted)
    if found >= around or (found is not BLOCK and around is GRID):
        raise NestingError(
            f"{who} shares the work of a {around.word} among its "
            f"{BELOW[around].word}s, not among {found.word}s.",
            where=user_location(),
            remedy="Go down level by level: the grid has blocks, a block has warps or threads, a "
            "warp has threads.",
        )
    return found


def for_all(count: Extent, body: Callable[[Any], Any], level: Level | None = None) -> None:
    """`body(i)` for each i below `count`, in parallel and in no order.

    In code of the grid each i is a block, and the whole is one launch; in that of a block it is a
    thread, or with level=WARP a warp; in that of a warp a thread. What `body` stores is what it is
    for. Raises NestingError in code of a thread.
    """
    units = below(level, "for_all")
    scope, made = here(), trace()
    unit = made.scope_of(UnitCode(scope.builder, units))
    extent = extent_of(count)
    i = unit.builder.param("i", i64, below=extent)
    unit.natural.add(i)
    with entered(unit):
        body(numbers([i])[0])
    unit.closed = True
    fn = unit.builder.close([i], [])
    if units is BLOCK:
        launch(made, extent, fn)
    else:
        divided = units is THREAD and level_of(scope.builder) is BLOCK
        each = made.each if divided and made.each is not None else 1
        here().emit(ForAll(units.word, extent, fn, each))


def seq_for(
    lo: Any, hi: Any, body: Callable[..., Any], init: Any = None
) -> Any:
    """`body(i)` for lo <= i < hi, one after the other; with `init` it is body(i, state), which
    gives the next state, and the last one is the result."""
    scope = here()
    first, end = place(lo, "the start of a loop"), place(hi, "the end of a loop")
    kind, atoms = _state(init)
    code = scope.builder.inner()
    inner = writing().scope_of(code)
    i = code.param("i", i64, below=end)
    inner.natural.add(i)
    state = [code.param("s", dtype) for dtype in kind.dtypes]
    with entered(inner):
        at = numbers([i])[0]
        if init is None:
            body(at)
            results = []
        else:
            results = kind.atoms(body(at, kind.value(state)), "the state of seq_for")
    inner.closed = True
    fn = code.close([i, *state], results)
    found = here().emit(For(first, end, index(1), fn, tuple(atoms)))
    return None if init is None else kind.value(found)


def _state(init: Any) -> tuple[Kind, list[Any]]:
    """The kind of a loop's state and its first value; nothing for None."""
    if init is None:
        return Kind(Tree("tuple"), ()), []
    leaves, tree = leaves_of(init, "the state of a loop")
    strong = [cast(leaf, leaf.element) for leaf in leaves]
    return Kind(tree, tuple(leaf.element for leaf in strong)), [leaf.atom for leaf in strong]


def seq_while(holds: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """The state after `body` has changed it while `holds(state)`; threads may differ in how often.
    """
    scope, made = here(), writing()
    kind, atoms = _state(init)

    def written(fn: Callable[[Any], Any], finish: Callable[[Any], list[Any]]) -> Lambda:
        code = scope.builder.inner()
        inner = made.scope_of(code)
        params = [code.param("s", dtype) for dtype in kind.dtypes]
        with entered(inner):
            results = finish(fn(kind.value(params)))
        inner.closed = True
        return code.close(params, results)

    test = written(holds, lambda found: [_condition(found, "the condition of seq_while")])
    turn = written(body, lambda found: kind.atoms(found, "the state of seq_while"))
    return kind.value(here().emit(While(test, turn, tuple(atoms))))


def seq_until(fn: Callable[[Any], Any], holds: Callable[[Any], Any], init: Any) -> Any:
    """`fn` again and again while `holds`: the thesis's seqUntil, which gives the last state."""
    return seq_while(holds, fn, init)


def seq_iterate(n: Extent, fn: Callable[[Any, Any], Any], init: Any) -> Any:
    """fn(n - 1, .. fn(1, fn(0, init)))"""
    return seq_for(0, n, fn, init)


def seq_reduce(op: Callable[[Any, Any], Any], xs: Any, ne: Any = None) -> Any:
    """The elements combined from the first to the last, by one unit, in a loop.

    With a neutral element also of no elements; without one the array must have an element.
    """
    array = need_pull(xs, "seq_reduce")
    if ne is not None:
        return seq_for(0, array.length, lambda i, s: op(s, array[i]), _met(op, array, ne))
    if isinstance(array.length, int) and array.length < 1:
        raise ArgumentError(
            "seq_reduce of no elements has no value.",
            where=user_location(), remedy="Give a neutral element: seq_reduce(op, xs, ne).",
        )  # fmt: skip
    return seq_for(1, array.length, lambda i, s: op(s, array[i]), array[0])


def _met(op: Callable[[Any, Any], Any], array: Pull, ne: Any) -> Any:
    """A neutral element, whose whole numbers of Python become the floats that `op` makes of them.
    """
    leaves, tree = leaves_of(ne, "the neutral element")
    none = isinstance(array.length, int) and array.length < 1
    if none or not any(leaf.weak and not leaf.element.is_float for leaf in leaves):
        return ne
    restore = here().snapshot()
    found, same = leaves_of(op(ne, array[0]), "a combination")
    restore()
    if same != tree:
        return ne
    return unflatten(tree, [
        cast(leaf, other.element) if leaf.weak and other.element.is_float else leaf
        for leaf, other in zip(leaves, found, strict=True)
    ])  # fmt: skip


def cond(p: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The value of one of two functions; the other one does not run."""
    scope, made = here(), writing()
    condition = _condition(p, "the condition of cond")
    if isinstance(condition, Const):
        return then() if condition.value else other()
    written = []
    for fn in (then, other):
        code = scope.builder.inner(optional=True)
        inner = made.scope_of(code)
        with entered(inner):
            leaves, tree = leaves_of(fn(), "what a branch of cond gives")
        written.append((code, inner, leaves, tree))
    (_, _, ours, tree), (_, _, theirs, theirs_tree) = written
    if tree != theirs_tree:
        raise DTypeError(
            "the branches of cond give values of different structure.",
            where=user_location(), remedy="Give the same tuples of numbers in both.",
        )  # fmt: skip
    dtypes = tuple(common((a, b))[0] for a, b in zip(ours, theirs, strict=True))
    ways = []
    for code, inner, leaves, _ in written:
        with entered(inner):
            atoms = [cast(leaf, dtype).atom for leaf, dtype in zip(leaves, dtypes, strict=True)]
        inner.closed = True
        ways.append(code.close([], atoms))
    return Kind(tree, dtypes).value(here().emit(If(condition, *ways)))


def when(p: Any, body: Callable[[], Any]) -> None:
    """`body()` where the condition holds: what it stores is what it is for."""
    scope, made = here(), writing()
    condition = _condition(p, "the condition of when")
    if isinstance(condition, Const):
        if condition.value:
            body()
        return
    code = scope.builder.inner(optional=True)
    inner = made.scope_of(code)
    with entered(inner):
        body()
    inner.closed = True
    here().emit(If(condition, code.close([], []), NO_BODY))


def _condition(p: Any, what: str) -> Any:
    found = number(p, what)
    if found.element is not bool_:
        raise DTypeError(
            f"{what} must be a bool, got {found.element.name}.",
            where=user_location(), remedy="Compare it, for instance with x != 0.",
        )  # fmt: skip
    return found.atom
