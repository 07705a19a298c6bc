"""docs/kernel.md elsewhere: its programs run in the simulator and on OpenCL as they do on a CPU."""

import pytest

import flatweave as fw
from tests.docs.blocks import execute, programs
from tests.shape.tree import ROOT

PROGRAMS = programs((ROOT / "docs" / "kernel.md").read_text(encoding="utf-8"))
WAITING = ("fk.wait_until(", "fk.chain(")
"""Words of programs in which a block waits for another, which OpenCL does not let it."""


@pytest.mark.parametrize(
    "target",
    ["interp", pytest.param("opencl", marks=[pytest.mark.needs_opencl, pytest.mark.slow])],
)
def test_its_programs_run(target):
    """One after the other, each with the names of those before it; what OpenCL cannot do is an
    error that says so."""
    names, refused = {"__name__": "page"}, 0
    with fw.target(target):
        for k, program in enumerate(PROGRAMS):
            name = f"docs/kernel.md[{k}]"
            if target == "opencl" and any(word in program for word in WAITING):
                with pytest.raises(fw.Unsupported, match="a block waits for another one"):
                    execute(program, name, names)
                refused += 1
            else:
                execute(program, name, names)

    assert refused == (2 if target == "opencl" else 0)
