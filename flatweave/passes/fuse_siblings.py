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
So a scan fuses with the map, filter or reduction after it. Leaves alone: two
sweeps if something between them needs the first and the second needs that, sweeps in opposite
directions, and more than STREAMS arrays in one pass, unless the first used as many. A scattering
sweep is divided by destination, not by position: it takes in a sweep that does nothing but feed it,
and no other. A sweep that does nothing but feed a scan does not join one in the other direction.
`cse` removes the second read of an element, `dce` the store that is now unread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from flatweave.array_ir.syntax import FLAT, Program
from flatweave.ops import HOST_BODIES, Index, Sink, Sweep
from flatweave.passes.cost import STORING, cost_of_body
from flatweave.passes.rewrite import (
    STREAMS,
    LocalNames,
    Rewriter,
    array_pass,
    is_ordered,
    read_elsewhere,
    stored_by,
)
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, with_bodies, with_lets


@array_pass(takes=(FLAT,))
def fuse_siblings(program: Program) -> Program:
    """Merge sweeps over the same shape, in every host body."""
    fn = _body(program.fn)
    return program if fn is program.fn else Program(program.name, fn)


def _body(fn: Lambda) -> Lambda:
    readers = _readers(fn)
    row = _Row(readers, fn)
    for let in fn.lets:
        if not _is_live(let, readers):
            continue  # dead lets would only be in the way
        row.place(with_bodies(let, _body) if isinstance(let.op, HOST_BODIES) else let)
    return with_lets(fn, row.lets())


def _readers(fn: Lambda) -> Counter[Var]:
    """How many lets that are needed use each variable; the results count as one more."""
    found: Counter[Var] = Counter(free_vars(Lambda((), (), fn.results)).keys())
    for let in reversed(fn.lets):
        if _is_live(let, found):
            found.update(free_vars(let.op).keys())
    return found


def _is_live(let: Let, readers: Counter[Var]) -> bool:
    return let.op.effect or any(readers[var] for var in let.vars)


class _Single:
    """A let in the row, and whether another let reads it."""

    def __init__(self, let: Let, place: int) -> None:
        self.let = let
        self.place = place
        self.is_read = False

    def whole(self) -> Let:
        """The let in its final form."""
        return self.let


class _Row:
    """The lets of a body in their new order, in which a sweep may join an earlier one that fits.

    A sweep joins an earlier one in place if all its operands, and every check before it, precede
    that one. Otherwise the earlier one may move to the end, if nobody has read it yet. A
    sweep that reads another one, but not in place, is compared with that one only, so that the work
    for n lets grows with n.
    """

    def __init__(self, readers: Counter[Var], fn: Lambda) -> None:
        self.readers = readers
        self.results = {atom for atom in fn.results if isinstance(atom, Var)}
        self.scans = {
            var: let.op
            for let in fn.lets if isinstance(let.op, Sweep) and is_ordered(let.op)
            for var in free_vars(let.op)
        }  # fmt: skip
        self.standing: dict[int, _Single] = {}  # by place
        self.makers: dict[Var, _Single] = {}
        self.open: dict[tuple[Atom, ...], dict[int, _Group]] = {}  # by shape and position
        self.unread: dict[tuple[Atom, ...], dict[int, _Group]] = {}
        self.end = 0
        self.checked = -1  # the position of the last check

    def lets(self) -> tuple[Let, ...]:
        """All lets, in order."""
        return tuple(single.whole() for _, single in sorted(self.standing.items()))

    def place(self, let: Let) -> None:
        """Append a let, or merge it into an earlier sweep."""
        used = free_vars(let.op)
        makers = [self.makers[var] for var in used if var in self.makers]
        sweep = _Joining(let, used) if isinstance(let.op, Sweep) and let.op.shape else None
        if sweep is None:
            placed = _Single(let, self._next())
            self.standing[placed.place] = placed
            self.checked = placed.place if let.op.effect else self.checked
        else:
            placed = self._joined(sweep, max([self.checked, *(m.place for m in makers)]))
        for var in let.vars:
            self.makers[var] = placed
        for maker in makers:
            if maker is not placed:
                self._note_reader(maker)

    def _joined(self, sweep: _Joining, last: int) -> _Single:
        """The group that a sweep joins, or a new one; what it needs ends at `last`."""
        for group in self._candidates(sweep.op.shape, last):
            if group.takes(sweep, self.readers) and not self._feeds_other_way(sweep, group):
                group.join(sweep, self.readers)
                if group.place < last:
                    self._move_to_end(group)
                self._close_if_full(group)
                return group
        group = _Group(sweep, self._next(), self.readers, self.results)
        self.standing[group.place] = group
        self.open.setdefault(group.shape, {})[group.place] = group
        self.unread.setdefault(group.shape, {})[group.place] = group
        self._close_if_full(group)
        return group

    def _feeds_other_way(self, sweep: _Joining, group: _Group) -> bool:
        """Whether a sweep can still join the scan that alone reads its results, and that goes the
        other way."""
        if sweep.is_ordered or not group.is_ordered:
            return False
        vars_ = sweep.let.vars
        scan = self.scans.get(vars_[0])
        if scan is None or scan.shape != sweep.op.shape or scan.reverse == group.reverse:
            return False
        alone = all(self.readers[var] == 1 and self.scans.get(var) is scan for var in vars_)
        return alone and read_elsewhere(scan).isdisjoint(vars_)

    def _candidates(self, shape: tuple[Atom, ...], last: int) -> Iterator[_Group]:
        """The sweeps that may be joined where they stand, then those that can move."""
        for place, group in reversed(self.open.get(shape, {}).items()):
            if place < last:
                break
            yield group
        for place, group in reversed(self.unread.get(shape, {}).items()):
            if place < last:
                yield group

    def _next(self) -> int:
        self.end += 1
        return self.end

    def _note_reader(self, single: _Single) -> None:
        """Another let reads this one: from now on it keeps its position."""
        if not single.is_read and isinstance(single, _Group):
            self.unread.get(single.shape, {}).pop(single.place, None)
        single.is_read = True

    def _move_to_end(self, group: _Group) -> None:
        del self.standing[group.place]
        before, group.place = group.place, self._next()
        self.standing[group.place] = group
        for table in (self.open, self.unread):
            table[group.shape].pop(before, None)
            table[group.shape][group.place] = group

    def _close_if_full(self, group: _Group) -> None:
        if group.is_closed():
            self.open[group.shape].pop(group.place, None)
            self.unread[group.shape].pop(group.place, None)


