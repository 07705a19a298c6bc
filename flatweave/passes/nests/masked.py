"""Filters in a row whose kept elements are only combined: all elements are, under the flag.

    i => n, k = filter m [x]                  i => y = map f [x]
         y = map f [k]                 ==>         z = map ((p, v) => select p v ne) [m, y]
         s = reduce fn ne [y]                      s = reduce fn ne [z]
         in s                                      in s

This is the law of `mask.py` inside a row, where it saves more than an array: without the filter the
row may need no memory at all. It holds for consumers that read the kept elements in place: maps of
them, and what takes these maps' results: a reduction, a scatter, a histogram. How many are kept is
the number of flags that hold. Reads, checks and branches go into a branch. The first and the last
kept element are read where the first and the last flag hold:

    n, k = filter m [x]                       q = reduce minimum most [map select m [iota] most]
    a = index k [0]                    ==>    check 0 < n
                                              a = index x [q]

Leaves alone filters of which anything else is read, and maps that do more with an element than
storing it costs: that is better done for kept elements only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flatweave.array_ir.syntax import INDEX
from flatweave.base.dtypes import DType, bool_, i64
from flatweave.ops import Check, Filter, Generate, Index, Map, Permute, Reduce, Scatter
from flatweave.passes.cost import STORING, cost_of_body
from flatweave.passes.monoid import monoid
from flatweave.passes.nests import segments
from flatweave.terms.build import Builder, Names, index, lambda_of
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var, array_type, constant
from flatweave.terms.traverse import (
    Substitution,
    atoms_in,
    free_vars,
    lambdas_in,
    walk_lets,
    with_bodies,
    with_lets,
)

NONE = {"minimum": index((1 << 63) - 1), "maximum": index(-(1 << 63))}
"""The extremes of no positions."""


def masked(fn: Lambda) -> Lambda:
    """A body of the host, with such filters gone from the element functions in it."""
    if not any(isinstance(let.op, Filter) for let in walk_lets(fn)):
        return fn
    return with_lets(fn, [
        with_bodies(let, masked if isinstance(let.op, If | While | For) else _in_row)
        for let in fn.lets
    ])  # fmt: skip


def _in_row(fn: Lambda) -> Lambda:
    """An element function, or a body in one; the last filter goes first."""
    lets, results = [with_bodies(let, _in_row) for let in fn.lets], [*fn.results]
    for k in reversed(range(len(lets))):
        if isinstance(lets[k].op, Filter):
            kept = _Kept(lets[k], lets[k + 1 :], results)
            if kept.move:
                lets[k:] = kept.moved()
                results = [kept.renaming.atom(result) for result in results]
    return Lambda(fn.params, tuple(lets), tuple(results))


class _Kept:
    """The elements that a filter keeps, and the lets after it, some of which read them."""

    def __init__(self, let: Let, behind: Sequence[Let], results: Sequence[Atom]) -> None:
        assert isinstance(let.op, Filter)
        self.filter = let.op
        self.where = let.where
        self.count, *arrays = let.vars
        self.arrays: set[Atom] = {*arrays}  # of kept elements, and of what maps make of them
        self.asked: dict[str, None] = {}  # the extremes of their positions that are read at
        self.behind = behind
        self.lasts = {own.vars[0] for own in walk_lets(Lambda((), tuple(behind), ()))
                      if _is_one_less(own.op, self.count)}  # fmt: skip
        self.move = all(map(self._fits, behind)) and not self.arrays & {*results}
        self.renaming = Substitution(dict(zip(arrays, let.op.xs, strict=True)))
        self.ends: dict[str, Atom] = {}

    # -- whether all readers of kept elements can move --------------------------------------------

    def _fits(self, let: Let) -> bool:
        """Whether a let reads no kept elements, or goes as well over all elements."""
        op = let.op
        if self._is_made(op):
            self.arrays.update(let.vars)
            return True
        if self._reads_ends(op):
            return True
        match op:
            case Reduce(fn=fn, neutral=neutral, xs=xs):
                fits = all(isinstance(atom.type, DType) for atom in neutral)
                return fits and self.arrays >= {*xs} and not self._reads(fn)
            case Scatter(dest=dest, indices=indices, xs=xs):
                return self.arrays >= {indices, *xs} and not self.arrays & {*dest}
            case Permute(fn=fn, dest=dest, indices=indices, xs=xs):
                fits = self.arrays >= {indices, *xs} and not self.arrays & {*dest}
                return fits and not self._reads(fn)
        return False

    def _is_made(self, op: Op) -> bool:
        """Whether an array is made element by element of kept elements in place."""
        match op:
            case Map(fn=fn, xs=xs, depth=1, barrier=False):
                made = self.arrays >= {*xs} and not self._reads(fn)
            case Generate(shape=(extent,), fn=fn):
                made = extent is self.count and self._in_place(fn, fn.params[0])
            case _:
                return False
        return made and _is_light(fn)

    def _reads(self, fn: Lambda) -> bool:
        return bool(self.arrays & {*free_vars(fn)})

    def _reads_ends(self, op: Op) -> bool:
        """Whether an operation reads only the first and the last kept element."""
        if isinstance(op, Index) and op.xs in self.arrays:
            name = self._extreme(op)
            self.asked.update({name: None} if name else {})
            return name is not None
        if self.arrays & {*atoms_in(op)}:
            return False
        return all(
            not self.arrays & {*fn.results} and all(self._reads_ends(let.op) for let in fn.lets)
            for fn in lambdas_in(op)
        )

    def _extreme(self, op: Index) -> str | None:
        """The extreme of the positions of kept elements that a read of these stands for."""
        (place,) = op.indices
        if place == index(0):
            return "minimum"
        return "maximum" if place in self.lasts else None

    def _in_place(self, fn: Lambda, place: Var) -> bool:
        """Whether a function uses its index to read kept elements there, and reads no others."""
        if self.arrays & {*fn.results} or place in fn.results:
            return False
        for let in fn.lets:
            if isinstance(let.op, Index) and let.op.xs in self.arrays:
                if let.op.indices != (place,):
                    return False
            elif {place, *self.arrays} & {*atoms_in(let.op)}:
                return False
            if not all(self._in_place(inner, place) for inner in lambdas_in(let.op)):
                return False
        return True

    # -- the body without the filter --------------------------------------------------------------

    def moved(self) -> list[Let]:
        """The lets after the filter, over all elements."""
        b = self.b = Builder(Names())
        b.where = self.where
        ones = self._map(_as_number(), (self.filter.mask,))
        count = Reduce(lambda_of("add", i64), (index(0),), ones)
        b.lets.append(Let((self.count,), count, self.where))
        for let in self.behind:
            b.where = let.where
            if not self.arrays & {*let.vars} and self._reads_ends(let.op):
                b.lets.extend(map(self.renaming.let, self._at_ends(let)))
            else:
                atoms = self._over_all(let)
                self.renaming.mapping.update(zip(let.vars, atoms, strict=True))
        return b.lets

    def _over_all(self, let: Let) -> Iterable[Atom]:
        """The values that replace a let's results."""
        op = self.renaming.op(let.op)
        match op:
            case Map(fn=fn, xs=xs):
                if _is_plain(fn):
                    return self.b.emit(op)
                return self._map(self._in_branch(fn), (self.filter.mask, *xs))
            case Generate(fn=fn):
                return self._generate(fn)
            case Reduce():
                return self._reduced(op)
            case Scatter(indices=indices) | Permute(indices=indices):
                (places,) = self._select((indices,), (index(-1),))
                return self.b.emit(op.replace(indices=places))
        raise AssertionError(let)

    def _at_ends(self, let: Let) -> list[Let]:
        """A let whose reads of the first and the last kept element are where their flags are."""
        op = let.op
        if self.asked and op == Apply("gt", (self.count, index(0))):
            return [Let(let.vars, self._is_some(), let.where)]
        if not isinstance(op, Index) or op.xs not in self.arrays:
            return [with_bodies(let, self._body_at_ends)]
        name = self._extreme(op)
        assert name is not None
        read = Let(let.vars, Index(op.xs, (self._end(name),), checked=False), let.where)
        if not op.checked:
            return [read]
        some = Var("t", bool_)
        # it fails where none is kept
        values = (index(0) if name == "minimum" else index(-1), index(0))
        check = Check(some, INDEX, values, "0", op.row)
        return [Let((some,), self._is_some(), let.where), Let((), check, let.where), read]

    def _is_some(self) -> Apply:
        """Whether any element is kept: an extreme of the positions is not that of none."""
        name = next(iter(self.asked))
        return Apply("ne", (self._end(name), NONE[name]))

    def _body_at_ends(self, fn: Lambda) -> Lambda:
        return with_lets(fn, [made for let in fn.lets for made in self._at_ends(let)])

    def _end(self, name: str) -> Atom:
        """The least or the greatest position at which the flag holds."""
        if name not in self.ends:
            (extent,) = array_type(self.filter.mask).shape
            neutral = NONE[name]
            places = segments.each(self.b, extent, lambda c, j: c.apply(
                "select", segments.at(c, self.filter.mask, j), j, neutral))  # fmt: skip
            fold = Reduce(lambda_of(name, i64), (neutral,), (places,), known=True)
            (self.ends[name],) = self.b.emit(fold)
        return self.ends[name]

    def _map(self, fn: Lambda, xs: Sequence[Atom]) -> tuple[Var, ...]:
        return self.b.emit(Map(fn, tuple(xs), 1))

    def _in_branch(self, fn: Lambda) -> Lambda:
        """A function of the flag and elements that does nothing where the flag does not hold."""
        flag = Var("p", bool_)
        return Lambda((flag, *fn.params), *_if(flag, fn))

    def _generate(self, fn: Lambda) -> tuple[Var, ...]:
        """An array of the elements at an index; nothing is done where the flag does not hold."""
        shape = array_type(self.filter.mask).shape
        if not _is_plain(fn, fn.params[0]):
            inside = self.b.inner()
            (flag,) = inside.emit(Index(self.filter.mask, fn.params, checked=False))
            lets, results = _if(flag, fn)
            fn = Lambda(fn.params, (*inside.lets, *lets), results)
        return self.b.emit(Generate(shape, fn))

    def _select(self, xs: Sequence[Atom], others: Sequence[Atom]) -> tuple[Var, ...]:
        """Elements where the flag holds, other values where it does not."""

        def body(inside: Builder, flag: Var, *elements: Var) -> list[Atom]:
            pairs = zip(elements, others, strict=True)
            return [inside.apply("select", flag, x, other) for x, other in pairs]

        types = [bool_, *(array_type(x).dtype for x in xs)]
        return self._map(self.b.function(types, body), (self.filter.mask, *xs))

    def _reduced(self, op: Reduce) -> Iterable[Atom]:
        made = monoid(self.b, op.fn, op.neutral, known=op.known)
        if not made.optional:
            return self.b.emit(op.replace(xs=self._select(op.xs, made.neutral)))
        pairs = Reduce(made.fn, made.neutral, (self.filter.mask, *op.xs), known=True)
        return made.leave(self.b, self.b.emit(pairs))


