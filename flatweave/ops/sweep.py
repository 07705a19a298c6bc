"""The normal form: everything that touches each element of an extent once.

    ys, s = sweep [n] (i: i64 => .. in y, v) (store) (combine add 0.0)

`body` computes the element at an index; inside it `prefix` is a scan over the whole sweep. Each
sink takes the next results of the body:

    store                            y -> ys[i] = y
    compact k                        flag, x.. -> the x where flag holds, and their number
    combine fn neutral               v.. -> their reduction

Sinks that combine segments are in `folds.py`, those that write into arrays in `writes.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.base.dtypes import i64
from flatweave.terms.build import FALSE
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Op,
    Part,
    Var,
    condition_misfits,
    constant,
    function_misfits,
    index_misfits,
    op,
    operator_misfits,
    scalar_type,
    starts_misfits,
    types_misfit,
    types_of,
)

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp
    from flatweave.terms.batch import Env, Value, Values


def zeros(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """A zero for each scalar."""
    return tuple(constant(0, scalar_type(atom)) for atom in atoms)


class Sink(Part):
    """Where results of a sweep's body go; `arity` is how many of them it takes.

    `forward`: the sweep must not be in reverse. `alone`: it is divided by what this sink writes, so
    it has no other sink. `early`: it may take the elements of a block before it is known what lies
    before that. `closes`: the flags that it counts close segments.
    """

    __slots__ = ()
    forward: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    early: ClassVar[bool] = False
    closes: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    """Whether it combines rows, which only `flatten` gives a sweep to do."""
    at_own_position: ClassVar[bool] = False
    """Whether it stores each element at that element's own position."""
    in_words: ClassVar[bool] = False
    """Whether 32 elements share a word, which no two threads may write."""
    filters: ClassVar[bool] = False
    """Whether it leaves the elements whose flag holds, after their number."""
    said: ClassVar[str] = "an array"
    """What it leaves, in the user's words."""

    @property
    def arity(self) -> int:
        raise NotImplementedError

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        """Fresh variables for the results of the sink."""
        raise NotImplementedError

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        """A sentence for each thing that does not fit, given the results that the sink takes."""
        return iter(())

    @property
    def is_open(self) -> bool:
        """Whether it stores an array that fusion may leave out."""
        return False

    @property
    def updated(self) -> tuple[Atom, ...]:
        """The arrays that it writes into."""
        return ()

    @property
    def deciding(self) -> int:
        """How many of its first results have no effect if they are `idle`, whatever the others."""
        return 0

    def idle(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """For each result that it takes, a value that has no effect if it decides so."""
        return zeros(taken)

    def counted(self, taken: tuple[Atom, ...]) -> Atom | None:
        """The flag whose number before an element says where that goes."""
        return None

    def consecutive(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """The values stored at consecutive indices."""
        return ()

    def row(self, taken: tuple[Atom, ...]) -> Atom | None:
        """The row that an element is combined into, of consecutive rows."""
        return None

    def reduction(self) -> Lambda | None:
        """The operator by which all elements are combined into one."""
        return None

    def in_any_order(self, commutes: Callable[[Lambda], bool]) -> bool:
        """Whether elements may come in any order, given which operators commute."""
        return False

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        """What the sink leaves; `order` is each element's flat index, in running order."""
        raise NotImplementedError


class SinkOp(Op):
    """An operation on arrays that is one sink over their elements."""

    __slots__ = ()
    traced: ClassVar[bool] = True

    def fed(self) -> tuple[Atom, ...]:
        """The arrays whose elements the sink takes."""
        raise NotImplementedError

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        """The sink, over what `atoms` gives for the atoms of this operation."""
        raise NotImplementedError


@op
class Store(Sink):
    """The array of all results, of the sweep's shape; at a `barrier` every reader loads it."""

    barrier: bool = False
    early: ClassVar[bool] = True
    at_own_position: ClassVar[bool] = True

    @property
    def arity(self) -> int:
        return 1

    @property
    def is_open(self) -> bool:
        return not self.barrier

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return (Var("t", ArrayType(scalar_type(taken[0]), shape)),)

    def consecutive(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return taken

    def in_any_order(self, commutes: Callable[[Lambda], bool]) -> bool:
        return True

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        result = np.empty(len(order), taken[0].dtype)
        result[order] = taken[0]
        return (result.reshape(shape),)


@op
class Compact(Sink):
    """The elements whose flag holds, in order, and their number."""

    count: int
    early: ClassVar[bool] = True
    filters: ClassVar[bool] = True
    said: ClassVar[str] = "a filter's result"
    deciding: ClassVar[int] = 1

    @property
    def arity(self) -> int:
        return 1 + self.count

    def idle(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return FALSE, *zeros(taken[1:])

    def counted(self, taken: tuple[Atom, ...]) -> Atom | None:
        return taken[0]

    def consecutive(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return taken[1:]

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        kept = Var("n", i64)
        arrays = (Var("t", ArrayType(scalar_type(x), (kept,))) for x in taken[1:])
        return kept, *arrays

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        return condition_misfits(taken[0])

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        kept = np.flatnonzero(taken[0])
        return np.asarray(len(kept)), *(x[kept] for x in taken[1:])


@op
class Combine(Sink):
    """One reduction over all elements."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    early: ClassVar[bool] = True

    @property
    def arity(self) -> int:
        return len(self.neutral)

    @property
    def deciding(self) -> int:
        return self.arity

    def idle(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return self.neutral

    def reduction(self) -> Lambda | None:
        return self.fn

    def in_any_order(self, commutes: Callable[[Lambda], bool]) -> bool:
        return commutes(self.fn)

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return tuple(Var("t", atom.type) for atom in self.neutral)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        yield from types_misfit("what is combined", taken, types_of(self.neutral))
        yield from operator_misfits(self.fn, types_of(self.neutral))

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        return operators.reduce(interp, env, self.fn, interp.atoms(env, self.neutral), taken)


@op
class Prefix(Op):
    """A scan inside a sweep's body: `args` of all elements up to this one combined.

    With `starts` it restarts at each element whose flag holds; `exclusive`, it gives
    the neutral element there. If there is an `initial` element, and no flag, it is applied once, to
    the left of everything; the neutral one may be applied anywhere.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    args: tuple[Atom, ...]
    exclusive: bool = False
    starts: tuple[Atom, ...] = ()
    initial: tuple[Atom, ...] = ()
    batched: ClassVar[bool] = True
    typed_as = "args"

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the neutral element", self.neutral, types_of(self.args))
        yield from operator_misfits(self.fn, types_of(self.args))
        yield from starts_misfits(self.starts)
        if self.initial:
            yield from types_misfit("the initial element", self.initial, types_of(self.args))
        if self.initial and self.starts:
            yield "an initial element is applied once, but segments start more than once"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        """The batch is all elements of the sweep, in running order."""
        outside = env.whole()
        first, args = self.initial or self.neutral, interp.columns(env, self.args)
        neutral = interp.atoms(env, first)
        starts = interp.columns(env, self.starts)
        return operators.scan(interp, outside, self.fn, neutral, args, self.exclusive, starts)


@op
class Sweep(Op):
    """One pass over an iteration space, row-major, from the end when `reverse`."""

    shape: tuple[Atom, ...]
    body: Lambda
    sinks: tuple[Sink, ...]
    reverse: bool = False

    @property
    def only_stores(self) -> bool:
        """Whether every result is stored at the element's own position, and nothing is combined."""
        return all(sink.at_own_position for sink in self.sinks)

    @property
    def only_reduces(self) -> bool:
        """Whether every result is one reduction."""
        return all(sink.reduction() is not None for sink in self.sinks)

    @property
    def stores_or_reduces(self) -> bool:
        """Whether every result is stored so, or is one reduction."""
        return all(sink.at_own_position or sink.reduction() is not None for sink in self.sinks)

    @property
    def scans(self) -> bool:
        """Whether its body has a scan over all elements."""
        return any(isinstance(let.op, Prefix) for let in self.body.lets)

    @property
    def inserts(self) -> bool:
        """Whether it writes a part of a larger array: such parts are written one by one."""
        return any(sink.updated and not sink.alone for sink in self.sinks)

    def portions(self) -> tuple[tuple[Atom, ...], ...]:
        """The results of the body that each sink takes."""
        taken, start = [], 0
        for sink in self.sinks:
            taken.append(self.body.results[start : start + sink.arity])
            start += sink.arity
        return tuple(taken)

    def binders(self) -> tuple[Var, ...]:
        bound: list[Var] = []
        for sink, taken in zip(self.sinks, self.portions(), strict=True):
            bound.extend(sink.binders(self.shape, taken))
        return tuple(bound)

    def binders_by_sink(self, vars_: tuple[Var, ...]) -> tuple[tuple[Var, ...], ...]:
        """The variables that a let of this sweep binds, grouped by sink."""
        groups, start = [], 0
        for sink, taken in zip(self.sinks, self.portions(), strict=True):
            size = len(sink.binders(self.shape, taken))
            groups.append(vars_[start : start + size])
            start += size
        return tuple(groups)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the shape", self.shape)
        yield from function_misfits("the body", self.body, (i64,) * len(self.shape))
        if sum(sink.arity for sink in self.sinks) != len(self.body.results):
            yield f"the sinks do not take {len(self.body.results)} results"
        if self.reverse and any(sink.forward for sink in self.sinks):
            yield "a sink that combines segments needs a sweep from the front"
        if len(self.sinks) > 1 and any(sink.alone for sink in self.sinks):
            yield "a sink that writes to computed indices shares its sweep with another one"
        for sink, taken in zip(self.sinks, self.portions(), strict=True):
            yield from sink.misfits(taken)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        shape = interp.shape(env, self.shape)
        order = np.arange(math.prod(shape))[:: -1 if self.reverse else 1]
        indices = [axis.reshape(-1)[order] for axis in np.indices(shape)]
        elements = interp.each(env, self.body, indices, len(order), order)
        results: list[Value] = []
        for sink in self.sinks:
            taken, elements = elements[: sink.arity], elements[sink.arity :]
            results.extend(sink.evaluate(interp, env, shape, order, taken))
        return tuple(results)
