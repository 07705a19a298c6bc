"""What an operator promises, tried on elements of the data.

    associative     (x op y) op z  is  x op (y op z)    for neighbours and what op makes of them
    commutative     x op y  is  y op x                  where the order of the elements is open
    neutral         ne op x  and  x op ne  are  x

Integers must agree exactly. Floats may differ by 1e-3 of the largest number in play, and what
differs by more must do so when it is computed in f64, too: the rest is rounding. A result that a
float comparison chose counts only where that comparison is clear. Results that are not finite say
nothing, and neither does an operator that fails on the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.array_ir.syntax import NOT_ASSOCIATIVE, NOT_COMMUTATIVE, NOT_NEUTRAL, PARTS, Fault
from flatweave.base.dtypes import f64
from flatweave.base.errors import CompilerBug
from flatweave.scalar import ops as scalar
from flatweave.scalar.function import evaluate_cast
from flatweave.terms.batch import Env, Value, Values, spread, take
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Lambda, Op, Var

RELATIVE = 1e-3
UNCLEAR, NOISE = 1e-6, 1e-12  # of the operands, and of the largest number, in a comparison
ENOUGH = 6  # distinct elements are enough even where each is a fixed point, as of a maximum
TIES = 3  # pairs
CANDIDATES = 16
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "sign"})
STEPS = frozenset({"floor", "ceil", "round", "trunc", "floordiv", "mod"})
ROUNDED = frozenset({"to_f16", "to_bf16"})
WAY_OUT = (
    "Elements are grouped by sizes. To combine them in order, use fw.recurrence, which also finds a"
    " parallel form, or fw.fori_loop; say check=False if the law holds on all elements that occur."
)
NEUTRAL = "Give the value that leaves the other operand as it is, or use fw.permute, without one."
UNTOLD = (Fault, CompilerBug, ValueError, IndexError, OverflowError)
"""What raises where an operator fails on the elements: the run tells of it, if it matters."""
Law = Callable[..., tuple[Values, Values, Sequence[Values]]]


class Broken(Fault):
    """An operator does not keep a law that it must keep."""


class Laws(Interp):
    """An interpreter that tries operators; raises `Broken` for the first law that one breaks."""

    way_out, neutral = WAY_OUT, NEUTRAL  # what to do about it

    def __init__(self) -> None:
        super().__init__()
        self._clear: Value | None = None  # in f64: for each candidate whether it says something
        self._largest = np.zeros(0)

    # -- the laws ---------------------------------------------------------------------------------

    def associates(
        self, env: Env, fn: Lambda, columns: Values, begins: Value, *, commutes: bool = False,
        initial: int = 0,
    ) -> bool:  # fmt: skip
        """Try neighbours, none across an element where `begins` holds; whether that counts.

        An operator that `commutes` is tried for that, too. The first `initial` elements are no
        data: what is tried with them does not count.
        """
        joined = ~begins[1:]
        if not joined.any():
            return False
        try:
            if commutes:
                pairs = np.flatnonzero(joined)
                self._commutes(env, fn, take(columns, pairs), take(columns, pairs + 1))
            return self._associates(env, fn, columns, joined, initial)
        except Broken:
            raise
        except UNTOLD:
            return False

    def _associates(
        self, env: Env, fn: Lambda, columns: Values, joined: Value, initial: int
    ) -> bool:
        """Raise where they do not; whether the triples that are data say something.

        A triple is three neighbours; or three of four, of which one is what the operator makes of
        two. All values are in one table, each computed once: the elements, what the operator makes
        of two, of three and of four. Where x or z leaves y as it is, almost any operator keeps the
        law: such a triple counts only if each of the three is a fixed point.
        """
        pairs = np.flatnonzero(joined)
        begins = np.flatnonzero(joined[:-1] & joined[1:])
        if not begins.size:
            return False
        is_batched = self.is_batched(fn)  # of rows each call takes long
        table, every = columns, np.arange(len(columns[0]))

        def combine(*operands: tuple[Value, Value]) -> list[Value]:
            nonlocal table
            ends = len(table[0]) + np.cumsum([len(i) for i, _ in operands])
            i, j = (np.concatenate(side) for side in zip(*operands, strict=True))
            found = operators.apply(self, env, fn, (*take(table, i), *take(table, j)))
            table = _joined(table, found)
            return [np.arange(end - len(i), end) for end, (i, _) in zip(ends, operands)]

        both, *twice = combine((pairs, pairs + 1), *[(every, every)] * is_batched)
        pair = both[np.cumsum(joined) - 1]  # of each element and the next
        a, ab, bc = begins, pair[begins], pair[begins + 1]
        left, right, *same = combine((ab, a + 2), (a, bc), *[(both, both)] * is_batched)
        found = [[a, a + 1, a + 2, ab, bc, left, right]]
        k = np.flatnonzero(np.diff(begins) == 1)
        if is_batched and k.size:
            a, ab, bc, cd, d = a[k], ab[k], bc[k], bc[k + 1], a[k] + 3
            ab_c, a_bc, bc_d, b_cd = left[k], right[k], left[k + 1], right[k + 1]
            abc_d, a_bcd, ab_cd, *other = combine(
                (ab_c, d), (a, b_cd), (ab, cd), (a_bc, d), (a, bc_d)
            )
            found += [
                [ab, a + 2, d, ab_c, cd, abc_d, ab_cd], [a, bc, d, a_bc, bc_d, *other],
                [a, a + 1, cd, ab, b_cd, ab_cd, a_bcd],
            ]  # fmt: skip
        triples = np.concatenate(found, axis=1)
        self._need_alike(env, fn, table, triples)
        finite = _finite([table])[triples[5:]].all(axis=0)
        of_data = np.concatenate([begins, *[a] * (len(found) - 1)]) >= initial
        x, y, z = (take(table, row) for row in triples[:3])
        says = of_data & finite & ~(_same(x, y) | _same(y, z) | _same(x, z))
        if not says.any():
            return False
        twice = [*twice, *same] or combine((every, every))
        single = take(table, np.concatenate([every, both]) if same else every)
        is_fixed = _same(take(table, np.concatenate(twice)), single)[triples[:3]].all(axis=0)
        largest = _largest([table])[triples[:5]].max(axis=0)
        acts = _differ(take(table, triples[3]), y, largest)
        acts &= _differ(take(table, triples[4]), y, largest)
        if (says & acts & ~is_fixed).any():
            return True
        first = np.flatnonzero(says & is_fixed)[: 2 * ENOUGH]
        return len({tuple(v.tobytes() for v in take(x, k)) for k in first}) >= ENOUGH

    def _need_alike(self, env: Env, fn: Lambda, table: Values, triples: Value) -> None:
        """Raise for the first triple whose two groupings differ."""

        def law(x: Values, y: Values, z: Values) -> tuple[Values, Values, Sequence[Values]]:
            first, second = self._calls(env, fn, [(x, y), (y, z)])
            left, right = self._calls(env, fn, [(first, z), (x, second)])
            return left, right, [x, y, z, first, second]

        x, y, z, _, _, left, right = triples
        largest = _largest([table])[triples].max(axis=0)
        differs = _differ(take(table, left), take(table, right), largest)
        at = np.flatnonzero(differs & _finite([table])[triples].all(axis=0))[:CANDIDATES]
        if at.size:
            operands = [take(table, row[at]) for row in (x, y, z)]
            self._confirm(law, operands, NOT_ASSOCIATIVE, _tell_triple)

    def _commutes(self, env: Env, fn: Lambda, x: Values, y: Values) -> None:
        """Raise where they do not. One that gives one of its operands, as the nearer of two, may
        take either of those that tie: only where no two commute it is an error."""
        one, other = self._calls(env, fn, [(x, y), (y, x)])
        broken, distinct = ~_same(one, other), ~_same(x, y)
        ties = broken & (_same(one, x) | _same(one, y)) & (_same(other, x) | _same(other, y))
        if not (broken[distinct].all() and distinct.sum() >= TIES):
            x, y = take(x, ~ties), take(y, ~ties)
        if not len(x[0]):
            return

        def law(x: Values, y: Values) -> tuple[Values, Values, Sequence[Values]]:
            one, other = self._calls(env, fn, [(x, y), (y, x)])
            return one, other, [x, y]

        self._need(law, (x, y), NOT_COMMUTATIVE, _tell_pair)

    def is_neutral(self, env: Env, fn: Lambda, neutral: Values, columns: Values) -> None:
        """Combine every element with the neutral one, on both sides."""
        ne = tuple(np.array(v) for v in spread(neutral, len(columns[0])))

        def law(ne: Values, x: Values) -> tuple[Values, Values, Sequence[Values]]:
            left, right = self._calls(env, fn, [(ne, x), (x, ne)])
            return _joined(left, right), _joined(x, x), []

        try:
            if len(columns[0]):
                self._need(law, (ne, columns), NOT_NEUTRAL, _tell_neutral)
        except Broken:
            raise
        except UNTOLD:
            return

    # -- how they are tried -----------------------------------------------------------------------

    def _calls(
        self, env: Env, fn: Lambda, pairs: Sequence[tuple[Values, Values]]
    ) -> list[Values]:
        """The operator on several pairs of columns, at once."""
        sizes = [len(left[0]) for left, _ in pairs]
        lefts = _joined(*(left for left, _ in pairs))
        rights = _joined(*(right for _, right in pairs))
        results = operators.apply(self, env, fn, (*lefts, *rights))
        ends = np.cumsum(sizes)
        return [take(results, slice(end - size, end)) for size, end in zip(sizes, ends)]

    def _need(
        self, law: Law, operands: Sequence[Values], code: str, tell: Callable[..., str]
    ) -> None:
        """Raise Broken where the two sides of a law differ, in f64, too."""
        at = np.flatnonzero(_unlike(*law(*operands)))[:CANDIDATES]
        if at.size:
            size = len(operands[0][0])
            self._confirm(law, [take(part, at % size) for part in operands], code, tell)

    def _confirm(
        self, law: Law, chosen: Sequence[Values], code: str, tell: Callable[..., str]
    ) -> None:
        """Raise Broken for the first of these operands on which the law fails in f64, too."""
        size = len(chosen[0][0])
        with self._in_f64(_largest([*chosen])):
            persists = _unlike(*law(*[_wide(part) for part in chosen]))
            assert self._clear is not None
            clear = self._clear
        persists = persists.reshape(-1, size).any(axis=0) & clear
        for k in np.flatnonzero(persists):
            one = [take(part, slice(k, k + 1)) for part in chosen]
            raise Broken(code, index=int(k), message=PARTS.join([
                tell(*one, *law(*one)[:2]), self.neutral if code == NOT_NEUTRAL else self.way_out,
            ]))  # fmt: skip

    @contextmanager
    def _in_f64(self, largest: Value) -> Iterator[None]:
        self._clear, self._largest = np.ones(len(largest), bool), largest
        try:
            yield
        finally:
            self._clear = None

    # -- evaluation in f64 ------------------------------------------------------------------------

    def atom(self, env: Env, atom: Atom) -> Value:
        """The value of an atom; constants are f64 where everything is computed so."""
        value = super().atom(env, atom)
        return _wider(value) if self._clear is not None and isinstance(atom, Const) else value

    def _agree(self, env: Env, var: Var, value: Value) -> None:
        if self._clear is None:
            super()._agree(env, var, value)

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives; in f64 where that is asked for."""
        if self._clear is None:
            return super().evaluate(env, op)
        if isinstance(op, Apply):
            args = [_wider(value) for value in self.atoms(env, op.args)]
            result = scalar.evaluate(op.fn, *args)
            self._note(env, op.fn, args)
            return (result,)
        if isinstance(op, Cast):
            value = _wider(self.atom(env, op.arg))
            if value.dtype.kind == "f" and op.dtype.is_integer:
                self._mark(env, _near_step(value))
            return (evaluate_cast(value, f64 if op.dtype.is_float else op.dtype),)
        return super().evaluate(env, op)

    def _note(self, env: Env, fn: str, args: Sequence[Value]) -> None:
        """Note where the choice of a function of floats is not clear."""
        if args[0].dtype.kind != "f":
            return
        if fn in COMPARISONS:
            a, b = args[0], args[1] if len(args) > 1 else np.zeros(())
            with np.errstate(all="ignore"):
                unclear = np.abs(a - b) <= UNCLEAR * np.fmax(np.abs(a), np.abs(b))
                unclear |= np.abs(a - b) <= NOISE * np.max(self._largest, initial=0.0)
            self._mark(env, unclear)
        elif fn in STEPS:
            with np.errstate(all="ignore"):
                steps = args[0] / args[1] if len(args) > 1 else args[0]
            self._mark(env, _near_step(2 * steps if fn == "round" else steps))
        elif fn in ROUNDED or scalar.TABLE[fn].result == "bits":
            self._mark(env, np.ones((), bool))

    def _mark(self, env: Env, unclear: Value) -> None:
        assert self._clear is not None
        if env.size is None or env.positions is None or not self._clear.size:
            if unclear.any():
                self._clear[:] = False
            return
        whole = np.broadcast_to(unclear, (env.size,))
        self._clear[env.positions[whole] % self._clear.size] = False


