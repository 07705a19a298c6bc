"""Operations that an element function cannot compute alone, as they have to store arrays.

    easy    scalar work, reads, arrays made element by element (pulls), folds of these,
            branches and loops over scalars, sorts in registers
    hard    scan, filter, sort, scatter, .. ; rows of varying lengths; arrays in loops and branches;
            arrays whose elements would be computed again and again (`repeated.py`)

Operators and keys may need memory, too: what does not depend on their elements is made before them.

    scan ((a, b) => .. sort r ..) ne xs     s = sort r; scan ((a, b) => .. s ..) ne xs
    sort (x => .. sort x ..) xs             k = map (x => .. sort x ..) xs; sort (k, x => k) [k, xs]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from flatweave.base.dtypes import DType
from flatweave.ops import (
    Check,
    Concat,
    Empty,
    Generate,
    Index,
    Locate,
    Map,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Sort,
    Span,
)
from flatweave.passes.nests.repeated import repeated
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, map_field

PULLS = (Map, Generate, Reshape, Concat, Empty)
SCALAR = (Apply, Cast, Index, Check, Span)
CONTROL = (If, While, For)


def is_hard(let: Let, own: Collection[Var] = (), *, repeats: bool = True) -> bool:
    """Whether a let of an element function needs memory; `own` are variables of such functions.

    Not `repeats`: an array that is computed again and again needs none.
    """
    op = let.op
    if isinstance(op, Locate):
        return op.ends in own  # a search needs a stored array
    if isinstance(op, SCALAR) or (isinstance(op, Sort) and op.in_registers):
        return False
    if isinstance(op, CONTROL) and any(isinstance(var.type, ArrayType) for var in let.vars):
        return True
    if isinstance(op, Reduce):
        if not all(isinstance(atom.type, DType) for atom in op.neutral):
            return True
    elif not isinstance(op, (*PULLS, *CONTROL)):
        return True
    repeats &= not isinstance(op, Reduce)  # an operator has no memory
    return any(has_hard(fn, own, repeats=repeats) for fn in lambdas_in(op))


def has_hard(fn: Lambda, own: Collection[Var] = (), *, repeats: bool = True) -> bool:
    """Whether an element function, or one inside it, needs memory."""
    if repeats and repeated(fn):
        return True
    inside = {*own, *fn.params, *(var for let in fn.lets for var in let.vars)}
    return any(is_hard(let, inside, repeats=repeats) for let in fn.lets)


def may_fail(op: Op) -> bool:
    """Whether running an op can end the program, or never end."""
    if isinstance(op, Check | While) or (isinstance(op, Index) and op.checked):
        return True
    return any(may_fail(let.op) for let in _lets_inside(op))


def _lets_inside(op: Op) -> Iterable[Let]:
    return (let for fn in lambdas_in(op) for let in fn.lets)


WITH_OPERATORS = (Permute, Reduce, ReduceSegments, Scan, Sort)


def needs_memory(op: Op) -> bool:
    """Whether an operation has an operator or keys that need memory."""
    return isinstance(op, WITH_OPERATORS) and any(
        has_hard(fn, repeats=False) for fn in lambdas_in(op)
    )


def hoisted(op: Op) -> tuple[list[Let], Op]:
    """The lets of an operator that are the same for all its calls, and the operation without."""
    before: list[Let] = []

    def rest(fn: Lambda) -> Lambda:
        own = set(fn.params)
        left: list[Let] = []
        for let in fn.lets:
            if let.op.effect or may_fail(let.op) or own & free_vars(let.op).keys():
                own.update(let.vars)
                left.append(let)
            else:
                before.append(let)
        return Lambda(fn.params, tuple(left), fn.results)

    made: Op = map_field(op, lambda atom: atom, rest)
    return before, made


def keys_of(op: Sort) -> Map:
    """The keys of all elements."""
    return Map(op.fn, op.xs, 1)


def by_keys(keys: Sequence[Atom], xs: Sequence[Atom]) -> Sort:
    """Keys, and elements with them, in order of the keys."""
    params = [Var("k", array_type(key).dtype) for key in keys]
    rest = [Var("x", array_type(x).dtype) for x in xs]
    return Sort(Lambda((*params, *rest), (), tuple(params)), (*keys, *xs))