class _Joining:
    """A sweep that looks for others, and what it asks of them."""

    def __init__(self, let: Let, used: dict[Var, None]) -> None:
        assert isinstance(let.op, Sweep)
        self.let = let
        self.op = let.op
        self.used = used
        self.arrays = [var for var in used if isinstance(var.type, ArrayType)]
        self.is_ordered = is_ordered(let.op)
        self.elsewhere = read_elsewhere(let.op)


class _Group(_Single):
    """Sweeps over one shape that have become one, and what that one reads and stores."""

    def __init__(
        self, sweep: _Joining, place: int, readers: Counter[Var], kept: Set[Var]
    ) -> None:
        super().__init__(sweep.let, place)
        self.op = sweep.op
        self.kept = kept
        self.shape = sweep.op.shape
        self.is_ordered = sweep.is_ordered
        self.reverse = sweep.op.reverse
        self.scatters = _scatters(sweep.op)
        self.inserts = sweep.op.inserts
        self.arrays = set(sweep.arrays)
        self.vars: dict[Var, None] = {}
        self.sinks: list[Sink] = []
        self.stored: dict[Var, Atom] = {}
        self.waiting = 0  # stores that somebody is still to read
        self.lasting = 0  # stores of arrays that the body gives: they stay
        self.merger: _Merger | None = None
        self._add(sweep, stored_by(sweep.let), readers)

    def _add(self, sweep: _Joining, stored: dict[Var, Atom], readers: Counter[Var]) -> None:
        self.vars.update(dict.fromkeys(sweep.let.vars))
        self.sinks += sweep.op.sinks
        self.stored.update(stored)
        self.waiting += sum(readers[var] > 0 for var in stored)
        self.lasting += sum(var in self.kept for var in stored)

    def whole(self) -> Let:
        """The merged sweep."""
        if self.merger is None:
            return self.let
        op = Sweep(self.shape, self.merger.whole(), tuple(self.sinks), self.reverse)
        return Let(tuple(self.vars), op, self.let.where)

    def is_closed(self) -> bool:
        """Whether no other sweep can join: this one scatters, inserts or uses too much."""
        others = len(self.sinks) - len(self.stored)
        lasting = len(self.arrays) + self.lasting + others
        return self.scatters or self.inserts or lasting >= STREAMS

    def takes(self, sweep: _Joining, readers: Counter[Var]) -> bool:
        """Whether a sweep may join."""
        if _scatters(sweep.op) and not self._only_feeds(sweep, readers):
            return False
        used = [var for var in sweep.used if var in self.vars]
        if sweep.op.inserts and not used:
            return False
        if self.reverse != sweep.op.reverse and self.is_ordered and sweep.is_ordered:
            return False
        if _are_faster_alone(self.sinks, sweep.op) or _are_faster_alone(sweep.op.sinks, self.op):
            return False
        if any(var not in self.stored or var in sweep.elsewhere for var in used):
            return False
        others = len(self.sinks) - len(self.stored)
        before = len(self.arrays) + self.waiting + others
        return self._streams(sweep, used, readers) <= max(STREAMS, before)

    def _only_feeds(self, sweep: _Joining, readers: Counter[Var]) -> bool:
        """Whether it only stores arrays, which the joining sweep alone reads, in place."""
        if self.reverse or len(self.stored) < len(self.sinks):
            return False
        return all(readers[var] == (var in sweep.used) for var in self.vars)

    def _streams(self, sweep: _Joining, used: Sequence[Var], readers: Counter[Var]) -> int:
        """How many arrays the merged sweep would read or write.

        Stores that only the joining sweep reads go away, and so do those without a reader.
        """
        new = sum(var not in self.arrays and var not in self.vars for var in sweep.arrays)
        wanted = self.waiting - sum(readers[var] == 1 for var in used)
        others = len(self.sinks) - len(self.stored)
        return len(self.arrays) + new + wanted + others + len(sweep.op.sinks)

    def join(self, sweep: _Joining, readers: Counter[Var]) -> None:
        """Append a sweep's body; its reads of what this group stores become the stored values."""
        if self.merger is None:
            self.merger = _Merger(self.op.body, self.stored)
        for var in sweep.used:
            if var in self.vars:
                readers[var] -= 1
                self.waiting -= readers[var] == 0
        self.merger.append(sweep.op.body)
        if not self.is_ordered:
            self.reverse = sweep.op.reverse
        self.is_ordered |= sweep.is_ordered
        self.arrays.update(var for var in sweep.arrays if var not in self.vars)
        self.inserts |= sweep.op.inserts
        if _scatters(sweep.op):
            self._give_way(sweep)
        self._add(sweep, self.merger.renamed(stored_by(sweep.let)), readers)

    def _give_way(self, sweep: _Joining) -> None:
        """Drop all sinks: the group was there only to feed the scattering sweep that joins it."""
        assert self.merger is not None
        self.let = sweep.let
        self.scatters = True
        self.reverse = False
        self.merger.results = self.merger.results[-len(sweep.op.body.results) :]
        self.vars.clear()
        self.sinks.clear()
        self.stored.clear()
        self.waiting = self.lasting = 0


