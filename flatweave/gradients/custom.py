"""Rules of functions whose derivative is given, and of those that are computed again in reverse.

    y = custom f x        forward     y, dy = f's jvp of x and dx
                          reverse     y, saved = f's fwd of x;     x' += f's bwd of saved and y'

A `jvp` is linear in the tangents. In reverse mode what does not depend on them is computed where
the function is called, and the rest is transposed. A function without rules is differentiated in
the reverse pass, from its operands on: nothing in it is saved.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.gradients.control import as_shaped
from flatweave.gradients.modes import Back, Forward, Reverse, first_not_linear
from flatweave.gradients.values import bound, live, owned, tangent_type, type_of_tangents, zero
from flatweave.ops import Back as BackOp
from flatweave.ops import Custom, Empty, Reshape
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Cast, For
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Type, Var
from flatweave.terms.traverse import Substitution, free_vars, needed_for


def custom_forward(f: Forward, let: Let, op: Custom) -> None:
    """The rule on operands and tangents binds the results and their tangents."""
    if not (op.jvp or op.vjp or op.transpose):
        f.run(inlined(f.b, op.fn, op.operands, let.vars)[0])
        return
    _need_operands(op, [var for var in _around(op) if var in f.tangents], let)
    tangents = [f.dense(x) for x in op.operands]
    if op.jvp:
        moving = bound(let)
        made = [f.b.var(f"d{var.name}", type_of_tangents(var)) for var in moving]
        lets, _ = inlined(f.b, op.jvp[0], (*op.operands, *tangents), (*let.vars, *made))
        for each in lets:
            f.keep(each)
        for var, tangent in zip(moving, made, strict=True):
            f.set(var, tangent)
        return
    if op.vjp:
        raise Unsupported(
            f"forward mode of {op.called}, a custom_vjp, which has a rule for reverse mode only.",
            where=let.where,
            remedy="Use fw.grad, fw.vjp or fw.jacrev, or give the rule with fw.custom_jvp.",
        )
    f.keep(let)
    count = len(op.operands) - op.linear
    again = _fresh(f.b, {}).op(op).replace(operands=(*op.operands[:count], *tangents[count:]))
    found = f.b.emit(again)
    for var, tangent in zip(let.vars, found, strict=True):
        if tangent_type(var.type) is not None:
            f.set(var, as_shaped(f.b, tangent, var))


def custom_reverse(r: Reverse, let: Let, op: Custom) -> Back:
    """The rule that fits what is active."""
    around = [var for var in _around(op) if var in r.active]
    if not (op.jvp or op.vjp or op.transpose):
        return _again(r, let, op, around)
    _need_operands(op, around, let)
    if op.vjp:
        return _by_vjp(r, let, op)
    fixed = op.operands[: len(op.operands) - op.linear]
    if op.transpose and not any(map(r.is_active, fixed)):
        return _by_transpose(r, let, op)
    return _by_jvp(r, let, op)


def _by_vjp(r: Reverse, let: Let, op: Custom) -> Back:
    lets, _ = inlined(r.b, op.vjp[0], op.operands, let.vars)
    (pullback,) = (each.op for each in lets if isinstance(each.op, BackOp))
    for each in lets:
        if each.op is not pullback:
            r.keep(each)
    return lambda: _add_all(r, op.operands, pullback.fn, (), let)


def _by_transpose(r: Reverse, let: Let, op: Custom) -> Back:
    r.keep(let)
    count = len(op.operands) - op.linear
    fixed, linear = op.operands[:count], op.operands[count:]
    return lambda: _add_all(r, linear, op.transpose[0], fixed, let)


def _add_all(
    r: Reverse, targets: Sequence[Atom], fn: Lambda, fixed: Sequence[Atom], let: Let
) -> None:
    """Add what a rule gives for cotangents of the results."""
    given = [
        as_shaped(r.b, r.cotangent(var), param)
        for var, param in zip(bound(let), fn.params[len(fixed) :], strict=True)
    ]
    found = r.b.inline(fn, (*fixed, *given))
    for target, cotangent in zip(targets, found, strict=True):
        r.add(target, cotangent)


def _by_jvp(r: Reverse, let: Let, op: Custom) -> Back:
    """What does not depend on tangents now, and the rest transposed."""
    fn, count, given = op.jvp[0], len(let.vars), len(op.operands)
    tangents = fn.params[given:]
    _need_linear(op, let)
    known, rest, moving = _divided(fn.lets, tangents)
    vars_ = let.vars
    if any(atom in moving for atom in fn.results[:count]):  # computed together with tangents
        r.keep(let)
        known, rest, vars_ = [], list(fn.lets), ()
    first = Lambda(fn.params[:given], tuple(known), fn.results[: len(vars_)])
    lets, renaming = inlined(r.b, first, op.operands, vars_)
    for each in lets:
        r.keep(each)

    def back() -> None:
        here = _fresh(r.b, renaming.mapping)
        body = _without_outer(r, r.b)
        for param, operand in zip(tangents, op.operands, strict=True):
            type_ = here.type(param.type)
            _enter(body, here, param, zero(r.b, type_), type_, is_active=r.is_active(operand))
        body.run([here.let(each) for each in rest])
        found = dict(zip(bound(let), map(here.atom, fn.results[count:]), strict=True))
        known_ = r.known_among(let.vars)
        seeds = [(found[let.vars[k]], c) for k, c in known_.items()]
        body.pull([(atom, as_shaped(r.b, c, atom)) for atom, c in seeds])
        for param, operand in zip(tangents, op.operands, strict=True):
            cotangent = body.known(here.atom(param))
            if cotangent is not None:
                r.add(operand, as_shaped(r.b, cotangent, operand))

    return back


def _divided(
    lets: Sequence[Let], of: Sequence[Var]
) -> tuple[list[Let], list[Let], set[Atom]]:
    """The operations that do not depend on some variables, those that do, and what these bind."""
    moving: set[Atom] = set(of)
    parts: tuple[list[Let], list[Let]] = [], []
    for let in lets:
        depends = any(var in moving for var in free_vars(let.op))
        parts[depends].append(let)
        moving.update(let.vars if depends else ())
    return *parts, moving


def _again(r: Reverse, let: Let, op: Custom, around: Sequence[Var]) -> Back:
    """The function once more in the reverse pass. On the host it is the body of a loop of one
    iteration: no pass shares or fuses operations of a loop with those around it."""
    r.keep(let)
    operands = (*op.operands, *around)

    def back() -> None:
        seeds = r.known_among(let.vars)
        body = _without_outer(r, r.b.inner(optional=True) if r.on_host else r.b)
        b, here = body.b, _fresh(r.b, {})
        params = (*op.fn.params, *around)
        for param, operand in zip(params, operands, strict=True):
            _enter(body, here, param, operand, operand.type, is_active=r.is_active(operand))
        body.run([here.let(each) for each in op.fn.lets])
        results = [here.atom(atom) for atom in op.fn.results]
        body.pull([(results[k], as_shaped(b, c, results[k])) for k, c in seeds.items()])
        pairs = [(x, body.known(here.atom(p))) for p, x in zip(params, operands, strict=True)]
        targets = [x for x, c in pairs if c is not None]
        found: Sequence[Atom] = [as_shaped(b, c, x) for x, c in pairs if c is not None]
        if r.on_host and found:
            found = [owned(b, c) for c in found]
            state = [b.param("s", c.type) for c in found]
            turn = Lambda((b.param("k", i64), *state), live(b.lets, found), tuple(found))
            begin = [_unwritten(r.b, c.type) for c in found]
            found = r.b.emit(For(index(0), index(1), index(1), turn, tuple(begin)))
        for target, cotangent in zip(targets, found, strict=True):
            r.add(target, cotangent)

    return back


def _unwritten(b: Builder, type_: Type) -> Atom:
    """A value that is not read."""
    if isinstance(type_, ArrayType):
        return b.emit(Empty(type_.dtype, type_.shape))[0]
    return zero(b, type_)


def _without_outer(r: Reverse, b: Builder) -> Reverse:
    """A body for which nothing of what is around it is active."""
    made = Reverse(b, r.rules, set())
    made.on_host = r.on_host
    return made


def _enter(
    body: Reverse, here: Substitution, param: Var, value: Atom, type_: Type, *, is_active: bool
) -> None:
    """Bind a parameter of a function that is differentiated separately."""
    var = body.b.var(param.name, type_)
    body.b.append(Let((var,), _same(value, type_)))
    here.mapping[param] = var
    body.own.add(var)
    if is_active and tangent_type(type_) is not None:
        body.active.add(var)


def inlined(
    b: Builder, fn: Lambda, operands: Sequence[Atom], vars_: Sequence[Var]
) -> tuple[list[Let], Substitution]:
    """The operations of a function, of which the results are bound to variables."""
    wanted: dict[Atom, Var] = {}
    for atom, var in zip(fn.results, vars_, strict=True):
        wanted.setdefault(atom, var)

    def binder(var: Var, type_: Type) -> Var:
        found = wanted.get(var)
        return found if found is not None and found.type == type_ else b.var(var.name, type_)

    here = Substitution(dict(zip(fn.params, operands, strict=True)), binder)
    lets = [here.let(let) for let in fn.lets]
    for atom, var in zip(fn.results, vars_, strict=True):
        found = here.atom(atom)
        if found is not var:
            lets.append(Let((var,), _same(found, var.type)))
    return lets, here


def _fresh(b: Builder, mapping: dict[Var, Atom]) -> Substitution:
    return Substitution(mapping, lambda var, type_: b.var(var.name, type_))


def _same(atom: Atom, type_: Type) -> Op:
    """An operation that gives a value as it is."""
    if isinstance(type_, ArrayType):
        return Reshape(atom, type_.shape)
    assert isinstance(type_, DType)
    return Cast(type_, atom)


def _around(op: Custom) -> list[Var]:
    """What its functions read from around them."""
    return list(free_vars((op.fn, *op.jvp, *op.vjp, *op.transpose)))


def _need_operands(op: Custom, around: Sequence[Var], let: Let) -> None:
    """Refuse a function that reads what is differentiated from around it."""
    if around:
        raise ArgumentError(
            f"{op.called} reads an array from around it that is differentiated, but its rule is of"
            " its arguments alone.",
            where=let.where,
            remedy="Pass the array as an argument, or hold it constant with fw.stop_gradient.",
        )


def _need_linear(op: Custom, let: Let) -> None:
    """Refuse to transpose a rule that is not linear in the tangents."""
    fn, given = op.jvp[0], len(op.operands)
    used = needed_for(fn.lets, fn.results[len(let.vars) :])
    found = first_not_linear(used, {p for p in fn.params[given:] if tangent_type(p.type)})
    if found is not None:
        raise ArgumentError(
            f"the rule of {op.called}, a custom_jvp, is not linear in the tangents.",
            where=found.where or let.where,
            remedy="Add tangents and multiply them by what does not depend on them, or give the"
            " rule for reverse mode with fw.custom_vjp.",
        )
