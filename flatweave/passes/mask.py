"""Mask: what is done with the elements that a filter keeps is done with all, under its flag.

    total(n: i64, xs: f32[n]) =>
        m: i64, a: f32[m] = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            p: bool = gt x 0.0f32
            in p, x) [compact 1]
        s: f32 = sweep [m] (j: i64 =>
            y: f32 = index a [j] checked=false
            z: f32 = mul y y
            in z) [combine (add f32) [0.0f32]]
        in s
    ==>
    total(n: i64, xs: f32[n]) =>
        s: f32 = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            p: bool = gt x 0.0f32
            z: f32 = mul x x
            v: f32 = select p z 0.0f32
            in v) [combine (add f32) [0.0f32]]
        in s

A sweep over kept elements that reads them in place needs no array of them:

    combine                   elements that are not kept are neutral; so are they in a prefix
    compact                   both flags hold
    scatter_store, _reduce    elements that are not kept go to index -1, which is skipped; if
                              kept ones return to their own indices, every element is a store: of
                              the new value or of the previous one
    store                     one array more that the filter stores

A consumer becomes part of the filter's own sweep if all else that it needs is known before that
sweep. Otherwise it becomes a separate sweep over all elements, which evaluates the condition again,
if the kept elements have no other readers. Reads, loops and checks go into a branch. A kept
element's position is the number of those kept before it.

Leaves alone consumers that do more with an element than storing it costs (`sharing.py`): that is
better done for kept elements only. Likewise those that need a value made after the filter, if the
kept elements are stored anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from flatweave.array_ir.syntax import SWEPT, Program
from flatweave.ops import (
    HOST_BODIES,
    Combine,
    Compact,
    Index,
    Prefix,
    ScatterReduce,
    ScatterStore,
    Sweep,
)
from flatweave.passes import all_elements
from flatweave.passes.cost import READ, STORING, cost_of_body
from flatweave.passes.rewrite import STREAMS, array_pass, atoms_used, is_ordered, read_elsewhere
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, with_bodies, with_lets


@array_pass(takes=(SWEPT,), about=lambda op: _filters(op))
def mask(program: Program) -> Program:
    """Move consumers of kept elements to all elements, in every host body."""
    return Program(program.name, _body(program.fn))


def _body(fn: Lambda) -> Lambda:
    lets = [
        with_bodies(let, _body) if isinstance(let.op, HOST_BODIES) else let for let in fn.lets
    ]
    host = _Host(_scalars_first(lets), fn.results)
    return with_lets(fn, host.lets() if host.run() else lets)


def _scalars_first(lets: Sequence[Let]) -> list[Let]:
    """The lets, with scalar work moved directly after its operands, out of the way of sweeps."""
    behind: list[list[Let]] = [[] for _ in range(len(lets) + 1)]
    place: dict[Var, int] = {}
    for k, let in enumerate(lets, 1):
        scalar = isinstance(let.op, Apply | Cast)
        at = max((place.get(var, 0) for var in free_vars(let.op)), default=0) if scalar else k
        place.update(dict.fromkeys(let.vars, at))
        behind[at].append(let)
    return [let for group in behind for let in group]


class _Host:
    """A body of the host, and which of its sweeps move into which other ones."""

    def __init__(self, lets: Sequence[Let], results: Sequence[Atom]) -> None:
        self.before = lets
        self.results = set(results)
        self.place = {var: k for k, let in enumerate(lets) for var in let.vars}
        self.over: dict[Atom, list[int]] = {}  # the sweeps over each extent
        self.readers: dict[Var, list[int]] = {}
        for k, let in enumerate(lets):
            if isinstance(let.op, Sweep) and len(let.op.shape) == 1:
                self.over.setdefault(let.op.shape[0], []).append(k)
            for var in free_vars(let.op):
                self.readers.setdefault(var, []).append(k)
        self.made: dict[int, all_elements.AllElements] = {}
        self.gone: set[int] = set()

    def run(self) -> bool:
        """Whether anything was moved."""
        for k, let in enumerate(self.before):
            if k in self.gone or k in self.made or not _filters(let.op):
                continue
            made = all_elements.AllElements.of(let)
            self._take_in(made, k)
            self._to_sweeps(made, k)
        return bool(self.made)

    def lets(self) -> Iterator[Let]:
        """The body that is left."""
        for k, let in enumerate(self.before):
            if k in self.made:
                yield self.made[k].whole()
            elif k not in self.gone:
                yield let

    # -- into the filter's own pass ---------------------------------------------------------------

    def _take_in(self, made: all_elements.AllElements, k: int) -> None:
        """Move into the filter at index `k` each consumer that fits, then theirs."""
        waiting: list[int] = []
        known: set[Var] = set()
        while True:
            for extent in made.flags.keys() - known:
                for c in self.over.get(extent, ()):
                    heappush(waiting, c)
            known |= made.flags.keys()
            if not waiting:
                return
            c = heappop(waiting)
            if c not in self.gone and c not in self.made and self._joins(made, k, c):
                made.take(self.before[c])
                self.made[k] = made
                self.gone.add(c)

    def _joins(self, made: all_elements.AllElements, k: int, c: int) -> bool:
        """Whether the sweep at index `c` can and should be part of the filter at index `k`."""
        let = self.before[c]
        op = let.op
        assert isinstance(op, Sweep)
        stores = op.shape[0] in made.sinks  # with them, a separate filter
        kinds_fit = all(
            sink.filters or sink.reduction() is not None or (stores and sink.is_open)
            for sink in op.sinks
        )
        alone = any(part.sink.alone for part in made.fed)
        if alone or not kinds_fit or not self._reads_in_place(made, let):
            return False
        if not made.is_plain(op) and any(x.op.effect for x in self.before[k + 1 : c]):
            return False  # a check in between may be what it is safe by
        used = {v for v in _used(op) if self.place.get(v, -1) >= k and v not in made.values}
        if used or self._streams(made, let) > STREAMS:
            return False
        stored_anyway = any(self._is_needed(made, var) for var in made.read_by(let))
        return _cost(made, let) <= (STORING // 2 if stored_anyway else STORING)

    def _reads_in_place(self, made: all_elements.AllElements, let: Let) -> bool:
        """Whether a sweep reads kept elements in place only, and may run under a flag.

        Another filter's kept elements have other positions, even if their number is the same.
        """
        op = let.op
        assert isinstance(op, Sweep)
        if read_elsewhere(op) & made.values.keys() or (op.reverse and is_ordered(op)):
            return False
        if any(made.extents[var] != op.shape[0] for var in made.read_by(let)):
            return False
        return made.is_plain(op) or not any(isinstance(x.op, Prefix) for x in op.body.lets)

    def _streams(self, made: all_elements.AllElements, let: Let) -> int:
        """How many arrays the filter's sweep would read and write."""
        whole = made.whole()
        used = {*_used(whole.op), *_used(let.op)} - made.values.keys()
        arrays = sum(isinstance(var.type, ArrayType) for var in used)
        return arrays + len(whole.vars) + len(let.vars)

    def _is_needed(self, made: all_elements.AllElements, var: Var) -> bool:
        """Whether some use of an array of kept elements cannot move, so that it must be stored."""
        return var in self.results or any(
            not self._may_move(made, self.before[c]) for c in self.readers.get(var, ())
            if c not in self.gone
        )  # fmt: skip

    def _may_move(self, made: all_elements.AllElements, let: Let) -> bool:
        op = let.op
        if not isinstance(op, Sweep) or len(op.shape) != 1 or op.shape[0] not in made.flags:
            return False
        kinds = Combine | Compact | ScatterReduce | ScatterStore
        fits = all(sink.is_open or isinstance(sink, kinds) for sink in op.sinks)
        return fits and self._reads_in_place(made, let) and _cost(made, let) <= STORING

    # -- separate passes --------------------------------------------------------------------------

    def _to_sweeps(self, made: all_elements.AllElements, k: int) -> None:
        """Turn the consumers that are left into sweeps over all elements, if all of them can be."""
        for extent in tuple(made.flags):
            left = [
                c for c in self.over.get(extent, ())
                if c not in self.gone and made.read_by(self.before[c])
            ]  # fmt: skip
            read = dict.fromkeys(var for c in left for var in made.read_by(self.before[c]))
            if any(self._is_needed(made, var) for var in read):
                continue
            if all(self._stands_alone(made, k, c, extent) for c in left):
                for c in left:
                    if c in self.gone:
                        continue
                    alone = made.again(extent, tuple(read), self.before[c].where)
                    alone.take(self.before[c])
                    self.made[c] = alone
                    self._take_in(alone, c)

    def _stands_alone(self, made: all_elements.AllElements, k: int, c: int, extent: Var) -> bool:
        """Whether a consumer can and should evaluate the filter's condition itself."""
        let = self.before[c]
        assert isinstance(let.op, Sweep)
        needed = made.needed_for(let, extent)
        if any(sink.at_own_position for sink in let.op.sinks):
            return False
        if any(isinstance(inner.op, Prefix) for inner in needed.lets):
            return False
        if cost_of_body(needed) + _cost(made, let) > STORING:
            return False
        arrays = {v for v in atoms_used(needed) if isinstance(v.type, ArrayType)}
        return not any(_takes_over(each) & arrays for each in self.before[k + 1 : c + 1])


def _filters(op: Op) -> bool:
    """Whether a sweep keeps some elements, in order."""
    if not isinstance(op, Sweep) or op.reverse:
        return False
    return any(sink.filters for sink in op.sinks)


def _used(op: object) -> set[Var]:
    """The variables that a sweep names, but for extents."""
    assert isinstance(op, Sweep)
    inner = (atom for fn in lambdas_in(op.sinks) for atom in atoms_used(fn))
    atoms = (*atoms_used(op.body), *atoms_in(op.sinks), *inner)
    return {atom for atom in atoms if isinstance(atom, Var)}


def _cost(made: all_elements.AllElements, let: Let) -> int:
    """What a sweep does for each kept element, not counting the reads of kept elements."""
    assert isinstance(let.op, Sweep)
    reads = sum(isinstance(x.op, Index) and x.op.xs in made.values for x in let.op.body.lets)
    return cost_of_body(let.op.body) - READ * reads


def _takes_over(let: Let) -> set[Atom]:
    """The arrays that a let may write to."""
    if isinstance(let.op, Sweep):
        return set(atoms_in(let.op.sinks))
    return set() if isinstance(let.op, Index) else set(atoms_in(let.op))