def _wider(value: Value) -> Value:
    return value.astype(np.float64) if value.dtype.kind == "f" else value


def _wide(columns: Values) -> Values:
    return tuple(_wider(column) for column in columns)


def _near_step(value: Value) -> Value:
    """Where a number is nearly a whole one."""
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(value - np.rint(value)) <= UNCLEAR * np.fmax(1, np.abs(value)))


def _joined(*parts: Values) -> Values:
    """Columns, concatenated."""
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _each(mask: Value) -> Value:
    """For each element whether all of it holds, where elements are numbers or rows."""
    return mask if mask.ndim == 1 else np.asarray(mask.reshape(len(mask), -1).all(axis=1))


def _same(a: Values, b: Values) -> Value:
    """For each element whether both are the same."""
    return reduce(and_, [_each(x == y) for x, y in zip(a, b, strict=True)])


def _finite(parts: Sequence[Values]) -> Value:
    floats = [column for part in parts for column in part if column.dtype.kind == "f"]
    sure = [_each(np.isfinite(column)) for column in floats]
    return reduce(and_, sure, np.ones(len(parts[0][0]), bool))


def _largest(parts: Sequence[Values]) -> Value:
    """For each element the largest float of all its parts."""
    largest = np.zeros(len(parts[0][0]))
    for column in (column for part in parts for column in part if column.dtype.kind == "f"):
        with np.errstate(invalid="ignore"):  # of signalling NaN
            sizes = np.abs(column.astype(np.float64))
        if sizes.ndim > 1:
            sizes = sizes.reshape(len(sizes), -1).max(axis=1, initial=0.0)
        largest = np.fmax(largest, sizes)
    return largest


