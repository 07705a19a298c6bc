"""Sweeps that write to computed indices: scatter, permute, reduce_by_index.

One kernel serves two divisions of the work, told apart by its arguments:

    owner     block p owns a part of the destination, looks at all elements in order and takes those
              that fall into its part: any operator, nothing atomic, the same bits for any division
    private   block p looks at its share of the elements and combines them into a copy of its own;
              the copies are then combined in order. For destinations small beside the input.

An operator that is exact in any grouping gets a copy for each thread, any other a fixed number.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import listed
from flatweave.kernel_ir.host import Alloc, Free, Launch, Threads
from flatweave.lower.context import Lowering
from flatweave.lower.division import find_located
from flatweave.lower.machine import Tiling, choose_tiling
from flatweave.lower.outputs import Outputs
from flatweave.lower.place_kernel import combine_copies_kernel, write_place_kernel
from flatweave.lower.place_strided import is_strided, pays, tile_of, write_strided_kernel
from flatweave.lower.rows import Strategy, choose_strategy
from flatweave.lower.stages import find_stages
from flatweave.lower.sweep_kernel import KernelWriter
from flatweave.lower.values import HostArray
from flatweave.ops import Merge, Place, Prefix, Sweep
from flatweave.passes.operators import is_exact
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Const, Let, Var

FIXED_COPIES = 16
NO = Const(False, bool_)
YES = Const(True, bool_)


def places(op: Sweep) -> bool:
    """Whether a sweep writes to computed indices."""
    return any(isinstance(sink, Place | Merge) for sink in op.sinks)


def lower_place(low: Lowering, let: Let) -> None:
    """Emit the launches of a scattering sweep and bind its results."""
    op = let.op
    assert isinstance(op, Sweep) and len(op.sinks) == 1
    sink = op.sinks[0]
    assert isinstance(sink, Place | Merge)
    dest = tuple(
        low.copy(array) if array in sink.dest[k + 1 :] else low.own(array, let)
        for k, array in enumerate(sink.dest)
    )
    extent = low.host.product(low.scope.array(sink.dest[0]).shape)
    total = low.host.product([low.scope.scalar(e) for e in op.shape])
    kernel = _PlaceLaunch(low, let, op, sink, dest, extent, total)
    scans = any(isinstance(inner.op, Prefix) for inner in op.body.lets)
    variants = ["owner"]
    if isinstance(sink, Merge) and sink.neutral and not scans:
        variants.append("private")
    match _forced(low, let, variants):
        case "owner":
            kernel.launch_owner(low.host)
        case "private":
            assert isinstance(sink, Merge)
            kernel.launch_private(low.host, sink)
        case _:
            if kernel.strided:
                kernel.launch_strided_or_owner(sink)
            elif isinstance(sink, Merge) and "private" in variants:
                kernel.launch_private_or_owner(sink)
            else:
                kernel.launch_owner(low.host)
    for var, buffer, array in zip(let.vars, dest, sink.dest, strict=True):
        low.scope.bind(var, HostArray(buffer, low.scope.array(array).shape))


def _forced(low: Lowering, let: Let, variants: Sequence[str]) -> str | None:
    """The variant that the schedule names; None where it leaves the choice."""
    wanted = low.schedule.permute
    if wanted is not None and wanted not in variants:
        raise ArgumentError(
            f"permute={wanted!r} cannot do this.",
            where=let.where,
            remedy=f"What can: {listed(variants)}.",
            more="schedule",
        )
    return wanted


class _PlaceLaunch:
    """One scattering sweep on its way to its launches."""

    def __init__(
        self, low: Lowering, let: Let, op: Sweep, sink: Place | Merge,
        dest: tuple[Var, ...], extent: Atom, total: Atom,
    ) -> None:  # fmt: skip
        self.low = low
        self.dest = dest
        self.extent = extent
        self.total = total
        self.dtypes = [_dtype(var) for var in dest]
        tiling: Tiling = choose_tiling(
            low.machine, op, in_order=True, along_rows=find_located(op) is not None
        )
        strategy: Strategy = choose_strategy(op, tiling.width)
        kernel = low.kernel(let)
        writer = KernelWriter(
            low, op, find_stages(op), strategy, Outputs(), kernel, total, total, False
        )
        self.strided = is_strided(op, writer)
        self.let = let
        self.located = writer.located
        self.own_args = write_place_kernel(writer, sink, self.dtypes)
        self.name = kernel.name
        self.captured = tuple(kernel.args)
        low.program.kernels.append(kernel.finish(self.own_args))

    def _launch(
        self, host: Builder, blocks: Atom, buffers: Sequence[Var], private: Const
    ) -> None:
        args = (*self.captured, *buffers, self.extent, blocks, private)
        host.emit(Launch(self.name, blocks, args))

    def launch_owner(self, host: Builder) -> None:
        self._launch(host, host.emit(Threads())[0], self.dest, NO)

    def launch_strided_or_owner(self, sink: Place | Merge) -> None:
        """By tiles where rows are long; `place_strided.py`."""
        assert self.located is not None
        low, host, op = self.low, self.low.host, self.let.op
        assert isinstance(op, Sweep)
        kernel = low.kernel(self.let, "_strided")
        writer = KernelWriter(
            low, op, find_stages(op), choose_strategy(op, 1), Outputs(), kernel, self.total,
            self.total, False,
        )  # fmt: skip
        own = write_strided_kernel(writer, sink, self.dtypes)
        low.program.kernels.append(kernel.finish(own))
        size = tile_of(self.dtypes)
        tiles = host.apply("floordiv", host.add(self.extent, index(size - 1)), index(size))
        ends = low.scope.array(self.located.ends).shape[0]
        rows = host.sub(ends, index(self.located.skip))
        strided, owner = host.inner(), host.inner()
        strided.emit(Launch(kernel.name, tiles, (*kernel.args, *self.dest, self.extent)))
        self.launch_owner(owner)
        host.emit(
            If(pays(host, rows, tiles, self.total), strided.close([], []), owner.close([], []))
        )

    def launch_private(self, host: Builder, sink: Merge) -> None:
        copies, room = self._copies(host, sink)
        self._launch_copies(host, sink, copies, room)

    def _copies(self, host: Builder, sink: Merge) -> tuple[Atom, Atom]:
        """How many copies there are, and how many elements they have together."""
        copies: Atom = index(FIXED_COPIES)
        if is_exact(sink.fn):
            copies = self.low.host.emit(Threads())[0]
        return copies, host.mul(copies, self.extent)

    def launch_private_or_owner(self, sink: Merge) -> None:
        host = self.low.host
        copies, room = self._copies(host, sink)
        small = host.apply("le", host.mul(room, index(2)), self.total)
        private, owner = host.inner(), host.inner()
        self._launch_copies(private, sink, copies, room)
        self.launch_owner(owner)
        host.emit(If(small, private.close([], []), owner.close([], [])))

    def _launch_copies(self, host: Builder, sink: Merge, copies: Atom, room: Atom) -> None:
        site = self.low.site()
        scratch = [host.emit(Alloc(dtype, room, site))[0] for dtype in self.dtypes]
        self._launch(host, copies, scratch, YES)
        kernel, size = combine_copies_kernel(self.low, f"{self.name}_all", sink, self.dtypes)
        blocks = host.apply("floordiv", host.add(self.extent, index(size - 1)), index(size))
        args = (*kernel.args, *self.dest, *scratch, self.extent, copies)
        host.emit(Launch(kernel.name, blocks, args))
        for buffer in scratch:
            host.emit(Free(buffer))


def _dtype(buffer: Var) -> DType:
    dtype = getattr(buffer.type, "dtype", i64)
    assert isinstance(dtype, DType)
    return dtype
