"""Reading ahead: a loop that only reads, or of much work, asks for what later turns will load.

    for i = lo, lo + W, ..:    prefetch xs[i] + 2 KiB, a line at a time
                               x = load xs (lane i)          or xs (lane i + n)

A CPU's own prefetcher begins anew at each page, and it runs ahead of itself by a few hundred
instructions: unless it is asked, memory idles there, and wherever a step takes that many. Where
little is computed and stored again, writing takes that time.
"""

from __future__ import annotations

from flatweave.access.analyse import kernel_values
from flatweave.codegen.llvm.body.emitter import Emitter
from flatweave.codegen.llvm.body.prefetch import prefetch
from flatweave.codegen.llvm.body.trip_count import cost_of
from flatweave.kernel_ir.prefetch import Prefetch
from flatweave.kernel_ir.syntax import Lane, Load
from flatweave.terms.build import index
from flatweave.terms.control import For
from flatweave.terms.sums import Sum
from flatweave.terms.syntax import BufferType, Op, Var
from flatweave.terms.traverse import lambdas_in, walk_lets

LEAST = 12
"""From so many lets on a turn is much work."""


def read_ahead(e: Emitter, op: For, i: str) -> None:
    """Ask for what a turn some KiB ahead loads from the position `i` of its counter on."""
    if e.width == 1 or not e.isa.read_ahead:
        return
    stores = any(let.op.effect for let in walk_lets(op.body))
    if stores and cost_of(e.made, op.body) < LEAST:
        return
    for buffer, (size, shift) in _runs(op).items():
        first = i if shift is None else e.code.let(f"add i64 {i}, {e.uniform(shift)}")
        prefetch(e, e.held[buffer].text, size, first, e.isa.read_ahead, e.width * size)


def _runs(op: For) -> dict[Var, tuple[int, Var | None]]:
    """The buffers that a loop loads neighbours from at its counter, the bytes of an element, and
    the distance that a turn does not change; not those that the loop asks for itself."""
    lets, counter, values = list(walk_lets(op.body)), op.body.params[0], kernel_values(op.body)
    lanes = {let.vars[0] for let in lets if _counts_from(let.op, counter)}
    asked = {let.op.buffer for let in lets if isinstance(let.op, Prefetch)}
    params = (var for let in lets for fn in lambdas_in(let.op) for var in fn.params)
    bound = {counter, *params, *(var for let in lets for var in let.vars)}
    found: dict[Var, tuple[int, Var | None]] = {}
    for load in (let.op for let in reversed(lets) if isinstance(let.op, Load)):
        assert isinstance(load.buffer.type, BufferType)
        for lane in lanes:
            shift = values.atom(values.of(load.index).plus(Sum({lane: 1}), -1))
            if shift == index(0) or isinstance(shift, Var) and shift not in bound:
                asked |= {load.buffer} if load.ahead else set()
                found[load.buffer] = (
                    load.buffer.type.dtype.bytes, shift if isinstance(shift, Var) else None
                )  # fmt: skip
    return {buffer: run for buffer, run in found.items() if buffer not in asked | bound}


def _counts_from(op: Op, counter: Var) -> bool:
    """Whether this numbers the lanes from the counter on."""
    return isinstance(op, Lane) and op.base is counter and not op.reverse
