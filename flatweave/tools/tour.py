"""Write docs/tour.md: one call followed from Python to machine code, with every stage's own text.

    python -m flatweave.tools.tour docs/tour.md            `make docs`; a test compares the page

The texts are for a CPU with AVX-512, whatever machine writes the page, so that all write the same.
Only the assembly language at the end is this machine's own, and nobody compares it.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from flatweave.array_ir.syntax import Program, parse_program, print_program
from flatweave.codegen import llvm, opencl
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.text import print_unit
from flatweave.lower.machine.machine import CPU_AVX512, OPENCL
from flatweave.lower.program import lower
from flatweave.lower.schedule.text import print_plans
from flatweave.pipeline import optimise
from flatweave.tools.show import changes

EXAMPLE = Path("examples/total.py")
CALL = "total(np.arange(1000.0, dtype=np.float32))"
OWN = "<!-- of the machine that wrote this page: not compared -->"
WHY = {
    "simplify": "Extents that were checked to be equal become one.",
    "sweep": """Every array operation becomes a *sweep*, the one form that is lowered: a body that
computes the element at an index, and sinks that say where it goes. `store` makes an array,
`combine` a reduction. Fusion is not decided yet: there are two sweeps, and an array between.""",
    "cse": "Reads of the same element become one.",
    "fuse_siblings": """The two sweeps go over the same extent, and the second reads what the first
stores at its own position: they become one pass, and the read becomes the value itself.""",
    "fuse": "What is read elsewhere is computed where it is read.",
    "dce": """Nobody reads the array of squares any more, so its sink goes. What is left is one
sweep that reads `xs` and writes nothing: `total.stages(xs).manifest` is empty.""",
}

TEMPLATE = """\
# The tour: from a call to machine code
*Written by `python -m flatweave.tools.tour`, from what the compiler gives: every text on this page
is real, and a test compares it. Names end in numbers because each is bound once in its program.*

```python
{source}```

Follow along with your own program: `python -m flatweave.tools.show examples/total.py` prints these
stages, `total.stages(xs).text["array"]` gives one of them, and `FLATWEAVE_DUMP=all` writes them
out while a program runs.

## 1 The call (`jit.py`)
`total(xs)` looks at its arguments: `float32` of rank 1. Had it seen that signature before, it would
go to the last stop at once. The length is no part of the signature: what is compiled now serves
every length.

## 2 Trace (`frontend/`)
The function is run once on a *tracer*, a stand-in that writes down what is done to it. `n` is the
extent of `xs`, known when the program runs. Sharing needs no analysis: one Python object is one
variable. Each `let` remembers the line of Python it came from, for messages.

```
{array}```

This is the array language: `flatweave/ops` has one file for each operation, with its meaning in
NumPy beside it. `jit(target="interp")` runs the program from here.

{passes}
## 4 Lower (`lower/`)
First comes the *plan* (`lower/schedule/`): all choices about how the sweep runs, as data, before
anything is emitted. Lanes lie along the positions, each accumulates on its own, and a block has as
many elements as pay for it and fit the second-level cache.

```
{plan}```

Emission obeys the plan. The sweep becomes a *host program* and its *kernels*. The host divides `n`
elements into blocks whose size depends on `n` alone, never on the number of threads or on timing:
that is why a sum has the same bits on every run. Each block sums its own elements and stores one
partial result; the host combines these in order.

```
{host}```

In the kernel a block takes {lanes} elements at a time, `lanes {lanes}`: several registers full,
each lane with a sum of its own. `reduce_lanes` adds the lanes up, and `lanes 1` takes what is left
over at the end.

```
{kernel}```

The same lowering with other numbers gives the GPU's kernel. Its 32 lanes are the threads of a warp,
and its main loop in OpenCL C is this:

```c
{opencl}```

## 5 Emit (`codegen/`)
`lanes` becomes vectors, straight away: LLVM is given what it need not find out. This is the main
loop of the kernel.

```llvm
{llvm}```

## 6 Machine code (`runtime/`)
LLVM makes an object of it for the CPU at hand, which is kept on disk under a hash of the text. The
next process that needs it loads it within a millisecond.

{own}
```asm
{asm}```

