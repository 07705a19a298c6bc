"""The machine language: one host program and the kernels that it launches.

    unit   ::= host lambda, kernel*          kernel ::= name (param: type, ..) => let*
    buffers are flat; indices and counts are i64; scalars as in terms/

A kernel is run once for each block of the grid. Code directly in a kernel is *uniform*: every warp
of the block runs it, with one value for the warp, and what it stores is stored once for each warp.
`lanes W` opens a region that the W lanes of a warp run together: there a value may differ from lane
to lane. On a CPU the block is a task of one core, has one warp, and the warp is a SIMD register
(`lanes 16` makes <16 x T>, `lanes 1` plain scalars); on a GPU the lanes are threads.
The ops of a whole warp are in `warp_ops.py`. Kernels may also be written for any number of threads
and warps: `hierarchy.py`.

    kernel scale(n: i64, xs: global f32, ys: global f32) =>
        b: i64 = block_index
        ..
        lanes 16 (() =>
            for lo hi 16i64 (i: i64 =>
                j: i64 = lane i                  # i, i + 1, .. i + 15
                x: f32 = load xs j               # one vector load: j is linear
                y: f32 = apply mul x 2.0f32
                store ys j y streaming=True))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flatweave.base.dtypes import DType, i64
from flatweave.base.locks import Lock
from flatweave.base.pretty import Note
from flatweave.base.records import record
from flatweave.kernel_ir import (
    BY_LANE,
    EVERYWHERE,
    IN_LANES,
    IN_ROWS,
    ON_HOST,
    UNIFORM_CODE,
    Action,
    KernelOp,
)
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Lambda,
    Type,
    Var,
    function_misfits,
    op,
    types_of,
)


@record
class Kernel:
    """What one launch runs; `warps` is how many warps a block has (1 on a CPU).

    With `inner`, its code is host code: one thread runs a block, with separate buffers, and
    launches these kernels itself.
    """

    name: str
    params: tuple[Var, ...]
    body: Lambda
    warps: int = 1
    inner: tuple[Kernel, ...] | None = None


class Later:
    """A kernel that is written when somebody asks for it: what launches must know, and how.

    `why` says to the user why it runs.
    """

    __slots__ = ("_lock", "_made", "_write", "name", "types", "why")

    def __init__(
        self, name: str, types: tuple[Type, ...], write: Callable[[], Kernel], lock: Lock,
        why: Note | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.types = types
        self._write: Callable[[], Kernel] | None = write
        self._made: Kernel | None = None
        self._lock = lock  # one for all kernels of a program
        self.why = why

    @property
    def made(self) -> Kernel:
        """The kernel, written the first time."""
        with self._lock:
            if self._made is None:
                assert self._write is not None
                self._made = self._write()
                self._write = None  # and everything it refers to
            return self._made


@record
class Unit:
    """A compiled program before emission: the host lambda, its kernels, and those that are written
    later because no run may need them."""

    host: Lambda
    kernels: tuple[Kernel, ...]
    later: tuple[Later, ...] = ()

    def kernel(self, name: str) -> Kernel:
        """The kernel of this name, written if it is not yet."""
        written = next((kernel for kernel in self.kernels if kernel.name == name), None)
        return written or next(later.made for later in self.later if later.name == name)

    def complete(self) -> Unit:
        """The unit with all kernels written."""
        return Unit(self.host, (*self.kernels, *(later.made for later in self.later)))


# -- position ---------------------------------------------------------------------------------


@op
class BlockIndex(KernelOp):
    """The number of this block in the grid (uniform)."""

    stands = EVERYWHERE | IN_ROWS
    typed_as = (i64,)


@op
class WarpIndex(KernelOp):
    """The number of this warp in its block (uniform in the warp; 0 on a CPU)."""

    stands = UNIFORM_CODE
    typed_as = (i64,)


@op
class Lanes(KernelOp):
    """Runs `body` on `width` lanes in lock step; its results must be uniform."""

    width: int
    body: Lambda
    stands = frozenset({"block", "warp"})

    def result_types(self) -> tuple[Type, ...]:
        return self.body.result_types()

    def misfits(self) -> Iterator[str]:
        yield from function_misfits("the body", self.body, ())
        if self.width < 1 or self.width & (self.width - 1):
            yield f"{self.width} lanes are no power of two"


@op
class Lane(KernelOp):
    """`base` plus the number of this lane: the only source of variation between lanes.
    With `reverse`, `base` minus the number of this lane."""

    base: Atom
    reverse: bool = False
    stands = IN_LANES
    gives = BY_LANE
    typed_as = (i64,)


@op
class Call(KernelOp):
    """`fn` on `args` (uniform) by one function of machine code, wherever the same `fn` is called.

    If an operator is inlined twice, operands of an addition may be exchanged in one of the
    copies; of two NaNs the first is its result. So if timing decides which copy runs, both
    call.
    """

    fn: Lambda
    args: tuple[Atom, ...]
    stands = frozenset({"block", "warp"})

    def result_types(self) -> tuple[Type, ...]:
        return self.fn.result_types()

    def misfits(self) -> Iterator[str]:
        return function_misfits("the function", self.fn, types_of(self.args))


# -- memory ---------------------------------------------------------------------------------------


@op
class Shared(KernelOp):
    """Memory of one block for `count` elements, alive while the block runs."""

    dtype: DType
    count: int
    stands = frozenset({"block"})

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype, "shared"),)


@op
class Load(KernelOp):
    """buffer[index]; a linear index makes one vector load, any other a gather.

    `ahead` says that elements far after these will be needed soon: a CPU may prefetch them.
    """

    buffer: Var
    index: Atom
    ahead: bool = False
    stands = EVERYWHERE | ON_HOST
    typed_as = "buffer"


@op
class LoadNear(KernelOp):
    """buffer[base + offset], where all elements from `base` to `base + span` (uniform) are there.

    Offsets go from 0 to `span` in each lane: few elements for many lanes, loaded at once where a
    machine can spread them over its lanes.
    """

    buffer: Var
    base: Atom
    offset: Atom
    span: Atom
    stands = IN_LANES
    typed_as = "buffer"


@op
class Store(Action):
    """buffer[index] = value; `streaming` promises an aligned linear index and skips the caches."""

    buffer: Var
    index: Atom
    value: Atom
    streaming: bool = False
    stands = EVERYWHERE | ON_HOST


@op
class StoreCompact(Action):
    """Lanes where `keep` holds write their values to consecutive indices from `base`, in order.

    Indices from `limit` (uniform) on belong to other blocks and are never written; indices between
    the last element kept and `limit` may be, with anything.
    """

    buffers: tuple[Var, ...]
    base: Atom
    limit: Atom
    keep: Atom
    values_: tuple[Atom, ...]
    stands = UNIFORM_CODE


@op
class Acquire(Action):
    """A load that sees everything written before the `release` it reads from (uniform)."""

    buffer: Var
    index: Atom
    stands = UNIFORM_CODE
    typed_as = "buffer"


@op
class Release(Action):
    """A store that publishes all earlier writes of the block (uniform)."""

    buffer: Var
    index: Atom
    value: Atom
    stands = UNIFORM_CODE


@op
class Backoff(Action):
    """A pause inside a loop that waits for another block; `attempt` counts its iterations."""

    attempt: Atom
    stands = UNIFORM_CODE


@op
class Sync(Action):
    """A barrier for the warps of a block, or the threads of a warp; also orders their writes to
    any memory, that of the grid too."""

    level: str = "block"
    stands = UNIFORM_CODE | {"warp"}


MOST_SITES = 1 << 20
"""Sites of one kernel; those of the program's k-th kernel are numbered from k times as many on."""


@op
class Report(Action):
    """Records an error of element `index`; the launch goes on, the smallest index wins."""

    code: int
    site: int
    index: Atom
    value: Atom
    extent: Atom
