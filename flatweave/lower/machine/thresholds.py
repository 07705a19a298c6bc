"""The thresholds that choose between schedules of a sweep.

Each says what it is compared with. The named pages of docs/decisions have the measurements; where
one is short it is here. What depends on a machine is a field of `Machine`.
"""

from __future__ import annotations

from flatweave.lower.machine.machine import ROW_LANES

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
PERMUTING = 64
"""Bytes of registers whose lanes one instruction permutes by indices that are data."""
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
"""Rows and lanes that there must be: of fewer most of a register tile would be computed in vain."""
FEWEST = 2
"""The same for blocks of a long fold, which are read in place."""
VECTORS = 2
"""Registers of lanes that share the value of a row."""
SPARE_REGISTERS = 2
"""Registers for the value of a row and for a product."""
TILE_ROWS = 128
TILE_LANES = 256
"""Results of a tile along both axes: packing a value costs as much as using it a few times."""
ACCUMULATING = 4
"""Vector registers for each row of a tile whose values are read in place: 8 rows with AVX-512. A
product of 16 x 16 f64 that is not aligned to cache lines takes 175 ns by 8 rows and 204 ns by 4,
which read lanes twice as often (AMD EPYC, Zen 4).
"""
SIDE_IN_PLACE = 64
"""Rows and lanes of a tile in place."""
WIDEST_SQUARE = 16
"""Lanes of a square that stays in registers while it is turned, in tiles and the blocked layout."""
