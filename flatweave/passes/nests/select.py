"""Select: a sort of which few positions are read is a selection.

    ys = sort f [xs]            a sample of keys, sorted:    k[0] <= .. <= k[s - 1]
    m = index ys [p]     ==>    keys about the rank of p:    low = k[r - d], high = k[r + d]
                                one reading of xs:           how many keys are below low, are low at
                                                             most, and high at most; those between
                                those between, sorted:       the element at p is in them, or has the
                                                             key low or high

    first(n: i64, xs: u32[n]) =>
        ys: u32[n] = sort (x: u32 => x) [xs]
        m: u32 = index ys [0] checked=false
        in m
    ==>
    first(n: i64, xs: u32[n]) =>
        ks: u32[n] = generate [n] (i: i64 =>
            x: u32 = index xs [i] checked=false
            in x)
        m: u32 = reduce (minimum u32) [4294967295u32] [ks] known=true
        in m

This is the selection of Floyd and Rivest (1975), with one bracket for all positions. The sample has
n^(2/3) elements, from everywhere in the array, and a bracket that is 4 standard deviations wide on
either side. Where it does not have the positions, where they are far from each other, and where
elements are few, the array is sorted: what is read is the same.

Leaves alone sorts of elements that their keys do not determine; results that anything else
reads, or that a loop or an element function reads; positions that depend on a sorted element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.array_ir.syntax import TRACED, Program
from flatweave.base.dtypes import f64, i64, u64
from flatweave.base.records import record
from flatweave.ops import HOST_BODIES, ByRow, Filter, Generate, Index, Reduce, Sort
from flatweave.ops.writes import LARGE, LONG, SHORT
from flatweave.passes.nests import segments
from flatweave.passes.nests.hard import may_fail
from flatweave.passes.rewrite import LocalNames, array_pass, tested
from flatweave.terms.build import FALSE, Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.operators import steps_back, undone
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, array_type, constant
from flatweave.terms.traverse import Substitution, free_vars, needed_for, same, with_bodies


@array_pass(takes=(TRACED,), about=lambda op: isinstance(op, Sort))
def select(program: Program) -> Program:
    """Select what is read of sorts, in the host's bodies and in the programs of rows."""
    return Program(program.name, _body(LocalNames(), program.fn, LARGE, ()))


def _body(names: LocalNames, fn: Lambda, least: int, around: Sequence[Let]) -> Lambda:
    """A body of the host, with selections of at least so many elements; `around` are the lets of
    the bodies around it."""
    lets = list[Let]()
    for let in fn.lets:
        has_bodies = isinstance(let.op, HOST_BODIES)
        lets.append(_inside(names, let, least, (*around, *lets)) if has_bodies else let)
    results = fn.results
    for k in reversed(range(len(lets))):
        if reads := Reads.of(lets, k, results):
            b = Builder(names)
            for known in (*around, *lets[:k], *reads.before):
                b.adopt(known)
            lets[k:], results = _with_selection(b, lets[k], reads, least)
    return fn if same(lets, fn.lets) else Lambda(fn.params, tuple(lets), results)


def _inside(names: LocalNames, let: Let, least: int, around: Sequence[Let]) -> Let:
    """A let whose bodies of the host have selections."""
    least = LONG if isinstance(let.op, ByRow) else least
    return with_bodies(let, lambda body: _body(names, body, least, around))


# -- what is read of a sort -----------------------------------------------------------------------


@record
class Reads:
    """The positions that are read of a sort, the lets after it that compute them, and what comes
    after the sort."""

    positions: tuple[Atom, ...]
    before: tuple[Let, ...]
    rest: Lambda

    @staticmethod
    def of(lets: Sequence[Let], k: int, results: Sequence[Atom]) -> Reads | None:
        """The reads of let k of a body, if it is a sort with few, and nothing else depends on its
        result."""
        let, op = lets[k], lets[k].op
        if not isinstance(op, Sort) or op.whole or op.in_registers or steps_back(op.fn) is None:
            return None
        rest = Lambda((), tuple(lets[k + 1 :]), tuple(results))
        (ys,), (extent,) = let.vars, array_type(op.xs[0]).shape
        reads = list(_reads(ys, rest))
        if None in reads or (isinstance(extent, Const) and int(extent.value) < LONG):
            return None
        positions = tuple(dict.fromkeys(read.indices[0] for read in reads if read is not None))
        before = needed_for([*_within(rest)], positions)
        steady = all(_moves(earlier, earlier in rest.lets) for earlier in before)
        if not 0 < len(positions) <= SHORT or not steady:
            return None
        return Reads(positions, before, rest)


def _branches(let: Let) -> tuple[Lambda, ...]:
    return (let.op.then, let.op.other) if isinstance(let.op, If) else ()


def _within(fn: Lambda) -> Iterator[Let]:
    """The lets of a body, and before each branch those in it."""
    for let in fn.lets:
        for body in _branches(let):
            yield from _within(body)
        yield let


