"""CPU, OpenCL and CUDA kernels come from one lowering: the same functions write all of them."""

import sys
from functools import cache
from pathlib import Path

import pytest

import flatweave
from flatweave.kernel_ir import syntax as k
from flatweave.lower.machine.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import lowered, program

MACHINES = {"cpu": CPU_AVX512, "opencl": OPENCL, "cuda": CUDA}
LOWER = Path(flatweave.__file__).parent / "lower"
# Where a machine truly wants something else: named variants, each a file of its own.
VARIANTS = {
    "scan/two_pass.py", "scan/block_partials.py", "host/fill.py",
    "traverse/warp_share.py", "traverse/steps.py",
}  # fmt: skip
# What calls them, what a fill is made of, as copies are, and what only a machine of several warps
# has: all that threads add elsewhere.
ADDED = {
    ("sweep/launches.py", "_clear"), ("sweep/launches.py", "_find_prefixes"),
    ("sinks/combine.py", "_join_by_launch"), ("sweep/passes.py", "write_aggregates"),
    ("sweep/writer.py", "operator"), ("sweep/writer.py", "fn"), ("sweep/last_pass.py", "leave"),
    ("traverse/flat.py", "flat"), ("host/each_place.py", "each_place"),
    ("host/places.py", "write_places"), ("host/places.py", "step"),
    ("host/places.py", "place_blocks"), ("host/places.py", "_block_size"),
    ("machine/machine.py", "warps_of"),
}  # fmt: skip
NAMES = ("reduce", "reduce_order", "scan", "scan_order", "scan_of_scan")


@cache
def writers(name: str, machine: str) -> frozenset[tuple[str, str]]:
    """The functions of lower/ that ran: file and name."""
    made = program(name)
    ran: set[tuple[str, str]] = set()

    def note(frame, event, arg):
        path = Path(frame.f_code.co_filename)
        if event == "call" and LOWER in path.parents and frame.f_code.co_name[0] != "<":
            ran.add((path.relative_to(LOWER).as_posix(), frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        lowered(made, MACHINES[machine])
    finally:
        sys.setprofile(before)
    return frozenset(ran)


@pytest.mark.parametrize("machine", ["opencl", "cuda"])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_functions_write_the_kernels(name, machine):
    """Apart from named variants, whatever writes kernels for threads writes the CPU's, too."""
    on_cpu = frozenset().union(*(writers(each, "cpu") for each in NAMES))
    added = writers(name, machine) - on_cpu

    assert {(file, fn) for file, fn in added if file not in VARIANTS} <= ADDED


@pytest.mark.parametrize("machine", ["opencl", "cuda"])
def test_most_of_the_lowering_is_shared(machine):
    """The skeleton, its walk, its element functions and its sinks are common to all."""
    shared = writers("scan_order", "cpu") & writers("scan_order", machine)

    assert {
        ("sweep/passes.py", "write"), ("sweep/aggregates.py", "reduce_level"),
        ("sweep/scanned_body.py", "_scan"), ("sinks/store.py", "step"),
        ("traverse/flat.py", "block"), ("traverse/traversal.py", "region"),
        ("kernel/elements.py", "_emit"), ("schedule/scan_levels.py", "find_scan_levels"),
        ("sweep/launches.py", "run"),
    } <= shared  # fmt: skip


def kinds(name: str, machine: str) -> set[str]:
    """The operations in a program's kernels."""
    unit = lowered(program(name), MACHINES[machine]).unit
    return {let.op.name for kernel in unit.complete().kernels for let in walk_lets(kernel.body)}


def test_machines_that_wait_scan_in_one_pass():
    """Publishing and looking back need forward progress; without it nobody ever waits."""
    waiting = {k.Acquire.name, k.Release.name, k.Backoff.name}

    assert waiting <= kinds("scan", "cpu") & kinds("scan", "cuda")
    assert not waiting & kinds("scan", "opencl")
    assert {k.Shared.name, k.Sync.name, k.WarpIndex.name} <= kinds("scan", "cuda")


def test_a_cpu_block_has_one_warp():
    """Nothing that warps need in order to meet is left in a CPU's kernels."""
    for name in NAMES:
        assert not {k.Shared.name, k.Sync.name, k.WarpIndex.name} & kinds(name, "cpu")
