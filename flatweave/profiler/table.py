"""A profile as text: a table of kernels, a table of programs, by rich where it is installed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from flatweave.base.pretty import counted, duration, lines, size
from flatweave.base.pretty import table as plain
from flatweave.profiler.profile import Profile
from flatweave.profiler.rows import Row, call_rows, kernel_rows, memory_rate

MOST = 40  # kernels that are shown
WIDTH = 160  # of a table by rich
HEAD = (
    "kernel", "of", "line", "runs", "time", "share", "bytes", "bandwidth", "of memory", "busy",
)  # fmt: skip
RIGHT = range(3, 9)
HEAD_OF_CALLS = ("program", "calls", "time", "in kernels", "peak", "compiled")
RIGHT_OF_CALLS = range(1, 5)


def table(profile: Profile) -> str:
    """Kernels, the one that took most time first, then programs."""
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
