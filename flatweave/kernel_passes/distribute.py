"""What is for all units of a level becomes loops over the warps and lanes that a machine has.

    for_all thread n (i => f)    CPU      lanes W: for 0 whole W (base => i = lane base; f)
                                          lanes 1: for whole n 1 (i => f)
                                 devices  lanes W: for 0 n threads (base =>
                                              i = lane (base + W * warp); if i < n (f))
    for_all warp n (w => f)      CPU      for 0 n 1 (w => f)
                                 devices  for 0 n warps (base => w = base + warp; if w < n (f))
    sync level=warp              CPU      nothing: there is one warp, and it is in lock step
    warp_shared T k              shared T (k * warps), in which each warp has its part
    local T k                    CPU: shared T (k * W), lanes side by side; devices: as it is

A thread that takes many i takes every (threads)th, so that adjacent threads read adjacent elements.
A single iteration needs no loop, and no mask is needed where all lanes have work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug, Unsupported
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import LEVELS, WARP, ForAll, Local, WarpShared, in_lanes
from flatweave.kernel_ir.lane_facts import meets
from flatweave.kernel_ir.memory_ops import Atomic, AtomicUpdate, LockedUpdate
from flatweave.kernel_ir.syntax import (
    Call,
    Kernel,
    Lane,
    Lanes,
    Load,
    Shared,
    Store,
    Sync,
    Unit,
    WarpIndex,
)
from flatweave.kernel_passes.steps import Registers, emit_guarded, expect_together, parts
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, free_vars, lambdas_in, map_field, walk_lets

Place = Callable[[Builder, Atom], Atom]
"""Where an element of memory is that became part of another."""


@record(eq=True)
class BlockShape:
    """What a machine gives each block: `warps` of `width` lanes.

    `simt`: lanes are threads, and idle ones are masked; else a step has all lanes, and what is left
    goes one by one: with `registers` in steps as wide as suits what it does (`steps.py`).
    `warps_meet_alone`: a warp's barrier concerns no other warp. `shuffles`: its lanes exchange
    values without memory. `memory`: bytes of shared memory that a block may have.
    """

    warps: int
    width: int
    simt: bool = True
    warps_meet_alone: bool = True
    memory: int = 48 * 1024
    registers: Registers | None = None
    shuffles: bool = False

    @property
    def threads(self) -> int:
        """How many a block has, where lanes are threads."""
        return self.warps * self.width


def distribute(unit: Unit, shape: BlockShape) -> Unit:
    """The unit with all its kernels distributed over blocks of this shape."""
    kernels = unit.complete().kernels
    return Unit(unit.host, tuple(distribute_kernel(kernel, shape) for kernel in kernels))


def distribute_kernel(kernel: Kernel, shape: BlockShape) -> Kernel:
    """A kernel without for_all, and without memory of warps."""
    if not any(isinstance(let.op, ForAll) for let in walk_lets(kernel.body)):
        return kernel
    b = Builder()
    Distributor(shape, b).body(b, kernel.body.lets)
    body = Lambda((), tuple(b.lets), ())
    if not shape.warps_meet_alone:
        expect_together(body)
    expect_room(kernel.name, body, shape.memory)
    return Kernel(kernel.name, kernel.params, body, shape.warps)


class Writer:
    """Emits the lets of a kernel anew; what each variable became is in `renaming`."""

    def __init__(self, shape: BlockShape, b: Builder) -> None:
        self.shape = shape
        self.renaming = Substitution(fresh=lambda var, type_: b.var(var.name, type_))

    def body(self, b: Builder, lets: Sequence[Let]) -> None:
        """Emit lets."""
        for let in lets:
            b.where = let.where
            self.let(b, let)

    def let(self, b: Builder, let: Let) -> None:
        """Emit a let."""
        raise NotImplementedError

    def function(self, b: Builder, fn: Lambda) -> Lambda:
        """A lambda inside the code of `b`."""
        inside = b.inner()
        params = [inside.param(param.name, param.type) for param in fn.params]
        self.renaming.mapping.update(zip(fn.params, params, strict=True))
        self.body(inside, fn.lets)
        return inside.close(params, [self.renaming.atom(atom) for atom in fn.results])


class Distributor(Writer):
    """Emits a kernel distributed over the blocks of a machine."""

    def __init__(self, shape: BlockShape, b: Builder) -> None:
        super().__init__(shape, b)
        self.places: dict[Var, Place] = {}
        self.warp: Atom = b.emit(WarpIndex(), "w")[0] if shape.warps > 1 else index(0)
        self.of_warp = False

    # -- bodies -----------------------------------------------------------------------------------

    def bound(self, b: Builder, fn: Lambda, arg: Atom) -> None:
        """Emit a body of one parameter for this argument."""
        self.renaming.mapping[fn.params[0]] = arg
        self.body(b, fn.lets)

    def let(self, b: Builder, let: Let) -> None:
        """Emit a let for the threads and warps that there are."""
        match let.op:
            case ForAll(count=Const(value=value)) if value <= 0:
                pass
            case ForAll(level=level):
                (self._warps if LEVELS[level] is WARP else self._threads)(b, let.op)
            case Sync(level=level) if LEVELS[level] is WARP and not self.shape.simt:
                pass
            case WarpShared(dtype=dtype, count=count):
                self._move(b, let.vars[0], dtype, count * self.shape.warps, self._part(count))
            case Local() if not self.shape.simt:
                pass  # made before its lanes
            case Call(fn=fn, args=args):
                fn = Substitution(self.renaming.mapping).function(fn)
                atoms = tuple(self.renaming.atom(arg) for arg in args)
                self._bind(b, let, Call(fn, atoms))
            case op if _is_code(op):
                self._bind(
                    b, let, map_field(op, self.renaming.atom, lambda fn: self.function(b, fn))
                )
            case Load() | Store() | Atomic() | AtomicUpdate(values_=(_,)) if (
                let.op.buffer in self.places
            ):
                at = self.places[let.op.buffer](b, self.renaming.atom(let.op.index))
                self._bind(b, let, self.renaming.op(let.op).replace(index=at))
            case LockedUpdate(buffers=buffers) if buffers[0] in self.places:
                at = self.places[buffers[0]](b, self.renaming.atom(let.op.index))
                self._bind(b, let, self.renaming.op(let.op).replace(index=at))
            case op if any(buffer in self.places for buffer in free_vars(op)):
                raise CompilerBug(f"{op.name} on memory of a thread or warp", where=let.where)
            case _:
                b.inline_let(let, self.renaming)

    def _bind(self, b: Builder, let: Let, op: Op) -> None:
        self.renaming.mapping.update(zip(let.vars, b.emit(op), strict=True))

    # -- memory -----------------------------------------------------------------------------------

    def _move(self, b: Builder, var: Var, dtype: DType, count: int, place: Place) -> None:
        """Memory that becomes a part of a block's."""
        self.renaming.mapping[var] = b.emit(Shared(dtype, count), var.name)[0]
        self.places[var] = place

    def _part(self, count: int) -> Place:
        """Each warp has `count` elements."""
        return lambda b, at: b.add(b.mul(self.warp, index(count)), at)

    # -- threads ----------------------------------------------------------------------------------

    def _threads(self, b: Builder, op: ForAll) -> None:
        count = self.renaming.atom(op.count)
        if self.shape.simt:
            self._masked_threads(b, op.body, count)
        else:
            self._steps(b, op, count)

    def _masked_threads(self, b: Builder, fn: Lambda, count: Atom) -> None:
        """Every thread takes its share; the last step of all runs with some of them idle."""
        width = self.shape.width
        stride = width if self.of_warp else width * self.shape.warps
        with in_lanes(b, width) as region:
            first = index(0) if self.of_warp else region.mul(self.warp, index(width))

            def turn(c: Builder, base: Atom) -> None:
                i = c.emit(Lane(c.add(base, first)), fn.params[0].name)[0]
                fills = _is_multiple(count, stride)
                with c.when(None if fills else c.apply("lt", i, count)) as there:
                    self.bound(there, fn, i)

            _turns(region, index(0), count, stride, turn)

    def _steps(self, b: Builder, op: ForAll, count: Atom) -> None:
        """Steps of all lanes, then narrower ones of what is left."""
        fn, width = op.body, self.shape.width
        lo: Atom = index(0)
        widths: list[tuple[int, int | None]] = [(width, None), (1, None)]
        if self.shape.registers is not None:
            widths = parts(op, count, self.shape.registers)
        widest = max(lanes for lanes, _ in widths)
        own = [(let.vars[0], let.op) for let in walk_lets(fn) if isinstance(let.op, Local)]
        for var, memory in own:
            self._move(b, var, memory.dtype, memory.count * widest, lambda b, at: at)
        for lanes, end in widths:
            hi = index(end) if end is not None else _whole_steps(b, count, lanes)
            if lo != hi:
                self._part_in_steps(b, fn, lanes, lo, hi, [(var, widest) for var, _ in own])
            lo = hi

    def _part_in_steps(
        self, b: Builder, fn: Lambda, lanes: int, lo: Atom, hi: Atom, own: list[tuple[Var, int]]
    ) -> None:
        """Threads from lo to below hi in steps of `lanes` lanes, which have private memory."""

        def turn(c: Builder, base: Atom) -> None:
            i: Atom = c.emit(Lane(base), fn.params[0].name)[0] if lanes > 1 else base
            self.bound(c, fn, i)

        with in_lanes(b, lanes) as region:
            lane = region.emit(Lane(index(0)))[0] if own and lanes > 1 else index(0)
            for var, stride in own:
                self.places[var] = _side_by_side(lane, stride)
            _turns(region, lo, hi, lanes, turn)

    # -- warps ------------------------------------------------------------------------------------

    def _warps(self, b: Builder, op: ForAll) -> None:
        """Every warp takes its share."""
        count, warps, fn = self.renaming.atom(op.count), self.shape.warps, op.body
        again = not _is_one_turn(index(0), count, warps) and self.shape.simt
        waits = again and any(isinstance(let.op, WarpShared) for let in walk_lets(fn))
        guarded = meets(*fn.lets) and not self.shape.warps_meet_alone
        self.of_warp = True

        def turn(c: Builder, base: Atom) -> None:
            w = c.add(base, self.warp)
            if _is_multiple(count, warps):
                self.bound(c, fn, w)
            else:
                active = c.apply("lt", w, count)
                self.renaming.mapping[fn.params[0]] = w
                if guarded:
                    emit_guarded(self, c, fn.lets, active)
                else:
                    with c.when(active) as there:
                        self.bound(there, fn, w)
            if waits:  # what the warp writes next it may still read
                c.emit(Sync("warp"))

        _turns(b, index(0), count, warps, turn)
        self.of_warp = False


