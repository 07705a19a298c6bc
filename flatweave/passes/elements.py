"""Element functions without inner arrays: each array becomes a pull, computed where it is read.

    row: f32[m] = generate [m] (j => index xs i j)          s: f32 = fold m (j =>
    sq: f32[m] = map (v => mul v v) [row]           ==>         v = index xs i j
    s: f32 = reduce (add) [0.0f32] [sq]                         in mul v v) (add) [0.0f32]

A *pull* is an array as a function of its indices (Obsidian's pull array, Accelerate's delayed
array): nothing is stored. A scan, filter, scatter or loop over arrays has to be: Unsupported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from flatweave.base.dtypes import i64
from flatweave.base.errors import Unsupported
from flatweave.base.records import record
from flatweave.ops import (
    Check,
    Concat,
    Empty,
    Fold,
    Generate,
    Index,
    Locate,
    Map,
    Reduce,
    Reshape,
    Sort,
    Span,
)
from flatweave.passes.cost import FEW, INNER_LOOP
from flatweave.passes.monoid import monoid
from flatweave.passes.nests.lift import Sorted
from flatweave.passes.rewrite import tested
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Const,
    Lambda,
    Let,
    Op,
    Type,
    Var,
    array_type,
    constant,
)
from flatweave.terms.traverse import free_vars


@record
class Pull:
    """An array that is not stored: `at` emits what computes one element."""

    shape: tuple[Atom, ...]
    at: Callable[[Builder, tuple[Atom, ...]], Atom]
    in_scalars: bool = False
    """Whether it is a known number of scalars, which are best read at constant indices."""

    def below(self, leading: tuple[Atom, ...]) -> Pull:
        """The array that is left when the leading axes are indexed."""
        return Pull(self.shape[len(leading) :], lambda b, rest: self.at(b, leading + rest))


Value = Atom | Pull


class Scope:
    """The values of the variables of a body under translation; `in_row`: of a row's program, which
    one thread runs."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.in_row: bool = outer.in_row if outer else False
        self.values: dict[Var, Value] = {}
        self.views: dict[Atom, Pull] = {}

    def inner(self) -> Scope:
        return Scope(self)

    def bind(self, vars_: Sequence[Var], values: Sequence[Value]) -> None:
        self.values.update(zip(vars_, values, strict=True))

    def value(self, atom: Atom) -> Value:
        scope: Scope | None = self
        while scope is not None and isinstance(atom, Var):
            if atom in scope.values:
                return scope.values[atom]
            scope = scope.outer
        return atom

    def atom(self, atom: Atom) -> Atom:
        value = self.value(atom)
        if isinstance(value, Pull):
            raise Unsupported(f"{atom!r} would have to be stored inside an element function.")
        return value

    def atoms(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(self.atom(atom) for atom in atoms)

    def type(self, type_: Type) -> Type:
        if not isinstance(type_, ArrayType):
            return type_
        return ArrayType(type_.dtype, self.atoms(type_.shape))

    def result(self, atom: Atom) -> Value:
        """What a function gives: an array as a pull, one from outside of it, too."""
        return self.pull(atom) if isinstance(atom.type, ArrayType) else self.value(atom)

    def view(self, atom: Atom) -> Pull | None:
        """A reshaped array as a pull of what it is a view of."""
        scope: Scope | None = self
        while scope is not None:
            if atom in scope.views:
                return scope.views[atom]
            scope = scope.outer
        return None

    def pull(self, atom: Atom) -> Pull:
        """An array as a pull, whether it is stored or not."""
        value = self.value(atom)
        if isinstance(value, Pull):
            return value
        view = self.view(value)
        if view is not None:
            return view
        shape = self.atoms(array_type(value).shape)
        return Pull(shape, lambda b, indices: _read(b, value, indices))


def _read(b: Builder, array: Atom, indices: tuple[Atom, ...]) -> Atom:
    return b.emit(Index(array, indices, checked=False))[0]


def translate(b: Builder, scope: Scope, fn: Lambda, args: Sequence[Value]) -> list[Value]:
    """Emit the body of an element function into `b`; its results are atoms or pulls."""
    inside = scope.inner()
    inside.bind(fn.params, args)
    for let in fn.lets:
        where, b.where = b.where, let.where or b.where
        inside.bind(let.vars, _translate_let(b, inside, let))
        b.where = where
    return [inside.result(result) for result in fn.results]


def translate_scalars(
    b: Builder, scope: Scope, fn: Lambda, args: Sequence[Value]
) -> tuple[Atom, ...]:
    """As `translate`, for a function that gives scalars."""
    results = translate(b, scope, fn, args)
    if any(isinstance(result, Pull) for result in results):
        raise Unsupported("An operator or condition gives an array where only scalars can be.")
    return tuple(result for result in results if not isinstance(result, Pull))


def translate_lambda(b: Builder, scope: Scope, fn: Lambda, optional: bool = False) -> Lambda:
    """A separate scalar lambda, without inner arrays; an `optional` one may not run at all."""
    return b.function(
        [scope.type(param.type) for param in fn.params],
        lambda inside, *params: translate_scalars(inside, scope, fn, params),
        optional,
    )


def _translate_let(b: Builder, scope: Scope, let: Let) -> Sequence[Value]:
    match let.op:
        case Apply(fn=fn, args=args):
            return (b.apply(fn, *scope.atoms(args)),)
        case Cast(dtype=dtype, arg=arg):
            return (b.cast(scope.atom(arg), dtype),)
        case Index():
            return (_translate_index(b, scope, let.op),)
        case Locate(ends=ends, skip=skip, position=position):
            return b.emit(Locate(scope.atom(ends), skip, scope.atom(position)))
        case Span(offsets=offsets, row=row):
            return ends_of_row(b, scope.pull(offsets), scope.atom(row))
        case Concat():
            return (pull_of_concat(scope, let.op),)
        case Empty(dtype=dtype, shape=shape):
            unset = constant(0, dtype)
            return (Pull(scope.atoms(shape), lambda b, indices: unset),)
        case Map():
            return pulls_of_map(scope, let.op)
        case Generate():
            return pulls_of_generate(scope, let.op)
        case Sort():
            return _pulls_of_sort(b, scope, let.op)
        case Reshape(xs=xs, shape=shape):
            return (pull_of_reshape(scope.pull(xs), scope.atoms(shape)),)
        case Reduce():
            return _translate_reduce(b, scope, let.op)
        case Check():
            return _translate_check(b, scope, let.op)
        case If() | While() | For():
            return _translate_control(b, scope, let.op)
        case _:
            raise _unsupported(let.op, let)


def _unsupported(op: Op, let: Let) -> Unsupported:
    remedy = "Write it on whole arrays outside the map, or as a fori_loop over scalars."
    return Unsupported(
        f"{op.name} inside an element function is not supported yet.",
        where=let.where, remedy=remedy,
    )  # fmt: skip


def _translate_index(b: Builder, scope: Scope, op: Index) -> Atom:
    array, indices = scope.value(op.xs), scope.atoms(op.indices)
    if isinstance(array, Pull):
        return array.at(
            b, tested(b, indices, array.shape, scope.atoms(op.row)) if op.checked else indices
        )
    view = None if op.checked else scope.view(array)
    if view is not None:
        return view.at(b, indices)
    return b.emit(Index(array, indices, op.checked, scope.atoms(op.row)))[0]


def _translate_check(b: Builder, scope: Scope, op: Check) -> Sequence[Value]:
    """Emit a check in the outermost body that knows its operands and is sure to run."""
    condition, values = b.settled(scope.atom(op.condition)), scope.atoms(op.values_)
    if condition == TRUE:
        return ()
    row = scope.atoms(op.row)  # a check of a row stays with it: there may be no such row
    home = b.check_home((condition, *values, *row))
    home.emit(Check(condition, op.kind, values, op.message, row))
    return ()


def _result_pulls(
    count: int,
    depth: int,
    shapes: Sequence[tuple[Atom, ...]],
    element: Callable[[Builder, tuple[Atom, ...]], list[Value]],
    in_scalars: bool = False,
) -> list[Pull]:
    """One pull for each result of an element function over `depth` axes."""
    emitted: dict[tuple[Builder, tuple[Atom, ...]], list[Value]] = {}

    def at(k: int) -> Callable[[Builder, tuple[Atom, ...]], Atom]:
        def read(b: Builder, indices: tuple[Atom, ...]) -> Atom:
            key = b, indices[:depth]
            if key not in emitted:
                emitted[key] = element(*key)
            value = emitted[key][k]
            return value.at(b, indices[depth:]) if isinstance(value, Pull) else value

        return read

    return [Pull(shapes[k], at(k), in_scalars and _count(shapes[k]) > 0) for k in range(count)]


def _count(shape: Sequence[Atom]) -> int:
    """How many elements an array has, where they are known and few; else 0."""
    known = [int(extent.value) for extent in shape if isinstance(extent, Const)]
    count = prod(known)
    return count if len(known) == len(shape) and count <= FEW else 0


def _reads_scalars(scope: Scope, op: Op) -> bool:
    """Whether an operation reads arrays that are in scalars."""
    values = map(scope.value, free_vars(op))
    return any(isinstance(value, Pull) and value.in_scalars for value in values)


def pulls_of_map(scope: Scope, op: Map) -> list[Pull]:
    """map fn xs   as   (i => fn (xs i))"""
    arrays = [scope.pull(x) for x in op.xs]
    shapes = [_shape(scope, type_) for type_ in op.result_types()]

    def element(b: Builder, indices: tuple[Atom, ...]) -> list[Value]:
        args: list[Value] = [
            x.at(b, indices) if len(x.shape) == op.depth else x.below(indices) for x in arrays
        ]
        return translate(b, scope, op.fn, args)

    return _result_pulls(len(shapes), op.depth, shapes, element, _reads_scalars(scope, op))


def pulls_of_generate(scope: Scope, op: Generate) -> list[Pull]:
    """generate shape fn   as   (i j => fn i j)"""
    shapes = [_shape(scope, type_) for type_ in op.result_types()]

    def element(b: Builder, indices: tuple[Atom, ...]) -> list[Value]:
        return translate(b, scope, op.fn, indices)

    return _result_pulls(len(shapes), len(op.shape), shapes, element, _reads_scalars(scope, op))


def _pulls_of_sort(b: Builder, scope: Scope, op: Sort) -> list[Pull]:
    """sort fn xs   as   (i => the i-th of scalars in a network)"""
    arrays = [scope.pull(x) for x in op.xs]
    (extent,) = arrays[0].shape
    assert isinstance(extent, Const)
    places = range(int(extent.value))
    elements = [[x.at(b, (index(i),)) for x in arrays] for i in places]
    network = Sorted(b, translate_lambda(b, scope, op.fn), elements)

    def column(k: int) -> Callable[[Builder, tuple[Atom, ...]], Atom]:
        def at(b: Builder, indices: tuple[Atom, ...]) -> Atom:
            if isinstance(indices[0], Const):
                return network.at(int(indices[0].value))[k]
            found = network.at(places[-1])[k]
            for i in places[:-1]:
                here = b.apply("eq", indices[0], index(i))
                found = b.apply("select", here, network.at(i)[k], found)
            return found

        return at

    return [Pull(x.shape, column(k), in_scalars=True) for k, x in enumerate(arrays)]


def pull_of_reshape(xs: Pull, shape: tuple[Atom, ...]) -> Pull:
    def at(b: Builder, indices: tuple[Atom, ...]) -> Atom:
        return xs.at(b, b.unravel(b.ravel(indices, shape), xs.shape))

    return Pull(shape, at, xs.in_scalars)


def pull_of_concat(scope: Scope, op: Concat) -> Pull:
    """concat xs ys   as   (j => if j < n then xs j else ys (j - n))"""
    parts = [scope.pull(x) for x in op.xs]

    def at(b: Builder, indices: tuple[Atom, ...], parts: Sequence[Pull] = parts) -> Atom:
        first, *rest = parts
        if not rest:
            return first.at(b, indices)
        j, extent = indices[0], first.shape[0]
        if isinstance(j, Const) and isinstance(extent, Const):
            if j.value < extent.value:
                return first.at(b, indices)
            return at(b, (b.sub(j, extent), *indices[1:]), rest)
        return b.choose(
            b.apply("lt", j, extent), lambda c: [first.at(c, indices)],
            lambda c: [at(c, (c.sub(j, extent), *indices[1:]), rest)],
        )[0]  # fmt: skip

    shape = (scope.atom(op.extent), *parts[0].shape[1:])
    return Pull(shape, at, all(_count(part.shape) for part in parts) and _count(shape) > 0)


def ends_of_row(b: Builder, offsets: Pull, row: Atom) -> tuple[Atom, Atom]:
    """Where a row begins, and how long it is."""
    start = offsets.at(b, (row,))
    return start, b.sub(offsets.at(b, (b.add(row, index(1)),)), start)


def _shape(scope: Scope, type_: Type) -> tuple[Atom, ...]:
    return scope.atoms(type_.shape) if isinstance(type_, ArrayType) else ()


def _translate_reduce(b: Builder, scope: Scope, op: Reduce) -> Sequence[Value]:
    """reduce fn ne xs   ==>   fold n (k => xs k) fn neutral for each axis inside the one before,
    and ne once"""
    arrays = [scope.pull(x) for x in op.xs]
    shape = arrays[0].shape
    fn, total = translate_lambda(b, scope, op.fn), scope.atoms(op.neutral)
    count = _count(shape)
    is_short = len(total) > 1 and 0 < count <= INNER_LOOP
    if count and (is_short or any(x.in_scalars for x in arrays)):
        for at in product(*(range(int(e.value)) for e in shape if isinstance(e, Const))):
            total = b.inline(fn, [*total, *(x.at(b, tuple(map(index, at))) for x in arrays)])
        return total
    over = monoid(b, fn, total, known=op.known)

    def folded(b: Builder, indices: tuple[Atom, ...]) -> Sequence[Atom]:
        if len(indices) == len(shape):
            return over.enter([x.at(b, indices) for x in arrays])
        inside = b.inner()
        k = inside.param("k", i64, shape[len(indices)])
        body = inside.close([k], folded(inside, (*indices, k)))
        return b.emit(Fold(shape[len(indices)], body, over.fn, over.neutral))

    return over.leave(b, folded(b, ()))


def _translate_control(b: Builder, scope: Scope, op: If | While | For) -> Sequence[Value]:
    match op:
        case If(condition=condition, then=then, other=other):
            return b.choose(
                scope.atom(condition),
                lambda inside: translate_scalars(inside, scope, then, ()),
                lambda inside: translate_scalars(inside, scope, other, ()),
            )
        case While(condition=holds, body=body, init=init):
            test = translate_lambda(b, scope, holds)
            turn = translate_lambda(b, scope, body, optional=True)
            return b.emit(While(test, turn, scope.atoms(init)))
        case For(lo=lo, hi=hi, step=step, body=body, init=init):
            lo, hi, step = scope.atoms((lo, hi, step))
            inner = translate_lambda(b, scope, body, optional=True)
            return b.emit(For(lo, hi, step, inner, scope.atoms(init)))


