"""Loops of elements that read at computed positions become one loop over all elements.

Such a loop may be in a branch; it is moved out of it first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, cast

from flatweave.base.dtypes import DType, bool_
from flatweave.ops import Generate, Index, Map, Reduce
from flatweave.terms.build import Builder, lambda_of
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
    types_of,
)
from flatweave.terms.traverse import Substitution, free_vars, lambdas_in, walk_lets

# Loops of elements in a branch are moved out of it; elsewhere they have no iterations.
#
#     r = if c then (a = e x; s = while k b [a]; in g s a) else (in h x)
#
#     a = if c then (in e x) else (in 0)
#     s = while (s => if c then k s else no) b [a]
#     r = if c then (in g s a) else (in h x)
#
# So a nested loop, whose iterations are such branches of the unfinished elements, can become
# one of the client, too (`loops_with_reads.py`).


Wanted = Callable[[Let], bool]


def out_of_branches(fn: Lambda, wanted: Wanted) -> Lambda | None:
    """A function whose first loop that is wanted, of those in branches, is in none; None where
    there is no such loop, or where arrays are known before it that it reads."""
    for k, let in enumerate(fn.lets):
        if isinstance(let.op, If):
            for number in range(2):
                made = _taken_out(let, number, wanted)
                if made is not None:
                    return Lambda(fn.params, (*fn.lets[:k], *made, *fn.lets[k + 1 :]), fn.results)
    return None


def _taken_out(let: Let, number: int, wanted: Wanted) -> list[Let] | None:
    op = cast(If, let.op)
    branch = (op.then, op.other)[number]
    at = _first(branch, wanted)
    if at is None:
        inner = out_of_branches(branch, wanted)
        if inner is None:
            return None
        branch, at = inner, _first(inner, wanted)
        assert at is not None
    loop, after = branch.lets[at], Lambda((), branch.lets[at + 1 :], branch.results)
    kept = _kept_in_branch(branch, at)
    if any(isinstance(var.type, ArrayType) for var in (*kept, *loop.vars)):
        return None
    taken, lets = op.condition, list[Let]()
    if number:
        taken = Var("taken", bool_)
        lets.append(Let((taken,), Apply("not", (op.condition,)), let.where))
    if kept:
        known = Builder().copy(Lambda((), branch.lets[:at], tuple(kept)))
        step = loop.op.step if isinstance(loop.op, For) else None
        none = [constant(1 if var is step else 0, cast(DType, var.type)) for var in kept]
        absent = Lambda((), (), tuple(none))
        lets.append(Let(tuple(kept), _if(op.condition, number, known, absent), let.where))
    lets += _loop_if_taken(loop, taken)
    other = (op.then, op.other)[1 - number]
    return [*lets, Let(let.vars, _if(op.condition, number, after, other), let.where)]


def _first(branch: Lambda, wanted: Wanted) -> int | None:
    loops = (k for k, each in enumerate(branch.lets) if isinstance(each.op, For | While))
    return next((k for k in loops if wanted(branch.lets[k])), None)


def _kept_in_branch(branch: Lambda, at: int) -> list[Var]:
    """What is computed before the loop and is read in it, or after it."""
    before = {var for each in branch.lets[:at] for var in each.vars}
    later: Iterator[Atom] = (v for each in branch.lets[at:] for v in free_vars(each.op))
    read = dict.fromkeys([*later, *branch.results])
    return [var for var in read if isinstance(var, Var) and var in before]


def _if(condition: Atom, number: int, own: Lambda, other: Lambda) -> If:
    return If(condition, own, other) if number == 0 else If(condition, other, own)


def _loop_if_taken(let: Let, taken: Atom) -> Sequence[Let]:
    """The loop, without iterations where the branch is not taken."""
    op = let.op
    if isinstance(op, For):
        hi = Var("hi", op.hi.type)
        bound = Let((hi,), Apply("select", (taken, op.hi, op.lo)), let.where)
        return [bound, Let(let.vars, For(op.lo, hi, op.step, op.body, op.init), let.where)]
    assert isinstance(op, While)
    own = Lambda((), op.condition.lets, op.condition.results)
    goes = Var("goes", bool_)
    asked = Let((goes,), If(taken, own, Lambda((), (), (NO,))), let.where)
    condition = Lambda(op.condition.params, (asked,), (goes,))
    return [Let(let.vars, While(condition, op.body, op.init), let.where)]


# Loops of elements that read at computed indices become one loop of the client over all elements.
#
#     ys = map (x => s = while (s => c s x) (s => b s x) [e x]; g s x) xs
#
#     live, ss = map (x => s = e x; in c s x, s) xs
#     live, ss = while (live, ss => any live)
#                      (live, ss => map (l, s, x => if l (c of b s x, b s x) (no, s))
#                                       [live, ss, xs])
#                [live, ss]
#     ys = map (s, x => g s x) [ss, xs]
#
# Each iteration reads once for each element, so rows can be requested from the chunks that have
# them (`indexed_rules.py`); an element that is done stays as it is. A loop of one range for all
# elements is a `for` of the client, without `live`.


NO = Const(False, bool_)


def read_in_loops(op: Op, arrays: Collection[Var]) -> Iterator[Var]:
    """Those of some arrays that a loop of each element reads at indices computed from values that
    are not known before: from elements, from earlier reads, from the loop's state."""
    op = _opened(op, arrays)
    let = _loop(op, arrays)
    if let is not None:
        yield from _read_anywhere(op, let, arrays)


