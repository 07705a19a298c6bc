"""Lift: nested operations become operations on the flat arrays of all rows.

    f(n: i64, m: i64, x: f32[n, m]) =>
        y: f32[n, m] = map (r: f32[m] =>
            s: f32[m] = scan (add f32) [0.0f32] [r]
            in s) [x]
        in y
    ==>
    f(n: i64, m: i64, x: f32[n, m]) =>
        a: f32[n, m] = generate [n, m] (i: i64, j: i64 =>
            r: f32[m] = generate [m] (h: i64 => index x [i, h] checked=false)
            v: f32 = index r [j] checked=false
            in v)
        b: bool[n, m] = generate [n, m] (k: i64, l: i64 => eq l 0)
        y: f32[n, m] = scan (add f32) [0.0f32] [a] starts=[b]
        in y

This is the flattening of NESL (Blelloch 1990) without vectorising what a row can do alone: an
element function is distributed over its *hard* operations, those that need memory (`hard.py`), and
the code between them stays a function of one row (`rows.py`). Each hard operation has a rule for
its form over all rows; nested operations in the result are then lifted, too. An operation none of
whose operands varies from row to row is done once, outside. A filter whose kept elements a row only
combines needs no memory: it becomes a flag first (`masked.py`). Nor does a sort of a known number
of scalars (`lift.py`). Values that rows share, and that took a loop to compute, are stored
for them (`shared`):

    t = map (x =>                              a = map (x => reduce add 0 (mul x ys)) [xs]
        s = reduce add 0 (mul x ys)            s = map barrier (a => a) [a]
        in map (y => mul y s) [ys]) [xs]       t = map (x, s => map (y => mul y s) [ys]) [xs, s]

An element function computes its arrays where it reads them, one element at a time. An element of t
would compute all of its sum. So what the elements of an inner array read, and what took a loop to
compute, becomes a separate array, unless the function is one of the host's elements, which
`hoist_rows` divides, or checks something, as a check comes before the reads that it allows.

Leaves alone: programs without nested memory, where every element function computes its scalars and
element-by-element arrays without storing them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from flatweave.algorithms.operator import select
from flatweave.array_ir.syntax import FLAT, TRACED, Program
from flatweave.base.dtypes import DType
from flatweave.ops import HOST_BODIES, Generate, Index, Map, Nest, Reduce, Sort, Suits, Weave
from flatweave.ops.writes import SHORT
from flatweave.passes.cost import FEW, FEW_TURNS, length
from flatweave.passes.nests import distribute, versions
from flatweave.passes.nests.hard import explain, has_hard, is_hard, repeated
from flatweave.passes.nests.masked import masked
from flatweave.passes.nests.segments import is_nested
from flatweave.passes.rewrite import array_pass, read_in_turn
from flatweave.terms.build import Builder, Names
from flatweave.terms.control import For, If, While
from flatweave.terms.operators import comes_before, exchanges, keep_order, steps_back, undone
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Const,
    Lambda,
    Let,
    Op,
    Var,
    array_type,
    constant,
    under,
)
from flatweave.terms.traverse import (
    Substitution,
    free_vars,
    lambdas_in,
    needed_for,
    walk_lets,
    with_bodies,
    with_lets,
)


def shared(fn: Lambda) -> Lambda:
    """A body of the host, with what rows share in its element functions stored."""
    return _of_host(Names(), fn)


def _of_host(names: Names, fn: Lambda) -> Lambda:
    lets = []
    for let in fn.lets:
        change = _of_host if isinstance(let.op, HOST_BODIES) else _of_row
        lets.append(_with_elements(let, partial(change, names)))
    return with_lets(fn, lets)


def _of_row(names: Names, fn: Lambda) -> Lambda:
    lets = (_with_elements(_read_in_place(let), partial(_of_row, names)) for let in fn.lets)
    return with_lets(fn, [part for let in lets for part in _divided(names, let)])


def _read_in_place(let: Let) -> Let:
    """A let of a row, which reads interleaved arrays where they are."""
    return Let(let.vars, read_in_turn(let.op), let.where) if isinstance(let.op, Weave) else let


def _with_elements(let: Let, change: Callable[[Lambda], Lambda]) -> Let:
    """A let whose element functions, or bodies of the host, are changed."""
    is_changed = isinstance(let.op, (Map, Generate, Nest, *HOST_BODIES))
    return with_bodies(let, change) if is_changed else let


def _divided(names: Names, let: Let) -> list[Let]:
    """A map of rows: the map of what each row shares, its results stored, and the rest."""
    op = let.op
    if not isinstance(op, Map | Generate) or not (cut := _cut(op.fn)):
        return [let]
    shape = op.shape() if isinstance(op, Map) else op.shape
    first = Lambda(op.fn.params, needed_for(op.fn.lets, cut), tuple(cut))
    same = [names.var(v.name, v.type) for v in cut]

    def bound(made: Op) -> Let:
        return Let(tuple(names.var(v.name, under(shape, v.type)) for v in cut), made, let.where)

    found = bound(op.replace(fn=Builder(names).copy(first)))
    stored = bound(Map(Lambda(tuple(same), (), tuple(same)), found.vars, len(shape), barrier=True))
    return [found, stored, Let(let.vars, _with_shared(op, cut, stored.vars), let.where)]


def _with_shared(op: Map | Generate, cut: Sequence[Var], stored: Sequence[Var]) -> Op:
    """The map of rows that reads what is stored."""
    params, rest, results = op.fn.params, _beyond(op.fn, cut), op.fn.results
    if isinstance(op, Map):
        return Map(Lambda((*params, *cut), rest, results), (*op.xs, *stored), op.depth, op.barrier)
    pairs = zip(cut, stored, strict=True)
    reads = [Let((var,), Index(xs, params, checked=False)) for var, xs in pairs]
    return Generate(op.shape, Lambda(params, (*reads, *rest), results))


def _cut(fn: Lambda) -> list[Var]:
    """The scalars that took a loop to compute, and that elements of the function's arrays read;
    and those computed on the way that others read."""
    rows = [result for result in fn.results if isinstance(result.type, ArrayType)]
    if not rows or any(_checks(let.op) for let in walk_lets(fn)):
        return []
    looped: dict[Var, None] = {}
    for let in fn.lets:
        loops = _loops(let.op) or any(var in looped for var in free_vars(let.op))
        if loops and all(isinstance(var.type, DType) for var in let.vars):
            looped.update(dict.fromkeys(let.vars))
    arrays = [let for let in needed_for(fn.lets, rows) if isinstance(let.vars[0].type, ArrayType)]
    roots = _read_by(arrays, looped)
    before = {var for let in needed_for(fn.lets, roots) for var in let.vars}
    rest = _beyond(fn, roots)
    made = {var: None for var in looped if var in before}
    wanted = {*roots, *_read_by(rest, made), *(v for v in fn.results if v in made)}
    return [var for var in looped if var in wanted]


def _read_by(lets: Iterable[Let], among: Collection[Var]) -> list[Var]:
    return [var for let in lets for var in free_vars(let.op) if var in among]


def _beyond(fn: Lambda, known: Collection[Atom]) -> tuple[Let, ...]:
    """The lets that the results depend on where some values are known."""
    lets = [let for let in fn.lets if not set(let.vars) <= set(known)]
    return needed_for(lets, fn.results)


def _checks(op: Op) -> bool:
    return op.effect or (isinstance(op, Index) and op.checked)


def _loops(op: Op) -> bool:
    """Whether an operation is a loop of many iterations, or of an unknown number."""
    if isinstance(op, While | For):
        return True
    if isinstance(op, Reduce) and length(array_type(op.xs[0]).shape[0]) > FEW_TURNS:
        return True
    return any(_loops(let.op) for fn in lambdas_in(op) for let in fn.lets)


@array_pass(takes=(TRACED,), explain=explain)
def lift(program: Program) -> Program:
    """Give every nested operation that needs memory to all rows at once."""
    program = Program(program.name, shared(in_registers(masked(program.fn))))
    if not any(is_nested(let.op) for let in program.fn.lets):
        return program
    b = Builder(Names())
    renaming = Substitution()
    params = b.params_like(program.fn.params, renaming)
    results = distribute.host_body(b, program.fn, renaming, versions.in_versions)
    return Program(program.name, b.close(params, results))


@array_pass(takes=(TRACED, FLAT))
def sizes(program: Program) -> Program:
    """The program whose last results are, of each nest with versions, rows, values and longest."""
    fn = program.fn
    choices = [let.op for let in fn.lets if isinstance(let.op, Suits)]
    found = [size for op in choices for size in (op.rows, op.values_, op.longest)]
    return Program(program.name, Lambda(fn.params, fn.lets, (*fn.results, *found)))


# -- small sorts ----------------------------------------------------------------------------------
#
# Sorts of a known number of scalars, which an element function does in registers.
#
#   i => a = .. ; ys = sort f [xs: f32[25]]         i => a = .. ; ys = sort f [xs] in_registers=true
#        m = index ys [12]                   ==>         m = index ys [12]
#        in m                                            in m
#
# Leaves alone sorts that an array of the element function's results needs, or an operation that
# needs memory: the scalars would be computed again for each of its elements. The others compare and
# exchange scalars, and store nothing (`Sorted`):
#
#     equal keys are equal elements     Batcher's network of the keys, which tell the elements; of
#                                       signed integers instead of their keys
#     up to SHORT elements              neighbours exchanged, elements along with their keys
#     more                              Batcher's network of the keys; for each position that is
#                                       read, the element of that rank among equal keys is chosen
#
# All are stable: neighbours are swapped only where the second comes before the first.


def in_registers(fn: Lambda) -> Lambda:
    """A body of the host, with the small sorts of element functions in registers."""
    if not any(_is_small(let) for let in walk_lets(fn)):
        return fn
    return with_lets(fn, [
        with_bodies(let, in_registers if isinstance(let.op, If | While | For) else _in_row)
        for let in fn.lets
    ])  # fmt: skip


def _in_row(fn: Lambda) -> Lambda:
    """An element function, or a body in one."""
    if not any(_is_small(let) for let in walk_lets(fn)):
        return fn
    lets = [with_bodies(let, _in_row) for let in fn.lets]
    own = {*fn.params, *(var for let in lets for var in let.vars)}
    stored = repeated(with_lets(fn, lets))
    roots = [result for result in fn.results if isinstance(result.type, ArrayType)]
    for let in lets:
        if not _is_small(let) and (is_hard(let, own) or not stored.isdisjoint(let.vars)):
            roots += free_vars(let.op)
    blocked = {var for let in needed_for(lets, roots) for var in let.vars}
    return with_lets(fn, [
        let if blocked.intersection(let.vars) else _made(let) for let in lets
    ])  # fmt: skip


def _made(let: Let) -> Let:
    if not _is_small(let):
        return let
    return Let(let.vars, let.op.replace(in_registers=True), let.where)


def _is_small(let: Let) -> bool:
    """Whether a let sorts a known number of elements, few enough."""
    op = let.op
    if not isinstance(op, Sort) or has_hard(op.fn):
        return False
    (extent,) = array_type(op.xs[0]).shape
    most = FEW if len(op.fn.results) == 1 else SHORT
    return isinstance(extent, Const) and 0 < int(extent.value) <= most


# -- the network ----------------------------------------------------------------------------------

Elements = Sequence[Sequence[Atom]]
"""The scalars of the element at each position."""


class Sorted:
    """Sorted scalars: computes the element at a position on demand."""

    def __init__(self, b: Builder, fn: Lambda, elements: Elements) -> None:
        self.b = b
        self.steps = steps_back(fn)
        self.elements = elements
        self.keys: Elements = [b.inline(fn, element) for element in elements]
        if self.steps is not None and keep_order(self.steps):
            self.steps, self.keys = (), elements
        self.places: dict[int, Sequence[Atom]] = {}
        count = len(elements)
        if self.steps is None and (count <= SHORT or len(fn.results) > 1):
            self.places.update(enumerate(_carried(b, self.keys, elements)))
            return
        self.ordered = [key for (key,) in self.keys]
        for low, high in exchanges(count):
            pair = self.ordered[low], self.ordered[high]
            self.ordered[low] = b.apply("minimum", *pair)
            self.ordered[high] = b.apply("maximum", *pair)

    def at(self, place: int) -> Sequence[Atom]:
        """The scalars of the element at a position."""
        if place not in self.places:
            key = self.ordered[place]
            if self.steps is not None:
                self.places[place] = [undone(self.b, self.steps, key)]
            else:
                self.places[place] = self._of_rank(place, key)
        return self.places[place]

    def _of_rank(self, place: int, key: Atom) -> Sequence[Atom]:
        """The element with this key whose rank among equal keys matches the position `place`."""
        b, dtype = self.b, key.type
        assert isinstance(dtype, DType)
        before: Atom = constant(place, dtype)
        one = constant(1, dtype)
        for (own,) in self.keys:
            less = b.apply("lt", own, key)
            before = b.apply("select", less, b.apply("sub", before, one), before)
        found = self.elements[-1]
        for (own,), element in zip(self.keys, self.elements, strict=True):
            is_equal = b.apply("eq", own, key)
            here = b.apply("and", is_equal, b.apply("eq", before, constant(0, dtype)))
            found = select(b, here, element, found)
            before = b.apply("select", is_equal, b.apply("sub", before, one), before)
        return found


def _carried(b: Builder, keys: Elements, elements: Elements) -> Elements:
    """Elements in order of their keys: each moves to the front past those that come after it."""
    rows = [(*key, *element) for key, element in zip(keys, elements, strict=True)]
    count = len(keys[0])
    for end in range(1, len(rows)):
        for second in range(end, 0, -1):
            a, c = rows[second - 1], rows[second]
            exchanged = comes_before(b, c[:count], a[:count])
            rows[second - 1] = select(b, exchanged, c, a)
            rows[second] = select(b, exchanged, a, c)
    return [row[count:] for row in rows]
