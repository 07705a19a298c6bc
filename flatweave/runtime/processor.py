"""The CPU that machine code is compiled for: this CPU, or that of FLATWEAVE_CPU.

    FLATWEAVE_CPU=x86-64-v3      code with AVX2 and without AVX-512, on whatever machine runs it
"""

from __future__ import annotations

import functools
import subprocess
import sys

from llvmlite import binding

from flatweave.base.config import NATIVE, config
from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import listed
from flatweave.base.records import record
from flatweave.runtime import probe


LANE_BY_LANE = {"znver4": frozenset({"prefer-no-gather", "prefer-no-scatter"})}
"""LLVM's features for CPUs whose gathers and scatters take longer than a load or store for each
lane; LLVM itself gives them to none of these. On one thread of a Zen 4, ms with and without the
instructions: 200,000 rows of 16 i64, sorted with a row in each lane, 13.7 and 5.0; sums of ragged
rows one after another, 3.2 and 1.5; searches, 80 and 53. Of CPUs not named here nothing was
measured."""


@record(eq=True)
class Processor:
    """A CPU: LLVM's name for it, LLVM's attribute text, and the features that it has."""

    name: str
    attributes: str
    features: frozenset[str]


def processor() -> Processor:
    """The CPU in force here and now; ArgumentError for one whose code cannot run here."""
    return _host() if config.cpu == NATIVE else _named(config.cpu)


@functools.cache
def _host() -> Processor:
    found = binding.get_host_cpu_features()
    features = frozenset(name for name, is_present in found.items() if is_present)
    return _tuned(binding.get_host_cpu_name(), found.flatten(), features)


def _tuned(name: str, attributes: str, features: frozenset[str]) -> Processor:
    """A CPU with the features of `LANE_BY_LANE`. Only scatters are left to LLVM: of a masked gather
    it makes a branch for each lane, which takes longer than the instruction."""
    slow = LANE_BY_LANE.get(name, frozenset())
    text = [attributes] if attributes else []
    text += [f"+{feature}" for feature in slow if feature.endswith("scatter")]
    return Processor(name, ",".join(text), features | slow)


@functools.cache
def _named(name: str) -> Processor:
    """A CPU by its name, with those of its features that code generation asks for."""
    command = [sys.executable, probe.__file__, name]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    # where LLVM does not end the process (it does for x86), it says so and goes on without
    if asked.returncode != 0 or "not a recognized processor" in asked.stderr:
        raise ArgumentError(
            f"LLVM knows no CPU named {name!r} on this machine.",
            remedy="FLATWEAVE_CPU is native, x86-64-v2, x86-64-v3, x86-64-v4, or a name that LLVM"
            " knows, such as znver3.",
            more="switches",
        )
    features = frozenset(asked.stdout.split())
    missing = sorted(features - _host().features)
    if missing:
        raise ArgumentError(
            f"{_host().name}, this machine, cannot run code for {name}:"
            f" it lacks {listed(missing)}.",
            remedy="Leave FLATWEAVE_CPU unset for code that fits this machine.",
            more="switches",
        )
    return _tuned(name, "", features)
