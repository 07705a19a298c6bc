"""Lanes counted by a flag, and reads of one element after the other for the lanes that have it.

    c = cast i64 flag                      word = bitcast <64 x i1> flag to i64
    n = scan_lanes (add i64) [0] [c]       n    = ctpop (word and <1, 3, 7, 15, ..>)
    i = shift_lanes [base] [add base n]
    x = load xs i, where flag is set       x    = isa.expand xs[base] flag

So elements go back to where `store_compact` took them from: vpexpand, or a load and a permute,
instead of a gather.
"""

from __future__ import annotations

from flatweave.access import Modified
from flatweave.base.dtypes import DType, bool_
from flatweave.codegen.llvm.emitter import Emitter
from flatweave.codegen.llvm.module import suffix, vec
from flatweave.kernel_ir.warp_ops import ScanLanes, ShiftLanes
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Var


def counted_flag(e: Emitter, op: ScanLanes) -> Atom | None:
    """The flag that a scan counts; None for any other scan."""
    of = op.args[0].type
    is_count = isinstance(of, DType) and of.is_integer and component_functions(op.fn) == ["add"]
    if not is_count or op.starts:
        return None
    counted = e.values.of(op.args[0])
    match list(counted.terms.items()):
        case [(Modified(fn=fn, args=(value,)), 1)] if fn.startswith("cast.") and not counted.more:
            flag = e.values.atom(value)
            return flag if flag is not None and flag.type is bool_ else None
    return None


def counts(e: Emitter, flag: Atom, dtype: DType) -> str:
    """How many lanes have the flag, up to each lane; a word of them fits into the dtype."""
    kind, name = vec(dtype, e.width), f"@llvm.ctpop.{suffix(dtype, e.width)}"
    word = e.mask_bits(e.vector(flag))
    if e.width < dtype.bits:
        word = e.code.let(f"zext i{e.width} {word} to {dtype.llvm}")
    upto = ", ".join(f"{dtype.llvm} {_signed((2 << k) - 1, dtype)}" for k in range(e.width))
    below = e.code.let(f"and {kind} {e.splat(word, dtype)}, <{upto}>")
    return e.code.call(kind, name, f"{kind} {below}")


def _signed(value: int, dtype: DType) -> int:
    """The bits as a literal of LLVM's."""
    return value - (1 << dtype.bits) if value >> (dtype.bits - 1) else value


def load_expanded(e: Emitter, buffer: str, kept: DType, index: Atom) -> str | None:
    """The elements from a base on, for the lanes that run; None where that is not what is read."""
    base = _base(e, index) if e.isa.expands(kept) else None
    if base is None or e.mask is None:
        return None
    at = e.code.let(f"getelementptr {kept.llvm}, ptr {buffer}, i64 {e.uniform(base)}")
    return e.isa.expand(e.code, kept, e.width, at, e.mask)


def _base(e: Emitter, index: Atom) -> Atom | None:
    """What the first lane of this body reads, where each reads the element after the last one's."""
    moved = e.collectives.get(index) if isinstance(index, Var) else None
    if not isinstance(moved, ShiftLanes) or len(moved.args) != 1:
        return None
    (total,), (base,) = moved.args, moved.fill
    counted = e.values.atom(e.values.of(total).plus(e.values.of(base), -1))
    scan = e.collectives.get(counted) if isinstance(counted, Var) else None
    flag = counted_flag(e, scan) if isinstance(scan, ScanLanes) else None
    return base if flag is not None and e.vector(flag) == e.mask else None