def _moves(let: Let, always: bool) -> bool:
    """Whether a let can be done earlier; in a branch only what takes no time."""
    if isinstance(let.op, Apply | Cast):
        return True
    return always and not let.op.effect and not may_fail(let.op) and not isinstance(let.op, If)


def _reads(ys: Var, fn: Lambda) -> Iterator[Index | None]:
    """Each read of an array in a body, and None for whatever else depends on it."""
    if ys in fn.results:
        yield None
    for let in fn.lets:
        if isinstance(let.op, Index) and let.op.xs is ys:
            yield let.op
        elif branches := _branches(let):
            for body in branches:
                yield from _reads(ys, body)
        elif ys in free_vars(let.op):
            yield None


# -- the selection in place of the sort -----------------------------------------------------------


def _with_selection(
    b: Builder, let: Let, reads: Reads, least: int
) -> tuple[list[Let], tuple[Atom, ...]]:
    """The lets from a sort on, with its reads replaced; and the results after them."""
    op = let.op
    assert isinstance(op, Sort)
    b.where = let.where
    values = _Selection(b, op, reads.positions).values(least)
    moved = {var for earlier in reads.before for var in earlier.vars}
    after = _replaced(b, let.vars[0], values, moved, reads.rest, Substitution())
    return [*reads.before, *b.lets, *after.lets], after.results


def _replaced(
    b: Builder, ys: Var, values: dict[Atom, Atom], moved: set[Var], fn: Lambda,
    renaming: Substitution,
) -> Lambda:  # fmt: skip
    """A body without the lets that were moved; a read is the value, after the test of its
    position."""
    after = list[Let]()
    for let in fn.lets:
        if moved.issuperset(let.vars) and let.vars:
            continue
        if isinstance(let.op, Index) and let.op.xs is ys:
            test = b.inner(optional=True)
            test.where = let.where
            if let.op.checked:
                tested(test, let.op.indices, array_type(ys).shape, let.op.row)
            after += test.lets
            renaming.mapping[let.vars[0]] = values[let.op.indices[0]]
            continue
        if _branches(let):
            let = with_bodies(let, lambda fn: _replaced(b, ys, values, moved, fn, renaming))
        after.append(renaming.let(let))
    results = tuple(map(renaming.atom, fn.results))
    return Lambda(fn.params, tuple(after), results)


