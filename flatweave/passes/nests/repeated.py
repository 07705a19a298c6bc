"""Arrays of an element function that are stored, as they would be computed again and again.

    row =>                                          reads of an element of t
        t = map (x => reduce add 0 (mul x ys)) [row]
        u = map (y => reduce max 0 (mul y t)) [ys]  for each element of ys: stored
        u = map (v => exp v) [t]                    one

An element function computes its arrays where it reads them, and stores none. An element whose cost
grows with one extent is not computed again for each element of another: such an array is stored for
all rows, as the results of hard operations are; so is what the user wants in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from math import inf

from flatweave.ops import Concat, Generate, Index, Map, Reduce, Reshape
from flatweave.passes.cost import SHORT_LOOP
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in

FEW_READS = 2
"""An element that is read so often, for its mean and its variance, is computed as often."""
Reads = defaultdict[Atom, float]


def repeated(fn: Lambda) -> set[Var]:
    """The arrays of an element function that are to be stored."""
    asked = {var for let in fn.lets if isinstance(let.op, Map) and let.op.barrier
             for var in let.vars}  # fmt: skip
    dear = [let for let in fn.lets if isinstance(let.op, Map | Generate) and grows(let.op.fn)]
    if not dear:
        return asked
    reads = _reads(fn)
    return asked | {
        var for let in dear for var in let.vars
        if any(reads[each] > FEW_READS for each in let.vars)
    }  # fmt: skip


def grows(fn: Lambda) -> bool:
    """Whether a call costs more the longer some extent is: there are loops, or folds of arrays."""
    return any(_grows(let) for let in fn.lets)


def _grows(let: Let) -> bool:
    op = let.op
    if isinstance(op, Reduce):
        return any(_is_long(x) for x in op.xs)
    return isinstance(op, For | While) or any(grows(fn) for fn in lambdas_in(op))


def _is_long(array: Atom) -> bool:
    assert isinstance(array.type, ArrayType)
    extent = array.type.shape[0]
    return not isinstance(extent, Const) or int(extent.value) > SHORT_LOOP


def _reads(fn: Lambda) -> Reads:
    """How often each element of an array is read where all results are; of scalars nothing."""
    reads: Reads = defaultdict(float)
    for result in fn.results:
        reads[result] += _is_array(result)
    for let in reversed(fn.lets):
        _count(reads, let)
    return reads


def _count(reads: Reads, let: Let) -> None:
    """Add what a let reads, whose own results are read as often as is known by now."""
    op = let.op
    often = max((reads[var] for var in let.vars if _is_array(var)), default=1)
    match op:
        case Map(xs=xs, fn=fn):
            inside = _reads(fn)
            for x, param in zip(xs, fn.params, strict=True):
                reads[x] += often * (inside[param] if _is_array(param) else 1)
            _inside(reads, fn, (), often)
        case Generate(fn=fn):
            _inside(reads, fn, fn.params, often)
        case Reduce(xs=xs):
            for x in xs:
                reads[x] += 1
        case Reshape(xs=xs):
            reads[xs] += often
        case Concat(xs=xs):
            for x in xs:
                reads[x] += often
        case Index(xs=xs):
            reads[xs] += 1
        case If(then=then, other=other):
            for branch in (then, other):
                for var, count in _reads(branch).items():
                    reads[var] += count
        case For() | While():
            for body in lambdas_in(op):
                _inside(reads, body, (), often)
        case _:
            for var in free_vars(op):
                reads[var] += _is_array(var)


def _inside(reads: Reads, fn: Lambda, params: Sequence[Var], often: float) -> None:
    """Add the reads of arrays from around a function that is called for each of many elements: at
    its own indices it reads each element once, otherwise nobody knows how often."""
    once = {let.op.xs for let in fn.lets if isinstance(let.op, Index) and _is_own(let.op, params)}
    elsewhere = {
        var for let in fn.lets for var in free_vars(let.op)
        if not (isinstance(let.op, Index) and _is_own(let.op, params))
    }  # fmt: skip
    for var in free_vars(fn):
        if _is_array(var):
            reads[var] += often if var in once and var not in elsewhere else inf


def _is_own(op: Index, params: Collection[Var]) -> bool:
    return bool(params) and set(params) <= set(op.indices)


def _is_array(atom: Atom) -> bool:
    return isinstance(atom.type, ArrayType)
