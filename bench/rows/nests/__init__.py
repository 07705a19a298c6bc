"""Nests: functions of rows that need memory in each row, done for all rows at once.

Their programs are those of `examples/nests`.
"""

from __future__ import annotations

import sys
from pathlib import Path

# each example is a separate program, in no package
sys.path.append(str(Path(__file__).resolve().parents[3] / "examples"))

from bench.rows.nests import (
    chains,
    extents,
    groups,
    loops,
    matrices,
    points,
    scans,
    softmax,
    sorting,
)

FILES = (sorting, softmax, loops, matrices, scans, points, groups, chains, extents)
ROWS = [row for file in FILES for row in file.ROWS]