def as_loops(let: Let, arrays: Collection[Var]) -> list[Let]:
    """What a let becomes that has such a loop; the let itself, if it has none."""
    op = _opened(let.op, arrays)
    loop = _loop(op, arrays)
    return [let] if loop is None else _LoopSplit(Let(let.vars, op, let.where), loop).lets()


def _opened(op: Op, arrays: Collection[Var]) -> Op:
    """An operation whose loop that reads so is in no branch, if it has one only there."""
    if not isinstance(op, Generate | Map) or _loop(op, arrays) is not None:
        return op
    unknown: set[Atom] = set(op.fn.params) if isinstance(op, Map) else set()
    for let in walk_lets(op.fn):
        _note(let, unknown)
    fn = out_of_branches(
        op.fn, lambda each: any(True for _ in _read_within(each.op, arrays, {*unknown}))
    )
    return op if fn is None else op.replace(fn=fn)


def _loop(op: Op, arrays: Collection[Var]) -> Let | None:
    """The first loop of each element that reads so."""
    if not isinstance(op, Generate | Map):
        return None
    axes = op.depth if isinstance(op, Map) else len(op.shape)
    if axes > 1:
        return None
    for k, let in enumerate(op.fn.lets):
        if isinstance(let.op, For | While) and any(True for _ in _read_anywhere(op, let, arrays)):
            kept = _kept(op.fn, k)
            own = {var for each in op.fn.lets[:k] for var in each.vars}
            plain = not any(isinstance(v.type, ArrayType) for v in (*let.vars, *own & {*kept}))
            return let if plain else None
    return None


def _kept(fn: Lambda, at: int) -> list[Var]:
    """What an element's function knows before the loop, its let with this number, and reads in the
    loop or after it."""
    before = {*fn.params, *(var for let in fn.lets[:at] for var in let.vars)}
    loop: Any = fn.lets[at].op
    read: list[Atom] = [v for inner in lambdas_in(loop) for v in free_vars(inner)]
    read += [loop.hi, loop.step] if isinstance(loop, For) else []
    read += [v for let in fn.lets[at + 1 :] for v in free_vars(let.op)]
    return [v for v in dict.fromkeys([*read, *fn.results]) if v in before]  # type: ignore[misc]


def _read_anywhere(op: Any, loop: Let, arrays: Collection[Var]) -> Iterator[Var]:
    """The arrays that a loop reads at indices that no interval bounds."""
    unknown: set[Atom] = set(op.fn.params) if isinstance(op, Map) else set()
    for let in op.fn.lets:
        if let is loop:
            yield from _read_within(let.op, arrays, unknown)
            return
        _note(let, unknown)


def _read_within(op: Any, arrays: Collection[Var], unknown: set[Atom]) -> Iterator[Var]:
    if isinstance(op, For):
        ranged = unknown.isdisjoint((op.lo, op.hi, op.step))
        unknown.update(op.body.params[1 if ranged else 0 :])
    elif not isinstance(op, Generate):
        unknown.update(param for fn in lambdas_in(op) for param in fn.params)
    for fn in lambdas_in(op):
        for let in fn.lets:
            if isinstance(let.op, Index) and let.op.xs in arrays and let.op.indices[0] in unknown:
                yield let.op.xs  # type: ignore[misc]
            yield from _read_within(let.op, arrays, unknown)
            _note(let, unknown)


def _note(let: Let, unknown: set[Atom]) -> None:
    """Whether the result of a let depends only on indices and numbers of the call."""
    op = let.op
    if not isinstance(op, Apply | Cast) or any(atom in unknown for atom in free_vars(op)):
        unknown.update(let.vars)


