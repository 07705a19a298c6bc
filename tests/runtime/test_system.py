"""Every column of the table is whole, and Flatweave runs by it without the names of Linux."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from flatweave.base.config import PORTABLE, SYSTEM
from flatweave.runtime import systems
from flatweave.runtime.native import text_of_support
from flatweave.runtime.systems import ANY, CPUS, SYSTEMS, column, system
from tests.quick import every

TOTAL = float(np.arange(300_000.0).sum() * 2) - 6.0
PLACES = {
    "darwin": ("Library/Caches/flatweave", False),
    "win32": ("Local/flatweave", True),
    "freebsd14": (".cache/flatweave", False),
}


@pytest.mark.parametrize("name", every(3, PLACES))
def test_it_runs_as_on_another_system(name, tmp_path):
    """By what the table says, with none of what Python has on Linux alone; the second process finds
    what the first one kept, in the same files."""
    place, tells_memory = PLACES[name]
    command = [sys.executable, "-m", "tests.runtime.elsewhere", name, str(tmp_path)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=150)
        lines = done.stdout.splitlines()

        assert lines[:2] == [f"{TOTAL} 3", f"portable.ll {tells_memory}"], done.stderr
        where, files = lines[2].split()
        assert where == place
        kept = {path.name for path in (tmp_path / place).iterdir()}
        assert len(kept) == int(files) > 1


@pytest.mark.parametrize("runtime", [SYSTEM, PORTABLE])
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", [*SYSTEMS, "freebsd14"])
def test_the_support_code_is_whole(name, cpu, runtime):
    """Nothing is left to be filled in."""
    text = text_of_support(column(name, runtime), CPUS[cpu])

    assert set(re.findall(r"\$\{.*?\}", text)) == {"${LIKE_THIS}"}  # in a comment


def test_portable_needs_no_column():
    """It takes C and Python's names alone, even where the system has more."""
    forced = column("linux", PORTABLE)

    assert (forced.support, forced.names) == (ANY.support, ANY.names)
    assert not forced.has_images
    assert column("darwin", PORTABLE) == column("darwin", SYSTEM)


def test_cores_and_memory_are_plausible():
    """Not more than there are, whoever is asked."""
    assert 1 <= system().cores() <= (os.cpu_count() or 1)
    assert 2**28 < systems.memory_of_group() <= systems.memory_of_machine() < 2**52


@pytest.mark.parametrize(
    "text, cores",
    [("max 100000", []), ("200000 100000", [2]), ("150000 100000", [2]), ("5000 100000", [1])],
)
def test_the_quota_of_a_control_group(tmp_path, text, cores):
    """The system stops threads that use more time than it allows."""
    file = tmp_path / "cpu.max"
    file.write_text(text + "\n", encoding="utf-8")

    assert systems.cpu_quota_in(file) == cores
    assert systems.cpu_quota_in(tmp_path / "none") == []


def test_a_system_that_does_not_tell_its_memory(monkeypatch):
    """There is no limit then but what it refuses."""
    monkeypatch.delattr(os, "sysconf")

    assert systems.memory_of_machine() == systems.UNKNOWN
