"""Simplify: fold scalar work, and take extents that were checked to be equal for one.

    added(n: i64, xs: f32[n], m: i64, ys: f32[m]) =>
        p: bool = eq n m
        check p same [n, m] "lengths"
        a: f32[m] = map (y: f32 => mul y 1.0f32) [ys]
        zs: f32[n] = map (x: f32, y: f32 => add x y) [xs, a]
        in zs
    ==>
    added(n: i64, xs: f32[n], m: i64, ys: f32[n]) =>
        p: bool = eq n m
        check p same [n, m] "lengths"
        a: f32[n] = map (y: f32 => y) [ys]
        zs: f32[n] = map (add f32) [xs, a]
        in zs

A scatter of one bool becomes an update, of which elements may come in any order:

    d: bool[n] = scatter [flags] js [true, true, ..]
    ==>
    d: bool[n] = permute (or bool) [false] [flags] js [true, true, ..]

Values that a loop begins with and hands on together are one, as the extents of arrays that one
filter gives in each iteration:

    n2: i64, s: i32[n2], m2: i64, t: bool[m2] = while (..) (n: i64, a: i32[n], m: i64, b: bool[m] =>
        ..
        in k, c, k, d) [n0, xs, n0, ys]
    ==>
    n2: i64, s: i32[n2], m2: i64, t: bool[n2] = while (..) (n: i64, a: i32[n], m: i64, b: bool[n] =>
        ..

Fusion compares extents, so it sees more after this pass. The checks come first: what stood before
them goes over the extents that they compare, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flatweave.array_ir.syntax import FLAT, TRACED, Program
from flatweave.base.dtypes import bool_
from flatweave.ops import Check, Generate, Index, Permute, Scatter
from flatweave.passes.rewrite import Rewriter, array_pass
from flatweave.terms.build import FALSE, TRUE, Builder, Names, lambda_of
from flatweave.terms.control import Apply, For, While
from flatweave.terms.inequalities import is_index
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import Substitution


@array_pass(takes=(TRACED, FLAT))
def simplify(program: Program) -> Program:
    """Fold, share, and unify the extents that the program checks at its start."""
    return Program(program.name, _Unifier(*_equal_extents(program.fn)).program(program.fn))


def _equal_extents(fn: Lambda) -> tuple[dict[Var, Atom], list[Let]]:
    """For each extent among the parameters, the one it is checked to be equal to; the checks."""
    checks: list[Let] = []
    made = {let.vars[0]: let.op for let in fn.lets if isinstance(let.op, Apply)}
    params = {param: k for k, param in enumerate(fn.params)}
    equal: dict[Var, Atom] = {}
    for let in fn.lets:
        if not isinstance(let.op, Check) or let.op.kind != "same":
            continue
        test = made.get(let.op.condition) if isinstance(let.op.condition, Var) else None
        if test is None or test.fn != "eq":
            continue
        first, second = (_representative(equal, atom) for atom in test.args)
        if first == second:
            continue
        if isinstance(first, Const) or (second in params and first in params):
            first, second = _older_first(first, second, params)
        # a parameter's type cannot refer to a value that is computed later
        if isinstance(second, Var) and second in params and (
            isinstance(first, Const) or first in params
        ):
            equal[second] = first
            checks.append(let)
    return equal, checks


def _older_first(
    first: Atom, second: Atom, params: dict[Var, int]
) -> tuple[Atom, Atom]:
    if isinstance(first, Var) and isinstance(second, Var) and params[second] < params[first]:
        return second, first
    return first, second


def _representative(equal: dict[Var, Atom], atom: Atom) -> Atom:
    while isinstance(atom, Var) and atom in equal:
        atom = equal[atom]
    return atom


def _simpler(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
    """A simpler operation with the same results."""
    match op:
        case Index(checked=True):
            return _proved(b, op, let)
        case Scatter(xs=(x,)):
            return _in_any_order(b, op, x)
    return None


def _in_any_order(b: Builder, op: Scatter, x: Atom) -> Sequence[Atom] | None:
    """A scatter of one bool, the same for all elements, as an update by `or` or by `and`."""
    made = b.definition(x)
    if not isinstance(made, Generate) or made.fn.results[0] not in (TRUE, FALSE):
        return None
    name, neutral = ("or", FALSE) if made.fn.results[0] == TRUE else ("and", TRUE)
    return b.emit(Permute(lambda_of(name, bool_), (neutral,), op.dest, op.indices, op.xs))


def _proved(b: Builder, op: Index, let: Let) -> Sequence[Atom] | None:
    """A read without its test, where inequalities prove that its indices are inside."""
    pairs = zip(op.indices, array_type(op.xs).shape, strict=True)
    if not all(b.is_below(i, extent) or is_index(b, i, extent) for i, extent in pairs):
        return None
    return b.emit(op.replace(checked=False), let.vars[0].name)


def _twins(init: Sequence[Atom], params: Sequence[Var], after: Sequence[Atom]) -> dict[int, int]:
    """The states of a loop that are equal at first and after each iteration: each but the first of
    such with the first."""
    number: dict[Atom, int] = {param: k for k, param in enumerate(params)}
    classes = _numbered(init)
    while True:
        known = [classes[number[atom]] if atom in number else atom for atom in after]
        finer = _numbered(zip(classes, known, strict=True))
        if finer == classes:
            return {k: first for k, first in enumerate(classes) if k != first}
        classes = finer


def _numbered(values: Iterable[object]) -> list[int]:
    """For each value where an equal one is first."""
    first: dict[object, int] = {}
    return [first.setdefault(value, k) for k, value in enumerate(values)]


class _Unifier(Rewriter):
    """A walk that replaces an extent by its representative, except in the check itself."""

    def __init__(self, equal: dict[Var, Atom], checks: list[Let]) -> None:
        super().__init__(_simpler)
        self.equal = equal
        self.checks = checks
        self.own: dict[Var, Var] = {}
        self.tests: dict[Var, tuple[Atom, ...]] = {}

    def program(self, fn: Lambda) -> Lambda:
        b = Builder(Names())
        self.tests = {
            let.vars[0]: let.op.args
            for let in fn.lets if isinstance(let.op, Apply) and let.op.fn == "eq"
        }  # fmt: skip
        params = []
        for param in fn.params:
            known = _representative(self.equal, param)
            fresh = b.param(param.name, self.renaming.type(param.type))
            self.own[param] = fresh
            same = self.renaming.atom(known) if known is not param else fresh
            self.renaming.mapping[param] = same
            params.append(fresh)
        early = frozenset(self.checks)
        for let in (*self.checks, *(let for let in fn.lets if let not in early)):
            if isinstance(let.op, Check) and let.op.kind == "same":
                self._check(b, let.op, let)
            else:
                self.let(b, let)
        return b.close(params, [self.renaming.atom(result) for result in fn.results])

    def let(self, b: Builder, let: Let) -> None:
        if not isinstance(let.op, While | For):
            return super().let(b, let)
        params = let.op.binders()
        init = [self.renaming.atom(atom) for atom in let.op.init]
        twins = _twins(init, params, let.op.body.results)
        if not twins:
            return super().let(b, let)
        tested = let.op.condition.params if isinstance(let.op, While) else ()
        same: dict[Var, Atom] = {
            own[k]: own[first] for own in (params, tested) if own for k, first in twins.items()
        }
        super().let(b, Let(let.vars, Substitution(same).op(let.op), let.where))
        for k, first in twins.items():
            self.renaming.mapping[let.vars[k]] = self.renaming.mapping[let.vars[first]]
        return None

    def _check(self, b: Builder, op: Check, let: Let) -> None:
        """The check compares the extents as they came in."""
        b.where = let.where or b.where
        own = [self.own.get(v, self.renaming.atom(v)) if isinstance(v, Var) else v
               for v in self._operands(op)]
        condition = b.apply("eq", *own) if len(own) == 2 else self.renaming.atom(op.condition)
        values = tuple(self.own.get(v, self.renaming.atom(v)) if isinstance(v, Var) else v
                       for v in op.values_)
        if not (isinstance(condition, Const) and condition.value):
            b.emit(op.replace(condition=condition, values_=values))

    def _operands(self, op: Check) -> Sequence[Atom]:
        """The two atoms that a check compares; none if its condition is no comparison made here."""
        return self.tests.get(op.condition, ()) if isinstance(op.condition, Var) else ()
