"""expand: as many results for each source as its size says, in order (Elsman and others 2019).

    expand (x => x) (x i => x * i) [2, 3, 1]        [0, 2, 0, 3, 6, 0]
    ends = scan add 0 (map size xs)                 [2, 5, 6]
    generate [total] (p => s, start = locate ends p in get xs[s] (p - start))

`size` and `get` stay functions, and a position finds its source itself: nothing but the ends is
stored in addition to the result; a result that is consumed at once is not stored either.
Where all sizes are one small constant, not even these: the source of a position is a quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.array_ir.syntax import OVERFLOW, sizes_overflow
from flatweave.base.dtypes import i64
from flatweave.base.errors import DTypeError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import arrays_of_one_length, branch, check_regular
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.elements.lambdas import (
    check_arity,
    combine_lambda,
    element_function,
    element_type,
    need_function,
    own,
    single,
)
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.functions.combinators import generate, map, reduction
from flatweave.frontend.ragged.map_rows import Rows, element, is_irregular, map_rows
from flatweave.frontend.ragged.ragged import locate
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.run_time_checks import check
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, emit, restructured, tracer_of
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.asarray import no_array
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import LEAF, Tree, unflatten
from flatweave.ops import Generate, Map, Scan
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const, Var


def _size(size: Callable[[Any], Any], x: Any, what: str) -> Atom:
    """A source's size as an extent, with a check that it is not negative."""
    given = size(x)
    current().trace.where = user_location()
    return extents.length_of(given, what)


def _traced_size(size: Callable[[Any], Any], x: Any, what: str) -> Tracer:
    atom = _size(size, x, what)
    return Tracer(atom, current().home((atom,)))


LONG = 64
"""From this size on rows are walked one by one, and what depends on a source alone is computed once
for many positions; ends take little room then."""
Located = Callable[[Atom], tuple[Atom, Atom]]
"""The source of a position, and where that source's results begin."""


def _sources(
    size: Callable[[Any], Any], arrays: Sequence[Tracer], tree: Tree, who: str, what: str
) -> tuple[Located, Atom]:
    """How positions are located, and how many there are."""

    def one(x: Any) -> Array:
        return _traced_size(size, x, what)

    fn = element_function(one, [tree], [element_type(x) for x in arrays], who)[0]
    (each,) = fn.results
    if isinstance(each, Const) and each.value < LONG and not fn.lets:
        return _even(int(each.value), arrays[0].extents[0], who)
    return _by_ends(emit(Map(fn, tuple(x.atom for x in arrays), 1))[0], who)


def _by_ends(sizes: Tracer, who: str) -> tuple[Located, Atom]:
    """Sources of these sizes."""
    ends = _ends(sizes, who)
    return lambda p: locate(ends, 0, p), last_of(ends)


