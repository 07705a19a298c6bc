"""Which arrays are computed where they are read, and which are stored: the choice behind `fuse`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from math import inf, prod

from flatweave.access.analyse import Accesses
from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.base.told import Note
from flatweave.ops import HOST_BODIES, ByRow, Fold, Index, Prefix, Store, Sweep
from flatweave.passes.cost import (
    AS_READ,
    INNER_LOOP,
    LARGEST,
    LONG,
    STORING,
    Again,
    Roots,
    cost_of_body,
    cost_of_result,
    length,
    may_repeat,
    notes_on,
    reads_memory,
    times,
    work,
)
from flatweave.terms.control import Apply, For, While
from flatweave.terms.sums import Sum
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, needed_for

FEW = 64
"""So many elements are computed rather than that a whole array is stored for them."""


@record(frozen=False)
class Uses:
    """How an array is read: element reads, weighted by loops, and uses as a whole.

    `few` are the elements that are read once, on the host or by sweeps of a few elements; they are
    not among `reads`. `turns`: a loop on the host reads elements in each of its turns, itself or by
    a sweep. `once`: no element is read twice. `visits`: how often each is read, at extents of LONG.
    `sites`: in which bodies, and at which indices.
    """

    reads: int = 0
    few: int = 0
    once: bool = True
    whole: int = 0
    turns: bool = False
    identity: bool = True
    visits: float = 0
    sites: frozenset[tuple[int, tuple[Atom, ...]]] = frozenset()


@record
class Choice:
    """The arrays that need not be stored, each with its position among its sweep's results; and
    those that somebody uses and that are. `costs` is what an element of the first ones costs."""

    pulled: dict[Var, int]
    stored: set[Var]
    costs: Mapping[Atom, float]


def choose_pulls(program: Program) -> Choice:
    """Which arrays of a program are computed where they are read."""
    uses = _Count.of(program)
    chosen: dict[Var, int] = {}
    pulled: dict[Atom, float] = {}
    for fn in _host_bodies(program.fn):
        for let in fn.lets:
            if not isinstance(let.op, Sweep):
                continue
            alone = is_pull(let.op)
            closed = _closed(let, let.op)
            costs: dict[Var, float] = {}
            for var, k in _stored(let, let.op):
                if var not in uses or var in closed:
                    continue
                root = let.op.body.results[k : k + 1]
                costs[var] = work(needed_for(let.op.body.lets, root), pulled)
                if _pays(let.op, k, uses[var], costs[var]) if alone else _is_free(let.op, k):
                    chosen[var] = k
            if alone:
                for var in _shared(let, uses, chosen):
                    del chosen[var]
            pulled.update((var, cost) for var, cost in costs.items() if var in chosen)
    stored = {var for var in uses if var not in chosen}
    return Choice(chosen, stored, pulled)


def _shared(let: Let, uses: Mapping[Var, Uses], chosen: Mapping[Var, int]) -> list[Var]:
    """The chosen results of a sweep that are stored after all: what they have in common with other
    results would be computed once more for them. See Note [What results have in common]."""
    assert isinstance(let.op, Sweep)
    body = let.op.body
    makers: dict[Atom, int] = {var: k for k, each in enumerate(body.lets) for var in each.vars}
    alive = [(var, body.results[k]) for var, k in _stored(let, let.op) if var in uses]
    alive.sort(key=lambda each: makers.get(each[1], -1))
    stored = {var for var, _ in alive if var not in chosen}
    found: list[Var] = []
    for var, atom in alive if len(alive) > 1 else ():
        if var in stored:
            continue
        mine = needed_beyond(body, atom, read_instead(let, stored))
        for other, root in alive:
            if other is var or (other not in stored and uses[other].sites == uses[var].sites):
                continue
            theirs = needed_beyond(body, root, read_instead(let, stored - {other}))
            if work([each for each in mine if each in theirs], {}) > STORING:
                stored.add(var)
                found.append(var)
                break
    return found


def read_instead(let: Let, stored: Set[Atom]) -> dict[Atom, Var]:
    """The values of a sweep's body that cost more than to read them, each with the array that
    stores it."""
    assert isinstance(let.op, Sweep)
    body = let.op.body
    found = ((body.results[k], var) for var, k in _stored(let, let.op) if var in stored)
    return {atom: var for atom, var in found if work(needed_for(body.lets, [atom]), {}) > STORING}


def needed_beyond(fn: Lambda, root: Atom, known: Mapping[Atom, Var]) -> dict[Let, None]:
    """The lets that a value depends on where some others are read from memory, in order."""
    wanted: set[Atom] = {root} - known.keys()
    found = []
    for let in reversed(fn.lets):
        if not wanted.isdisjoint(let.vars):
            wanted |= free_vars(let.op).keys() - known.keys()
            found.append(let)
    return dict.fromkeys(reversed(found))


def _stored(let: Let, op: Sweep) -> Iterator[tuple[Var, int]]:
    """Each array that a sweep stores, and which of the body's results it is."""
    position = 0
    for sink, vars_ in zip(op.sinks, op.binders_by_sink(let.vars), strict=True):
        if isinstance(sink, Store):
            yield vars_[0], position
        position += sink.arity


