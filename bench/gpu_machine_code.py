"""The machine code of PTX: what each instruction of PTX became, and what a kernel takes.

    code = assembled(Tools.found(None), image)     by ptxas and nvdisasm, from PATH
    code["k_t_8"].registers                        32
    code["k_t_8"].executed(counts)                 instructions of warps that the machine executes
"""

from __future__ import annotations

import functools
import re
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.ptx.counts import Counts
from tests.ptx.parse import Module


@dataclass(frozen=True)
class Kernel:
    """Registers of a thread; bytes that it spills and loads again; shared memory of a block; and
    which instructions each line of PTX became."""

    registers: int
    spilled: int
    shared: int
    lines: dict[int, Counter[str]]

    def executed(self, counts: Counts) -> float:
        """Instructions of warps, if each basic block of PTX is executed as often as `counts` says.

        A loop that the assembler unrolled has each instruction several times: the median of the
        block's lines says how often, and each copy had its share.
        """
        total = 0.0
        for first, last in basic_blocks(counts.module, counts.name):
            lines = {i.line for i in counts.module.code[first:last]} & self.lines.keys()
            if lines:
                copies = statistics.median_low(max(self.lines[at].values()) for at in lines)
                code = sum(self.lines[at].total() for at in lines)
                total += code / copies * float(counts.executed[first])
        return total


@dataclass(frozen=True)
class Tools:
    """The assembler and the disassembler."""

    ptxas: str
    nvdisasm: str

    @classmethod
    def found(cls, folder: Path | None) -> Tools:
        """Those of a folder, or of PATH."""
        path = str(folder) if folder else None
        both = shutil.which("ptxas", path=path), shutil.which("nvdisasm", path=path)
        if not both[0] or not both[1]:
            raise SystemExit(
                "ptxas and nvdisasm of NVRTC's version are needed: pip install nvidia-cuda-nvcc "
                "nvidia-cuda-nvdisasm, and name their folder with --tools"
            )
        return cls(both[0], both[1])


_SAID = re.compile(
    r"Function properties for (\w+)\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads\n"
    r".*?Used (\d+) registers(?:.*?(\d+) bytes smem)?",
)  # fmt: skip


@functools.lru_cache(64)
def assembled(tools: Tools, image: bytes) -> dict[str, Kernel]:
    """The kernels of a module of PTX, for its own architecture."""
    text = image.decode().rstrip("\0")
    architecture = re.search(r"^\.target\s+(\w+)", text, re.MULTILINE)
    assert architecture
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder, "a.ptx"), Path(folder, "a.cubin")
        source.write_text(text)
        wanted = [f"-arch={architecture[1]}", "-lineinfo", "-v", str(source), "-o", str(code)]
        log = subprocess.run(
            [tools.ptxas, *wanted], check=True, capture_output=True, text=True
        ).stderr
        shown = subprocess.run(
            [tools.nvdisasm, "-c", "-gp", str(code)], check=True, capture_output=True, text=True
        ).stdout
    found: dict[str, dict[int, Counter[str]]] = {}
    lines: dict[int, Counter[str]] = {}
    at = 0
    for each in shown.splitlines():
        if start := re.match(r"\.text\.([\w$]+):", each):
            lines, at = found.setdefault(start[1], {}), 0
        elif place := re.search(r'//## File ".*?", line (\d+)', each):
            at = int(place[1])
        elif code_of := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([\w.]+)", each):
            lines.setdefault(at, Counter())[code_of[1]] += 1
    return {
        name: Kernel(int(registers), int(stores) + int(loads), int(shared or 0), found[name])
        for name, stores, loads, registers, shared in _SAID.findall(log)
        if name in found
    }


def basic_blocks(module: Module, name: str) -> Iterator[tuple[int, int]]:
    """The first and last + 1 instruction of each, of a kernel and of the functions it calls."""
    start = module.entries[name].start
    starts = sorted(each.start for each in module.functions.values())
    end = min((at for at in starts if at > start), default=len(module.code))
    cuts = {start, end} | {at for at in module.labels.values() if start < at < end}
    cuts |= {
        at + 1 for at in range(start, end)
        if module.code[at].op[0] in ("bra", "ret", "exit", "trap", "call")
    }  # fmt: skip
    ordered = sorted(cuts)
    yield from zip(ordered, ordered[1:], strict=False)

