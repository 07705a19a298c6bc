"""Element functions and operators as lambdas of the program.

    element_function(f, [(x, y)], ..)     the user's f on one element of each argument
    operator(op, elements, ne)            the user's op on two elements, checked to give one back
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from flatweave.base.errors import ArgumentError, OperatorError, ShapeError, UserError
from flatweave.base.pretty import counted
from flatweave.base.source import Location, function_location, is_in_package, user_location
from flatweave.frontend.call.operation import OPERATIONS
from flatweave.frontend.elements.broadcasting import cast, generated, read, taken
from flatweave.frontend.trace.extents import ONE, same
from flatweave.frontend.trace.tracers import are_numbers, as_tracer, as_tracers, tracer_of
from flatweave.frontend.values import datetimes
from flatweave.frontend.values.array import METHODS, Tracer, describe, kind_of
from flatweave.frontend.values.asarray import is_number_list, no_array
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import (
    LEAF,
    NONE,
    Tree,
    flatten,
    paths,
    portions,
    spelled,
    unflatten,
)
from flatweave.ops import Map
from flatweave.scalar.ops import TABLE
from flatweave.scalar.ops import neutral as neutral_value
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Type, Var, row_type


def need_function(fn: Any, who: str) -> Callable[..., Any]:
    """The function itself; ArgumentError for what cannot be called."""
    if not callable(fn):
        raise ArgumentError.here(
            f"{who} needs a function, got {kind_of(fn)}.", f"Call it as {call_form(who)}."
        )
    function: Callable[..., Any] = fn
    return function


def call_form(who: str) -> str:
    """How a public function is called: `fw.reduce(op, ne, xs)`."""
    known = OPERATIONS[METHODS[who]]
    rest = [f"*{known.rest}"] if known.rest else []
    return f"fw.{who}({', '.join([*known.positional, *rest])})"


TUPLES = (
    "A tuple is one argument: elements of (xs, ys) come as f((x, y)), those of two arrays as"
    " f(x, y)."
)
INDICES = "Take one index for each axis of the shape: lambda i, j: .. for a shape of two."
COUNTED = "Take them as size(x) and get(x, i); an element of (xs, ys) is one x, a tuple."
TAKES = {
    "generate": INDICES, "backpermute": INDICES, "expand": COUNTED, "expand_reduce": COUNTED,
    "fori_loop": "Take them as body(i, state); a state of several values is one tuple.",
    "while_loop": "Take the state as one argument, a tuple where it has several values.",
    "cond": "Take the arguments after the two functions: cond(p, then, other, x) calls then(x).",
}  # fmt: skip


def check_arity(
    fn: Any, count: int, who: str, error: type[UserError] = ArgumentError
) -> None:
    """Refuse a user's function that does not take `count` arguments."""
    code = getattr(fn, "__code__", None)
    if code is None or not inspect.isfunction(fn) or hasattr(fn, "__wrapped__"):
        return
    most = code.co_argcount
    least = most - len(fn.__defaults__ or ())
    if least <= count and (count <= most or code.co_flags & inspect.CO_VARARGS):
        return
    raise error(
        f"{who} is called with {counted(count, 'argument')}, but {name_of(fn)} takes {most}."
        if error is OperatorError
        else f"{who} calls its function with {counted(count, 'argument')}, but {name_of(fn)} takes"
        f" {most}.",
        where=user_location(),
        origins=[f"{name_of(fn)} was written at {defined_at(fn)}"],
        remedy=TAKES.get(who, TUPLES),
    )


def element_type(array: Tracer) -> Type:
    """The type of an element along axis 0: a scalar, or a row."""
    type_ = array.type
    assert isinstance(type_, ArrayType)
    return row_type(type_)


def element_function(
    fn: Callable[..., Any], trees: Sequence[Tree], types: Sequence[Type], who: str
) -> tuple[Lambda, Tree, list[Tracer]]:
    """`fn` on elements, one tree for each argument; the lambda, the tree and leaves it gives."""
    found: list[Any] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        parts = portions(trees, [tracer_of(param) for param in params])
        args = [unflatten(tree, part) for tree, part in zip(trees, parts, strict=True)]
        check_arity(fn, len(args), who)
        leaves, tree = as_tracers(fn(*args), f"the result of {name_of(fn)}", structured=True)
        found.extend([tree, leaves])
        return [own(leaf, inside).atom for leaf in leaves]

    made = current().function(types, body, "x")
    return made, found[0], found[1]


def own(leaf: Tracer, inside: Scope) -> Tracer:
    """A result of an element function; an array from outside is copied into a row."""
    if not leaf.ndim or inside.home((leaf.atom,)) is inside:
        return leaf
    return generated(leaf.extents, lambda *at: read(leaf, at))[0]


def shape_text(tree: Tree, leaves: Sequence[Tracer]) -> str:
    """A structure with the types of its leaves: `(f32, i64)`."""
    return spelled(tree, [describe(leaf) for leaf in leaves])


