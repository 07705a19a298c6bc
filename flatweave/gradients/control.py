"""Rules of branches and loops.

    s = for lo hi (i, s => .. in f(i, s)) s0
    forward     s, ds = for lo hi (i, s, ds => .. in f(i, s), f'(i, s) ds) s0 ds0
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from flatweave.gradients.modes import Back, Forward, Reverse, state_of
from flatweave.gradients.sinks import Along, Dim, Sink, flat, is_whole, spread, whole
from flatweave.gradients.values import dtype_of, generate, live, owned, shape_of
from flatweave.ops import Reshape
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant
from flatweave.terms.traverse import Substitution

Loop = For | While


def if_forward(f: Forward, let: Let, op: If) -> None:
    """Both branches give tangents; before each array its extents, as `if` wants them."""
    moving = set(f.active(let))
    numbers = [k for k, var in enumerate(let.vars) if var in moving]
    made = If(op.condition, _branch(f, op.then, numbers), _branch(f, op.other, numbers))
    found = bind_more(f.b, let, made)
    at = 0
    for k in numbers:
        var = let.vars[k]
        at += len(shape_of(var))
        f.set(var, as_shaped(f.b, found[at], var))
        at += 1


def _branch(f: Forward, fn: Lambda, numbers: Sequence[int]) -> Lambda:
    """A branch that gives the tangents of some results, too."""
    with f.inside((), optional=True) as inner:
        f.run(fn.lets)
        more: list[Atom] = []
        for k in numbers:
            tangent = f.dense(fn.results[k])
            more += [*shape_of(fn.results[k]), owned(inner, tangent)]
        return inner.close((), (*fn.results, *more))


def bind_more(b: Builder, let: Let, op: If) -> list[Var]:
    """Emit a branch that binds what `let` does, and more: the variables for that."""
    renaming = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
    binders = op.binders()
    renaming.mapping.update(zip(binders, let.vars, strict=False))
    more = [renaming.binder(binder) for binder in binders[len(let.vars) :]]
    b.append(Let((*let.vars, *more), op, let.where))
    return more


def as_shaped(b: Builder, tangent: Atom, of: Atom) -> Atom:
    """An array under the extents of another one, which are as great."""
    shape = shape_of(of)
    return tangent if shape_of(tangent) == shape else b.emit(Reshape(tangent, shape))[0]


def loop_forward(f: Forward, let: Let, op: For | While) -> None:
    """The tangents of the state are state; a condition does not see them."""
    body, inits, vars_ = _body(f, op, let)
    f.emit(let, with_state(f.b, op, body, inits), vars_)


def state_params(op: Loop) -> tuple[Var, ...]:
    """The parameters of a loop's body that are its state."""
    return op.body.params[int(isinstance(op, For)) :]


def with_state(b: Builder, op: Loop, body: Lambda, init: Sequence[Atom]) -> Loop:
    """The loop with more state: its body has parameters and results for that at the end, and a
    condition does not see it."""
    made: Loop = op.replace(body=body, init=(*op.init, *init))
    if isinstance(op, For):
        return made
    test, count = op.condition, len(op.init)
    renaming = Substitution(dict(zip(body.params, test.params, strict=False)))
    unread = [b.var(var.name, renaming.type(var.type)) for var in body.params[count:]]
    condition = Lambda((*test.params, *unread), test.lets, test.results)
    made = made.replace(condition=condition)
    return made


def _body(f: Forward, op: Loop, let: Let) -> tuple[Lambda, list[Atom], list[Var]]:
    """The body of a loop on values and tangents, what the tangents begin with, and their
    variables."""
    fn, state = op.body, state_params(op)
    flags = state_of(fn, state, op.init, set(f.tangents))
    numbers = [k for k, flag in enumerate(flags) if flag]
    inits = [f.dense(op.init[k]) for k in numbers]
    with f.inside(fn.params, optional=True) as inner:
        params = f.params([state[k] for k in numbers])
        f.run(fn.lets)
        tangents = [owned(inner, f.dense(fn.results[k])) for k in numbers]
        made = inner.close((*fn.params, *params), (*fn.results, *tangents))
    return made, inits, [let.vars[k] for k in numbers]