def _turns(
    b: Builder, lo: Atom, hi: Atom, step: int, turn: Callable[[Builder, Atom], None]
) -> None:
    """turn(b, base) for base = lo, lo + step, .. below hi; a single iteration has no loop."""
    if _is_one_turn(lo, hi, step):
        turn(b, lo)
        return
    with b.loop(lo, hi, step, hint="base") as (inside, base):
        turn(inside, base)


def _whole_steps(b: Builder, count: Atom, lanes: int) -> Atom:
    """The threads that fill whole steps of `lanes` lanes."""
    return b.sub(count, b.apply("mod", count, index(lanes))) if lanes > 1 else count


def _is_one_turn(lo: Atom, hi: Atom, step: int) -> bool:
    if not (isinstance(lo, Const) and isinstance(hi, Const)):
        return False
    return lo.value < hi.value <= lo.value + step


def _is_multiple(count: Atom, of: int) -> bool:
    return of == 1 or isinstance(count, Const) and int(count.value) % of == 0


def _side_by_side(lane: Atom, width: int) -> Place:
    """The elements of all lanes with one index are neighbours."""
    return lambda b, at: b.add(lane, b.mul(at, index(width)))


def _is_code(op: Op) -> bool:
    """Whether an op's bodies are code of a kernel, in which anything may stand."""
    return isinstance(op, Lanes) or (bool(lambdas_in(op)) and op.name in ("if", "while", "for"))


