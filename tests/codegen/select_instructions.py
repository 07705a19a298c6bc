"""Has LLVM select instructions for every op on the CPU of one instruction set.

    python -m tests.codegen.select_instructions neon        a line for each program selected

A separate process, since LLVM ends the process where it cannot select.
"""

import sys

from llvmlite import binding

from flatweave.base.dtypes import f32, f64, i8
from flatweave.codegen.llvm.isa import InstructionSet
from flatweave.codegen.llvm.isa.aarch64 import Neon
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.codegen.llvm.isa.x86 import X86, Avx2, Sse4
from flatweave.codegen.llvm.unit import emit
from tests.codegen.op_kernels import every_function, programs

INTEL, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
SETS: dict[str, tuple[InstructionSet, str, str]] = {
    # the emitter's object, and LLVM's names of a CPU that has these instructions
    "x86": (X86(), INTEL, "x86-64"),
    "sse4": (Sse4(), INTEL, "x86-64-v2"),
    "avx2": (Avx2(), INTEL, "x86-64-v3"),
    "avx512": (Avx512(), INTEL, "x86-64-v4"),
    "avx512 vbmi2": (Avx512(has_vbmi2=True), INTEL, "znver4"),
    "neon": (Neon(), ARM, "generic"),
}
SHAPES = [(16, f32), (32, i8)]


def main(name: str) -> None:
    """Print the name of each program once its instructions are selected."""
    isa, triple, cpu = SETS[name]
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=1)
    units = {
        f"{program}, {dtype}": unit
        for width, dtype in SHAPES
        for program, unit in programs(width, dtype).items()
    }
    for program, unit in {**units, "Apply, f64": every_function(2, f64)}.items():
        module = binding.parse_assembly(emit(unit, isa))
        module.triple, module.data_layout = triple, str(machine.target_data)
        module.verify()
        assert "fw_main:" in machine.emit_assembly(module)
        print(program, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
