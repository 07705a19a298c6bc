"""Every nest of this folder on its input, its result checked, its time next to NumPy's.

    python examples/nests [--quick] [FILE ..]     all files, or those named; small inputs: --quick

Ends with 0 when every result is right.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # where folder.py is, and this folder as `nests`

from folder import run  # noqa: E402

if __name__ == "__main__":
    sys.exit(run(HERE, sys.argv[1:]))
