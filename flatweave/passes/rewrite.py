"""What the passes share: the forms they take and give, and rebuilding a program let by let."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeGuard

from flatweave.array_ir.syntax import INDEX, Form, Program
from flatweave.base.dtypes import bool_, i64, u64
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import STACKED
from flatweave.base.pretty import Note, listed
from flatweave.ops import Callback, Check, Combine, Fold, Generate, Index, Map, Sweep, Weave
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import TRUE, Builder, Names, branch, index, lambda_of
from flatweave.terms.control import Apply, Cast, For, If
from flatweave.terms.syntax import (
    Atom,
    Const,
    Lambda,
    Let,
    Op,
    Var,
    array_type,
    constant,
    scalar_type,
)
from flatweave.terms.traverse import (
    Substitution,
    atoms_in,
    free_vars,
    lambdas_in,
    map_field,
    walk_lets,
    with_bodies,
    with_lets,
)

# -- array pass -----------------------------------------------------------------------------------
#
# How a pass declares the form it takes, and the form it gives.
#
#     @array_pass(takes=(SWEPT,), gives=FLAT)      SWEPT in, FLAT out
#     @array_pass(takes=(TRACED, FLAT))            whatever form of these it takes, it gives
#
# These two determine the possible orders of passes, and which passes are optional: those that give
# a form that includes every program they take.


Rewrite = Callable[[Program], Program]
Explain = Callable[[Program], list[Note]]
About = Callable[[Op], bool]


class ArrayPass:
    """A pure function from program to program, with its forms.

    `explain` tells users what the pass decides about a program. A program without an operation that
    the pass is `about` is returned unchanged, at the price of a look at each let.
    """

    __name__: str

    def __init__(
        self, rewrite: Rewrite, takes: tuple[Form, ...], gives: Form | None,
        explain: Explain | None, about: About | None,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, rewrite)
        self.rewrite = rewrite
        self.takes = takes
        self.gives = gives
        self.explain = explain
        self.about = about

    def __call__(self, program: Program) -> Program:
        if self.about is not None and not any(self.about(let.op) for let in walk_lets(program.fn)):
            return program
        return self.rewrite(program)

    def accepts(self, form: Form) -> bool:
        """Whether every program of a form is one that the pass takes."""
        return any(form.is_within(taken) for taken in self.takes)

    def form_after(self, form: Form) -> Form:
        """The form of its result for a program of this form, which it accepts."""
        return self.gives or form

    @property
    def is_optional(self) -> bool:
        """Whether a program that the pass takes can go on without it."""
        return self.gives is None or all(form.is_within(self.gives) for form in self.takes)

    def keeps_within(self, form: Form) -> bool:
        """Whether its result is of this form whenever its argument is."""
        return self.gives is None or self.gives.is_within(form)


def array_pass(
    *, takes: tuple[Form, ...], gives: Form | None = None, explain: Explain | None = None,
    about: About | None = None,
) -> Callable[[Rewrite], ArrayPass]:  # fmt: skip
    """Declare a pass; without `gives` it gives the form that it took, and without `about` it may
    change any program."""
    return lambda rewrite: ArrayPass(rewrite, takes, gives, explain, about)


def check_order(passes: Iterable[ArrayPass], first: Form, last: Form | None = None) -> None:
    """Raise CompilerBug unless passes can follow one another, from one form to another."""
    form, giver = first, "The program has"
    for step in passes:
        if not step.accepts(form):
            taken = listed([each.name for each in step.takes], "or")
            raise CompilerBug(f"{giver} {form.name} form, but {step.__name__} takes {taken} form.")
        if step.gives is not None:
            form, giver = step.gives, f"{step.__name__} gives"
    if last is not None and not form.is_within(last):
        raise CompilerBug(f"{giver} {form.name} form, but {last.name} form is lowered.")


def leading_to(last: Form, passes: Iterable[ArrayPass]) -> tuple[ArrayPass, ...]:
    """The passes without the optional ones whose result is not of this form."""
    return tuple(step for step in passes if step.keeps_within(last) or not step.is_optional)


# -- rewrite --------------------------------------------------------------------------------------
#
# Rebuilding a program let by let: what the passes share.
#
# A pass gives a rule. The rule sees each op after its operands were renamed, with the builder of
# the op's body, and returns the atoms that replace its results, or None to keep the op. Scalar work
# is folded and shared on the way, and reads that are known to be inside lose their checks, so a
# pass returns a program in canonical form.
#
# At the end is what several passes ask of a sweep.


Rule = Callable[[Builder, Op, Let], Sequence[Atom] | None]


def rewrite(program: Program, rule: Rule) -> Program:
    """The program with `rule` applied to every let, outermost first, in order."""
    return Program(program.name, Rewriter(rule).program(program.fn))


class Rewriter:
    """One walk over a program; `renaming` maps old variables to new atoms."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.renaming = Substitution()

    def program(self, fn: Lambda) -> Lambda:
        return self.body(Builder(Names()), fn, ())

    def body(self, b: Builder, fn: Lambda, below: Sequence[Atom] = ()) -> Lambda:
        """Fill `b` with the rewritten body of `fn`; leading indices stay below the extents."""
        params = []
        for k, param in enumerate(fn.params):
            bound = below[k] if k < len(below) else None
            fresh = b.param(param.name, self.renaming.type(param.type), bound)
            self.renaming.mapping[param] = fresh
            params.append(fresh)
        for let in fn.lets:
            self.let(b, let)
        return b.close(params, [self.renaming.atom(result) for result in fn.results])

    def let(self, b: Builder, let: Let) -> None:
        b.where = let.where or b.where
        op = self.op(b, let.op)
        if isinstance(op, Check | If):
            op = op.replace(condition=b.settled(op.condition))
        if isinstance(op, Check) and isinstance(op.condition, Const) and op.condition.value:
            return  # a check that always holds is dropped
        atoms = self.rule(b, op, let)
        if atoms is None:
            atoms = emit(b, op, [var.name for var in let.vars])
        self.bind(let.vars, atoms)

    def bind(self, vars_: Sequence[Var], atoms: Sequence[Atom]) -> None:
        self.renaming.mapping.update(zip(vars_, atoms, strict=True))

    def op(self, b: Builder, op: Op) -> Op:
        """The op over the new names; its lambdas are rewritten in separate builders."""
        if type(op) is Apply:
            return Apply(op.fn, tuple(map(self.renaming.atom, op.args)))
        below = self._below(op)

        def function(fn: Lambda) -> Lambda:
            if isinstance(op, For) and fn is op.body:
                return self._loop(b.inner(), op)
            if isinstance(op, If):
                inside = branch(b, self.renaming.atom(op.condition), value=fn is op.then)
                return self.body(inside, fn)
            if isinstance(op, Map):
                return self._element(b.inner(), op)
            indexed = fn is getattr(op, "body", None) or fn is getattr(op, "fn", None)
            return self.body(b.inner(), fn, below if indexed else ())

        renamed: Op = map_field(op, self.renaming.atom, function)
        return _unchecked(b, renamed) if isinstance(renamed, Index) else renamed

    def _loop(self, b: Builder, op: For) -> Lambda:
        """The body of a loop; its counter, from 0 or more on, is below where it ends."""
        counter = op.body.params[0]
        starts = self.renaming.atom(op.lo)
        fresh = b.param(counter.name, counter.type)
        if counter.type is i64 and b.least(starts) >= 0 and op.step == index(1):
            b.assume_below(fresh, self.renaming.atom(op.hi))
        self.renaming.mapping[counter] = fresh
        inside = self.body(b, Lambda(op.body.params[1:], op.body.lets, op.body.results))
        return Lambda((fresh, *inside.params), inside.lets, inside.results)

    def _element(self, b: Builder, op: Map) -> Lambda:
        """The function of a map; an element of an array of indices is one."""
        params = []
        for param, x in zip(op.fn.params, op.xs, strict=True):
            fresh = b.param(param.name, self.renaming.type(param.type))
            self.renaming.mapping[param] = fresh
            params.append(fresh)
            match b.definition(self.renaming.atom(x)):
                case Generate(shape=shape, fn=Lambda(params=at, results=(place,))) if place in at:
                    b.assume_below(fresh, shape[at.index(place)])
        inside = self.body(b, Lambda((), op.fn.lets, op.fn.results))
        return Lambda(tuple(params), inside.lets, inside.results)

    def _below(self, op: Op) -> tuple[Atom, ...]:
        """Extents that the indices given to an op's body stay below."""
        match op:
            case Sweep(shape=shape) | Generate(shape=shape):
                return tuple(self.renaming.atom(extent) for extent in shape)
            case Fold(extent=extent):
                return (self.renaming.atom(extent),)
            case _:
                return ()


