"""Derivatives of functions: jvp, vjp, grad, Jacobians.

    jvp(f, (x,), (v,))       f(x), and the derivative of f at x along v
    vjp(f, x)                f(x), and `back`: cotangents of the result to cotangents of x
    grad(f)(x)               back(1)

The function is traced on its arguments, the lambda is transformed (`gradients/`), and the result is
emitted where the derivative was asked for: in the trace in progress, so that derivatives nest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from flatweave.base.errors import ArgumentError, DTypeError, ShapeError
from flatweave.base.pretty import counted
from flatweave.base.records import record
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.lambdas import check_arity, name_of
from flatweave.frontend.functions.differentiable import (
    Leaf,
    Opened,
    bound_to,
    need_inside,
    opened,
    pair_of,
    splice,
    tangents_given,
    types_of_parts,
)
from flatweave.frontend.trace.tracers import tracer_of
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.scope import current, entered, innermost
from flatweave.frontend.values.tree import LEAF
from flatweave.ops import Inlined
from flatweave.runtime.lazy_import import opened as module
from flatweave.terms.syntax import Atom, Lambda

P = ParamSpec("P")
R = TypeVar("R")
Numbers = int | tuple[int, ...]


@record
class Function:
    """A function traced on its arguments: the lambda of those parts that have tangents, and what
    the arguments and results consist of."""

    fn: Lambda
    args: Opened
    out: Opened
    aux: Opened | None
    primals: Inlined

    @property
    def moving_results(self) -> list[Atom]:
        """The atoms of the results that have tangents."""
        return [
            part.atom for leaf in self.out.leaves if leaf.has_tangent for part in leaf.parts
        ]  # fmt: skip

    def leaf(self, leaf: Leaf) -> Leaf:
        """A leaf of the result, in the body at hand."""
        parts = [tracer_of(self.primals.atom(part.atom), part.weak) for part in leaf.parts]
        return Leaf(leaf.with_parts(parts), leaf.path)

    def here(self, out: Opened) -> object:
        """A result, in the body at hand."""
        return out.rebuild([self.leaf(leaf).value for leaf in out.leaves])

    def value(self) -> object:
        """The function's result."""
        return self.here(self.out)

    def tangents(self, of: Opened, atoms: Sequence[Atom], *, conjugate: bool = False) -> object:
        """Tangents in the structure of arguments or results; None where there are none."""
        rest = iter(self.primals.atom(atom) for atom in atoms)
        return of.rebuild([
            self.leaf(leaf).tangent([next(rest) for _ in leaf.parts], conjugate=conjugate)
            if leaf.has_tangent else None
            for leaf in of.leaves
        ])  # fmt: skip


def traced(f: Callable[..., Any], args: Sequence[Any], who: str, has_aux: bool = False) -> Function:
    """A function on the arguments of a call, of which the floats become parameters."""
    taken = opened(tuple(args), "", f"an argument of {who}")
    moving = [leaf for leaf in taken.leaves if leaf.has_tangent]
    scope = current()
    known = len(scope.trace.unproven)
    section = scope.section()
    params = tuple(section.bind("x", type_) for type_ in types_of_parts(moving))
    with entered(section):
        made = iter(bound_to(moving, params))
        values = [next(made) if leaf.has_tangent else leaf.value for leaf in taken.leaves]
        check_arity(f, len(args), who)
        result = f(*taken.rebuild(values))
        result, aux = pair_of(result, f, who) if has_aux else (result, None)
        out = opened(result, "", f"the result of {name_of(f)}")
        besides = opened(aux, "", f"the result of {name_of(f)}") if has_aux else None
    lets = scope.end(section)
    while len(scope.trace.unproven) > known:  # operators are tried where f is called
        scope.trace.unproven.pop().is_trusted = True
    results = tuple(part.atom for leaf in out.leaves for part in leaf.parts)
    fn = Lambda(params, lets, results)
    atoms = [part.atom for leaf in moving for part in leaf.parts]
    primals = Inlined(dict(zip(params, atoms, strict=True)))
    return Function(fn, taken, out, besides, primals)


