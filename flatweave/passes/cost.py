"""What an element function costs, in units of one addition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flatweave.base.pretty import Note
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.ops import (
    Concat,
    Empty,
    Fold,
    Generate,
    Index,
    Locate,
    Map,
    Prefix,
    Reduce,
    Reshape,
    Sweep,
)
from flatweave.scalar.ops import TABLE
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for, walk_lets

INNER_LOOP = 16
"""What a loop in an element counts as; a reduction of tuples that is no longer is written out, its
state in registers."""
STORING = 24
"""What storing an element and reading it again costs, in units of one addition: f64 on a Xeon with
AVX-512, additions and products each after the other, 10 of them if arrays stay in the L2 cache, 18
in the shared cache, 28 in memory by one thread and 16 by two."""
STEP = 6
"""A step of a walk along rows, of a search or of a fold: a read and what follows from it."""
AS_READ = STORING // 8
"""What costs so little is computed wherever it is read: reading costs as much."""
FEW = 64
"""So many elements are computed rather than that an array is stored for them."""
FEW_TURNS = STORING // STEP
"""A fold of this many elements costs no more than the array that would hold its results."""
LONG = 1000
"""An unknown extent counts as this where work is compared. A value computed at several reads may
not cost more either, including all its operands: for chains of 4 to 7 averages of three neighbours,
2^22 f32, one thread took 9.7, 6.1, 7.0, 9.8 ms with a quarter of it, 9.1, 6.1, 7.0, 9.4 with 960,
and 9.1, 8.4, 16.0, 16.6 without a bound."""
TERMS = ("add", "sub", "mul", "floordiv", "maximum", "minimum", "select")
READ = 2


@record
class Term:
    """A factor times unknown extents."""

    factor: float
    roots: Counter[Atom]

    def times(self, other: Term) -> Term:
        return Term(self.factor * other.factor, self.roots + other.roots)

    def over(self, other: Term) -> float:
        """The quotient at extents of LONG; where either has an extent that the other lacks, the
        other one's may be small."""
        above, below = self.roots - other.roots, other.roots - self.roots
        power = above.total() or -below.total()
        return self.factor / other.factor * float(LONG) ** power


def cost_of_body(fn: Lambda) -> int:
    """The cost of one call; loops count as INNER_LOOP iterations."""
    return sum(_cost(let.op) for let in fn.lets)


def cost_of_result(fn: Lambda, position: int) -> int:
    """The cost of computing one of a function's results."""
    return sum(_cost(let.op) for let in needed_for(fn.lets, fn.results[position : position + 1]))


def gathers(lets: Iterable[Let]) -> int:
    """How many reads are at indices that other reads give. Each costs a third of what storing does:
    nanoseconds of f64 on a Zen 3 with AVX2, one thread, 0.3 more than a read along memory from the
    nearest cache, 0.55 from the second, 1.0 from the shared one, 7.5 from memory; to store an
    element and to read it again takes 0.8 to 1.3."""
    known, count = set[Atom](), 0
    for let in lets:
        for each in (let, *(inner for fn in lambdas_in(let.op) for inner in fn.lets)):
            is_read, used = isinstance(each.op, Index), free_vars(each.op)
            count += is_read and not known.isdisjoint(used)
            if is_read or not known.isdisjoint(used):
                known.update(each.vars)
    return count


def crossings(last: Sequence[Var], lets: Iterable[Let]) -> int:
    """How many reads go to another row of memory where the last index of an element moves on, as
    those of a transpose do."""
    moved, count = set[Atom](last), 0
    for let in lets:
        if isinstance(let.op, Index):
            varying = [i for i in let.op.indices if isinstance(i, Var)]  # a part of a pair is near
            count += not moved.isdisjoint(varying[:-1]) and varying[-1] not in moved
        elif not moved.isdisjoint(free_vars(let.op)):
            moved.update(let.vars)
    return count


