"""Functions whose derivatives the user gives, and functions that are computed again in reverse.

    @fw.custom_jvp                               @fw.custom_vjp
    def f(x): ..                                 def f(x): ..
    @f.defjvp                                    def fwd(x): return f(x), x
    def rule(primals, tangents): ..              def bwd(x, c): return (c * 2 * x,)
                                                 f.defvjp(fwd, bwd)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import counted
from flatweave.frontend.elements.lambdas import name_of
from flatweave.frontend.functions.custom import Rules, ruled
from flatweave.frontend.functions.derivatives import need_function, of_arguments
from flatweave.frontend.functions.differentiable import opened
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.tree import map_leaves

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[..., Any]


class WithRules:
    """A function and the rules of its derivative; without any it cannot be called."""

    kind = ""
    define = ""

    def __init__(self, f: Function, nondiff_argnums: Sequence[int] | int = ()) -> None:
        need_function(f, f"{self.kind}(f)")
        functools.update_wrapper(self, f)
        self.fun = f
        self.name = name_of(f)
        self.nondiff_argnums = _numbers(nondiff_argnums, f"nondiff_argnums of {self.kind}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = _by_position(self.fun, args, kwargs)
        fixed, chosen = _chosen(args, self.nondiff_argnums, self.kind)
        rules = self._rules(args, fixed, chosen)
        if innermost() is None:
            return self.fun(*args)
        of_chosen = of_arguments(self.fun, args, chosen)
        return ruled(of_chosen, [args[k] for k in chosen], self.name, rules)

    def _rules(
        self, args: Sequence[Any], fixed: Sequence[Any], chosen: Sequence[int]
    ) -> Rules:
        raise NotImplementedError

    def _undefined(self) -> ArgumentError:
        return ArgumentError.here(
            f"{self.name} is a {self.kind} without a rule.",
            f"Give it with {self.name}.{self.define}.",
        )


class CustomVjp(WithRules):
    """A function with a rule for reverse mode."""

    kind, define = "custom_vjp", "defvjp(fwd, bwd)"
    fwd: Function | None = None
    bwd: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """Give the rule.

        `fwd` takes the arguments of the function, and gives its result and anything to save. `bwd`
        takes the arguments of `nondiff_argnums`, what was saved, and the cotangent of the result;
        it gives a tuple of cotangents, one for each of the other arguments, with None for integers.

        Raises ArgumentError for what is no function.
        """
        for rule in (fwd, bwd):
            need_function(rule, "defvjp(fwd, bwd)")
        self.fwd, self.bwd = fwd, bwd

    def _rules(
        self, args: Sequence[Any], fixed: Sequence[Any], chosen: Sequence[int]
    ) -> Rules:
        fwd, bwd = self.fwd, self.bwd
        if fwd is None or bwd is None:
            raise self._undefined()
        names = (f"the fwd of {self.name}", f"the bwd of {self.name}")
        return Rules(
            fwd=of_arguments(fwd, args, chosen), bwd=functools.partial(bwd, *fixed), names=names
        )


class CustomJvp(WithRules):
    """A function with a rule for forward mode, which reverse mode transposes."""

    kind, define = "custom_jvp", "defjvp(rule)"
    jvp: Function | None = None

    def defjvp(self, jvp: Function) -> Function:
        """Give the rule; it can be used as a decorator.

        `jvp` takes the arguments of `nondiff_argnums`, a tuple of the others, and a tuple of their
        tangents, None for integers. It gives the result and its tangent, which is linear in the
        tangents.

        Raises ArgumentError for what is no function.
        """
        need_function(jvp, "defjvp(rule)")
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Give a rule for each argument: `jvp(tangent, result, *arguments)`; None for one on which
        the result does not depend. The tangents are added up.

        Raises ArgumentError for a function with `nondiff_argnums`.
        """
        if self.nondiff_argnums:
            raise ArgumentError.here(
                f"defjvps of {self.name}, which has nondiff_argnums.", "Give one rule with defjvp."
            )

        def jvp(primals: Any, tangents: Any) -> tuple[object, object]:
            result = self(*primals)
            pairs = zip(jvps, tangents, strict=True)
            parts = [
                rule(tangent, result, *primals)
                for rule, tangent in pairs if rule is not None and tangent is not None
            ]  # fmt: skip
            return result, functools.reduce(_sum, parts) if parts else _nothing(result)

        self.defjvp(jvp)

    def _rules(
        self, args: Sequence[Any], fixed: Sequence[Any], chosen: Sequence[int]
    ) -> Rules:
        if self.jvp is None:
            raise self._undefined()
        name = f"the jvp of {self.name}"
        return Rules(jvp=functools.partial(self.jvp, *fixed), names=(name, name))


