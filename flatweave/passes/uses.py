"""How each array of a program is read: how often, where, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod

from flatweave.access import arguments_of, most
from flatweave.access.analyse import Accesses, find_offset, scalar_values
from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.ops import ByRow, Fold, Index, Locate, Sweep
from flatweave.passes.cost import FEW, INNER_LOOP, LONG, Roots, divides_position, length, times
from flatweave.terms.bounds import Sum
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import Atom, Lambda, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, walk_lets


@record(frozen=False)
class Uses:
    """How an array is read: element reads, weighted by loops, and uses as a whole.

    `few` are the elements that are read once, on the host or by sweeps of a few elements; they are
    not among `reads`. `turns`: a loop on the host reads elements in each iteration, itself or by a
    sweep. `once`: no element is read twice. `visits`: how often each is read, at extents of LONG.
    `shifted`: a sweep reads them in order, but not at its own index. `near`: sweeps read them at
    their own index, or as far from it for all elements, but at edges.
    `in_runs`: rows that begin where data says read them, any number of rows an element.
    `divided`: a sweep of one axis that cannot have more divides its position to read them.
    `sites`: in which bodies, and at which indices.
    """

    reads: int = 0
    few: int = 0
    once: bool = True
    whole: int = 0
    turns: bool = False
    identity: bool = True
    visits: float = 0
    shifted: bool = False
    near: bool = True
    in_runs: bool = False
    divided: bool = False
    sites: frozenset[tuple[int, tuple[Atom, ...]]] = frozenset()


def uses_of(program: Program) -> dict[Var, Uses]:
    """The uses of each variable that is used at all."""
    count = _Count()
    count.body(program.fn, 1)
    return count.uses


class _Count:
    """Counts how each array of a program is used.

    `sweep` is the sweep whose body contains a use, and `space` the indices of that sweep and of
    the folds around, each with its extent: a read that uses every one of them once, on an array of
    those extents, visits each element once. So does a read of all elements of all rows between
    offsets. `loops` is the number of host loops around.
    """

    def __init__(self) -> None:
        self.uses: dict[Var, Uses] = {}
        self.loops_around: dict[Var, int] = {}
        self.makers: dict[Var, Op] = {}
        self.roots = Roots(self.makers)
        self.extents = scalar_values(self._maker)
        self.sweep: Sweep | None = None
        self.space: tuple[tuple[Var, Atom], ...] = ()
        self.loops = 0
        self.within: Lambda | None = None
        self.values: Accesses | None = None
        self.few = 0  # how many elements the sweep has, if they are few

    def body(self, fn: Lambda, weight: int) -> None:
        """Count the reads in a function that is called `weight` times for each element."""
        around, self.within = self.within, fn
        for let in fn.lets:
            self.makers.update((var, let.op) for var in let.vars)
            self.loops_around.update((var, self.loops) for var in let.vars)
            match let.op:
                case Index(xs=Var() as xs, indices=indices):
                    self._read(xs, indices, weight)
                case Sweep():
                    self._sweep(let.op)
                case _:
                    self._other(let.op, weight)
        self.within = around
        for atom in fn.results:
            if self.sweep is None or atom not in self.sweep.body.results:
                self._whole(atom)

    def _read(self, xs: Var, indices: Sequence[Atom], weight: int) -> None:
        use = self.uses.setdefault(xs, Uses())
        use.sites |= {(id(self.within), tuple(indices))}
        in_loop = self.loops > self.loops_around.get(xs, 0)
        few = self.few if self.sweep is not None else 1
        once = self._visits_once(xs, indices)
        is_first = not use.reads and not use.few
        use.once = is_first and not in_loop and (once or few * weight == 1)
        if few and not in_loop:
            use.few += few * weight
            return
        use.reads += 1 if once else weight
        shifted = not once and self._is_shifted(indices[-1])
        use.visits += 1 if once else self._visits(indices)
        use.in_runs |= not once and self._is_in_runs(indices)
        use.divided |= not once and self._is_divided(indices)
        use.turns |= in_loop
        use.identity &= once
        use.shifted |= shifted
        use.near &= once or self._is_near(indices)

    def _visits_once(self, xs: Var, indices: Sequence[Atom]) -> bool:
        """Whether the reads at `indices` over the whole space touch each element at most once."""
        extents, shape = dict(self.space), getattr(xs.type, "shape", ())
        row = self._row_at(indices[0], extents) if len(indices) < len(extents) else None
        if row is not None:
            i, k = row
            del extents[i], extents[k]
            indices, shape = indices[1:], shape[1:]
        if len(indices) != len(extents) or set(indices) != set(extents):
            return False
        pairs = zip(indices, shape, strict=True)
        return all(extents[i] == e for i, e in pairs if isinstance(i, Var))

    def _visits(self, indices: Sequence[Atom]) -> float:
        """How often an element is read along the loops that its indices do not depend on; where
        all loops inside are such, one read serves them."""
        used = frozenset[Atom]().union(*map(self.roots.of, indices))
        loops = list(self.space)
        while loops and loops[-1][0] not in used:
            loops.pop()
        return prod(length(extent) for param, extent in loops if param not in used)

    def _row_at(self, position: Atom, extents: Mapping[Var, Atom]) -> tuple[Var, Var] | None:
        """The i and k of f(i) + k, where k goes from 0 to f(i + 1) - f(i): an element of row i."""
        if self.sweep is None:
            return None
        values = self._values(self.sweep)
        place = values.of(position)
        for k in (k for k in extents if place.terms.get(k) == 1):
            start = place.plus(Sum({k: 1}), -1)
            end = start.plus(values.of(extents[k]))
            for i in extents:
                if i is not k and values.moved(start, i, Sum({i: 1}, 1)) == end:
                    return i, k
        return None

    def _is_shifted(self, position: Atom) -> bool:
        """Whether an index goes up or down by one with an index of the sweep at hand."""
        if self.sweep is None:
            return False
        terms = self._values(self.sweep).of(position).terms
        return any(terms.get(param) in (1, -1) for param in self.sweep.body.params)

    def _is_near(self, indices: Sequence[Atom]) -> bool:
        """Whether an element is read that is as far from the sweep's own for all, but at edges."""
        if self.sweep is None or len(indices) != len(self.sweep.shape):
            return False
        values, own = self._values(self.sweep), self.sweep.body.params
        pairs = zip(indices, own, strict=True)
        return all(find_offset(values, i, param) is not None for i, param in pairs)

    def _is_in_runs(self, indices: Sequence[Atom]) -> bool:
        """Whether the rows of the sweep at hand are runs that begin where data says: any number of
        them may read an element."""
        if self.sweep is None:
            return False
        starts = {let.vars[1] for let in self.sweep.body.lets if isinstance(let.op, Locate)}
        found, waiting = set[Atom](), list(indices) if starts else []
        while waiting:
            op = self._maker(atom := waiting.pop())
            if isinstance(op, Apply) and atom not in found:
                waiting += op.args
            found.add(atom)
        reads = any(isinstance(self._maker(atom), Index) for atom in found)
        return reads and not (found.isdisjoint(starts) or found.isdisjoint(self.sweep.body.params))

    def _is_divided(self, indices: Sequence[Atom]) -> bool:
        """Whether the sweep at hand divides its position, and filters, scans or uses it otherwise:
        its axis cannot be split."""
        sweep = self.sweep
        if sweep is None or len(sweep.shape) > 1 or len(indices) < 2:
            return False
        divided = arguments_of(self._values(sweep).of(indices[-1]), "mod")
        if not divided or divided[0] != Sum({sweep.body.params[0]: 1}):
            return False
        filters = any(sink.filters for sink in sweep.sinks)
        otherwise = sweep.stores_or_reduces and not divides_position(sweep)
        return sweep.scans or filters or otherwise

    def _values(self, op: Sweep) -> Accesses:
        """The values of the sweep at hand, along its axes and those of its folds."""
        if self.values is None:
            lets = walk_lets(op.body)
            folds = [let.op.body.params[0] for let in lets if isinstance(let.op, Fold)]
            self.values = Accesses([*op.body.params, *folds], op.body.lets)
        return self.values

    def _sweep(self, op: Sweep) -> None:
        for atom in atoms_in((op.shape, op.sinks)):
            self._whole(atom)
        self.sweep, self.space = op, tuple(zip(op.body.params, op.shape, strict=True))
        self.values = None
        most = prod(self._most(extent) for extent in op.shape)
        self.few = int(most) if most <= FEW else 0
        self.body(op.body, 1)
        self.sweep, self.space = None, ()

    def _other(self, op: Op, weight: int) -> None:
        for atom in atoms_in(op):
            self._whole(atom)
        is_loop, on_host = isinstance(op, Fold | While | For | ByRow), self.sweep is None
        for inner in lambdas_in(op):
            around, self.loops = (self.space, self.loops), self.loops + (is_loop and on_host)
            if isinstance(op, Fold) and inner is op.body:
                self.space = (*self.space, (inner.params[0], op.extent))
            self.body(inner, weight * (_rounds(op) if is_loop and not on_host else 1))
            self.space, self.loops = around

    def _maker(self, atom: Atom) -> Op | None:
        return self.makers.get(atom) if isinstance(atom, Var) else None

    def _whole(self, atom: Atom) -> None:
        if isinstance(atom, Var):
            self.uses.setdefault(atom, Uses()).whole += 1

    def _most(self, extent: Atom) -> float:
        """An upper bound of an extent."""
        bound = most(self.extents.of(extent))
        return inf if bound is None else bound


def _rounds(op: Op) -> int:
    """How often the body of a loop counts."""
    often = times(op)
    return INNER_LOOP if often >= LONG else int(often)
