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
of scalars (`small_sorts.py`). Values that rows share, and that took a loop to compute, are stored
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

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import FLAT, TRACED
from flatweave.base.dtypes import DType
from flatweave.ops import HOST_BODIES, Generate, Index, Map, Nest, Reduce, Suits, Weave
from flatweave.passes.array_pass import array_pass
from flatweave.passes.cost import FEW_TURNS, length
from flatweave.passes.nests import rules, versions
from flatweave.passes.nests.masked import masked
from flatweave.passes.nests.repeated import explain
from flatweave.passes.nests.row_operators import is_nested
from flatweave.passes.nests.small_sorts import in_registers
from flatweave.passes.rewrite import read_in_turn
from flatweave.terms.build import Builder, Names
from flatweave.terms.control import For, While
from flatweave.terms.rules import array_type, under
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import (
    Substitution,
    free_vars,
    lambdas_in,
    map_field,
    needed_for,
    walk_lets,
)


def shared(fn: Lambda) -> Lambda:
    """A body of the host, with what rows share in its element functions stored."""
    return _of_host(Names(), fn)


def _of_host(names: Names, fn: Lambda) -> Lambda:
    lets = []
    for let in fn.lets:
        change = _of_host if isinstance(let.op, HOST_BODIES) else _of_row
        lets.append(_with_bodies(let, partial(change, names)))
    return _with_lets(fn, lets)


def _of_row(names: Names, fn: Lambda) -> Lambda:
    lets = (_with_bodies(_read_in_place(let), partial(_of_row, names)) for let in fn.lets)
    return _with_lets(fn, [part for let in lets for part in _divided(names, let)])


def _read_in_place(let: Let) -> Let:
    """A let of a row, which reads interleaved arrays where they are."""
    return Let(let.vars, read_in_turn(let.op), let.where) if isinstance(let.op, Weave) else let


def _with_bodies(let: Let, change: Callable[[Lambda], Lambda]) -> Let:
    """A let whose element functions, or bodies of the host, are changed."""
    op = let.op
    if not isinstance(op, (Map, Generate, Nest, *HOST_BODIES)):
        return let
    changed = map_field(op, lambda atom: atom, change)
    pairs = zip(lambdas_in(changed), lambdas_in(op), strict=True)
    return let if all(a is b for a, b in pairs) else Let(let.vars, changed, let.where)


def _with_lets(fn: Lambda, lets: Sequence[Let]) -> Lambda:
    same = len(lets) == len(fn.lets) and all(map(operator.is_, lets, fn.lets))
    return fn if same else Lambda(fn.params, tuple(lets), fn.results)


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
    results = rules.host_body(b, program.fn, renaming, versions.in_versions)
    return Program(program.name, b.close(params, results))


@array_pass(takes=(TRACED, FLAT))
def sizes(program: Program) -> Program:
    """The program whose last results are, of each nest with versions, rows, values and longest."""
    fn = program.fn
    choices = [let.op for let in fn.lets if isinstance(let.op, Suits)]
    found = [size for op in choices for size in (op.rows, op.values_, op.longest)]
    return Program(program.name, Lambda(fn.params, fn.lets, (*fn.results, *found)))