def _unchecked(b: Builder, op: Index) -> Index:
    """A read whose indices are known to be inside needs no check."""
    if not op.checked:
        return op
    shape = array_type(op.xs).shape
    inside = all(b.is_below(i, extent) for i, extent in zip(op.indices, shape, strict=True))
    return op.replace(checked=False) if inside else op


def emit(b: Builder, op: Op, hints: Sequence[str] = ()) -> Sequence[Atom]:
    """Emit an op; scalar work is folded and shared, and of a branch whose condition is known the
    body that is taken stays."""
    match op:
        case Apply(fn=fn, args=args):
            return (b.apply(fn, *args),)
        case Cast(dtype=dtype, arg=arg):
            return (b.cast(arg, dtype),)
        case If(condition=Const(value=value), then=then, other=other):
            return b.inline(then if value else other, [])
        case _:
            return b.emit(op, hints[0] if hints else "t")


def tested(
    b: Builder, indices: Sequence[Atom], shape: Sequence[Atom], row: tuple[Atom, ...]
) -> tuple[Atom, ...]:
    """The indices of a checked read: each is tested, and replaced by 0 if it is outside."""
    safe: list[Atom] = []
    for axis, (i, extent) in enumerate(zip(indices, shape, strict=True)):
        if b.is_below(i, extent):
            safe.append(i)
            continue
        inside = b.apply("lt", b.cast(i, u64), b.cast(extent, u64))
        b.emit(Check(inside, INDEX, (i, extent), str(axis), row))
        safe.append(b.apply("select", inside, i, index(0)))
    return tuple(safe)


