"""The reverse of a chain s_i = s_{i-1} op x_i, which reductions and scans are: a linear recurrence.

    s'_i = y'_i + u_{i+1}        u_i = J_i s'_i,  J_i = transposed derivative of op by s_{i-1}
    x'_i = (derivative of op by x_i, transposed) s'_i

The u_i are an exclusive scan the other way, of pairs of a matrix J_i and a vector J_i y'_i; such
pairs are affine functions, whose composition is associative. Entries that are zero for every
operand are left out, so independent components are scanned as numbers; where J is the identity, as
for sums, no matrix is scanned at all. Nothing is divided, so factors may be zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.gradients.bodies import Space
from flatweave.gradients.modes import Reverse, components
from flatweave.gradients.rewrites import ends_of_segments, next_of
from flatweave.gradients.sinks import whole
from flatweave.gradients.values import (
    chosen,
    closed,
    dtype_of,
    generate,
    read,
    shape_of,
    tangent_dtype,
    times,
)
from flatweave.ops import Generate, Index, Scan
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, constant

Pair = tuple[int, int]
Matrix = Mapping[Pair, Atom]


@record
class Chain:
    """Elements combined in order from `neutral` on, from the end where `reverse`; a flag
    in `starts` begins anew. `states` are those before each element, or after it."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    xs: tuple[Atom, ...]
    states: tuple[Atom, ...]
    reverse: bool = False
    starts: tuple[Atom, ...] = ()
    exclusive: bool = True

    @property
    def extent(self) -> Atom:
        """The number of elements."""
        return shape_of(self.xs[0])[0]


