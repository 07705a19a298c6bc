"""Code of warps that must meet although some of them have nothing to do.

Where a barrier of a warp is one of the block, warps without work come to it, too, and skip what
stands between:

    x = load s i                 x = if active (load s i) 0
    store t i x                  if active (store t i x)
    sync level=warp              sync level=warp
    y = load t j                 y = if active (load t j) 0

A loop around a barrier must then take the same turns in all warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flatweave.base.dtypes import DType
from flatweave.base.errors import Unsupported
from flatweave.kernel_ir.hierarchy import WarpShared
from flatweave.kernel_ir.lane_facts import Variation
from flatweave.kernel_ir.op import KernelOp
from flatweave.kernel_ir.syntax import Lanes, StoreCompact, Sync
from flatweave.terms.build import Builder
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import Substitution, free_vars, lambdas_in, walk_lets


def expect_together(body: Lambda) -> None:
    """Refuse code in which some warps of a block meet where others do not come."""
    _expect_together(Variation(body), body, None)


def _expect_together(variation: Variation, fn: Lambda, around: Let | None) -> None:
    for let in fn.lets:
        if _waits(let.op) and around is not None:
            raise Unsupported(
                f"warps meet at {let.op.name} inside {around.op.name}, which turns otherwise in "
                "one warp than in another; here all warps of a block meet at once.",
                where=let.where,
                remedy="Let all warps take the same turns, and work only in those that are theirs.",
            )
        inside = around
        if isinstance(let.op, If | While | For) and "warp" in variation.turns(let.op):
            inside = let
        for inner in lambdas_in(let.op):
            _expect_together(variation, inner, inside)


class Emitter(Protocol):
    """What emits lets of a kernel anew."""

    renaming: Substitution

    def body(self, b: Builder, lets: Sequence[Let]) -> None:
        """Emit lets."""


def meets(fn: Lambda) -> bool:
    """Whether threads wait for each other in a body."""
    return any(_waits(let.op) for let in walk_lets(fn))


def _waits(op: Op) -> bool:
    """Whether a machine whose lanes meet in memory puts a barrier here."""
    return isinstance(op, Sync | StoreCompact) or (isinstance(op, KernelOp) and op.together)


def emit_guarded(
    e: Emitter, b: Builder, lets: Sequence[Let], active: Atom, results: Sequence[Atom] = ()
) -> None:
    """Emit the code of a warp so that it works only where `active`, and meets all others.

    `results` are what is read of it from outside.
    """
    waiting: list[Let] = []
    for k, let in enumerate(lets):
        if isinstance(let.op, WarpShared):
            e.body(b, [let])
        elif not _meets(let):
            waiting.append(let)
        else:
            _emit_if(e, b, waiting, Lambda((), tuple(lets[k:]), tuple(results)), active)
            waiting = []
            _emit_meeting(e, b, let, active)
    _emit_if(e, b, waiting, Lambda((), (), tuple(results)), active)


def _meets(let: Let) -> bool:
    return meets(Lambda((), (let,), ()))


def _emit_if(
    e: Emitter, b: Builder, lets: Sequence[Let], after: Lambda, active: Atom
) -> None:
    """Lets where `active`; what later ones read is 0 elsewhere."""
    if not lets:
        return
    read = free_vars(after)
    wanted = [var for let in lets for var in let.vars if var in read]
    then = b.inner()
    e.body(then, lets)
    found = [e.renaming.atom(var) for var in wanted]
    zeros = [constant(0, _dtype(var)) for var in wanted]
    op = If(active, then.close([], found), Lambda((), (), tuple(zeros)))
    e.renaming.mapping.update(zip(wanted, b.emit(op), strict=True))


def _emit_meeting(e: Emitter, b: Builder, let: Let, active: Atom) -> None:
    """A barrier, what lanes do together, or a loop with one in it that every warp turns equally
    often. A warp without work brings zeros."""
    if isinstance(let.op, Sync) or (isinstance(let.op, KernelOp) and let.op.together):
        e.body(b, [let])
        return
    if isinstance(let.op, Lanes):
        region = b.inner()
        emit_guarded(e, region, let.op.body.lets, active, let.op.body.results)
        found = [e.renaming.atom(atom) for atom in let.op.body.results]
        lanes = Lanes(let.op.width, region.close([], found))
        e.renaming.mapping.update(zip(let.vars, b.emit(lanes), strict=True))
        return
    if not isinstance(let.op, For) or not _is_known(let.op):
        raise Unsupported(
            f"the warps of a for_all meet inside {let.op.name}, and some of them have no work.",
            where=let.where,
            remedy="Let their number be a multiple of the block's warps, "
            "or let them meet in loops whose turns are known.",
        )
    op = let.op
    inside = b.inner()
    params = [inside.param(param.name, param.type) for param in op.body.params]
    e.renaming.mapping.update(zip(op.body.params, params, strict=True))
    emit_guarded(e, inside, op.body.lets, active, op.body.results)
    results = [e.renaming.atom(atom) for atom in op.body.results]
    init = tuple(e.renaming.atom(atom) for atom in op.init)
    made = For(op.lo, op.hi, op.step, inside.close(params, results), init)
    e.renaming.mapping.update(zip(let.vars, b.emit(made), strict=True))


def _is_known(op: For) -> bool:
    return all(isinstance(atom, Const) for atom in (op.lo, op.hi, op.step))


def _dtype(var: Var) -> DType:
    assert isinstance(var.type, DType)
    return var.type