## 7 Launch (`runtime/`)
A kernel that the host may not need, a variant for long arrays or one of a branch, is written and
compiled when a run first launches it (`runtime/execute.py`). The worker threads claim blocks
in order from one counter; the one that calls works along. Ctrl-C stops a call within 0.2 s: the
main thread lets Python's signal handlers run every 50 ms, between blocks and inside of them, where
loops whose
end is not in sight look at the flag of the call (`codegen/llvm/body/control.py`); then the blocks
leave and all buffers are given back. The result is a `flatweave.Array` around the memory that the
host program gave back; `np.asarray` takes it without a copy.

## Replay a part
```
FLATWEAVE_DUMP=array FLATWEAVE_DUMP_DIR=dumps python examples/total.py
python -m flatweave.tools.opt --pass sweep,fuse_siblings,dce dumps/total.array.air
python -m flatweave.tools.opt --pass sweep,fuse,dce --lower cpu dumps/total.array.air
```
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page to the file that is named, or print it."""
    paths = sys.argv[1:] if arguments is None else arguments
    text = page(EXAMPLE)
    if paths:
        Path(paths[0]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def page(example: Path) -> str:
    """The page about the function of a file that has the file's name."""
    total = runpy.run_path(str(example))[example.stem]
    stages = total.stages(np.zeros(1, np.float32))
    program = parse_program(stages.text["array"])
    swept = [*optimise(program).values()][-1]
    lowered = lower(swept, CPU_AVX512)
    unit = lowered.unit
    host, kernel = print_unit(unit).split("\n\n", 1)
    return TEMPLATE.format(
        source=_function(example.read_text(encoding="utf-8")),
        array=stages.text["array"],
        passes=_passes(program),
        plan=print_plans(lowered.sweeps),
        host=f"{host}\n",
        kernel=kernel,
        lanes=re.findall(r"lanes (\d+)", kernel)[0],
        opencl=_loop_of_opencl(swept),
        llvm=_loop_of_llvm(unit),
        own=OWN,
        asm=_loop_of_assembly(stages.text["asm"]),
    )


def compared(text: str) -> str:
    """The part of the page that does not depend on the machine that wrote it."""
    before, mark, after = text.partition(OWN)
    return before + mark + after.partition("\n## ")[2]


def _function(source: str) -> str:
    """The imports and the function, without the docstrings and the lines that run it."""
    found = re.sub(r'^ *""".*?"""\n+', "", source, flags=re.MULTILINE | re.DOTALL)
    return found.partition("\n\nif __name__")[0].rstrip() + f"\n\n{CALL}\n"


def _passes(program: Program) -> str:
    """A section for each pass that changes the program."""
    parts = ["## 3 Passes (`pipeline.py`, `passes/`)\nThe passes run in the order that "
             "`pipeline.py` lists; these are the ones that change something here.\n"]  # fmt: skip
    for name, after in changes(program).items():
        step = name.rpartition(" ")[2]
        parts.append(f"**{step}.** {WHY[step]}\n\n```\n{print_program(after)}```\n")
    return "\n".join(parts)


def _loop_of_opencl(swept: Program) -> str:
    """The first loop over elements in the OpenCL kernel."""
    lines = opencl.emit(lower(swept, OPENCL).unit).splitlines()
    start = next(k for k, line in enumerate(lines) if "for (int64_t" in line)
    margin = lines[start][: -len(lines[start].lstrip())]
    end = lines.index(f"{margin}}}", start)
    return "".join(f"{line.removeprefix(margin)}\n" for line in lines[start : end + 1])


def _loop_of_llvm(unit: Unit) -> str:
    """The body of the first loop over vectors."""
    return "".join(f"{line}\n" for line in _loop(llvm.emit(unit, Avx512()).splitlines()))


def _loop(lines: Sequence[str]) -> Iterator[str]:
    """From the label of the first loop with a vector in it to its jump back."""
    start = next(k for k, line in enumerate(lines) if "phi <" in line)
    while not lines[start].endswith(":"):
        start -= 1
    label = lines[start].removesuffix(":")
    for line in lines[start:]:
        yield line
        if line.strip() == f"br label %{label}":
            return


def _loop_of_assembly(text: str) -> str:
    """The instructions of the first loop with a product in it."""
    lines = text.splitlines()
    product = next((k for k, line in enumerate(lines) if "mulps" in line or "fmul" in line), 0)
    first = max((k for k in range(product) if lines[k].endswith(":")), default=0)
    last = next((k for k in range(product, len(lines)) if re.match(r"\s+(j|b\.)", lines[k])), 0)
    return "".join(f"{line.expandtabs(8)}\n" for line in lines[first : last + 1])


if __name__ == "__main__":
    sys.exit(main())
