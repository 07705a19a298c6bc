"""The Builder: emits lets with fresh names and inferred types, and shares equal scalar work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.source import Location
from flatweave.scalar import ops as scalar
from flatweave.terms.body_facts import BodyFacts, fold_range
from flatweave.terms.control import (
    NO_BODY,
    Apply,
    Cast,
    For,
    If,
    While,
    fold_apply,
    fold_cast,
    fold_position,
)
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Type, Var, constant
from flatweave.terms.traverse import Substitution, free_vars


class Names:
    """Fresh names, x_1, x_2, ..: one supply for each program."""

    mark = ""

    def __init__(self) -> None:
        self._taken = 0

    def fresh(self, hint: str) -> str:
        self._taken += 1
        return f"{hint.split('_', 1)[0]}_{self.mark}{self._taken}"

    def var(self, hint: str, type_: Type) -> Var:
        return Var(self.fresh(hint), type_)

    def fork(self) -> Names:
        """A supply that goes on from here, whatever is taken from this one."""
        fork = Names()
        fork._taken = self._taken
        return fork


class Arithmetic(Protocol):
    """Index arithmetic, spelled for readers."""

    def apply(self, fn: str, *args: Atom) -> Atom: ...

    def add(self, a: Atom, b: Atom) -> Atom:
        return self.apply("add", a, b)

    def sub(self, a: Atom, b: Atom) -> Atom:
        return self.apply("sub", a, b)

    def mul(self, a: Atom, b: Atom) -> Atom:
        return self.apply("mul", a, b)

    def ravel(self, indices: Sequence[Atom], shape: Sequence[Atom]) -> Atom:
        """The row-major position of an element; the index along an extent of 1 is 0."""
        one = index(1)
        flat: Atom = index(0) if shape[0] == one else indices[0]
        for i, extent in zip(indices[1:], shape[1:], strict=True):
            if extent != one:
                flat = self.add(self.mul(flat, extent), i)
        return flat

    def unravel(self, flat: Atom, shape: Sequence[Atom]) -> tuple[Atom, ...]:
        """The indices of the element at a row-major position."""
        indices: list[Atom] = []
        for extent in reversed(shape[1:]):
            indices.insert(0, self.apply("mod", flat, extent))
            flat = self.apply("floordiv", flat, extent)
        return flat, *indices

    def product(self, extents: Sequence[Atom]) -> Atom:
        total: Atom = index(1)
        for extent in extents:
            total = self.mul(total, extent)
        return total

    def ceil_div(self, a: Atom, by: Atom) -> Atom:
        """a / by, rounded up: how many parts of `by` hold `a` elements."""
        return self.apply("floordiv", self.add(a, self.sub(by, index(1))), by)

    def round_down(self, a: Atom, by: Atom) -> Atom:
        """The greatest multiple of `by` that is at most a."""
        return self.mul(self.apply("floordiv", a, by), by)


Body = Callable[["Builder"], Sequence[Atom]]
"""What writes a body, and gives its results."""


class Builder(BodyFacts, Arithmetic):
    """A body under construction; `outer` is the builder of the enclosing body."""

    def __init__(
        self, names: Names | None = None, outer: Builder | None = None, optional: bool = False
    ) -> None:
        super().__init__()
        self.names: Names = names or (outer.names if outer else Names())
        self.outer: Builder | None = outer
        self.optional = optional
        self.params: list[Var] = []
        self.lets: list[Let] = []
        self.where: Location | None = outer.where if outer else None
        self.hoists = True
        self._known: dict[tuple[Any, ...], Atom] = {}

    def param(self, hint: str, type_: Type, below: Atom | None = None) -> Var:
        """A fresh parameter of this body; an index says what extent it stays below.

        The indices of one body go over one space, the size of which was checked to fit.
        """
        var = self.var(hint, type_)
        self.params.append(var)
        self.bind(var, None)
        if below is not None:
            self.assume_index(var, below)
        return var

    def params_like(self, params: Sequence[Var], renaming: Substitution) -> list[Var]:
        """Parameters like others, of which earlier ones may be extents of later ones."""
        made: list[Var] = []
        for param in params:
            made.append(self.param(param.name, renaming.type(param.type)))
            renaming.mapping[param] = made[-1]
        return made

    def check_home(self, atoms: Sequence[Atom]) -> Builder:
        """Where a check belongs: the outermost body that knows these atoms and surely runs."""
        return self._outermost(atoms, lambda scope: not scope.optional)

    def _outermost(self, atoms: Sequence[Atom], leaves: Callable[[Builder], bool]) -> Builder:
        """The outermost body that knows all of these atoms, by way of those that `leaves` names."""
        scope, unplaced = self, [atom for atom in atoms if isinstance(atom, Var)]
        while scope.outer is not None and leaves(scope) and not any(
            var in scope.own or scope.scope_of(var) is None for var in unplaced
        ):
            scope = scope.outer
        return scope

    def var(self, hint: str, type_: Type) -> Var:
        return self.names.var(hint, type_)

    def emit(self, op: Op, hint: str = "t") -> tuple[Var, ...]:
        """Append `op` under fresh variables and return them."""
        if isinstance(op, (Apply, Cast)):  # as are most ops of a program: in fewer steps
            var = self.var(hint, op.result_types()[0])
            self.lets.append(Let((var,), op, self.where))
            self.own[var] = op
            return (var,)
        binders = op.binders()
        vars_: tuple[Var, ...]
        if len(binders) == 1 and not isinstance(binders[0].type, ArrayType):
            vars_ = (self.var(_hint(binders[0], hint), binders[0].type),)
        else:
            renaming = Substitution(fresh=lambda var, type_: self.var(_hint(var, hint), type_))
            vars_ = tuple(renaming.binder(binder) for binder in binders)
        self.append(Let(vars_, op, self.where))
        return vars_

    def adopt(self, let: Let) -> None:
        """Register a let that is already in this body."""
        for var in let.vars:
            self.own[var] = let.op
        if isinstance(let.op, Apply):
            self._known[("apply", let.op.fn, *let.op.args)] = let.vars[0]
        elif isinstance(let.op, Cast):
            self._known[("cast", let.op.dtype, let.op.arg)] = let.vars[0]

    def append(self, let: Let) -> None:
        """Append a let whose variables are fresh, or stood in a body inside of this one."""
        self.lets.append(let)
        self.assume_let(let)

    def apply(self, fn: str, *args: Atom) -> Atom:
        """A scalar function of atoms, folded where it can be, computed once per body."""
        known = self._shared_value(("apply", fn, *args))
        if known is None and fn == "eq":  # what a check has found holds either way round
            known = self._shared_value(("apply", fn, *reversed(args)))
        if known is not None:
            return known
        found = folded(self, fn, args)
        return self._share(("apply", fn, *args), found, Apply(fn, args), args)

    def cast(self, arg: Atom, dtype: DType) -> Atom:
        if arg.type is dtype:
            return arg
        key = ("cast", dtype, arg)
        known = self._shared_value(key)
        return known or self._share(key, fold_cast(arg, dtype), Cast(dtype, arg), (arg,))

    def once(self, op: Op, *operands: Atom) -> Atom:
        """The result of an op that is the same anywhere in this body, cached by its operands."""
        key = (op.name, *operands)
        known = self._shared_value(key)
        if known is None:
            known = self._known[key] = self.emit(op)[0]
        return known

    def _shared_value(self, key: tuple[Any, ...]) -> Atom | None:
        scope: Builder | None = self
        while scope is not None:
            if key in scope._known:
                return scope._known[key]
            scope = scope.outer
        return None

    def is_first(self, what: Atom) -> bool:
        """Whether nobody asked this of `what` before, in this body or in a body around it."""
        key = ("first", what)
        if self._shared_value(key) is not None:
            return False
        self._known[key] = what
        return True

    def _share(
        self, key: tuple[Any, ...], folded: Atom | None, op: Op, args: Sequence[Atom]
    ) -> Atom:
        home = self
        if folded is None:
            home = self._outermost(args, lambda scope: scope.hoists)
            folded = home.emit(op)[0]
        home._known[key] = folded
        return folded

    def inner(self, optional: bool = False) -> Builder:
        """A builder for a body inside this one; an `optional` one may not run at all."""
        return Builder(outer=self, optional=optional)

    def iteration(
        self, hint: str, init: Sequence[Atom] = (), inside: Builder | None = None
    ) -> tuple[Builder, Var, tuple[Var, ...]]:
        """A builder for a loop's body, with the parameters that it has: an index, and the state."""
        inside = inside or self.inner()
        return inside, inside.param(hint, i64), tuple(inside.param("s", x.type) for x in init)

    def close_loop(
        self, lo: Atom, hi: Atom, init: Sequence[Atom], after: Sequence[Atom], by: int | Atom = 1
    ) -> tuple[Var, ...]:
        """Close this body and emit a loop of it in the one around: over its first parameter from lo
        to hi; the others are `init` at first, and after each iteration what `after` says."""
        assert self.outer is not None
        step = index(by) if isinstance(by, int) else by
        body = self.close(self.params, after)
        return self.outer.emit(For(lo, hi, step, body, tuple(init)))

    def close(self, params: Sequence[Var], results: Sequence[Atom]) -> Lambda:
        return Lambda(tuple(params), tuple(self.lets), tuple(results))

    def function(
        self, types: Sequence[Type], body: Callable[..., Sequence[Atom]], optional: bool = False
    ) -> Lambda:
        """A lambda over parameters of these types, its body written by a Python function."""
        inside = self.inner(optional)
        params = [inside.param("p", type_) for type_ in types]
        return inside.close(params, body(inside, *params))

    def inline(
        self, fn: Lambda, args: Sequence[Atom], around: Substitution | None = None
    ) -> tuple[Atom, ...]:
        """Emit the body of `fn` here with its parameters bound to `args`.

        `around` knows what variables that `fn` reads from around it have become here.
        """
        renaming = self.inlining(fn, args)
        if around is not None:
            renaming.mapping = {**around.mapping, **renaming.mapping}
        for let in fn.lets:
            self.inline_let(let, renaming)
        return tuple(renaming.atom(atom) for atom in fn.results)

    def inlining(self, fn: Lambda, args: Sequence[Atom]) -> Substitution:
        """The renaming under which lets of `fn` are to be emitted here."""
        return Substitution(
            dict(zip(fn.params, args, strict=True)), lambda var, type_: self.var(var.name, type_)
        )

    def inline_let(self, let: Let, renaming: Substitution) -> None:
        """Emit a let of a function that is inlined here; it keeps its line."""
        around, self.where = self.where, let.where or self.where
        match let.op:
            case Apply(fn=fn, args=args):
                atom = self.apply(fn, *(renaming.atom(arg) for arg in args))
                renaming.mapping[let.vars[0]] = atom
            case Cast(dtype=dtype, arg=arg):
                renaming.mapping[let.vars[0]] = self.cast(renaming.atom(arg), dtype)
            case _:
                self.append(renaming.let(let))
        self.where = around

    def copy(self, fn: Lambda) -> Lambda:
        """`fn` with every binder renamed, so that it can occur in the program again."""
        return Substitution(fresh=lambda var, type_: self.var(var.name, type_)).function(fn)

    # -- control flow: bodies that a `with` or a function writes

    @contextmanager
    def when(self, condition: Atom | None) -> Iterator[Builder]:
        """A body that runs where the condition holds; this body if there is no condition."""
        then = self if condition is None else branch(self, condition)
        yield then
        if condition is not None and then.lets:
            self.emit(If(condition, then.close([], []), NO_BODY))

    @contextmanager
    def branches(self, condition: Atom) -> Iterator[tuple[Builder, Builder]]:
        """Two bodies, the second of which runs where the condition does not hold."""
        then, other = branch(self, condition), branch(self, condition, value=False)
        yield then, other
        self.emit(If(condition, then.close([], []), other.close([], [])))

    def choose(self, condition: Atom, then: Body, other: Body, hint: str = "t") -> tuple[Var, ...]:
        """The values of one of two bodies; the other one does not run."""
        yes, no = branch(self, condition), branch(self, condition, value=False)
        bodies = yes.close([], then(yes)), no.close([], other(no))
        return self.emit(If(condition, *bodies), hint)

    @contextmanager
    def loop(
        self, lo: Atom, hi: Atom, step: int | Atom = 1, hint: str = "i"
    ) -> Iterator[tuple[Builder, Var]]:
        """A body for each index from `lo` on below `hi`, in order."""
        inside, i, _ = self.iteration(hint)
        yield inside, i
        inside.close_loop(lo, hi, [], [], step)

    def repeat(
        self, init: Sequence[Atom], holds: Callable[[Builder, tuple[Atom, ...]], Atom],
        step: Callable[[Builder, tuple[Atom, ...]], Sequence[Atom]], hints: str = "", *,
        through_memory: bool = False,
    ) -> tuple[Var, ...]:  # fmt: skip
        """Values that `step` changes while `holds` says so, named by the words of `hints`."""
        names = hints.split() or ["p"] * len(init)
        test, turn = self.inner(), self.inner()
        known, state = (
            tuple(b.param(name, atom.type) for name, atom in zip(names, init, strict=True))
            for b in (test, turn)
        )
        condition = test.close(known, [holds(test, known)])
        body = turn.close(state, step(turn, state))
        return self.emit(While(condition, body, tuple(init), through_memory))


