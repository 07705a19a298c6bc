"""What an element costs each way of leaving the same bits, in tenths of a nanosecond.

    alone       one thread computes elements and writes them
                  WRITE, and for each component that misses a cache
                  the first of `Machine.misses` beyond a core's first, and the second beyond the
                  one that cores share
    owners      each thread computes all elements and looks where they go: LOOK; writes that go
                far are divided, those that go near may all be one owner's
    partition   MOVE + MOVE_BYTE for each byte that differs from element to element: counted, laid
                down, and fetched again; all is divided

To compute an element costs what its body costs, in units of one addition on lanes: 0.1 ns. So what
many threads compute each for themselves goes to a partition, however few misses that saves.

Cache sizes are those of the machine. If all indices are equally likely, the size of the destination
in bytes determines the misses; a sample estimates the fraction of elements for which that holds
(see below). These variants give the same bits, so threads and data may choose among them; the
number of private copies depends on sizes alone.

Measured on a Xeon (Sapphire Rapids; 2 MiB of second cache), f64, 2^22 elements, ns for each one:

    destination in MiB           0.5    2     4     8     16    32    128
    alone, equally likely        2.3   4.3   5.4   7.2   12.8  23.1  28.4
    alone, sorted                3.2   2.6   2.7   2.9   3.2   4.4   12.9
    owners, 2 threads            2.8   3.3   3.8   5.0   9.1   9.9   14.6
    partition, 1 thread          7.1   7.7   8.0   8.3   9.0  12.3   30.3
    partition, 2 threads         4.8   4.5   4.8   5.0   6.7   7.2   14.4

On Zen 5 (1 MiB of second cache for each core, 32 of the third), the same:

    destination in MiB           0.5    2     4     8     16    32    128
    alone, equally likely        1.5   1.4   1.5   1.3   4.6   5.6   7.5
    alone, sorted                2.4   1.2   0.9   0.8   0.9   1.0   2.8
    owners, 2 threads            1.1   1.2   1.3   1.7   4.6   6.2   8.5
    partition, 1 thread          3.6   4.0   3.8   4.2   4.8   5.9   8.9
    partition, 2 threads         1.9   2.0   2.3   2.3   3.1   3.8   6.0

On devices there are neither owners nor partitions, but

    shared      TURN for each of the lanes whose elements one copy in shared memory takes serially
    sorted      SORT to find keys and combine rows, PASS for each four bits of the extent, as in
                OpenCL's sort; CUDA takes eight bits in a pass

for each component. Measured on Intel's OpenCL for CPUs (Zen 5, 2 cores), f32, 2^21 elements into
16, 256, 1,024 bins: shared 12, 20, 55 ms with 1, 5 and 32 lanes for a copy, sorted 87, 102, 111. A
GPU multiprocessor updates one element of a warp in some 30 cycles while 30 to 60 other warps run.
That costs at most the memory time of an eighth of a byte; a pass of a sort moves 20 bytes or more.

Atomic updates use copies in shared memory whenever one copy fits. With the same OpenCL, 2^21 counts
into 16 to 4,096 bins took 3 to 5 ms in shared memory, whether or not all fell into one bin. They
took 11 to 13 ms directly in the destination. Into 16,384 bins in two parts, each of which reads all
elements, they took 29 and 13 ms. So several parts are used only on request.
"""

from __future__ import annotations

from flatweave.base.dtypes import i64, u8, u64
from flatweave.base.records import record
from flatweave.kernel_ir.host import Free, Role
from flatweave.kernel_ir.syntax import Load, Shared, Store
from flatweave.lower.context import Own
from flatweave.lower.kernel_builder import KernelBuilder, spread
from flatweave.lower.machine import LOOK, MOVE, MOVE_BYTE, PASS, SORT, TURN, WRITE, room
from flatweave.lower.scatter.scattering import Scattering, bytes_of
from flatweave.lower.traverse.steps import Position, State
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Const, Var

# -- A sample: the fraction of elements whose index is far from all other indices sampled ----------
#
#     runs of NEIGHBOURS elements, spread evenly over all:
#         far += the element before in its run goes elsewhere (more than a page away), and
#                no element of the sample went to its cache line
#
#     indices 3 4 5 ..  400 401 402 ..    sorted: 0            7 1 7 7 ..    skewed: few
#     indices 91 4 7032 ..  355 12 ..     equally likely: nearly all
#
# It depends on data alone, and serves a choice between ways that leave the same bits. Elements that
# may report an error are not looked at: the first of them in order must be the one reported.


MOST_RUNS, NEIGHBOURS = 128, 8
APART = 2048
"""So many elements there are for each run, at least: a sample takes 0.1 us for a run, most of it
misses, so that it costs a hundredth of what it serves."""
WHOLE = 1 << 10
"""The denominator of the fraction that a sample reports."""
UNKNOWN = WHOLE * 3 // 4
"""The fraction without a sample: most elements are far from others, but not all."""
NONE = index(-1)


def sampled(host: Builder, s: Scattering) -> Atom:
    """Estimates how many of WHOLE elements go to indices far from all others of a sample."""
    needs = [*s.lowering.reads(s.op), s.extent, s.total]
    own: Own = [("far", BufferType(i64))]
    kernel = s.lowering.later(s.let, "_sample", needs, lambda k, own: _write(s, k, own[0]), own)
    found = s.lowering.alloc(i64, index(1), host=host)
    s.lowering.launch(kernel, index(1), Role.SAMPLE, host, [found])
    far = host.emit(Load(found, index(0)))[0]
    host.emit(Free(found))
    return far


