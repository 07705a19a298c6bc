"""Every array operation becomes a sweep, the normal form that is lowered.

    total(n: i64, xs: f32[n]) =>
        a: f32[n] = map (x: f32 => mul x x) [xs]
        s: f32 = reduce (add f32) [0.0f32] [a]
        in s
    ==>
    total(n: i64, xs: f32[n]) =>
        a: f32[n] = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            y: f32 = mul x x
            in y) [store]
        s: f32 = sweep [n] (j: i64 => index a [j] checked=false) [combine (add f32) [0.0f32]]
        in s

    map, generate   store                       filter            compact
    reduce          combine                     scatter           scatter_store
    scan            prefix in the body, store   permute           scatter_reduce
    concat          empty, then one insert for each part; in the program of a row, whose arrays are
                    short, one store of elements that ask which part they are in
    reduce_segments combine_segments
    sort            combine: which bits of the keys differ, and whether they are in order; then
                    radix_sort, which is no sweep; sort_row in the program of a row
    sort_rows       itself

Inside element functions arrays become pulls (`elements.py`). Fusion is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.array_ir.syntax import SWEPT, TRACED, Program
from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.errors import NestingError
from flatweave.ops import (
    HOST_BODIES,
    ByRow,
    Callback,
    CallKernel,
    Check,
    Combine,
    CombineSegments,
    Concat,
    Empty,
    Generate,
    Index,
    Insert,
    Locate,
    Map,
    Permute,
    Prefix,
    RadixSort,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    ScatterReduce,
    Sink,
    SinkOp,
    Sort,
    SortRow,
    SortRows,
    Span,
    Store,
    Suits,
    Sweep,
)
from flatweave.passes.cost import is_cheap_key
from flatweave.passes.elements import (
    Pull,
    Scope,
    ends_of_row,
    pull_of_concat,
    pull_of_reshape,
    pulls_of_generate,
    pulls_of_map,
    translate_lambda,
    translate_scalars,
)
from flatweave.passes.monoid import monoid, with_initial
from flatweave.passes.nests.hard import is_hard
from flatweave.passes.rewrite import array_pass
from flatweave.scalar import ops as scalar
from flatweave.terms.build import Builder, Names, branch, index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, Type, Var, array_type, constant
from flatweave.terms.traverse import map_field, walk_lets

PARTS_OF_A_ROW = 4
"""Parts of which each element of a row may ask in which it is."""
Body = Callable[[Builder, tuple[Atom, ...]], Sequence[Atom]]


@array_pass(takes=(TRACED,), gives=SWEPT)
def sweep(program: Program) -> Program:
    """Give every array operation its own sweep."""
    b = Builder(Names())
    scope = Scope()
    params = _params(b, scope, program.fn.params)
    results = _translate_body(b, scope, program.fn)
    return Program(program.name, b.close(params, results))


def _params(b: Builder, scope: Scope, params: Sequence[Var]) -> list[Var]:
    fresh = []
    for param in params:
        fresh.append(b.param(param.name, scope.type(param.type)))
        scope.bind((param,), (fresh[-1],))
    return fresh


def _translate_body(b: Builder, scope: Scope, fn: Lambda) -> tuple[Atom, ...]:
    for let in fn.lets:
        b.where = let.where or b.where
        scope.bind(let.vars, _translate(b, scope, let))
    return scope.atoms(fn.results)


def _translate(b: Builder, scope: Scope, let: Let) -> Sequence[Atom]:
    match let.op:
        case Apply(fn=fn, args=args):
            return (b.apply(fn, *scope.atoms(args)),)
        case Cast(dtype=dtype, arg=arg):
            return (b.cast(scope.atom(arg), dtype),)
        case Map():
            return _stores(b, pulls_of_map(scope, let.op), let.op.barrier)
        case Generate():
            return _stores(b, pulls_of_generate(scope, let.op))
        case Reduce():
            return _reduce(b, scope, let.op)
        case Scan():
            return _scan(b, scope, let.op)
        case ReduceSegments():
            return _reduce_segments(b, scope, let.op)
        case Permute():
            return _permute(b, scope, let.op)
        case SinkOp():
            return _over(b, scope, let.op.fed(), (let.op.sink(scope.atoms),))
        case Concat(xs=xs) if scope.in_row and len(xs) <= PARTS_OF_A_ROW:
            return _stores(b, [pull_of_concat(scope, let.op)])
        case Concat():
            return _concat(b, scope, let.op)
        case Sort() | SortRows():
            return _sort(b, scope, let.op)
        case op if isinstance(op, HOST_BODIES):
            return b.emit(_control(b, scope, op))
        case _:
            return _keep(b, scope, let)


def _keep(b: Builder, scope: Scope, let: Let) -> Sequence[Atom]:
    """Operations that are no sweeps: host reads, views, fresh memory, checks."""
    match let.op:
        case Index(xs=xs, indices=indices, checked=checked):
            return b.emit(Index(scope.atom(xs), scope.atoms(indices), checked))
        case Locate(ends=ends, skip=skip, position=position):
            return b.emit(Locate(scope.atom(ends), skip, scope.atom(position)))
        case Span(offsets=offsets, row=row):
            return ends_of_row(b, scope.pull(offsets), scope.atom(row))
        case Reshape(xs=xs, shape=shape):
            viewed = b.emit(Reshape(scope.atom(xs), scope.atoms(shape)))
            scope.views[viewed[0]] = pull_of_reshape(scope.pull(xs), scope.atoms(shape))
            return viewed
        case Empty(dtype=dtype, shape=shape):
            return b.emit(Empty(dtype, scope.atoms(shape)))
        case Check(condition=condition, kind=kind, values_=values, message=message):
            return b.emit(Check(scope.atom(condition), kind, scope.atoms(values), message))
        case CallKernel(kernel=kernel, args=args):
            return b.emit(CallKernel(kernel, scope.atoms(args)))
        case Callback() as op:
            return b.emit(map_field(op, scope.atom, lambda fn: fn))
        case Suits(rows=rows, values_=values, longest=longest):
            sizes = scope.atoms((rows, values, longest))
            return b.emit(Suits(let.op.version, let.op.gain, let.op.exact, *sizes))
        case _:
            raise NotImplementedError(f"{let.op.name} has no sweep")


def body_over(b: Builder, shape: Sequence[Atom], write: Body) -> Lambda:
    """A sweep's body over one index for each axis of `shape`."""
    inside = b.inner()
    indices = tuple(inside.param("i", i64, extent) for extent in shape)
    return inside.close(indices, write(inside, indices))