def custom_vjp(
    f: Callable[..., Any], nondiff_argnums: Sequence[int] | int = ()
) -> CustomVjp:
    """`f` with a rule for reverse mode, which `.defvjp(fwd, bwd)` gives.

    `fwd(*args)` gives the result and what is to be saved; `bwd(saved, cotangent)` a tuple with a
    cotangent for each argument, of its structure, and None for integers. Arguments of
    `nondiff_argnums` may be anything; `bwd` takes them first. Forward mode is an error. A function
    that reads an array from around it cannot be differentiated by that. What is in `f` needs no
    derivatives: it may call `pure_callback` and kernels.

    Types: `f: (a, b, ..) -> r, fwd: (a, b, ..) -> (r, s), bwd: (s, r) -> (a, b, ..)`. Raises
    ArgumentError for what is no function; a call raises ShapeError where a rule gives another
    structure or shape. Source: `jax.custom_vjp`.

        >>> clipped = fw.custom_vjp(lambda x: x)
        >>> clipped.defvjp(lambda x: (x, None), lambda saved, c: (fw.clip(c, -1, 1),))
        >>> fw.grad(lambda x: 5 * clipped(x))(2.0)
        Array(1.0, dtype=float64)
    """
    return CustomVjp(f, nondiff_argnums)


def custom_jvp(
    f: Callable[..., Any], nondiff_argnums: Sequence[int] | int = ()
) -> CustomJvp:
    """`f` with a rule for its derivative, which `.defjvp(rule)` gives, also as a decorator.

    `rule(primals, tangents)` takes two tuples, and gives the result and its tangent. Reverse mode
    transposes what it does with the tangents, which must be linear. Arguments of `nondiff_argnums`
    may be anything; the rule takes them first. What is in `f` needs no derivatives: it may call
    `pure_callback` and kernels.

    Types: `f: (a, b, ..) -> r, rule: ((a, b, ..), (a, b, ..)) -> (r, r)`. Raises ArgumentError for
    what is no function; a call raises ShapeError where the rule gives another structure or shape.
    Source: `jax.custom_jvp`.

        >>> cube = fw.custom_jvp(lambda x: x ** 3)
        >>> rule = cube.defjvp(lambda xs, vs: (cube(xs[0]), 3 * xs[0] ** 2 * vs[0]))
        >>> fw.grad(cube)(2.0), fw.grad(fw.grad(cube))(2.0)
        (Array(12.0, dtype=float64), Array(12.0, dtype=float64))
    """
    return CustomJvp(f, nondiff_argnums)


def checkpoint(
    f: Callable[P, R], *, static_argnums: Sequence[int] | int = ()
) -> Callable[P, R]:
    """`f`, of which reverse mode saves the arguments alone: what is in it is computed once more.

    Derivatives are the same. They take less memory, since no array within `f` is kept from one
    pass to the other, and more time. Arguments of `static_argnums` may be anything.

    Types: `f: (a, b, ..) -> r ->` a function `(a, b, ..) -> r`. Raises ArgumentError for what is no
    function. Source: `jax.checkpoint`; Griewank and Walther 2008, chapter 12.

        >>> fw.grad(lambda x: fw.sum(fw.checkpoint(fw.cumsum)(x) ** 2))(np.array([1.0, 2.0]))
        Array([8., 6.], dtype=float64)
    """
    need_function(f, "checkpoint(f)")

    @functools.wraps(f, updated=())
    def again(*args: P.args, **kwargs: P.kwargs) -> R:
        if innermost() is None:
            return f(*args, **kwargs)
        given = functools.partial(f, **kwargs) if kwargs else f
        chosen = _chosen(args, numbers, "checkpoint")[1]
        of_chosen = of_arguments(given, args, chosen)
        return ruled(
            of_chosen, [args[k] for k in chosen], name_of(f), Rules(again=True)
        )

    numbers = _numbers(static_argnums, "static_argnums of checkpoint")
    return again


def _numbers(given: Any, what: str) -> tuple[int, ...]:
    """Numbers of arguments; ArgumentError for anything else."""
    several = given if isinstance(given, tuple | list) else (given,)
    if any(isinstance(n, bool) or not isinstance(n, int) for n in several):
        raise ArgumentError.here(
            f"{what} must be a tuple of ints, got {given!r}.", "Arguments are numbered from 0."
        )
    return tuple(several)


def _by_position(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a call by position."""
    try:
        signature = inspect.signature(f)
    except ValueError:  # a function that is not written in Python
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return (*bound.args, *bound.kwargs.values())


def _chosen(
    args: Sequence[Any], fixed: Sequence[int], kind: str
) -> tuple[list[Any], list[int]]:
    """The arguments of some numbers, and the numbers of the others."""
    for number in fixed:
        if not -len(args) <= number < len(args):
            raise ArgumentError.here(
                f"the argument numbers of {kind} have {number}, but the call has"
                f" {counted(len(args), 'argument')}.",
                "Arguments are numbered from 0.",
            )
    numbers = [number % len(args) for number in fixed]
    return [args[n] for n in numbers], [k for k in range(len(args)) if k not in numbers]


def _sum(a: object, b: object) -> object:
    """The sum of two tangents of one structure."""
    first, second = opened(a, "", "a tangent"), opened(b, "", "a tangent")
    pairs = zip(first.leaves, second.leaves, strict=True)
    return first.rebuild([x.value + y.value for x, y in pairs])


def _nothing(result: object) -> object:
    """The tangent of what depends on no argument."""
    return map_leaves(lambda _: None, result)
