
"""The plan of a sweep: every choice about how it runs, made before anything is emitted.

    sweep n_7
        tiling width=32 least=10912 most=15392
        traversal lanes=flat width=32
        level carry=look-back
            aggregation hows=counted
        sink name=compact
        variant name=streaming least=524288 streaming=true
        variant name=plain

A plan is data: made by `choose.py`, printed and read back by `text.py`, held to its rules by
`verify.py`. Emission obeys it and decides nothing.
"""

from __future__ import annotations

from enum import Enum

from flatweave.base.records import record


class Lanes(Enum):
    """What the lanes of a step lie along."""

    FLAT = "flat"
    """the row-major position: every read is at the element's own position"""
    ROW_BY_ROW = "row-by-row"
    """the last axis, each row by itself: broadcasts, stencils, transposes"""
    FOLDS = "folds"
    """nothing: one element at a time, its inner fold spread over the lanes (sums of rows)"""


class Along(Enum):
    """What the lanes of a step go along in a sweep that locates its positions among rows."""

    EITHER = "either"
    """rows one by one where they are long, else positions: a variant for each"""
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
    FILL = "fill"
    """one row after the other, whole steps that may go on into the next row"""


class Carry(Enum):
    """How a block learns what lies before it."""

    LOOK_BACK = "look-back"
    """one pass: publish the aggregate, walk back to the nearest prefix (Merrill, Garland 2016)"""
    WORDS = "look-back-at-words"
    """the same, where what is published fits into words that are stored and loaded at once"""
    ONE_BLOCK = "one-block"
    """there is no other block: nothing lies before it"""
    TWO_PASS = "two-pass"
    """aggregates by a launch of their own, for machines where a block must not wait"""


class How(Enum):
    """How the elements of a block are combined for one scan or reduction."""

    LANEWISE = "lanewise"
    """each lane by itself, lanes joined in the end: for operators that commute"""
    ORDERED = "ordered"
    """across the lanes of each step, in order"""
    BLOCKED = "blocked"
    """a consecutive run of elements for each lane, lanes joined in order"""
    COUNTED = "counted"
    """flags are counted"""
    SAVED = "saved"
    """flags are counted and saved as bits for the last pass"""


class Evaluation(Enum):
    """How often a block evaluates the elements that it keeps."""

    TWICE = "twice"
    """count first, evaluate again when the output offset is known: the inputs are in cache then"""
    KEPT = "kept"
    """evaluate into registers, of which each thread has some for as many elements as it takes, and
    go on when what lies before is known"""
    ONCE = "once"
    """evaluate into scratch memory, copy when the output offset is known: for expensive bodies"""


class When(Enum):
    """The condition of a variant of scattering, found by the host."""

    ALWAYS = "always"
    FITS = "fits"
    """it has room for so large a destination"""
    PAYS = "pays"
    """it has room, and the sizes are those that it is faster for"""


@record(eq=True)
class Tiling:
    """How a sweep is divided: lanes of a step, and least and most elements of a block, which are
    fewer by `folds` that are long when the program runs."""

    width: int
    least: int
    most: int
    folds: bool = False


@record(eq=True)
class Traversal:
    """How the positions of a block are visited.

    `width`: lanes of a step, 0 where there are none but inside folds, of `fold_width` lanes. With a
    `reach`, positions that far from both ends of the last axis are visited apart, so that the tests
    of a stencil's boundary fall away elsewhere. With a `panel`, so many columns of all rows of a
    block are visited before those behind them (`panels.py`). Where it `overlaps`, the ends of a row
    are visited by steps that lie over others; if it is `masked`, too, what is left of a row that is
    shorter than any step goes by a step some of whose lanes are idle. `along` matters where rows
    are located, whose heads are `flagged` in memory where nobody need know the rows themselves;
    where they are `mixed`, they are visited in an order without pattern.
    """

    lanes: Lanes
    width: int
    fold_width: int = 1
    reach: int = 0
    panel: int = 0
    overlaps: bool = False
    masked: bool = False
    along: Along = Along.EITHER
    flagged: bool = False
    mixed: bool = False