def _elements(pulls: Sequence[Pull], b: Builder, indices: tuple[Atom, ...]) -> Sequence[Atom]:
    """The elements of several pulls at one index."""
    return [pull.at(b, indices) for pull in pulls]


def _stores(b: Builder, pulls: Sequence[Pull], barrier: bool = False) -> list[Atom]:
    """One sweep for all pulls of one shape."""
    done: dict[int, Atom] = {}
    for shape in dict.fromkeys(pull.shape for pull in pulls):
        alike = [k for k, pull in enumerate(pulls) if pull.shape == shape]
        body = body_over(b, shape, partial(_elements, [pulls[k] for k in alike]))
        stored = b.emit(Sweep(shape, body, tuple(Store(barrier) for _ in alike)))
        done.update(zip(alike, stored, strict=True))
    return [done[k] for k in range(len(pulls))]


def _over(
    b: Builder, scope: Scope, xs: Sequence[Atom], sinks: tuple[Sink, ...], write: Body | None = None
) -> tuple[Atom, ...]:
    """A sweep over the elements of `xs`, which `write` may go on with."""
    arrays = [scope.pull(x) for x in xs]
    shape = arrays[0].shape

    def body(c: Builder, indices: tuple[Atom, ...]) -> Sequence[Atom]:
        elements = tuple(x.at(c, indices) for x in arrays)
        return write(c, elements) if write else elements

    return b.emit(Sweep(shape, body_over(b, shape, body), sinks))


def _operator(b: Builder, scope: Scope, fn: Lambda, of: str) -> Lambda:
    """The operator of a reduction or scan: scalar work only."""
    for let in walk_lets(fn):
        if is_hard(let, repeats=False):
            raise NestingError(
                f"{let.op.name} inside the operator of {of}, which combines scalars.",
                where=let.where,
                remedy="Compute it beforehand with map, and combine its results.",
            )
    return translate_lambda(b, scope, fn)