TRUE, FALSE = Const(True, bool_), Const(False, bool_)


def index(value: int) -> Const:
    """An i64 constant."""
    return constant(value, i64)


def branch(b: Builder, condition: Atom, value: bool = True) -> Builder:
    """A builder for a body inside of b that runs only where a condition is true, or false."""
    inside = b.inner(optional=True)
    inside.assume_condition(condition, value)
    return inside


def folded(b: Builder, fn: str, args: Sequence[Atom]) -> Atom | None:
    """The atom that a scalar function equals by its laws or by what is known of its arguments."""
    if args and args[0].type is bool_:
        args = tuple(map(b.settled, args))
    return fold_apply(fn, args) or fold_position(b, fn, args) or fold_range(b, fn, args)


def _hint(var: Var, hint: str) -> str:
    return var.name if var.name != "t" else hint


def lambda_of(fn: str, dtype: DType) -> Lambda:
    """The binary scalar function `fn` as an operator: add at f32 is (a, b) => a + b."""
    a, b = Var("a", dtype), Var("b", dtype)
    out = Var("c", scalar.result_dtype(fn, [dtype, dtype]))
    return Lambda((a, b), (Let((out,), Apply(fn, (a, b))),), (out,))


def with_beside(b: Builder, *read: Lambda | Atom) -> tuple[list[Var], list[Var], Substitution]:
    """What functions and values read from outside, scalars first; new parameters for these; and
    the substitution of the parameters for them."""
    found = free_vars(read)
    beside = sorted(found, key=lambda var: isinstance(var.type, ArrayType))
    renamed = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
    params = []
    for var in beside:
        params.append(b.param(var.name, renamed.type(var.type)))
        renamed.mapping[var] = params[-1]
    return beside, params, renamed
