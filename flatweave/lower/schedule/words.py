"""Why a kernel runs, in the user's words: what its plan says of sizes."""

from __future__ import annotations

from flatweave.lower.schedule.plan import NO_SHARED_TILE, Along, SharedTile, Variant

FEW_TILES = ", but there are few tiles, or blocks have no memory of their own"
WHY_ONES = "rows have one element each"
WHY_SHORT = "each lane has a row, or a part of one, as rows are short"


def why_stencil(tile: SharedTile, shared: Variant | None, *, in_tile: bool) -> str:
    """Why neighbours are read in a tile or not, where the variant `shared` reads them there."""
    said = f"{_hundredths(tile.cached)} cycles for 32 results, {_hundredths(tile.tiled)} in tiles"
    if not in_tile:
        few = "" if shared is None else FEW_TILES
        return f"neighbours are read through the caches: {said}{few}"
    shape = " x ".join(map(str, tile.shape))
    reads = f"{_hundredths(tile.loads)} reads for a result instead of {_hundredths(tile.reads)}"
    wished = shared is not None and shared.wished
    cause = "as the schedule says" if wished else f"through the caches {said}"
    return f"neighbours are read in tiles of {shape}, shared by a block, {reads}: {cause}"


def _hundredths(number: int) -> str:
    return f"{number // 100}.{number % 100:02}"


def why_variant(
    variant: Variant, variants: tuple[Variant, ...], stencil: SharedTile = NO_SHARED_TILE
) -> str:
    """Why one of several variants runs; "" where there is no choice."""
    if stencil != NO_SHARED_TILE:
        shared = next((v for v in variants if v.shared), None)
        return why_stencil(stencil, shared, in_tile=variant.shared)
    if len(variants) == 1:
        return ""
    streaming = next((v for v in variants if v.streaming), None)
    rows = next((v.row_length for v in variants if v.row_length), 0)
    tiled = next((v for v in variants if v.tiled), None)
    if variant.tiled:
        sizes = f"{variant.work:,} elements or more meet" if variant.work else "the schedule says"
        return f"results stay in registers, many at once, as {sizes}"
    reasons = []
    if tiled is not None:
        reasons.append(f"each lane has one result, as fewer than {tiled.work:,} elements meet")
    if variant.streaming:
        reasons.append(f"results go around the caches, as there are {variant.least:,} or more")
    elif streaming is not None:
        least = f"{streaming.least:,}"
        reasons.append(f"results go through the caches, as there are fewer than {least}")
    if variant.along is Along.FILL:
        reasons.append("runs of one value are filled one after the other")
    elif rows:
        one = variant.row_length > 0
        how = "rows are taken one by one" if one else "several rows are taken at once"
        number = f"{rows} elements or more" if one else f"fewer than {rows} elements"
        reasons.append(f"{how}, as they have {number} on average")
    return "; ".join(reasons)
