"""LLVM text through LLVM's passes; what LLVM holds meanwhile is given back in order.

    with optimised(text, LIGHT) as (module, machine):
        machine.emit_object(module)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from llvmlite import binding

from flatweave.base.errors import CompilerBug
from flatweave.runtime.deep import check_wanted
from flatweave.runtime.processor import processor
from flatweave.runtime.systems.table import system
from flatweave.runtime.unlocked import simplify

# Levels of optimisation. RAW is for what runs once per call: no passes, and instructions as they
# come, which takes a tenth of the time. The code generator writes vectors and phis itself, so LIGHT
# is enough for kernels: it simplifies each function (LICM, GVN, DSE, ..) and neither inlines nor
# vectorises nor unrolls.
RAW = 0
LIGHT = 1
FULL = 2


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
        # a context of its own: names and types do not pile up, and threads do not meet
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
