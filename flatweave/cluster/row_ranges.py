"""Which rows of an array a chunk reads: intervals, from those of the chunk's own rows.

    generate [n] (i => .. index xs [i + 1] ..) on rows 100 to 199      xs: rows 101 to 200

Every scalar of a step's functions is followed as the least and the greatest value that it can
have, with the sizes of the call at hand. What is read from data has none: an index made of it
asks for the whole array.

    t = add i -1;  c = lt t 0;  w = add t n;  r = select c w t;  x = index xs [r]        xs: [n]

A *cyclic* read goes on at the other end of an array, as in rotations and periodic boundaries. The
rows of a chunk's own positions are neighbours, those that they read are not: of the first chunk
they are the array's first and last ones. So a chunk is given the rows from the least to the
greatest `t`, those below zero and beyond the end taken from the other end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from flatweave.access.analyse import Accesses, unwrapped
from flatweave.base.dtypes import bool_, i64, u64
from flatweave.base.errors import Unsupported
from flatweave.cluster.steps import Local
from flatweave.ops import Generate, Index, Locate, Map
from flatweave.ops.nests import Nest, Span
from flatweave.terms.bounds import RULES, Bounds
from flatweave.terms.control import Apply, Cast, For, If
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, array_type
from flatweave.terms.traverse import atoms_in, lambdas_in, walk_lets

Interval = tuple[int, int]
"""The least and the greatest value."""
Known = Callable[[Var], Interval | None]
Elements = Callable[[Var, int, int], Interval | None]
EVERYTHING = None
"""The interval of which nothing is known: for an index, all rows."""
SOME = (0, 1 << 20)
"""The interval of a number of which only that is known that it will have one."""
Cyclic = Mapping[tuple[Var, Atom], Var]
"""For an array and an index the position, less than zero or beyond the end where it goes round."""


class Needs:
    """Follows intervals through the functions of a step; `rows` has what each array must have.

    `known` says what is known of a scalar from outside; `arrays` are those whose reads count;
    `cyclic` has the positions of cyclic reads; `places` is the bound for these. `indices` are
    the arrays used as indices; `otherwise` are arrays that are read by other ops.
    `located` gives the rows to which positions of the chunk belong, `entry` an offset of rows.
    """

    def __init__(
        self, known: Known, arrays: Iterable[Var],
        located: Callable[[Var, int], Interval], entry: Callable[[Var, int], int],
        cyclic: Cyclic,
    ) -> None:  # fmt: skip
        self._cyclic = cyclic
        self.indices: dict[Var, dict[Atom, None]] = {}
        self.otherwise: set[Var] = set()
        self.places: dict[Var, dict[Atom, Interval]] = {}
        self._located = located
        self._entry = entry
        self._spans: dict[Var, tuple[Var, Interval]] = {}  # by start: length, indices of elements
        self._below: dict[Var, Atom] = {}
        self._own: Var | None = None
        self._asked: set[Atom] = set()
        self._computed: dict[Var, Interval | None] = {}  # elements of what the step itself computes
        self._elements: Elements | None = None
        self.rows: dict[Var, Interval | None] = {}
        self._known = known
        self._arrays = frozenset(arrays)
        self._found: dict[Var, Interval | None] = {}

    def ask(self, lets: Sequence[Let], arrays: Collection[Var], elements: Elements) -> None:
        """Bound the indices of reads of these arrays by their source elements: `elements` gives the
        least and the greatest of some elements of an array of indices."""
        self._elements = elements
        for outer in reversed(lets):
            for fn in lambdas_in(outer.op):
                if any(var in self._asked for var in outer.vars):
                    self._asked.update(fn.results)
                for let in reversed(list(walk_lets(fn))):
                    self._ask_for(let, arrays)

    def _ask_for(self, let: Let, arrays: Collection[Var]) -> None:
        op = let.op
        is_asked = any(var in self._asked for var in let.vars)
        if isinstance(op, Index) and (op.xs in arrays or is_asked):
            self._asked.update((op.xs, op.indices[0]))
        elif isinstance(op, Apply | Cast) and is_asked:
            self._asked.update(atoms_in(op))

    def step(self, lets: Sequence[Let], first: Interval) -> None:
        """All lets of a step, the rows of whose chunk are `first`."""
        for let in lets:
            match let.op:
                case Generate(shape=shape, fn=fn):
                    others = [self._under(extent) for extent in shape[1:]]
                    self._own = fn.params[0]
                    results = self._function(fn, [first, *others])
                    self._computed.update(zip(let.vars, results, strict=True))
                case Nest(fn=fn):
                    self._own = fn.params[0]
                    self._function(fn, [first])
                case Map(fn=fn, xs=xs):
                    results = self._function(fn, [self._computed.get(x) for x in xs])  # type: ignore[arg-type]
                    self._computed.update(zip(let.vars, results, strict=True))
                case op:
                    for fn in lambdas_in(op):
                        self._function(fn, [EVERYTHING] * len(fn.params))

    def interval(self, atom: Atom) -> Interval | None:
        """What is known of an atom; of an array, of its elements."""
        if isinstance(atom, Const):
            return (atom.value, atom.value) if type(atom.value) in (int, bool) else None  # type: ignore[return-value]
        return self._found[atom] if atom in self._found else self._known(atom)

    def _under(self, extent: Atom) -> Interval | None:
        """An index below an extent."""
        found = self.interval(extent)
        return (0, max(found[1] - 1, 0)) if found else None

    def _function(self, fn: Lambda, params: Sequence[Interval | None]) -> Sequence[Interval | None]:
        self._found.update(zip(fn.params, params, strict=True))
        for let in fn.lets:
            self._let(let)
        return [self.interval(atom) for atom in fn.results]

    def _let(self, let: Let) -> None:
        op = let.op
        found: Sequence[Interval | None] = [EVERYTHING] * len(let.vars)
        match op:
            case Apply(fn=fn, args=args) if all(arg.type in (i64, bool_) for arg in args):
                is_bits = fn in ("and", "or", "not") and args[0].type is i64
                inside = [self.interval(arg) for arg in args]
                found = [EVERYTHING if is_bits else applied(fn, inside)]
                if fn == "add" and (place := self._place(*args)) is not None:
                    found = [place]
            case Cast(dtype=dtype, arg=arg):
                value = self.interval(arg) if dtype in (i64, u64) else EVERYTHING
                found = [value if value and value[0] >= 0 else EVERYTHING]
            case Index(xs=Var() as xs, indices=(first, *_)) if (xs, first) in self._cyclic:
                self._go_round(xs, self._cyclic[xs, first])
            case Index(xs=Var() as xs, indices=(first, *_)) if xs not in self._found:
                rows = self.interval(first)
                self._read(xs, rows, first)
                if let.vars[0] in self._asked and rows and let.vars[0].type is i64:
                    assert self._elements is not None
                    known = self._computed.get(xs)
                    found = [known or self._elements(xs, *rows)]
            case Locate(ends=Var() as ends, skip=skip) if ends in self._arrays:
                rows = self._located(ends, skip) if op.position is self._own else EVERYTHING
                self._read(ends, (rows[0] + skip, rows[1] + skip) if rows else EVERYTHING)
                found = [rows, EVERYTHING]
            case Span(offsets=Var() as offsets, row=row):
                found = self._span(let.vars, offsets, self.interval(row))
            case If(condition=condition, then=then, other=other):
                found = self._branches(self.interval(condition), then, other)
            case For(lo=lo, hi=hi, body=body):
                low, high = self.interval(lo), self.interval(hi)
                turns = (low[0], max(high[1] - 1, low[0])) if low and high else None
                self._function(body, [turns, *[EVERYTHING] * (len(body.params) - 1)])
            case Generate(shape=shape, fn=fn):
                self._below.update(zip(fn.params, shape, strict=True))
                found = self._function(fn, [self._under(extent) for extent in shape])
            case Map(fn=fn, xs=xs) if all(x in self._found for x in xs):
                found = self._function(fn, [self.interval(x) for x in xs])
            case Index(xs=Var() as xs):
                found = [self.interval(xs)]
            case _:
                for atom in atoms_in(op):
                    if atom in self._arrays:
                        self._read(atom, EVERYTHING)
                for fn in lambdas_in(op):
                    self._function(fn, [EVERYTHING] * len(fn.params))
        self._found.update(zip(let.vars, found, strict=True))

    def _span(
        self, found: Sequence[Var], offsets: Var, rows: Interval | None
    ) -> Sequence[Interval | None]:
        """Where rows begin, and how long they are."""
        if offsets in self._found:  # those of a row at hand
            return EVERYTHING, EVERYTHING
        self._read(offsets, (rows[0], rows[1] + 1) if rows else EVERYTHING)
        if rows is None:
            return EVERYTHING, EVERYTHING
        begin, last, end = (self._entry(offsets, k) for k in (rows[0], rows[1], rows[1] + 1))
        self._spans[found[0]] = found[1], (begin, end - 1)
        return (begin, last), (0, end - begin)

    def _place(self, a: Atom, b: Atom) -> Interval | None:
        """The indices of elements of rows: a row's start plus an index below its length."""
        for start, k in ((a, b), (b, a)):
            length, places = self._spans.get(start, (None, None))  # type: ignore[arg-type]
            if length is not None and self._below.get(k) is length:  # type: ignore[arg-type]
                return places
        return None

    def _branches(
        self, condition: Interval | None, then: Lambda, other: Lambda
    ) -> Sequence[Interval | None]:
        if condition == (1, 1):
            return self._function(then, [])
        if condition == (0, 0):
            return self._function(other, [])
        pairs = zip(self._function(then, []), self._function(other, []), strict=True)
        return [joined(a, b) for a, b in pairs]

    def _go_round(self, xs: Var, place: Atom) -> None:
        found, known = self.interval(place), self.places.setdefault(xs, {})
        if found is None:
            raise Unsupported(
                "an array in chunks is read at an index that does not fit into 64 bits.",
                remedy="Take the index modulo the length before adding to it.",
            )
        known[place] = joined(known.get(place, found), found) or found

    def _read(self, xs: Atom, rows: Interval | None, by: Atom | None = None) -> None:
        assert isinstance(xs, Var)
        if xs in self._arrays:
            self.rows[xs] = joined(self.rows.get(xs, rows), rows)
            if by is None:
                self.otherwise.add(xs)
            else:
                self.indices.setdefault(xs, {}).setdefault(by)


