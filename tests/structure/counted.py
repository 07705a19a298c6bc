"""What the structure tests count: the kernels of a program, and the arrays it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatweave as fw

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


def structure(f: Callable[..., Any], *args: Any) -> Structure:
    """The structure of `f` compiled for the CPU; nothing is run."""
    stages = fw.jit(f, target="cpu").stages(*args)
    results = sum("(result)" in line for line in stages.manifest)
    return Structure(stages.kernels, results, len(stages.manifest) - results)


def chain(x: Any) -> Any:
    """Twenty elementwise operations, one after the other."""
    for k in range(10):
        x = (x * 1.5) + k
    return x


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
