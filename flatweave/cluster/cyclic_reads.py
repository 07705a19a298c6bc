"""Reads of rows that go on at the other end of an array: of rotations, of periodic boundaries.

    t = add i -1;  c = lt t 0;  w = add t n;  r = select c w t;  x = index xs [r]        xs: [n]

The rows of a chunk's own places are neighbours, those that they read are not: of the first chunk
they are the array's first and last ones. So a chunk is given the rows from the least to the
greatest `t`, those below zero and beyond the end taken from the other end (`cyclic`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from flatweave.base.dtypes import bool_, i64
from flatweave.cluster.row_ranges import Interval, reads_own_row
from flatweave.ops import Generate, Index, Map
from flatweave.ops.nests import Nest
from flatweave.ops.rows import array_type
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in

FOLLOWED = frozenset((
    "add", "sub", "neg", "mul", "minimum", "maximum", "abs", "select", "lt", "le", "gt", "ge",
    "eq", "ne",
))  # fmt: skip
"""Functions whose results have an interval wherever their arguments have one."""

Wraps = Mapping[tuple[Var, Atom], Var]
"""For an array and an index the place, which is less than zero or beyond the end where it wraps."""


def cyclic_reads_of(lets: Sequence[Let], space: Atom, arrays: Collection[Var]) -> Wraps:
    """The reads of a step that wrap, of arrays all of whose reads have places with intervals."""
    found = _Reads(space, arrays)
    for let in lets:
        found.step(let)
    return found.wraps()


class _Reads:
    """What a step reads of arrays in chunks, and how places are computed."""

    def __init__(self, space: Atom, arrays: Collection[Var]) -> None:
        self._space = space
        self._arrays = arrays
        self._row: Var | None = None
        self._bound: set[Atom] = set()
        self._known: set[Atom] = set()  # of what is bound, what has intervals
        self._ops: dict[Atom, Apply] = {}
        self._read: dict[Var, list[Atom]] = {}
        self._otherwise: set[Atom] = set()

    def step(self, let: Let) -> None:
        """A let of the step."""
        op = let.op
        self._row = None
        params: Sequence[bool] = ()
        match op:
            case Generate(shape=shape, fn=fn):
                self._row, params = fn.params[0], [True, *map(self._is_known, shape[1:])]
            case Nest(fn=fn):
                self._row, params = fn.params[0], [True]
            case Map(xs=xs):
                params = [x in self._known for x in xs]
        self._functions(let, params)

    def _functions(self, let: Let, params: Sequence[bool]) -> None:
        """The functions of an operation, of whose first one these parameters have intervals."""
        for fn in lambdas_in(let.op):
            self._bound.update(fn.params)
            pairs = zip(fn.params, params, strict=False)
            self._known.update(param for param, is_known in pairs if is_known)
            self._body(fn)
            if isinstance(let.op, Generate | Map):
                pairs = zip(let.vars, map(self._is_known, fn.results), strict=True)
                self._known.update(var for var, is_known in pairs if is_known)
            params = ()

    def _is_known(self, atom: Atom) -> bool:
        return isinstance(atom, Const) or atom in self._known or atom not in self._bound

    def _body(self, fn: Lambda) -> None:
        for let in fn.lets:
            self._bound.update(let.vars)
            self._let(let, let.op)

    def _let(self, let: Let, op: Op) -> None:
        params: Sequence[bool] = ()
        match op:
            case Apply(fn=name, args=args):
                self._ops[let.vars[0]] = op
                has = name in FOLLOWED or (name == "mod" and isinstance(args[1], Const))
                if has and all(a.type in (i64, bool_) and self._is_known(a) for a in args):
                    self._known.update(let.vars)
                return
            case Index(xs=Var() as xs, indices=(first, *_)) if xs not in self._bound:
                if xs in self._arrays and not reads_own_row(op, self._row, self._space):
                    self._read.setdefault(xs, []).append(first)
                return
            case Index(xs=xs):
                self._known.update(let.vars if xs in self._known else ())
                return
            case Generate(shape=shape):
                params = list(map(self._is_known, shape))
            case Map(xs=xs):
                params = [x in self._known for x in xs]
            case For(lo=lo, hi=hi):
                params = [self._is_known(lo) and self._is_known(hi)]
        self._otherwise.update(atoms_in(op))
        self._functions(let, params)

    def wraps(self) -> Wraps:
        """Those of arrays that are read in no other way."""
        found = {}
        for xs, reads in self._read.items():
            extent = array_type(xs).shape[0]
            places = {index: self._place(index, extent) for index in reads}
            plain = [index for index, place in places.items() if place is None]
            known = [place for place in places.values() if place is not None]
            if xs not in self._otherwise and all(map(self._is_known, (*plain, *known))):
                found.update({(xs, k): place for k, place in places.items() if place is not None})
        return found

    def _place(self, index: Atom, extent: Atom) -> Var | None:
        """The place that an index is when it wraps at an extent."""
        op = self._ops.get(index)
        if op is None:
            return None
        found: Atom | None = None
        if op.fn == "mod" and op.args[1] is extent:
            found = op.args[0]
        elif op.fn == "select" and self._is_wrapped(op.args, extent):
            found = op.args[2]
        if not isinstance(found, Var):
            return None
        inner = self._place(found, extent)
        return found if inner is None else inner

    def _is_wrapped(self, args: Sequence[Atom], extent: Atom) -> bool:
        """Whether a place below zero is moved up by an extent, or one that is not below it down."""
        condition, moved, place = args
        test, move = self._ops.get(condition), self._ops.get(moved)
        if test is None or move is None or test.args[0] is not place:
            return False
        if test.fn == "lt" and _is_zero(test.args[1]):
            return move.fn == "add" and move.args in ((place, extent), (extent, place))
        return test.fn == "ge" and test.args[1] is extent and (
            move.fn == "sub" and move.args == (place, extent)
        )  # fmt: skip


def _is_zero(atom: Atom) -> bool:
    return isinstance(atom, Const) and atom.value == 0


def joined_cyclic(
    rows: Interval | None, places: Mapping[Atom, Interval], extent: int
) -> tuple[Interval, dict[Atom, int]]:
    """The rows that cover others, which wrap at an extent, as near to each other as they can be;
    and for each place which row is its zero."""
    turns = {}
    for place, (least, most) in places.items():
        if rows is None:
            turn = -(least // extent)
            rows = least + turn * extent, most + turn * extent
        else:
            turn = round((sum(rows) - least - most) / (2 * extent))
            moved = least + turn * extent, most + turn * extent
            rows = min(rows[0], moved[0]), max(rows[1], moved[1])
        turns[place] = turn
    assert rows is not None
    return rows, {place: rows[0] - turn * extent for place, turn in turns.items()}


def runs(begin: int, end: int, extent: int) -> Iterator[Interval]:
    """Rows that wrap at an extent, as runs of rows, each from its first to behind its last one."""
    while begin < end:
        row = begin % extent
        count = min(extent - row, end - begin)
        yield row, row + count
        begin += count