def name_of(fn: Any) -> str:
    """What messages call a function."""
    name = getattr(fn, "__name__", type(fn).__name__)
    return "the function" if name == "<lambda>" else name


def defined_at(fn: Any) -> Location | None:
    """Where a function of the user's was written, when it was written in Python."""
    code = getattr(fn, "__code__", None)
    is_written_here = is_in_package(getattr(fn, "__module__", ""))
    return function_location(code) if code is not None and not is_written_here else None


def neutral(ne: Any, tree: Tree, elements: Sequence[Tracer], who: str) -> list[Tracer]:
    """The neutral element's leaves, in the dtypes of the elements; OperatorError if unlike them."""
    leaves, given = as_tracers(ne, f"the neutral element of {who}")
    fitting = with_zeros(iter(leaves), given, tree)
    if fitting is None:
        raise OperatorError.here(
            f"{who} needs a neutral element like its elements,"
            f" {spelled(tree, [e.element.name for e in elements])}, got"
            f" {shape_text(given, leaves)}.",
            "Give one neutral value for each part of an element, in the same structure.",
        )
    leaves = fitting
    for leaf, element in zip(leaves, elements, strict=True):
        if leaf.ndim not in (0, element.ndim - 1):
            raise ShapeError.here(
                f"{who} needs a neutral element like its elements, whose rank is"
                f" {max(element.ndim - 1, 0)}, got {describe(leaf)}.",
                "Give a scalar, or for rows one row.",
            )
        _need_row_like(leaf, element, who)
    return [
        taken(leaf, element.element, who)
        for leaf, element in zip(leaves, elements, strict=True)
    ]


def with_zeros(leaves: Iterator[Tracer], given: Tree, tree: Tree) -> list[Tracer] | None:
    """The leaves of `given` as those of `tree`, which may have complex numbers where it has real
    ones; None where it is another structure."""
    if given == tree:
        return list(islice(leaves, given.size))
    if tree.kind == "node" and tree.cls is Complex and given.kind == "leaf":
        return [next(leaves), as_tracer(0.0)]
    if (given.kind, given.cls, given.names) != (tree.kind, tree.cls, tree.names):
        return None
    if len(given.children) != len(tree.children):
        return None
    found: list[Tracer] = []
    for part, wanted in zip(given.children, tree.children, strict=True):
        fitting = with_zeros(leaves, part, wanted)
        if fitting is None:
            return None
        found.extend(fitting)
    return found


def _need_row_like(leaf: Tracer, element: Tracer, who: str) -> None:
    """Refuse a neutral row whose extents are not those of the elements, nor 1."""
    for axis, extent in enumerate(leaf.extents):
        if extent != ONE:
            same(
                extent, element.extents[1 + axis],
                f"{who} needs a neutral row like its elements, got extents {{0}} and {{1}}.",
                remedy="Give a row of the elements' shape, or a scalar.",
            )  # fmt: skip


def operator(
    op: Callable[..., Any], tree: Tree, types: Sequence[Type], who: str, check: bool = True
) -> Lambda:
    """`op` on two elements of these types, giving one; OperatorError when it gives another.

    Unless `check` is False, or a law covers it, the first call tries it on its data.
    """
    need_function(op, who)

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        elements = [tracer_of(param) for param in params]
        half = len(types)
        check_arity(op, 2, f"the operator of {who}", OperatorError)
        result = op(unflatten(tree, elements[:half]), unflatten(tree, elements[half:]))
        leaves, given = as_tracers(result, f"the result of the operator of {who}", structured=True)
        if given != tree:
            raise _unlike(
                op, who, shape_text(tree, elements), shape_text(given, leaves),
                remedy="Give a value for each part, in the structure of the elements.",
            )  # fmt: skip
        return [
            _like(op, leaf, element, path, who).atom
            for leaf, element, path in zip(leaves, elements[:half], paths(tree), strict=True)
        ]

    fn = current().function([*types, *types], body, "a")
    trace = current().trace
    assert trace.where is not None
    must_associate(fn, op, who)
    if not check:
        trace.where.is_trusted = True
    elif not is_ours(op) and not is_lawful(fn):
        trace.unproven.append(trace.where)
    return fn


def is_lawful(fn: Lambda) -> bool:
    """Whether each component is combined by a function that is associative."""
    names = [combined_by(fn, k) for k in range(len(fn.results))]
    return all(name and TABLE[name].associative for name in names)


def expect_neutral(fn: Lambda, identity: Sequence[Tracer]) -> None:
    """Have the first call try a neutral element, unless it is known to be neutral."""
    if not all(is_known_neutral(fn, k, given.atom) for k, given in enumerate(identity)):
        trace = current().trace
        assert trace.where is not None
        trace.unproven.append(trace.where)


def is_known_neutral(fn: Lambda, k: int, atom: Atom) -> bool:
    """Whether a value is known to be neutral to what combines part `k` of two elements."""
    name = combined_by(fn, k)
    if not name or not isinstance(atom, Const):
        return False
    return bool(neutral_value(name, atom.dtype) == atom.value)


