"""generate: an array from a function of its indices.

    generate(n, f)          [f(0), .., f(n - 1)]
    generate((n, m), f)     element (i, j) is f(i, j)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.element_arguments import check_regular
from flatweave.frontend.elements.lambdas import check_arity, need_function
from flatweave.frontend.ragged.map_rows import Result, nested, result_of
from flatweave.frontend.trace.extents import shape_of
from flatweave.frontend.trace.tracers import as_tracers, emit, tracer_of
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import unflatten
from flatweave.ops import Generate
from flatweave.terms.syntax import Atom, Var


@operation()
def generate(shape: Any, f: Callable[..., Any]) -> Any:
    """The array of `shape` whose element at (i, j, ..) is `f(i, j, ..)`; `shape` may be an int.

    `f` gets one i64 for each axis and gives an element, which may be a tuple, or a row. Rows of
    varying lengths along one axis are a Ragged.
    Raises NegativeExtentError for an extent below 0, NestingError for rows of varying lengths
    along several axes.

    Types: `shape: k extents, f: k i64 -> t -> t[shape]`.

        >>> fw.generate((2, 3), lambda i, j: i * 10 + j)
        Array([[ 0,  1,  2],
               [10, 11, 12]], dtype=int64)
    """
    extents = shape_of(shape, "generate")
    check_arity(need_function(f, "generate"), len(extents), "generate")
    if not extents:
        leaves, tree = as_tracers(f(), "the result of generate", structured=True)
        return unflatten(tree, leaves)
    found: list[tuple[Result, Scope]] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        for param, extent in zip(params, extents, strict=True):
            inside.natural.add(param)
            inside.trace.bounds[param] = extent
        value = f(*(tracer_of(param) for param in params))
        found.append((result_of(value, f, inside), inside))
        return [leaf.atom for leaf in found[0][0].leaves]

    fn = current().function([i64] * len(extents), body, "i")
    result, inside = found[0]
    if len(extents) == 1:
        return nested(extents[0], fn, result, inside)
    for leaf in result.leaves:
        check_regular(leaf, f, "generate")
    return result.rebuild(list(emit(Generate(extents, fn))) if result.leaves else [])