def _closed(let: Let, op: Sweep) -> set[Var]:
    """The arrays that no reader may compute."""
    groups = zip(op.sinks, op.binders_by_sink(let.vars), strict=True)
    return {var for sink, vars_ in groups if not sink.is_open for var in vars_}


def _is_free(op: Sweep, position: int) -> bool:
    """Whether a result, an iota for instance, costs next to nothing and reads nothing."""
    needed = Lambda(op.body.params, needed_for(op.body.lets, op.body.results[position:][:1]), ())
    return cost_of_body(needed) <= AS_READ and not reads_memory(needed)


def _host_bodies(fn: Lambda) -> list[Lambda]:
    """The lambda and all bodies of host control inside it."""
    bodies = [fn]
    for let in fn.lets:
        if isinstance(let.op, HOST_BODIES):
            for inner in lambdas_in(let.op):
                bodies.extend(_host_bodies(inner))
    return bodies


def is_pull(op: Sweep) -> bool:
    """Whether a sweep only stores elements, each of which can be computed on its own."""
    stores = all(sink.is_open for sink in op.sinks)
    return stores and not any(isinstance(let.op, Prefix) for let in op.body.lets)


def _pays(producer: Sweep, position: int, uses: Uses, whole_cost: float) -> bool:
    """See Note [What a read may cost]; `whole_cost` is with all arrays that are computed there."""
    cost = cost_of_result(producer.body, position)
    if uses.whole:
        return uses.reads + uses.few > 0 and _is_free(producer, position)
    if not uses.once and whole_cost > LARGEST:
        return False
    if _is_copy(producer, position):
        return True
    if not uses.once and uses.few * whole_cost > FEW * STORING:
        return False
    if uses.turns and cost > STORING // 4:
        return False
    if uses.reads <= 1 and uses.identity:
        return True
    if not may_repeat(whole_cost, max(uses.reads, uses.visits)):
        return False
    return (uses.reads - 1) * cost <= STORING and (uses.identity or cost <= STORING)


def _is_copy(op: Sweep, position: int) -> bool:
    """Whether a result is an array as it is, which costs nothing to read instead."""
    if len(op.body.lets) != 1:
        return False
    (let,) = op.body.lets
    if not isinstance(let.op, Index) or let.op.checked:
        return False
    return let.op.indices == op.body.params and op.body.results[position] in let.vars


