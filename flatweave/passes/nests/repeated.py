"""Arrays of an element function that are stored, as they would be computed again and again.

    row =>                                          reads of an element of t
        t = map (x => reduce add 0 (mul x ys)) [row]
        u = map (y => reduce max 0 (mul y t)) [ys]  for each element of ys: stored
        u = map (v => exp v) [t]                    one

An element function computes its arrays where it reads them, and stores none. What is read so often
that its work would pass the bound of `cost.may_repeat` is stored for all rows, as the results of
hard operations are; so is what the user wants in memory. Reads are counted with the loops around
them: each index of a loop that an array is read along visits every element once, and other loops
repeat that. Ten reads for each of m windows are ten of each element.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.diagnostics import Note
from flatweave.base.records import record
from flatweave.ops import Concat, Generate, Index, Map, Nest, Reshape
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
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

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
        arrays = [var for var in let.vars if _is_array(var)]
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
                    self._whole(x, space, self.reads[param] if _is_array(param) else often)
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
        if _is_array(array):
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


def _is_array(atom: Atom) -> bool:
    return isinstance(atom.type, ArrayType)
