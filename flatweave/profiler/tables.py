"""What a profile shows: rows with what is known of them, tables, a trace file."""

from __future__ import annotations

import io
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import counted, duration, lines, size
from flatweave.base.pretty import table as plain
from flatweave.base.recording import unseen
from flatweave.kernel_ir.host import Role
from flatweave.places.anywhere import HOST, KINDS
from flatweave.places.demand import rates
from flatweave.profiler.facts import Facts, PassFacts, facts_of
from flatweave.profiler.profile import Group, KernelSum, Profile

# The rows of a profile: sums with other facts.
#
# kernel_rows(p)      a dict for each kernel of each program
# call_rows(p)        a dict for each program


NS = 1e-9
MAIN = (Role.PASS, Role.VARIANT)
Row = dict[str, Any]


def kernel_rows(profile: Profile) -> list[Row]:
    """A row for each kernel that ran, the slowest first."""
    profile.sums.settle()
    found: list[Row] = []
    for groups in _by_program(profile).values():
        found += _of_program(groups)
    total = sum(row["seconds"] for row in found)
    fastest = {target: memory_rate(target) for target in {row["target"] for row in found}}
    for row in found:
        row["share"] = row["seconds"] / total if total else 0.0
        rate, bandwidth = fastest[row["target"]], row["bandwidth"]
        row["of_memory"] = bandwidth / rate if rate and bandwidth else None
    return sorted(found, key=lambda row: -float(row["seconds"]))


def call_rows(profile: Profile) -> list[Row]:
    """A row for each program that was called or compiled, in the order of their first calls."""
    profile.sums.settle()
    stages = _stages(profile)
    found: list[Row] = []
    for groups in _by_program(profile).values():
        name = groups[0].name
        kernels = [each for group in groups for each in group.kernels.values()]
        found.append({
            "function": name,
            "line": str(groups[0].where or ""),
            "calls": sum(group.calls for group in groups),
            "failed": sum(group.failed for group in groups),
            "seconds": sum(group.nanoseconds for group in groups) * NS,
            "in_kernels": sum(each.nanoseconds for each in kernels) * NS,
            "peak_bytes": max(group.peak_bytes for group in groups),
            "compile": stages.pop(name, {}),
        })  # fmt: skip
    for name, seconds in stages.items():
        found.append({
            "function": name, "line": "", "calls": 0, "failed": 0, "seconds": 0.0,
            "in_kernels": 0.0, "peak_bytes": 0, "compile": seconds,
        })  # fmt: skip
    return found


def memory_rate(target: str) -> float:
    """The bytes that the memory of a target moves in a second, measured once; 0 where there is
    nothing to measure."""
    kind, _, number = target.partition(":")
    device = KINDS[kind].device(int(number or 0)) if kind in KINDS else None
    with unseen():
        return rates(target, device).memory if device or target == HOST else 0.0


def _stages(profile: Profile) -> dict[str, dict[str, float]]:
    """The seconds of each stage, by program."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (name, stage), nanoseconds in profile.sums.stages.items():
        found[name][stage] = nanoseconds * NS
    return found


def _by_program(profile: Profile) -> dict[int, list[Group]]:
    """The groups of each program."""
    found: dict[int, list[Group]] = defaultdict(list)
    for group in list(profile.sums.groups.values()):
        found[id(group.program)].append(group)
    return found


def _of_program(groups: Sequence[Group]) -> list[Row]:
    """The rows of one program, whatever sizes it was called with."""
    groups = [group for group in groups if group.kernels]
    if not groups:
        return []
    facts = [facts_of(group) for group in groups]
    names = list(dict.fromkeys(name for group in groups for name in group.kernels))
    sums = {name: _sum(groups, name) for name in names}
    moved = _moved(groups, facts)
    main = _mains(facts[0], sums)
    return [
        _row(groups[0], facts[0], name, sums, moved if name in main else {}) for name in names
    ]


def _sum(groups: Iterable[Group], name: str) -> KernelSum:
    """All launches of a kernel."""
    found = KernelSum()
    for group in groups:
        if name in group.kernels:
            found.include(group.kernels[name])
    return found


def _moved(groups: Sequence[Group], facts: Sequence[Facts]) -> dict[str, int | None]:
    """The bytes that all runs of each pass moved; None where they are not known for all."""
    found: dict[str, int | None] = {}
    for group, known in zip(groups, facts, strict=True):
        for name, each in known.passes.items():
            runs = _runs(group, each)
            if not runs:
                continue
            before = found.get(name, 0)
            is_known = before is not None and each.bytes is not None
            found[name] = (before or 0) + runs * (each.bytes or 0) if is_known else None
    return found


def _runs(group: Group, each: PassFacts) -> int:
    """How often a pass ran: one of the kernels of a launch does each time."""
    counts = [
        sum(group.kernels[name].launches for name in names if name in group.kernels)
        for names in each.launches
    ]
    most = max(counts, default=0)
    return min(most, group.calls) if each.is_once else most


def _mains(facts: Facts, sums: Mapping[str, KernelSum]) -> set[str]:
    """Of each pass the kernel that does most of its work."""
    best: dict[str, str] = {}
    for name, total in sums.items():
        known = facts.kernels.get(name)
        if known is not None and known.role in MAIN:
            other = best.get(known.of)
            if other is None or sums[other].nanoseconds < total.nanoseconds:
                best[known.of] = name
    return set(best.values())


def _variant(kernel: str, of: PassFacts | None) -> str:
    """The part of a kernel's name after the name of its pass."""
    rest = kernel[len(of.name) :].strip("_").replace("_", " ") if of else ""
    return "streaming" if rest == "s" else rest


