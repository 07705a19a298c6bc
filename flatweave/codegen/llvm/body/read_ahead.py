"""Reading ahead: a loop that only reads, or of much work, asks for what later turns will load.

    for i = lo, lo + W, ..:    prefetch xs[i] + 2 KiB, a line at a time
                               x = load xs (lane i)          or xs (lane i + n)

A CPU's own prefetcher begins anew at each page, and it runs ahead of itself by a few hundred
instructions: unless it is asked, memory idles there, and wherever a step takes that many. Where
little is computed and stored again, writing takes that time.
"""

from __future__ import annotations

from flatweave.codegen.llvm.body.emitter import Emitter
from flatweave.codegen.llvm.body.prefetch import prefetch
from flatweave.codegen.llvm.body.trip_count import cost_of
from flatweave.kernel_ir.prefetch import Prefetch
from flatweave.kernel_ir.syntax import Lane, Load
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Atom, BufferType, Op, Var
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
    lets, counter = list(walk_lets(op.body)), op.body.params[0]
    lanes: dict[Atom, Var | None] = {}
    asked = {let.op.buffer for let in lets if isinstance(let.op, Prefetch)}
    params = (var for let in lets for fn in lambdas_in(let.op) for var in fn.params)
    bound = {counter, *params, *(var for let in lets for var in let.vars)}
    for let in lets:
        if _counts_from(let.op, counter):
            lanes[let.vars[0]] = None
        elif isinstance(let.op, Apply) and let.op.fn == "add":
            place, shift = sorted(let.op.args, key=lambda arg: arg not in lanes)
            if place in lanes and isinstance(shift, Var) and shift not in bound:
                lanes[let.vars[0]] = shift
    loads = [let.op for let in lets if isinstance(let.op, Load) and let.op.index in lanes]
    asked |= {load.buffer for load in loads if load.ahead}
    return {
        load.buffer: (load.buffer.type.dtype.bytes, lanes[load.index])
        for load in reversed(loads)
        if isinstance(load.buffer.type, BufferType) and load.buffer not in asked | bound
    }


def _counts_from(op: Op, counter: Var) -> bool:
    """Whether this numbers the lanes from the counter on."""
    return isinstance(op, Lane) and op.base is counter and not op.reverse
