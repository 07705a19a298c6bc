"""A row's peer in a separate process, for settings that must precede the import of libraries.

    call = Elsewhere("sort_u32", "numpy", size, NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL")
    call()                      the peer runs once over there; its result stays there
    call.seconds("wall")        how long that takes it, in seconds of the clock or of the CPU

The process (serve.py) starts with the first call.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Elsewhere:
    """Calls a peer of a row in another process, under other variables of the environment."""

    def __init__(self, row: str, peer: str, size: int, **environment: str) -> None:
        self._command = [sys.executable, "-m", "bench.serve", row, peer, str(size)]
        self._environment = os.environ | environment
        self._process: subprocess.Popen[str] | None = None

    def __call__(self) -> None:
        """One call; there is no result to compare."""
        self.seconds("wall")

    def seconds(self, clock: str) -> float:
        """The seconds of one call by the clock "wall" or "cpu"."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{clock}\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{' '.join(self._command)} has ended")
        return float(answer)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