def _row(
    group: Group, facts: Facts, name: str, sums: Mapping[str, KernelSum],
    moved: Mapping[str, int | None],
) -> Row:  # fmt: skip
    known, total = facts.kernels.get(name), sums[name]
    of = facts.passes.get(known.of) if known else None
    n_bytes = moved.get(of.name) if of else None
    seconds = sum(
        each.nanoseconds for kernel, each in sums.items()
        if kernel in facts.kernels and of and facts.kernels[kernel].of == of.name
    ) * NS  # fmt: skip
    bandwidth = n_bytes / seconds if n_bytes and seconds else None
    busy = [each / max(total.nanoseconds, 1) for each in total.busy]
    return {
        "function": group.name,
        "pass": of.name if of else name,
        "does": of.title if of else "",
        "line": str(known.where or group.where or "") if known else str(group.where or ""),
        "kernel": name,
        "role": known.role if known else "",
        "variant": _variant(name, of),
        "why": known.why if known else "",
        "target": total.where or facts.target,
        "launches": total.launches,
        "seconds": total.nanoseconds * NS,
        "bytes": n_bytes,
        "bandwidth": bandwidth,
        "blocks": total.blocks,
        "threads": total.threads,
        "busy": [*busy, *[0.0] * (total.threads - len(busy))],
    }


# A profile as text: a table of kernels, a table of programs, by rich where it is installed.


MOST = 40  # kernels that are shown
WIDTH = 160  # of a table by rich
HEAD = (
    "kernel", "of", "line", "runs", "time", "share", "bytes", "bandwidth", "of memory", "busy",
)  # fmt: skip
RIGHT = range(3, 9)
HEAD_OF_CALLS = ("program", "calls", "time", "in kernels", "peak", "compiled")
RIGHT_OF_CALLS = range(1, 5)


def table(profile: Profile) -> str:
    """Kernels, the slowest first, then programs."""
    kernels, programs = kernel_rows(profile), call_rows(profile)
    head = [f"{duration(profile.seconds)}, {counted(len(kernels), 'kernel')}"]
    if profile.peak_bytes:
        head.append(f"a call takes {size(profile.peak_bytes)} at most")
    for target in sorted({row["target"] for row in kernels}):
        head.append(f"memory of {target} moves {size(int(memory_rate(target)))}/s")
    below = len(kernels) - MOST
    return lines(
        ", ".join(head),
        "",
        _drawn(HEAD, map(_kernel, kernels[:MOST]), RIGHT) if kernels else "",
        f"and {counted(below, 'kernel')} that took less time" if below > 0 else "",
        _drawn(HEAD_OF_CALLS, map(_call, programs), RIGHT_OF_CALLS) if programs else "",
        *(f"{name}: {on_workers(chunks)}" for name, chunks in sorted(profile.sums.sent.items())),
    )


def on_workers(chunks: int) -> str:
    """What a profile knows of a program that workers run."""
    return f"{counted(chunks, 'chunk')} on workers of a cluster, whose times Dask's dashboard shows"