def _are_faster_alone(sinks: Sequence[Sink], other: Sweep) -> bool:
    """Whether one sweep compacts, walking along positions, and the other only combines rows of
    cheap elements, walking along rows: two passes are faster than one."""
    compacts = any(sink.filters for sink in sinks)
    combines = all(sink.by_row for sink in other.sinks)
    return compacts and combines and cost_of_body(other.body) <= STORING


def _scatters(op: Sweep) -> bool:
    return any(sink.alone for sink in op.sinks)


class _Merger(Rewriter):
    """Appends bodies to a first one, their indices and reads renamed."""

    def __init__(self, first: Lambda, stored: dict[Var, Atom]) -> None:
        super().__init__(self._read)
        self.stored = stored  # shared with the group, which adds to it
        self.params = first.params
        self.builder = Builder(LocalNames())
        self.builder.lets.extend(first.lets)
        for let in first.lets:
            self.builder.adopt(let)
        self.results = list(first.results)

    def append(self, second: Lambda) -> None:
        """One more body."""
        self.renaming.mapping.update(zip(second.params, self.params, strict=True))
        for let in second.lets:
            self.let(self.builder, let)
        self.results += [self.renaming.atom(result) for result in second.results]

    def renamed(self, stored: dict[Var, Atom]) -> dict[Var, Atom]:
        """The results that the last appended body stores, under their names in the merged body."""
        return {var: self.renaming.atom(atom) for var, atom in stored.items()}

    def whole(self) -> Lambda:
        """The body so far."""
        return self.builder.close(self.params, self.results)

    def _read(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if isinstance(op, Index) and op.xs in self.stored and op.indices == self.params:
            assert isinstance(op.xs, Var)
            return (self.stored[op.xs],)
        return None