def _unlike(left: Values, right: Values, others: Sequence[Values]) -> Value:
    """For each element whether both sides differ by more than rounding, all of it finite."""
    parts = [left, right, *others]
    return _differ(left, right, _largest(parts)) & _finite(parts)


def _differ(left: Values, right: Values, largest: Value) -> Value:
    """For each element whether both sides differ by more than rounding."""
    alike = np.ones(len(left[0]), bool)
    for x, y in zip(left, right, strict=True):
        if x.dtype.kind != "f":
            alike &= _each(x == y)
            continue
        with np.errstate(all="ignore"):
            distance = np.abs(x.astype(np.float64) - y.astype(np.float64))
            bound = RELATIVE * largest.reshape(-1, *[1] * (x.ndim - 1))
            alike &= _each(~(distance > bound))
    return ~alike


def shown(columns: Values) -> str:
    """An element as Python writes it."""
    parts = [repr(column[0].tolist()) for column in columns]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _tell_triple(x: Values, y: Values, z: Values, left: Values, right: Values) -> str:
    return (
        f"this operator is not associative: with x = {shown(x)}, y = {shown(y)} and"
        f" z = {shown(z)}, op(op(x, y), z) is {shown(left)} and op(x, op(y, z)) is {shown(right)}."
    )


def _tell_pair(x: Values, y: Values, one: Values, other: Values) -> str:
    return (
        f"this operator is not commutative: with x = {shown(x)} and y = {shown(y)}, op(x, y) is"
        f" {shown(one)} and op(y, x) is {shown(other)}."
    )


def _tell_neutral(ne: Values, x: Values, found: Values, _: Values) -> str:
    left, right = (tuple(c[k : k + 1] for c in found) for k in range(2))
    return (
        f"{shown(ne)} is not neutral to this operator: with x = {shown(x)}, op(ne, x) is"
        f" {shown(left)} and op(x, ne) is {shown(right)}."
    )