def _kernel(row: Row) -> list[str]:
    bandwidth, of_memory = row["bandwidth"], row["of_memory"]
    return [
        row["kernel"], row["function"], _short(row["line"]), str(row["launches"]),
        duration(row["seconds"]), f"{row['share']:.0%}",
        "" if row["bytes"] is None else size(row["bytes"]),
        f"{size(int(bandwidth))}/s" if bandwidth else "",
        f"{of_memory:.0%}" if of_memory else "",
        _busy(row["busy"]) or row["target"],
    ]  # fmt: skip


def _busy(shares: Sequence[float]) -> str:
    """`98% 97%`; of many threads the most, the middle and the least."""
    if len(shares) > 4:
        shares = [shares[0], shares[len(shares) // 2], shares[-1]]
        return f"{' '.join(f'{share:.0%}' for share in shares)} of many"
    return " ".join(f"{share:.0%}" for share in shares)


def _call(row: Row) -> list[str]:
    stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in row["compile"].items())
    failed = f" ({row['failed']} failed)" if row["failed"] else ""
    return [
        row["function"], f"{row['calls']}{failed}", duration(row["seconds"]),
        duration(row["in_kernels"]), size(row["peak_bytes"]) if row["peak_bytes"] else "", stages,
    ]  # fmt: skip


def _short(line: str) -> str:
    """A line with the name of its file alone."""
    return line.replace("\\", "/").rpartition("/")[2]


def _drawn(head: Sequence[str], rows: Any, right: Any) -> str:
    """A table by rich, or a plain one."""
    try:
        from rich.console import Console  # optional dependency
        from rich.table import Table  # optional dependency
    except ImportError:
        return plain(head, rows, right)
    made = Table(*(), box=None, pad_edge=False, header_style="")
    for number, name in enumerate(head):
        made.add_column(name, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(cell.replace("[", "\\[") for cell in row))
    found = io.StringIO()
    Console(file=found, width=WIDTH, color_system=None).print(made)
    return "\n".join(line.rstrip() for line in found.getvalue().splitlines())


# What ran when, as a file for chrome://tracing or ui.perfetto.dev: a track for each thread.
#
# The format is that of Chrome's trace events: times in microseconds, from when the profile began.


US = 1e-3
DEVICES = 1 << 40  # their tracks are numbered from here on, after those of threads


def write_trace(profile: Profile, path: str | Path) -> Path:
    """Write the events of a profile."""
    target = Path(path)
    check_folder(target, "the trace")
    profile.sums.settle()
    made = {
        "traceEvents": list(_events(profile)),
        "displayTimeUnit": "ms",
        "otherData": {"events left out": profile.sums.left_out},
    }
    return write_text(target, json.dumps(made), "the trace")


def _events(profile: Profile) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    events = list(profile.sums.events)
    tracks: dict[int | str, int] = {}
    for event in events:
        track = event.track
        tracks.setdefault(track, track if isinstance(track, int) else DEVICES + len(tracks))
    for track, number in tracks.items():
        name = profile.threads.get(track, f"thread {track}") if isinstance(track, int) else track
        yield {
            "name": "thread_name", "ph": "M", "pid": process, "tid": number,
            "args": {"name": name},
        }  # fmt: skip
    for event in events:
        yield {
            "name": event.name, "cat": event.kind, "ph": "X", "pid": process,
            "tid": tracks[event.track], "ts": (event.begin - profile.begin) * US,
            "dur": max(event.end - event.begin, 0) * US, "args": event.said,
        }  # fmt: skip


REMEDY = "Name a file in a folder that there is, and that you may write to."


def check_folder(path: Path, what: str) -> None:
    """Refuse a file in a folder that is not there, before much work is done for it."""
    if not path.parent.is_dir():
        raise ArgumentError.here(
            f"{what} cannot be written: there is no folder {path.parent}.", REMEDY
        )


def write_text(path: Path, text: str, what: str) -> Path:
    """Write a text; ArgumentError that names the folder where that cannot be."""
    check_folder(path, what)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as wrong:
        raise ArgumentError.here(
            f"{what} cannot be written to {path} in the folder {path.parent.resolve()}:"
            f" {wrong.strerror or wrong}.",
            REMEDY,
        ) from None  # fmt: skip
    return path