@record(eq=True)
class Aggregation:
    """How one pass combines the elements of a block, for each scan record or reduction.

    In the blocked layout a run has `run_width` lanes; a `heavy` body is a loop over the columns of
    a tile instead of being written out for each.
    """

    hows: tuple[How, ...]
    run_width: int = 0
    heavy: bool = False


NO_AGGREGATION = Aggregation(())


@record(eq=True)
class Level:
    """The scans of one level: how they combine a block, and how blocks pass them on.

    Of the scans numbered in `from_heads` only what lies behind the last segment head of a block is
    combined: by the aggregations behind the first one, one for each flag that says heads.
    """

    carry: Carry
    aggregations: tuple[Aggregation, ...]
    from_heads: tuple[int, ...] = ()


@record(eq=True)
class RegisterTile:
    """How a contraction is divided: `rows` by `lanes` results stay in registers while the fold
    takes `depth` steps, on values packed for tiles of `most_rows` by `most_lanes` results. Values
    of lanes that lie along the fold in memory are turned in squares of `square` lanes. Where values
    are read `in_place` nothing is packed, and where half the lanes are enough register tiles have
    these and `narrow` rows, and take all steps at once.
    """

    rows: int
    lanes: int
    depth: int
    most_rows: int
    most_lanes: int
    square: int = 0
    in_place: bool = False
    narrow: int = 0


NO_TILE = RegisterTile(0, 0, 0, 0, 0)


@record(eq=True)
class SharedTile:
    """The tile of elements for which a block puts into shared memory what they read around them.

    In hundredths: how many elements a result reads of arrays that are read at several places
    (`reads`), and how many are put into a tile for it (`loads`); the cycles of 32 results, through
    the caches (`cached`) and in tiles (`tiled`), as `stencil.py` counts them.
    """

    shape: tuple[int, ...]
    reads: int = 0
    loads: int = 0
    cached: int = 0
    tiled: int = 0

    @property
    def pays(self) -> bool:
        """Whether that takes fewer cycles, sizes aside."""
        return self.tiled < self.cached


NO_SHARED_TILE = SharedTile(())


@record(eq=True)
class Variant:
    """One kernel of a sweep, and when it runs: the first variant whose condition holds.

    At `least` so many positions, the last axis a multiple of `multiple`, rows of at least
    `row_length` positions on average. A `streaming` variant stores around the caches. A `tiled` one
    takes register tiles, of at least `narrowest` rows and lanes, and of folds that go over at least
    `work` elements in all, each in at least `steps`.
    """

    name: str
    least: int = 0
    multiple: int = 1
    row_length: int = 0
    streaming: bool = False
    along: Along | None = None
    tiled: bool = False
    work: int = 0
    narrowest: int = 0
    steps: int = 0
    shared: bool = False
    wished: bool = False

    @property
    def always(self) -> bool:
        """Whether it runs whatever the sizes are."""
        sizes = (self.least, self.multiple, self.row_length)
        asks = self.tiled or (self.shared and not self.wished)
        return sizes == (0, 1, 0) and not asks


@record(eq=True)
class ScatterChoice:
    """A variant of scattering (`scatter_variant.py`) by its name, and `when` it is taken."""

    name: str
    when: When


@record(eq=True)
class SweepPlan:
    """All that is decided about one sweep. `sources`: of an expansion, for each block.

    With `lockstep`, all warps of a block take the same branches. Of `scatter`, for a sweep that
    writes to computed places, the first runs whose condition holds. `ones` is the plan for rows of
    one element, `short` that for other short ones, where these have another plan
    (`short_rows.py`).
    """

    tiling: Tiling
    traversal: Traversal
    levels: tuple[Level, ...]
    sinks: tuple[str, ...]
    variants: tuple[Variant, ...]
    combines: Aggregation = NO_AGGREGATION
    sources: int = 0
    evaluation: Evaluation = Evaluation.TWICE
    folds_rows: bool = False
    lockstep: bool = False
    scatter: tuple[ScatterChoice, ...] = ()
    tile: RegisterTile = NO_TILE
    stencil: SharedTile = NO_SHARED_TILE
    ones: tuple[SweepPlan, ...] = ()
    short: tuple[SweepPlan, ...] = ()
