"""The schedule of a sweep's loops, as data: an ordered list of steps, for each version of a kernel.

    version name=streaming
        guard elements=524288 multiple=32
        split axis=last by=1024
        reorder loops=panel,row,column
        vectorize axis=last width=32 tail=shift peel=1
        stream

All axes of a sweep are fused and split into blocks, which are bound to the grid (`Bind`): versions
share that. Inside a block there are three kinds of loops: the space of the sweep, as one loop or
by rows; the folds of its elements; and rows whose ends are data, for which a strategy has a name.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from flatweave.base.records import record, replace


class Axis(Enum):
    """The loop that is vectorized: lanes run along it."""

    SPACE = "space"
    """all axes of the sweep fused: every read is at the element's own position"""
    LAST = "last"
    """the last axis, each row separately: broadcasts, stencils, transposes"""
    ROW = "row"
    """the axis before it; of a contraction in a fold, the positions of that fold; of tiles in
    shared memory, the axis along which reads are contiguous"""
    FOLD = "fold"
    """the folds of one element at a time (sums of rows), which are split over the lanes"""


class Tail(Enum):
    """What becomes of the elements that do not fill a step."""

    SCALAR = "scalar"
    """they are visited one by one"""
    PREDICATE = "predicate"
    """lanes without an element are idle: where lanes are threads, which take the same branches, or
    each combines its own elements of a row"""
    SHIFT = "shift"
    """shift-inwards: the last step ends where the row does and overlaps the one before it"""
    SHIFT_OR_MASK = "shift-or-mask"
    """the same; a predicated step takes the rest of a row that is shorter than a step"""


class Along(Enum):
    """What the lanes of a step go along in a sweep that locates its positions among rows."""

    EITHER = "either"
    """rows one by one where they are long, else positions: a version for each"""
    POSITIONS = "positions"
    ROW = "row"
    """one row after the other"""
    ROWS = "rows"
    """a row for each lane"""
    WARPS = "warps"
    """a row for each warp, lanes along it"""
    SEARCH = "search"
    """positions, each lane finding its own row"""
    COST = "cost"
    """one of the last three, which each block finds from its rows"""
    GROUPS = "groups"
    """as many rows as a warp has lanes: a row for each lane, or all lanes along one row after the
    other, which each group finds from its rows"""
    FILL = "fill"
    """one row after the other, whole steps that may go on into the next row"""


class Memory(Enum):
    """Where values are stored that are used again."""

    REGISTERS = "registers"
    """of each thread, which has some for as many elements as it takes"""
    SCRATCH = "scratch"
    """memory of the block, from which they are copied when the output offset is known"""
    SHARED = "shared"
    """of a block, which has a tile of what is read across the lanes"""
    PACKED = "packed"
    """memory of the block, in the order in which they are read"""


class How(Enum):
    """How the elements of a block are combined for one scan or reduction."""

    LANEWISE = "lanewise"
    """each lane separately, lanes joined at the end: for operators that commute"""
    ORDERED = "ordered"
    """across the lanes of each step, in order"""
    BLOCKED = "blocked"
    """a consecutive run of elements for each lane, lanes joined in order"""
    COUNTED = "counted"
    """flags are counted"""


# -- steps -----------------------------------------------------------------------------------------


@record(eq=True)
class Bind:
    """All axes, fused, are split into blocks of `least` to `most` elements, which are bound to the
    grid; or, with `rows`, into blocks of that many of the rows that positions are located among.

    Blocks have fewer elements, with `folds`, where the folds of one are long when the program runs.
    """

    least: int
    most: int
    rows: int = 0
    folds: bool = False


@record(eq=True)
class RFactor:
    """How one pass splits the reduction of a block over lanes, for each scan record or reduction.

    In the blocked layout a run has `width` lanes; a `heavy` body is a loop over the columns of a
    tile instead of being written out for each. Where flags are counted, a step has `width` lanes.
    Elsewhere it is 0: steps are those of the version.
    """

    hows: tuple[How, ...]
    width: int = 0
    heavy: bool = False


NO_REDUCTION = RFactor(())


@record(eq=True)
class Split:
    """An axis is split into parts of `by` elements; the loop over parts is the outer one."""

    axis: Axis
    by: int


@record(eq=True)
class Reorder:
    """The order of a block's loops, the outermost first."""

    loops: tuple[Loop, ...]


class Loop(Enum):
    """A loop of a block. Of an axis that is split, the loop over parts is the first with its name,
    the one inside a part the last."""

    PANEL = "panel"
    ROW = "row"
    COLUMN = "column"
    FOLD = "fold"


BY_PANELS = Reorder((Loop.PANEL, Loop.ROW, Loop.COLUMN))
"""So many columns of all rows of a block before those after them (`panels.py`)."""
BY_TILES = Reorder((Loop.ROW, Loop.COLUMN, Loop.ROW, Loop.COLUMN))
"""Tiles in order; of a tile first what is read, then the elements."""
BY_STEPS = Reorder((Loop.ROW, Loop.COLUMN, Loop.FOLD, Loop.COLUMN, Loop.ROW, Loop.FOLD))
"""Of a tile, all register tiles take some steps of the fold, then those after them."""


