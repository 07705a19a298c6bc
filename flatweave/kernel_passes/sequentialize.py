"""Threads of a block that take q elements each, with the meaning of threads that take one.

    for_all thread n (i => f) each=q    for_all thread n/q (t =>
                                            for 0 q 1 (j => i = t + j * n/q; f))
    reduce_all, scan_all each=q         tiles, chunks in registers, sums of chunks
                                        (`folds_in_chunks.py`)

The rules are those of efficient sequentialization (Marslev and Grønborg 2024), with two changes:
a map or scatter needs no tile, as its threads go on side by side; and what must be in order goes
through a tile of elements, whatever they are computed from. So a scatter to any positions stores
in warps what it stored before. Where q does not divide, the last elements of some threads are left
out.

A thread that updates few elements combines its updates in private bins, then applies them at once:

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

from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import DType
from flatweave.base.records import record, replace
from flatweave.kernel_ir.arrays import Values, loop
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, ForAll, Local, ReduceAll, ScanAll
from flatweave.kernel_ir.memory_ops import EXCHANGE, Atomic, AtomicUpdate
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Kernel, Load, Shared, Store
from flatweave.kernel_passes.chunks import Around, pad_memory, side_by_side, turns_of
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.kernel_passes.folds_in_chunks import Fold, write_reduction, write_scan
from flatweave.kernel_passes.registers import MOST_BYTES
from flatweave.scalar.ops import TABLE, identity
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.control import Apply, Cast, If
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


# -- How many elements a thread takes where the machine decides: `fk.sequential()` -----------------
#
#     lanes are threads   4, which Marslev and Grønborg found best; more where a block has too few
#                         threads for all elements, fewer where 64 threads would not have work, or
#                         where a thread's elements do not fit its registers
#     a CPU               enough that threads fill a few vector registers; a thread is sequential
#
# A kernel has one such number, so that a thread finds its earlier values in its registers.


CHOSEN = 0
"""What `each` is where it is left open."""
USUAL = 4
LEAST_THREADS = 64
REGISTERS = 4
"""Of a CPU that the threads of a step fill: additions that do not wait for each other."""


def with_factor(body: Lambda, shape: BlockShape) -> Lambda:
    """Code of a block in which each operation says how many elements its threads take."""
    work = [(count, size) for let in walk_lets(body) for count, size in _open(let)]
    if not work:
        return body
    counts, sizes = zip(*work, strict=True)
    return _with(body, factor(max(counts), max(sizes), shape))


def factor(count: int, size: int, shape: BlockShape) -> int:
    """Elements for each thread, of `count` of `size` bytes each; a count of 0 is unknown."""
    if not shape.simt:
        vector = 8 * shape.width if shape.registers is None else shape.registers.size
        threads = max(1, REGISTERS * vector // size)
        return max(1, -(-count // threads))
    few = -(-count // (shape.warps * shape.width))
    q = USUAL
    while q > 1 and (0 < count < q * LEAST_THREADS or q * size > MOST_BYTES):
        q //= 2
    return max(q, few)


def _open(let: Let) -> Iterator[tuple[int, int]]:
    """How many elements an operation has that leaves it open, and the bytes of one."""
    op = let.op
    if not isinstance(op, ForAll | ReduceAll | ScanAll) or op.each != CHOSEN:
        return
    if isinstance(op, ForAll):
        known = int(op.count.value) if isinstance(op.count, Const) else 0
        stored = [
            inner.op.buffer.type for inner in walk_lets(op.body) if isinstance(inner.op, Store)
        ]
        yield known, max([t.dtype.bytes for t in stored if isinstance(t, BufferType)], default=4)
    else:
        types = [atom.type for atom in op.neutral]
        yield op.count, sum(type_.bytes for type_ in types if isinstance(type_, DType))


def _with(body: Lambda, q: int) -> Lambda:
    lets = []
    for let in body.lets:
        op = map_field(let.op, lambda atom: atom, lambda fn: _with(fn, q))
        if isinstance(op, ForAll | ReduceAll | ScanAll) and op.each == CHOSEN:
            op = op.replace(each=q)
        lets.append(replace(let, op=op))
    return replace(body, lets=tuple(lets))


def sequentialize(kernel: Kernel, names: Names, shape: BlockShape) -> Kernel:
    """A kernel in which it is said what each thread does; the machine's blocks have this shape."""
    if not any(_is_shared_work(let.op) for let in walk_lets(kernel.body)):
        return kernel
    b = Builder(names)
    body = with_factor(without_unused(kernel.body), shape)
    body = pad_memory(body)
    shared = {
        let.vars[0]: let.op.count for let in walk_lets(body) if isinstance(let.op, Shared)
    }
    _Writer(b, shape, shared).body(b, body.lets)
    return replace(kernel, body=Lambda((), tuple(b.lets), ()))


