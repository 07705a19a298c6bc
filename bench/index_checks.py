"""What it costs that kernels check indices from data: python -m bench.index_checks [--save]

Each kernel that the examples and the rows of `bench/rows/kernels` call, if its code has a check,
next to the same kernel with `checks=False`, in alternate calls on the same arguments.
"""

from __future__ import annotations

import importlib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any
from unittest import mock

from bench.pages import Clock, write
from bench.row import Row
from bench.rows.kernels import ROWS
from flatweave import kernel as fk
from flatweave.kernel.called import Kernel
from flatweave.kernel_ir.syntax import Report
from flatweave.terms.traverse import walk_lets

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "kernels"
Called = tuple[Kernel, tuple[Any, ...], dict[str, Any]]


def calls_of(work: Callable[[], object]) -> list[Called]:
    """The calls of kernels that some work makes, the first one of each kernel."""
    found: dict[int, Called] = {}
    call = Kernel.__call__

    def record(kernel: Kernel, *args: Any, **kwargs: Any) -> object:
        found.setdefault(id(kernel), (kernel, args, kwargs))
        return call(kernel, *args, **kwargs)

    with mock.patch.object(Kernel, "__call__", record):
        work()
    return list(found.values())


def examples() -> Iterator[tuple[str, Callable[[], object]]]:
    """The jobs of the examples, on their large inputs."""
    for path in sorted(EXAMPLES.glob("[!_]*.py")):
        for name, _, ours, *_ in importlib.import_module(f"kernels.{path.stem}").cases(False):
            yield f"examples: {name}", ours


def rows() -> Iterator[tuple[str, Callable[[], object]]]:
    """The programs of the rows."""
    for row in ROWS:
        yield f"rows: {row.name}", partial(run_row, row)


def run_row(row: Row) -> object:
    """One call of a row's program."""
    return row.program(*row.inputs(row.size))


GROUPS = {"examples": examples, "rows": rows}


def checks_in(called: Called) -> int:
    """How many checks are left in the code of a kernel."""
    kernel, args, kwargs = called
    unit = kernel.traced(*args, **kwargs).unit
    return sum(isinstance(let.op, Report) for k in unit.kernels for let in walk_lets(k.body))


def seconds(called: Called, clock: Clock, count: int) -> tuple[float, float]:
    """The least time of a call with its checks, and without."""
    kernel, args, kwargs = called
    without = fk.kernel(
        kernel.__wrapped__, threads=kernel.threads, static_argnames=kernel.static.names,
        target=kernel.target, checks=False,
    )  # fmt: skip
    times: list[list[float]] = [[], []]
    for _ in range(count):
        for each, taken in zip((kernel, without), times, strict=True):
            begin = clock()
            each(*args, **kwargs)
            taken.append(clock() - begin)
    return min(times[0][1:]), min(times[1][1:])


def lines(groups: list[str], clock: Clock, options: Namespace) -> Iterator[str]:
    """The table, and the geometric mean."""
    yield "\n| kernel | checks | with, ms | without, ms | ratio |\n|---|---|---|---|---|"
    ratios: list[float] = []
    for name, work in (each for group in groups for each in GROUPS[group]()):
        for called in calls_of(work):
            if not (count := checks_in(called)):
                continue
            on, off = seconds(called, clock, options.calls)
            ratios.append(on / off)
            yield (
                f"| {name}, {called[0].__name__} | {count} | {1000 * on:.3f} | {1000 * off:.3f} |"
                f" {on / off:.2f} |"
            )
    if not ratios:
        yield "\nNo kernel has a check."
        return
    mean = exp(sum(map(log, ratios)) / len(ratios))
    yield (
        f"\n{len(ratios)} kernels: geometric mean {mean:.2f} (at most 1.10), largest"
        f" {max(ratios):.2f} (at most 1.25)."
    )


if __name__ == "__main__":
    parser = ArgumentParser(description="What it costs that kernels check indices from data.")
    parser.add_argument("--calls", type=int, default=20, help="calls of each kernel")
    write(
        "index_checks", "Checks of indices in kernels", GROUPS, lines, parser,
        note=lambda options: f", {options.calls} of each.",
    )  # fmt: skip
