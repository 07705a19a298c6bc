"""Whole programs, recorded as the language's tests are, become aarch64 instructions."""

import os
import subprocess
import sys

import pytest
from llvmlite import binding

from tests.shape.tree import ROOT

PROGRAMS = """
import numpy as np
import pytest
import flatweave as fw

XS = np.arange(3000.0)

@pytest.mark.parametrize("f", [
    lambda xs: fw.filter(lambda x: x > 7, xs),
    fw.sort,
    lambda xs: fw.scan(lambda a, b: a * b + a + b, 1, xs),
    lambda xs: fw.histogram(9, fw.map(lambda x: x.astype("i64") % 9, xs)),
])
def test_program(f):
    assert len(fw.jit(f)(XS))
"""


def test_recorded_programs_are_selected(tmp_path):
    """A process for each half: the plugin that records, and LLVM, which ends one where it fails."""
    binding.initialize_all_targets()
    try:
        binding.Target.from_triple("aarch64-unknown-linux-gnu")
    except RuntimeError:
        pytest.skip("this LLVM has no target aarch64")
    tests, folder = tmp_path / "test_programs.py", tmp_path / "programs"
    tests.write_text(PROGRAMS, encoding="utf-8")
    environment = dict(os.environ, RECORD_TO=str(folder), PYTHONPATH=str(ROOT))
    recording = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.aarch64.record", str(tests)]
    for command in (recording, ["tests.aarch64.select", str(folder)]):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    count = len(list(folder.glob("*.air")))
    assert count >= 4
    assert done.stdout.strip() == f"{count} programs, selected for NEON and SVE2"
