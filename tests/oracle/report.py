"""A failure as a Python program that anybody can run, in the public API alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.check import Failure
from tests.oracle.data import Rows
from tests.oracle.program import arguments, expected, source_of

FEW = 40


def array_text(values: np.ndarray) -> str:
    """An array as NumPy code that gives the same bits."""
    array = np.asarray(values)
    if not array.ndim:
        return f"{array_text(array[None])}[0]"
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bits = array.view(f"u{array.dtype.itemsize}").tolist()
        return f"np.array({bits}, np.uint{8 * array.dtype.itemsize}).view(np.{array.dtype})"
    return f"np.array({array.tolist()}, np.{array.dtype})"


def argument_text(value: Any) -> str:
    """An argument as code."""
    if isinstance(value, Rows):
        return f"fw.ragged({array_text(value.values)}, lengths={value.lengths.tolist()})"
    return array_text(value)


def report(failure: Failure, seed: int) -> str:
    """The program, its arguments, what it gives and what it should give."""
    program, run = failure.program, failure.run
    given = arguments(program, run.n, run.m, run.seed)
    lines = [f"# seed {seed}: {run}", f"# {failure.said}".replace("\n", "\n# ")]
    lines += ["import numpy as np", "import flatweave as fw", "", source_of(program)]
    if run.n <= FEW and run.m <= FEW:
        lines += [
            f"{x.name} = {argument_text(value)}"
            for x, value in zip(program.inputs, given, strict=True)
        ]
    else:
        lines += [
            "from tests.oracle.program import Input, Program, arguments, passed",
            f"given = arguments(Program({program.inputs!r}, (), ()), {run.n}, {run.m}, {run.seed})",
            f"{', '.join(x.name for x in program.inputs)}, = map(passed, given)",
        ]
    names = ", ".join(x.name for x in program.inputs)
    options = ", ".join(f"{name}={value!r}" for name, value in program.schedule)
    called = "program" if run.way == "eager" else "fw.jit(program)"
    lines += [f"with fw.schedule({options}):", f"    print({called}({names}))"]
    if run.n <= FEW:
        with np.errstate(all="ignore"):
            lines += [f"# expected: {expected(program, given)}".replace("\n", "\n# ")]
    return "\n".join([*lines, ""])
