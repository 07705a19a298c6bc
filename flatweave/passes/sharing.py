"""Decides for `fuse` which arrays are computed where they are read, and which are stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set

from flatweave.array_ir.syntax import Program
from flatweave.base.pretty import Note
from flatweave.base.records import record
from flatweave.ops import HOST_BODIES, Index, Locate, Prefix, Sweep
from flatweave.passes.cost import (
    AS_READ,
    FEW,
    INNER_LOOP,
    LONG,
    READ,
    STEP,
    STORING,
    Again,
    cost_of_body,
    cost_of_result,
    crossings,
    gathers,
    goes_along,
    may_repeat,
    notes_on,
    reads_memory,
    work,
)
from flatweave.passes.uses import Uses, uses_of
from flatweave.terms.syntax import Atom, Lambda, Let, Var, array_type, scalar_type
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for


@record
class Choice:
    """The arrays that need not be stored, each with its position among its sweep's results; and
    those that somebody uses and that are. `costs` is what an element of the first ones costs."""

    pulled: dict[Var, int]
    stored: set[Var]
    costs: Mapping[Atom, float]


def choose_pulls(program: Program) -> Choice:
    """Which arrays of a program are computed where they are read."""
    uses = uses_of(program)
    chosen: dict[Var, int] = {}
    pulled: dict[Atom, float] = {}
    for fn in _host_bodies(program.fn):
        for let in fn.lets:
            if not isinstance(let.op, Sweep):
                continue
            alone = is_pull(let.op)
            closed = _closed(let, let.op)
            scanned = {} if alone else _scanned(let, uses)
            costs: dict[Var, float] = {}
            for var, k in _stored(let, let.op):
                if var not in uses or var in closed:
                    continue
                root = let.op.body.results[k]
                needed = needed_beyond(let.op.body, root, scanned.keys() - {root})
                costs[var] = work(needed, pulled)
                if alone:
                    pays = _pays(let.op, k, uses[var], costs[var])
                else:
                    less = _moves_less(root, needed, scanned, uses[var])
                    pays = less or _is_free(let.op, k)
                if pays:
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
    needs = _Needs(let)
    for var, atom in alive if len(alive) > 1 else ():
        if var in stored:
            continue
        mine = needs.beyond(atom, stored)
        for other, root in alive:
            if other is var or (other not in stored and uses[other].sites == uses[var].sites):
                continue
            theirs = needs.beyond(root, stored, other)
            if work([each for each in mine if each in theirs], {}) > STORING:
                stored.add(var)
                found.append(var)
                break
    return found


class _Needs:
    """What the results of one sweep depend on, found once for each set of values that are read
    from memory."""

    def __init__(self, let: Let) -> None:
        assert isinstance(let.op, Sweep)
        self.body = let.op.body
        results = [(var, self.body.results[k]) for var, k in _stored(let, let.op)]
        costly = read_instead(let, {var for var, _ in results})
        self.costly = [(var, atom) for var, atom in results if atom in costly]
        self.known: dict[tuple[Atom, frozenset[Atom]], dict[Let, None]] = {}

    def beyond(self, root: Atom, stored: Set[Atom], but: Atom | None = None) -> dict[Let, None]:
        """The lets that a value depends on where `stored` arrays but one are read."""
        read = frozenset(atom for var, atom in self.costly if var in stored and var is not but)
        if (root, read) not in self.known:
            self.known[root, read] = needed_beyond(self.body, root, read)
        return self.known[root, read]


def read_instead(let: Let, stored: Set[Atom]) -> dict[Atom, Var]:
    """The values of a sweep's body that cost more than to read them, as all do that need a scan,
    each with the array that stores it."""
    assert isinstance(let.op, Sweep)
    body = let.op.body
    found = ((body.results[k], var) for var, k in _stored(let, let.op) if var in stored)
    needs = ((atom, var, needed_for(body.lets, [atom])) for atom, var in found)
    return {atom: var for atom, var, needed in needs
            if _scans(needed) or work(needed, {}) > STORING}  # fmt: skip


def _scans(lets: Iterable[Let]) -> bool:
    """Whether some value comes from a scan."""
    return any(isinstance(let.op, Prefix) for let in lets)


def _scanned(let: Let, uses: Mapping[Var, Uses]) -> dict[Atom, Var]:
    """The results of a sweep that need a scan, each with the array that stores it."""
    assert isinstance(let.op, Sweep)
    body = let.op.body
    used = ((body.results[k], var) for var, k in _stored(let, let.op) if var in uses)
    return {atom: var for atom, var in used if _scans(needed_for(body.lets, [atom]))}


def _moves_less(
    root: Atom, needed: Collection[Let], known: Mapping[Atom, Var], uses: Uses
) -> bool:
    """Whether to compute a result of a sweep that also scans from what it reads, and from results
    that are `known`, moves no more bytes than to store it and to read it again."""
    if _scans(needed) or uses.whole or uses.turns or not uses.near:
        return False
    if any(let.op.effect or lambdas_in(let.op) for let in needed):
        return False
    used = {atom for let in needed for atom in free_vars(let.op)}
    read = [let.op.xs for let in needed if isinstance(let.op, Index)]
    read += [known[atom] for atom in known.keys() & used]
    moved = sum(array_type(xs).dtype.bytes for xs in dict.fromkeys(read))
    cost = work(needed, {}) + READ * len(known.keys() & used)
    return moved <= 2 * scalar_type(root).bytes and uses.reads * cost <= STORING // 2


def needed_beyond(fn: Lambda, root: Atom, known: Collection[Atom]) -> dict[Let, None]:
    """The lets that a value depends on where some others are read from memory, in order."""
    read = set(known)
    wanted: set[Atom] = {root} - read
    found = []
    for let in reversed(fn.lets):
        if not wanted.isdisjoint(let.vars):
            wanted |= free_vars(let.op).keys() - read
            found.append(let)
    return dict.fromkeys(reversed(found))


def _stored(let: Let, op: Sweep) -> Iterator[tuple[Var, int]]:
    """Each array that a sweep stores, and which of the body's results it is."""
    position = 0
    for sink, vars_ in zip(op.sinks, op.binders_by_sink(let.vars), strict=True):
        if sink.at_own_position:
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
    return stores and not op.scans