def _is_shared_work(op: Op) -> bool:
    return isinstance(op, ReduceAll | ScanAll) or (isinstance(op, ForAll) and op.each != 1)


class _Writer:
    """Emits code of a block anew; what each variable became is in `renaming`."""

    def __init__(self, b: Builder, shape: BlockShape, shared: Mapping[Var, int]) -> None:
        self.renaming = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
        self.shape = shape
        self.shared = shared

    def body(self, b: Builder, lets: Sequence[Let]) -> None:
        """Emit lets."""
        for let in lets:
            b.where = let.where
            self._let(b, let)

    def _function(self, b: Builder, fn: Lambda) -> Lambda:
        """A lambda inside the code of a block."""
        inside = b.inner()
        params = [inside.param(param.name, param.type) for param in fn.params]
        self.renaming.mapping.update(zip(fn.params, params, strict=True))
        self.body(inside, fn.lets)
        return inside.close(params, [self.renaming.atom(atom) for atom in fn.results])

    def _let(self, b: Builder, let: Let) -> None:
        match let.op:
            case ForAll(level=level, each=each) if LEVELS[level] is THREAD and each > 1:
                self._for_all(b, let.op)
            case ReduceAll():
                write_reduction(b, self._fold(b, let.op), self.shape)
            case ScanAll():
                before = tuple(self.renaming.atom(atom) for atom in let.op.before)
                write_scan(b, replace(self._fold(b, let.op), before=before), self.shape)
            case op if op.name in ("if", "while", "for"):
                made = map_field(op, self.renaming.atom, lambda fn: self._function(b, fn))
                self.renaming.mapping.update(zip(let.vars, b.emit(made), strict=True))
            case _:
                b.inline_let(let, self.renaming)

    def _for_all(self, b: Builder, op: ForAll) -> None:
        count = self.renaming.atom(op.count)
        turns = turns_of(count, op.each) if self.shape.simt else 0
        own = private_bins(op, self.shared, turns)
        code = in_private(op.body, own)

        def begin(c: Builder) -> None:
            self.renaming.mapping.update((bins.own, bins.made(c)) for bins in own)

        def unit(c: Builder, i: Atom) -> None:
            self._inline(c, code, i)

        def end(c: Builder, t: Atom) -> None:
            for bins in own:
                bins.given(c, t, self.renaming)

        side_by_side(b, count, op.each, unit, Around(begin, end))

    def _inline(self, b: Builder, fn: Lambda, *args: Atom) -> Values:
        return b.inline(fn, args, around=self.renaming)

    def _fold(self, b: Builder, op: ReduceAll | ScanAll) -> Fold:
        neutral = tuple(self.renaming.atom(atom) for atom in op.neutral)

        def combine(c: Builder, left: Values, right: Values) -> Values:
            return self._inline(c, op.fn, *left, *right)

        def element(c: Builder, i: Atom) -> Values:
            return self._inline(c, op.element, i)

        def put(c: Builder, i: Atom, values: Values) -> None:
            self._inline(c, op.body, i, *values)

        return Fold(op, Operator(combine, neutral), element, put)


# -- Unused loads and scalars are removed: those of unused components of tuples --------------------


def without_unused(fn: Lambda) -> Lambda:
    """A body, and the bodies in it, of which every load and scalar is read."""
    read: set[Var] = {atom for atom in fn.results if isinstance(atom, Var)}
    kept: list[Let] = []
    for let in reversed(fn.lets):
        if isinstance(let.op, Load | Apply | Cast) and not read.intersection(let.vars):
            continue
        new = replace(let, op=map_field(let.op, lambda atom: atom, without_unused))
        read.update(free_vars(new.op))
        kept.append(new)
    return replace(fn, lets=tuple(reversed(kept)))