def is_ours(op: Any) -> bool:
    """Whether an operator is part of what a function of ours computes."""
    is_public = getattr(op, "__wrapped__", None) is not None and op in OPERATIONS
    return not is_public and is_in_package(getattr(op, "__module__", ""))


def combine_lambda(combine: Callable[..., Sequence[Tracer]], types: Sequence[Type]) -> Lambda:
    """An operator written on tracers as a lambda."""

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        return [result.atom for result in combine(*(tracer_of(param) for param in params))]

    return current().function([*types, *types], body, "a")


NOT_ASSOCIATIVE = {
    "sub": "a - b", "truediv": "a / b", "floordiv": "a // b", "mod": "a % b", "pow": "a ** b",
    "shl": "a << b", "shr": "a >> b", "atan2": "atan2(a, b)", "lt": "a < b", "le": "a <= b",
    "gt": "a > b", "ge": "a >= b",
}  # fmt: skip


def must_associate(
    fn: Lambda, op: Any, who: str, where: Location | None = None,
    one_by_one: str = "go one by one with fw.fori_loop",
) -> None:  # fmt: skip
    """Refuse an operator that is known not to be associative."""
    for k in range(len(fn.results)):
        name = combined_by(fn, k)
        if name in NOT_ASSOCIATIVE:
            origin = defined_at(op)
            raise OperatorError(
                f"the operator of {who} is {NOT_ASSOCIATIVE[name]}, which is not associative.",
                where=where or user_location(),
                origins=[f"{name_of(op)} was written at {origin}"] if origin else [],
                remedy="Elements are grouped as sizes ask for. Add what is negated, multiply by"
                f" what is inverted, or {one_by_one}.",
            )


def combined_by(fn: Lambda, k: int) -> str:
    """The one scalar function that combines part `k` of two elements, if there is one."""
    operands = {fn.params[k], fn.params[len(fn.params) // 2 + k]}
    for let in fn.lets:
        if fn.results[k] not in let.vars:
            continue
        if isinstance(let.op, Apply) and set(let.op.args) == operands:
            return let.op.fn
        if isinstance(let.op, Map) and set(let.op.xs) == operands and len(let.op.fn.params) == 2:
            return combined_by(let.op.fn, 0)
    return ""


def _like(op: Any, leaf: Tracer, element: Tracer, path: str, who: str) -> Tracer:
    """A result's leaf in the dtype of the element's; a Python number takes it."""
    if leaf.ndim != element.ndim:
        raise _unlike(op, who, describe(element), describe(leaf), path)
    if leaf.ndim:
        if leaf.element is not element.element:
            raise _unlike(op, who, describe(element), describe(leaf), path)
        return _as_long(leaf, element, who)
    if leaf.element is element.element:
        return leaf
    if leaf.weak and (element.element.is_float or not leaf.element.is_float):
        return cast(leaf, element.element)
    raise _unlike(op, who, describe(element), describe(leaf), path)


def _as_long(leaf: Tracer, element: Tracer, who: str) -> Tracer:
    """A row that an operator gives, of the shape of its operand; checked where it is not known."""
    if leaf.extents == element.extents:
        return leaf
    message = f"the operator of {who} takes rows of {{1}} elements but gives one of {{0}}."
    for given, wanted in zip(leaf.extents, element.extents, strict=True):
        same(given, wanted, message, remedy="Give a row of the same shape.")
    return generated(element.extents, lambda *at: read(leaf, at))[0]


def _unlike(
    op: Any, who: str, wanted: str, given: str, path: str = "",
    remedy: str = "Convert its result with astype, or convert the elements before.",
) -> OperatorError:
    part = f" at {path}" if path else ""
    origin = defined_at(op)
    return OperatorError(
        f"the operator of {who} takes elements of {wanted} but gives {given}{part}.",
        where=user_location(),
        origins=[f"{name_of(op)} was written at {origin}"] if origin else [],
        remedy="A function without a return gives None."
        if given == "None"
        else remedy,
    )


def single(value: Any, who: str) -> Tracer:
    """The value as one array; ArgumentError for tuples and other structures."""
    leaves, tree = flatten(value, is_number_list)
    if tree == LEAF or (isinstance(value, list) and not value) or are_numbers(value):
        return as_tracer(value, f"xs of {who}")
    is_told = isinstance(value, datetimes.Times) or hasattr(type(value), "instead_of_array")
    if tree == NONE or is_told or (isinstance(value, list) and any(x is None for x in value)):
        raise no_array(value, f"xs of {who}")
    raise ArgumentError.here(
        f"{who} needs one array, got {tree_text(tree, leaves)}.",
        "Pass its arrays one by one; np.array(xs) makes one array of a list of numbers.",
    )


def tree_text(tree: Tree, leaves: Sequence[Any]) -> str:
    """A structure with what its leaves are, arrays or not: `(f64[3], str)`."""
    return spelled(tree, [_leaf_text(leaf) for leaf in leaves])


def _leaf_text(leaf: Any) -> str:
    if isinstance(leaf, Tracer):
        return describe(leaf)
    return type(leaf).__name__
