"""Which arrays are computed where they are read, and which are stored: the choice behind `fuse`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod

from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.base.told import Note
from flatweave.ops import HOST_BODIES, ByRow, Fold, Index, Prefix, Sweep
from flatweave.passes.cost import INNER_LOOP, cost_of_body, cost_of_result, grows, reads_memory
from flatweave.terms.control import Apply, For, While
from flatweave.terms.shifted import is_next
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, needed_for, walk_lets

STORING = 24
"""What storing an element and reading it again costs, in units of one addition: f64 on a Xeon with
AVX-512, additions and products each after the other, 10 of them where arrays stay in the second
cache, 18 in the one that cores share, 28 in memory by one thread and 16 by two."""
LARGEST = 40 * STORING
"""What is computed at several reads may not grow beyond this, by all that it is made of: for chains
of 4 to 7 averages of three neighbours, 2^22 f32, one thread took 9.7, 6.1, 7.0, 9.8 ms with a
quarter of it, 9.1, 6.1, 7.0, 9.4 with this, and 9.1, 8.4, 16.0, 16.6 without a bound."""
FEW = 64
"""So many elements are computed rather than that a whole array is stored for them."""


@record(frozen=False)
class Uses:
    """How an array is read: element reads, weighted by loops, and uses as a whole.

    `few` are the elements that are read once, on the host or by sweeps of a few elements; they are
    not among `reads`. `turns`: a loop on the host reads elements in each of its turns, itself or by
    a sweep. `once`: no element is read twice.
    """

    reads: int = 0
    few: int = 0
    once: bool = True
    whole: int = 0
    turns: bool = False
    identity: bool = True


@record
class _Work:
    """What computing an element takes, arrays that are computed where it reads them included: its
    cost, and whether that grows with an extent."""

    cost: int
    grows: bool

    def may_repeat(self, uses: Uses) -> bool:
        """Whether an element may be computed at each of its reads: what grows with one extent is
        never repeated for each element of another."""
        return uses.once or not self.grows


def choose_pulls(program: Program) -> dict[Var, int]:
    """The arrays that need not be stored, each with its position among its sweep's results."""
    uses = _Count.of(program)
    chosen: dict[Var, int] = {}
    work: dict[Var, _Work] = {}
    for fn in _host_bodies(program.fn):
        for let in fn.lets:
            if not isinstance(let.op, Sweep):
                continue
            alone = is_pull(let.op)
            for var, k in _stored(let, let.op):
                if var not in uses:
                    continue
                all_work = _all_work(let.op, k, work)
                if _pays(let.op, k, uses[var], all_work) if alone else _is_free(let.op, k):
                    chosen[var] = k
                    work[var] = all_work
    return chosen


def _stored(let: Let, op: Sweep) -> Iterator[tuple[Var, int]]:
    """Each array that a sweep stores, and which of the body's results it is."""
    position = 0
    for sink, vars_ in zip(op.sinks, op.binders_by_sink(let.vars), strict=True):
        if sink.is_open:
            yield vars_[0], position
        position += sink.arity


def _is_free(op: Sweep, position: int) -> bool:
    """Whether a result, an iota for instance, costs next to nothing and reads nothing."""
    needed = Lambda(op.body.params, needed_for(op.body.lets, op.body.results[position:][:1]), ())
    return cost_of_body(needed) <= STORING // 8 and not reads_memory(needed)


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


def _all_work(op: Sweep, position: int, work: Mapping[Var, _Work]) -> _Work:
    """What a result takes together with the arrays that are computed where it reads them."""
    needed = Lambda((), needed_for(op.body.lets, op.body.results[position : position + 1]), ())
    reads = [let.op.xs for let in walk_lets(needed) if isinstance(let.op, Index)]
    pulled = [work[xs] for xs in reads if isinstance(xs, Var) and xs in work]
    return _Work(
        cost_of_body(needed) + sum(each.cost for each in pulled),
        grows(needed.lets) or any(each.grows for each in pulled),
    )


