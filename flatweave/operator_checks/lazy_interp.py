"""An interpreter that computes elements of arrays as they are read.

    ys = map f xs       ys[3] is f(xs[3]), and nothing else is computed

So it goes through maps, functions of indices, reads, joins, filters and scans that go forward.
Other operations are interpreted where their arrays are small. What is not known stays unbound:
whoever reads it gets Unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from flatweave.array_ir import operators
from flatweave.base.dtypes import DType
from flatweave.operator_checks.in_kernels import (
    FAILED,
    MANY,
    Array,
    Lazy,
    Unknown,
    elements,
    once,
    raveled,
    read,
    row_of,
    unraveled,
)
from flatweave.operator_checks.laws import Laws
from flatweave.ops import (
    Callback,
    CallKernel,
    Check,
    Concat,
    Filter,
    Generate,
    Index,
    Locate,
    Map,
    Reshape,
    Scan,
    Span,
)
from flatweave.scalar import ops as scalar
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Type, Var
from flatweave.terms.traverse import atoms_in, lambdas_in

# Elements of filters and scans: what is before those that are read is computed with them.


FEW = 64  # that a filter begins with
LIKE_A_LET = 1 << 13
"""Elements that take as long as a let of a few."""


def filtered(mask: Array, xs: Sequence[Array]) -> tuple[Any, ...]:
    """The elements that are kept: the first ones, where counting all would take long."""
    size: int | None = mask.shape[0]
    kept, end, most = np.zeros(0, np.int64), 0, MANY if size is None else min(size, MANY)

    def look(least: int) -> None:
        nonlocal kept, end
        count = min(max(2 * end, FEW, least), most)
        kept, end = np.flatnonzero(elements(mask, [np.arange(count)])), count

    def place(i: Value) -> Value:
        while i.max(initial=-1) >= kept.size:
            if end == most:
                raise Unknown
            look(0)
        return kept[i]

    if size is not None and size <= LIKE_A_LET:
        with suppress(Unknown):
            look(size)
    is_known = end == size
    count = np.asarray(kept.size) if is_known else None
    extent = kept.size if is_known else None
    arrays = [Lazy(x.dtype, (extent,), lambda i, x=x: elements(x, [place(i)])) for x in xs]
    return (count, *arrays)


def scanned(
    interp: LazyInterp, env: Env, op: Scan, xs: Sequence[Array], starts: Sequence[Array]
) -> tuple[Lazy, ...]:
    """The first prefixes, or in reverse the last suffixes."""
    shape, neutral, size = xs[0].shape, interp.atoms(env, op.neutral), xs[0].size
    fn = operators.flipped(op.fn) if op.reverse else op.fn
    known, found = 0, Values()

    def prefixes(k: int, at: Sequence[Value]) -> Value:
        nonlocal known, found
        linear = raveled(shape, at)
        if op.reverse:
            linear = _from_the_end(linear, size)
        end = int(linear.max(initial=0)) + 1
        if end > known:
            lets = end.bit_length() * len(fn.lets) * (end // LIKE_A_LET)
            if end > MANY or lets > interp.lets_left:
                raise Unknown
            linears = np.arange(end)
            first = unraveled(shape, _from_the_end(linears, size) if op.reverse else linears)
            columns = tuple([elements(x, first) for x in xs])
            flags = tuple([elements(s, [linears]) for s in starts])
            found = operators.scan(interp, env, fn, neutral, columns, op.exclusive, flags)
            known = end
        return found[k][linear]

    return tuple(Lazy(x.dtype, shape, lambda *at, k=k: prefixes(k, at)) for k, x in enumerate(xs))


def _from_the_end(linear: Value, size: int | None) -> Value:
    """Positions counted from the other end."""
    if size is None:
        raise Unknown
    return size - 1 - linear


STEPS = 200
"""The lets that are evaluated in all, 1 to 4 ms."""


class LazyInterp(Laws):
    """Runs lambdas on arrays of which few elements are ever needed."""

    def __init__(self) -> None:
        super().__init__()
        self._forcing = False
        self.lets_left = STEPS

    def _let(self, env: Env, let: Let) -> None:
        self.lets_left -= 1 + ((env.size or 0) // LIKE_A_LET)
        if self.lets_left < 0:
            raise Unknown
        op, values = let.op, env.values
        try:
            if type(op) is Apply and self._clear is None:  # most lets; `run` turns warnings off
                (var,), args = let.vars, [self.atom(env, x) for x in op.args]
                values[var] = scalar.apply(op.fn, args, scalar_of(var.type).numpy)
                return
            results = self.evaluate(env, op)
        except FAILED:
            if env.size is not None:
                raise
            return  # a later read raises
        for var, value in zip(let.vars, results, strict=True):
            if value is not None:
                values[var] = value

    @contextmanager
    def within(self, share: int) -> Iterator[None]:
        """Evaluate at most this fraction of the lets that are left: 1 / share."""
        others = self.lets_left - self.lets_left // share
        self.lets_left -= others
        try:
            yield
        finally:
            self.lets_left = max(self.lets_left, 0) + others

    def atom(self, env: Env, atom: Atom) -> Value:
        """The value of an atom; raises Unknown without one."""
        if not isinstance(atom, Var):
            return super().atom(env, atom)
        value = env.values.get(atom)
        if value is None and (value := env.get(atom)) is None:
            raise Unknown
        return self._whole(value) if self._forcing else value

    def _arrays(self, env: Env, atoms: Sequence[Atom]) -> list[Any]:
        return list(self.atoms(env, atoms))

    @staticmethod
    def _whole(value: Array) -> Value:
        return value.whole() if isinstance(value, Lazy) else value

    def one_by_one(
        self, env: Env, fn: Lambda, columns: Sequence[Value], size: int,
        positions: Value | None = None,
    ) -> list[Values]:
        """The results of an element function for each of `size` elements, as a whole."""
        rows = super().one_by_one(env, fn, columns, size, positions)
        return [tuple(map(self._whole, row)) for row in rows]

    def _extent(self, env: Env, atom: Atom) -> int | None:
        try:
            return int(self.atom(env, atom))
        except Unknown:
            return None

    def _shape(self, env: Env, shape: Sequence[Atom]) -> tuple[int | None, ...]:
        return tuple(self._extent(env, extent) for extent in shape)

    def evaluate(self, env: Env, op: Op) -> Any:
        """What an op gives: arrays that are computed as they are read."""
        match op:
            case Apply() | Cast():
                return super().evaluate(env, op)
            case Index():
                return self._index(env, op)
            case Locate():
                return self._locate(env, op)
            case Span(offsets=offsets, row=row):
                array, at = self.atoms(env, (offsets, row))
                start = read(array, [np.atleast_1d(at)])
                end = read(array, [np.atleast_1d(at) + 1])
                return tuple(x if at.ndim else x[0] for x in (start, end - start))
            case Map():
                return self._map(env, op)
            case Generate():
                return self._generate(env, op)
            case Reshape():
                return self._reshape(env, op)
            case Concat():
                return self._concat(env, op)
            case Callback() | CallKernel():
                raise Unknown
            case For(init=init) | While(init=init) if any(map(_is_array, init)):
                raise Unknown  # each iteration would read the arrays of the one before
            case _ if not lambdas_in(op) and not any(map(_is_array, atoms_in(op))):
                return super().evaluate(env, op)
            case If() | For() | While() | Check():
                return super().evaluate(env, op)
            case _:
                return self._interpreted(env, op)

    def _interpreted(self, env: Env, op: Op) -> Any:
        """An operation on small arrays; of large ones, the first elements of a few operations."""
        match op:
            case Filter() if not self._forcing:
                mask, *xs = self._arrays(env, (op.mask, *op.xs))
                return filtered(mask, xs)
            case Scan() if not self._forcing and self.is_batched(op.fn) and not (
                op.reverse and op.starts
            ):
                xs, starts = self._arrays(env, op.xs), self._arrays(env, op.starts)
                return scanned(self, env, op, xs, starts)
        for atom in filter(_is_array, atoms_in(op)):
            self.lets_left -= self._size(env, atom) // LIKE_A_LET
        before, self._forcing = self._forcing, True
        try:
            return super().evaluate(env, op)
        finally:
            self._forcing = before

    def _size(self, env: Env, atom: Atom) -> int:
        """The elements of an array; Unknown for more than are ever computed."""
        size = self.atom(env, atom).size
        if size is None or size > MANY:
            raise Unknown
        return int(size)

    def _index(self, env: Env, op: Index) -> Values:
        assert isinstance(op.xs, Var)
        xs: Array | None = env.get(op.xs)
        if xs is None:
            raise Unknown
        if env.size == 0:
            return (np.empty(0, xs.dtype),)
        indices: Sequence[Value] = self.atoms(env, op.indices)
        if any(i.ndim != indices[0].ndim for i in indices):
            indices = np.broadcast_arrays(*indices)
        found = read(xs, [i.reshape(-1) for i in indices])
        return (found if indices[0].ndim else found.reshape(()),)

    def _locate(self, env: Env, op: Locate) -> Values:
        ends, position = self.atoms(env, (op.ends, op.position))
        first = ends_up_to(ends, op.skip, int(np.max(position, initial=0)))
        row = np.asarray(np.searchsorted(first, position, side="right"))
        start = np.where(row > 0, first[np.maximum(row - 1, 0)], 0)
        return row, np.asarray(start, np.int64)

    def _elements(
        self, env: Env, fn: Lambda, shape: tuple[int | None, ...],
        columns: Callable[[Sequence[Value]], Sequence[Value]],
        row: Callable[[Sequence[int]], Sequence[Any]],
    ) -> tuple[Lazy, ...]:  # fmt: skip
        """The results of an element function, element by element."""
        types = [scalar_of(t).numpy for t in fn.result_types()]
        shapes = [
            (*shape, *(self._shape(env, t.shape) if isinstance(t, ArrayType) else ()))
            for t in fn.result_types()
        ]
        depth, rows = len(shape), dict[tuple[int, ...], Values]()

        @once
        def batch(*indices: Value) -> Values:
            size = len(indices[0])
            if not size:
                return tuple(np.empty(0, dtype) for dtype in types)
            return self.each(env, fn, columns(indices), size)

        def alone(k: int, indices: Sequence[Value]) -> Value:
            found = []
            for at in zip(*(i.tolist() for i in indices), strict=True):
                if at[:depth] not in rows:
                    rows[at[:depth]] = self.call(env, fn, row(at[:depth]))
                value: Any = rows[at[:depth]][k]
                inner = [np.array([i]) for i in at[depth:]]
                found.append(read(value, inner)[0] if inner else value)
            return np.array(found, types[k])

        def read_of(k: int) -> Callable[..., Value]:
            each = once(lambda *indices: alone(k, indices))
            return lambda *at: batch(*at)[k] if self.is_batched(fn) else each(*at)

        return tuple(
            Lazy(dtype, shape, read_of(k))
            for k, (dtype, shape) in enumerate(zip(types, shapes, strict=True))
        )

    def _map(self, env: Env, op: Map) -> tuple[Lazy, ...]:
        xs = self._arrays(env, op.xs)

        def row(at: Sequence[int]) -> list[Any]:
            found = xs
            for i in at:
                found = [row_of(x, i) for x in found]
            return found

        shape = tuple(xs[0].shape[: op.depth])
        return self._elements(
            env, op.fn, shape, lambda indices: [elements(x, indices) for x in xs], row
        )

    def _generate(self, env: Env, op: Generate) -> tuple[Lazy, ...]:
        shape = self._shape(env, op.shape)
        return self._elements(
            env, op.fn, shape, lambda indices: indices, lambda at: [np.asarray(i) for i in at]
        )

    def _reshape(self, env: Env, op: Reshape) -> tuple[Array, ...]:
        (xs,) = self._arrays(env, (op.xs,))
        shape = self._shape(env, op.shape)
        if not isinstance(xs, Lazy) and None not in shape:
            return (xs.reshape(shape),)
        own = xs.shape
        return (
            Lazy(xs.dtype, shape, lambda *at: read(xs, unraveled(own, raveled(shape, at)))),
        )

    def _concat(self, env: Env, op: Concat) -> tuple[Lazy, ...]:
        xs = self._arrays(env, op.xs)
        sizes = [x.shape[0] for x in xs]

        def at(i: Value, *rest: Value) -> Value:
            found, begin = np.zeros(len(i), xs[0].dtype), 0
            for x, size in zip(xs, sizes, strict=True):
                here = (i >= begin) & ((i < begin + size) if size is not None else True)
                if here.any():
                    found[here] = read(x, [i[here] - begin, *(r[here] for r in rest)])
                if size is None:
                    if (i >= begin).any() and x is not xs[-1]:
                        raise Unknown
                    break
                begin += size
            return found

        return (Lazy(xs[0].dtype, (self._extent(env, op.extent), *xs[0].shape[1:]), at),)


def scalar_of(type_: Type) -> DType:
    """The dtype of a number, or of an array's elements."""
    return type_ if isinstance(type_, DType) else type_.dtype


def _is_array(atom: Atom) -> bool:
    return not isinstance(atom.type, DType)


def ends_up_to(ends: Array, skip: int, position: int) -> Value:
    """The ends of rows, up to that of the row of a position."""
    if not isinstance(ends, Lazy):
        return ends[skip:]
    count = FEW
    while True:
        size = ends.shape[0]
        count = count if size is None else min(count, size - skip)
        first = read(ends, [np.arange(skip, skip + count)])
        if first.size and first[-1] > position:
            return first
        if count >= MANY or (size is not None and count == size - skip):
            raise Unknown
        count *= 8