def goes_along(place: Sequence[Var], shape: Sequence[Atom], lets: Iterable[Let]) -> bool:
    """Whether every read that depends on the indices of an element is at these, in an array of the
    same shape but for its first extent."""
    varies: set[Atom] = {*place}
    for let in lets:
        if not isinstance(let.op, Index):
            varies.update(let.vars if varies & free_vars(let.op).keys() else ())
        elif varies & {*let.op.indices}:
            varies.update(let.vars)
            extents = array_type(let.op.xs).shape
            if let.op.indices != tuple(place) or extents[1:] != tuple(shape)[1:]:
                return False
    return True


def divides_position(op: Sweep) -> bool:
    """Whether elements use their position along the first axis for its quotients and remainders,
    and for nothing else."""
    place = op.body.params[0]
    uses = [let.op for let in op.body.lets if place in free_vars(let.op)]
    return bool(uses) and place not in op.body.results and all(
        isinstance(use, Apply) and use.fn in ("mod", "floordiv") and use.args[1] != place
        for use in uses
    )


def factors_of(b: Builder, extent: Atom) -> tuple[Atom, ...]:
    """The two extents that an extent is the product of, if it is one."""
    made = b.definition(extent)
    return made.args if isinstance(made, Apply) and made.fn == "mul" else ()


def _cost(op: Op) -> int:
    inner = sum(cost_of_body(fn) for fn in lambdas_in(op))
    match op:
        case Apply(fn="floordiv" | "mod", args=(_, Const(value=value))) if is_power(value):
            return 1
        case Apply(fn=fn):
            return TABLE[fn].cost
        case Index():
            return READ
        case Locate():
            return STEP
        case Cast():
            return 1
        case While() | For() | Fold():
            return INNER_LOOP * (inner + 1)
        case If():
            return inner + 1
        case _:
            return inner


class Sizes:
    """How large extents are next to one another: the leading term of each, as a factor and the
    unknown extents, by the operations that compute them."""

    def __init__(self, makers: Mapping[Atom, Op]) -> None:
        self.makers = makers

    def of(self, extents: Iterable[Atom]) -> Term:
        """The product of extents."""
        factor, roots = 1.0, Counter[Atom]()
        for term in map(self._term, extents):
            factor, roots = factor * term.factor, roots + term.roots
        return Term(factor, roots)

    def _term(self, extent: Atom) -> Term:
        if isinstance(extent, Const):
            return Term(max(float(extent.value), 1.0), Counter())
        op, alone = self.makers.get(extent), Term(1.0, Counter((extent,)))
        if not isinstance(op, Apply) or op.fn not in TERMS:
            return alone
        a, b = (self._term(arg) for arg in op.args[-2:])
        if op.fn == "mul":
            return a.times(b)
        if op.fn == "floordiv":
            return alone if b.roots else Term(a.factor / b.factor, a.roots)
        if a.roots and b.roots:
            return a if a.roots == b.roots and op.fn != "sub" else alone
        return a if a.roots or not b.roots else b


class Roots:
    """The parameters that values depend on, by the operations that make them."""

    def __init__(self, makers: Mapping[Any, Op]) -> None:
        self.makers = makers
        self.known: dict[Atom, frozenset[Atom]] = {}

    def of(self, atom: Atom) -> frozenset[Atom]:
        """Those of a value."""
        waiting = [atom]  # not by recursion: chains of operations are long
        while waiting:
            op = self.makers.get(waiting[-1])
            parts = free_vars(op) if op else ()
            if unknown := [part for part in parts if part not in self.known]:
                waiting += unknown
                continue
            made = waiting.pop()
            own = frozenset[Atom]((made,) if op is None else ())
            self.known[made] = own.union(*(self.known[part] for part in parts))
        return self.known[atom]


def may_repeat(cost: float, reads: float) -> bool:
    """Whether a value of this cost may be computed at each of its reads. A loop may only if it has
    few iterations, as it costs LONG otherwise."""
    return reads <= 1 or cost <= AS_READ or cost * reads <= LONG


def work(lets: Iterable[Let], elements: dict[Atom, float]) -> float:
    """What these lets cost at extents of LONG; `elements` is what an element costs of each array
    that is computed where it is read, and learns of those among the lets."""
    return sum(_work(let, elements) for let in lets)