class _LoopSplit:
    """A let of whose elements each has a loop, and that loop."""

    def __init__(self, let: Let, loop: Let) -> None:
        self.let = let
        self.op = cast(Any, let.op)
        self.loop = loop
        at = self.op.fn.lets.index(loop)
        self.before, self.after = self.op.fn.lets[:at], self.op.fn.lets[at + 1 :]
        self.kept = _kept(self.op.fn, at)
        self.b = Builder()
        self.b.hoists = False
        self.b.where = loop.where
        self.arrays: list[Var] = []  # for each variable that is kept its values of all elements

    def lets(self) -> list[Let]:
        """What is known before the loop, the loop, what comes after it."""
        op: Any = self.loop.op
        if isinstance(op, While):
            found = self._while(op)
        elif self._own({op.lo, op.hi, op.step}):
            found = self._while(_as_while(op))[1:]
        else:
            found = self._for(op)
        return [*self.b.lets, Let(self.let.vars, self._after(found), self.let.where)]

    def _own(self, atoms: Collection[Atom]) -> bool:
        known = {*self.op.fn.params, *(var for let in self.before for var in let.vars)}
        return any(atom in known for atom in atoms)

    def _while(self, op: While) -> tuple[Var, ...]:
        def begun(inside: Builder, known: Substitution) -> Sequence[Atom]:
            state = list(map(known.atom, op.init))
            return [*inside.inline(op.condition, state, known), *state]

        def element(inside: Builder, params: Sequence[Var], known: Substitution) -> Sequence[Atom]:
            live, *state = params

            def goes_on(b: Builder) -> Sequence[Atom]:
                new = b.inline(op.body, state, known)
                return [*b.inline(op.condition, new, known), *new]

            return inside.choose(live, goes_on, lambda _: [NO, *state])

        first = self._begun(begun)
        types = list(types_of(first))
        condition = self.b.function(
            types, lambda b, live, *_: b.emit(Reduce(lambda_of("or", bool_), (NO,), (live,)))
        )
        body = self.b.function(types, lambda b, *xs: self._each(b, xs, element))
        return self.b.emit(While(condition, body, first))[1:]

    def _for(self, op: For) -> tuple[Var, ...]:
        def body(inside: Builder, counter: Var, *arrays: Var) -> Sequence[Atom]:
            def element(b: Builder, state: Sequence[Var], known: Substitution) -> Sequence[Atom]:
                return b.inline(op.body, [counter, *state], known)

            return self._each(inside, arrays, element)

        first = self._begun(lambda inside, known: list(map(known.atom, op.init)))
        types: list[Type] = [op.body.params[0].type, *types_of(first)]
        return self.b.emit(For(op.lo, op.hi, op.step, self.b.function(types, body), first))

    def _begun(self, state: Any) -> tuple[Var, ...]:
        """The state of all elements before the first iteration; invariant parts are noted."""
        taken = dict(zip(self.op.fn.params, self.op.xs, strict=True)) if self._is_map() else {}
        made = [var for var in self.kept if var not in taken]

        def element(inside: Builder, *params: Var) -> Sequence[Atom]:
            known = inside.inlining(Lambda(self.op.fn.params, (), ()), params)
            for let in self.before:
                inside.inline_let(let, known)
            return [*state(inside, known), *map(known.atom, made)]

        fn = self.b.function(types_of(self.op.fn.params), element)
        found = self.b.emit(self.op.replace(fn=fn))
        first = found[: len(found) - len(made)]
        arrays = {**taken, **dict(zip(made, found[len(first) :], strict=True))}
        self.arrays = [arrays[var] for var in self.kept]
        return first

    def _each(self, b: Builder, state: Sequence[Var], element: Any) -> tuple[Var, ...]:
        """One iteration of all elements."""

        def row(inside: Builder, *params: Var) -> Sequence[Atom]:
            own, kept = params[: len(state)], params[len(state) :]
            return element(inside, own, Substitution(dict(zip(self.kept, kept, strict=True))))  # type: ignore[no-any-return]

        types: list[Type] = [*(array_type(x).dtype for x in state), *types_of(self.kept)]
        return b.emit(Map(b.function(types, row), (*state, *self.arrays)))

    def _after(self, found: Sequence[Var]) -> Op:
        """What each element is, given what its loop gives."""
        arrays, own = (*found, *self.arrays), (*self.loop.vars, *self.kept)

        def results(inside: Builder, known: Substitution) -> Sequence[Atom]:
            for let in self.after:
                inside.inline_let(let, known)
            return [known.atom(atom) for atom in self.op.fn.results]

        def of_row(inside: Builder, *params: Var) -> Sequence[Atom]:
            return results(inside, inside.inlining(Lambda(own, (), ()), params))

        def of_number(inside: Builder, i: Var) -> Sequence[Atom]:
            read = [inside.emit(Index(x, (i,), checked=False))[0] for x in arrays]
            known = inside.inlining(Lambda(own, (), ()), read)
            known.mapping[self.op.fn.params[0]] = i
            return results(inside, known)

        if self._is_map():
            return Map(self.b.function(list(types_of(own)), of_row), arrays)
        return self.op.replace(fn=self.b.function(types_of(self.op.fn.params), of_number))  # type: ignore[no-any-return]

    def _is_map(self) -> bool:
        return isinstance(self.op, Map)


def _as_while(op: For) -> While:
    """A loop over a range; the counter is the first of its state."""
    b = Builder()
    b.hoists = False
    types = types_of(op.body.params)

    def turn(inside: Builder, counter: Var, *state: Var) -> Sequence[Atom]:
        found = inside.inline(op.body, [counter, *state])
        return [inside.apply("add", counter, op.step), *found]

    condition = b.function(types, lambda inside, k, *_: [inside.apply("lt", k, op.hi)])
    return While(condition, b.function(types, turn), (op.lo, *op.init))
