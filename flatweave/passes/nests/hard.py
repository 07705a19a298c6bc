"""What an element function cannot compute alone: operations and arrays that are stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType
from flatweave.base.pretty import Note
from flatweave.base.records import record
from flatweave.ops import (
    Check,
    Concat,
    Empty,
    Generate,
    Index,
    Locate,
    Map,
    Nest,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Sort,
    Span,
)
from flatweave.passes.cost import (
    AS_READ,
    READ,
    Again,
    Roots,
    Sizes,
    length,
    may_repeat,
    notes_on,
    times,
    work,
)
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import free_vars, lambdas_in, map_field, walk_lets, with_lets

# -- repeated -------------------------------------------------------------------------------------
#
# Arrays of an element function that are stored, as they would be computed again and again.
#
#     row =>                                          reads of an element of t
#         t = map (x => reduce add 0 (mul x ys)) [row]
#         u = map (y => reduce max 0 (mul y t)) [ys]  for each element of ys: stored
#         u = map (v => exp v) [t]                    one
#
# An element function computes its arrays where it reads them, and stores none. What is read so
# often that its work would pass the bound of `cost.may_repeat` is stored for all rows, as the
# results of hard operations are; so is what the user wants in memory. Reads are counted with the
# loops around them: each index of a loop that an array is read along visits every element once, and
# other loops repeat that. Ten reads for each of m windows are ten of each element.


SUMS = ("add", "sub", "minimum", "maximum", "select")


def explain(program: Program) -> list[Note]:
    """The arrays of element functions that are computed at more than one read."""
    ops = (let.op for let in walk_lets(program.fn))
    nests = [op.fn for op in ops if isinstance(op, Map | Generate | Nest)]
    return notes_on(value for fn in nests for value in _again(fn))


def _again(fn: Lambda) -> Iterator[Again]:
    costs: dict[Atom, float] = {}
    work(fn.lets, costs)
    if any(cost > AS_READ for cost in costs.values()):
        counted = _Reads(fn, costs)
        for let in fn.lets:
            for var in let.vars if isinstance(let.op, Map | Generate) else ():
                if var not in counted.stored and counted.reads[var] > 1:
                    yield Again(let.where, counted.reads[var], costs[var])


@record
class Axis:
    """A loop: its extent, the variables that vary along it, and which of these are its indices."""

    extent: Atom
    varies: Sequence[Var]
    indices: Sequence[Var]


Space = tuple[Axis, ...]


def repeated(fn: Lambda) -> set[Var]:
    """The arrays of an element function that are to be stored."""
    made = [let for let in fn.lets if isinstance(let.op, Map | Generate)]
    asked = {
        var for let in made if isinstance(let.op, Map) and let.op.barrier for var in let.vars
    }  # fmt: skip
    costs: dict[Atom, float] = {}
    if made:
        work(fn.lets, costs)
    if all(cost <= AS_READ for cost in costs.values()):
        return asked
    costs.update((var, READ) for var in asked)
    return asked | _Reads(fn, costs).stored


class _Reads:
    """How often each element of an array is read by a call of an element function.

    A space is the loops around. `spaces` knows for each variable how many of them are around what
    makes it.
    """

    def __init__(self, fn: Lambda, costs: dict[Atom, float]) -> None:
        self.makers: dict[Atom, Op] = {var: let.op for let in walk_lets(fn) for var in let.vars}
        self.sizes = Sizes(self.makers)
        self.costs = costs
        self.reads: defaultdict[Atom, float] = defaultdict(float)
        self.stored: set[Var] = set()
        self.spaces: dict[Atom, int] = {}
        self.roots = Roots(self.makers)
        self.terms: dict[Atom, frozenset[Atom]] = {}
        self._body(fn, (), 1)

    def _body(self, fn: Lambda, space: Space, often: float) -> None:
        """Count the reads of a function that is called for each element of a space, so often."""
        self.spaces.update((var, len(space)) for var in fn.params)
        self.spaces.update((var, len(space)) for let in fn.lets for var in let.vars)
        for result in fn.results:
            self._whole(result, space, often)
        for let in reversed(fn.lets):
            self._let(let, space, often)

    def _let(self, let: Let, space: Space, often: float) -> None:
        op = let.op
        arrays = [var for var in let.vars if is_array(var)]
        if isinstance(op, Map | Generate | Reshape | Concat):
            often = max((self.reads[var] for var in arrays), default=0)
        if isinstance(op, Map | Generate) and not self._may_repeat(arrays, often):
            self.stored.update(arrays)
            often = 1
        match op:
            case Map(xs=xs, fn=fn):
                along = [p for x, p in zip(xs, fn.params, strict=True) if self._is_iota(x)]
                axes = [Axis(extent, fn.params, along) for extent in op.shape()]
                self._body(fn, (*space, *_inner(let, len(axes)), *axes), often)
                for x, param in zip(xs, fn.params, strict=True):
                    self._whole(x, space, self.reads[param] if is_array(param) else often)
            case Generate(shape=shape, fn=fn):
                axes = [Axis(e, (p,), (p,)) for e, p in zip(shape, fn.params, strict=True)]
                self._body(fn, (*space, *_inner(let, len(axes)), *axes), often)
            case Reshape(xs=xs):
                self._whole(xs, space, often)
            case Concat(xs=xs):
                for x in xs:
                    self._whole(x, space, often)
            case Index(xs=xs, indices=indices):
                self._element(xs, indices, space, often)
            case If() | For() | While():
                rounds = 1 if isinstance(op, If) else times(op)
                for body in lambdas_in(op):
                    self._body(body, space, often * rounds)
            case _:
                for var in free_vars(op):
                    self._whole(var, space, often)
                for inner in lambdas_in(op):
                    self._body(inner, space, often)

    def _may_repeat(self, arrays: list[Var], often: float) -> bool:
        return all(may_repeat(self.costs.get(var, READ), often) for var in arrays)

    def _whole(self, array: Atom, space: Space, often: float) -> None:
        """Each element is read for each of a space."""
        if is_array(array):
            around = [axis.extent for axis in space[self.spaces.get(array, 0) :]]
            self.reads[array] += often * self.sizes.of(around).over(self.sizes.of(()))

    def _element(self, array: Atom, indices: Sequence[Atom], space: Space, often: float) -> None:
        """One element is read for each of a space: each once along a loop by whose index it is."""
        left = [*space[self.spaces.get(array, 0) :]]
        while left and not self._uses(indices, left[-1].varies):
            left.pop()  # the element is the same for all of the innermost loop
        own = []
        for index, extent in zip(indices, array_type(array).shape, strict=True):
            terms = self._terms(index)
            along = [axis for axis in left if not set(axis.indices).isdisjoint(terms)]
            if along:
                left.remove(max(along, key=lambda axis: length(axis.extent)))
            else:
                own.append(extent)
        extents = [axis.extent for axis in left]
        self.reads[array] += often * self.sizes.of(extents).over(self.sizes.of(own))

    def _is_iota(self, array: Atom) -> bool:
        made = self.makers.get(array)
        return isinstance(made, Generate) and made.fn.results == made.fn.params

    def _uses(self, atoms: Iterable[Atom], params: Sequence[Var]) -> bool:
        """Whether atoms depend on some of these."""
        return any(not self.roots.of(atom).isdisjoint(params) for atom in atoms)

    def _terms(self, index: Atom) -> frozenset[Atom]:
        """The indices of which an index is the sum, between bounds, with others."""
        if index not in self.terms:
            op = self.makers.get(index)
            parts = op.args[-2:] if isinstance(op, Apply) and op.fn in SUMS else ()
            self.terms[index] = frozenset((index,)).union(*map(self._terms, parts))
        return self.terms[index]


def _inner(let: Let, own: int) -> Sequence[Axis]:
    """The axes of what a function gives. Each element is computed by another call: these are loops
    around all others, as elements may be read in any order."""
    shape = max((array_type(var).shape for var in let.vars), key=len)
    return [Axis(extent, (), ()) for extent in shape[own:]]


def is_array(atom: Atom) -> bool:
    """Whether an atom is an array rather than a scalar."""
    return isinstance(atom.type, ArrayType)


# -- hard -----------------------------------------------------------------------------------------
#
# Operations that an element function cannot compute alone, as they have to store arrays.
#
#   easy    scalar work, reads, arrays made element by element (pulls), folds of these,
#           branches and loops over scalars, sorts in registers
#   hard    scan, filter, sort, scatter, .. ; rows of varying lengths; arrays in loops and branches;
#           arrays whose elements would be computed again and again (`hard.py`)
#
# Operators and keys may need memory, too: what does not depend on their elements is made before
# them.
#
#   scan ((a, b) => .. sort r ..) ne xs     s = sort r; scan ((a, b) => .. s ..) ne xs
#   sort (x => .. sort x ..) xs             k = map (x => .. sort x ..) xs; sort (k, x => k) [k, xs]


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
    return any(may_fail(let.op) for fn in lambdas_in(op) for let in fn.lets)


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
        return with_lets(fn, left)

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