class _Count:
    """Counts how each array of a program is used.

    `sweep` is the sweep in whose body a use stands, and `space` the indices of that sweep and of
    the folds around, each with its extent: a read that uses every one of them once, on an array of
    those extents, visits each element once. So does a read of all elements of all rows between
    offsets. `loops` is the number of host loops around.
    """

    def __init__(self) -> None:
        self.uses: dict[Var, Uses] = {}
        self.loops_around: dict[Var, int] = {}
        self.makers: dict[Var, Op] = {}
        self.roots = Roots(self.makers)
        self.sweep: Sweep | None = None
        self.space: tuple[tuple[Var, Atom], ...] = ()
        self.loops = 0
        self.within: Lambda | None = None
        self.accesses: dict[tuple[Var, ...], Accesses] = {}
        self.few = 0  # how many elements the sweep has, if they are few

    @staticmethod
    def of(program: Program) -> dict[Var, Uses]:
        """The uses of each variable that is used at all."""
        count = _Count()
        count.body(program.fn, 1)
        return count.uses

    def body(self, fn: Lambda, weight: int) -> None:
        """Count what stands in a function that is called `weight` times for each element."""
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
        use.visits += 1 if once else self._visits(indices)
        use.turns |= in_loop
        use.identity &= once

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
        """The i and k of f(i) + k, where k goes from 0 to f(i + 1) - f(i): a place in row i."""
        place = self._maker(position)
        if not isinstance(place, Apply) or place.fn != "add":
            return None
        for start, k in (place.args, place.args[::-1]):
            size = self._maker(extents[k]) if isinstance(k, Var) and k in extents else None
            if isinstance(size, Apply) and size.fn == "sub" and size.args[1] == start:
                values = self._along(tuple(extents))
                for i in extents:
                    if values.moved(start, i, Sum({i: 1}, 1)) == values.of(size.args[0]):
                        assert isinstance(k, Var)
                        return i, k
        return None

    def _along(self, axes: tuple[Var, ...]) -> Accesses:
        """The values of the sweep at hand over some axes."""
        assert self.sweep is not None
        if axes not in self.accesses:
            self.accesses[axes] = Accesses(axes, self.sweep.body.lets)
        return self.accesses[axes]

    def _sweep(self, op: Sweep) -> None:
        for atom in atoms_in((op.shape, op.sinks)):
            self._whole(atom)
        self.sweep, self.space = op, tuple(zip(op.body.params, op.shape, strict=True))
        self.accesses.clear()
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
        if isinstance(extent, Const):
            return float(extent.value)
        match self._maker(extent):
            case Apply(fn="minimum", args=(a, b)):
                return min(self._most(a), self._most(b))
            case Apply(fn="maximum", args=(a, b)):
                return max(self._most(a), self._most(b))
            case Apply(fn="sub", args=(a, Const(value=value))):
                return self._most(a) - float(value)
        return inf


def _rounds(op: Op) -> int:
    """How often the body of a loop counts."""
    often = times(op)
    return INNER_LOOP if often >= LONG else int(often)


def explain(program: Program) -> list[Note]:
    """What is computed at more than one read."""
    uses = _Count.of(program)
    choice = choose_pulls(program)
    found = []
    for fn in _host_bodies(program.fn):
        for let in fn.lets:
            for var, k in _stored(let, let.op) if isinstance(let.op, Sweep) else ():
                use = uses.get(var, Uses())
                if var not in choice.costs or use.reads + use.few < 2:
                    continue
                assert isinstance(let.op, Sweep)
                needed = needed_for(let.op.body.lets, let.op.body.results[k : k + 1])
                where = next((each.where for each in reversed(needed) if each.where), let.where)
                found.append(Again(where, use.reads + use.few, choice.costs[var], use.reads == 0))
    return notes_on(found)


# Note [What a read may cost]
#
# An element that is stored and read again costs about as much as two dozen additions. Computing it
# anew at r reads instead of one costs (r - 1) times its body. A single read in the same position
# never costs more. A read inside a loop of an element function counts INNER_LOOP times. An array
# that must be stored anyway (a result, a destination) is computed again only if it is almost free
# and reads no memory, as an iota is.
#
# Reads on the host, and those of a sweep that is known to have few elements, cost next to nothing
# against storing a whole array: they say nothing against computing what they need where they need
# it. There may be FEW of them, so that programs do not grow. What a loop on the host reads in each
# turn, from an array that stands outside of it, is computed again only if it is cheap.
#
# All of this is bounded by `cost.may_repeat`: what an element costs, with all arrays that are
# computed where it reads them, times its reads. A loop of an extent that is not known costs more
# than that alone, so a fold over a row, a search or a scan is never repeated. A read is made again
# along the loops that it does not depend on: exp(x)[None, :] in a matrix is stored.
#
# Of a chain of arrays, each read twice by the next one, every single read may pay, and yet the last
# element costs twice as much with each of them: LARGEST ends that.
#
# Note [What results have in common]
#
# A sweep that stores a and b computes what both need once. Where b is computed at its read and a is
# stored, that work is done twice: q = search(xs), and a histogram of q * 2. So the element of b
# reads a where it needs it, if that is cheaper. Where neither is the value that both need, as in
# a = f(x) * 2, b = f(x) * 3, both are stored; unless all who read them read both at the same index,
# as one body computes f(x) once.
