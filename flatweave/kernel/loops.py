"""Loops and branches of the code being written: `for_all` below its level, `seq_*` in one unit.

    for_all(256, lambda i: ..)                 each i by a thread of the block, in no order
    total = seq_for(0, n, lambda i, s: s + xs[i], 0)
    value = cond(p, lambda: xs[i], lambda: 0)  one of two, the other is not computed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import DTypeError, NestingError
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.values.arguments import common
from flatweave.frontend.values.scope import Scope, entered
from flatweave.frontend.values.tree import Tree, unflatten
from flatweave.kernel.checks import (
    Known,
    failed_at,
    failed_in,
    is_endless,
    need,
    need_function,
    need_space,
    until_it_fails,
)
from flatweave.kernel.code import (
    Extent,
    extent_of,
    here,
    launch,
    level,
    number,
    numbers,
    place,
    trace,
    writing,
)
from flatweave.kernel.elements import Kind, floats, leaves_of, leaves_of_both
from flatweave.kernel.pulls import Pull, need_pull
from flatweave.kernel_ir.hierarchy import (
    BLOCK,
    GRID,
    THREAD,
    WARP,
    ForAll,
    Level,
    UnitCode,
    level_of,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.inequalities import is_at_least
from flatweave.terms.syntax import Atom, Const, Var

FALSE = Const(False, bool_)
MOST_OF_BLOCK = 1 << 15
"""Elements of a block whose indices fit: a launch of 2^48 blocks would run for days."""
BELOW = {GRID: BLOCK, BLOCK: THREAD, WARP: THREAD}
"""Who shares the work of a level, unless warps are asked for."""


def below(wanted: Level | None, who: str) -> Level:
    """The level whose units share the work of the code being written."""
    around = level()
    if around is THREAD:
        raise NestingError.here(
            f"{who} shares work among units below a thread, and there are none.",
            "A thread goes one by one: use seq_for, seq_reduce, seq_scan or push. Blocks "
            "have threads, or warps which have threads; deeper nests do not exist.",
        )
    found = BELOW[around] if wanted is None else Level(wanted)
    if found >= around or (found is not BLOCK and around is GRID):
        raise NestingError.here(
            f"{who} shares the work of a {around.word} among its "
            f"{BELOW[around].word}s, not among {found.word}s.",
            "Go down level by level: the grid has blocks, a block has warps or threads, a "
            "warp has threads.",
        )
    return found


def for_all(
    count: Extent | tuple[Extent, ...], body: Callable[..., Any], level: Level | None = None
) -> None:
    """`body(i)` for each i below `count`, in parallel and in no order; `body(i, j)` for (n, m).

    In code of the grid each i is a block, and the whole is one launch; in that of a block it is a
    thread, or with level=WARP a warp; in that of a warp a thread. Neighbouring threads have
    neighbouring j. What `body` stores is what it is for. Raises NestingError in code of a thread.

    Types: `count: integer or a tuple of them, body: i64, .. -> None, level: Level -> None`.
    Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def squares(xs):
        ...     found = fk.memory(4, fw.i64)
        ...     fk.for_all(4, lambda b: found.__setitem__(b, xs[b] * xs[b]))
        ...     return found
        >>> squares(np.arange(4))
        Array([0, 1, 4, 9], dtype=int64)
    """
    need_function(body, who="for_all")
    units = below(level, "for_all")
    total, indices = need_space(count, "for_all")
    scope, made = here(), trace()
    unit = made.scope_of(UnitCode(scope.builder, units))
    extent = extent_of(total)
    i = unit.builder.param("i", i64, below=extent)
    unit.natural.add(i)
    if units is BLOCK:  # the elements of all blocks have indices that do not wrap
        unit.builder.assume_shape((extent, index(MOST_OF_BLOCK)))
    unit.builder.index = i  # type: ignore[attr-defined]
    with entered(unit):
        body(*indices(numbers([i])[0]))
    unit.closed = True
    fn = unit.builder.close([i], [])
    if units is BLOCK:
        launch(made, extent, fn)
    else:
        divided = units is THREAD and level_of(scope.builder) is BLOCK
        each = made.each if divided and made.each is not None else 1
        here().emit(ForAll(units.word, extent, fn, each))


def seq_for(lo: Any, hi: Any, body: Callable[..., Any], init: Any = None) -> Any:
    """`body(i)` for lo <= i < hi, in order; with `init` it is body(i, state), which
    gives the next state, and the last one is the result.

    Types: `lo: integer, hi: integer, body: (i64, t) -> t, init: t -> t`. Raises DTypeError for
    a state of another type. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda x: fk.seq_for(0, 3, lambda i, s: s * 2, x), xs)
        >>> example(np.arange(4))
        Array([ 0,  8, 16, 24], dtype=int64)
    """
    need_function(body, who="seq_for")
    scope = here()
    first, end = place(lo, "the start of a loop"), place(hi, "the end of a loop")
    kind, atoms = _state(init)
    code = scope.builder.inner()
    inner = writing().scope_of(code)
    i = code.param("i", i64)
    if is_at_least(Known(scope), first, index(0)):
        code.assume_index(i, end)
        inner.natural.add(i)
    for fn, bound in (("ge", first), ("lt", end)):
        code.assume_condition(Apply(fn, (i, bound)), True)
    state = [code.param("s", dtype) for dtype in kind.dtypes]
    with entered(inner):
        at = numbers([i])[0]
        if init is None:
            body(at)
            results = []
        else:
            results = kind.atoms(body(at, kind.value(state)), "the state of seq_for")
    inner.closed = True
    failed = failed_in(inner)
    if failed is not None:
        state.append(code.param("failed", bool_))
        results = [*results, code.apply("or", state[-1], failed)]
        atoms = [*atoms, FALSE]
    body_of_loop = code.close([i, *state], results)
    found = here().emit(For(first, end, index(1), body_of_loop, tuple(atoms)))
    if failed is not None:
        failed_at(found[-1])
    return None if init is None else kind.value(found[: len(kind.dtypes)])


def _state(init: Any) -> tuple[Kind, list[Any]]:
    """The kind of a loop's state and its first value; nothing for None."""
    if init is None:
        return Kind(Tree("tuple"), ()), []
    leaves, tree = leaves_of(floats(init), "the state of a loop")
    strong = [cast(leaf, leaf.element) for leaf in leaves]
    return Kind(tree, tuple(leaf.element for leaf in strong)), [leaf.atom for leaf in strong]


