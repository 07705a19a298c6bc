"""Kernels of `examples/kernels`, which assign work explicitly, and the language's."""

from __future__ import annotations

import sys
from pathlib import Path

# each example is a separate program, in no package
sys.path.append(str(Path(__file__).resolve().parents[3] / "examples"))

from bench.rows.kernels import matrices, pictures, reductions, scans, sorts, tuned

FILES = (reductions, scans, sorts, matrices, pictures, tuned)
ROWS = [row for file in FILES for row in file.ROWS]
