"""How a contraction is divided: results that stay in registers, values that stay in caches.

    registers   rows x lanes results, the values of a step's lanes, one of a row, one product
    first       the values of `lanes` lanes for `depth` steps of the fold
    second      the values of a tile's rows and lanes for as many steps, and its results so far
"""

from __future__ import annotations

from flatweave.lower.machine.machine import WIDEST, Machine
from flatweave.lower.schedule.contraction import Contraction
from flatweave.nest.schedule import RegisterTile
from flatweave.ops.rows import scalar_type

LEAST_WORK = 1 << 15
"""Elements that are folded from which on values are packed for tiles."""
NARROWEST = 4
"""Rows and lanes that there must be: of fewer most of a register tile would be computed in vain."""
FEWEST = 2
"""The same for blocks of a long fold, which are read in place."""
LEAST_STEPS = 64
"""Steps of a fold that hide what begins and ends a register tile, in place."""
VECTORS = 2
"""Registers of lanes that share the value of a row."""
SPARE = 2
"""Registers for the value of a row and for a product."""
DEPTH = 256
"""Steps of a fold between two reads of the results so far, which these hide."""
TILE_ROWS = 128
TILE_LANES = 256
"""Results of a tile along both axes: packing a value costs as much as using it a few times."""

ROWS_IN_PLACE = 8
NARROW_ROWS = 4
"""Rows of a register tile in place, and where one register has room for all lanes: sums that do not
wait for each other."""
SIDE_IN_PLACE = 64
"""Rows and lanes of a tile in place."""
WIDEST_SQUARE = 16
"""Lanes of a square that stays in registers while it is turned."""


def choose_register_tile(found: Contraction | None, machine: Machine) -> RegisterTile | None:
    """The tile of a contraction on a machine whose lanes are those of registers."""
    if found is None or machine.simt:
        return None
    width = machine.lanes(found.dtypes)
    lanes = width * min(VECTORS, max(1, WIDEST // width))
    vectors = lanes // width
    results, values = len(found.op.neutral), len(found.lane_values)
    rows = (machine.registers - SPARE - vectors * values) // (vectors * results)
    if rows < 2:
        return None
    bytes_each = sum(scalar_type(value).bytes for value in found.lane_values)
    depth = min(DEPTH, machine.first_level // (lanes * bytes_each) // width * width)
    if found.leading:
        return _in_place(found, machine, lanes, min(rows, ROWS_IN_PLACE), bytes_each)
    most_lanes = max(lanes, TILE_LANES // lanes * lanes)
    square = min(WIDEST_SQUARE, width) if found.lanes_across and machine.tiles else 0
    return RegisterTile(rows, lanes, depth, max(1, TILE_ROWS // rows) * rows, most_lanes, square)


def _in_place(
    found: Contraction, machine: Machine, lanes: int, rows: int, bytes_each: int
) -> RegisterTile:
    """Results of few rows and lanes; what they read in `depth` steps fills the nearest cache."""
    most_lanes = max(lanes, SIDE_IN_PLACE // lanes * lanes)
    depth = max(LEAST_STEPS // 2, machine.first_level // (most_lanes * bytes_each))
    narrow = min(rows, NARROW_ROWS) if machine.lanes(found.dtypes) < lanes else 0
    most_rows = SIDE_IN_PLACE // rows * rows
    return RegisterTile(rows, lanes, depth, most_rows, most_lanes, in_place=True, narrow=narrow)