def _work(let: Let, elements: dict[Atom, float]) -> float:
    op = let.op
    match op:
        case Map(fn=fn, xs=xs):
            pairs = list(zip(fn.params, xs, strict=True))
            inside = elements | {param: elements.get(x, READ) for param, x in pairs}
            read = sum(inside[p] for p in fn.params if not isinstance(p.type, ArrayType))
            _learn(let, fn, inside, elements, read)
        case Generate(fn=fn):
            _learn(let, fn, elements, elements, 0)
        case Reshape(xs=xs):
            elements[let.vars[0]] = elements.get(xs, READ)
        case Concat(xs=xs):
            elements[let.vars[0]] = 1 + max(elements.get(x, READ) for x in xs)
        case Empty():
            elements[let.vars[0]] = 0
        case Index(xs=xs):
            return elements.get(xs, READ)
        case Reduce(fn=fn, xs=xs):
            each = work(fn.lets, elements) + sum(elements.get(x, READ) for x in xs)
            return length(array_type(xs[0]).shape[0]) * each
        case If():
            return 1 + max(work(fn.lets, elements) for fn in lambdas_in(op))
        case _ if inner := lambdas_in(op):
            return times(op) * sum(1 + work(fn.lets, elements) for fn in inner)
        case _:
            return _cost(op)
    return 0


def _learn(
    let: Let, fn: Lambda, inside: dict[Atom, float], elements: dict[Atom, float], read: float
) -> None:
    """What an element of each result of an element function costs."""
    for k, var in enumerate(let.vars):
        needed = needed_for(fn.lets, fn.results[k : k + 1])
        elements[var] = read + work(needed, dict(inside))


def times(op: Op) -> float:
    """How often a loop goes round, as far as is known."""
    match op:
        case Fold(extent=extent):
            return length(extent)
        case For(lo=Const(value=lo), hi=Const(value=hi), step=Const(value=step)):
            return max(0, int(hi) - int(lo)) / max(1, int(step))
        case _:
            return LONG


def length(extent: Atom) -> float:
    """An extent, or LONG where it is not known."""
    return float(extent.value) if isinstance(extent, Const) else LONG


@record
class Again:
    """A value that is computed at more than one read: its line, how often, what it costs, and
    whether only few elements are read."""

    where: Location | None
    reads: float
    cost: float
    few: bool = False


def notes_on(values: Iterable[Again]) -> list[Note]:
    """A note for each line that has such values; what costs most comes first."""
    lines: dict[tuple[str, bool], list[Again]] = {}
    for value in values:
        if value.cost > READ:
            place = f"{value.where.file}:{value.where.line}" if value.where else "the program"
            lines.setdefault((place, value.few), []).append(value)
    found = []
    for (place, few), group in lines.items():
        reads, cost = max(value.reads for value in group), sum(value.cost for value in group)
        subject = "a map is" if len(group) == 1 else f"{len(group)} maps are"
        what = f"{subject} computed at each of {reads:g} reads, for {cost:g} additions each"
        why = f"to store and read an element costs {STORING}"
        if few:
            why = "these are its only reads"
        spent = sum((value.reads - 1) * value.cost for value in group)
        text, where = f"{place}: {what}: {why}", group[0].where
        found.append(Note(text, where, what=what, reason=why, cost=spent))
    return sorted(found, key=lambda note: -note.cost)


def is_power(value: object) -> bool:
    """Whether dividing by a number is a shift."""
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0


def is_cheap_key(fn: Lambda) -> bool:
    """Whether computing a sort's keys in each pass is cheaper than moving them along."""
    plain = all(isinstance(let.op, Apply | Cast) for let in fn.lets)
    return plain and cost_of_body(fn) <= STORING


def reads_memory(fn: Lambda) -> bool:
    """Whether a function reads arrays, searches them, or contains a scan."""
    return any(isinstance(let.op, Index | Locate | Prefix) for let in walk_lets(fn))
