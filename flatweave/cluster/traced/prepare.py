"""What a traced program goes through before it is divided: passes, and what makes spaces few."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.cluster.traced.columns import by_rows
from flatweave.cluster.traced.nests import without_offsets
from flatweave.cluster.traced.segments import without_segments
from flatweave.cluster.traced.sorts import with_keys
from flatweave.ops import Check, Generate, Index, Reshape
from flatweave.ops.rows import array_type
from flatweave.ops.weave import Weave
from flatweave.passes.cse import cse
from flatweave.passes.dce import dce
from flatweave.passes.simplify import simplify
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import Substitution


def prepared(program: Program, split: Collection[int]) -> Program:
    """The program as `divide` takes it; its parameters stay where they are, of which those with the
    numbers `split` are in chunks."""
    for step in (
        simplify, cse, with_one_extent, without_reshapes, without_segments, without_offsets,
        with_keys,
    ):  # fmt: skip
        program = step(program)
    return dce(by_rows(program, split))


def with_one_extent(program: Program) -> Program:
    """Extents that are checked to be equal become one, that of the first: a space is an extent.

    The checks stay, and what they compare; the client makes them before chunks go on.
    """
    order: dict[Atom, int] = {var: k for k, var in enumerate(program.fn.params)}
    first: dict[Var, Atom] = {}
    for let in program.fn.lets:
        order.update((var, len(order)) for var in let.vars)
        if isinstance(let.op, Check) and let.op.kind == "same":
            a, b = (first.get(x, x) if isinstance(x, Var) else x for x in let.op.values_)
            if a != b:  # a constant is older than everything
                older, newer = sorted((a, b), key=lambda atom: order.get(atom, -1))
                if not isinstance(newer, Var):
                    continue
                first = {v: older if to is newer else to for v, to in first.items()}
                first[newer] = older
    renamed = Substitution(dict(first))
    params = tuple(map(renamed.binder, program.fn.params))
    lets = [
        let if isinstance(let.op, Apply | Cast | Check) else renamed.let(let)
        for let in program.fn.lets
    ]
    results = tuple(map(renamed.atom, program.fn.results))
    return Program(program.name, Lambda(params, tuple(lets), results))


def without_reshapes(program: Program) -> Program:
    """A reshape is an array that reads another one at the same place in row-major order: intervals
    (`needs.py`) say which rows these are. So is one that is woven of several."""
    lets = []
    for let in program.fn.lets:
        if isinstance(let.op, Reshape) and array_type(let.op.xs).rank and let.op.shape:
            let = Let(let.vars, _read_in_order(let.op), let.where)
        elif isinstance(let.op, Weave):
            let = Let(let.vars, _read_in_turn(let.op), let.where)
        lets.append(let)
    return Program(program.name, Lambda(program.fn.params, tuple(lets), program.fn.results))


def _read_in_order(op: Reshape) -> Generate:
    shape = array_type(op.xs).shape

    def element(b: Builder, *indices: Var) -> Sequence[Atom]:
        place = b.ravel(indices, op.shape)
        return b.emit(Index(op.xs, b.unravel(place, shape), checked=False))

    return Generate(op.shape, Builder().function([i64] * len(op.shape), element))


def _read_in_turn(op: Weave) -> Generate:
    """Elements of several arrays in turn: complex numbers of their parts, along a last axis."""
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
