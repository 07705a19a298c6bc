"""Why a kernel runs, in the user's words: what its plan says of sizes."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.lower.schedule.stencil import SharedTile
from flatweave.nest.schedule import Along, Version

FEW_TILES = ", but there are few tiles, or blocks have no memory of their own"
WHY_ONES = "rows have one element each"
WHY_SHORT = "each lane has a row, or a part of one, as rows are short"


def why_stencil(tile: SharedTile, shared: Version | None, *, in_tile: bool) -> str:
    """Why neighbours are read in a tile or not, where the version `shared` reads them there."""
    said = f"{_hundredths(tile.cached)} cycles for 32 results, {_hundredths(tile.tiled)} in tiles"
    if not in_tile:
        few = "" if shared is None else FEW_TILES
        return f"neighbours are read through the caches: {said}{few}"
    shape = " x ".join(map(str, tile.shape))
    reads = f"{_hundredths(tile.loads)} reads for a result instead of {_hundredths(tile.reads)}"
    wished = shared is not None and not shared.guard.worth
    cause = "as the schedule says" if wished else f"through the caches {said}"
    return f"neighbours are read in tiles of {shape}, shared by a block, {reads}: {cause}"


def _hundredths(number: int) -> str:
    return f"{number // 100}.{number % 100:02}"


def why_version(
    version: Version, versions: Sequence[Version], stencil: SharedTile | None = None
) -> str:
    """Why one of several versions runs; "" where there is no choice."""
    guard = version.guard
    if guard.of_short_rows:
        others = [v for v in versions if v.guard.short_rows == guard.short_rows]
        why = WHY_ONES if guard.one else WHY_SHORT
        return "; ".join(filter(None, (why, _why_version(version, others))))
    others = [v for v in versions if not v.guard.of_short_rows]
    if stencil is not None:
        shared = next((v for v in others if v.is_shared), None)
        return why_stencil(stencil, shared, in_tile=version is shared)
    return _why_version(version, others)


def _why_version(version: Version, versions: Sequence[Version]) -> str:
    """Why it runs, of versions for rows of the same lengths."""
    if len(versions) == 1:
        return ""
    guard = version.guard
    streaming = next((v.guard for v in versions if v.streams), None)
    rows = next((v.guard.mean for v in versions if v.guard.mean), 0)
    tiled = next((v.guard for v in versions if v.is_tiled), None)
    if version.is_tiled:
        sizes = f"{guard.work:,} elements or more meet" if guard.work else "the schedule says"
        return f"results stay in registers, many at once, as {sizes}"
    reasons = []
    if tiled is not None:
        reasons.append(f"each lane has one result, as fewer than {tiled.work:,} elements meet")
    if version.streams:
        reasons.append(f"results go around the caches, as there are {guard.elements:,} or more")
    elif streaming is not None:
        least = f"{streaming.elements:,}"
        reasons.append(f"results go through the caches, as there are fewer than {least}")
    if version.rows.along is Along.FILL:
        reasons.append("runs of one value are filled one after the other")
    elif rows:
        one = guard.mean > 0
        how = "rows are taken one by one" if one else "several rows are taken at once"
        number = f"{rows} elements or more" if one else f"fewer than {rows} elements"
        reasons.append(f"{how}, as they have {number} on average")
    return "; ".join(reasons)
