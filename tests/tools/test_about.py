"""`python -m flatweave`: what is installed and kept, and the removal of what is kept."""

import os
import subprocess
import sys

from flatweave import __main__ as about
from flatweave.base.config import config
from flatweave.base.errors import Unsupported
from flatweave.runtime.cache import NO_CACHE, DiskCache

PROGRAM = """
import flatweave as fw, numpy as np
assert fw.jit(lambda xs: fw.sum(xs * 3))(np.array([1.0, 2.0])) == 9
"""
REPORTS = """
from flatweave import __main__ as about
about.opencl.names = about.cuda.names = list  # drivers keep kernels, too
about.main([])
about.main(["--clear"])
about.main([])
"""


def test_what_is_kept_is_shown_and_removed(tmp_path):
    """A program's code is there, then gone."""
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path), FLATWEAVE_NO_CACHE="0")

    def run(text):
        command, given = [sys.executable, "-c", text], {"env": environment, "check": True}
        return subprocess.run(command, capture_output=True, text=True, **given).stdout

    run(PROGRAM)
    rows = [line for line in run(REPORTS).splitlines() if line.startswith("compiled code")]
    before, removed, after = (row.removeprefix("compiled code").strip(" :") for row in rows)
    count = before.split(",")[0]
    assert count != "0 files"
    assert before.endswith(f"in {tmp_path / 'flatweave'}")
    assert removed == f"{count} removed from {tmp_path / 'flatweave'}"
    assert after.startswith("0 files, 0 B")


def test_only_what_a_cache_made_is_removed(tmp_path):
    """Other files in its folder stay."""
    cache = DiskCache(tmp_path)
    cache.put("key", b"content")
    (tmp_path / "notes.txt").write_text("mine")

    assert cache.usage()[0] == 1
    assert cache.clear() == 1

    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_without_a_cache_nothing_is_removed(tmp_path, monkeypatch):
    """The folder that the command is called in, above all."""
    (tmp_path / "mine.fwc").write_text("mine")
    monkeypatch.chdir(tmp_path)

    with config.scoped(no_cache=True):
        assert about.main(["--clear"]) == 0
    assert NO_CACHE.clear() == 0

    assert (tmp_path / "mine.fwc").exists()


def test_the_report(monkeypatch):
    """Versions, the CPU, each device, or why there are no devices."""
    monkeypatch.setattr(about.opencl, "names", lambda: ["this", "that"])

    def none():
        raise Unsupported("there is no driver.")

    monkeypatch.setattr(about.cuda, "names", none)

    with config.scoped(threads=3, no_cache=True):
        rows = {line.split("  ")[0]: line for line in about.report().splitlines()}

    assert {"flatweave", "Python", "numpy", "llvmlite", "LLVM", "cpu"} <= set(rows)
    assert rows["threads"].endswith(" 3")
    assert (rows["opencl:0"][-4:], rows["opencl:1"][-4:]) == ("this", "that")
    assert rows["cuda"].endswith("none: there is no driver.")
    assert rows["compiled code"].endswith("not kept (FLATWEAVE_NO_CACHE)")
