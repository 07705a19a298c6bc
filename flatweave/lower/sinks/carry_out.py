"""The carry-outs that warps leave of segments, joined in order by one block: a segmented scan.

    share          0     1     2     3          of the grid's warps, in order
    first, last    0 2   2 2   2 2   2 5        the segments open at its two ends
    carry-out      c     c'    c''   f          the value of the last one, as far as it lies there

    results[2] = ((c fn c') fn c'') fn results[2]              results[5] = f

The segment open before a share that closes any was stored without what lies before the share. The
order is that of the shares, which sizes alone decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.by_warps import scan_by_warps
from flatweave.algorithms.operator import segmented
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record, replace
from flatweave.kernel_ir.arrays import Values, for_all, map, read, when, zipped
from flatweave.kernel_ir.hierarchy import WARP
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.operators import operator_in
from flatweave.ops import CombineRows, CombineSegments
from flatweave.terms.build import Builder, index
from flatweave.terms.operators import carried_by, cast_each
from flatweave.terms.syntax import Atom, Let, Var


@record
class Segmented:
    """The results of segments; for each of `slots` warps those open at both ends, its carry-out."""

    results: tuple[Var, ...]
    firsts: Var
    lasts: Var
    carry_outs: tuple[Var, ...]
    slots: Atom


def segmented_buffers(
    lowering: Lowering, sink: CombineSegments | CombineRows, room: Atom, blocks: Atom
) -> Segmented:
    """Buffers for up to `room` results, and for what the warps of `blocks` blocks leave."""
    host, slots = lowering.host, lowering.host.mul(blocks, index(lowering.machine.warps))
    results = tuple(lowering.alloc_like(atom, room) for atom in sink.neutral)
    firsts, lasts = (host.emit(Alloc(i64, slots, lowering.site()))[0] for _ in range(2))
    carry_outs = tuple(
        host.emit(Alloc(type_, slots, lowering.site()), "buffer")[0]
        for type_ in carried_by(sink.fn).result_types() if isinstance(type_, DType)
    )  # fmt: skip
    return Segmented(results, firsts, lasts, carry_outs, slots)


def join_carry_outs(
    lowering: Lowering, let: Let, sink: CombineSegments | CombineRows, left: Segmented, total: Atom
) -> None:
    """Launch what completes the results of a sweep over `total` elements."""
    kernel = lowering.kernel(let, "_carry_outs")
    _write(lowering, kernel, sink, left)
    lowering.launch(kernel, lowering.host.apply("minimum", total, index(1)), Role.CARRY_OUT)
    for buffer in (left.firsts, left.lasts, *left.carry_outs):
        lowering.host.emit(Free(buffer))


def _write(
    lowering: Lowering, kernel: KernelBuilder, sink: CombineSegments | CombineRows, left: Segmented
) -> None:
    """The kernel: a scan that begins anew at each share that closes a segment."""
    b, machine = kernel.body, lowering.machine
    count = kernel.capture(left.slots)
    fn, own = carried_by(sink.fn), sink.fn.result_types()
    operator = operator_in(kernel, fn, sink.neutral, lowering.checks)
    neutral = cast_each(kernel.body, operator.neutral, fn.result_types())
    operator = replace(operator, neutral=neutral)
    results = [kernel.buffer(buffer) for buffer in left.results]
    open_at = read([kernel.buffer(left.firsts), kernel.buffer(left.lasts)], count)
    values = read([kernel.buffer(buffer) for buffer in left.carry_outs], count)
    closes = map(lambda c, ends: (c.apply("ne", *ends),), open_at)

    def complete(c: Builder, share: Atom, before: Values) -> None:
        """The segment that a share closed first, with what lies before the share."""

        def join(d: Builder) -> None:
            place = open_at.at(d, share)[0]
            pieces = [d.emit(Load(buffer, place))[0] for buffer in results]
            whole = operator.combine(d, before[1:], cast_each(d, pieces, fn.result_types()))
            _store(d, results, place, cast_each(d, whole, own))

        when(c, closes.at(c, share)[0], join)

    open_, shares = segmented(operator), zipped(closes, values)
    all_shares = scan_by_warps(
        b, open_, shares, machine.warps_of(machine.fixed_width or 1), complete, exclusive=True
    )
    place = open_at.at(b, b.sub(count, index(1)))[1]
    last = all_shares.at(b, index(0))
    for_all(b, WARP, 1, lambda c, _: _store(c, results, place, cast_each(c, last[1:], own)))


def _store(b: Builder, buffers: Sequence[Var], at: Atom, values: Values) -> None:
    for buffer, value in zip(buffers, values, strict=True):
        b.emit(Store(buffer, at, value))