def _is_one_less(op: Op, count: Atom) -> bool:
    """Whether an operation takes 1 from a count."""
    return isinstance(op, Apply) and (
        (op.fn == "add" and {*op.args} == {index(-1), count})
        or (op.fn == "sub" and op.args == (count, index(1)))
    )


def _as_number() -> Lambda:
    """A flag as a number."""
    flag, number = Var("p", bool_), Var("t", i64)
    return Lambda((flag,), (Let((number,), Cast(i64, flag)),), (number,))


def _if(flag: Atom, fn: Lambda) -> tuple[tuple[Let, ...], tuple[Atom, ...]]:
    """The results of a body where a flag holds, zeros where it does not."""
    zeros = tuple(constant(0, type_) for type_ in fn.result_types() if isinstance(type_, DType))
    vars_ = tuple(Var("t", zero.type) for zero in zeros)
    op = If(flag, Lambda((), fn.lets, fn.results), Lambda((), (), zeros))
    return (Let(vars_, op),), vars_


def _is_light(fn: Lambda) -> bool:
    """Whether a function makes scalars, and does no more than storing them costs."""
    easy = all(isinstance(let.op, Apply | Cast | Index | Check | If) for let in walk_lets(fn))
    scalars = all(isinstance(type_, DType) for type_ in fn.result_types())
    return easy and scalars and cost_of_body(fn) <= STORING


def _is_plain(fn: Lambda, *place: Var) -> bool:
    """Whether a function is only scalar work and reads at its own index."""
    return all(
        isinstance(let.op, Apply | Cast) or (isinstance(let.op, Index) and let.op.indices == place)
        for let in fn.lets
    )
