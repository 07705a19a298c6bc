"""CPU, OpenCL and CUDA kernels come from one lowering: the same functions write all of them."""

import re
import sys
from functools import cache
from pathlib import Path

import pytest

import flatweave
import flatweave as fw
from flatweave import pipeline
from flatweave.base.schedule import CHOSEN, PERMUTES, Schedule
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, StoreWhole
from flatweave.lower.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.lower.program import lower
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import PROGRAMS, affine, arguments, traced
from tests.quick import every

MACHINES = {"cpu": CPU_AVX512, "opencl": OPENCL, "cuda": CUDA}
LOWER = Path(flatweave.__file__).parent / "lower"
DECISION = Path(flatweave.__file__).parents[1] / "docs/decisions/devices.md"
PRIMITIVES = {
    "reduce": ("reduce", "reduce_order", "place"),
    "scan": ("scan", "scan_order", "scan_of_scan"),
    "segmented reduce": ("reduce_segments",),
    "filter": ("filter", "filter_of_scan", "partition"),
    "histogram": ("histogram", "histogram_floats", "histogram_of_many", "counts_of_many"),
    "sort": ("sort", "sort_by_key"),
    "expand": ("expand",),
}
ALL = {
    **PROGRAMS,
    "place": lambda x, f: fw.argmax(x),
    "reduce_segments": lambda x, f: (
        fw.segmented_reduce(fw.add, 0, x > 40, x),
        fw.segmented_reduce(affine, (1.0, 0.0), x > 40, (0.5 + f / 2, f)),
    ),
    "histogram_floats": lambda x, f: fw.histogram(16, x, f, fw.add, 0.0),
    "histogram_of_many": lambda x, f: fw.histogram(50_000, x, f, fw.add, 0.0),
    "counts_of_many": lambda x, f: fw.histogram(50_000, x),
    "expand": lambda x, f: fw.expand(lambda v: v % 4, lambda v, i: v + i, x),
}
NAMES = tuple(name for names in PRIMITIVES.values() for name in names)
# What calls a device's own files, and what is there for machines whose block has several warps.
CALLS = {
    ("sweep/launches.py", "_clear"), ("sweep/launches.py", "_find_prefixes"),
    ("sweep/passes.py", "write_aggregates"), ("sweep/sinks.py", "_join_by_launch"),
    ("traverse/steps.py", "warp_share"),
    ("machine.py", "row_per_lane"), ("machine.py", "searched"),
    ("scatter/costs.py", "turns_pay"), ("schedule/division.py", "searches"),
    ("schedule/division.py", "along_on_device"), ("schedule/division.py", "side_by_side"),
    ("traverse/ragged_rows.py", "of_row"),
    ("sweep/writer.py", "share"),
    ("kernel_builder.py", "write_steps"), ("kernel_builder.py", "step_blocks"),
    ("schedule/tiling.py", "kept_of"), ("schedule/tiling.py", "words"),
    ("schedule/tiling.py", "_kept"), ("schedule/tiling.py", "_read"),
    ("schedule/tiling.py", "_is_cheap"), ("schedule/tiling.py", "_before_levels"),
    ("schedule/tiling.py", "_words_behind"),
    ("schedule/arrangement.py", "find_turned"), ("schedule/facts.py", "turned"),
    ("schedule/tiling.py", "blocks_of"), ("schedule/plan.py", "digit_bits"),
    ("sweep/scans.py", "_by_lanes"), ("traverse/steps.py", "__init__"),
    ("traverse/steps.py", "wait_for_lanes"), ("sweep/chains.py", "load_prefix"),
    ("sweep/chains.py", "store_aggregate"), ("sweep/chains.py", "reduce_block_partials"),
    ("sort/counted_runs.py", "_write"), ("sort/counted_runs.py", "leave"),
    ("sort/counted_runs.py", "get"), ("sort/counted_runs.py", "set"),
    ("sort/counted_runs.py", "slot"), ("context.py", "fill"), ("context.py", "act"),
}  # fmt: skip
# What plans ask of every variant of a scatter, which need not run.
ASKED = ("obstacle", "misfit", "suits", "keeps_bits")


@cache
def swept(name: str):
    """One of the programs above, swept."""
    return list(pipeline.optimise(traced(name, ALL[name], *arguments(2))).values())[-1]


@cache
def writers(name: str, machine: str, wishes: Schedule = CHOSEN) -> frozenset[tuple[str, str]]:
    """The functions of lower/ that ran: file and name."""
    made = swept(name)
    ran = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: ran.add(frame.f_code))
    try:
        lower(made, MACHINES[machine], schedule=wishes).unit.complete()
    finally:
        sys.setprofile(before)
    files = [(Path(code.co_filename), code.co_name) for code in ran]
    return frozenset(
        (path.relative_to(LOWER).as_posix(), name)
        for path, name in files
        if LOWER in path.parents and name[0] != "<" and name not in ASKED
    )


