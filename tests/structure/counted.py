"""What the structure tests count: the kernels of a program, and the arrays it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.array_ir.syntax import parse_program
from flatweave.ops import Locate, Sweep
from flatweave.terms.traverse import walk_lets

F32 = np.arange(12, dtype=np.float32)
INDICES = np.arange(12) % 5
GRID = np.zeros((6, 7), np.float32)
SIZES = np.array([2, 0, 10])
ROWS = fw.ragged(F32, lengths=SIZES)
SPARSE = fw.ragged((F32, INDICES), lengths=SIZES)


@dataclass(frozen=True)
class Structure:
    """How many kernels a program becomes, and how many arrays it stores."""

    kernels: int
    results: int
    intermediates: int


def opened(f: Callable[..., Any], *args: Any) -> fw.Stages:
    """A function, jitted or not, compiled for the CPU; nothing is run."""
    return fw.jit(getattr(f, "__wrapped__", f), target="cpu").stages(*args)


def structure(f: Callable[..., Any], *args: Any) -> Structure:
    """The structure of `f` compiled for the CPU."""
    stages = opened(f, *args)
    results = sum("(result)" in line for line in stages.manifest)
    return Structure(stages.kernels, results, len(stages.manifest) - results)


def chain(x: Any) -> Any:
    """Twenty elementwise operations in sequence."""
    for k in range(10):
        x = (x * 1.5) + k
    return x


def chain_of_scan(x: Any) -> Any:
    """Every operation reads the ones before it, and all the scan."""
    y = total = fw.scan(fw.add, 0, x)
    for k in range(15):
        y = y * k + total
    return y


def any_of_scan(x: Any) -> Any:
    """Thirty conditions, known before they are put together."""
    total = fw.scan(fw.add, 0, x)
    conditions = [total == k for k in range(30)]
    return fw.any(reduce(or_, conditions))


def five_points(n: Any) -> Any:
    """The sum of a neighbourhood's centre and its four neighbours."""
    return n[0, 0] + n[0, 1] + n[0, -1] + n[1, 0] + n[-1, 0]


def longest(a: Any, b: Any) -> Any:
    """The operator of the maximum segment sum, on (best, prefix, suffix, total)."""
    best = fw.maximum(fw.maximum(a[0], b[0]), a[2] + b[1])
    prefix = fw.maximum(a[1], a[3] + b[1])
    suffix = fw.maximum(b[2], a[2] + b[3])
    return best, prefix, suffix, a[3] + b[3]


def four(v: Any) -> Any:
    """One element of the maximum segment sum."""
    held = fw.maximum(v, 0)
    return held, held, held, v


def expansions(stages: fw.Stages) -> set[str]:
    """The names of the extents that sweeps over expanded arrays go through."""
    program = parse_program(stages.text["fused"])
    sweeps = [let.op for let in walk_lets(program.fn) if isinstance(let.op, Sweep)]
    expanding = [s for s in sweeps if any(isinstance(x.op, Locate) for x in walk_lets(s.body))]
    return {extent.name for sweep in expanding for extent in sweep.shape}


def stored_types(stages: fw.Stages) -> list[str]:
    """The types of the arrays that a program writes, results marked: `f32[n_5 - 1] (result)`."""
    return [line.split(": ", 1)[1].rpartition(", ")[0] for line in stages.manifest]
