"""Has LLVM select aarch64 instructions for every kernel of recorded programs, on any machine.

    python -m tests.aarch64.select build/aarch64/programs          for NEON and for SVE2

LLVM ends the process where it cannot select: the last line printed names the program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from llvmlite import binding

from flatweave.array_ir.syntax import parse_program
from flatweave.codegen.llvm.isa.aarch64 import Neon
from flatweave.codegen.llvm.unit import emit
from flatweave.lower.machine import cpu
from flatweave.lower.program import lower
from flatweave.pipeline import optimise

TRIPLE = "aarch64-unknown-linux-gnu"
CPUS = {"NEON": "generic", "SVE2": "neoverse-v2"}


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Each program's name and all its code: its host and every variant of its kernels."""
    isa = Neon()
    for path in sorted(folder.glob("*.air")):
        program = parse_program(path.read_text(encoding="utf-8"))
        swept = [program, *optimise(program).values()][-1]
        yield path.stem, emit(lower(swept, cpu(isa.register_bits, isa.registers)).unit, isa)


def main(folder: Path) -> None:
    """Select them all; print what is at hand, and how many there were."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(TRIPLE)
    machines = {name: target.create_target_machine(cpu=cpu, opt=1) for name, cpu in CPUS.items()}
    count = 0
    for name, text in texts(folder):
        for cpu_name, machine in machines.items():
            print(f"\r{name} {cpu_name} ", end="", file=sys.stderr, flush=True)
            module = binding.parse_assembly(text, binding.create_context())
            module.triple, module.data_layout = TRIPLE, str(machine.target_data)
            assert "fw_main:" in machine.emit_assembly(module), name
        count += 1
    print(f"\n{count} programs, selected for {' and '.join(CPUS)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
