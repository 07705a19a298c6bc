"""How a contraction is divided: results that stay in registers, values that stay in caches.

    version name=tiled
        guard inside=true work=32768 narrowest=4
        split axis=row by=126                               rows of a tile
        split axis=last by=256                              and lanes
        split axis=fold by=256
        reorder loops=row,column,fold,column,row,fold
        unroll axis=row by=14                               a register tile
        vectorize axis=last width=32
        cache at=packed axes=row,last

    registers   rows x lanes results, the values of a step's lanes, one of a row, one product
    first       the values of `lanes` lanes for as many steps as the fold is split into
    second      the values of a tile's rows and lanes for as many steps, and its results so far

Where axes come before rows and lanes there are many small contractions: their values are read where
they are. Where half a register of lanes is enough, or one, a version has these.
"""

from __future__ import annotations

from flatweave.base.records import replace
from flatweave.lower.machine.machine import BLOCK_WORK, WIDEST, Machine
from flatweave.lower.machine.thresholds import (
    FEWEST,
    FOLD_STEPS,
    NARROWEST,
    ROWS_IN_PLACE,
    SIDE_IN_PLACE,
    SPARE_REGISTERS,
    TILE_LANES,
    TILE_ROWS,
    VECTORS,
    WIDEST_SQUARE,
)
from flatweave.lower.schedule.contraction import Contraction
from flatweave.nest.schedule import (
    BY_STEPS,
    Axis,
    Cache,
    Guard,
    Memory,
    Split,
    Unroll,
    Vectorize,
    Version,
)
from flatweave.ops.rows import scalar_type
from flatweave.passes.cost import READ


def tiled_versions(found: Contraction | None, machine: Machine) -> list[Version]:
    """The versions of a contraction on a machine whose lanes are those of registers."""
    if found is None or machine.simt:
        return []
    width = machine.lanes(found.dtypes)
    lanes = width * min(VECTORS, max(1, WIDEST // width))
    vectors, results = lanes // width, len(found.op.neutral)
    values = len(found.lane_values)
    rows = (machine.registers - SPARE_REGISTERS - vectors * values) // (vectors * results)
    if rows < 2:
        return []
    each = sum(scalar_type(value).bytes for value in found.lane_values)
    work = BLOCK_WORK // (2 * READ)  # enough steps of two reads to pay for packing
    if found.leading:
        guard = Guard(inside=True, work=work, narrowest=FEWEST)
        widths = {f"tiled-{n}": n for n in (width // 2, width) if 1 < n < lanes}
        depth = machine.first_level // (SIDE_IN_PLACE * each)
        return [
            _version(name, replace(guard, widest=widths.get(name, 0)),
                     (min(rows, ROWS_IN_PLACE), across), (SIDE_IN_PLACE, SIDE_IN_PLACE), depth)
            for name, across in {**widths, "tiled": lanes}.items() if found.reads_along_lanes
        ]  # fmt: skip
    depth = min(FOLD_STEPS, machine.first_level // (lanes * each) // width * width)
    transposes = found.reads_along_fold and machine.tiles
    square = min(WIDEST_SQUARE, width) if transposes else 0
    guard = Guard(inside=True, work=work, narrowest=NARROWEST)
    packed = Cache(Memory.PACKED, (Axis.ROW, Axis.LAST), square)
    return [_version("tiled", guard, (rows, lanes), (TILE_ROWS, TILE_LANES), depth, packed)]


def _version(
    name: str, guard: Guard, size: tuple[int, int], most: tuple[int, int], depth: int,
    *cache: Cache,
) -> Version:  # fmt: skip
    """A version with register tiles of a size, in tiles of at most `most` rows and lanes, which
    take `depth` steps of the fold at once."""
    rows, lanes = (max(1, limit // n) * n for n, limit in zip(size, most, strict=True))
    return Version(name, guard, (
        Split(Axis.ROW, rows), Split(Axis.LAST, lanes), Split(Axis.FOLD, depth), BY_STEPS,
        Unroll(Axis.ROW, size[0]), Vectorize(Axis.LAST, size[1]), *cache))  # fmt: skip
