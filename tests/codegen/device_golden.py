"""The texts of two kernels, kept to be read: what one lowering becomes on machines of threads.

After a change that is meant, `python -m tests.codegen.device_golden` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from flatweave.codegen import cuda, opencl
from flatweave.lower.machine import CUDA, OPENCL
from tests.codegen.device_programs import PROGRAMS, arguments, lowered, traced

FOLDER = Path(__file__).parent / "golden"
NAMES = ("reduce_order", "scan")


def texts(name: str) -> dict[str, str]:
    """The files of one program, without what all texts begin with."""
    made = traced(name, PROGRAMS[name], *arguments(2))
    cu = cuda.emit(lowered(made, CUDA).unit)
    cl = opencl.emit(lowered(made, OPENCL).unit)
    return {
        f"{name}.cu": renumbered(cu[cu.index("extern") :]),
        f"{name}.cl": renumbered(cl[cl.index("__kernel") :]),
    }


def renumbered(text: str) -> str:
    """The text with its variables numbered as they appear, kernel by kernel."""
    return "\n\n".join(_renumbered_kernel(part) for part in text.split("\n\n"))


def _renumbered_kernel(text: str) -> str:
    numbers: dict[str, int] = {}

    def name(found: re.Match[str]) -> str:
        return f"{found[1]}{numbers.setdefault(found[0], len(numbers))}"

    return re.sub(r"\b((?!k_)[a-z]\w*?_|fw_t)\d+\b", name, text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in NAMES:
        for file, text in texts(each).items():
            (FOLDER / file).write_text(text, encoding="utf-8")
