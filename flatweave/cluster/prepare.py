"""What a traced program goes through before it is divided: passes that are for chunks alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.cluster.prepare_folds import (
    filled,
    on_rows,
    scan_of_pairs,
    without_folds,
    without_segments,
)
from flatweave.ops import Check, Concat, Generate, Index, Map, Reshape, Scan, Sort
from flatweave.ops.arrays import Weave
from flatweave.ops.nests import Nest
from flatweave.passes.cse import cse
from flatweave.passes.dce import dce
from flatweave.passes.rewrite import read_in_turn
from flatweave.passes.simplify import simplify
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Type, Var, array_type, row_type
from flatweave.terms.traverse import Substitution, free_vars, map_field, with_lets

# A nest whose rows vary in length, without its offsets: these are a scan of the rows' lengths.
#
#     k, m, o, ys = nest n [0] (i => .. in length, row)
#         ==>  _, m, _, ys, ls = nest n [0, -1] (i => .. in length, row, length)
#              k = add n 1;  o = concat k [0, scan (add) [0] [ls]]
#
# So a chunk keeps what rows it has made, and how long each is, and nobody counts from the first
# row.


ZERO, ONE = index(0), index(1)


def without_offsets(program: Program) -> Program:
    """A program none of whose nests gives offsets that anybody reads."""
    return _each_let(program, _split)


def _each_let(program: Program, change: Callable[[Builder, Let, Op], bool]) -> Program:
    """A program in which some lets are written anew; `change` says whether it did that."""
    b = Builder()
    for let in program.fn.lets:
        b.where = let.where
        if not change(b, let, let.op):
            b.append(let)
    return Program(program.name, with_lets(program.fn, b.lets))


def _split(b: Builder, let: Let, op: Op) -> bool:
    if not isinstance(op, Nest):
        return False
    entries, *bound = let.vars
    groups = len(op.lengths)
    totals, offsets = bound[: 2 * groups : 2], bound[1 : 2 * groups : 2]
    results = bound[2 * groups :]
    unread = b.var("n", i64)
    again = [b.var("o", ArrayType(i64, (unread,))) for _ in offsets]
    lengths = [b.var("l", ArrayType(i64, (op.count,))) for _ in offsets]
    fn = Lambda(op.fn.params, op.fn.lets, (*op.fn.results, *op.lengths))
    pairs = [var for pair in zip(totals, again, strict=True) for var in pair]
    made = Nest(op.count, (*op.groups, *(-1 for _ in lengths)), fn)
    b.append(Let((unread, *pairs, *results, *lengths), made, let.where))
    b.append(Let((entries,), Apply("add", (op.count, ONE)), let.where))
    for var, length in zip(offsets, lengths, strict=True):
        first = b.emit(Generate((ONE,), b.function([i64], lambda inside, i: (ZERO,))))
        ends = b.emit(Scan(lambda_of("add", i64), (ZERO,), (length,)))
        b.append(Let((var,), Concat(entries, (*first, *ends)), let.where))
    return True


# Sorts whose keys are made of values from outside: the keys are computed first.
#
#     ys = sort (i => index dist [i]) [xs]
#         ==>  ks = map (i => index dist [i]) [xs]
#              _, ys = sort (k, i => k) [ks, xs]
#
# So what sorts a chunk needs nothing but its rows (`cluster/shuffled.py`), and what
# reads another array is a map as any other.


def with_keys(program: Program) -> Program:
    """A program whose sorts have keys that are made of what is sorted alone."""
    return _each_let(program, _keyed)


def _keyed(b: Builder, let: Let, op: Op) -> bool:
    if not isinstance(op, Sort) or not free_vars(op.fn):
        return False
    keys = b.emit(Map(op.fn, op.xs))
    xs = (*keys, *op.xs)
    types: list[Type] = [array_type(x).dtype for x in xs]
    first = b.function(types, lambda inside, *params: params[: len(keys)])
    unread = [b.var("k", key.type) for key in keys]
    b.append(Let((*unread, *let.vars), Sort(first, xs), let.where))
    return True


# The axis that is in chunks comes first: what goes down columns becomes operations on rows.
#
#     generate [c] (j => t = generate [n] (i => index m [i, j]); reduce (add) [0] [t])
#         ==>  reduce (a, b => map (add) [a, b]) [zeros of c] [m]
#
#     scan (add) [0] [transposed m] starts=[generate [c, n] (j, i => i == 0)]
#         ==>  transposed (scan (a, b => map (add) [a, b]) [zeros of c] [m])
#
# So an array goes through chunks of its rows, and is never there as a whole. What begins anew in
# each row of such an array is a map over rows; so are segments along a row, which flags mark.
# Segments down columns are a scan of rows of pairs (`prepare_folds.py`).


T = TypeVar("T")


def by_rows(program: Program, split: Collection[int]) -> Program:
    """The program for parameters that are in chunks, of which these are the numbers."""
    params = program.fn.params
    return _Turning(program, {array_type(params[k]).shape[0] for k in split}).program()


class _Turning:
    """`spaces` are the extents along which arrays are in chunks; `turned` has, for an array along
    whose axis k chunks would go, the one where that axis is the first."""

    def __init__(self, program: Program, spaces: set[Atom]) -> None:
        self.given = program
        self.spaces = spaces
        self.turned: dict[Var, tuple[Var, int]] = {}
        self.begins: dict[Var, bool] = {}
        self.renamed = Substitution()
        self.b = Builder()

    def program(self) -> Program:
        """All lets, in order."""
        for let in self.given.fn.lets:
            self.b.where = let.where
            self._let(Let(let.vars, self._read(let.op), let.where))
        results = tuple(map(self.renamed.atom, self.given.fn.results))
        for x in dict.fromkeys(results):
            self._turn_back(x)
        return Program(self.given.name, Lambda(self.given.fn.params, tuple(self.b.lets), results))

    def _let(self, let: Let) -> None:
        op = let.op
        if isinstance(op, Scan) and self._scan(let, op):
            return
        for x in free_vars(op):
            self._turn_back(x)
        if isinstance(op, Generate):
            self._note_begins(let, op)
            if self._generate(let, op):
                return
        kept = let if self._is_in_chunks(op) else without_folds(self.b, let, self.spaces)
        if isinstance(kept, Let):
            self._keep(kept)
        else:
            self.renamed.mapping.update(zip(let.vars, kept, strict=True))

    def _is_in_chunks(self, op: Op) -> bool:
        """Whether an operation goes over an axis in chunks, element by element."""
        if isinstance(op, Map):
            return array_type(op.xs[0]).shape[0] in self.spaces
        return not isinstance(op, Generate) or op.shape[0] in self.spaces

    def _keep(self, let: Let) -> None:
        """A let as it is, and the axes along which its results are in chunks."""
        self.b.append(let)
        made = [array_type(v).shape[0] for v in let.vars if isinstance(v.type, ArrayType)]
        read = [array_type(v).shape[0] for v in free_vars(let.op) if isinstance(v.type, ArrayType)]
        if self.spaces.intersection(read):
            by_row = isinstance(let.op, Generate | Map | Concat)
            self.spaces.update(n for n in made if by_row or n in let.vars)

    # -- arrays whose other axes are in chunks ----------------------------------------------------

    def _generate(self, let: Let, op: Generate) -> bool:
        """An array of which another axis than the first is in chunks, with that one first."""
        axis = next((k for k, n in enumerate(op.shape) if n in self.spaces), 0)
        if axis:
            fn = Lambda(_turned(op.fn.params, axis), op.fn.lets, op.fn.results)
            made = self.b.emit(Generate(_turned(op.shape, axis), fn))
            self.turned.update((var, (t, axis)) for var, t in zip(let.vars, made, strict=True))
        return axis > 0

    def _note_begins(self, let: Let, op: Generate) -> None:
        """Whether an array marks where the last axis begins, or in reverse where it ends."""
        if len(op.shape) < 2 or len(op.fn.lets) != 1:
            return
        last, other = op.fn.params[-1], op.fn.lets[0].op
        if isinstance(other, Apply) and other.fn == "eq" and other.args[0] is last:
            at = other.args[1]
            if at == index(0):
                self.begins[let.vars[0]] = False
            elif self._is_last(at, op.shape[-1]):
                self.begins[let.vars[0]] = True

    def _is_last(self, atom: Atom, extent: Atom) -> bool:
        made = self.b.own.get(atom) if isinstance(atom, Var) else None
        return isinstance(made, Apply) and made.fn == "sub" and made.args == (extent, index(1))

    def _read(self, given: Op) -> Op:
        """An operation that reads elements of turned arrays at turned indices."""
        op: Op = map_field(given, self.renamed.atom, self._function)
        if isinstance(op, Index) and op.xs in self.turned:
            made, axis = self.turned[op.xs]  # type: ignore[index]
            return Index(made, _turned(op.indices, axis), op.checked, op.row)
        return op

    def _function(self, fn: Lambda) -> Lambda:
        lets = tuple(Let(let.vars, self._read(let.op), let.where) for let in fn.lets)
        return Lambda(fn.params, lets, tuple(map(self.renamed.atom, fn.results)))

    def _turn_back(self, x: Atom) -> None:
        """A turned array as it was, for what takes all of it."""
        if x not in self.turned:
            return
        made, axis = self.turned.pop(x)  # type: ignore[arg-type]
        shape = array_type(x).shape

        def element(inside: Builder, *at: Var) -> Sequence[Atom]:
            return inside.emit(Index(made, _turned(at, axis), checked=False))

        op = Generate(shape, self.b.function([i64] * len(shape), element))
        self._keep(Let((x,), op, self.b.where))  # type: ignore[arg-type]

    # -- scans ------------------------------------------------------------------------------------

    def _scan(self, let: Let, op: Scan) -> bool:
        """A scan of lines along the last axis, or of segments of them; whether it is one."""
        last = array_type(op.xs[0]).rank - 1
        if not last or not op.starts:
            return False
        begins = any(self.begins.get(x) is op.reverse for x in op.starts if isinstance(x, Var))
        arrays = op.xs if begins else (*op.starts, *op.xs)
        turned = [self.turned[x] for x in arrays if x in self.turned]  # type: ignore[index]
        found = [made for made, axis in turned if axis == last]
        if len(found) == len(arrays):
            self._scan_of_rows(let, op, found[: -len(op.xs)], found[-len(op.xs) :])
            return True
        for x in arrays:
            self._turn_back(x)
        if array_type(op.xs[0]).shape[0] in self.spaces:
            self._keep(Let(let.vars, self._rows_scanned(op, arrays), let.where))
            return True
        return False

    def _scan_of_rows(
        self, let: Let, op: Scan, starts: Sequence[Var], xs: Sequence[Var]
    ) -> None:
        """Lines along the axis in chunks, all of them at once: the elements are rows."""
        row = array_type(xs[0]).shape[1:]
        if starts:
            made = self.b.emit(scan_of_pairs(self.b, op.replace(xs=xs, starts=starts), row))
        else:
            neutral, fn = filled(self.b, row, op.neutral), on_rows(self.b, op.fn, row)
            made = self.b.emit(Scan(fn, neutral, tuple(xs), op.exclusive, op.reverse))
        axis = len(row)
        self.turned.update((var, (t, axis)) for var, t in zip(let.vars, made, strict=True))

    def _rows_scanned(self, op: Scan, arrays: Sequence[Atom]) -> Map:
        """Lines along another axis: each row of the arrays has separate lines."""
        types: list[Type] = [row_type(array_type(x)) for x in arrays]

        def scanned(inside: Builder, *rows: Var) -> Sequence[Atom]:
            starts, xs = rows[: -len(op.xs)], rows[-len(op.xs) :]
            shape = array_type(xs[0]).shape
            if len(shape) > 1 and not starts:
                last = inside.sub(shape[-1], index(1)) if op.reverse else index(0)
                begins = inside.function(
                    [i64] * len(shape), lambda b, *at: (b.apply("eq", at[-1], last),)
                )
                starts = inside.emit(Generate(shape, begins))
            return inside.emit(op.replace(fn=inside.copy(op.fn), xs=xs, starts=starts))

        return Map(self.b.function(types, scanned), tuple(arrays))


def _turned(at: Sequence[T], axis: int) -> tuple[T, ...]:
    """What there is for each axis, that of one before all others."""
    return (at[axis], *at[:axis], *at[axis + 1 :])


# What a traced program goes through before it is divided: passes, and what makes spaces few.


def prepared(program: Program, split: Collection[int]) -> Program:
    """The program as `divide` takes it; its parameters stay where they are, of which those with the
    numbers `split` are in chunks."""
    for step in (
        simplify, cse, with_one_extent, without_reshapes, without_segments, without_offsets,
        with_keys,
    ):  # fmt: skip
        program = step(program)
    return dce(by_rows(program, split))


def with_one_extent(program: Program) -> Program:
    """Extents that are checked to be equal become one, that of the first: a space is an extent.

    The checks stay, and what they compare; the client makes them before chunks go on.
    """
    order: dict[Atom, int] = {var: k for k, var in enumerate(program.fn.params)}
    first: dict[Var, Atom] = {}
    compared: dict[Atom, tuple[Atom, ...]] = {}  # by each condition here; () for no equality
    for let in program.fn.lets:
        order.update((var, len(order)) for var in let.vars)
        equal = let.op.args if isinstance(let.op, Apply) and let.op.fn == "eq" else ()
        compared.update(dict.fromkeys(let.vars, equal))
        if not (isinstance(let.op, Check) and let.op.kind == "same"):
            continue
        pair = compared.get(let.op.condition, let.op.values_)  # else it is of outside of a loop
        if len(pair) == 2:
            a, b = (first.get(x, x) if isinstance(x, Var) else x for x in pair)
            if a != b:  # a constant is older than everything
                older, newer = sorted((a, b), key=lambda atom: order.get(atom, -1))
                if not isinstance(newer, Var):
                    continue
                first = {v: older if to is newer else to for v, to in first.items()}
                first[newer] = older
    renamed = Substitution(dict(first))
    params = tuple(map(renamed.binder, program.fn.params))
    lets = [
        let if isinstance(let.op, Apply | Cast | Check) else renamed.let(let)
        for let in program.fn.lets
    ]
    results = tuple(map(renamed.atom, program.fn.results))
    return Program(program.name, Lambda(params, tuple(lets), results))


def without_reshapes(program: Program) -> Program:
    """A reshape is an array that reads another one at the same row-major index: intervals
    (`row_ranges.py`) say which rows these are. So is one that is woven of several."""
    lets = []
    for let in program.fn.lets:
        if isinstance(let.op, Reshape) and array_type(let.op.xs).rank and let.op.shape:
            let = Let(let.vars, _read_in_order(let.op), let.where)
        elif isinstance(let.op, Weave):
            let = Let(let.vars, read_in_turn(let.op), let.where)
        lets.append(let)
    return Program(program.name, with_lets(program.fn, lets))


def _read_in_order(op: Reshape) -> Generate:
    shape = array_type(op.xs).shape

    def element(b: Builder, *indices: Var) -> Sequence[Atom]:
        place = b.ravel(indices, op.shape)
        return b.emit(Index(op.xs, b.unravel(place, shape), checked=False))

    return Generate(op.shape, Builder().function([i64] * len(op.shape), element))
