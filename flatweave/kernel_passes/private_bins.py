"""Each thread combines updates of a few elements in private bins, then applies them at once.

    for_all thread 1024 each=16 (i =>       for_all thread 64 (t =>
        k = ..; x = ..                          bins = local u32 4          0 in all of them
        atomic add counts k x)       ==>        for 0 16 1 (j =>
                                                    k = ..; x = ..
                                                    bins[k] = add bins[k] x)
                                                for 0 4 1 (j =>
                                                    k = mod (t + j) 4
                                                    atomic add counts k bins[k]))

So a thread makes as many updates as there are bins, not as it has elements, and threads side by
side make theirs in different bins. It pays where there are fewer bins than elements for a thread,
and where they fit its registers; a single bin is a sum. The updates' function must have a neutral
element, and nothing else in the loop may use the bins, or what was in one before. On a CPU a block
is one thread, whose updates wait for nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatweave.base.records import record, replace
from flatweave.kernel_ir.arrays import loop
from flatweave.kernel_ir.hierarchy import ForAll, Local
from flatweave.kernel_ir.memory_ops import EXCHANGE, Atomic, AtomicUpdate
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.kernel_passes.registers import MOST_BYTES
from flatweave.scalar.ops import TABLE, identity
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, If
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import (
    Substitution,
    atoms_in,
    free_vars,
    lambdas_in,
    map_field,
    walk_lets,
)


@record(eq=True)
class Bins:
    """`count` elements of `buffer`, which are updated as `update` does, by a function of two
    numbers; `own` is what those of a thread are called in its code."""

    buffer: Var
    count: int
    fn: str
    neutral: Const
    update: Atomic | AtomicUpdate
    own: Var

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * dtype_in(self.buffer).bytes

    def made(self, b: Builder) -> Var:
        """A thread's own bins, with nothing in them."""
        own = b.emit(Local(dtype_in(self.buffer), self.count), self.own.name)[0]
        loop(b, index(0), index(self.count), lambda c, k: _store(c, own, k, self.neutral))
        return own

    def given(self, b: Builder, t: Atom, around: Substitution) -> None:
        """Update all elements by what thread t has; its neighbours begin with another one."""

        def turn(c: Builder, k: Atom) -> None:
            at = c.apply("mod", c.add(t, k), index(self.count))
            own = around.atom(self.own)
            assert isinstance(own, Var)
            value = c.emit(Load(own, at))[0]
            c.emit(self._update(around.atom(self.buffer), at, value))

        loop(b, index(0), index(self.count), turn)

    def _update(self, buffer: Atom, at: Atom, value: Atom) -> Op:
        made: Op
        if isinstance(self.update, Atomic):
            made = self.update.replace(buffer=buffer, index=at, value=value)
        else:
            made = self.update.replace(buffer=buffer, index=at, values_=(value,))
        return made


def _store(b: Builder, own: Var, at: Atom, value: Atom) -> None:
    b.emit(Store(own, at, value))


def private_bins(op: ForAll, shared: Mapping[Var, int], turns: int) -> tuple[Bins, ...]:
    """The bins that pay for a loop of which a thread takes `turns` iterations. `shared` maps each
    array in the block's memory to its number of elements."""
    found: list[Bins] = []
    for buffer in free_vars(op.body):
        bins = _bins(op.body, buffer, shared[buffer]) if buffer in shared else None
        if bins is None or bins.count >= turns:
            continue
        if bins.size + sum(other.size for other in found) <= MOST_BYTES:
            found.append(bins)
    return tuple(found)


def _bins(body: Lambda, buffer: Var, count: int) -> Bins | None:
    """What is to be known of an array that is only updated, by one function; None of others."""
    uses = [let for let in walk_lets(body) if buffer in atoms_in(let.op)]
    read = _read(body, body.results)
    names = {_function(let.op) for let in uses}
    update, fn, dtype = uses[0].op, _function(uses[0].op), dtype_in(buffer)
    if fn is None or len(names) > 1 or any(read.intersection(let.vars) for let in uses):
        return None
    neutral = identity(fn, dtype)
    if neutral is None:
        return None
    assert isinstance(update, Atomic | AtomicUpdate)
    own = Var("bins", BufferType(dtype, "local"))
    return Bins(buffer, count, fn, constant(neutral, dtype), update, own)


def _read(body: Lambda, results: Sequence[Atom]) -> set[Atom]:
    """What a body reads to give these of its results: of a branch, those that are read of the
    `if`."""
    found = set(results)
    for let in reversed(body.lets):
        found.update(atoms_in(let.op))
        for fn in lambdas_in(let.op):
            needed = fn.results
            if isinstance(let.op, If):
                needed = tuple(a for a, var in zip(needed, let.vars, strict=True) if var in found)
            found |= _read(fn, needed)
    return found


def _function(op: Op) -> str | None:
    """The function of two numbers by which an op updates."""
    match op:
        case Atomic(fn=fn) if fn != EXCHANGE:
            return fn
        case AtomicUpdate(fn=operator, values_=(_,)) if len(operator.lets) == 1:
            (let,) = operator.lets
            made = let.op if let.vars == operator.results else None
            if isinstance(made, Apply) and set(made.args) == set(operator.params):
                return made.fn if TABLE[made.fn].commutative else None
    return None


def in_private(fn: Lambda, found: Sequence[Bins]) -> Lambda:
    """Code of a thread that updates its own bins."""
    of = {bins.buffer: bins for bins in found}

    def body(inner: Lambda) -> Lambda:
        return replace(inner, lets=tuple(new for let in inner.lets for new in lets(let)))

    def lets(let: Let) -> Iterator[Let]:
        op = let.op
        if isinstance(op, Atomic | AtomicUpdate) and op.buffer in of:
            combined = _combined(op, of[op.buffer], let.vars)
            yield from (replace(new, where=let.where) for new in combined)
        else:
            yield replace(let, op=map_field(op, lambda atom: atom, body))

    return body(fn)


def _combined(
    op: Atomic | AtomicUpdate, bins: Bins, results: Sequence[Var]
) -> Iterator[Let]:
    """An update in a thread's private bins. Its `results` are unused but keep their names where a
    branch ends with them."""
    at = op.index
    value = op.value if isinstance(op, Atomic) else op.values_[0]
    dtype = dtype_in(bins.buffer)
    new = Var("new", dtype)
    (old,) = results or (Var("old", dtype),)
    yield Let((old,), Load(bins.own, at))
    yield Let((new,), Apply(bins.fn, (old, value)))
    yield Let((), Store(bins.own, at, new))
