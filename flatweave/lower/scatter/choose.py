"""Sweeps that write to computed indices, scatter, permute, reduce_by_index: which variant divides.

    owner       a block owns a part of the destination and looks at all elements
    private     a block combines its elements into a copy of its own; for small destinations
    partition   elements are sorted by tile of the destination first; for large ones
    strided     rows write in even steps: a block finds those of its tile
    atomic, cas, locks    as the sweep feeds its sinks; `update/`; where they are forced

Owner, partition and strided keep the order of the sweep at every place, so that all three leave the
same bits; how many copies there are depends on sizes, or the operator is exact in any grouping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.kernel_ir.host import Launch, Role
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.scatter.owner import Owner
from flatweave.lower.scatter.partition import Partition
from flatweave.lower.scatter.private import Private
from flatweave.lower.scatter.scattering import Scattering, bytes_of, ceil_div
from flatweave.lower.scatter.strided import is_strided, pays, tile_of, write_strided_kernel
from flatweave.lower.schedule.scatter_variants import UPDATES, chosen_variant, neutral_of
from flatweave.lower.sweep.launches import lower_sweep
from flatweave.ops import Merge, Place, Sweep
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Let

CACHED = 2 * 1024 * 1024
"""A destination up to so many bytes is written at random without leaving the cores' own caches."""
FEW = 1 << 14
"""Up to so many elements are not worth sorting."""

LaunchIn = Callable[[Builder], None]


def places(op: Sweep) -> bool:
    """Whether a sweep writes to computed indices."""
    return any(isinstance(sink, Place | Merge) for sink in op.sinks)


def lower_place(low: Lowering, let: Let) -> None:
    """Emit the launches of a scattering sweep and bind its results."""
    assert isinstance(let.op, Sweep)
    (sink,) = let.op.sinks
    assert isinstance(sink, Place | Merge)
    variant = chosen_variant(low.schedule, low.machine, let, sink)
    if variant in UPDATES:
        lower_sweep(low, let)
        return
    scattering = Scattering(low, let)
    _Divided(scattering).launch(variant)
    for var, buffer, array in zip(let.vars, scattering.dest, sink.dest, strict=True):
        low.scope.bind(var, HostArray(buffer, low.scope.array(array).shape))


class _Divided:
    """The variants that divide one scattering sweep among blocks."""

    def __init__(self, scattering: Scattering) -> None:
        self.scattering = scattering
        self.low = scattering.low
        self.neutral: Sequence[Atom] = neutral_of(scattering.sink)

    def launch(self, variant: str | None) -> None:
        """As the schedule says, or as sizes ask for."""
        host = self.low.host
        match variant:
            case "owner":
                Owner(self.scattering).launch(host)
            case "private":
                Private(self.scattering, self.neutral).launch(host)
            case "partition":
                partition = Partition(self.scattering, "_partition")
                owner = Owner(self.scattering)
                _one_of(host, [(partition.fits(host), partition.launch)], owner.launch)
            case _:
                self._by_sizes()

    def _by_sizes(self) -> None:
        host = self.low.host
        options: list[tuple[Atom, LaunchIn]] = []
        strided = _strided(self.scattering)
        if strided is not None:
            options.append(strided)
        if self.neutral and not self.scattering.scans:
            private = Private(self.scattering, self.neutral, "_private")
            options.append((private.pays(host), private.launch))
        if not self.scattering.scans:
            partition = Partition(self.scattering, "_partition")
            pays = host.apply("and", self._is_large(host), partition.fits(host))
            options.append((pays, partition.launch))
        _one_of(host, options, Owner(self.scattering).launch)

    def _is_large(self, host: Builder) -> Atom:
        """Whether sorting elements by tile costs less than what the caches miss."""
        s = self.scattering
        large = host.apply("gt", s.extent, index(CACHED // bytes_of(s.dtypes)))
        return host.apply("and", large, host.apply("gt", s.total, index(FEW)))


def _one_of(host: Builder, options: Sequence[tuple[Atom, LaunchIn]], last: LaunchIn) -> None:
    """The first whose condition holds, else the last."""
    if not options:
        return last(host)
    (condition, launch), *others = options
    yes, no = host.inner(), host.inner()
    launch(yes)
    _one_of(no, others, last)
    host.emit(If(condition, yes.close([], []), no.close([], [])))


def _strided(s: Scattering) -> tuple[Atom, LaunchIn] | None:
    """By tiles where rows are long; `strided.py`."""
    writer = s.writer("_strided", width=1)
    if not is_strided(s.op, writer):
        return None
    assert writer.located is not None
    host, kernel = s.low.host, writer.kernel
    own = write_strided_kernel(writer, s.sink, s.dtypes)
    s.low.program.kernels.append(kernel.finish(own))
    tiles = ceil_div(host, s.extent, index(tile_of(s.dtypes)))
    ends = s.low.scope.array(writer.located.ends).shape[0]
    rows = host.sub(ends, index(writer.located.skip))
    args = (*kernel.args, *s.dest, s.extent)
    launch = Launch(kernel.name, tiles, args, Role.VARIANT)

    def emit(b: Builder) -> None:
        b.emit(launch)

    return pays(host, rows, tiles, s.total), emit