def if_reverse(r: Reverse, let: Let, op: If) -> Back:
    """The branch that was taken, in reverse; the other one contributes nothing."""
    r.keep(let)

    def back() -> None:
        known = r.known_among(let.vars)
        either(r, op.condition, *(_reversed(r, fn, known) for fn in (op.then, op.other)))

    return back


def either(r: Reverse, condition: Atom, then: Reverse, other: Reverse) -> None:
    """Emit the sinks of one of two bodies. What both add to a variable is one result."""
    merged = Merged(then.b, other.b)
    rest = list(other.sinks)
    for sink in then.sinks:
        same = [k for k, one in enumerate(rest) if is_whole(sink) and one.target == sink.target
                and is_whole(one)]  # fmt: skip
        if same:
            merged.add_both(r, sink, rest.pop(same[0]))
        else:
            merged.add(0, sink)
    for sink in rest:
        merged.add(1, sink)
    if merged.sinks:
        made = r.b.emit(If(condition, *merged.branches()))
        for rebuild in merged.sinks:
            r.sink(rebuild(made))


def _reversed(r: Reverse, fn: Lambda, known: Mapping[int, Atom]) -> Reverse:
    """A branch in reverse; what it contributes are its sinks."""
    fn = r.b.copy(fn)
    body = r.inner((), optional=True)
    body.run(fn.lets)
    body.pull([(fn.results[k], as_shaped(body.b, c, fn.results[k])) for k, c in known.items()])
    return body


class Merged:
    """The sinks of two branches as results of both: what one contributes is nothing in the other.

    Nothing is 0 at an index outside, or no values where their number is known in a branch only.
    """

    def __init__(self, then: Builder, other: Builder) -> None:
        self.builders = then, other
        self.results: tuple[list[Atom], list[Atom]] = [], []
        self.sinks: list[Callable[[Sequence[Atom]], Sink]] = []

    def add(self, number: int, sink: Sink) -> None:
        """Have both branches give what one of them contributes."""
        b = self.builders[number]
        varies = any(extent in b.own for extent in sink.batch)
        sink = flat(b, sink) if varies else sink
        value = self._give(number, sink.value, 0.0, varies)
        dims: list[Dim | Callable[[Sequence[Atom]], Atom]] = []
        for dim in sink.dims:
            if isinstance(dim, Along) and dim.start in b.own:
                dim = spread(b, dim, sink.batch)
            is_computed = not isinstance(dim, int | Along) and dim in b.own
            dims.append(self._give(number, dim, -1, varies) if is_computed else dim)  # type: ignore[arg-type]

        def rebuild(made: Sequence[Atom]) -> Sink:
            return Sink(
                sink.target, tuple(dim(made) if callable(dim) else dim for dim in dims), value(made)
            )

        self.sinks.append(rebuild)

    def add_both(self, r: Reverse, sink: Sink, other: Sink) -> None:
        """Have each branch give what it contributes to all of a variable."""
        for b, results, one in zip(self.builders, self.results, (sink, other), strict=True):
            results.extend([*one.batch, owned(b, one.value)])
        number, target = len(self.results[0]) - 1, sink.target
        self.sinks.append(lambda made: whole(target, as_shaped(r.b, made[number], target)))

    def _give(
        self, number: int, atom: Atom, nothing: float, varies: bool
    ) -> Callable[[Sequence[Atom]], Atom]:
        """A result of one branch, and its extents before it; the number of it among all."""
        own, other = self.builders[number], self.builders[1 - number]
        shape = shape_of(atom)
        # where this branch is not taken, an extent of it may be negative
        empty = tuple(
            index(0) if varies else other.apply("maximum", extent, index(0)) for extent in shape
        )
        filler = constant(nothing, dtype_of(atom.type))
        self.results[number].extend([*shape, owned(own, atom)])
        self.results[1 - number].extend([
            *empty, generate(other, empty, lambda *_: [filler])[0] if shape else filler
        ])  # fmt: skip
        return operator.itemgetter(len(self.results[0]) - 1)

    def branches(self) -> list[Lambda]:
        """Both bodies."""
        return [
            Lambda((), live(b.lets, results), tuple(results))
            for b, results in zip(self.builders, self.results, strict=True)
        ]
