"""What operators promise, tried on the real data: the switch `debug`, FLATWEAVE_DEBUG=1.

    reduce, scan, ..          (x op y) op z is x op (y op z), for neighbours x, y, z
    reduce_by_index, ..       ne op x and x op ne are x, for every x that is written or written to

The program is interpreted before it runs on its target. Integers must agree exactly, floats to
1e-5 (f32) or 1e-12 (f64) of the largest number in play; where one is infinite or NaN, nothing is
said. Operators that are associative by law, such as + and maximum, are not tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.fault import NOT_ASSOCIATIVE, NOT_NEUTRAL, PARTS, Fault
from flatweave.array_ir.interp import Interp, run
from flatweave.array_ir.syntax import Program
from flatweave.ops import Permute, Reduce, ReduceSegments, Scan
from flatweave.scalar.ops import TABLE
from flatweave.terms.batch import Env, Value, Values, spread, take
from flatweave.terms.components import component_functions
from flatweave.terms.syntax import Lambda, Op

RELATIVE = {4: 1e-5, 8: 1e-12}
IN_ORDER = "Elements are grouped as sizes ask for; use fw.fori_loop to combine them one by one."
NEUTRAL = "Give the value that leaves the other operand as it is, or use fw.permute, without one."


def audit(program: Program, args: Sequence[Any]) -> None:
    """Interpret a program and try its operators; raises Fault for the first that fails."""
    run(program, args, _Auditor())


class _Auditor(Interp):
    """An interpreter that tries the operators that it meets."""

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives, after its operator was tried."""
        match op:
            case Reduce(fn=fn, xs=xs) | Scan(fn=fn, xs=xs) | ReduceSegments(fn=fn, xs=xs):
                self._try(env, fn, operators.elements(fn, self.atoms(env, xs)))
            case Permute(fn=fn, neutral=neutral, indices=indices, xs=xs, dest=dest):
                at, into = self.atom(env, indices), self.atoms(env, dest)
                written = take(self.atoms(env, xs), (at >= 0) & (at < len(into[0])))
                self._try(env, fn, written)
                if neutral and self.is_batched(fn):
                    for columns in (written, into):
                        self._try_neutral(env, fn, self.atoms(env, neutral), columns)
        return super().evaluate(env, op)

    def _try(self, env: Env, fn: Lambda, columns: Values) -> None:
        """Combine neighbours from the left and from the right."""
        names = component_functions(fn)
        lawful = names is not None and all(TABLE[name].associative for name in names)
        if lawful or not self.is_batched(fn) or len(columns[0]) < 3:
            return
        x, y, z = (take(columns, slice(k, len(columns[0]) - 2 + k)) for k in range(3))
        try:
            first, second = self._apply(env, fn, x, y), self._apply(env, fn, y, z)
            left, right = self._apply(env, fn, first, z), self._apply(env, fn, x, second)
        except Fault:  # a read that fails: the run itself tells of those that matter
            return
        k = _first_unlike(left, right, [x, y, z, first, second])
        if k is None:
            return
        a, b, c, from_left, from_right = (_shown(v, k) for v in (x, y, z, left, right))
        raise Fault(NOT_ASSOCIATIVE, index=k, message=PARTS.join([
            f"this operator is not associative: with x = {a}, y = {b} and z = {c}, elements {k} to"
            f" {k + 2}, op(op(x, y), z) is {from_left} and op(x, op(y, z)) is {from_right}.",
            IN_ORDER,
        ]))  # fmt: skip

    def _try_neutral(self, env: Env, fn: Lambda, neutral: Values, columns: Values) -> None:
        """Combine every element with the neutral one, on both sides."""
        size = len(columns[0])
        ne = spread(neutral, size)
        left, right = self._apply(env, fn, ne, columns), self._apply(env, fn, columns, ne)
        for found in (left, right):
            k = _first_unlike(found, columns, [])
            if k is not None:
                raise Fault(NOT_NEUTRAL, index=k, message=PARTS.join([
                    f"{_shown(ne, k)} is not neutral to this operator: with x ="
                    f" {_shown(columns, k)}, op(ne, x) is {_shown(left, k)} and op(x, ne) is"
                    f" {_shown(right, k)}.",
                    NEUTRAL,
                ]))  # fmt: skip

    def _apply(self, env: Env, fn: Lambda, a: Values, b: Values) -> Values:
        return operators.apply(self, env, fn, (*a, *b))


def _first_unlike(left: Values, right: Values, others: Sequence[Values]) -> int | None:
    """The first place where two tuples of columns differ by more than rounding."""
    unlike = np.zeros(len(left[0]), bool)
    sure = np.ones(len(left[0]), bool)
    largest = np.zeros(len(left[0]))
    for column in (c for columns in (left, right, *others) for c in columns):
        if column.dtype.kind == "f":
            sure &= np.isfinite(column)
            largest = np.fmax(largest, np.abs(column.astype(np.float64)))
    for a, b in zip(left, right, strict=True):
        unlike |= _differ(a, b, largest)
    found = np.flatnonzero(unlike & sure)
    return int(found[0]) if found.size else None


def _differ(a: Value, b: Value, largest: Value) -> Value:
    if a.dtype.kind != "f":
        return np.asarray(a != b)
    with np.errstate(all="ignore"):
        distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return np.asarray(distance > RELATIVE[a.dtype.itemsize] * largest)


def _shown(columns: Values, k: int) -> str:
    """An element as Python writes it."""
    parts = [repr(column[k].item()) for column in columns]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