def _reduce(b: Builder, scope: Scope, op: Reduce) -> tuple[Atom, ...]:
    fn = _operator(b, scope, op.fn, "reduce")
    over = monoid(b, fn, scope.atoms(op.neutral), known=op.known)

    def enter(c: Builder, elements: tuple[Atom, ...]) -> Sequence[Atom]:
        return over.enter(elements)

    return over.leave(b, _over(b, scope, op.xs, (Combine(over.fn, over.neutral),), enter))


def _scan(b: Builder, scope: Scope, op: Scan) -> tuple[Atom, ...]:
    """A reverse scan runs from the end, so its operator takes its operands in exchanged order."""
    fn = _operator(b, scope, op.fn, "scan")
    if op.reverse:
        half = len(op.xs)
        fn = Lambda(fn.params[half:] + fn.params[:half], fn.lets, fn.results)
    arrays, flags = [scope.pull(x) for x in op.xs], [scope.pull(x) for x in op.starts]
    shape = arrays[0].shape
    over = monoid(
        b, fn, scope.atoms(op.neutral), known=op.known, segmented=bool(flags)
    )

    def body(c: Builder, indices: tuple[Atom, ...]) -> Sequence[Atom]:
        args = over.enter([x.at(c, indices) for x in arrays])
        starts = tuple(x.at(c, indices) for x in flags)
        initial = () if starts else over.initial
        found = c.emit(Prefix(over.fn, over.neutral, args, op.exclusive, starts, initial))
        return over.leave(c, found, some=not op.exclusive) if starts else over.values(found)

    sinks = tuple(Store() for _ in op.xs)
    return b.emit(Sweep(shape, body_over(b, shape, body), sinks, op.reverse))


def _reduce_segments(b: Builder, scope: Scope, op: ReduceSegments) -> Sequence[Atom]:
    """A second sweep combines `ne` with each result, where it cannot be part of the first one."""
    fn, ne = _operator(b, scope, op.fn, "segmented_reduce"), scope.atoms(op.neutral)
    over = monoid(b, fn, ne)

    def enter(c: Builder, taken: tuple[Atom, ...]) -> Sequence[Atom]:
        start, *elements = taken
        return start, *over.enter(with_initial(c, fn, ne, elements))

    sink = CombineSegments(over.fn, over.neutral)
    count, *found = _over(b, scope, (op.starts, *op.xs), (sink,), enter)
    if not over.initial:
        return count, *found

    def leave(c: Builder, indices: tuple[Atom, ...]) -> Sequence[Atom]:
        combined = [c.emit(Index(x, indices, checked=False))[0] for x in found]
        return over.leave(c, combined, some=True)

    body = body_over(b, (count,), leave)
    return count, *b.emit(Sweep((count,), body, tuple(Store() for _ in ne)))


def _permute(b: Builder, scope: Scope, op: Permute) -> tuple[Atom, ...]:
    fn = _operator(b, scope, op.fn, "permute")
    sink = ScatterReduce(fn, scope.atoms(op.neutral), scope.atoms(op.dest))
    return _over(b, scope, (op.indices, *op.xs), (sink,))


def _concat(b: Builder, scope: Scope, op: Concat) -> tuple[Atom, ...]:
    arrays = [scope.pull(x) for x in op.xs]
    type_ = array_type(scope.atom(op.xs[0]))
    dest: Atom = b.emit(Empty(type_.dtype, (scope.atom(op.extent), *type_.shape[1:])))[0]
    offset: Atom = index(0)
    for xs in arrays:
        body = body_over(b, xs.shape, partial(_elements, [xs]))
        dest = b.emit(Sweep(xs.shape, body, (Insert(dest, offset),)))[0]
        offset = b.add(offset, b.product(xs.shape))
    return (dest,)


def _sort(b: Builder, scope: Scope, op: Sort | SortRows) -> tuple[Atom, ...]:
    """Expensive keys are stored and moved along; others are computed again in each pass."""

    def keys(c: Builder, elements: tuple[Atom, ...]) -> Sequence[Atom]:
        return translate_scalars(c, scope, op.fn, elements)

    count, xs, read = 0, scope.atoms(op.xs), op.xs
    if is_cheap_key(op.fn):
        fn = translate_lambda(b, scope, op.fn)
    else:
        count = len(op.fn.results)
        read = _over(b, scope, op.xs, tuple(Store() for _ in range(count)), keys)
        xs = (*read, *xs)
        fn = b.function([array_type(x).dtype for x in xs], lambda inside, *params: params[:count])
    if isinstance(op, SortRows):
        rows, length = scope.atoms((op.rows, op.length))
        return b.emit(SortRows(fn, rows, scope.atoms(op.offsets), length, xs))[count:]
    if scope.in_row:
        return b.emit(SortRow(fn, xs))[count:]
    seen = _seen(b, scope, read, fn.result_types(), (lambda c, found: found) if count else keys)
    return b.emit(RadixSort(fn, *seen, xs))[count:]


