"""The numbers that make one lowering fit each machine: costs, sizes, thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms import block_scans
from flatweave.base.dtypes import DType, i64, u32
from flatweave.base.library_products import LARGE, ON_DEVICES, ProductSizes
from flatweave.base.records import record, replace
from flatweave.base.schedule import FAR, ByGain, Thresholds
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.kernel_passes.steps import Registers
from flatweave.ops.writes import SHORT, SHORT_ALONE
from flatweave.passes.cost import READ, STEP

KIB = 1024
CACHE_LINE = 64
"""Bytes. 64 elements of any dtype fill a whole number of lines."""
ADDING = 4
"""Latency of a floating-point addition in cycles: 4 on Intel's cores since Skylake, 3 on Zen. Long
rows are summed in 4 independent chains, and loops over single elements are unrolled 4 times."""
WIDEST = 64
"""Lanes of the widest step: their flags fit one machine word."""
ROW_LANES = 32
"""Lanes of a step along rows whose ends are data: with as many ends they fill a word of bits."""

BLOCK_WORK = 128 * KIB
"""Scalar operations of the smallest block: some 3 us of vector code, what a second thread costs.
Turns of a loop on 2 threads of a Xeon with AVX-512, in us, with 32, 128 and 512 KiB, and on one
thread: 2^12 elements of a polynomial 2.0, 1.5, 1.5 (1.6); 2^15 of it 9.8, 7.0, 6.3 (9.6); 2^14 of
exp and sin 7.4, 5.1, 6.9 (7.2); 2^17 of two operations 17.3, 9.7, 9.7 (16.1)."""

ROWS_ALONE = ByGain(
    loops=Thresholds(rows=64, longest=64 * KIB, share=16, mean=0),
    sorts=Thresholds(rows=64, longest=64 * KIB, share=16, mean=6, least=SHORT + 1),
    selections=Thresholds(rows=4, longest=FAR, share=4, mean=6, least=SHORT + 1),
    keys=Thresholds(rows=64, longest=64 * KIB, share=16, mean=6, least=SHORT_ALONE + 1),
)
"""When each row of a nest runs sequentially. Fewer rows, or one with a larger share of the values,
leave cores idle at the end; longer rows exceed a core's private cache. All rows at once run a loop
with launches in each iteration; they sort short rows well, best if all are short (`SHORT`).
Milliseconds, all rows at once and by row, 2^21 f32 in rows of mean length 10, 30, 100, 1,000,
10,000 on 2 cores of a Zen 5:

    filter, scan            1.5, 7.6    1.1, 3.7    0.9, 1.7    0.5, 0.5    0.5, 0.3
    scan, reversed scan     2.8, 3.7    3.7, 1.9    1.5, 1.2    1.0, 0.9    1.9, 1.1
    sort, filter, scan     17.6, 12.3  15.8, 6.3   15.0, 6.2   13.6, 3.7   12.1, 5.7
    histogram, scan         3.4, 5.1    2.2, 2.6    2.1, 1.3    1.0, 0.8    0.7, 0.7
"""


MULTIPROCESSOR_REGISTERS = 64 * KIB
"""Of 32 bits, on GPUs of NVIDIA's from sm_70 on; a thread has 255 at most, by eights."""
THREADS_WANTED = 512
"""Of a multiprocessor, 16 warps. More elements of a thread are worth more than more warps, as
blocks wait for the blocks before them: scans of 2^26 i32 and of 2^25 f64 take 231 and 357 us on an
H200 with up to 32 elements each, and 271 and 794 us with up to 16 and 24 warps. For 32 elements
NVRTC 13.5 takes more registers than there are in some kernels, for 28 in none."""
RUN = 16
"""Elements of up to 16 bytes that a thread takes at once in a launch of one block, and fewer wider
ones: a step of a warp takes as long as a load and five exchanges, whatever it is of. And positions
of a thread, one after another, where a kernel only acts at each position."""