def every_holds() -> Combine:
    """The conjunction of a condition over a sweep."""
    return Combine(lambda_of("and", bool_), (TRUE,))


def hold(b: Builder, check: Check, holds: Atom) -> None:
    """Keep alive what has made a check for each row: `holds` is their conjunction, which it has
    computed, so that the check emitted here never fails."""
    values = tuple(constant(0, scalar_type(value)) for value in check.values_)
    b.emit(Check(holds, check.kind, values, check.message))


STREAMS = 20
"""One sweep may read and write this many arrays."""


def is_ordered(op: Sweep) -> bool:
    """Whether the direction of the sweep shows in its results."""
    reductions = filter(None, (sink.reduction() for sink in op.sinks))
    return (
        op.scans
        or any(sink.forward or sink.filters for sink in op.sinks)
        or not all(map(is_commutative, reductions))
    )


def read_elsewhere(op: Sweep) -> set[Var]:
    """The variables with a use other than a read at the sweep's own position."""
    found = set(free_vars(op.sinks))
    for let in walk_lets(op.body):
        if isinstance(let.op, Index) and let.op.indices == op.body.params:
            continue
        found.update(value for value in let.op.values() if isinstance(value, Var))
    return found


def stored_by(let: Let) -> dict[Var, Atom]:
    """Each array that a sweep stores, with the result of the body that it stores; arrays at a
    barrier are not among them."""
    assert isinstance(let.op, Sweep)
    groups = let.op.binders_by_sink(let.vars)
    parts = zip(let.op.sinks, groups, let.op.portions(), strict=True)
    return {group[0]: taken[0] for sink, group, taken in parts if sink.is_open}


def atoms_used(fn: Lambda) -> Iterator[Atom]:
    """The atoms named in a function and in those inside it; extents in types are not included."""
    for let in fn.lets:
        yield from atoms_in(let.op)
        for inner in lambdas_in(let.op):
            yield from atoms_used(inner)
    yield from fn.results


class LocalNames(Names):
    """Names for a body that is part of a program whose names are not known here."""

    mark = "m"


def numbered(fn: Lambda, row: Var, varying: Collection[Var] | None = None) -> Lambda:
    """A function whose checks, and those inside it, know the row's number, unless they do; so do
    calls of libraries, which may refuse a row. Calls that are the same for all rows are made once;
    `varying` has what differs around an inner function."""
    if not any(_fails(let.op) for let in walk_lets(fn)):
        return fn
    lets, moving = [], set(fn.params if varying is None else varying)
    for let in fn.lets:
        differs = not moving.isdisjoint(free_vars(let.op))
        inside = moving.union(*(each.params for each in lambdas_in(let.op))) if differs else moving
        made = with_bodies(let, partial(numbered, row=row, varying=inside))
        moving.update(let.vars if differs else ())
        if _fails(op := made.op) and not op.row and (differs or not isinstance(op, Callback)):
            made = Let(let.vars, op.replace(row=(row,)), let.where)
        lets.append(made)
    return with_lets(fn, lets)


def _fails(op: Op) -> TypeGuard[Check | Index | Callback]:
    if isinstance(op, Callback):
        return op.method == STACKED
    return isinstance(op, Check) or (isinstance(op, Index) and op.checked)


def read_in_turn(op: Weave) -> Generate:
    """Interleaved elements of several arrays: complex numbers of their parts, along a last axis."""
    shape = array_type(op.xs[0]).shape

    def element(b: Builder, *indices: Var) -> Sequence[Atom]:
        at: Sequence[Atom] = indices[:-1]
        which: Atom = indices[-1]
        if op.shape[:-1] != shape:
            place, count = b.ravel(indices, op.shape), index(len(op.xs))
            which = b.apply("mod", place, count)
            at = b.unravel(b.apply("floordiv", place, count), shape)
        found, *others = (b.emit(Index(x, tuple(at), checked=False))[0] for x in op.xs)
        result: Atom = found
        for k, other in enumerate(others, 1):
            result = b.apply("select", b.apply("eq", which, index(k)), other, result)
        return (result,)

    return Generate(op.shape, Builder().function([i64] * len(op.shape), element))
