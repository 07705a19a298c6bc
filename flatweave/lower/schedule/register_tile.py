"""How a contraction is divided: results that stay in registers, values that stay in caches.

    registers   rows x lanes results, the values of a step's lanes, one of a row, one product
    first       the values of `lanes` lanes for `depth` steps of the fold
    second      the values of a tile's rows and lanes for as many steps, and its results so far
"""

from __future__ import annotations

from flatweave.lower.machine.machine import WIDEST, Machine
from flatweave.lower.machine.thresholds import (
    DEPTH,
    LEAST_STEPS,
    NARROW_ROWS,
    ROWS_IN_PLACE,
    SIDE_IN_PLACE,
    SPARE_REGISTERS,
    TILE_LANES,
    TILE_ROWS,
    VECTORS,
    WIDEST_SQUARE,
)
from flatweave.lower.schedule.contraction import Contraction
from flatweave.nest.schedule import RegisterTile
from flatweave.ops.rows import scalar_type


def choose_register_tile(found: Contraction | None, machine: Machine) -> RegisterTile | None:
    """The tile of a contraction on a machine whose lanes are those of registers."""
    if found is None or machine.simt:
        return None
    width = machine.lanes(found.dtypes)
    lanes = width * min(VECTORS, max(1, WIDEST // width))
    vectors = lanes // width
    results, values = len(found.op.neutral), len(found.lane_values)
    rows = (machine.registers - SPARE_REGISTERS - vectors * values) // (vectors * results)
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
