"""Write docs/tour.md: one call followed from Python to machine code, with every stage's own text.

    python -m tools.tour docs/tour.md            `make docs`; a test compares the page

The texts are for a CPU with AVX-512 on every machine, so that all machines write the same page.
Only the assembly language at the end is for this machine; the test does not compare it.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from flatweave.array_ir.syntax import Program, parse_program, print_program
from flatweave.codegen import opencl
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.units import print_unit
from flatweave.lower.machine import CPU_AVX512, OPENCL
from flatweave.lower.program import lower
from flatweave.lower.schedule.plan import print_plans
from flatweave.pipeline import optimise
from flatweave.tools.show import changes

EXAMPLE = Path("examples/total.py")
CALL = "total(np.arange(1000.0, dtype=np.float32))"
OWN = "<!-- of the machine that wrote this page: not compared -->"
WHY = {
    "simplify": "Extents that were checked to be equal become one.",
    "sweep": """Every array operation becomes a *sweep*, the one form that is lowered: a body that
computes the element at an index, and sinks that say what happens to it. `store` writes an array,
`combine` reduces. Nothing is fused yet: there are two sweeps, with an array between them.""",
    "cse": "Reads of the same element become one.",
    "fuse_siblings": """The two sweeps go over the same extent, and the second reads what the first
stores at the same position. They become one pass, and the read becomes the value itself.""",
    "fuse": "A value that another sweep reads is computed where it is read.",
    "dce": """No operation reads the array of squares any more, so its sink is removed. The
remaining sweep reads `xs` and writes nothing: `total.stages(xs).manifest` is empty.""",
}

TEMPLATE = """\
# The tour: from a call to machine code
*`python -m tools.tour` writes this page from the compiler's output, and a test compares
them. Names end in numbers because each is bound once in its program.*

```python
{source}```

To follow along with your own program, use `python -m flatweave.tools.show examples/total.py`, which
prints these stages. `total.stages(xs).text["array"]` gives one of them, and `FLATWEAVE_DUMP=all`
writes them while a program runs.

## 1 The call (`jit.py`)
`total(xs)` looks at its arguments: `float32` of rank 1. If it had seen that signature before, it
would go straight to the last stage. The length is not part of the signature: the compiled code
serves every length.

## 2 Trace (`frontend/`)
The function runs once on a *tracer*, a stand-in that records the operations applied to it. `n` is
the extent of `xs`, known at run time. Sharing needs no analysis: one Python object is one
variable. Each `let` remembers the line of Python it came from, for messages.

```
{array}```

This is the array language: `flatweave/ops` has one file for each operation, with its
definition in NumPy. `jit(target="interp")` runs the program from here.

{passes}
## 4 Lower (`lower/`)
First comes the *plan* (`lower/schedule/`): all choices about how the sweep runs, as data, before
any code is emitted. Lanes take consecutive positions, and each has an accumulator. A block has
enough elements to pay for its launch, and fits the second-level cache.

```
{plan}```

Emission follows the plan. The sweep becomes a *host program* and its *kernels*. The host divides
`n` elements into blocks whose size depends only on `n`, never on the number of threads or on
timing: that is why a sum has the same bits on every run. Each block sums its elements and stores
one partial result; the host combines these in order.

```
{host}```

In the kernel a block takes {lanes} elements at a time, `lanes {lanes}`: several registers full,
each lane with a separate sum. `reduce_lanes` adds the lanes up, and `lanes 1` processes the
remaining elements at the end.

```
{kernel}```

The same lowering with other numbers gives the GPU's kernel. Its 32 lanes are the threads of a warp,
and its main loop in OpenCL C is this:

```c
{opencl}```

## 5 Emit (`codegen/`)
`lanes` becomes vector types directly, so LLVM need not vectorize. This is the main loop of the
kernel.

```llvm
{llvm}```

## 6 Machine code (`runtime/`)
LLVM compiles it to an object for this CPU, which is cached on disk under a hash of the text. The
next process that needs it loads it within a millisecond.

{own}
```asm
{asm}```

## 7 Launch (`runtime/`)
A kernel that the host may not need, such as a variant for long arrays or one of a branch, is
compiled when a run first launches it (`runtime/execute.py`). The worker threads claim blocks in
order from one counter; the calling thread works, too. Ctrl-C stops a call within 0.2 s. The main
thread lets Python's signal handlers run every 50 ms, between blocks and inside them: loops without
a known end check the flag of the call (`codegen/llvm/control.py`). Then the blocks return and
all buffers are freed. The result is a `flatweave.Array` around the memory that the host program
returned; `np.asarray` views it without a copy.

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
             "`pipeline.py` lists; these passes change this program.\n"]  # fmt: skip
    for name, after in changes(program).items():
        step = name.rpartition(" ")[2]
        parts.append(f"**{step}.** {WHY[step]}\n\n```\n{print_program(after)}```\n")
    return "\n".join(parts)


def _loop_of_opencl(swept: Program) -> str:
    """The first loop over elements in the OpenCL kernel."""
    lines = opencl.emit(lower(swept, OPENCL).unit).splitlines()
    start = next(k for k, line in enumerate(lines) if "for (int32_t" in line)
    margin = lines[start][: -len(lines[start].lstrip())]
    end = lines.index(f"{margin}}}", start)
    return "".join(f"{line.removeprefix(margin)}\n" for line in lines[start : end + 1])


def _loop_of_llvm(unit: Unit) -> str:
    """The body of the first loop over vectors."""
    return "".join(f"{line}\n" for line in _loop(emit(unit, Avx512()).splitlines()))


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
