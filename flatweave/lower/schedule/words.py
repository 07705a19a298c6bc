"""Why a kernel runs, in the user's words: what its plan says of sizes."""

from __future__ import annotations

from flatweave.lower.schedule.plan import Along, ScatterVariant, Variant, When

WAYS = {
    "owner": "each thread writes a part of the destination of its own, and looks at all elements",
    "private": "each thread adds into a copy of the destination, since copies are small beside the"
    " elements",
    "partition": "elements are sorted by tile of the destination first, since that is larger than"
    " the caches",
    "strided": "tiles of the destination look for the elements of each row, since rows write in"
    " even steps and are long",
}

ALONE = "one thread writes all elements where they are computed, in order"


def why_variant(variant: Variant, variants: tuple[Variant, ...]) -> str:
    """Why one of several variants runs; "" where there is no choice."""
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


def why_scatter(way: ScatterVariant) -> str:
    """Why a way of scattering runs."""
    said = WAYS.get(way.name, "")
    forced = "" if way.when is When.PAYS or way.name == "owner" else ", as the schedule says"
    return f"{said}{forced}" if said else ""
