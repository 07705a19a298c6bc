"""What machine code takes from elsewhere on a system, as its instructions say it.

    python -m tests.codegen.symbols_wanted x86_64-pc-windows-msvc-elf x86-64-v3

A separate process, as for select_instructions.py. The support code is that of the system, and the
kernels have a call of every scalar function, without libmvec, which is Linux' alone.
"""

import re
import sys

from llvmlite import binding

from flatweave.base.config import SYSTEM
from flatweave.base.dtypes import f32, f64
from flatweave.codegen.llvm.isa.aarch64 import Neon
from flatweave.codegen.llvm.isa.x86 import Avx2
from flatweave.codegen.llvm.unit import emit
from flatweave.runtime.native import call_text, text_of_support
from flatweave.runtime.systems import CPUS, column
from tests.codegen.op_kernels import every_function

CALL = re.compile(r"^\s+(?:callq?|jmpq?|bl?)\s+\*?([A-Za-z_][\w.$]*)", re.MULTILINE)
THROUGH_TABLE = re.compile(r"([A-Za-z_][\w.$]*)@GOT")
LABEL = re.compile(r"^\"?([\w.$]+)\"?:", re.MULTILINE)


def system_of(triple: str) -> str:
    """Python's name of LLVM's system."""
    return next(name for part, name in
                {"windows": "win32", "darwin": "darwin", "linux": "linux"}.items()
                if part in triple)  # fmt: skip


def wanted(text: str, triple: str, machine: binding.TargetMachine) -> set[str]:
    """The names that the instructions of a text take from elsewhere."""
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    listing = str(machine.emit_assembly(module))
    names = {*CALL.findall(listing), *THROUGH_TABLE.findall(listing)}
    names -= set(LABEL.findall(listing))
    return {name.removeprefix("_") if "darwin" in triple else name for name in names}


def main(triple: str, cpu: str) -> None:
    """Print the names that the support code takes, then those of kernels."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(
        cpu=cpu, opt=1, reloc="pic", codemodel="small"
    )
    architecture = triple.split("-")[0]
    text = text_of_support(column(system_of(triple), SYSTEM), CPUS[architecture])
    calls = {name for name in wanted(call_text(), triple, machine) if not name.startswith("fw_")}
    print(*sorted(wanted(text, triple, machine) | calls))
    isa = Neon() if CPUS[architecture] is CPUS["arm64"] else Avx2()
    kernels = [emit(every_function(*shape), isa) for shape in ((4, f32), (2, f64))]
    print(*sorted({name for text in kernels for name in wanted(text, triple, machine)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
