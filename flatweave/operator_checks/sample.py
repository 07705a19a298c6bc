"""The operators of a program, tried on a few elements of its arguments.

    ys = map f xs                  the first elements of ys are f of those of xs
    s  = scan op ne ys             op is tried on them

Arrays are computed element by element, as they are needed (`lazy_interp.py`). Where that is not
possible, the caller may give what a run tells of them (`wanted`, `know`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType
from flatweave.operator_checks.in_kernels import FirstBlocks
from flatweave.operator_checks.laws import Broken
from flatweave.operator_checks.lazy_arrays import FAILED, Array, Unknown, row_of, unraveled
from flatweave.operator_checks.lazy_interp import STEPS
from flatweave.operator_checks.neighbours import ROWS, Neighbours
from flatweave.ops import CallKernel, Generate, Map, Nest, Permute, Reduce, ReduceSegments, Scan
from flatweave.terms.batch import Env, Values
from flatweave.terms.components import is_lawful
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, needed_for

TRIED = (Reduce, Scan, ReduceSegments, Permute, CallKernel)


class Sampler(Neighbours):
    """Tries those operators of a program that calls at certain lines were given."""

    def __init__(self, program: Program, given: Sequence[Any]) -> None:
        super().__init__()
        self.program = program
        self._lines = {line.instruction for line in program.unproven}
        self._slices: dict[Lambda, tuple[Let, ...]] = {}
        self._pending = dict.fromkeys(self._found_in(program.fn))
        self._root = Env()
        for param, value in zip(program.fn.params, given, strict=True):
            if value is not None:
                self._root.values[param] = (
                    np.asarray(value, param.type.numpy) if isinstance(param.type, DType) else value
                )

    @property
    def is_done(self) -> bool:
        """Whether every operator has been tried on elements that count."""
        return not self._pending

    @property
    def spent(self) -> int:
        """How many lets the last run evaluated, and one more."""
        return 1 + STEPS - self._steps

    def know(self, values: dict[Var, Array]) -> None:
        """Values of variables of the program that a run told."""
        self._root.values.update(values)  # type: ignore[arg-type]

    def run(self) -> None:
        """Try the operators that have not been tried; raises Broken."""
        self._steps = STEPS
        with suppress(Unknown):
            self._visit(self._root, self.program.fn)

    def wanted(self) -> list[Var]:
        """What a run would have to tell: what is read where an operator could not be tried."""
        found: dict[Var, None] = {}
        for let in self.program.fn.lets:
            if self._has_pending(let):
                found.update(free_vars(let.op))
        return [var for var in found if not self._is_known(var)]

    # -- where the operators are ------------------------------------------------------------------

    def _found_in(self, fn: Lambda) -> Iterator[Let]:
        """The lets of a body whose operators are tried, in the order of the program."""
        for let in fn.lets:
            if self._is_tried(let):
                yield let
            else:
                for inner in self._bodies(let.op):
                    yield from self._found_in(inner)

    def _is_tried(self, let: Let) -> bool:
        if not isinstance(let.op, TRIED) or let.where is None:
            return False
        if isinstance(let.op, CallKernel):
            return let.op.program.tried is not None
        known = isinstance(let.op, Reduce) and let.op.known
        return not known and let.where.instruction in self._lines

    @staticmethod
    def _bodies(op: Op) -> Sequence[Lambda]:
        """The functions of an operation that are entered."""
        match op:
            case Map(fn=fn) | Generate(fn=fn) | Nest(fn=fn) | For(body=fn) | While(body=fn):
                return (fn,)
            case If(then=then, other=other):
                return (then, other)
        return ()

    def _has_pending(self, let: Let) -> bool:
        if let in self._pending:
            return True
        return any(
            self._has_pending(inside) for body in self._bodies(let.op) for inside in body.lets
        )

    def _slice(self, fn: Lambda, whole: bool) -> tuple[Let, ...]:
        """The lets of a body that are needed to try the operators in it."""
        if fn not in self._slices:
            chosen = [let for let in fn.lets if self._has_pending(let)]
            roots = [var for let in chosen for var in free_vars(let.op)]
            needed = set(needed_for(fn.lets, [*roots, *(fn.results if whole else ())]))
            needed.update(chosen)
            self._slices[fn] = tuple(let for let in fn.lets if let in needed)
        return self._slices[fn]

    def _is_known(self, var: Var) -> bool:
        value: Any = self._root.values.get(var)
        return isinstance(value, np.ndarray | np.generic)

    # -- bodies -----------------------------------------------------------------------------------

    def _visit(self, env: Env, fn: Lambda, whole: bool = False) -> None:
        """Evaluate what is needed of a body, and try the operators in it."""
        for let in self._slice(fn, whole):
            if not all(env.knows(var) for var in let.vars) or not let.vars:
                self._let(env, let)
            if self._has_pending(let):
                try:
                    if let in self._pending:
                        self._try(env, let)
                    else:
                        self._enter(env, let.op)
                except Broken as broken:
                    broken.where = broken.where or let.where
                    raise
                except FAILED:
                    continue

    def _enter(self, env: Env, op: Op) -> None:
        """Try the operators inside the functions of an operation, on its first elements."""
        match op:
            case Map(fn=fn, xs=xs, depth=1):
                rows = self._arrays(env, xs)
                self._rows(env, fn, rows[0].shape[0], lambda i: [row_of(x, i) for x in rows])
            case Generate(shape=shape, fn=fn):
                extents = [self._extent(env, extent) for extent in shape]
                known = [extent for extent in extents if extent is not None]
                count = math.prod(known) if len(known) == len(extents) else None
                self._rows(env, fn, count, lambda i: [
                    np.asarray(k) for k in unraveled(tuple(extents), np.asarray(i))
                ])  # fmt: skip
            case Nest(count=count_, fn=fn):
                count = self._extent(env, count_)
                self._rows(env, fn, count, lambda i: [np.asarray(i)])
            case If(condition=condition, then=then, other=other):
                holds = bool(self.atom(env, condition))
                self._visit(env.inner(), then if holds else other)
            case For(lo=lo, hi=hi, step=step, body=body, init=init):
                state: Sequence[Any] = self.atoms(env, init)
                first, last, by = (int(self.atom(env, x)) for x in (lo, hi, step))
                for i in range(first, min(last, first + ROWS * by), by):
                    state = self._turn(env, body, [np.asarray(i), *state])
            case While(condition=condition, body=body, init=init):
                state = self.atoms(env, init)
                for _ in range(ROWS):
                    if not self.call(env, condition, state)[0]:
                        return
                    state = self._turn(env, body, state)

    def _rows(
        self, env: Env, fn: Lambda, count: int | None, row: Callable[[int], Sequence[Any]]
    ) -> None:
        """The first calls of an element function that works on arrays."""
        for i in range(ROWS if count is None else min(count, ROWS)):
            inside = env.inner()
            inside.values.update(zip(fn.params, row(i), strict=True))
            self._visit(inside, fn)

    def _turn(self, env: Env, body: Lambda, state: Sequence[Any]) -> Values:
        """The state after one iteration of a loop."""
        inside = env.inner()
        inside.values.update(zip(body.params, state, strict=True))
        self._visit(inside, body, whole=True)
        return self.atoms(inside, body.results)

    # -- operators --------------------------------------------------------------------------------

    def _try(self, env: Env, let: Let) -> None:
        """Try one operator; it is done where that counts."""
        op = let.op
        if isinstance(op, CallKernel):
            counts = self._try_kernel(env, op)
        elif isinstance(op, Permute):
            counts = self.try_writes(env, op) or is_lawful(op.fn)
        else:
            assert isinstance(op, Reduce | Scan | ReduceSegments)
            arrays = self._arrays(env, op.xs)
            flags = op.starts if isinstance(op, Scan) else ()
            flags = (op.starts,) if isinstance(op, ReduceSegments) else flags
            columns, begins = self.neighbours(op.fn, arrays, self._arrays(env, flags))
            count = begins.size
            if not (isinstance(op, Scan) and op.reverse):
                columns, begins = self.after_initial(env, op.neutral, columns, begins)
            counts = self.associates(
                env, op.fn, columns, begins, initial=begins.size - count
            )
        if counts:
            self._pending.pop(let, None)

    def _try_kernel(self, env: Env, op: CallKernel) -> bool:
        """Try the operators of a kernel where its first blocks meet them."""
        tries = FirstBlocks(op.program.tried, self._steps)
        try:
            return tries.run(self._arrays(env, op.args))
        finally:
            self._steps -= tries.spent
