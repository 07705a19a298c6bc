"""A traced program, some of whose arrays are in chunks, becomes steps (`steps.py`).

Every let has a *level*: the number of exchanges before it. A let that reads only its row has the
level of what it reads; what needs a reduction, a scan, or other rows of an array that is computed
here, has one more. The lets of one level over one space are one step: one task for each chunk.

A value that steps of several levels need is stored by the first of them, or computed again where
that costs less than memory does.

    n = sub m 4;  is = generate [n] (i => i);  ys = map (i => .. index xs [i + 4] ..) is

Numbers of rows such as `is` are computed by each chunk. That n is an extent of chunks is known only
after `is`, because of what `ys` reads; so a program is divided once more, with `is` in chunks.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.errors import Unsupported
from flatweave.cluster.chunk_program import local_program
from flatweave.cluster.exchange import Made
from flatweave.cluster.indexed_rules import read_anywhere, separate_reads
from flatweave.cluster.prepare import prepared
from flatweave.cluster.row_ranges import cutting, reads_own_row
from flatweave.cluster.rules import rule_of
from flatweave.cluster.shuffled import exchange_of
from flatweave.cluster.steps import Divided, Exchanged, Local, Rule, Step, Whole
from flatweave.cluster.windows import shorter_by_one
from flatweave.ops import Generate, Index, Map
from flatweave.ops.nests import Nest
from flatweave.passes.cost import cost_of_body
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var, array_type
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

CHEAP = 8
"""Up to this cost (`passes/cost.py`) an element is computed again; storing it, and reading it once
more, takes about as long as this many additions."""


def divide(program: Program, split: Collection[int]) -> Divided:
    """The steps of a program; `split` are the numbers of its parameters that are in chunks.

    Raises Unsupported for an operation that has no rule.
    """
    program = prepared(program, split)
    chosen = [program.fn.params[k] for k in split]

    @functools.cache
    def divided(large: frozenset[Var]) -> Divided:
        found = _Dividing(program, chosen, large, divided, frozenset())
        result = found.divided()
        numbers = _numbers_of_rows(found)
        if not numbers:
            return result
        return _Dividing(program, chosen, large, divided, numbers).divided()

    return divided(frozenset())


class _Dividing:
    """What is known of each variable: whether it is in chunks, and from which level on it is
    there, for its own row and for others."""

    def __init__(
        self, program: Program, split: Collection[Var], large: frozenset[Var],
        again: Callable[[frozenset[Var]], Divided], numbers: frozenset[Var],
    ) -> None:  # fmt: skip
        self.program = program
        self.numbers = numbers
        self.large = large
        self.again = again
        self.anywhere: set[Var] = set()
        self.lets: list[Let] = []
        self.split: set[Var] = set(split)
        self.spaces: set[Atom] = {array_type(var).shape[0] for var in split}
        self.own: dict[Var, int] = dict.fromkeys(program.fn.params, 0)
        self.kept: dict[Var, int] = dict.fromkeys(program.fn.params, 0)
        self.level: dict[Let, int] = {}
        self.let_of: dict[Var, Let] = {}
        self.made: dict[Let, Made] = {}
        self.far: set[Var] = set()  # of which other rows are read, or which are results

    def divided(self) -> Divided:
        """Levels, then what is stored, then steps."""
        fn = self.program.fn
        for let in fn.lets:
            self._place(let)
        self.far |= {v for v in fn.results if v in self.split and v in self.let_of}  # type: ignore[misc]
        stored = self._stored()
        steps: list[Step] = []
        for level in range(self._levels()):
            steps += self._whole(level)
            spaces = self._spaces_at(level, stored)
            steps += [self._step(space, level, stored) for space in spaces]
        steps += self._whole(self._levels())
        split = frozenset(self.split)
        name = self.program.name
        programs = tuple(
            local_program(f"{name}_{number}", step, split) if isinstance(step, Local) else None
            for number, step in enumerate(steps)
        )
        return Divided(
            name, fn.params, fn.results, split, tuple(steps), programs, cutting(fn),
            frozenset(self.anywhere), self.again, set(),
        )  # fmt: skip

    # -- levels -----------------------------------------------------------------------------------

    def _place(self, let: Let) -> None:
        """A let, or those that it becomes where some of what it reads is asked of others."""
        self.anywhere.update(read_anywhere(let.op, self.split - self.large))
        made = separate_reads(let, self.large & self.split)
        if len(made) > 1:
            for each in made:
                self._place(each)
            return
        self.lets.append(let)
        self.let_of.update((var, let) for var in let.vars)
        op = let.op
        free = free_vars(op)
        if not any(var in self.split for var in free) and not self._goes_over_chunks(let):
            self._set(let, max([self.kept[v] for v in free], default=0), self.kept)
            if shorter_by_one(op) in self.spaces:  # rows, of which there are one less than offsets
                self.spaces.update(let.vars)
            return
        space = self.space_of(let)
        if space is None:
            self._by_client(let)
            return
        others = self.others(let, space) & self.split
        self.far |= {var for var in others if var in self.let_of}
        level = max(
            (self.own[v] if v in self.split and v not in others else self.kept[v]) for v in free
        ) if free else 0
        rule = self.rule(let)
        if rule and rule.refused(let.op):
            raise _refused(let, rule.refused(let.op))
        if rule is None:
            self._set(let, level, self.own)
            self._in_chunks(let.vars, level)
            return
        self.level[let] = level
        if rule.stays:
            self._in_chunks(let.vars, level + 1)
            return
        for var in let.vars:
            self.own[var] = self.kept[var] = level + 1
        if rule.stored:
            self.split.update(v for v in let.vars if isinstance(v.type, ArrayType))
            self.spaces.update(array_type(v).shape[0] for v in let.vars if v in self.split)

    def _set(self, let: Let, level: int, table: dict[Var, int]) -> None:
        self.level[let] = level
        for var in let.vars:
            table[var] = level

    def _in_chunks(self, variables: Sequence[Var], level: int) -> None:
        for var in variables:
            self.split.add(var)
            self.spaces.add(array_type(var).shape[0])
            self.own[var] = level
            self.kept[var] = level + 1

    def _by_client(self, let: Let) -> None:
        """A let of the host that takes arrays in chunks as a whole."""
        free = free_vars(let.op)
        exchange = exchange_of(let.op)
        if exchange is None:
            raise _refused(let, "")
        made = self.made[let] = exchange.made(let, self.split, divide)
        if made.refused:
            raise _refused(let, made.refused)
        self.split |= made.split
        self.spaces.update(array_type(var).shape[0] for var in made.split)
        self.far |= {v for v in free if v in self.split and v in self.let_of}
        level = max((self.kept[v] for v in free), default=0)
        self._set(let, level, self.kept)
        self._set(let, level, self.own)

    def _goes_over_chunks(self, let: Let) -> bool:
        op = let.op
        space = op.shape[0] if isinstance(op, Generate) else None
        known = (op.count if isinstance(op, Nest) else space) in self.spaces
        return known or any(var in self.numbers for var in let.vars)

    def space_of(self, let: Let) -> Atom | None:
        """The extent that a let goes over, row by row; None for what does no such thing."""
        match let.op:
            case Generate(shape=shape):
                return shape[0]
            case Map(xs=xs):
                return array_type(xs[0]).shape[0]
            case op:
                rule = self.rule(let)
                return rule.space(op) if rule else None

    def rule(self, let: Let) -> Rule | None:
        """What chunks do of a let: nothing, where it writes into an array that is in chunks."""
        rule = rule_of(let.op)
        if rule and any(atom in self.split for atom in rule.into(let.op)):
            return None
        return rule

    def others(self, let: Let, space: Atom) -> set[Var]:
        """The variables, arrays among them, of which a let reads more than its own row."""
        op = let.op
        row = op.fn.params[0] if isinstance(op, Generate | Nest) else None
        rule = self.rule(let)
        fed = op.xs if isinstance(op, Map) else rule.fed(op) if rule else ()
        found = {atom for atom in atoms_in(op) if isinstance(atom, Var) and atom not in fed}
        return found.union(*(_read_elsewhere(inner, row, space) for inner in lambdas_in(op)))

    # -- what is stored ---------------------------------------------------------------------------

    def _stored(self) -> dict[Var, int]:
        """The level at which each variable that is stored is."""
        stored = {var: self.own[var] for var in self.far if self._is_computed(var)}
        computed = defaultdict[Var, set[int]](set)
        for level in range(self._levels()):
            for space in self._spaces_at(level, stored):
                for let in self._lets(space, level, stored):
                    for var in let.vars:
                        computed[var].add(level)
        for var, levels in computed.items():
            if var not in stored and len(levels) > 1 and not _is_cheap(self.let_of[var]):
                stored[var] = min(levels)
        return stored

    def _is_computed(self, var: Var) -> bool:
        """Whether a variable is computed row by row, and is not one that is there as a whole."""
        return var in self.split and var in self.let_of and self.kept[var] > self.own[var]

    def _levels(self) -> int:
        return 1 + max([*self.level.values(), *self.own.values()], default=0)

    # -- steps ------------------------------------------------------------------------------------

    def _whole(self, level: int) -> list[Whole | Exchanged]:
        """What the client computes, and has computed, before the chunks of a level."""
        found: list[Whole | Exchanged] = []
        for let in self.lets:
            if self.level[let] != level or self._is_local(let):
                continue
            if let in self.made:
                found.append(Exchanged(let, self.made[let]))
            elif found and isinstance(found[-1], Whole):
                found[-1] = Whole((*found[-1].lets, let))
            else:
                found.append(Whole((let,)))
        return found

    def _is_local(self, let: Let) -> bool:
        """Whether chunks compute a let, or parts of it."""
        rule = self.rule(let)
        if rule and any(atom in self.split for atom in (*rule.fed(let.op), *let.vars)):
            return True
        return any(self._is_computed(var) for var in let.vars)

    def _spaces_at(self, level: int, stored: dict[Var, int]) -> list[Atom]:
        """The spaces over which something is wanted at a level, in the order of the program."""
        found: dict[Atom, None] = {}
        for let in self.lets:
            space = self.space_of(let)
            if space is not None and any(True for _ in self._wanted(let, level, stored)):
                found.setdefault(space)
        return list(found)

    def _wanted(self, let: Let, level: int, stored: dict[Var, int]) -> Iterator[Var]:
        """What a step of this level must have because of a let: what it folds, what it stores."""
        yield from (var for var in let.vars if stored.get(var) == level)
        rule = self.rule(let)
        if rule and self._is_local(let) and self.level[let] == level:
            yield from (atom for atom in rule.fed(let.op) if isinstance(atom, Var))

    def _lets(self, space: Atom, level: int, stored: dict[Var, int]) -> list[Let]:
        """The lets that a step computes, in order: its results, back to existing values."""
        wanted: set[Var] = set()
        lets: list[Let] = []
        for let in reversed(self.lets):
            if self.space_of(let) != space:
                continue
            wanted.update(self._wanted(let, level, stored))
            if not any(v in wanted and self._is_missing(v, level, stored) for v in let.vars):
                continue
            lets.append(let)
            rule = self.rule(let)
            if rule is None or rule.again:
                wanted.update(v for v in free_vars(let.op) if v in self.split)
            if rule and rule.stays and rule.again:
                wanted.update(a for a in rule.fed(let.op) if isinstance(a, Var))
        return lets[::-1]

    def _is_missing(self, var: Var, level: int, stored: dict[Var, int]) -> bool:
        return self._is_computed(var) and stored.get(var, level) >= level

    def _step(self, space: Atom, level: int, stored: dict[Var, int]) -> Local:
        lets = self._lets(space, level, stored)
        folds = tuple(
            let for let in self.lets
            if self.space_of(let) == space and self.level[let] == level
            and self._is_local(let) and self.rule(let)
        )  # fmt: skip
        stores = tuple(v for let in lets for v in let.vars if stored.get(v) == level)
        goes_on = tuple(let for let in lets if self.rule(let))
        return Local(space, tuple(lets), stores, folds, goes_on)


def _refused(let: Let, reason: str) -> Unsupported:
    return Unsupported(
        f"{let.op.name} has no rule for arrays in chunks" + (f": {reason}." if reason else "."),
        where=let.where,
        remedy="Take what is small out of the chunks first, np.asarray(xs), or do this part on one"
        " machine.",
    )


def _numbers_of_rows(divided: _Dividing) -> frozenset[Var]:
    """The arrays of cheap numbers that were taken for whole, of an extent of chunks, which nothing
    reads but row by row."""

    def is_read_by_row(var: Var, space: Atom) -> bool:
        readers = [let for let in divided.lets if var in free_vars(let.op)]
        return all(
            divided.space_of(let) == space and var not in divided.others(let, space)
            for let in readers
        )

    found = set[Var]()
    for let in divided.lets:
        op = let.op
        if isinstance(op, Generate) and op.shape[0] in divided.spaces and _is_cheap(let):
            is_whole = divided.split.isdisjoint((*let.vars, *free_vars(op)))
            if is_whole and len(op.shape) == 1 and isinstance(op.shape[0], Var):
                unread = (v for v in let.vars if v not in divided.program.fn.results)
                found.update(v for v in unread if is_read_by_row(v, op.shape[0]))
    return frozenset(found)


def _read_elsewhere(fn: Lambda, row: Atom | None, space: Atom) -> Iterator[Var]:
    """The arrays that a function reads but at its own row; `row` is that one's number."""
    for let in fn.lets:
        op = let.op
        own = op.xs if isinstance(op, Index) and reads_own_row(op, row, space) else None
        yield from (x for x in atoms_in(op) if isinstance(x, Var) and x is not own)
        for inner in lambdas_in(op):
            yield from _read_elsewhere(inner, row, space)


def _is_cheap(let: Let) -> bool:
    """Whether computing a row's elements again takes less than keeping them."""
    fns = lambdas_in(let.op)
    plain = all(isinstance(each.op, Apply | Cast | Index) for fn in fns for each in walk_lets(fn))
    return isinstance(let.op, Map | Generate) and plain and sum(map(cost_of_body, fns)) <= CHEAP