@operation(static="has_aux")
def jvp(
    f: Callable[..., Any], primals: Any, tangents: Any, *, has_aux: bool = False
) -> tuple[Any, ...]:
    """`f(*primals)` and its derivative along `tangents`: forward mode.

    The tangents are a tuple like the primals; a tangent has the primal's shape, that of an integer
    is None, and that of a Ragged shares the offsets. So does the derivative with the results. With
    `has_aux`, `f` gives a pair, of which the second part is not differentiated and comes third.
    Raises ShapeError for tangents that are not like their primals.

    Types: `f: (a, b, ..) -> r, primals: (a, b, ..), tangents: (a, b, ..) -> (r, r)`.
    Source: `jax.jvp`.

        >>> fw.jvp(fw.sin, (0.0,), (2.0,))
        (Array(0.0, dtype=float64), Array(2.0, dtype=float64))
    """
    need_function(f, "jvp(f, (x,), (v,))")
    for value, name in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(value, tuple | list):
            raise ArgumentError.here(
                f"{name} of jvp must be a tuple with a value for each argument.",
                "Call it as fw.jvp(f, (x,), (v,)).",
            )
    function = traced(f, tuple(primals), "jvp", has_aux)
    atoms = tangent_atoms(function, tangents, "jvp")
    made = module("gradients").forward(
        current().builder, function.fn, atoms, function.moving_results
    )
    splice(made.lets, function.primals)
    derivative = function.tangents(function.out, made.atoms)
    return with_aux(function, function.value(), derivative) if has_aux else (
        function.value(), derivative
    )  # fmt: skip


def tangent_atoms(function: Function, tangents: Sequence[Any], who: str) -> list[Atom | None]:
    """Tangents that are given for the arguments, as those of the parameters."""
    given = tangents_given(tuple(tangents), function.args, f"tangents of {who}")
    atoms: list[Atom | None] = []
    for leaf, tangent in zip(function.args.leaves, given, strict=True):
        if not leaf.has_tangent:
            continue
        what = f"the tangent of argument{leaf.path}"
        count = len(leaf.parts)
        atoms += [None] * count if tangent is None else leaf.tangent_atoms(tangent, what)
    return atoms


def cotangent_atoms(function: Function, cotangents: Any) -> list[tuple[Atom, Atom]]:
    """Cotangents that are given for the result: each atom of it with its cotangent."""
    given = tangents_given(cotangents, function.out, "the cotangent")
    seeds: list[tuple[Atom, Atom]] = []
    for leaf, cotangent in zip(function.out.leaves, given, strict=True):
        if leaf.has_tangent and cotangent is not None:
            what = f"the cotangent of result{leaf.path}"
            atoms = function.leaf(leaf).tangent_atoms(cotangent, what, conjugate=True)
            seeds += zip([part.atom for part in leaf.parts], atoms, strict=True)
    return seeds


def with_aux(function: Function, *found: Any) -> tuple[Any, ...]:
    """Results, and what is not differentiated."""
    assert function.aux is not None
    return (*found, function.here(function.aux))


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`f(*primals)`, and a function from cotangents of it to those of the primals: reverse mode.

    The cotangents of the primals are a tuple, each of its primal's structure; of integers they are
    None, and that of a Ragged shares the offsets. With `has_aux`, `f` gives a pair, of which the
    second part is not differentiated and comes third. Outside of a program the second function
    computes `f` once more. Raises ShapeError for cotangents that are not like the result.

    Types: `f: (a, b, ..) -> r, primals: a, b, .. -> (r, r -> (a, b, ..))`. Source: `jax.vjp`.

        >>> value, back = fw.vjp(fw.sin, 0.0)
        >>> back(3.0)
        (Array(3.0, dtype=float64),)
    """
    need_function(f, "vjp(f, x)")
    if innermost() is None:
        out = _call(f, has_aux, *primals)
        value, rest = (out[0], (out[1],)) if has_aux else (out, ())
        return value, lambda cotangents: _back(f, has_aux, cotangents, *primals), *rest
    return in_trace(f, primals, "vjp", has_aux)


def in_trace(
    f: Callable[..., Any], primals: Sequence[Any], who: str, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value and the function for cotangents, in a trace."""
    function = traced(f, primals, who, has_aux)
    scope = current()
    taped = module("gradients").reverse(scope.builder, function.fn)
    splice(taped.lets, function.primals)

    def back(cotangents: object) -> object:
        need_inside(scope, "vjp")
        seeds = cotangent_atoms(function, cotangents)
        made = taped.back(current().builder, seeds)
        splice(made.lets, function.primals)
        return function.tangents(function.args, made.atoms, conjugate=True)

    value = function.value()
    return with_aux(function, value, back) if has_aux else (value, back)


