"""Jacobians and Hessians, a check of derivatives against differences, and values held constant.

    jacrev(f)(x)       for each element of f(x) its gradient: f(x).shape + x.shape
    jacfwd(f)(x)       the same, column by column: fewer steps where x is smaller than f(x)
    hessian(f)         jacfwd(jacrev(f))

Rows, or columns, are elements of one map: seeds are lanes, not calls in a loop. Where the function
stores arrays, as a scan does, the map of all seeds would store each of them for every seed; then a
loop takes SEEDS of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import i32
from flatweave.base.errors import Unsupported
from flatweave.frontend.arrays.shapes import reshape, transpose
from flatweave.frontend.arrays.sources import full, iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.control import fori_loop
from flatweave.frontend.functions.derivatives import (
    Numbers,
    chosen_arguments,
    derived,
    in_trace,
    need_function,
    numbers_of,
)
from flatweave.frontend.functions.differentiable import Leaf, Opened, opened
from flatweave.frontend.functions.linearize import linearize_in_trace
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.number_formats import is_complex
from flatweave.frontend.values.scope import Scope, current
from flatweave.ops import Filter, Map, Nest, Permute, ReduceSegments, Scan, Scatter, Sort, SortRows
from flatweave.terms.control import For, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var
from flatweave.terms.traverse import walk_lets

SEEDS = 16
"""Seeds at a time: the lanes of two vectors of f64, or of one of f32, with AVX-512."""
STORED = (Filter, Nest, Permute, ReduceSegments, Scan, Scatter, Sort, SortRows)
"""Operations whose results are stored."""


def jacrev(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The Jacobian of a function by arguments `argnums`, row by row in reverse mode.

    For each array of the result there is the structure of the argument, of arrays of the shapes
    `result.shape + argument.shape`; integers have None. Raises DTypeError for an integer argument.

    Types: `f: (a, b, ..) -> r ->` a function `(a, b, ..) -> r of a`. Source: `jax.jacrev`.

        >>> fw.jacrev(lambda x: x * x)(np.array([1.0, 3.0]))
        Array([[2., 0.],
               [0., 6.]], dtype=float64)
    """
    return derived(f, "jacrev", _jacrev, numbers_of(argnums, "jacrev"))