# --------------------------------------------------------------------------------------------------
# Check that a kernel's shared memory fits in a block; print a memory map if it does not.
#
#     scan needs 65536 bytes of shared memory, and a block has 49152.
#       bytes 0 to 32767: m, f32[8192], of scans.py:7: part = fk.force(xs)
#       bytes 32768 to 65535: m_2, f32[8192], of scans.py:9: sums = fk.force(..)


MOST_LINES = 12


def expect_room(name: str, body: Lambda, bytes_: int) -> None:
    """Refuse a kernel with more memory than a block has."""
    memory = [let for let in walk_lets(body) if isinstance(let.op, Shared)]
    size = sum(_bytes(let) for let in memory)
    if size > bytes_:
        raise Unsupported(
            f"{name} needs {size} bytes of shared memory, and a block has {bytes_}.",
            where=max(memory, key=_bytes).where,
            origins=tuple(_map(memory)),
            remedy="Force fewer elements at once: cut the array into smaller parts with split_up, "
            "or let each thread combine several before (seq_reduce). What is not read any more "
            "behind a barrier has given its place already.",
        )


def _bytes(let: Let) -> int:
    assert isinstance(let.op, Shared)
    return let.op.count * let.op.dtype.bytes


def _map(memory: Sequence[Let]) -> Iterator[str]:
    """Who has which bytes."""
    first = 0
    for let in memory[:MOST_LINES]:
        end = first + _bytes(let)
        assert isinstance(let.op, Shared)
        line = ""
        if let.where is not None and let.where.is_known:
            line = f", of {let.where.file}:{let.where.line}: {let.where.text.strip()}"
        held = f"{let.vars[0].name}, {let.op.dtype}[{let.op.count}]"
        yield f"bytes {first} to {end - 1}: {held}{line}"
        first = end
    if len(memory) > MOST_LINES:
        yield f"and {len(memory) - MOST_LINES} more"