Written = tuple[Builder, list[Var], list[Any], Atom | None]


def seq_while(holds: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """The state after `body` has changed it while `holds(state)`; threads may differ in how often.

    It ends where an index in it is outside of its array, for then the call raises an error.

    Types: `holds: t -> bool, body: t -> t, init: t -> t`. Raises DTypeError for a condition
    that is no bool, and for a state of another type. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda x: fk.seq_while(lambda s: s < 10, lambda s: s * 2, x), xs)
        >>> example(np.arange(1, 5))
        Array([16, 16, 12, 16], dtype=int64)
    """
    need_function(holds, body, who="seq_while")
    scope, made = here(), writing()
    kind, atoms = _state(init)

    def written(fn: Callable[[Any], Any], finish: Callable[[Any], list[Any]]) -> Written:
        code = scope.builder.inner()
        inner = made.scope_of(code)
        params = [code.param("s", dtype) for dtype in kind.dtypes]
        with entered(inner), until_it_fails():
            results = finish(fn(kind.value(params)))
        inner.closed = True
        return code, params, results, failed_in(inner)

    test = written(holds, lambda found: [_condition(found, "the condition of seq_while")])
    turn = written(body, lambda found: kind.atoms(found, "the state of seq_while"))
    if test[-1] is None and turn[-1] is None:
        holds_on, goes_on = (code.close(params, values) for code, params, values, _ in (test, turn))
        return kind.value(here().emit(While(holds_on, goes_on, tuple(atoms))))
    return kind.value(_while_nothing_fails(test, turn, atoms)[:-1])


def _while_nothing_fails(test: Written, turn: Written, atoms: list[Any]) -> tuple[Var, ...]:
    """A loop that ends where a check in it fails, too, which is the last of its results."""
    code, params, (holds,), failed = test
    before = code.param("failed", bool_)
    fails = before if failed is None else code.apply("or", before, failed)
    condition = code.close([*params, before], [code.apply("and", holds, code.apply("not", fails))])
    again = code.close([*params, before], [fails])
    code, params, results, failed = turn
    before = code.param("failed", bool_)
    fails = before if failed is None else code.apply("or", before, failed)
    body = code.close([*params, before], [*results, fails])
    found = here().emit(While(condition, body, (*atoms, FALSE)))
    if is_endless():  # the loop around this one ends where the last test has failed
        (ended,) = here().builder.inline(again, found)
        failed_at(numbers([ended])[0].atom)
    return found


def seq_until(fn: Callable[[Any], Any], holds: Callable[[Any], Any], init: Any) -> Any:
    """`fn` again and again while `holds`: the thesis's seqUntil, which gives the last state.

    Types: `fn: t -> t, holds: t -> bool, init: t -> t`. Raises DTypeError for a condition that
    is no bool, and for a state of another type. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda x: fk.seq_until(lambda s: s * 2, lambda s: s < 10, x), xs)
        >>> example(np.arange(1, 5))
        Array([16, 16, 12, 16], dtype=int64)
    """
    return seq_while(holds, fn, init)


def seq_iterate(n: Extent, fn: Callable[[Any, Any], Any], init: Any) -> Any:
    """fn(n - 1, .. fn(1, fn(0, init)))

    Types: `n: integer, fn: (i64, t) -> t, init: t -> t`. Raises DTypeError for a state of
    another type. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda x: fk.seq_iterate(3, lambda i, s: s + i, x), xs)
        >>> example(np.arange(4))
        Array([3, 4, 5, 6], dtype=int64)
    """
    return seq_for(0, n, fn, init)


def seq_reduce(op: Callable[[Any, Any], Any], xs: Any, identity: Any = None) -> Any:
    """The elements combined from the first to the last, by one unit, in a loop.

    With a neutral element also of no elements; without one the array must have an element.

    Types: `op: (t, t) -> t, xs: pull t[n], identity: t -> t`. Raises ShapeError for no elements
    without an `identity`, ArgumentError for what is no pull array. Source: Obsidian (Svensson
    2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda p: fk.seq_reduce(fw.add, p), fk.split_up(2, xs))
        >>> example(np.arange(8))
        Array([ 1,  5,  9, 13], dtype=int64)
    """
    array = need_pull(xs, "seq_reduce")
    if identity is not None:
        return seq_for(0, array.length, lambda i, s: op(s, array.at(i)), met(op, array, identity))
    need(1, array.length, "seq_reduce of {0} elements has no value.",
         "Give a neutral element: seq_reduce(op, xs, identity).", array.length)  # fmt: skip
    return seq_for(1, array.length, lambda i, s: op(s, array.at(i)), array[0])


def met(op: Callable[[Any, Any], Any], array: Pull, identity: Any) -> Any:
    """A neutral element: whole numbers of Python become the floats that `op` makes of them."""
    leaves, tree = leaves_of(identity, "the neutral element")
    none = isinstance(array.length, int) and array.length < 1
    if none or not any(leaf.weak and not leaf.element.is_float for leaf in leaves):
        return identity
    restore = here().snapshot()
    found, same = leaves_of(op(identity, array.at(0)), "a combination")
    restore()
    if same != tree:
        return identity
    return unflatten(tree, [
        cast(leaf, other.element) if leaf.weak and other.element.is_float else leaf
        for leaf, other in zip(leaves, found, strict=True)
    ])  # fmt: skip


def cond(p: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The value of one of two functions; the other one does not run.

    Types: `p: bool, then: () -> t, other: () -> t -> t`. Raises DTypeError for a `p` that is no
    bool, and for values of two structures. Source: Obsidian (Svensson 2013).

        >>> @fk.kernel
        ... def example(xs):
        ...     return fk.map(lambda x: fk.cond(x > 1, lambda: x, lambda: -x), xs)
        >>> example(np.arange(4))
        Array([ 0, -1,  2,  3], dtype=int64)
    """
    scope, made = here(), writing()
    need_function(then, other, who="cond")
    condition = _condition(p, "the condition of cond")
    if isinstance(condition, Const):
        return then() if condition.value else other()
    written: list[tuple[Scope, Any]] = []
    for fn, value in ((then, True), (other, False)):
        code = scope.builder.inner(optional=True)
        code.assume_condition(condition, value)
        with entered(made.scope_of(code)):
            written.append((made.scope_of(code), fn()))
    (ours, tree), (theirs, theirs_tree) = leaves_of_both(written)
    if tree != theirs_tree:
        raise DTypeError.here(
            "the branches of cond give values of different structure.",
            "Give the same tuples of numbers in both.",
        )
    dtypes = tuple(common((a, b))[0] for a, b in zip(ours, theirs, strict=True))
    ways = []
    for (inner, _), leaves in zip(written, (ours, theirs), strict=True):
        with entered(inner):
            atoms = [cast(leaf, dtype).atom for leaf, dtype in zip(leaves, dtypes, strict=True)]
        inner.closed = True
        ways.append((inner.builder, atoms, failed_in(inner)))
    return Kind(tree, dtypes).value(_either(condition, ways))


def _either(
    condition: Atom, ways: Sequence[tuple[Builder, list[Atom], Atom | None]]
) -> tuple[Var, ...]:
    """One of two bodies, whose checks may fail in a loop that ends then."""
    if all(failed is None for _, _, failed in ways):
        return here().emit(If(condition, *(code.close([], atoms) for code, atoms, _ in ways)))
    bodies = (code.close([], [*atoms, failed or FALSE]) for code, atoms, failed in ways)
    found = here().emit(If(condition, *bodies))
    failed_at(found[-1])
    return found[:-1]


def when(p: Any, body: Callable[[], Any]) -> None:
    """`body()` where the condition holds: what it stores is what it is for.

    Types: `p: bool, body: () -> None -> None`. Raises DTypeError for a `p` that is no bool.
    Source: Haskell's `when`.

        >>> @fk.kernel
        ... def updated(xs):
        ...     m = fk.fill(xs)
        ...     def thread(t):
        ...         fk.when(t > 0, lambda: fk.atomic_inc(m, t))
        ...     fk.for_all(1, lambda b: fk.for_all(2, thread))
        ...     return m
        >>> updated(np.array([5, 6]))
        Array([5, 7], dtype=int64)
    """
    need_function(body, who="when")
    scope, made = here(), writing()
    condition = _condition(p, "the condition of when")
    if isinstance(condition, Const):
        if condition.value:
            body()
        return
    code = scope.builder.inner(optional=True)
    code.assume_condition(condition, True)
    inner = made.scope_of(code)
    with entered(inner):
        body()
    inner.closed = True
    _either(condition, [(code, [], failed_in(inner)), (scope.builder.inner(), [], None)])


def _condition(p: Any, what: str) -> Any:
    found = number(p, what)
    if found.element is not bool_:
        raise DTypeError.here(
            f"{what} must be a bool, got {found.element.name}.",
            "Compare it, for instance with x != 0.",
        )
    return found.atom