def jacfwd(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The Jacobian as `jacrev` has it, column by column in forward mode.

    Raises DTypeError for an integer argument.

    Types: `f: (a, b, ..) -> r ->` a function `(a, b, ..) -> r of a`. Source: `jax.jacfwd`.

        >>> fw.jacfwd(lambda x: x * x)(np.array([1.0, 3.0]))
        Array([[2., 0.],
               [0., 6.]], dtype=float64)
    """
    return derived(f, "jacfwd", _jacfwd, numbers_of(argnums, "jacfwd"))


def hessian(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The second derivatives of a function: `jacfwd(jacrev(f))`.

    Raises DTypeError for an integer argument.

    Types: `f: (a, b, ..) -> r ->` a function `(a, b, ..) -> r of a of a`. Source: `jax.hessian`.

        >>> fw.hessian(lambda x: fw.prod(x))(np.array([2.0, 3.0]))
        Array([[0., 1.],
               [1., 0.]], dtype=float64)
    """
    need_function(f, "hessian(f)(x)")
    return jacfwd(jacrev(f, argnums), argnums)


def _by_rows(f: Callable[..., Any], argnums: Numbers, *args: Any) -> object:
    taken, out, back, in_blocks = _derived(in_trace, f, argnums, args, "jacrev")
    rows: list[Any] = []
    for number, leaf in enumerate(out.leaves):
        if not leaf.has_tangent:
            rows.append(None)
            continue

        def row(i: Any, number: int = number, leaf: Leaf = leaf) -> object:
            return back(_seeded(out, number, _one_hot(leaf, i)))

        found = _every(leaf, row, taken, number_first=True, in_blocks=in_blocks)
        rows.append(_single(taken, argnums, found))
    return out.rebuild(rows)


def _by_columns(f: Callable[..., Any], argnums: Numbers, *args: Any) -> object:
    taken, out, along, in_blocks = _derived(linearize_in_trace, f, argnums, args, "jacfwd")
    columns: list[Any] = []
    for number, leaf in enumerate(taken.leaves):
        if not leaf.has_tangent:
            columns.append([None] * len(out.leaves))
            continue

        def column(i: Any, number: int = number, leaf: Leaf = leaf) -> object:
            return along(*_seeded(taken, number, _one_hot(leaf, i)))

        columns.append(_every(leaf, column, out, number_first=False, in_blocks=in_blocks))
    found = [
        _single(taken, argnums, [column[k] for column in columns]) if leaf.has_tangent else None
        for k, leaf in enumerate(out.leaves)
    ]
    return out.rebuild(found)


def _derived(
    derive: Callable[..., Any], f: Callable[..., Any], argnums: Numbers, args: Sequence[Any],
    who: str,
) -> tuple[Opened, Opened, Callable[..., Any], bool]:  # fmt: skip
    """The arguments that were chosen, the value, its derivative as `derive` gives it, and whether
    the function stores arrays."""
    of_chosen, primals = chosen_arguments(f, argnums, args, who)
    taken = _arrays(primals, who)
    begun = len(current().builder.lets)
    value, derivative = derive(of_chosen, primals, who)
    in_blocks = _stores_arrays(begun)
    return taken, _arrays(value, who), derivative, in_blocks


def _seeded(opened: Opened, number: int, seed: Array) -> Any:
    """A value of which one leaf has a seed."""
    return opened.rebuild([seed if k == number else None for k in range(len(opened.leaves))])


def _named(body: Callable[..., Any], name: str) -> Callable[..., Any]:
    body.__name__ = name
    return operation(static="argnums")(body)


_jacrev, _jacfwd = _named(_by_rows, "jacrev"), _named(_by_columns, "jacfwd")


def _arrays(value: Any, who: str) -> Opened:
    """The leaves of a value that is made of arrays of real numbers."""
    taken = opened(value, "", f"an argument or the result of {who}")
    if taken.has_rows or any(is_complex(leaf.value) for leaf in taken.leaves):
        raise Unsupported.here(
            f"{who} of a Ragged or of complex numbers: it is of arrays of real numbers.",
            "Give rows.values, or the real and the imaginary part, as arguments.",
        )
    return taken


def _single(taken: Opened, argnums: Numbers, leaves: Sequence[Any]) -> object:
    """Arrays in the structure of the arguments that were chosen."""
    found: tuple[object, ...] = taken.rebuild(leaves)
    return found if isinstance(argnums, tuple) else found[0]


def _one_hot(leaf: Leaf, i: Any) -> Array:
    """1 at a flat index, else 0."""
    x, dtype = leaf.parts[0], leaf.dtype
    if not x.ndim:
        return astype(as_tracer(1.0), dtype)
    flat = where(iota(_size(x)) == i, 1.0, 0.0)
    return reshape(astype(flat, dtype), x.shape)


def _size(x: Tracer) -> Tracer | int:
    return x.size


def _stores_arrays(begun: int) -> bool:
    """Whether what has been emitted since is a program of arrays that are stored."""
    lets = walk_lets(Lambda((), tuple(current().builder.lets[begun:]), ()))
    return not current().is_mapped and any(_is_stored(let) for let in lets)


def _is_stored(let: Let) -> bool:
    if isinstance(let.op, For | While):
        return any(isinstance(var.type, ArrayType) for var in let.vars)
    return isinstance(let.op, STORED)


def _in_blocks(derivative: Callable[[Any], Any], size: Any, of: Opened) -> list[Array]:
    """`map(derivative, iota(size))`, of which SEEDS elements are computed at a time. The last ones
    begin so that they end with the last element."""
    count = minimum(size, SEEDS)
    every = [
        full((size, *leaf.value.shape), 0.0, leaf.dtype)
        for leaf in of.leaves if leaf.has_tangent
    ]  # fmt: skip

    def block(number: Any, every: list[Any]) -> list[Any]:
        at = iota(count) + minimum(number * SEEDS, size - count)
        found = [leaf.value for leaf in _leaves(map(derivative, at), of) if leaf is not None]
        return [rows.at[at].set(new) for rows, new in zip(every, found, strict=True)]

    return fori_loop(0, (size + SEEDS - 1) // SEEDS, block, every)


def _every(
    leaf: Leaf, derivative: Callable[[Any], Any], of: Opened, *, number_first: bool,
    in_blocks: bool,
) -> list[Any]:  # fmt: skip
    """The derivatives for all elements of a leaf; its axes come first or last."""
    x = leaf.parts[0]
    if not x.ndim:
        return [part and part.value for part in _leaves(derivative(0), of)]
    size = _size(x)
    rows = _in_blocks(derivative, size, of) if in_blocks else map(derivative, iota(size))
    found: list[Any] = []
    for part in _leaves(rows, of):
        if part is None:
            found.append(None)
            continue
        rest = part.value.shape[1:]
        if number_first:
            found.append(reshape(part.value, (*x.shape, *rest)))
        else:
            axes = [*range(1, part.value.ndim), 0]
            found.append(reshape(transpose(part.value, axes), (*rest, *x.shape)))
    return found


def _leaves(value: Any, of: Opened) -> list[Leaf | None]:
    """The leaves of tangents of a value; None for its integers."""
    given = iter(opened(value, "", "a derivative").leaves)
    return [next(given) if leaf.has_tangent else None for leaf in of.leaves]


@operation()
def stop_gradient(x: Any) -> Array:
    """`x` itself, which derivatives take for a constant; `x` is any structure of arrays.

    Raises ArgumentError for what is no array.

    Types: `x: t -> t`. Source: `jax.lax.stop_gradient`.

        >>> fw.grad(lambda x: x * fw.stop_gradient(x))(3.0)
        Array(3.0, dtype=float64)
    """
    taken = opened(x, "", "x of stop_gradient")
    same: Array = taken.rebuild([
        leaf.with_parts([_held(part) for part in leaf.parts]) if leaf.has_tangent else leaf.value
        for leaf in taken.leaves
    ])  # fmt: skip
    return same


def _held(x: Tracer) -> Tracer:
    """The same bits, read as an integer in between: no tangent goes through that."""
    def same(scope: Scope, value: Atom) -> Atom:
        if x.element.is_float:
            return scope.apply("from_bits", scope.apply("bits", value))
        return scope.cast(scope.cast(value, i32), x.element)

    if not x.ndim:
        return tracer_of(same(current(), x.atom), x.weak)

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        return [same(inside, params[0])]

    function = current().function([x.element], body)
    return tracer_of(current().emit(Map(function, (x.atom,), x.ndim))[0])