def cyclic_reads(lets: Sequence[Let], arrays: Collection[Var]) -> Cyclic:
    """The cyclic reads of a step, of arrays all of whose reads have positions with intervals."""
    needs = Needs(lambda _: SOME, arrays, lambda *_: SOME, lambda _, k: k, {})
    needs.step(lets, SOME)
    known, found = Accesses((), lets), dict[tuple[Var, Atom], Var]()
    for xs, indices in needs.indices.items():
        extent = array_type(xs).shape[0]
        places = {index: unwrapped(known, index, extent) for index in indices}
        if xs not in needs.otherwise and all(map(needs.interval, places.values())):
            found.update({(xs, index): place for index, place in places.items()
                          if isinstance(place, Var) and place is not index})  # fmt: skip
    return found


def joined(a: Interval | None, b: Interval | None) -> Interval | None:
    """What covers both."""
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else EVERYTHING


def applied(fn: str, args: Sequence[Interval | None]) -> Interval | None:
    """The interval of a scalar function's result."""
    if fn == "select":
        return _selected(*args)
    if any(arg is None for arg in args):
        return EVERYTHING
    ends = [Bounds(*arg) for arg in args if arg is not None]
    if fn in CONDITIONS:
        return CONDITIONS[fn](*ends)
    found = RULES[fn](ends) if fn in RULES else None
    return found if found and found.fit(i64) else EVERYTHING


