"""The program of a step on one chunk: the step's lets on the chunk's rows.

    chunks of n: ys = generate [n] (i => index xs [i + 1])      rows 100 to 199 of them:

    local(begin, count, least, m, xs: f32[m]) =>                xs: rows 101 to 200
        ys = generate [count] (k => index xs [k + begin + 1 - least])

Whole values stay the same, extents that are read as numbers included. Of an array in chunks a
program takes the chunk's own rows, or those between the least and the greatest that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from flatweave.array_ir.syntax import INDEX, Program
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.cluster.row_ranges import Cyclic, cyclic_reads, reads_own_row
from flatweave.cluster.rules import rule_of
from flatweave.cluster.steps import Joining, Local
from flatweave.ops import Check, Generate, Index, Locate
from flatweave.ops.nests import Span
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Type, Var, array_type
from flatweave.terms.traverse import Substitution, atoms_in, map_field, walk_lets

ZERO = index(0)


class ParamKind(Enum):
    """What a parameter of a local program is."""

    WHOLE = "whole"  # a value of the client
    BEGIN = "begin"  # the chunk's first row
    COUNT = "count"  # how many rows it has
    ROWS = "rows"  # its own rows of an array
    LEAST = "least"  # the first row of an array that it reads
    EXTENT = "extent"  # how many of those there are
    WINDOW = "window"  # these rows
    BASE = "base"  # of ends of rows: where the first of them begins
    ENTRIES = "entries"  # how many offsets the chunk's rows have, one more than rows
    OFFSETS = "offsets"  # of offsets of rows: those of the chunk's own ones
    FIRST = "first"  # .. where the first of these begins
    TOTAL = "total"  # .. how many elements these have
    ALONG = "along"  # the elements of these rows, of an array whose rows the offsets `along` cut
    GIVEN = "given"  # what a let goes on with


@record(eq=True)
class Param:
    """A parameter: what it is, of which variable of the program, and which one of those given."""

    kind: ParamKind
    of: Var | None = None
    along: Var | None = None
    number: int = 0


@record
class LocalProgram:
    """A step's program; its results are what is stored, then the parts of each fold, which `joins`
    says how to join. `windows` are the arrays of which it reads other rows than its own, `cyclic`
    those of their reads that go on at the other end."""

    program: Program
    params: tuple[Param, ...]
    parts: tuple[int, ...]
    joins: tuple[Joining | None, ...]
    windows: tuple[Var, ...]
    cyclic: Cyclic = MappingProxyType({})


def local_program(name: str, step: Local, split: frozenset[Var]) -> LocalProgram:
    """What runs on each chunk of a step."""
    return _Writing(step, split).program(name)


class Spanned(NamedTuple):
    """A row of the chunk: the offsets that cut it, where it begins among the chunk's elements, and
    its length, as the program has it."""

    offsets: Var
    start: Atom
    length: Var


class _Taking:
    """What a local program takes: its parameters, made as they are asked for."""

    def __init__(self) -> None:
        self.b = Builder()
        self.b.hoists = False
        self.params: dict[Param, Var] = {}
        self.renamed = Substitution(fresh=lambda var, type_: self.b.var(var.name, type_))
        self.begin = self._param(Param(ParamKind.BEGIN), "begin")
        self.count = self._param(Param(ParamKind.COUNT), "count")
        self.ends: dict[Var, Var] = {}
        self.offsets: dict[Var, Var] = {}

    def _param(self, key: Param, hint: str, type_: Type = i64) -> Var:
        if key not in self.params:
            self.params[key] = self.b.param(hint, type_)
        return self.params[key]

    def _elsewhere(self, atom: Atom) -> Atom:
        """An atom inside of functions: arrays in chunks are taken whole."""
        if not isinstance(atom, Var) or atom in self.renamed.mapping:
            return self.renamed.atom(atom)
        if not isinstance(atom.type, ArrayType):
            return self._param(Param(ParamKind.WHOLE, atom), atom.name, atom.type)
        shape = tuple(map(self._elsewhere, atom.type.shape))
        type_ = ArrayType(atom.type.dtype, shape)
        return self._param(Param(ParamKind.WHOLE, atom), atom.name, type_)

    def _rows(self, var: Var) -> Var:
        shape = (self.count, *map(self._elsewhere, array_type(var).shape[1:]))
        type_ = ArrayType(array_type(var).dtype, shape)
        return self._param(Param(ParamKind.ROWS, var), var.name, type_)

    def _along(self, var: Var, offsets: Var) -> Var:
        """The elements of the chunk's own rows, which these offsets cut."""
        total = self._param(Param(ParamKind.TOTAL, offsets), "total")
        shape = (total, *map(self._elsewhere, array_type(var).shape[1:]))
        type_ = ArrayType(array_type(var).dtype, shape)
        return self._param(Param(ParamKind.ALONG, var, offsets), var.name, type_)

    def _window(self, var: Var) -> Var:
        extent = self._param(Param(ParamKind.EXTENT, var), "m")
        shape = (extent, *map(self._elsewhere, array_type(var).shape[1:]))
        type_ = ArrayType(array_type(var).dtype, shape)
        return self._param(Param(ParamKind.WINDOW, var), var.name, type_)

    def _offsets(self, offsets: Var) -> Var:
        """The offsets of the chunk's own rows, counted from where the first one begins."""
        if offsets not in self.offsets:
            entries = self._param(Param(ParamKind.ENTRIES), "entries")
            own = self._param(Param(ParamKind.OFFSETS, offsets), "o", ArrayType(i64, (entries,)))
            first = self._param(Param(ParamKind.FIRST, offsets), "first")

            def entry(b: Builder, k: Var) -> tuple[Atom, ...]:
                return (b.sub(b.emit(Index(own, (k,), checked=False))[0], first),)

            made = Generate((entries,), self.b.function([i64], entry))
            (self.offsets[offsets],) = self.b.emit(made)
        return self.offsets[offsets]

    def _ends(self, ends: Var, base: Var) -> Var:
        """The ends of the chunk's rows, counted from where the first one begins."""
        if ends not in self.ends:
            window = self._window(ends)

            def end(b: Builder, k: Var) -> tuple[Atom, ...]:
                return (b.sub(b.emit(Index(window, (k,), checked=False))[0], base),)

            made = Generate(array_type(window).shape, self.b.function([i64], end))
            (self.ends[ends],) = self.b.emit(made)
        return self.ends[ends]