@cache
def on_cpu() -> frozenset[tuple[str, str]]:
    """What writes a CPU's kernels; those of a histogram by every variant that may be wished for,
    and of an expansion with a source for each lane."""
    ran = [writers(name, "cpu") for name in NAMES]
    able = [name for name in PERMUTES if not name.startswith("shared")]
    wished = [writers("histogram_floats", "cpu", Schedule(permute=name)) for name in able]
    wished.append(writers("expand", "cpu", Schedule(expand="per-source")))
    return frozenset().union(*ran, *wished)


@cache
def on_devices() -> frozenset[tuple[str, str]]:
    """What writes the kernels of OpenCL and CUDA, by the same wish for expansions."""
    wish = Schedule(expand="per-source")
    wished = [writers("expand", machine, wish) for machine in ("opencl", "cuda")]
    ran = [writers(name, machine) for name in NAMES for machine in ("opencl", "cuda")]
    return frozenset().union(*ran, *wished)


@cache
def apart() -> dict[str, str]:
    """The files that one kind of machine has alone (docs/decisions/devices.md), and which."""
    rows = re.findall(r"^\| (CPU|devices) \| (.*?) \|", DECISION.read_text("utf-8"), re.MULTILINE)
    file = r"`([\w/]+\.py)`"
    return {found: machine for machine, files in rows for found in re.findall(file, files)}


@pytest.mark.sampled
@pytest.mark.parametrize("machine", ["opencl", "cuda"])
@pytest.mark.parametrize("primitive", every(2, PRIMITIVES))
def test_the_same_functions_write_the_kernels(primitive, machine):
    """Apart from named files, whatever writes kernels for threads writes the CPU's, too."""
    added = frozenset().union(*(writers(n, machine) for n in PRIMITIVES[primitive])) - on_cpu()

    assert {(file, fn) for file, fn in added if apart().get(file) != "devices"} <= CALLS


def test_what_machines_have_apart_is_decided():
    """No file writes the kernels of one kind of machine alone without the decision that says why;
    and what it names is so."""
    cpu, devices = ({file for file, _ in ran} for ran in (on_cpu(), on_devices()))

    assert cpu - devices == {file for file, machine in apart().items() if machine == "CPU"}
    assert devices - cpu == {file for file, machine in apart().items() if machine == "devices"}


@pytest.mark.parametrize("machine", ["opencl", "cuda"])
def test_most_of_the_lowering_is_shared(machine):
    """The skeleton, its walk, its element functions and its sinks are common to all."""
    shared = writers("siblings", "cpu") & writers("siblings", machine)

    assert {
        ("sweep/passes.py", "write"), ("sweep/scans.py", "reduce_level"),
        ("sweep/scans.py", "_scan"), ("sweep/sinks.py", "step"),
        ("traverse/traversal.py", "block"), ("traverse/traversal.py", "region"),
        ("element_functions.py", "_emit"), ("schedule/scan_levels.py", "find_scan_levels"),
        ("sweep/launches.py", "run"),
    } <= shared  # fmt: skip


def kinds(name: str, machine: str) -> set[str]:
    """The operations in a program's kernels."""
    unit = lower(swept(name), MACHINES[machine]).unit
    return {let.op.name for kernel in unit.complete().kernels for let in walk_lets(kernel.body)}


def test_machines_that_wait_scan_and_sort_in_one_pass():
    """Publishing and looking back need forward progress; without it nobody ever waits."""
    waiting = {k.Release.name, k.Backoff.name}
    words = {LoadWhole.name, StoreWhole.name, k.Backoff.name}

    assert {k.Acquire.name, *waiting} <= kinds("scan_order", "cpu")
    assert {AcquireLanes.name, *waiting} <= kinds("scan_order", "cuda")
    assert words <= kinds("scan", "cpu")
    assert words <= kinds("scan", "cuda")
    assert words <= kinds("sort", "cuda")
    for name in ("scan", "scan_order", "sort"):
        assert not {k.Acquire.name, AcquireLanes.name, *waiting, *words} & kinds(name, "opencl")
    assert {k.Shared.name, k.Sync.name, k.WarpIndex.name} <= kinds("scan", "cuda")


def test_a_cpu_block_has_one_warp():
    """Nothing that warps need in order to meet is left in a CPU's kernels of reductions and
    scans."""
    for name in (*PRIMITIVES["reduce"], *PRIMITIVES["scan"]):
        assert not {k.Shared.name, k.Sync.name, k.WarpIndex.name} & kinds(name, "cpu")