def _selected(
    condition: Interval | None, then: Interval | None, other: Interval | None
) -> Interval | None:
    if condition == (1, 1):
        return then
    return other if condition == (0, 0) else joined(then, other)


def _certain(holds: bool, fails: bool) -> Interval:
    """A condition: it holds for all, for none, or for some."""
    return (1, 1) if holds else (0, 0) if fails else (0, 1)


CONDITIONS: dict[str, Callable[..., Interval]] = {
    "lt": lambda a, b: _certain(a[1] < b[0], a[0] >= b[1]),
    "le": lambda a, b: _certain(a[1] <= b[0], a[0] > b[1]),
    "gt": lambda a, b: _certain(a[0] > b[1], a[1] <= b[0]),
    "ge": lambda a, b: _certain(a[0] >= b[1], a[1] < b[0]),
    "eq": lambda a, b: _certain(a[0] == a[1] == b[0] == b[1], a[1] < b[0] or b[1] < a[0]),
    "ne": lambda a, b: _certain(a[1] < b[0] or b[1] < a[0], a[0] == a[1] == b[0] == b[1]),
    "and": lambda a, b: _certain(a == b == (1, 1), (0, 0) in (a, b)),
    "or": lambda a, b: _certain((1, 1) in (a, b), a == b == (0, 0)),
    "not": lambda a: (1 - a[1], 1 - a[0]),
}


def reads_own_row(op: Index, row: Atom | None, space: Atom) -> bool:
    """Whether an element is read of the row at hand, whose number is `row`."""
    return op.indices[0] is row and array_type(op.xs).shape[0] == space


def located_by(step: Local) -> tuple[Var, int] | None:
    """The row ends in which a step looks up the positions of its space, and the number of
    entries before the first end."""
    for fn in _by_row(step):
        for op in (let.op for let in fn.lets):
            if isinstance(op, Locate) and op.position is fn.params[0] and isinstance(op.ends, Var):
                return op.ends, op.skip
    return None


def spanned_by(step: Local) -> Var | None:
    """The offsets that cut the rows of a step's own space."""
    for fn in _by_row(step):
        for op in (let.op for let in fn.lets):
            if isinstance(op, Span) and op.row is fn.params[0] and isinstance(op.offsets, Var):
                return op.offsets
    return None


def cutting(fn: Lambda) -> frozenset[Var]:
    """The arrays by which a program's rows of varying lengths are cut."""
    found = set()
    for op in (let.op for let in walk_lets(fn)):
        cut = op.offsets if isinstance(op, Span) else op.ends if isinstance(op, Locate) else None
        if isinstance(cut, Var):
            found.add(cut)
    return frozenset(found)


def _by_row(step: Local) -> list[Lambda]:
    """The functions of a step whose first parameter is the number of a row."""
    ops = [let.op for let in (*step.lets, *step.folds)]
    return [op.fn for op in ops if isinstance(op, Generate | Nest)]