class _Selection:
    """The elements of one array at some positions of its sort."""

    def __init__(self, b: Builder, op: Sort, positions: Sequence[Atom]) -> None:
        self.b = b
        self.op = op
        (self.xs,) = op.xs
        (self.extent,) = array_type(self.xs).shape
        self.dtype = array_type(self.xs).dtype
        self.steps = steps_back(op.fn) or ()
        ends = index(0), b.sub(self.extent, index(1)), b.add(index(-1), self.extent)
        self.ends = [position for position in positions if position in ends]
        self.positions = [position for position in positions if position not in ends]

    def values(self, least: int) -> dict[Atom, Atom]:
        """The elements at the positions: selected if that suits their number, or of the sort."""
        positions = [*self.positions, *self.ends]
        if not self.positions:
            return dict(zip(positions, self._at_ends(self.b), strict=True))
        b, none = self.b, [constant(0, self.dtype) for _ in range(2 + len(self.ends))]
        wanted = b.apply("and", b.apply("ge", self.extent, index(least)), self._are_near(b))
        whole = [FALSE, *none, index(0), self.extent, self.extent, self.xs]
        found = b.choose(wanted, self._selected, lambda _: whole)
        fits, low, high, *ends, start, stop, _, left = found
        (ordered,) = b.emit(self.op.replace(fn=b.copy(self.op.fn), xs=(left,), whole=True))

        def element(position: Atom) -> Atom:
            place = self._inside(b, position)
            is_low = b.apply("lt", place, start)
            is_high = b.apply("ge", place, stop)
            beyond, end = b.apply("or", is_low, is_high), b.apply("select", is_low, low, high)
            if position in self.ends:
                beyond, end = b.apply("or", fits, is_high), ends[self.ends.index(position)]
            return b.choose(
                beyond, lambda _: [end], lambda c: [segments.at(c, ordered, c.sub(place, start))]
            )[0]

        return {position: element(position) for position in positions}

    def _at_ends(self, b: Builder) -> list[Atom]:
        """The elements at the ends: those of the least key and of the greatest."""
        if not self.ends:
            return []
        keys, found = segments.each(b, self.extent, self._key), list[Atom]()
        dtype = array_type(keys).dtype
        for position in self.ends:
            fn = "minimum" if position == index(0) else "maximum"
            none = dtype.high if fn == "minimum" else dtype.low
            op = Reduce(lambda_of(fn, dtype), (constant(none, dtype),), (keys,), known=True)
            found.append(undone(b, self.steps, b.emit(op)[0]))
        return found

    def _key(self, b: Builder, i: Atom) -> Atom:
        return b.inline(self.op.fn, [segments.at(b, self.xs, i)])[0]

    def _inside(self, b: Builder, position: Atom) -> Atom:
        """A position, moved inside the array: what it is checked for comes where it is read."""
        last = b.sub(self.extent, index(1))
        return b.apply("maximum", b.apply("minimum", position, last), index(0))

    def _ends(self, b: Builder) -> tuple[Atom, Atom]:
        """The first and the last of the positions."""
        first = last = self.positions[0]
        for position in self.positions[1:]:
            first = b.apply("minimum", first, position)
            last = b.apply("maximum", last, position)
        return first, last

    def _are_near(self, b: Builder) -> Atom:
        """Whether less than a quarter of the elements is between the positions."""
        first, last = self._ends(b)
        return b.apply("lt", b.mul(b.sub(last, first), index(4)), self.extent)

    def _selected(self, b: Builder) -> list[Atom]:
        """Whether the bracket has all positions; its two elements, and those at the ends of the
        sort; how many elements are before the ones left to sort, and up to them; these."""
        low, high = self._bracket(b)
        count, kept, below, up_to, most = self._counted(b, low, high)
        first, last = self._ends(b)
        fits = b.apply("and", b.apply("ge", first, below), b.apply("lt", last, most))
        ends = [undone(b, self.steps, key) for key in (low, high)]
        left = b.choose(
            fits, lambda c: [up_to, c.add(up_to, count), count, kept],
            lambda _: [index(0), self.extent, self.extent, self.xs],
        )  # fmt: skip
        return [fits, *ends, *self._at_ends(b), *left]

    def _bracket(self, b: Builder) -> tuple[Atom, Atom]:
        """Two keys of the sample, one below all positions most likely, and one above."""
        log, size = self._size(b)
        keys = self._sample(b, log, size)
        last = b.sub(size, index(1))

        def rank(position: Atom, op: str) -> Atom:
            own = b.apply("floordiv", b.mul(self._inside(b, position), size), self.extent)
            variance = b.apply("shr", b.mul(own, b.sub(size, own)), log)
            root = b.cast(b.apply("sqrt", b.cast(variance, f64)), i64)
            own = b.apply(op, own, b.add(b.mul(root, index(4)), index(8)))
            return b.apply("maximum", b.apply("minimum", own, last), index(0))

        first, final = self._ends(b)
        return segments.at(b, keys, rank(first, "sub")), segments.at(b, keys, rank(final, "add"))

    def _size(self, b: Builder) -> tuple[Atom, Atom]:
        """How many elements the sample has, and its logarithm."""
        bits = b.sub(index(64), b.cast(b.apply("clz", self.extent), i64))
        third = b.apply("floordiv", b.mul(bits, index(2)), index(3))
        log = b.apply("minimum", third, index(16))
        return log, b.apply("shl", index(1), log)

    def _sample(self, b: Builder, log: Atom, size: Atom) -> Atom:
        """The sorted keys of elements from everywhere: of each part of the array one, at a
        fraction of the part that looks random."""

        def key(c: Builder, i: Atom) -> Atom:
            mixed = c.apply("mul", c.cast(i, u64), constant(0x9E3779B97F4A7C15, u64))
            part = c.cast(c.apply("shr", mixed, constant(40, u64)), i64)
            within = c.apply("shr", c.mul(part, self.extent), index(24))
            place = c.apply("shr", c.add(c.mul(i, self.extent), within), log)
            return self._key(c, place)

        keys = segments.each(b, size, key)
        param = b.var("k", array_type(keys).dtype)
        return b.emit(Sort(Lambda((param,), (), (param,)), (keys,), whole=True))[0]

    def _counted(self, b: Builder, low: Atom, high: Atom) -> list[Atom]:
        """How many keys are between two, their elements, and how many are below the lower one, at
        most that, and at most the higher one."""
        inside = b.inner()
        i = inside.param("i", i64, self.extent)
        key = self._key(inside, i)
        above = inside.apply("lt", low, key)
        between = inside.apply("and", above, inside.apply("lt", key, high))
        tests = [
            inside.apply("lt", key, low), inside.apply("not", above),
            inside.apply("le", key, high),
        ]  # fmt: skip
        ones = [inside.cast(test, i64) for test in tests]
        mask, *flags = b.emit(Generate((self.extent,), inside.close([i], [between, *ones])))
        count, kept = b.emit(Filter(mask, (self.xs,)))
        sums = [self._sum(b, flag) for flag in flags]
        return [count, kept, *sums]

    def _sum(self, b: Builder, flags: Atom) -> Atom:
        return b.emit(Reduce(lambda_of("add", i64), (index(0),), (flags,), known=True))[0]