@record(eq=True)
class Machine:
    """What the lowering asks of a target; sizes in bytes.

    `simt`: a warp's last step runs with some lanes idle (GPU) instead of lane by lane (CPU).
    `tiles`: square tiles turned in registers are cheap, so that each lane may have its own run.
    `forward_progress`: a block may wait for an earlier one, so a scan needs one pass only.
    `block_work`: the operations that pay for a block (BLOCK_WORK).
    `streaming_from`: stores of this many bytes go around the caches; `filling_from`: the same where
    a sweep reads less than it stores. Through the caches 16 MB of f64 are filled in 0.6 to 0.9 of
    the time, and 32 MB in 1.2; floors of 8 MB take 1.35 (AMD EPYC, Zen 4, 32 MB of cache).
    `shares_memory`: the host reads and writes buffers itself at no cost; otherwise a launch
    combines the results of blocks.
    `swap_bytes`: what one compare-and-swap can replace.
    `whole_words`: how many words of 64 bits are loaded and stored at once, by blocks of one launch.
    `caches`: a core's private cache, and the part of the shared cache that a program may count on,
    as others use that cache, too.
    `first_level`: the nearest cache of a core. `line_bytes`: of a cache line. `misses`: the extra
    cost of a random access that misses the nearest cache, or the shared one. `page_bytes`: of a
    page of memory, the smallest of x86-64 and of most AArch64.
    `scratch_bytes`: what a kernel may take for what it sorts or copies.
    `shared_bytes`: what a block's shared memory has on every device of the kind.
    `warps_meet_alone`: a barrier of a warp concerns no other warp.
    `shuffles`: the lanes of a warp that are threads exchange values without memory.
    `registers`: how many vector registers there are.
    `thread_registers`: how many of 32 bits a thread may take, so that enough warps run at once; 0
    if lanes are not threads with private registers. `most_each`: elements of a scan that a thread
    keeps in them, at most.
    `rows_alone`: a thread can run the program of a row, with private memory and launches, and does
    from these sizes on.
    `products`: from these sizes on a library computes products; None where no library does. On a
    device the program asks for it at run time.
    `one_block`: every launch is one block, or none where there are no elements.
    """

    name: str
    vector_bytes: int
    fixed_width: int | None
    warps: int
    block_bytes: int
    simt: bool
    forward_progress: bool
    atomics: bool
    tiles: bool
    streaming_from: int | None
    blocks_wanted: int
    filling_from: int = 16 * KIB * KIB
    block_work: int = BLOCK_WORK
    page_bytes: int = 4 * KIB
    shares_memory: bool = True
    swap_bytes: int = 8
    whole_words: int = 1
    first_level: int = 32 * KIB
    line_bytes: int = CACHE_LINE
    misses: tuple[int, int] = (18, 160)
    scratch_bytes: int = 32 * KIB * KIB
    shared_bytes: int = 32 * KIB
    caches: tuple[int, int] = (2 * KIB * KIB, 8 * KIB * KIB)
    registers: int = 16
    warps_meet_alone: bool = True
    shuffles: bool = False
    thread_registers: int = 0
    most_each: int = 16
    one_block: bool = False
    rows_alone: ByGain | None = None
    products: ProductSizes | None = None

    @property
    def block_shape(self) -> BlockShape:
        """What levels are distributed over."""
        width = self.lanes([i64])
        registers = None if self.simt else Registers(self.registers, self.vector_bytes)
        return BlockShape(
            self.warps, width, self.simt, self.warps_meet_alone, registers=registers,
            shuffles=self.shuffles,
        )  # fmt: skip

    @property
    def embeds_broadcasts(self) -> bool:
        """Whether arithmetic broadcasts an operand in memory to all lanes, as with AVX-512; on a
        Zen 4 a separate broadcast takes as long as an addition."""
        return self.registers >= 32

    @property
    def threads_are_long(self) -> bool:
        """Whether a thread takes many elements, one step of its lanes after the other."""
        return not (self.simt or self.one_block)

    @property
    def block_of_reads(self) -> int:
        """Elements of the smallest block that reads each of them in a step of a loop."""
        return self.block_work // (READ + STEP)

    @property
    def staged(self) -> int:
        """Elements of a chunk: their indices fit into half of the nearest cache. Sorts and row sums
        took no longer with 2,048 than with 512 or 4,096 (AMD EPYC, Zen 4, 30 % of noise)."""
        return room(self.first_level) // i64.bytes

    @property
    def among_streams(self) -> int:
        """Bytes that stay in a core's private cache while arrays stream through it: a quarter."""
        return room(room(self.caches[0]))

    @property
    def lanes_of_block(self) -> int:
        """Lanes that a block has at once, at most."""
        return self.warps * (self.fixed_width or WIDEST)

    def block_of(self, threads: int) -> BlockShape:
        """The shape of a block of `threads`; fixed on a machine whose lanes are not threads."""
        if not self.simt or self.fixed_width is None:
            return self.block_shape
        return replace(self.block_shape, warps=max(1, -(-threads // self.fixed_width)))

    def warps_in_runs(self, width: int, dtypes: Sequence[DType]) -> block_scans.Warps:
        """The warps of a launch of one block; each takes steps of `width` lanes, and each thread as
        many elements of these components at once as its registers hold."""
        words = sum(-(-dtype.bits // 32) for dtype in dtypes)
        each = max(1, min(RUN, 4 * RUN // words)) if self.warps > 1 and self.simt else 1
        return block_scans.Warps(self.warps, width, masked=self.simt, each=each)

    def positions_of_block(self, dtypes: Sequence[DType]) -> int:
        """As many elements of these components as pay for a block; where lanes are threads, a run
        for each, so that few positions are many blocks, too."""
        size = self.block_bytes // sum(dtype.bytes for dtype in dtypes)
        return max(1, min(size, self.lanes([]) * self.warps * RUN) if self.simt else size)

    def lanes(self, dtypes: list[DType]) -> int:
        """Lanes that fill one register with the widest of `dtypes`."""
        if self.fixed_width is not None:
            return self.fixed_width
        return max(1, self.vector_bytes // max([dtype.bytes for dtype in dtypes] or [8]))


def cpu(register_bits: int, registers: int) -> Machine:
    """A CPU with `registers` vector registers of `register_bits`; a step takes several of them."""
    return Machine(
        name="cpu", vector_bytes=register_bits // 8, fixed_width=None, warps=1,
        block_bytes=256 * KIB,
        simt=False,
        forward_progress=True,
        atomics=False,
        tiles=True,
        streaming_from=4 * KIB * KIB,
        blocks_wanted=64,
        swap_bytes=16,
        registers=registers,
        rows_alone=ROWS_ALONE,
        products=LARGE,
    )  # fmt: skip


CPU_AVX512 = cpu(512, 32)
OPENCL = Machine(
    name="opencl",
    vector_bytes=64,
    fixed_width=32,
    warps=4,
    block_bytes=256 * KIB,
    simt=True,
    forward_progress=False,
    atomics=True,
    tiles=False,
    streaming_from=None,
    blocks_wanted=64,
    block_work=8 * KIB,
    shares_memory=False,
    line_bytes=128,
    warps_meet_alone=False,
)
CUDA = Machine(
    name="cuda",
    vector_bytes=128,
    fixed_width=32,
    warps=8,
    block_bytes=128 * KIB,
    simt=True,
    forward_progress=True,
    atomics=True,
    tiles=False,
    streaming_from=None,
    blocks_wanted=1024,
    block_work=8 * KIB,
    shares_memory=False,
    shared_bytes=48 * KIB,
    line_bytes=128,
    whole_words=2,
    shuffles=True,
    thread_registers=MULTIPROCESSOR_REGISTERS // THREADS_WANTED // 8 * 8,
    most_each=28,
    products=ON_DEVICES,
)


# What work costs, for all choices between ways to run
#
# One unit: an addition on lanes, some 0.1 ns on one core. `passes/cost.py` counts in it what
# element functions compute, and has the costs that no machine changes: READ, STORING, STEP. Here is
# what else an element costs, by where it goes:
#
#     written anywhere       WRITE, and `Machine.misses` beyond each cache without its destination
#     looked at by owners    LOOK
#     moved by a partition   MOVE, and MOVE_BYTE for each byte
#     combined on devices    TURN for each lane that waits, or SORT and PASS
#
# Working sets fill half of a memory (`room`), and blocks have as many elements as pay for them
# (`Machine.block_work`). On devices the unit is an operation of a warp, or a cycle of one.


WRITE = 10
LOOK = 13
MOVE, MOVE_BYTE = 38, 4
"""Of scatters: measured in `lower/scatter/costs.py`."""
TURN, PASS, SORT = 7, 60, 350
"""The same on devices."""

AWAY = 2
"""A step of a search in the grid's memory, in steps in a block's own."""
SUNK = 10
"""Operations for what becomes of an element."""
LOOKED = 40
"""Of finding where as many rows begin and end as a warp has lanes, and the longest of them."""
ALONE = 80
"""Of finding where one row begins and ends, for which a whole warp waits."""
SECTOR = 32
"""Bytes that a device's memory hands out at once."""


def room(size: int) -> int:
    """What a working set may take of a memory: the rest is for what streams through it."""
    return size // 2


def searched(marks: int) -> int:
    """Operations of a binary search among `marks` entries in a block's memory."""
    return STEP * (marks - 1).bit_length()


def row_per_lane(machine: Machine) -> int:
    """The extra cost of a read or store if each lane of a warp is in a different row: each lane
    moves a sector instead of a word."""
    lanes = machine.lanes([])
    return lanes - lanes * u32.bytes // SECTOR


# The thresholds that choose between schedules of a sweep. Each says what it is compared with; the
# named pages of docs/decisions have the measurements, where these are not here.

# -- rows that are data (expansions, nests, reductions) --------------------------------------------

LONG_ROW = 64
"""From this mean length on rows that are filtered, or stored around the caches, are walked one by
one: most steps stay inside one row."""
ROW_AT_ONCE = 20
"""The same where a row is combined in one go, and as many rows as there are lanes together: the
bytes of a vector register for each element. By position a step costs the same for any number of
rows, at once a row for any number of elements. Sums of 2^21 f64 with AVX2, in ms, in rows of 1, 2,
4, 8 by position 13.5, 5.9, 3.9, 3.3, at once 6.8, 3.5, 2.0, 1.2. Where registers are wider, steps
are fewer."""
ROW_OF_READS = 2
"""The same where reads are consecutive along a row, or one for all of it, but not by position. With
AVX2, in rows of 2, 3, 4 on average, 10^6 f64: sums of products of two ragged arrays take 7.0, 4.3,
3.3 ms, and by position 13.7, 10.1, 5.4; the nearest of another row 10.6, 6.3, 5.2, and by position
12.2, 14.2, 19.0."""
FILLED_ROW = 8
"""From this mean length on results that go around the caches are faster by position than runs that
are filled, where a step's rows are permuted into its lanes."""
FULL_REGISTERS = 64
"""Bytes of registers with a permutation by data, and a minimum of words of 64 bits: AVX-512."""
CHEAP_IN_ROW = 17
"""A value up to this cost is computed for empty rows, too, and for lanes without an element: of 17
(gradient of an expand, f32) rows together take 0.55 of the time, of 21 (a square root) 1.6."""
DEAR_IN_ROW = 200
"""An element that costs more, or is a loop, is computed in as few iterations as possible."""
SOURCES = 32 * ROW_LANES
"""Sources of a block where each lane takes one."""
SEEN = 8
"""A warp looks at no more than this many times 32 rows, spread evenly."""

# -- rows of one length, stencils (schedules, nests) -----------------------------------------------

NARROWEST_PANEL = 256
"""Columns of the narrowest panel: a row of it is some steps."""
TALLER = 4
"""Times as many elements of a block: rows around it are read for its sake alone."""

# -- reductions and scans (reductions, scans) ------------------------------------------------------

OTHER_REGISTERS = 40
"""Registers for all but the elements: addresses of 64 bits, what lanes exchange, the look-back."""
UNDER_WAY = 4, 7
"""Of seven registers for elements four hold what is kept, the others what has been loaded and not
scanned yet."""
LEAST_EACH = 16
"""Elements of a thread that are worth keeping: of fewer there are too many blocks, each of which
waits for the one before it. Else blocks are larger, and elements are evaluated twice: 2^25 (i64,
f64) are scanned in 721 us on an H200 so, and with 12 elements in registers in 919; f64 in 324, and
with 25 elements in 357; 2^26 i32 in 316, and with 32 in 231."""

# -- long folds of few elements, contractions (reductions, contractions) ---------------------------

FOLD_STEPS = 256
"""Steps of a fold in a block, or a multiple of them; in register tiles, steps between two reads of
the results so far: the steps hide these reads. With 64, 128, 256, 512: 4096 x 4096 f64 summed down
10.1, 10.2, 10.6, 11.2 ms of one thread, and 10^5 x 64 times itself 34.7, 30.5, 27.6, 26.7; with 341
and 8 columns 0.37, and with 256 or 512 0.28."""
MOST_REDUCTIONS = 4
"""Up to this many columns are reductions of one sweep over the rows."""

MOST_VALUES = 2
"""Values of a row, or of a lane, for each step of the fold: more leave no registers for results."""
NARROWEST = 4
"""Lanes of a step, and rows of a register tile, that there must be: of fewer most of them would be
computed in vain. With loops of such steps where there are few elements, and without separate ends,
trees of 2 to 200 steps of options took 30 ms instead of 41 (2 cores of a Zen 5, f64 in steps of
8)."""
FEWEST = 2
"""The same for blocks of a long fold, which are read in place."""
VECTORS = 2
"""Registers of lanes that share the value of a row."""
SPARE_REGISTERS = 2
"""Registers for the value of a row and for a product."""
TILE_ROWS, TILE_LANES = 128, 256
"""Results of a tile along both axes: packing a value costs as much as using it a few times."""
ACCUMULATING = 4
"""Vector registers for each row of a tile whose values are read in place: 8 rows with AVX-512. A
product of 16 x 16 f64 that is not aligned to cache lines takes 175 ns by 8 rows and 204 ns by 4,
which read lanes twice as often (AMD EPYC, Zen 4)."""
SIDE_IN_PLACE = 64
"""Rows and lanes of a tile in place."""
WIDEST_SQUARE = 16
"""Lanes of a square that stays in registers while it is turned, in tiles and the blocked layout."""
