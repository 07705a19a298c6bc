"""The CPU that machine code is compiled for: this CPU, or that of FLATWEAVE_CPU.

    FLATWEAVE_CPU=x86-64-v3      code with AVX2 and without AVX-512, on whatever machine runs it
"""

from __future__ import annotations

import functools
import sys

from llvmlite import binding

from flatweave.base.config import NATIVE, config
from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import listed
from flatweave.base.records import record
from flatweave.runtime import probe
from flatweave.runtime.lazy_import import opened

TUNING = {"znver4": frozenset({"prefer-no-gather", "prefer-no-scatter"})}
"""LLVM's names for what is slow on a CPU where LLVM does not say so. On Zen 4 a gather or scatter
of all lanes takes longer than a load or store for each: on one thread, ms with and without them,
200,000 rows of 16 i64, sorted with a row in each lane, 14 and 5; sums of ragged rows one after
another, 3.6 and 1.5. Nothing was measured of CPUs that are not named."""


@record(eq=True)
class Processor:
    """A CPU: LLVM's name for it, LLVM's attribute text, its features and what is slow on it."""

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
    name = binding.get_host_cpu_name()
    return Processor(name, found.flatten(), features | TUNING.get(name, frozenset()))


@functools.cache
def _named(name: str) -> Processor:
    """A CPU by its name, with those of its features that code generation asks for."""
    command = [sys.executable, probe.__file__, name]
    asked = opened("subprocess").run(command, capture_output=True, text=True, check=False)
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
    return Processor(name, "", features | TUNING.get(name, frozenset()))
