"""Rules of scalar work: functions of the scalar table, and casts between floats."""

from __future__ import annotations

from flatweave.gradients.forward import Forward
from flatweave.gradients.reverse import Back, Reverse
from flatweave.gradients.scalars import partials
from flatweave.gradients.values import cast_tangent, dtype_of, sum_all
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Let


def apply_forward(f: Forward, let: Let) -> None:
    """y = fn(a, b)  ==>  dy = da * fn'a + db * fn'b"""
    f.keep(let)
    op, (result,) = let.op, let.vars
    assert isinstance(op, Apply)
    found = partials(op.fn, f.b, op.args, result)
    pairs = [(part, f.of(arg)) for part, arg in zip(found, op.args, strict=True)]
    parts = [part.apply(f.b, d) for part, d in pairs if part is not None and d is not None]
    f.set(result, sum_all(f.b, parts))


def apply_reverse(r: Reverse, let: Let) -> Back:
    """y = fn(a, b)  ==>  a' += y' * fn'a;  b' += y' * fn'b"""
    r.keep(let)
    op, (result,) = let.op, let.vars
    assert isinstance(op, Apply)

    def back() -> None:
        given = r.cotangent(result)
        found = partials(op.fn, r.b, op.args, result)
        for part, arg in zip(found, op.args, strict=True):
            if part is not None and r.is_active(arg):
                r.add(arg, part.apply(r.b, given))

    return back


def cast_forward(f: Forward, let: Let) -> None:
    """The tangent is cast as the value is; none goes through an integer."""
    f.keep(let)
    op, (result,) = let.op, let.vars
    assert isinstance(op, Cast)
    tangent = f.of(op.arg)
    if tangent is not None and op.dtype.is_float:
        f.set(result, cast_tangent(f.b, tangent, op.dtype))


def cast_reverse(r: Reverse, let: Let) -> Back:
    """The cotangent is cast back."""
    r.keep(let)
    op, (result,) = let.op, let.vars
    assert isinstance(op, Cast)
    return lambda: r.add(
        op.arg, cast_tangent(r.b, r.cotangent(result), dtype_of(op.arg.type))
    )
