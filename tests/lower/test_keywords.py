"""Keywords of `fw.schedule` are short for texts: a plan that one gives is obeyed as a text, too."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.errors import ArgumentError
from flatweave.base.schedule import Schedule
from flatweave.lower.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.lower.program import lower
from flatweave.lower.schedule.plan import print_plans
from tests.codegen.device_programs import traced

MACHINES = {"cpu": CPU_AVX512, "opencl": OPENCL, "cuda": CUDA}
FLOATS = np.zeros((2, 2))
EXPANDED = lambda xs: fw.expand(lambda x: x % 4, lambda x, i: x * i, xs)
COUNTED = lambda xs: fw.histogram(50, xs)
SUMMED = lambda xs: fw.histogram(50, xs, xs * 0.5, fw.add, 0.0)
PROGRAMS = {
    **{f"permute={way}": (COUNTED, {"permute": way}) for way in
       ("owner", "private", "partition", "sorted", "atomic", "cas", "shared-atomic")},
    "sums by private copies": (SUMMED, {"permute": "private"}),
    "sums by tiles": (SUMMED, {"permute": "partition"}),
    **{f"expand={way}": (EXPANDED, {"expand": way}) for way in
       ("per-source", "per-warp", "per-block", "16-per-block", "balanced", "balanced-search",
        "16-per-block-search", "per-source-random", "per-warp-random", "per-block-random")},
    "filter": (lambda xs: fw.filter(lambda x: x > 3, xs), {"filter": "twice"}),
    "store": (lambda xs: xs * 2, {"store": "plain"}),
    "streaming": (lambda xs: xs * 2, {"store": "streaming"}),
    "rows": (EXPANDED, {"rows": "rows"}),
    "positions": (EXPANDED, {"rows": "positions"}),
    "seq_factor": (lambda xs: fw.sum(xs * 0.5), {"seq_factor": 16}),
    "contraction": (lambda m: m @ m, {"contraction": "lanes"}),
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_keyword_gives_is_a_text(name, machine):
    """Without the keyword, the text alone gives the same plan."""
    fn, words = PROGRAMS[name]
    made = traced("f", fn, FLOATS if name == "contraction" else np.zeros(2, np.int64))
    swept, shape = list(pipeline.optimise(made).values())[-1], MACHINES[machine]
    try:
        plans = lower(swept, shape, schedule=Schedule(**words)).sweeps
    except ArgumentError:
        return  # this machine has no such variant
    text = print_plans(plans)

    assert print_plans(lower(swept, shape, schedule=Schedule(text=text)).sweeps) == text