def _pays(producer: Sweep, position: int, uses: Uses, all_work: _Work) -> bool:
    """See Note [What a read may cost]."""
    cost = cost_of_result(producer.body, position)
    if uses.whole:
        return uses.reads + uses.few > 0 and _is_free(producer, position)
    if not all_work.may_repeat(uses):
        return False
    if _is_copy(producer, position):
        return True
    if uses.few * all_work.cost > FEW * STORING or (uses.turns and cost > STORING // 4):
        return False
    if uses.reads <= 1 and uses.identity:
        return True
    if uses.reads * all_work.cost > LARGEST:
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
        self.sweep: Sweep | None = None
        self.space: tuple[tuple[Var, Atom], ...] = ()
        self.loops = 0
        self.few = 0  # how many elements the sweep has, if they are few

    @staticmethod
    def of(program: Program) -> dict[Var, Uses]:
        """The uses of each variable that is used at all."""
        count = _Count()
        count.body(program.fn, 1)
        return count.uses

    def body(self, fn: Lambda, weight: int) -> None:
        """Count what stands in a function that is called `weight` times for each element."""
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
        for atom in fn.results:
            if self.sweep is None or atom not in self.sweep.body.results:
                self._whole(atom)

    def _read(self, xs: Var, indices: Sequence[Atom], weight: int) -> None:
        use = self.uses.setdefault(xs, Uses())
        in_loop = self.loops > self.loops_around.get(xs, 0)
        few = self.few if self.sweep is not None else 1
        once = self._visits_once(xs, indices)
        is_first = not use.reads and not use.few
        use.once = is_first and not in_loop and (once or few * weight == 1)
        if few and not in_loop:
            use.few += few * weight
            return
        use.reads += 1 if once else weight
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

    def _row_at(self, position: Atom, extents: Mapping[Var, Atom]) -> tuple[Var, Var] | None:
        """The i and k of f(i) + k, where k goes from 0 to f(i + 1) - f(i): a place in row i."""
        place = self._maker(position)
        if not isinstance(place, Apply) or place.fn != "add":
            return None
        for start, k in (place.args, place.args[::-1]):
            size = self._maker(extents[k]) if isinstance(k, Var) and k in extents else None
            if isinstance(size, Apply) and size.fn == "sub" and size.args[1] == start:
                for i in extents:
                    if is_next(i, size.args[0], self.makers, i, start, self.makers):
                        assert isinstance(k, Var)
                        return i, k
        return None

    def _sweep(self, op: Sweep) -> None:
        for atom in atoms_in((op.shape, op.sinks)):
            self._whole(atom)
        self.sweep, self.space = op, tuple(zip(op.body.params, op.shape, strict=True))
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
            self.body(inner, weight * (INNER_LOOP if is_loop and not on_host else 1))
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


def explain(program: Program) -> list[Note]:
    """A line for each producer that is computed at more than one read."""
    uses = _Count.of(program)
    chosen = choose_pulls(program)
    lines = []
    for fn in _host_bodies(program.fn):
        for let in fn.lets:
            if not isinstance(let.op, Sweep) or not is_pull(let.op):
                continue
            for k, var in enumerate(let.vars):
                use = uses.get(var, Uses())
                reads = use.reads + use.few
                if var in chosen and reads > 1:
                    cost = cost_of_result(let.op.body, k)
                    place = f"{let.where.file}:{let.where.line}" if let.where else var
                    what = f"a map is computed at each of {reads} reads, for {cost} additions each"
                    why = f"to store and read an element costs {STORING}"
                    text = f"{place}: {what}: {why}"
                    lines.append(Note(text, let.where, what=what, reason=why))
    return lines


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
# What grows with an extent, as a fold over a row does, is not repeated, whatever it costs by this
# count: each element of another extent would pay for it. Nor is what reads such an element where
# that is computed: the cost of a chain is that of all its arrays.
#
# Of a chain of arrays, each read twice by the next one, every single read may pay, and yet the last
# element costs twice as much with each of them: LARGEST ends that.
