"""The results as text: one line per requirement, and below it every contender's time.

    row                     ours     GB/s  floor    best peer    must reach       reaches
    scan(add) i32 2^26      13.1 ms  41.0  12.2 ms  25 ms numba  0.85 of memory's speed  0.93  yes
"""

from __future__ import annotations

from typing import Any

from bench.needs import LOOP, OURS

HEADS = ("row", "ours", "GB/s", "floor", "best peer", "must reach", "reaches", "")
MARKS = {True: "yes", False: "NO", None: "?"}


def duration(seconds: float | None) -> str:
    """13.1 ms, 4.20 us."""
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def best_peer(result: dict[str, Any]) -> str:
    """The fastest of all, with its time."""
    peers = {
        name: seconds
        for name, seconds in result["seconds"].items()
        if name != LOOP and not name.startswith(OURS) and "times_faster" in result
    }
    if not peers:
        return ""
    name = min(peers, key=peers.__getitem__)
    return f"{duration(peers[name])} {name}"


def lines_of(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """One line per requirement; the row's own numbers on the first."""
    if "failed" in result:
        return [(result["title"], "failed", "", "", "", "", result["failed"], "NO")]
    seconds = result["seconds"].get(OURS)
    moved = result.get("compulsory_bytes", 0)
    rate = f"{moved / seconds / 1e9:.1f}" if result.get("floor") else ""
    title = result["title"] + " (quick)" * result.get("quick", False)
    own = (title, duration(seconds), rate, duration(result.get("floor")))
    lines = []
    for number, verdict in enumerate(result["verdicts"]):
        left = (*own, best_peer(result)) if not number else ("", "", "", "", "")
        mark = MARKS[verdict["reached"]]
        lines.append((*left, verdict["need"], verdict["measured"], mark))
    return lines


def text(results: list[dict[str, Any]]) -> str:
    """The table in columns."""
    lines = [HEADS, *(line for result in results for line in lines_of(result))]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def contenders(result: dict[str, Any]) -> str:
    """Every contender's time, fastest first."""
    times = sorted(result["seconds"].items(), key=lambda item: item[1])
    return "; ".join(f"{name} {duration(seconds)}" for name, seconds in times)


def missing(results: list[dict[str, Any]]) -> list[str]:
    """Peers that could not be had, why, and in which rows."""
    rows: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for what, why in result.get("missing", {}).items():
            rows.setdefault((what, why), []).append(result["title"])
    return [
        f"{'bench/peers/' if '.' in what else ''}{what} ({why}): {'; '.join(titles)}"
        for (what, why), titles in rows.items()
    ]


def markdown(machine: dict[str, Any], results: list[dict[str, Any]], method: str) -> str:
    """The page kept in results/."""
    facts = "; ".join(f"{name} {value}" for name, value in machine.items())
    rows = [HEADS, ("---",) * len(HEADS), *(line for r in results for line in lines_of(r))]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    every = "\n".join(
        f"- **{r['title']}** ({r['rounds']} rounds): {contenders(r)}"
        for r in results
        if "seconds" in r
    )
    absent = "\n".join(f"- {line}" for line in missing(results)) or "Nothing."
    return (
        f"# Measured {machine['date']}\n\n{facts}\n\n{method}\n\n{table}\n\n"
        f"## Missing\n\n{absent}\n\n## All\n\n{every}\n"
    )