def _even(size: int, count: Atom, who: str) -> tuple[Located, Atom]:
    """Sources of one size: positions are divided by it, and nothing is stored."""
    size = max(size, 0)
    each, most = index(max(size, 1)), index((2**63 - 1) // max(size, 1))
    fits = current().apply("le", count, most)
    check(fits, OVERFLOW, (most,), sizes_overflow(who))
    total = extents.known_natural(extents.mul(count, index(size)))

    def located(p: Atom) -> tuple[Atom, Atom]:
        source = extents.floordiv(p, each)
        assert isinstance(source, Var)
        extents.known_natural(source)
        current().trace.bounds[source] = count
        return source, extents.mul(source, each)

    return located, total


def _ends(sizes: Tracer, who: str) -> Tracer:
    """Where each source's results end."""
    plus = combine_lambda(lambda a, b: [apply("add", a, b)], [i64])
    sums = emit(Scan(plus, (ZERO,), (sizes.atom,), False, False))[0]
    def end(i: Atom) -> Tracer:
        # of sums that overflow, the first one wraps to below 0: sizes are natural
        found = read(sums, (i,))
        fits = current().apply("ge", found.atom, ZERO)
        check(fits, OVERFLOW, (i,), sizes_overflow(who))
        return found

    return generated(sizes.extents, end)[0]


def last_of(ends: Tracer) -> Atom:
    """The last end, or 0: the number of results."""
    count = ends.extents[0]
    total: Tracer = branch(
        tracer_of(current().apply("gt", count, ZERO)),
        lambda: read(ends, (extents.sub(count, ONE),)),
        lambda: tracer_of(ZERO),
    )
    extents.known_natural(total.atom)
    return total.atom


@operation()
def expand(
    size: Callable[[Any], Any], get: Callable[[Any, Any], Any], xs: Any
) -> Array:
    """`get(x, i)` for every `x` of `xs` and 0 <= i < `size(x)`, in order (Elsman 2019, section 3).

    Elements of `xs` are as for `map`, of a Ragged its rows; `get` may give tuples, or rows of one
    length. The result is as long as the sizes' sum. Raises NegativeExtentError for a size below 0,
    ExtentOverflowError when the sum does not fit an i64.

    Types: `size: t -> integer, get: (t, i64) -> r, xs: t[n] -> r[sum of sizes]`.

        >>> fw.expand(lambda n: n, lambda n, i: n * 10 + i, np.array([2, 0, 3]))
        Array([20, 21, 30, 31, 32], dtype=int64)
    """
    check_arity(need_function(size, "expand"), 1, "expand")
    check_arity(need_function(get, "expand"), 2, "expand")
    what = "a size of expand"
    if is_irregular(xs):
        rows = Rows([xs])
        sizes = map_rows(lambda x: _traced_size(size, x, what), [xs])
        located, total = _by_ends(as_tracer(sizes), "expand")
    else:
        arrays, tree = arrays_of_one_length(xs, "expand")
        located, total = _sources(size, arrays, tree, "expand", what)
    found: list[Any] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        p = extents.known_natural(params[0])
        inside.trace.bounds[p] = total
        s, start = located(p)
        i = extents.known_natural(extents.sub(p, start))
        if is_irregular(xs):
            (x,) = rows.at(s)
        else:
            x = unflatten(tree, [element(array, s) for array in arrays])
        value = get(x, tracer_of(i))
        if value is None:
            raise no_array(None, "the result of expand's function")
        leaves, given = as_tracers(value, "the result of expand's function", structured=True)
        found.extend([given, leaves])
        return [own(leaf, inside).atom for leaf in leaves]

    fn = current().function([i64], body, "p")
    for leaf in found[1]:
        check_regular(leaf, get, "expand")
    return restructured(found[0], emit(Generate((total,), fn)) if found[1] else [])


@operation(static="check", renamed="ne=initial")
def expand_reduce(
    size: Callable[[Any], Any], get: Callable[[Any, Any], Any],
    op: Callable[[Any, Any], Any], initial: Any, xs: Any, *, check: bool = True,
) -> Array:
    """The expansion of each `x` combined by `op`: one result per `x`, `initial` for an empty one.

    `get(x, 0) op .. op get(x, size(x) - 1)`, in order, nothing of it stored. `op`, `initial` and
    `check` are as for `reduce`. Raises NegativeExtentError for a size below 0, OperatorError when
    `op` gives no element.

    Types: `size: t -> integer, get: (t, i64) -> r, op: (r, r) -> r, initial: r,
    xs: t[n] -> r[n]`. Source: Elsman 2019, section 3.

        >>> fw.expand_reduce(lambda n: n, lambda n, i: i, fw.add, 0, np.array([2, 0, 4]))
        Array([1, 0, 6], dtype=int64)
    """
    check_arity(need_function(size, "expand_reduce"), 1, "expand_reduce")
    check_arity(need_function(get, "expand_reduce"), 2, "expand_reduce")
    if not is_irregular(xs):
        arrays_of_one_length(xs, "expand_reduce")

    def one(x: Any) -> Array:
        count = _traced_size(size, x, "a size of expand_reduce")
        found = generate(count, lambda i: get(x, i))
        return reduction(op, initial, found, "expand_reduce", check)

    return map(one, xs)


@operation()
def replicated_iota(reps: Any) -> Array:
    """i, `reps[i]` times, for every i: [2, 3, 1, 1] gives [0, 0, 1, 1, 1, 2, 3].

    An i64 array as long as the sum of the integers `reps` (Elsman and others 2019, section 2.2).
    Raises NegativeExtentError for one below 0, ExtentOverflowError when the sum does not fit.

    Types: `reps: integer[n] -> i64[sum of them]`.

        >>> fw.replicated_iota([2, 0, 3])
        Array([0, 0, 2, 2, 2], dtype=int64)
    """
    array = single(reps, "replicated_iota")
    if array.ndim != 1:
        raise ShapeError.here(
            f"replicated_iota needs an array of rank 1, got {describe(array)}.",
            "Give one count for each number.",
        )
    if not array.element.is_integer:
        raise DTypeError.here(
            f"replicated_iota needs integers, got {describe(array)}.",
            "Convert them with astype(fw.i64).",
        )
    what = "a repetition of replicated_iota"
    located, total = _sources(lambda count: count, [array], LEAF, "replicated_iota", what)
    return generated((total,), lambda p: tracer_of(located(p)[0]))[0]
