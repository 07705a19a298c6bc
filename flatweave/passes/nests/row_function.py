"""The element function of a nest while it is distributed, and its scalars for all rows.

    i =>                                  f: i64[n] = generate [n] (i => reduce add 0 (x i))
        s = reduce add 0 (x i)      ==>   i =>
        in s                                  s = index f [i]
                                              in s
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.ops import Check, Generate, Index, Locate, Reduce, Reshape, Span
from flatweave.passes.nests.segments import array_of, at
from flatweave.passes.rewrite import hold
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant
from flatweave.terms.traverse import Substitution, free_vars, needed_for

Known = Mapping[Atom, tuple[Atom, Atom]]
"""For offsets the row that a position was found in by them, and where it begins."""

CHEAP = (Apply, Cast, Index, Span)
"""What is done again for every value of a row rather than once, stored for the row."""


class RowFunction:
    """An element function under distribution: its rows have `shape`, its indices are `params`.

    `b` is the body around it: what all rows need at once is emitted there. `body` is what is left
    for each row.
    """

    def __init__(self, b: Builder, shape: Sequence[Atom]) -> None:
        self.b = b
        self.shape = tuple(shape)
        self.count = b.product(self.shape)
        self.body = b.inner()
        self.params = [self.body.param("i", i64, extent) for extent in self.shape]
        self.whole: dict[Atom, Atom] = {}  # scalars that are stored for all rows

    def varies(self, atom: Atom) -> bool:
        """Whether an atom may differ from row to row: it is bound in the element function."""
        return isinstance(atom, Var) and atom in self.body.own

    @property
    def row(self) -> Atom:
        """The number of the current row."""
        return self.body.ravel(self.params, self.shape)

    def needed(self, roots: Iterable[Atom]) -> tuple[Let, ...]:
        """What is left of the function that some atoms of it need, and all its checks."""
        lets = self.body.lets
        checked = [var for let in lets if let.op.effect for var in free_vars(let.op)]
        needed = {*needed_for(lets, [*roots, *checked])}
        return tuple(let for let in lets if let in needed or let.op.effect)

    def stored(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Scalars of a row for all rows: arrays of the rows' shape."""
        waiting = [atom for atom in dict.fromkeys(atoms) if atom not in self.whole]
        if waiting:
            fn = Lambda(tuple(self.params), self.needed(waiting), tuple(waiting))
            made = self.b.emit(Generate(self.shape, self.b.copy(fn)))
            self.whole.update(zip(waiting, made, strict=True))
            self.body.lets[:] = [let for let in self.body.lets if not let.op.effect]
        return [self.whole[atom] for atom in atoms]

    def column(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Scalars of a row for all rows: arrays of one axis."""
        return [self.lined(array, self.count) for array in self.stored(atoms)]

    def lined(self, array: Atom, size: Atom) -> Atom:
        """An array under one axis."""
        if array_type(array).rank == 1:
            return array
        return self.b.emit(Reshape(array, (size,)))[0]

    def inlined(
        self, b: Builder, row: Sequence[Atom], roots: Iterable[Atom], known: Known | None = None
    ) -> Substitution:
        """Emit in `b` what some atoms need, for the row at some indices; what they become there."""
        renaming = b.inlining(Lambda(tuple(self.params), (), ()), row)
        for let in self.needed(roots):
            _inline_row(b, let, renaming, known or {})
        return renaming

    def settle(self, roots: Iterable[Atom]) -> None:
        """Store the scalars that `roots` need and that are not cheap: they are read from here on.

        They would be computed again for every value of the row.
        """
        wanted: set[Atom] = set(roots)
        found: list[Let] = []
        for let in reversed(self.body.lets):
            if not any(var in wanted for var in let.vars):
                continue
            if not isinstance(let.op, CHEAP) and all(isinstance(v.type, DType) for v in let.vars):
                found.append(let)
            else:
                wanted.update(free_vars(let.op))
        vars_ = [var for let in reversed(found) for var in _stored_of(let)]
        if not vars_:
            return
        reads = dict(zip(vars_, self.stored(vars_), strict=True))
        for let in found:
            at = self.body.lets.index(let)
            self.body.lets[at : at + 1] = [
                self._read(var, let, reads.get(var)) for var in let.vars
            ]

    def _read(self, var: Var, let: Let, array: Atom | None) -> Let:
        """The stored value; of a search for a row, where it begins is read by its number."""
        if array is None:
            assert isinstance(let.op, Locate)
            read = Index(let.op.ends, let.vars[:1], checked=False)
        else:
            read = Index(array, tuple(self.params), checked=False)
        self.body.own[var] = read
        return Let((var,), read, let.where)

    def settle_checks(self) -> None:
        """Make the checks of every row now: rows without values are looked at nowhere else."""
        checks = [let.op for let in self.body.lets if isinstance(let.op, Check)]
        if not checks:
            return

        def all_of(b: Builder, row: Sequence[Atom]) -> Atom:
            renaming = self.inlined(b, row, [])
            holds: Atom = constant(True, bool_)
            for check in checks:
                holds = b.apply("and", holds, renaming.atom(check.condition))
            return holds

        flags = self.lined(array_of(self.b, self.shape, all_of), self.count)
        every = Reduce(lambda_of("and", bool_), (constant(True, bool_),), (flags,), known=True)
        (all_hold,) = self.b.emit(every)
        hold(self.b, checks[0], all_hold)
        self.body.lets[:] = [let for let in self.body.lets if not let.op.effect]

    def scalar(self, column: Atom) -> Atom:
        """The row's own value of an array of one axis with one value for each row."""
        value = at(self.body, column, self.row)
        if len(self.shape) == 1:
            self.whole[value] = column
        return value


def _stored_of(let: Let) -> tuple[Var, ...]:
    """What is stored of a let's results, as the others follow from it."""
    return let.vars[:1] if isinstance(let.op, Locate) and let.op.skip == 1 else let.vars


def _inline_row(
    b: Builder, let: Let, renaming: Substitution, known: Known
) -> None:
    """Emit a let of an element function at a position in a row that its offsets located."""
    op = let.op
    if isinstance(op, Span) and op.offsets in known:
        row, start = known[op.offsets]
        if renaming.atom(op.row) == row:
            after = at(b, op.offsets, b.add(row, index(1)))
            renaming.mapping[let.vars[0]] = start
            renaming.mapping[let.vars[1]] = b.sub(after, start)
            return
    b.inline_let(let, renaming)
