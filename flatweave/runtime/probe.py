"""Which of the instructions that matter here LLVM selects for a CPU of a given name.

    python probe.py x86-64-v3    ==>    avx2 fma popcnt

It has a separate process: LLVM ends a process that asks for an unknown CPU. llvmlite does not
tell what LLVM knows of a CPU other than the host, so small functions are compiled and looked at.
"""

import sys

from llvmlite import binding

COMPRESS = "@llvm.experimental.vector.compress.v64i8(<64 x i8>"
REVERSED = ", ".join(f"i32 {lane}" for lane in reversed(range(16)))
# feature: the type of an operation's operands, the operation, and what it becomes where the CPU
# has the feature: a mnemonic, perhaps after a v, and the registers it works on
PROBES = {
    "ssse3": (
        "<16 x i8>",
        f"shufflevector <16 x i8> %a, <16 x i8> %b, <16 x i32> <{REVERSED}>",
        "pshufb",
        "xmm",
    ),
    "popcnt": ("i64", "call i64 @llvm.ctpop.i64(i64 %a)", "popcnt", ""),
    "fma": ("float", "call float @llvm.fma.f32(float %a, float %b, float %a)", "vfmadd", "xmm"),
    "avx2": ("<8 x i32>", "add <8 x i32> %a, %b", "vpaddd", "ymm"),
    "avx512f": ("<16 x i32>", "add <16 x i32> %a, %b", "vpaddd", "zmm"),
    "avx512bw": ("<64 x i8>", "add <64 x i8> %a, %b", "vpaddb", "zmm"),
    "avx512dq": ("<8 x i64>", "mul <8 x i64> %a, %b", "vpmullq", "zmm"),
    "avx512vl": ("<4 x i64>", "mul <4 x i64> %a, %b", "vpmullq", "ymm"),
    "neon": ("<4 x i32>", "add <4 x i32> %a, %b", "add", ".4s"),
    "avx512vbmi2": (
        "<64 x i8>",
        f"call <64 x i8> {COMPRESS} %a, <64 x i1> %positive, <64 x i8> %b)",
        "vpcompressb",
        "zmm",
    ),
}
TEXT = """
define {kind} @probe({kind} %a, {kind} %b, <64 x i1> %positive) #0 {{
  %result = {operation}
  ret {kind} %result
}}
declare i64 @llvm.ctpop.i64(i64)
declare float @llvm.fma.f32(float, float, float)
declare <64 x i8> {compress}, <64 x i1>, <64 x i8>)
attributes #0 = {{ "prefer-vector-width"="512" "min-legal-vector-width"="512" }}
"""


def selected(name: str) -> list[str]:
    """The features of PROBES that LLVM uses when it compiles for the CPU `name`."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(cpu=name, opt=1)
    found = []
    for feature, (kind, operation, mnemonic, registers) in PROBES.items():
        text = TEXT.format(kind=kind, operation=operation, compress=COMPRESS)
        lines = machine.emit_assembly(binding.parse_assembly(text)).splitlines()
        names = (mnemonic, f"v{mnemonic}")
        if any(line.strip().startswith(names) and registers in line for line in lines):
            found.append(feature)
    return found


if __name__ == "__main__":
    print(*selected(sys.argv[1]))