def need_function(f: Any, form: str) -> None:
    """ArgumentError for what cannot be called."""
    if not callable(f):
        raise ArgumentError.here(
            f"{form.partition('(')[0]} needs a function, got {kind_of(f)}.",
            f"Call it as fw.{form}.",
        )


def _of_primals(f: Callable[..., Any], has_aux: bool, *primals: Any) -> object:
    return pair_of(f(*primals), f, "vjp") if has_aux else f(*primals)


def _of_cotangents(f: Callable[..., Any], has_aux: bool, cotangents: Any, *primals: Any) -> object:
    return in_trace(f, primals, "vjp", has_aux)[1](cotangents)


_of_primals.__name__ = _of_cotangents.__name__ = "vjp"
_call: Callable[..., Any] = operation(static="has_aux")(_of_primals)
_back = operation(static="has_aux")(_of_cotangents)


@record(eq=True)
class Plan:
    """What a gradient is of: which arguments, and whether the function gives more than a value."""

    argnums: Numbers
    has_aux: bool
    with_value: bool
    who: str


def grad(
    f: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, Any]:
    """The gradient of a function with one scalar floating result, by arguments `argnums`.

    The gradient has the argument's structure, for several arguments a tuple of such. Integers in it
    have None, and a Ragged a Ragged of the same offsets. With `has_aux`, `f` gives a pair, of which
    the second part is not differentiated and comes with the gradient. Raises DTypeError for an
    integer argument, ShapeError for a result that is not one scalar.

    Types: `f: (a, b, ..) -> scalar ->` a function `(a, b, ..) -> a`. Source: `jax.grad`.

        >>> fw.grad(lambda x: fw.sum(x * x))(np.array([1.0, 3.0]))
        Array([2., 6.], dtype=float64)
    """
    return _of_gradient(f, Plan(numbers_of(argnums, "grad"), bool(has_aux), False, "grad"))


def value_and_grad(
    f: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, Any]:
    """The value of a function and its gradient, as `grad` has it; the value is computed once.

    With `has_aux` the value comes as a pair with what `f` gives besides. Raises as `grad` does.

    Types: `f: (a, b, ..) -> scalar ->` a function `(a, b, ..) -> (scalar, a)`. Source: JAX.

        >>> fw.value_and_grad(lambda x: x * x)(3.0)
        (Array(9.0, dtype=float64), Array(6.0, dtype=float64))
    """
    plan = Plan(numbers_of(argnums, "value_and_grad"), bool(has_aux), True, "value_and_grad")
    return _of_gradient(f, plan)


def numbers_of(argnums: Any, who: str) -> Numbers:
    """The numbers of arguments; ArgumentError for anything else."""
    several = argnums if isinstance(argnums, tuple | list) else (argnums,)
    if not several or any(isinstance(n, bool) or not isinstance(n, int) for n in several):
        raise ArgumentError.here(
            f"argnums of {who} must be an int or a tuple of these, got {argnums!r}.",
            "Arguments by position are numbered from 0.",
        )
    return tuple(argnums) if isinstance(argnums, tuple | list) else argnums


def _of_gradient(f: Callable[..., Any], plan: Plan) -> Callable[..., Any]:
    return derived(f, plan.who, _value_and_grad if plan.with_value else _grad, plan)


