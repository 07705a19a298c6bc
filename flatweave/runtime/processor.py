"""The CPU that code is made for, and LLVM's passes, which make it."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from llvmlite import binding

from flatweave.base.config import NATIVE, config
from flatweave.base.errors import ArgumentError, CompilerBug
from flatweave.base.pretty import listed
from flatweave.base.records import record
from flatweave.runtime.lazy_import import check_wanted, opened
from flatweave.runtime.systems import system

# -- processor ------------------------------------------------------------------------------------
#
# The CPU that machine code is compiled for: this CPU, or that of FLATWEAVE_CPU.
#
#     FLATWEAVE_CPU=x86-64-v3      code with AVX2 and without AVX-512, on whatever machine runs it


PROBE = Path(__file__).with_name("probe.py")
"""A program, so that LLVM may end its process."""
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
    command = [sys.executable, str(PROBE), name]
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


# -- llvm passes ----------------------------------------------------------------------------------
#
# LLVM text through LLVM's passes: its long calls, next to which other threads go on.


# LLVM's two long calls, which several threads make side by side, and the forks that wait for
# them.
#
#     simplify(passes, function, builder)
#     found = emit_object(machine, module)
#
# llvmlite holds one lock around every call of LLVM. These two need none: the context, the module
# and the machine are those of one thread. All else stays under the lock.


LOOK_SECONDS = 0.001  # between two looks whether threads are still inside


def simplify(passes: Any, function: Any, builder: Any) -> None:
    """Run the passes of a manager on a function of a module."""
    with _inside():
        _RUN_PASSES(passes, function, builder)


def emit_object(machine: Any, module: Any) -> bytes:
    """The object file of a module."""
    lib = binding.ffi.lib
    with binding.ffi.OutputString() as problem:
        with _inside():
            buffer = _EMIT(machine, module, 1, problem)
        if not buffer:
            raise RuntimeError(str(problem))
    try:
        start, size = lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)


@contextmanager
def _inside() -> Iterator[None]:
    call = (threading.get_ident(), object())
    try:
        with binding.ffi.lib._lock:  # not while a fork is under way, which holds it
            _INSIDE.add(call)
        yield
    finally:
        _INSIDE.discard(call)


def _without_lock(function: Any) -> Any:
    """What llvmlite calls under its lock."""
    return getattr(function, "_cfn", function)


def wait_until_outside() -> None:
    """Wait until no other thread is inside; whoever has LLVM's lock keeps more from coming."""
    thread = threading.get_ident()
    while any(other != thread for other, _ in tuple(_INSIDE)):
        time.sleep(LOOK_SECONDS)


_INSIDE: set[tuple[int, object]] = set()
"""The calls under way, each with its thread."""
_RUN_PASSES = _without_lock(binding.ffi.lib.LLVMPY_RunNewFunctionPassManager)
_EMIT = _without_lock(binding.ffi.lib.LLVMPY_TargetMachineEmitToMemory)


# LLVM text through LLVM's passes; what LLVM holds meanwhile is given back in order.
#
# with optimised(text, LIGHT) as (module, machine):
#     machine.emit_object(module)


# Levels of optimisation. RAW is for what runs once per call: no passes, and instructions as they
# come, which takes a tenth of the time. The code generator writes vectors and phis itself, so LIGHT
# is enough for kernels: it simplifies each function (LICM, GVN, DSE, ..) and neither inlines nor
# vectorises nor unrolls.
RAW = 0
LIGHT = 1


def target_machine(level: int) -> Any:
    """The CPU in force, as LLVM's code generator sees it."""
    triple = binding.get_default_triple() + system().triple_suffix
    target, made_for = binding.Target.from_triple(triple), processor()
    return target.create_target_machine(
        cpu=made_for.name,
        features=made_for.attributes,
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


@contextmanager
def optimised(text: str, level: int) -> Iterator[tuple[Any, Any]]:
    """The module of `text` after the passes of `level`, and the machine to emit it for.

    All of LLVM's objects are given back at the end, each before what it rests on: left to the
    garbage collector, as after an interrupt, a module may go after its context, which crashes.
    """
    with ExitStack() as given_back:

        def kept(thing: Any) -> Any:
            given_back.callback(thing.close)
            return thing

        machine = kept(target_machine(2 if level else 0))
        # a separate context: names and types do not pile up, and threads do not share it
        context = kept(binding.create_context())
        try:
            module = kept(binding.parse_assembly(text, context))
            module.verify()
        except RuntimeError as failure:
            raise CompilerBug(f"LLVM refuses the text: {failure}") from None
        _run_passes(module, machine, level, kept)
        yield module, machine


def _run_passes(module: Any, machine: Any, level: int, kept: Callable[[Any], Any]) -> None:
    if level == RAW:
        return
    tuning = kept(binding.create_pipeline_tuning_options(speed_level=2))
    tuning.loop_unrolling = tuning.loop_vectorization = level > LIGHT
    tuning.slp_vectorization = tuning.loop_interleaving = level > LIGHT
    builder = kept(binding.create_pass_builder(machine, tuning))
    if level > LIGHT:
        kept(builder.getModulePassManager()).run(module, builder)
        return
    inliner = kept(binding.create_new_module_pass_manager())
    inliner.add_always_inliner_pass()  # only what the text marks alwaysinline
    inliner.run(module, builder)
    passes = kept(builder.getFunctionPassManager())
    for function in module.functions:
        if not function.is_declaration:
            check_wanted()
            simplify(passes, function, builder)
