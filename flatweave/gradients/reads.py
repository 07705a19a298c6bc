"""Rules of reads: one element of an array."""

from __future__ import annotations

from flatweave.gradients.forward import Forward
from flatweave.gradients.reverse import Back, Reverse
from flatweave.gradients.values import read
from flatweave.ops import Index
from flatweave.terms.syntax import Let


def index_forward(f: Forward, let: Let) -> None:
    """y = xs[i]  ==>  dy = dxs[i]"""
    f.keep(let)
    op = let.op
    assert isinstance(op, Index)
    tangent = f.of(op.xs)
    if tangent is not None:
        f.set(let.vars[0], read(f.b, tangent, op.indices))


def index_reverse(r: Reverse, let: Let) -> Back:
    """y = xs[i]  ==>  xs'[i] += y'"""
    r.keep(let)
    op = let.op
    assert isinstance(op, Index)
    return lambda: r.add_at(op.xs, op.indices, r.cotangent(let.vars[0]))