def _seen(
    b: Builder, scope: Scope, xs: Sequence[Atom], types: Sequence[Type], keys: Body
) -> tuple[tuple[Atom, ...], tuple[Atom, ...], tuple[Atom, ...], tuple[Atom, ...]]:
    """For each key the bits that are not the same in all elements, the least one and the greatest;
    then whether no element comes before the one before it, and whether each does. One reading finds
    all of it."""
    dtypes = [type_ for type_ in types if isinstance(type_, DType)]
    names = ("and", "or", "minimum", "maximum") * len(dtypes) + ("and", "and")
    kinds = [*(d for d in dtypes for _ in range(4)), bool_, bool_]
    neutral = tuple(constant(scalar.neutral(n, d), d) for n, d in zip(names, kinds, strict=True))

    def combine(c: Builder, *both: Atom) -> Sequence[Atom]:
        pairs = zip(names, both[: len(names)], both[len(names) :], strict=True)
        return [c.apply(name, mine, other) for name, mine, other in pairs]

    arrays = [scope.pull(x) for x in xs]
    last = b.sub(arrays[0].shape[0], index(1))

    def body(c: Builder, indices: tuple[Atom, ...]) -> Sequence[Atom]:
        here, behind = indices[0], c.apply("minimum", c.add(indices[0], index(1)), last)
        mine, after = (keys(c, tuple(x.at(c, (i,)) for x in arrays)) for i in (here, behind))
        falls: Atom = constant(False, bool_)
        for key, other in reversed(list(zip(mine, after, strict=True))):
            tie = c.apply("and", c.apply("eq", key, other), falls)
            falls = c.apply("or", c.apply("lt", other, key), tie)
        order = (c.apply("not", falls), c.apply("or", falls, c.apply("ge", here, last)))
        return [*(key for key in mine for _ in range(4)), *order]

    fn = b.function(kinds * 2, combine)
    shape = arrays[0].shape
    reading = Sweep(shape, body_over(b, shape, body), (Combine(fn, neutral),))
    *found, rises, falls = b.emit(reading)
    pairs = zip(found[::4], found[1::4], strict=True)
    varying = tuple(b.apply("xor", every, some) for every, some in pairs)
    return varying, tuple(found[2::4]), tuple(found[3::4]), (rises, falls)


def _control(
    b: Builder, scope: Scope, op: If | While | For | ByRow
) -> If | While | For | ByRow:
    match op:
        case If(condition=condition, then=then, other=other):
            condition = scope.atom(condition)
            bodies = [
                _branch(branch(b, condition, value), scope, fn)
                for fn, value in ((then, True), (other, False))
            ]
            return If(condition, *bodies)
        case While(condition=holds, body=body, init=init):
            turn = _branch(b.inner(optional=True), scope, body)
            return While(_branch(b.inner(), scope, holds), turn, scope.atoms(init))
        case For(lo=lo, hi=hi, step=step, body=body, init=init):
            lo, hi, step = scope.atoms((lo, hi, step))
            turn = _branch(b.inner(optional=True), scope, body)
            return For(lo, hi, step, turn, scope.atoms(init))
        case ByRow(count=count, totals=totals, offsets=offsets, groups=groups, fn=fn):
            alone = scope.inner()
            alone.in_row = True
            row = _branch(b.inner(optional=True), alone, fn)
            return ByRow(scope.atom(count), scope.atoms(totals), scope.atoms(offsets), groups, row)


def _branch(inside: Builder, scope: Scope, fn: Lambda) -> Lambda:
    """A host body, of scalars and of arrays alike."""
    inner = scope.inner()
    params = _params(inside, inner, fn.params)
    return inside.close(params, _translate_body(inside, inner, fn))


