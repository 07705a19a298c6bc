"""A failure as a Python program that anybody can run, in the public API alone."""

from __future__ import annotations

from tests.nests.check import Failure, plain_of
from tests.nests.data import passed_text
from tests.nests.program import expected, source_of


def report(failure: Failure) -> str:
    """The nest, its arguments, what it gives and what it should give."""
    nest, given, run = failure.nest, failure.given, failure.run
    said = failure.said.strip().replace("\n", "\n# ")
    lines = [
        f"# seed {nest.seed}, {run.target}, {run.threads} threads", f"# {said}",
        "import numpy as np", "import flatweave as fw", "", source_of(nest),
    ]  # fmt: skip
    for arg, value in zip(nest.args, given.values, strict=True):
        lines.append(f"{arg.name} = {passed_text(value, arg.type, given.shape.extents)}")
    names = ", ".join(arg.name for arg in nest.args)
    if run.derivatives:
        return "\n".join([*lines, f"fw.check_grads(nest, ({names},), 1)", ""])
    lines += [
        f"found = fw.jit(nest, target={run.target!r})({names})",
        "for part in found if isinstance(found, tuple) else [found]:", "    print(part.tolist())",
        f"# expected: {plain_of(expected(nest, given))}",
    ]  # fmt: skip
    return "\n".join([*lines, ""])
