"""Vertical fusion: compute a producer's element where a consumer reads it.

    total(n: i64, xs: f32[n]) =>
        a: f32[n] = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            y: f32 = mul x x
            in y) [store]
        s: f32 = sweep [n] (j: i64 => index a [j] checked=false) [combine (add f32) [0.0f32]]
        in s
    ==>
    total(n: i64, xs: f32[n]) =>
        s: f32 = sweep [n] (j: i64 =>
            x: f32 = index xs [j] checked=false
            y: f32 = mul x x
            in y) [combine (add f32) [0.0f32]]
        in s

A producer is a sweep that only stores and scans nothing: a pull array. It is computed again at each
read, so it is taken only when that is cheaper than storing it (see Note [What a read may cost]).
The store that nobody reads any more is left to `dce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flatweave.array_ir.syntax import Program
from flatweave.ops import Fold, Index, Prefix, Store, Sweep
from flatweave.passes.cost import INNER_LOOP, cost_of_body, reads_memory
from flatweave.passes.rewrite import Rewriter
from flatweave.terms.build import Builder
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in

STORING = 24
"""What storing an element and reading it again costs, in units of one addition."""


@dataclass
class Uses:
    """How an array is read: element reads, weighted by loops, and uses as a whole."""

    reads: int = 0
    whole: int = 0
    elsewhere: bool = False
    identity: bool = True
    readers: list[Sweep | None] = field(default_factory=list)


def fuse(program: Program) -> Program:
    """Compute pull arrays where they are read, wherever that pays."""
    chosen = _choose(program)
    return _Puller(chosen).run(program)


def _choose(program: Program) -> dict[Var, int]:
    """The arrays that need not be stored, each with its position among its sweep's results."""
    uses: dict[Var, Uses] = {}
    _count(program.fn, uses, None, 1)
    chosen: dict[Var, int] = {}
    for fn in _host_bodies(program.fn):
        home = {var for let in fn.lets for var in let.vars}
        for let in fn.lets:
            if not isinstance(let.op, Sweep) or not _is_pull(let.op):
                continue
            for k, var in enumerate(let.vars):
                if var in uses and _pays(let.op, uses[var], var in home):
                    chosen[var] = k
    return chosen


def _host_bodies(fn: Lambda) -> list[Lambda]:
    """The lambda and all bodies of host control inside it."""
    bodies = [fn]
    for let in fn.lets:
        if isinstance(let.op, If | While | For):
            for inner in lambdas_in(let.op):
                bodies.extend(_host_bodies(inner))
    return bodies


def _is_pull(op: Sweep) -> bool:
    stores = all(isinstance(sink, Store) for sink in op.sinks)
    return stores and not any(isinstance(let.op, Prefix) for let in op.body.lets)


def _pays(producer: Sweep, uses: Uses, same_body: bool) -> bool:
    """See Note [What a read may cost]."""
    cost = cost_of_body(producer.body)
    if uses.whole:
        return uses.reads > 0 and cost <= STORING // 8 and not reads_memory(producer.body)
    if uses.elsewhere and cost > STORING // 4:
        return False
    if uses.reads == 1 and uses.identity:
        return True
    return (uses.reads - 1) * cost <= STORING and (uses.identity or cost <= STORING)


def _count(fn: Lambda, uses: dict[Var, Uses], sweep: Sweep | None, weight: int) -> None:
    """Count how each array is used below `fn`; `sweep` is the sweep whose body this is."""
    for let in fn.lets:
        match let.op:
            case Index(xs=Var() as xs, indices=indices):
                use = uses.setdefault(xs, Uses())
                use.reads += weight
                use.elsewhere |= sweep is None
                use.identity &= sweep is not None and _is_identity(xs, indices, sweep)
            case Sweep():
                for atom in atoms_in((let.op.shape, let.op.sinks)):
                    _whole(uses, atom)
                _count(let.op.body, uses, let.op, 1)
            case _:
                _count_other(let.op, uses, sweep, weight)
    for atom in fn.results:
        if sweep is None or atom not in sweep.body.results:
            _whole(uses, atom)


def _count_other(op: Op, uses: dict[Var, Uses], sweep: Sweep | None, weight: int) -> None:
    for atom in atoms_in(op):
        _whole(uses, atom)
    loop = INNER_LOOP if isinstance(op, Fold | While | For) and sweep is not None else 1
    for inner in lambdas_in(op):
        _count(inner, uses, sweep, weight * loop)


def _whole(uses: dict[Var, Uses], atom: Atom) -> None:
    if isinstance(atom, Var):
        uses.setdefault(atom, Uses()).whole += 1


def _is_identity(xs: Var, indices: Sequence[Atom], sweep: Sweep) -> bool:
    shape = getattr(xs.type, "shape", ())
    return tuple(indices) == sweep.body.params and shape == sweep.shape


class _Puller(Rewriter):
    """Replaces reads of chosen arrays by the body that computes the element."""

    def __init__(self, chosen: dict[Var, int]) -> None:
        super().__init__(self._pull)
        self.chosen = chosen
        self.producers: dict[Var, tuple[Sweep, int]] = {}
        self.emitted: dict[tuple[Builder, Lambda, tuple[Atom, ...]], tuple[Atom, ...]] = {}

    def run(self, program: Program) -> Program:
        return Program(program.name, self.program(program.fn))

    def let(self, b: Builder, let: Let) -> None:
        super().let(b, let)
        if not isinstance(let.op, Sweep):
            return
        for var in let.vars:
            fresh = self.renaming.atom(var)
            if var in self.chosen and isinstance(fresh, Var):
                made = b.definition(fresh)
                assert isinstance(made, Sweep)
                self.producers[fresh] = made, self.chosen[var]

    def _pull(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Index) or op.xs not in self.producers:
            return None
        assert isinstance(op.xs, Var)
        producer, position = self.producers[op.xs]
        if op.checked and tuple(op.indices) and not self._inside(b, op, producer):
            return None
        key = b, producer.body, op.indices
        if key not in self.emitted:
            self.emitted[key] = b.inline(producer.body, op.indices)
        return (self.emitted[key][position],)

    @staticmethod
    def _inside(b: Builder, op: Index, producer: Sweep) -> bool:
        """A checked read may be replaced only where the check is known to hold."""
        pairs = zip(op.indices, producer.shape, strict=True)
        return all(b.is_below(index, extent) for index, extent in pairs)




# Note [What a read may cost]
#
# An element that is stored and read again costs about as much as two dozen additions. Computing it
# anew at r reads instead of one costs (r - 1) times its body. A single read in the same position
# never costs more. A read inside a loop of an element function counts INNER_LOOP times. An array
# that must be stored anyway (a result, a destination) is computed again only if it is almost free
# and reads no memory, as an iota is.
