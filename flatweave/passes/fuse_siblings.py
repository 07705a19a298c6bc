"""Sweeps over one iteration space become one pass over the data.

    spread(n: i64, xs: f32[n]) =>
        a: f32 = sweep [n] (i: i64 => index xs [i] checked=false) [combine (minimum f32) [inff32]]
        b: f32[n] = sweep [n] (j: i64 =>
            x: f32 = index xs [j] checked=false
            y: f32 = prefix (add f32) [0.0f32] [x]
            in y) [store]
        c: f32 = sweep [n] (k: i64 => index b [k] checked=false) [combine (maximum f32) [-inff32]]
        in a, c
    ==>
    spread(n: i64, xs: f32[n]) =>
        a: f32, c: f32 = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            y: f32 = index xs [i] checked=false
            z: f32 = prefix (add f32) [0.0f32] [y]
            in x, z) [combine (minimum f32) [inff32], combine (maximum f32) [-inff32]]
        in a, c

The second may read what the first stores, element by element: that read becomes the value itself.
So a scan fuses with the map, filter or reduction behind it. Leaves alone: sweeps whose first reads
are needed in between, sweeps in opposite directions, and more than STREAMS arrays in one pass. A
scattering sweep is divided by destination, not by position: it takes in a sweep that does nothing
but feed it, and no other. The second read of an
element is left to `cse`, the store that nobody reads any more to `dce`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.ops import Combine, Compact, Index, Insert, Merge, Place, Prefix, Store, Sweep
from flatweave.passes.operators import is_commutative
from flatweave.passes.rewrite import Rewriter
from flatweave.terms.build import Builder, Names
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, map_field, walk_lets

STREAMS = 20


def fuse_siblings(program: Program) -> Program:
    """Merge sweeps over the same shape, in every host body."""
    return Program(program.name, _body(program.fn))


def _body(fn: Lambda) -> Lambda:
    lets: list[Let] = []
    readers = _readers(fn)
    for let in fn.lets:
        if not _is_live(let, readers):
            continue  # what fusion left behind would only be in the way
        op = map_field(let.op, lambda a: a, _body) if _is_control(let.op) else let.op
        _place(lets, Let(let.vars, op, let.where), readers)
    return Lambda(fn.params, tuple(lets), fn.results)


def _is_control(op: Op) -> bool:
    return isinstance(op, If | While | For)


def _readers(fn: Lambda) -> Counter[Var]:
    """How many lets that are needed use each variable; the results count as one more."""
    found: Counter[Var] = Counter(free_vars(Lambda((), (), fn.results)).keys())
    for let in reversed(fn.lets):
        if _is_live(let, found):
            found.update(free_vars(let.op).keys())
    return found


def _is_live(let: Let, readers: Counter[Var]) -> bool:
    return let.op.effect or any(readers[var] for var in let.vars)


def _place(lets: list[Let], let: Let, readers: Counter[Var]) -> None:
    """Append a let, or merge it into an earlier sweep."""
    if isinstance(let.op, Sweep):
        for k in reversed(range(len(lets))):
            earlier = lets[k]
            fits = isinstance(earlier.op, Sweep) and _compatible(earlier, let, readers)
            if fits and _merge_at(lets, k, let):
                readers.subtract(set(earlier.vars) & set(free_vars(let.op)))  # values by now
                return
    lets.append(let)


def _compatible(first: Let, second: Let, readers: Counter[Var]) -> bool:
    a, b = first.op, second.op
    assert isinstance(a, Sweep) and isinstance(b, Sweep)
    if a.shape != b.shape or not a.shape:
        return False
    if _scatters(a) or (_scatters(b) and not _feeds(first, second, readers)):
        return False
    if _inserts(a) or (_inserts(b) and not set(first.vars) & set(free_vars(b.body))):
        return False
    if a.reverse != b.reverse and _ordered(a) and _ordered(b):
        return False
    if not _reads_in_place(first, second):
        return False
    return _streams(first, second, readers) <= STREAMS


def _scatters(op: Sweep) -> bool:
    return any(isinstance(sink, Place | Merge) for sink in op.sinks)


def _inserts(op: Sweep) -> bool:
    """Whether a sweep writes a part of a larger array: such parts are written one by one."""
    return any(isinstance(sink, Insert) for sink in op.sinks)


def _feeds(first: Let, second: Let, readers: Counter[Var]) -> bool:
    """Whether all that the first sweep does is to store what the second, alone, reads in place."""
    assert isinstance(first.op, Sweep)
    if first.op.reverse or any(not isinstance(sink, Store) for sink in first.op.sinks):
        return False
    used = set(free_vars(second.op))
    return all(readers[var] == (var in used) for var in first.vars)


def _ordered(op: Sweep) -> bool:
    """Whether the direction of the sweep shows in its results."""
    return any(isinstance(let.op, Prefix) for let in op.body.lets) or any(
        sink.forward
        or isinstance(sink, Compact)
        or (isinstance(sink, Combine) and not is_commutative(sink.fn))
        for sink in op.sinks
    )


def _reads_in_place(first: Let, second: Let) -> bool:
    """Whether all that `second` uses of `first` are stored elements at its own position."""
    assert isinstance(first.op, Sweep) and isinstance(second.op, Sweep)
    bound = set(first.vars)
    used = bound & set(free_vars(second.op))
    if not used:
        return True
    stored = _stored(first)
    if not used <= set(stored):
        return False
    reads = [let.op for let in walk_lets(second.op.body) if _reads(let.op, used)]
    other = set(free_vars(Lambda((), (), tuple(a for s in second.op.sinks for a in _atoms(s)))))
    return not (other & used) and all(
        isinstance(read, Index) and read.indices == second.op.body.params for read in reads
    )


def _atoms(sink: object) -> Sequence[Atom]:
    return tuple(v for v in free_vars(sink))


def _reads(op: Op, used: set[Var]) -> bool:
    return any(value in used for value in op.values() if isinstance(value, Var))


def _stored(let: Let) -> dict[Var, Atom]:
    """Each array that a sweep stores, with the result of the body that it stores."""
    assert isinstance(let.op, Sweep)
    groups = let.op.binders_by_sink(let.vars)
    parts = zip(let.op.sinks, groups, let.op.portions(), strict=True)
    return {group[0]: taken[0] for sink, group, taken in parts if isinstance(sink, Store)}


def _streams(first: Let, second: Let, readers: Counter[Var]) -> int:
    """How many arrays the merged sweep would read or write; the first one's stores that only the
    second reads go away.
    """
    a, b = first.op, second.op
    assert isinstance(a, Sweep) and isinstance(b, Sweep)
    used = set(free_vars(b))
    reads = {v for v in (*free_vars(a), *used) if isinstance(v.type, ArrayType)} - set(first.vars)
    passed_on = [var for var in _stored(first) if readers[var] == (var in used)]
    return len(reads) + len(a.sinks) - len(passed_on) + len(b.sinks)


def _merge_at(lets: list[Let], k: int, second: Let) -> bool:
    """Merge `second` with lets[k], there or at the end, wherever no let between is in the way."""
    first, between = lets[k], lets[k + 1 :]
    made_between = {var for let in between for var in let.vars}
    merged = _merge(first, second)
    if not made_between & set(free_vars(second.op)):
        lets[k] = merged
        return True
    made = set(first.vars)
    if not any(made & set(free_vars(let.op)) for let in between):
        lets[k:] = [*between, merged]
        return True
    return False


def _merge(first: Let, second: Let) -> Let:
    a, b = first.op, second.op
    assert isinstance(a, Sweep) and isinstance(b, Sweep)
    merger = _Merger(_stored(first))
    body = merger.merge(a.body, b.body, a.shape)
    reverse = a.reverse if _ordered(a) else b.reverse
    if _scatters(b):
        alone = Lambda(body.params, body.lets, body.results[len(a.body.results) :])
        return Let(second.vars, Sweep(a.shape, alone, b.sinks), second.where)
    vars_ = first.vars + second.vars
    return Let(vars_, Sweep(a.shape, body, a.sinks + b.sinks, reverse), second.where)


class _Merger(Rewriter):
    """Puts the second body behind the first, its indices and reads renamed."""

    def __init__(self, stored: dict[Var, Atom]) -> None:
        super().__init__(self._read)
        self.stored = stored
        self.params: tuple[Var, ...] = ()

    def merge(self, first: Lambda, second: Lambda, shape: Sequence[Atom]) -> Lambda:
        b = Builder(_Same())
        b.lets.extend(first.lets)
        for let in first.lets:
            b.adopt(let)
        self.renaming.mapping.update(zip(second.params, first.params, strict=True))
        self.params = first.params
        for let in second.lets:
            self.let(b, let)
        results = [self.renaming.atom(result) for result in second.results]
        return Lambda(first.params, tuple(b.lets), (*first.results, *results))

    def _read(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if isinstance(op, Index) and op.xs in self.stored and op.indices == self.params:
            assert isinstance(op.xs, Var)
            return (self.stored[op.xs],)
        return None


class _Same(Names):
    """Names for a body that is part of a program whose names are not known here."""

    def fresh(self, hint: str) -> str:
        return f"{hint.split('_', 1)[0]}_m{next(self._next)}"
