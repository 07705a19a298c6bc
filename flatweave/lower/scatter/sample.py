"""A look at some elements: how many of them go to places that no other went near.

    runs of NEIGHBOURS elements, spread evenly over all:
        far += the element before in its run goes elsewhere (more than a page away), and
               no element of the sample went to its cache line

    places  3 4 5 ..  400 401 402 ..    sorted: 0            7 1 7 7 ..    skewed: few
    places  91 4 7032 ..  355 12 ..     equally likely: nearly all

It depends on data alone, and serves a choice between ways that leave the same bits. Elements that
may report an error are not looked at: the first of them in order must be the one reported.
"""

from __future__ import annotations

from flatweave.base.dtypes import i64, u8, u64
from flatweave.kernel_ir.host import Alloc, Free, Role
from flatweave.kernel_ir.syntax import Load, Shared, Store
from flatweave.lower.host.context import Own
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.spread import spread
from flatweave.lower.scatter.scattering import Scattering
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, BufferType, Const, Var

MOST_RUNS, NEIGHBOURS = 128, 8
APART = 2048
"""So many elements there are for each run, at least: a sample takes 0.1 us for a run, most of it
misses, so that it costs a hundredth of what it serves."""
WHOLE = 1 << 10
"""What a sample finds is a part of so many."""
UNKNOWN = WHOLE * 3 // 4
"""Where nobody looked: apart, but not all."""
LINE, PAGE = 64, 4096
SEEN_BITS = 14
"""Lines are noted in a table of 2^14 flags: of 1024 lines one in thirty is taken for another."""
NONE = index(-1)


def sampled(host: Builder, s: Scattering) -> Atom:
    """How many of WHOLE elements go to places that no other of a sample went near."""
    needs = [*s.lowering.reads(s.op), s.extent, s.total]
    own: Own = [("far", BufferType(i64))]
    kernel = s.lowering.later(s.let, "_sample", needs, lambda k, own: _write(s, k, own[0]), own)
    found = host.emit(Alloc(i64, index(1), s.lowering.site()))[0]
    s.lowering.launch(kernel, index(1), Role.SAMPLE, host, [found])
    far = host.emit(Load(found, index(0)))[0]
    host.emit(Free(found))
    return far


def _write(s: Scattering, kernel: KernelBuilder, result: Var) -> None:
    """The runs, one after the other."""
    b, writer = kernel.body, s.writer(kernel)
    extent = kernel.capture(s.extent)
    each = max(dtype.bytes for dtype in s.dtypes)
    seen = b.emit(Shared(u8, 1 << SEEN_BITS))[0]
    clear = b.inner()
    t = clear.param("t", i64)
    clear.emit(Store(seen, t, Const(0, u8)))
    b.emit(For(index(0), index(1 << SEEN_BITS), index(1), clear.close([t], []), ()))

    def step(c: Builder, position: Position, state: State) -> State:
        before, far, known = state
        place = c.cast(writer.value_at(c, position, writer.op.body.results[0]), i64)
        line = c.cast(c.apply("floordiv", place, index(max(1, LINE // each))), u64)
        upper = c.apply("shr", spread(c, line), Const(64 - SEEN_BITS, u64))
        at = c.cast(upper, i64)
        new = c.apply("eq", c.emit(Load(seen, at))[0], Const(0, u8))
        c.emit(Store(seen, at, Const(1, u8)))
        inside = c.apply("lt", c.cast(place, u64), c.cast(extent, u64))
        knows = c.apply("and", inside, c.apply("ne", before, NONE))
        apart = c.apply("gt", c.apply("abs", c.sub(place, before)), index(PAGE // each))
        is_far = c.apply("and", knows, c.apply("and", apart, new))
        return place, c.add(far, c.cast(is_far, i64)), c.add(known, c.cast(knows, i64))

    runs = b.inner()
    k, far, known = (runs.param(name, i64) for name in ("k", "far", "known"))
    count = b.apply("minimum", b.apply("floordiv", writer.total, index(APART)), index(MOST_RUNS))
    count = b.apply("maximum", count, index(1))
    first = runs.apply("floordiv", runs.mul(k, writer.total), count)
    last = runs.apply("minimum", runs.add(first, index(NEIGHBOURS)), writer.total)
    one = min(1, writer.version.width)  # 0: folds may use the lanes
    walk = writer.traverse((), width=one)
    _, *after = walk.block(runs, first, last, (NONE, far, known), step)
    body = runs.close([k, far, known], after)
    start = (index(0), index(0))
    found, all_ = b.emit(For(index(0), count, index(1), body, start))
    all_known = b.apply("maximum", all_, index(1))
    part = b.apply("floordiv", b.mul(found, index(WHOLE)), all_known)
    b.emit(Store(result, index(0), part))