@record(eq=True)
class Unroll:
    """The inner loop over an axis: `by` iterations are written out, with a state each."""

    axis: Axis
    by: int


@record(eq=True)
class Vectorize:
    """Lanes run along an axis, `width` in a step; `tail` says how a row ends.

    With a `peel`, positions that far from both ends of the last axis are visited separately, so
    that the tests of a stencil's boundary fall away elsewhere.
    """

    axis: Axis
    width: int
    tail: Tail = Tail.SCALAR
    peel: int = 0


@record(eq=True)
class Rows:
    """The strategy for rows whose ends are data: what lanes go `along`.

    Where rows are `flagged`, only their heads are looked for; where they are `mixed`, they are
    visited in an order without pattern; where they are `folded`, the sweep only combines them.
    """

    along: Along = Along.EITHER
    flagged: bool = False
    mixed: bool = False
    folded: bool = False


@record(eq=True)
class Cache:
    """Values are stored `at` a memory and used again.

    Elements are evaluated once, and stored until it is known where they go; without this step they
    are evaluated once more then, as the inputs are in a cache by that time. What a contraction
    reads along `axes` is packed for each part of its fold; values of lanes that run along the fold
    in memory are transposed in squares of `square` lanes.
    """

    at: Memory
    axes: tuple[Axis, ...] = ()
    square: int = 0


@record(eq=True)
class Stream:
    """Results are stored around the caches."""


Step = Split | Reorder | Unroll | Vectorize | RFactor | Rows | Cache | Stream
AnyStep = TypeVar("AnyStep", bound=Step)


def kind_of(step: Step) -> object:
    """What a version has one step of at most: its type, and of a split the axis, too."""
    return (Split, step.axis) if isinstance(step, Split) else type(step)


# -- versions -------------------------------------------------------------------------------------


@record(eq=True)
class Guard:
    """The sizes that a version runs for, as the host finds them.

    There are `elements` or more; the last axis is a multiple of `multiple`; rows that are data have
    at least `mean` elements on average. Of a contraction, all reads are `inside` the arrays, folds
    go over `work` elements or more in all and over at most `longest` each, and there are at least
    `narrowest` rows and lanes, and at most `widest` lanes. Rows have `one` element each, or fewer
    than `below`.
    """

    elements: int = 0
    multiple: int = 1
    mean: int = 0
    inside: bool = False
    work: int = 0
    narrowest: int = 0
    widest: int = 0
    longest: int = 0
    one: bool = False
    below: int = 0

    @property
    def short_rows(self) -> Guard:
        """What it asks of rows that are short."""
        return Guard(one=self.one, below=self.below)

    @property
    def of_short_rows(self) -> bool:
        """Whether it asks for rows that are short."""
        return self.short_rows != ALWAYS


ALWAYS = Guard()


@record(eq=True)
class Version:
    """One kernel of a sweep: the first whose guard holds runs. Its schedule is its `steps`."""

    name: str
    guard: Guard = ALWAYS
    steps: tuple[Step, ...] = ()

    def step(self, kind: type[AnyStep]) -> AnyStep | None:
        """The step of a kind, of which there is one at most, but for splits."""
        return next((each for each in self.steps if isinstance(each, kind)), None)

    def part(self, axis: Axis) -> int:
        """Elements of the parts that an axis is split into; 0 where it is not split."""
        splits = (each for each in self.steps if isinstance(each, Split))
        return next((each.by for each in splits if each.axis is axis), 0)

    def caches(self, at: Memory) -> Cache | None:
        """The step that stores values at a memory."""
        found = self.step(Cache)
        return found if found and found.at is at else None

    def but(self, *steps: Step) -> Version:
        """The same version with these steps instead of those of their kinds."""
        others = {kind_of(each): each for each in steps}
        kept = [others.pop(kind_of(each), each) for each in self.steps]
        return replace(self, steps=(*kept, *others.values()))

    def only(self, *kinds: type[Step]) -> Version:
        """The same version with the steps of some kinds alone."""
        return replace(self, steps=tuple(each for each in self.steps if isinstance(each, kinds)))

    @property
    def streams(self) -> bool:
        """Whether results are stored around the caches."""
        return self.step(Stream) is not None

    @property
    def is_tiled(self) -> bool:
        """Whether results stay in register tiles."""
        return self.step(Unroll) is not None

    @property
    def lanes(self) -> Vectorize:
        """The vectorized axis, and how lanes run along it."""
        found = self.step(Vectorize)
        assert found is not None
        return found

    @property
    def width(self) -> int:
        """Elements of a step; 0 if lanes run along the folds of one element."""
        return 0 if self.lanes.axis is Axis.FOLD else self.lanes.width

    @property
    def rows(self) -> Rows:
        """The strategy for rows that are data."""
        return self.step(Rows) or NO_ROWS

    @property
    def combines(self) -> RFactor:
        """How the reductions that the sinks make are split over lanes."""
        return self.step(RFactor) or NO_REDUCTION

    @property
    def panel(self) -> int:
        """Columns of a panel; 0 where there are none."""
        return self.part(Axis.LAST) if self.step(Reorder) == BY_PANELS else 0


NO_ROWS = Rows()