def _write(s: Scattering, kernel: KernelBuilder, result: Var) -> None:
    """Emits the loop over the runs of the sample; stores the estimate in `result`."""
    b, writer = kernel.body, s.writer(kernel)
    extent = kernel.capture(s.extent)
    each, page = max(dtype.bytes for dtype in s.dtypes), s.lowering.machine.page_bytes
    a_line = index(max(1, s.lowering.machine.line_bytes // each))
    flags = room(s.lowering.machine.first_level)  # of 2^14, one of thirty of 1024 lines is shared
    seen = b.emit(Shared(u8, flags))[0]
    with b.loop(index(0), index(flags), hint="t") as (clear, t):
        clear.emit(Store(seen, t, Const(0, u8)))

    def step(c: Builder, position: Position, state: State) -> State:
        before, far, known = state
        place = c.cast(writer.value_at(c, position, writer.op.body.results[0]), i64)
        line = c.cast(c.apply("floordiv", place, a_line), u64)
        upper = c.apply("shr", spread(c, line), Const(65 - flags.bit_length(), u64))
        at = c.cast(upper, i64)
        new = c.apply("eq", c.emit(Load(seen, at))[0], Const(0, u8))
        c.emit(Store(seen, at, Const(1, u8)))
        inside = c.apply("lt", c.cast(place, u64), c.cast(extent, u64))
        knows = c.apply("and", inside, c.apply("ne", before, NONE))
        moved = c.apply("gt", c.apply("abs", c.sub(place, before)), index(page // each))
        is_far = c.apply("and", knows, c.apply("and", moved, new))
        return place, c.add(far, c.cast(is_far, i64)), c.add(known, c.cast(knows, i64))

    start = (index(0), index(0))
    runs, k, (far, known) = b.iteration("k", start)
    count = b.apply("minimum", b.apply("floordiv", writer.total, index(APART)), index(MOST_RUNS))
    count = b.apply("maximum", count, index(1))
    first = runs.apply("floordiv", runs.mul(k, writer.total), count)
    last = runs.apply("minimum", runs.add(first, index(NEIGHBOURS)), writer.total)
    one = min(1, writer.version.width)  # 0: folds may use the lanes
    walk = writer.traverse((), width=one)
    _, *after = walk.block(runs, first, last, (NONE, far, known), step)
    found, all_ = runs.close_loop(index(0), count, start, after)
    all_known = b.apply("maximum", all_, index(1))
    part = b.apply("floordiv", b.mul(found, index(WHOLE)), all_known)
    b.emit(Store(result, index(0), part))


@record
class Costs:
    """The total cost over all threads, as if each index received one element."""

    alone: Atom
    owners: Atom
    partition: Atom

    @staticmethod
    def of(host: Builder, s: Scattering, far: Atom) -> Costs:
        """By sizes and threads, where `far` of WHOLE elements go where no other went near."""
        machine, (near, beyond) = s.lowering.machine, s.lowering.machine.misses
        first = _beyond(host, s.extent, index(_places(s, machine.first_level)))
        components, computed = len(s.dtypes), cost_of_body(s.op.body)
        last = _beyond(host, s.extent, index(_places(s, machine.caches[1])))
        missed: Atom = index(0)
        for places, cost in ((first, near), (last, beyond)):
            missed = host.add(missed, host.mul(places, index(cost * components)))
        missed = host.mul(missed, far)
        all_ = host.mul(s.extent, index(WHOLE))
        spread = host.mul(host.mul(s.extent, far), index(WRITE))
        written = host.add(host.mul(all_, index(WRITE + computed)), missed)
        looked = host.sub(host.mul(all_, index(LOOK + WRITE + computed)), spread)
        owners = host.add(host.mul(s.threads, looked), host.add(spread, missed))
        size = bytes_of([s.dtypes[k] for k in s.varying])
        moved = host.mul(all_, index(WRITE + computed + MOVE + MOVE_BYTE * size))
        return Costs(host.mul(s.threads, written), owners, moved)

    def partition_pays(self, host: Builder) -> Atom:
        """Whether to sort elements by tile costs less than any number of owners."""
        least = host.apply("minimum", self.alone, self.owners)
        return host.apply("lt", self.partition, least)

    def one_is_faster(self, host: Builder) -> Atom:
        """Whether one thread writes all elements sooner than all threads look at them: always, if
        there is but one."""
        return host.apply("lt", self.alone, self.owners)


def is_large(host: Builder, s: Scattering) -> Atom:
    """Whether a destination leaves a core's own cache, and the elements are more than one block."""
    machine = s.lowering.machine
    large = host.apply("gt", s.extent, index(_places(s, machine.caches[0])))
    return host.apply("and", large, host.apply("gt", s.total, index(machine.block_of_reads)))


def is_near(s: Scattering) -> bool:
    """Whether a core's first cache is known to hold a destination: one owner is always faster."""
    extent, first = s.extent, s.lowering.machine.first_level
    return isinstance(extent, Const) and extent.value <= _places(s, first)


def _places(s: Scattering, size: int) -> int:
    """How many elements of the destination fit in a cache of `size` bytes."""
    return size // bytes_of(s.dtypes)


def _beyond(host: Builder, extent: Atom, cached: Atom) -> Atom:
    """How many elements of the destination exceed a cache that holds `cached`."""
    return host.apply("maximum", host.sub(extent, cached), index(0))


def turns_pay(host: Builder, s: Scattering, turns: Atom) -> Atom:
    """Whether serial updates of a copy in shared memory cost less than a sort of the elements by
    index, four bits in a pass."""
    some = host.apply("maximum", s.extent, index(1))
    bits = host.sub(index(64), host.apply("clz", some))
    passes = host.apply("shr", host.add(bits, index(3)), index(2))
    components = index(len(s.dtypes))
    sorting = host.add(index(SORT), host.mul(passes, index(PASS)))
    return host.apply("lt", host.mul(turns, index(TURN)), host.mul(sorting, components))