class _Writing(_Taking):
    """A local program that is being written; what `rules.rule.Chunk` says."""

    def __init__(self, step: Local, split: frozenset[Var]) -> None:
        super().__init__()
        self.step = step
        self.split = split
        self.cyclic = cyclic_reads((*step.lets, *step.folds), split)
        self.row: Var | None = None
        self.position: Var | None = None
        self.spans: dict[Var, Spanned] = {}  # for each variable that says where a row begins
        self.inside: dict[Var, tuple[Var, Atom]] = {}  # offsets, and the index in the chunk
        self.below: dict[Var, Atom] = {}

    def program(self, name: str) -> LocalProgram:
        """All lets, then the results."""
        for let in self.step.lets:
            self._let(let)
        results: list[Atom] = [self.atom(var) for var in self.step.stores]
        counts, joins = [], []
        for let in self.step.folds:
            self.b.where = let.where
            rule = rule_of(let.op)
            assert rule is not None
            parts = rule.parts(self, let)
            counts.append(len(parts))
            joins.append(rule.joining(let))
            results += parts
        order = sorted(self.params.items(), key=lambda item: isinstance(item[1].type, ArrayType))
        fn = self.b.close([var for _, var in order], results)
        windows = [p.of for p in self.params if p.kind is ParamKind.WINDOW and p.of is not None]
        return LocalProgram(
            Program(name, fn), tuple(param for param, _ in order), tuple(counts), tuple(joins),
            tuple(windows), self.cyclic,
        )  # fmt: skip

    # -- what rules ask ---------------------------------------------------------------------------

    def atom(self, atom: Atom) -> Atom:
        """An atom on this chunk: its own rows of an array over the same space."""
        if not isinstance(atom, Var) or atom in self.renamed.mapping:
            return self.renamed.atom(atom)
        if isinstance(atom.type, ArrayType) and atom.type.shape[0] == self.step.space:
            return self._rows(atom)
        return self._elsewhere(atom)

    def operation(self, op: Op) -> Op:
        return map_field(op, self.atom, self._function)  # type: ignore[no-any-return]

    def by_row(self, fn: Lambda) -> Lambda:
        """The function's own number of the row is that on this chunk plus `begin`."""
        inside = self.b.inner()
        first, *others = fn.params
        position = inside.param("k", i64)
        self.row, self.position = first, position
        if _is_read(fn, first, self.step.space):
            self.renamed.mapping[first] = inside.add(position, self.begin)
        params = [position, *(self._binder(inside, var) for var in others)]
        results = self._body(inside, fn)
        self.row = self.position = None
        return inside.close(params, results)

    def given(self, let: Let, types: Sequence[Type], first: int = 0) -> tuple[Var, ...]:
        return tuple(
            self._param(Param(ParamKind.GIVEN, let.vars[0], number=number), "given", type_)
            for number, type_ in enumerate(types, first)
        )

    def bind(self, let: Let, op: Op) -> None:
        self.know(let, self.b.emit(op))

    def know(self, let: Let, atoms: Sequence[Atom]) -> None:
        self.renamed.mapping.update(zip(let.vars, atoms, strict=True))

    # -- lets -------------------------------------------------------------------------------------

    def _let(self, let: Let) -> None:
        self.b.where = let.where
        rule = rule_of(let.op)
        if rule is not None:
            rule.goes_on(self, let)
        elif isinstance(let.op, Generate):
            self._generate(let, let.op)
        else:
            self.bind(let, self.operation(let.op))

    def _generate(self, let: Let, op: Generate) -> None:
        shape = (self.count, *map(self.atom, op.shape[1:]))
        self.bind(let, Generate(shape, self.by_row(op.fn)))

    def _function(self, fn: Lambda) -> Lambda:
        return self._inner(self.b, fn)

    def _inner(self, b: Builder, fn: Lambda) -> Lambda:
        inside = b.inner()
        params = [self._binder(inside, var) for var in fn.params]
        return inside.close(params, self._body(inside, fn))

    def _binder(self, b: Builder, var: Var) -> Var:
        made = self.b.var(var.name, self._type(var))
        b.bind(made, None)
        self.renamed.mapping[var] = made
        return made

    def _type(self, var: Var) -> Type:
        if not isinstance(var.type, ArrayType):
            return var.type
        return ArrayType(var.type.dtype, tuple(map(self._elsewhere, var.type.shape)))

    def _body(self, b: Builder, fn: Lambda) -> list[Atom]:
        for let in fn.lets:
            b.where = let.where
            match let.op:
                case Apply(fn=name, args=args):
                    self.renamed.mapping[let.vars[0]] = b.apply(name, *map(self._elsewhere, args))
                    self._note_inside(b, let.vars[0], let.op)
                case Cast(dtype=dtype, arg=arg):
                    self.renamed.mapping[let.vars[0]] = b.cast(self._elsewhere(arg), dtype)
                case Index(xs=xs) if xs in self.split or self._is_own(let.op):
                    self.renamed.mapping[let.vars[0]] = self._index(b, let.op)
                case Locate(ends=Var() as ends) if ends in self.split:
                    self._locate(b, let, let.op)
                case Span(offsets=Var() as offsets) if self._is_own(let.op):
                    self._own_span(b, let, offsets)
                case Span(offsets=Var() as offsets) if offsets in self.split:
                    self._span(b, let, let.op)
                case op:
                    if isinstance(op, Generate):
                        self.below.update(zip(op.fn.params, op.shape, strict=True))
                    made = map_field(op, self._elsewhere, lambda inner: self._inner(b, inner))
                    b.append(Let(tuple(self._binder(b, var) for var in let.vars), made, let.where))
        return [self._elsewhere(atom) for atom in fn.results]

    def _index(self, b: Builder, op: Index) -> Atom:
        """A read of an array in chunks: of the chunk's own row, or of a row between two others."""
        xs, (first, *rest) = op.xs, op.indices
        assert isinstance(xs, Var)
        others = [self._elsewhere(atom) for atom in rest]
        row = tuple(map(self._elsewhere, op.row))
        if first in self.inside:
            along, place = self.inside[first]  # type: ignore[index]
            return b.emit(Index(self._along(xs, along), (place, *others), False, row))[0]
        if reads_own_row(op, self.row, self.step.space):
            assert self.position is not None
            return b.emit(Index(self.atom(xs), (self.position, *others), op.checked, row))[0]
        i, wrapped = self._elsewhere(first), self.cyclic.get((xs, first))
        least = self._param(Param(ParamKind.LEAST, xs, along=wrapped), "least")
        if op.checked:
            self._check(b, i, array_type(xs).shape[0], row)
        window = self._window(xs)
        i = i if wrapped is None else self._elsewhere(wrapped)
        return b.emit(Index(window, (b.sub(i, least), *others), op.checked and bool(rest), row))[0]

    def _locate(self, b: Builder, let: Let, op: Locate) -> None:
        """The row of a position, among the rows that the chunk has; both counted from there."""
        assert isinstance(op.ends, Var)
        base = self._param(Param(ParamKind.BASE, op.ends), "base")
        least = self._param(Param(ParamKind.LEAST, op.ends), "least")
        position = b.sub(self._elsewhere(op.position), base)
        row, start = b.emit(Locate(self._ends(op.ends, base), 0, position))
        found = (b.sub(b.add(row, least), index(op.skip)), b.add(start, base))
        self.renamed.mapping.update(zip(let.vars, found, strict=True))

    def _is_own(self, op: Index | Span) -> bool:
        """Whether the row that is read is the chunk's own one, of what is not of that row alone."""
        if isinstance(op, Index):
            return reads_own_row(op, self.row, self.step.space)
        return op.row is self.row and op.offsets not in self.renamed.mapping

    def _own_span(self, b: Builder, let: Let, offsets: Var) -> None:
        """Where the chunk's own row begins, among the elements of its rows and among all."""
        assert self.position is not None
        local, length = b.emit(Span(self._offsets(offsets), self.position))
        start, count = let.vars
        first = self._param(Param(ParamKind.FIRST, offsets), "first")
        self.renamed.mapping[start] = b.add(local, first)
        self.renamed.mapping[count] = length
        self.spans[start] = Spanned(offsets, local, count)

    def _span(self, b: Builder, let: Let, op: Span) -> None:
        """Where another row begins: one between the least and the greatest that the chunk reads."""
        assert isinstance(op.offsets, Var)
        least = self._param(Param(ParamKind.LEAST, op.offsets), "least")
        made = Span(self._window(op.offsets), b.sub(self._elsewhere(op.row), least))
        self.renamed.mapping.update(zip(let.vars, b.emit(made), strict=True))

    def _note_inside(self, b: Builder, var: Var, op: Apply) -> None:
        """Whether an index is in one of the chunk's rows: the row's start plus an index below its
        length."""
        if op.fn != "add":
            return
        for start, k in (op.args, op.args[::-1]):
            span = self.spans.get(start)  # type: ignore[arg-type]
            if span and self.below.get(k) is span.length:  # type: ignore[arg-type]
                self.inside[var] = span.offsets, b.add(span.start, self._elsewhere(k))

    def _check(self, b: Builder, i: Atom, extent: Atom, row: tuple[Atom, ...]) -> None:
        """The test of a read of the whole array, of which the chunk has a part."""
        n = self._elsewhere(extent)
        inside = b.apply("and", b.apply("ge", i, ZERO), b.apply("lt", i, n))
        b.append(Let((), Check(inside, INDEX, (i, n), "0", row), b.where))


def _is_read(fn: Lambda, row: Var, space: Atom) -> bool:
    """Whether the number of a row is read but as the index of that row."""
    for let in walk_lets(fn):
        atoms = list(atoms_in(let.op))
        if isinstance(let.op, Index) and reads_own_row(let.op, row, space):
            atoms.remove(row)
        if row in atoms:
            return True
    return row in fn.results