def derived(f: Callable[..., Any], who: str, call: Callable[..., R], plan: Any) -> Callable[..., R]:
    """The function `who(f)`: `call(f, plan, *args)`; derivatives are by arguments by position."""
    need_function(f, f"{who}(f)(x)")

    @functools.wraps(f, updated=())
    def derivative(*args: Any, **kwargs: Any) -> R:
        return call(functools.partial(f, **kwargs) if kwargs else f, plan, *args)

    return derivative


def _gradient(f: Callable[..., Any], plan: Plan, *args: Any) -> object:
    def of_scalar(*values: Any) -> object:
        result = of_chosen(*values)
        _need_scalar(pair_of(result, f, plan.who)[0] if plan.has_aux else result, f, plan.who)
        return result

    of_chosen, primals = chosen_arguments(f, plan.argnums, args, plan.who)
    found = in_trace(of_scalar, primals, plan.who, plan.has_aux)
    gradients = found[1](1.0)
    made = gradients if isinstance(plan.argnums, tuple) else gradients[0]
    if plan.with_value:
        return ((found[0], found[2]) if plan.has_aux else found[0]), made
    return (made, found[2]) if plan.has_aux else made


def chosen_arguments(
    f: Callable[..., R], argnums: Numbers, args: Sequence[Any], who: str
) -> tuple[Callable[..., R], tuple[Any, ...]]:
    """A function of the arguments that are chosen, and these; ArgumentError where there is no such
    one, DTypeError for one without floats."""
    chosen: list[int] = []
    for number in argnums if isinstance(argnums, tuple) else (argnums,):
        if not -len(args) <= number < len(args):
            raise ArgumentError.here(
                f"argnums of {who} has {number}, but the call has"
                f" {counted(len(args), 'argument')} by position.",
                "Arguments by position are numbered from 0.",
            )
        chosen.append(number % len(args))
        need_floats(args[chosen[-1]], chosen[-1], who)

    return of_arguments(f, args, chosen), tuple(args[number] for number in chosen)


def of_arguments(
    f: Callable[..., R], args: Sequence[Any], numbers: Sequence[int]
) -> Callable[..., R]:
    """A function of the arguments of these numbers, the others as they are."""

    def of_chosen(*values: Any) -> R:
        every = list(args)
        for number, value in zip(numbers, values, strict=True):
            every[number] = value
        return f(*every)

    of_chosen.__name__ = name_of(f)
    return of_chosen


def need_floats(value: Any, number: int, who: str) -> None:
    """Refuse to differentiate by an argument without floats."""
    taken = opened(value, "", f"argument {number + 1} of {who}")
    if any(leaf.has_tangent for leaf in taken.leaves):
        return
    raise DTypeError.here(
        f"{who} differentiates by argument {number + 1}, {taken.spelled}, which has no floats.",
        "Convert it with astype(fw.f64), or choose other arguments with argnums.",
    )


def _need_scalar(value: Any, f: Callable[..., Any], who: str) -> None:
    """Refuse a result that is not one floating scalar."""
    taken = opened(value, "", f"the result of {name_of(f)}")
    (leaf,) = taken.leaves if len(taken.leaves) == 1 else (None,)
    if leaf is None or taken.tree != LEAF or not isinstance(leaf.value, Tracer) or leaf.value.ndim:
        raise ShapeError.here(
            f"{who} needs a function of one scalar result, but {name_of(f)} gives {taken.spelled}.",
            "Add it up, for instance with fw.sum, or use fw.vjp with a cotangent.",
        )
    if not leaf.has_tangent:
        raise DTypeError.here(
            f"{who} needs a floating result, but {name_of(f)} gives {taken.spelled}.",
            "Convert it with astype(fw.f64).",
        )


def _named(name: str) -> Callable[..., object]:
    def body(f: Callable[..., Any], plan: Plan, *args: Any) -> object:
        return _gradient(f, plan, *args)

    body.__name__ = name
    return operation(static="plan")(body)


_grad, _value_and_grad = _named("grad"), _named("value_and_grad")