def _pays(producer: Sweep, position: int, uses: Uses, whole_cost: float) -> bool:
    """See Note [What a read may cost]; `whole_cost` is with all arrays that are computed there."""
    needed = needed_for(producer.body.lets, producer.body.results[position:][:1])
    gathered = gathers(needed)
    if uses.in_runs and gathered:
        return False
    if uses.divided and not goes_along(producer.body.params, producer.shape, needed):
        return False
    cost = cost_of_result(producer.body, position) + STORING // 3 * gathered
    if uses.reads > 1:
        cost += STORING * crossings(producer.body.params[-1:], needed)
    if uses.shifted:  # to find the row of another position takes a search
        cost += INNER_LOOP * STEP * sum(isinstance(let.op, Locate) for let in needed)
    if uses.whole:
        return uses.reads + uses.few > 0 and _is_free(producer, position)
    if not uses.once and whole_cost > LONG:
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


def explain(program: Program) -> list[Note]:
    """What is computed at more than one read."""
    uses = uses_of(program)
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
# A sweep that scans is not repeated, but those of its results are that need no scan, or one that is
# stored: quotes = text == '"' and inside = scan xor quotes are read as text and inside. To store a
# result and to read it in order moves three times its bytes, as memory is read before it is
# written; to read what it is made of may move as many.
#
# Reads on the host, and those of a sweep that is known to have few elements, cost next to nothing
# against storing a whole array: they say nothing against computing what they need where they need
# it. There may be FEW of them, so that programs do not grow. An element of an outer array that a
# loop on the host reads in each iteration is computed again only if it is cheap.
#
# All of this is bounded by `cost.may_repeat`: what an element costs, with all arrays that are
# computed where it reads them, times its reads. A loop of an extent that is not known costs more
# than that alone, so a fold over a row, a search or a scan is never repeated. A read is made again
# along the loops that it does not depend on: exp(x)[None, :] in a matrix is stored. Rows that are
# runs of elements from where data says may overlap, as those of the candidates next to each point:
# what gathers is stored for them.
#
# A sweep of one axis over the elements of several divides its position for each element, unless all
# reads go along memory with it. That costs as much as to store them, where lanes go along rows.
#
# A sweep over all elements finds their rows by walking along these. A reader that goes along the
# elements from another index on would search for the row of each, so they are stored for it. One
# that reads some of them searches for these.
#
# A read at an index that another read gives costs a third of a stored element, so what gathers is
# computed at two reads at most. A read across rows, as of a transpose, costs as much as storing.
#
# Of a chain of arrays, each read twice by the next one, every single read may pay, and yet the last
# element costs twice as much with each of them: LONG ends that.
#
# Note [What results have in common]
#
# A sweep that stores a and b computes what both need once. Where b is computed at its read and a is
# stored, that work is done twice: q = search(xs), and a histogram of q * 2. So the element of b
# reads a where it needs it, if that is cheaper. Where neither is the value that both need, as in
# a = f(x) * 2, b = f(x) * 3, both are stored; unless all who read them read both at the same index,
# as one body computes f(x) once.
