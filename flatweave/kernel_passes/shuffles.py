"""Memory of a warp in which each lane has one element becomes a register, read by shuffles.

    m = warp_shared f32 32                      m = thread_memory f32 1 width=32
    for_all thread 32 (i => store m i x)        for_all thread 32 (i => store m 0 x)
    sync level=warp                      ==>    sync level=warp
    for_all thread 32 (i =>                     for_all thread 32 (i =>
        j = xor i 1                                 j = xor i 1
        y = load m j)                               z = load m 0
                                                    y = shuffle_lanes [z] j)

So what `fk.shuffle` and its like force goes from register to register, as do the steps of a scan
that a user writes for 32 elements. It is done where lanes have shuffles, where every lane has an
element and stores it once, and where all of them come to each load. Barriers that then order
nothing go with `needless_barriers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, WARP, ForAll, WarpShared
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Kernel, Load, Store, Unit
from flatweave.kernel_ir.warp_ops import ShuffleLanes
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import index
from flatweave.terms.syntax import BufferType, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, map_field, walk_lets


def shuffles(unit: Unit, shape: BlockShape) -> Unit:
    """The unit with less memory of warps; as it is where lanes have no shuffles."""
    if not shape.shuffles:
        return unit
    unit = unit.complete()
    return Unit(unit.host, tuple(shuffles_of(kernel, shape.width) for kernel in unit.kernels))


def shuffles_of(kernel: Kernel, width: int) -> Kernel:
    """A kernel whose warps have lanes with shuffles."""

    def body(fn: Lambda) -> Lambda:
        return replace(fn, lets=tuple(map(let_of, fn.lets)))

    def let_of(let: Let) -> Let:
        op = let.op
        if isinstance(op, ForAll) and LEVELS[op.level] is WARP:
            return replace(let, op=op.replace(body=_of_warp(op.body, width)))
        return replace(let, op=map_field(op, lambda atom: atom, body))

    return replace(kernel, body=body(kernel.body))


def _of_warp(fn: Lambda, width: int) -> Lambda:
    """Code of a warp."""
    kept = {
        let.vars[0]: Var(let.vars[0].name, BufferType(let.op.dtype, THREAD.space))
        for let in fn.lets
        if isinstance(let.op, WarpShared) and let.op.count == width
        and _is_one_each(fn, let.vars[0], width)
    }  # fmt: skip
    return _Writer(kept, width).function(fn) if kept else fn


# -- who has what ---------------------------------------------------------------------------------


@record(eq=True)
class _Use:
    """A load or store of one loop over all lanes, and whether it is of the lane's own element."""

    loop: int
    stores: bool
    own: bool


def _is_one_each(fn: Lambda, memory: Var, width: int) -> bool:
    """Whether each lane stores its own element once, and loads come behind, in all lanes."""
    uses = list(_uses(fn, memory, width))
    all_uses = sum(memory in atoms_in(let.op) for let in walk_lets(fn))
    stores = [use for use in uses if use.stores]
    if len(uses) < all_uses or len(stores) != 1 or not stores[0].own:
        return False
    return all(use.loop > stores[0].loop for use in uses if not use.stores)


def _uses(fn: Lambda, memory: Var, width: int) -> Iterator[_Use]:
    """The uses in loops over all lanes, under no condition."""
    for number, let in enumerate(fn.lets):
        op = let.op
        if not isinstance(op, ForAll) or op.count != Const(width, op.count.type):  # type: ignore[arg-type]
            continue
        for inner in op.body.lets:
            if isinstance(inner.op, Load | Store) and inner.op.buffer is memory:
                own = inner.op.index is op.body.params[0]
                yield _Use(number, isinstance(inner.op, Store), own)


# -- in registers ---------------------------------------------------------------------------------


@record
class _Writer:
    """Code of a warp in which some memory is a register of each lane."""

    kept: Mapping[Var, Var]
    width: int

    def function(self, fn: Lambda) -> Lambda:
        """The code anew."""
        return replace(fn, lets=tuple(self._let(let) for let in fn.lets))

    def _let(self, let: Let) -> Let:
        op = let.op
        if let.vars and let.vars[0] in self.kept:
            assert isinstance(op, WarpShared)
            made = ThreadMemory(op.dtype, 1, self.width)
            return replace(let, vars=(self.kept[let.vars[0]],), op=made)
        if isinstance(op, ForAll):
            i, lets = op.body.params[0], op.body.lets
            inside = tuple(new for inner in lets for new in self._use(inner, i))
            return replace(let, op=op.replace(body=replace(op.body, lets=inside)))
        return let

    def _use(self, let: Let, i: Var) -> Sequence[Let]:
        op = let.op
        if not isinstance(op, Load | Store) or op.buffer not in self.kept:
            return [let]
        own = op.replace(buffer=self.kept[op.buffer], index=index(0))
        if isinstance(op, Store) or op.index is i:
            return [replace(let, op=own)]
        held = Var("held", dtype_in(op.buffer))
        shuffled = ShuffleLanes((held,), op.index)
        return [Let((held,), own, let.where), replace(let, op=shuffled)]
