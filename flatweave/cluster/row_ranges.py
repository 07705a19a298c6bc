"""Which rows a chunk reads, as intervals; arrays of row numbers that chunks compute themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.base.errors import Unsupported
from flatweave.cluster.steps import Local, Rule
from flatweave.ops import Generate, Index, Locate, Map
from flatweave.ops.nests import Nest, Span
from flatweave.ops.rows import array_type
from flatweave.passes.cost import cost_of_body
from flatweave.terms.bounds import RULES, Bounds
from flatweave.terms.control import Apply, Cast, For, If
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

# Which rows of an array a chunk reads: intervals, from those of the chunk's own rows.
#
#     generate [n] (i => .. index xs [i + 1] ..) on rows 100 to 199      xs: rows 101 to 200
#
# Every scalar of a step's functions is followed as the least and the greatest value that it can
# have, with the sizes of the call at hand. What is read from data has none: an index made of it
# asks for the whole array.


Interval = tuple[int, int]
"""The least and the greatest value."""
Known = Callable[[Var], Interval | None]
Elements = Callable[[Var, int, int], Interval | None]
EVERYTHING = None
"""The interval of which nothing is known: for an index, all rows."""


class Needs:
    """Follows intervals through the functions of a step; `rows` has what each array must have.

    `known` says what is known of a scalar from outside; `arrays` are those whose reads count;
    `wraps` has the places of reads that go on at the other end; `places` is what these must have.
    `located` gives the rows to which positions of the chunk belong, `entry` an offset of rows.
    """

    def __init__(
        self, known: Known, arrays: Iterable[Var],
        located: Callable[[Var, int], Interval], entry: Callable[[Var, int], int],
        wraps: Mapping[tuple[Var, Atom], Atom],
    ) -> None:  # fmt: skip
        self._wraps = wraps
        self.places: dict[Var, dict[Atom, Interval]] = {}
        self._located = located
        self._entry = entry
        self._spans: dict[Var, tuple[Var, Interval]] = {}  # by start: length, places of elements
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
        """Bound the places at which these are read by what they are read from: `elements` gives the
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
            case Index(xs=Var() as xs, indices=(first, *_)) if (xs, first) in self._wraps:
                self._wrap(xs, self._wraps[xs, first])
            case Index(xs=Var() as xs, indices=(first, *_)) if xs not in self._found:
                rows = self.interval(first)
                self._read(xs, rows)
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
        """The places of elements of rows: where one begins, and an index below its length."""
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

    def _wrap(self, xs: Var, place: Atom) -> None:
        found, known = self.interval(place), self.places.setdefault(xs, {})
        if found is None:
            raise Unsupported(
                "an array in chunks is read at a place that does not fit into 64 bits.",
                remedy="Take the place modulo the length before adding to it.",
            )
        known[place] = joined(known.get(place, found), found) or found

    def _read(self, xs: Atom, rows: Interval | None) -> None:
        assert isinstance(xs, Var)
        if xs in self._arrays:
            self.rows[xs] = joined(self.rows.get(xs, rows), rows)


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
    """The ends of rows in which a step locates the positions of its own space, and how many of
    these are no ends."""
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


# Arrays of numbers of rows, such as `iota`, that chunks make for themselves.
#
#     n = sub m 4;  is = generate [n] (i => i);  ys = map (i => .. index xs [i + 4] ..) is
#
# That n is an extent of chunks is known behind `is`, because of what `ys` reads; so a program is
# gone through once more, with `is` in chunks, which otherwise would be an array of the client.


CHEAP = 8
"""Up to this cost (`passes/cost.py`) an element is computed again; storing it, and reading it once
more, takes about as long as so many additions."""


class Placed(Protocol):
    """A program whose lets have their places."""

    @property
    def lets(self) -> Sequence[Let]:
        """All of them."""

    @property
    def split(self) -> Collection[Var]:
        """The arrays in chunks."""

    @property
    def spaces(self) -> Collection[Atom]:
        """The extents along which arrays are in chunks."""

    def space_of(self, let: Let) -> Atom | None:
        """The extent that a let goes over, row by row."""

    def rule(self, let: Let) -> Rule | None:
        """What chunks do of a let."""


def numbers_of_rows(placed: Placed, results: Collection[Atom]) -> frozenset[Var]:
    """The arrays of cheap numbers that were taken for whole, of an extent of chunks, which nothing
    reads but row by row."""
    found = frozenset[Var]()
    for let in placed.lets:
        op = let.op
        if isinstance(op, Generate) and op.shape[0] in placed.spaces and is_cheap(let):
            is_whole = not any(v in placed.split for v in (*let.vars, *free_vars(op)))
            if is_whole and len(op.shape) == 1 and isinstance(op.shape[0], Var):
                unread = (v for v in let.vars if v not in results)
                found |= {v for v in unread if _is_read_by_row(placed, v, op.shape[0])}
    return found


def _is_read_by_row(placed: Placed, var: Var, space: Atom) -> bool:
    """Whether only chunks of a space read an array, each its own rows."""
    for let in placed.lets:
        op = let.op
        if var not in free_vars(op):
            continue
        rule = placed.rule(let)
        row = op.fn.params[0] if isinstance(op, Generate) else None
        fed = op.xs if isinstance(op, Map) else rule.fed(op) if rule else ()
        inner = [v for fn in lambdas_in(op) for v in read_elsewhere(fn, row, space)]
        beside = [atom for atom in atoms_in(op) if atom not in fed]
        if placed.space_of(let) != space or var in inner or var in beside:
            return False
    return True


def read_elsewhere(fn: Lambda, row: Atom | None, space: Atom) -> Iterator[Var]:
    """The arrays that a function reads but at its own row; `row` is that one's number."""
    for let in fn.lets:
        op = let.op
        own = op.xs if isinstance(op, Index) and reads_own_row(op, row, space) else None
        yield from (x for x in atoms_in(op) if isinstance(x, Var) and x is not own)
        for inner in lambdas_in(op):
            yield from read_elsewhere(inner, row, space)


def is_cheap(let: Let) -> bool:
    """Whether computing a row's elements again takes less than keeping them."""
    fns = lambdas_in(let.op)
    plain = all(isinstance(each.op, Apply | Cast | Index) for fn in fns for each in walk_lets(fn))
    return isinstance(let.op, Map | Generate) and plain and sum(map(cost_of_body, fns)) <= CHEAP