class ChainReverse:
    """The reverse of a chain, of which some components are active."""

    def __init__(self, r: Reverse, chain: Chain) -> None:
        self.r = r
        self.chain = chain
        flags = components(chain.fn, chain.neutral, chain.xs, r.active)
        self.moving = [k for k, flag in enumerate(flags) if flag]
        self.dtypes = [_dtype(chain.neutral[k]) for k in self.moving]

    def body(self, *, after: bool = False) -> tuple[Reverse, Lambda, Var]:
        """The operator at element i, or the one `after` it, on what comes before and the element.
        """
        r, chain = self.r, self.chain
        fn = r.b.copy(chain.fn)
        body = r.inner(())
        i = body.b.param("i", i64, chain.extent)
        at = self._next(body.b, i) if after else i
        for param, array in zip(self.elements(fn), chain.xs, strict=True):
            body.keep(Let((param,), Index(array, (at,), checked=False)))
        for param, array, ne in zip(self.state(fn), chain.states, chain.neutral, strict=True):
            if chain.exclusive:
                body.keep(Let((param,), Index(array, (at,), checked=False)))
                continue
            first = self._is_first(body.b, at)
            near = read(body.b, array, [self._next(body.b, at, back=True)])
            body.keep(Let((param,), Apply("select", (first, ne, near))))
        body.own.update(fn.params)
        half = len(chain.xs)
        r.active.update(fn.params[k + side] for k in self.moving for side in (0, half))
        body.run(fn.lets)
        return body, fn, i

    def state(self, fn: Lambda) -> Sequence[Var]:
        """The operator's parameters for what comes before the element."""
        half = len(self.chain.xs)
        return fn.params[half:] if self.chain.reverse else fn.params[:half]

    def elements(self, fn: Lambda) -> Sequence[Var]:
        """The operator's parameters for the element."""
        half = len(self.chain.xs)
        return fn.params[:half] if self.chain.reverse else fn.params[half:]

    def jacobian(self, body: Reverse, fn: Lambda) -> dict[Pair, Atom]:
        """The entries by number of the result and of the state, of those that are not zero."""
        found: dict[Pair, Atom] = {}
        for p, dtype in zip(self.moving, self.dtypes, strict=True):
            body.pull([(fn.results[p], constant(1.0, dtype))])
            for q in self.moving:
                entry = body.known(self.state(fn)[q])
                if entry is not None:
                    found[p, q] = entry
        return found

    def is_identity(self, entries: Matrix) -> bool:
        """Whether the state goes through the operator as it is."""
        return set(entries) == {(p, p) for p in self.moving} and all(
            isinstance(atom, Const) and atom.value == 1 for atom in entries.values()
        )

    def of_result(self, last: Mapping[int, Atom]) -> dict[int, Atom]:
        """The cotangents of all states, given those of the last one: arrays, or one number where
        all are equal."""
        body, fn, i = self.body()
        entries = self.jacobian(body, fn)
        if self.is_identity(entries):
            return dict(last)
        pairs = _closure(entries, self.moving)
        results = [entries.get(pair, self._zero(pair)) for pair in pairs]
        arrays = self.r.b.emit(Generate((self.chain.extent,), closed(body.b, (i,), results)))
        after = dict(zip(pairs, self._scan(pairs, arrays, (), True), strict=True))

        def write(b: Builder, at: list[Var]) -> list[Atom]:
            products = {pair: read(b, array, at) for pair, array in after.items()}
            return [self._applied(b, products, last, q) for q in self.moving]

        made = generate(self.r.b, [self.chain.extent], write)
        return dict(zip(self.moving, made, strict=True))

    def of_all(self, given: Mapping[int, Atom], exclusive: bool) -> dict[int, Atom]:
        """The cotangents of all states, given those of what a scan gives for each element."""
        body, fn, i = self.body(after=not exclusive)
        entries = self.jacobian(body, fn)
        b = body.b
        identity = self.is_identity(entries)
        pairs = [] if identity else _closure(entries, self.moving)
        vector = [self._nothing(q) for q in self.moving]
        matrix = [entries.get(pair, self._zero(pair)) for pair in pairs]
        if not exclusive:
            end = self._is_end(b, i)
            matrix = [chosen(b, end, constant(0.0, dtype_of(x.type)), x) for x in matrix]
        arrays = iter(self._generated(b, i, [*matrix, *(
            nothing for q, nothing in zip(self.moving, vector, strict=True) if q not in given
        )]))  # fmt: skip
        matrices = [next(arrays) for _ in pairs]
        vectors = [given[q] if q in given else next(arrays) for q in self.moving]
        found = self._scan(pairs, matrices, vectors, exclusive)
        return dict(zip(self.moving, found[len(pairs) :], strict=True))

    def _generated(self, b: Builder, i: Var, results: Sequence[Atom]) -> Sequence[Atom]:
        op = Generate((self.chain.extent,), closed(b, (i,), results))
        return self.r.b.emit(op) if results else ()

    def finish(self, states: Mapping[int, Atom], given: Mapping[int, Atom] | None) -> None:
        """Add what the states' cotangents say of the elements, of `neutral`, and of variables that
        the operator reads. `given` are those of what an exclusive scan gives."""
        body, fn, i = self.body()
        seeds = {q: self._at(body.b, array, i) for q, array in states.items()}
        body.pull([(fn.results[q], seed) for q, seed in seeds.items()])
        found = [(self.chain.xs[q], body.known(self.elements(fn)[q])) for q in self.moving]
        for q in self.moving:
            neutral, here = self.chain.neutral[q], body.known(self.state(fn)[q])
            if given and q in given:
                own = read(body.b, given[q], [i])
                here = own if here is None else body.b.add(here, own)
            if self.r.is_active(neutral) and here is not None:
                assert isinstance(neutral, Var)
                first = self._is_first(body.b, i)
                body.sinks.append(whole(neutral, chosen(body.b, first, here, self._nothing(q))))
        Space((self.chain.extent,), (i,)).emit(
            self.r, body, [(x, c) for x, c in found if c is not None and self.r.is_active(x)]
        )

    def _at(self, b: Builder, array: Atom, i: Atom) -> Atom:
        return read(b, array, [i]) if shape_of(array) else array

    def _next(self, b: Builder, i: Atom, *, back: bool = False) -> Atom:
        """The index after this one in the chain, or before it; at an end this one."""
        return next_of(b, i, self.chain.extent, down=back != self.chain.reverse)[0]

    def _is_end(self, b: Builder, i: Atom) -> Atom:
        """Whether no element of the chain comes after this one."""
        return b.apply("eq", i, next_of(b, i, self.chain.extent, down=self.chain.reverse)[1])

    def _is_first(self, b: Builder, i: Atom) -> Atom:
        """Whether an element is combined with `neutral`."""
        end = next_of(b, i, self.chain.extent, down=not self.chain.reverse)[1]
        first = b.apply("eq", i, end)
        for flags in self.chain.starts:
            first = b.apply("or", first, read(b, flags, [i]))
        return first

    def _last(self) -> tuple[Atom, ...]:
        """Flags of the elements that end a segment, which the scan the other way begins at."""
        chain = self.chain
        return tuple(
            ends_of_segments(self.r.b, starts, chain.extent, reverse=chain.reverse)
            for starts in chain.starts
        )

    def _scan(
        self, pairs: Sequence[Pair], matrix: Sequence[Atom], vector: Sequence[Atom],
        exclusive: bool,
    ) -> Sequence[Atom]:  # fmt: skip
        """For each element the affine functions from it on, or of all after it, composed."""
        width = len(vector)
        types = [dtype_of(atom.type) for atom in (*matrix, *vector)]
        half = len(types)

        def compose(b: Builder, *params: Var) -> list[Atom]:
            first, then = params[:half], params[half:]
            if self.chain.reverse:
                first, then = then, first
            left, right = (dict(zip(pairs, side, strict=False)) for side in (first, then))
            products = [
                _sum(b, [(left[k, q], right[p, k]) for k in self.moving
                         if (k, q) in left and (p, k) in right], dtype)
                for (p, q), dtype in zip(pairs, types, strict=False)
            ]  # fmt: skip
            tails = dict(zip(self.moving, then[half - width :], strict=False))
            sums = []
            for k, q in enumerate(self.moving[:width]):
                own = first[half - width + k]
                rest = self._applied_plainly(b, left, tails, q) if pairs else tails[q]
                sums.append(b.add(own, rest))
            return [*products, *sums]

        ones = [constant(float(p == q), dtype) for (p, q), dtype in zip(pairs, types, strict=False)]
        zeros = [constant(0.0, dtype) for dtype in types[half - width :]]
        fn = self.r.b.function([*types, *types], compose)
        op = Scan(fn, (*ones, *zeros), (*matrix, *vector), exclusive, not self.chain.reverse,
                  self._last(), known=True)  # fmt: skip
        return self.r.b.emit(op)

    def _applied(self, b: Builder, entries: Matrix, vector: Mapping[int, Atom], q: int) -> Atom:
        """Component q of the transposed matrix times a vector; what is zero stays zero."""
        dtype = self.dtypes[self.moving.index(q)]
        terms = [
            times(b, b.cast(vector[p], dtype), entries[p, q])
            for p in self.moving if (p, q) in entries and p in vector
        ]  # fmt: skip
        return _added(b, terms, self._nothing(q))

    def _applied_plainly(
        self, b: Builder, entries: Matrix, vector: Mapping[int, Atom], q: int
    ) -> Atom:
        pairs = [(vector[p], entries[p, q]) for p in self.moving if (p, q) in entries]
        return _sum(b, pairs, dtype_of(vector[q].type))

    def _nothing(self, q: int) -> Atom:
        return constant(0.0, self.dtypes[self.moving.index(q)])

    def _zero(self, pair: Pair) -> Atom:
        return constant(0.0, self.dtypes[self.moving.index(pair[1])])


def _dtype(atom: Atom) -> DType:
    dtype = tangent_dtype(dtype_of(atom.type))
    assert dtype is not None
    return dtype


def _sum(b: Builder, factors: Sequence[tuple[Atom, Atom]], dtype: DType) -> Atom:
    """A sum of products."""
    terms = [b.mul(b.cast(x, dtype), b.cast(y, dtype)) for x, y in factors]
    return _added(b, terms, constant(0.0, dtype))


def _added(b: Builder, terms: Sequence[Atom], nothing: Atom) -> Atom:
    found = nothing
    for k, term in enumerate(terms):
        found = b.add(found, term) if k else term
    return found


def _closure(entries: Matrix, numbers: Sequence[int]) -> list[Pair]:
    """The entries that a product of such matrices, or the identity, may have."""
    found = set(entries) | {(p, p) for p in numbers}
    while True:
        more = {(p, q) for (p, k), (m, q) in product(found, found) if k == m} - found
        if not more:
            return sorted(found)
        found |= more
