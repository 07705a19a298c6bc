"""A sweep over all elements of a filter that takes in sweeps over the elements that it keeps.

    m, a = sweep [n] (i => .. in p, x) [compact 1]        s = sweep [n] (i =>
    s = sweep [m] (j =>                                       .. p, x
        y = index a [j]                            ==>        z = f x
        z = f y                                               v = select p z ne
        in z) [combine fn ne]                                 in v) [combine fn ne]

Scalar work runs for every element, and the flag selects its result. Reads, loops and checks go into
a branch that runs for kept elements only.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.ops import Compact, Index, Prefix, ScatterStore, Sink, Store, Sweep
from flatweave.passes.rewrite import LocalNames, Rewriter, atoms_used
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import Substitution, atoms_in, free_vars, lambdas_in, needed_for


@record(frozen=False)
class Fed:
    """A sink, the results that it takes, and what it binds."""

    sink: Sink
    taken: list[Atom]
    vars: list[Var]


class AllElements(Rewriter):
    """The sweep under construction.

    `flags` says for each number of kept elements whether the current element is kept; `values` is
    the current element of each array of kept elements, `extents` the number of its elements.
    """

    def __init__(
        self, shape: tuple[Atom, ...], where: Location | None, params: Sequence[Var],
        lets: Sequence[Let], fed: Sequence[Fed] = (),
    ) -> None:  # fmt: skip
        super().__init__(self._read)
        self.shape = shape
        self.where = where
        self.params = tuple(params)
        self.fed = list(fed)
        self.flags: dict[Var, Atom] = {}
        self.values: dict[Var, Atom] = {}
        self.extents: dict[Var, Var] = {}
        self.sinks: dict[Var, Fed] = {}  # the compact that binds a number
        self.positions: dict[Var, Atom] = {}
        self.builder = Builder(LocalNames())
        for inner in lets:
            self.builder.lets.append(inner)
            self.builder.adopt(inner)

    @staticmethod
    def of(let: Let) -> AllElements:
        """The sweep of a filter, before it takes in anything."""
        op = let.op
        assert isinstance(op, Sweep)
        parts = zip(op.sinks, op.portions(), op.binders_by_sink(let.vars), strict=True)
        fed = [Fed(sink, list(taken), list(vars_)) for sink, taken, vars_ in parts]
        made = AllElements(op.shape, let.where, op.body.params, op.body.lets, fed)
        for part in fed:
            made._keep(part)
        return made

    def again(self, extent: Var, wanted: Sequence[Var], where: Location | None) -> AllElements:
        """A separate sweep that computes the flag of an extent, and some arrays' values."""
        atoms = (self.flags[extent], *(self.values[var] for var in wanted))
        whole, names = Lambda(self.params, self._needed(atoms), atoms), LocalNames()
        fn = Substitution(fresh=lambda var, type_: names.var(var.name, type_)).function(whole)
        made = AllElements(self.shape, where, fn.params, fn.lets)
        made.flags[extent] = fn.results[0]
        made.values.update(zip(wanted, fn.results[1:], strict=True))
        made.extents.update(dict.fromkeys(wanted, extent))
        return made

    def needed_for(self, let: Let, extent: Var) -> Lambda:
        """What computes the flag of an extent and the values that `let` reads."""
        wanted = (self.values[var] for var in self.read_by(let))
        return Lambda((), self._needed((self.flags[extent], *wanted)), ())

    def read_by(self, let: Let) -> list[Var]:
        """The arrays of kept elements that a let reads."""
        assert isinstance(let.op, Sweep)
        used = set(atoms_used(let.op.body))
        return [var for var in self.values if var in used]

    def _needed(self, atoms: Sequence[Atom]) -> tuple[Let, ...]:
        """The lets that compute these atoms, and the checks of the body."""
        lets = self.builder.lets
        checked = [atom for let in lets if let.op.effect for atom in atoms_in(let.op)]
        needed = {*needed_for(lets, (*atoms, *checked)), *(let for let in lets if let.op.effect)}
        return tuple(let for let in lets if let in needed)

    def whole(self) -> Let:
        """The sweep as it is by now."""
        results = [atom for part in self.fed for atom in part.taken]
        body = self.builder.close(self.params, results)
        op = Sweep(self.shape, body, tuple(part.sink for part in self.fed))
        return Let(tuple(var for part in self.fed for var in part.vars), op, self.where)

    # -- taking in --------------------------------------------------------------------------------

    def is_plain(self, op: Sweep) -> bool:
        """Whether a sweep over kept elements does only scalar work and scans on them."""
        return all(
            isinstance(let.op, Apply | Cast | Prefix) or self._is_kept(let.op, op.body.params[0])
            for let in op.body.lets
        )

    def needs_position(self, op: Sweep) -> bool:
        """Whether a sweep uses its index other than to read kept elements at it."""
        return self._uses(op.body, op.body.params[0])

    def take(self, let: Let) -> None:
        """Take in a sweep over kept elements."""
        op = let.op
        assert isinstance(op, Sweep) and isinstance(extent := op.shape[0], Var)
        (self.index,) = op.body.params
        self.flag = self.flags[extent]
        pairs = zip(op.sinks, op.portions(), strict=True)
        idle = [atom for sink, taken in pairs for atom in sink.idle(taken)]
        if in_place := self._goes_back(op):
            op, idle = self._as_stores(op)
        if self.needs_position(op):
            self.renaming.mapping[self.index] = self._position(extent)
        if plain := self.is_plain(op):
            results = self._results(self.builder, op.body)
        else:
            results = self._in_branch(op.body, idle)
        groups = op.binders_by_sink(let.vars)
        for sink, vars_ in zip(op.sinks, groups, strict=True):
            taken, results = results[: sink.arity], results[sink.arity :]
            rest, idle = idle[: sink.arity], idle[sink.arity :]
            if in_place:
                taken = self._selected(taken, rest) if plain else list(taken)
                self.fed.append(Fed(sink, taken, list(vars_)))
                continue
            if plain:
                taken = self._masked(sink, taken, rest)
            self._feed(Fed(sink, list(taken), list(vars_)), extent)

    def _goes_back(self, op: Sweep) -> bool:
        """Whether each element is written to the index that it was kept from."""
        sink, place = op.sinks[0], op.body.results[0]
        if not isinstance(sink, ScatterStore):
            return False
        if any(array_type(dest).shape != self.shape for dest in sink.dest):
            return False
        reads = [let.op for let in op.body.lets if place in let.vars]
        own = {xs for xs, value in self.values.items() if value == self.params[0]}
        return any(self._is_kept(x, self.index) and own & free_vars(x).keys() for x in reads)

    def _as_stores(self, op: Sweep) -> tuple[Sweep, list[Atom]]:
        """A scatter to the elements' own indices as stores; if an element is not kept, its previous
        value is stored."""
        (sink,) = op.sinks
        before = [Index(dest, self.params, checked=False) for dest in sink.updated]
        body = Lambda(op.body.params, op.body.lets, op.body.results[1:])
        made = Sweep(op.shape, body, tuple(Store() for _ in before))
        return made, [self.builder.emit(each)[0] for each in before]

    def _results(self, b: Builder, fn: Lambda) -> list[Atom]:
        for let in fn.lets:
            self.let(b, let)
        return [self.renaming.atom(result) for result in fn.results]

    def _in_branch(self, fn: Lambda, idle: Sequence[Atom]) -> list[Atom]:
        inside = self.builder.inner(optional=True)
        then = inside.close([], self._results(inside, fn))
        return list(self.builder.emit(If(self.flag, then, Lambda((), (), tuple(idle)))))

    def _masked(self, sink: Sink, taken: Sequence[Atom], idle: Sequence[Atom]) -> list[Atom]:
        """What a sink takes, replaced at elements that are not kept by what has no effect on it."""
        if sink.filters:
            return [self.builder.apply("and", self.flag, taken[0]), *taken[1:]]
        count = sink.deciding
        return [*self._selected(taken[:count], idle[:count]), *taken[count:]]

    def _selected(self, taken: Sequence[Atom], idle: Sequence[Atom]) -> list[Atom]:
        pairs = zip(taken, idle, strict=True)
        return [self.builder.apply("select", self.flag, x, e) for x, e in pairs]

    def _feed(self, part: Fed, extent: Var) -> None:
        if part.sink.at_own_position:
            compact = self.sinks[extent]
            compact.sink = Compact(len(compact.taken))
            compact.taken += part.taken
            compact.vars += part.vars
            self.values[part.vars[0]] = part.taken[0]
            self.extents[part.vars[0]] = extent
            return
        self.fed.append(part)
        self._keep(part)

    def _keep(self, part: Fed) -> None:
        """Know what a compact keeps."""
        if not part.sink.filters:
            return
        extent, *arrays = part.vars
        self.flags[extent], *values = part.taken
        self.sinks[extent] = part
        self.values.update(zip(arrays, values, strict=True))
        self.extents.update(dict.fromkeys(arrays, extent))

    def _position(self, extent: Var) -> Atom:
        """How many elements were kept before this one."""
        if extent not in self.positions:
            one = self.builder.cast(self.flags[extent], i64)
            count = Prefix(lambda_of("add", i64), (index(0),), (one,), exclusive=True)
            self.positions[extent] = self.builder.emit(count)[0]
        return self.positions[extent]

    def _read(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        """A read of a kept element becomes its value; a scan combines kept elements only."""
        if self._is_kept(op, self.renaming.atom(self.index)):
            assert isinstance(op, Index) and isinstance(op.xs, Var)
            return (self.values[op.xs],)
        if not isinstance(op, Prefix):
            return None
        pairs = zip(op.args, op.neutral, strict=True)
        args = tuple(b.apply("select", self.flag, x, neutral) for x, neutral in pairs)
        starts = tuple(b.apply("and", self.flag, start) for start in op.starts)
        return b.emit(op.replace(args=args, starts=starts))

    def _is_kept(self, op: Op, place: Atom) -> bool:
        return isinstance(op, Index) and op.xs in self.values and op.indices == (place,)

    def _uses(self, fn: Lambda, place: Var) -> bool:
        if place in fn.results:
            return True
        return any(
            not self._is_kept(let.op, place)
            and (place in atoms_in(let.op) or any(self._uses(g, place) for g in lambdas_in(let.op)))
            for let in fn.lets
        )
