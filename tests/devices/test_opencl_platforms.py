"""Drivers of OpenCL that come as wheels are found where nothing points to them."""

import os
import sys
from pathlib import Path

import pytest

from flatweave.runtime.devices import opencl
from flatweave.runtime.devices.opencl import platforms


class Loader:
    """Stands for pyopencl: its platforms are what the files of the folder in force say."""

    Error = RuntimeError

    def get_platforms(self):
        folder = os.environ.get("OCL_ICD_VENDORS")
        if folder is None:
            raise self.Error
        return sorted(file.read_text().strip() for file in Path(folder).glob("*.icd"))


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """An environment of Python with nothing in it, on a system with one driver."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors" / "gpu.icd").write_text("libgpu.so\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(opencl, "SYSTEM", tmp_path / "vendors")
    for name in opencl.CHOSEN:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_wheel_and_the_system(prefix):
    """The loader sees both, for as long as it looks."""
    library = prefix / "lib" / "libintelocl.so"
    library.touch()

    assert platforms(Loader()) == [str(library), "libgpu.so"]
    assert "OCL_ICD_VENDORS" not in os.environ


def test_no_wheel(prefix):
    """The loader is left to itself; that it finds nothing is no error here."""
    assert platforms(Loader()) == []


def test_the_user_has_chosen(prefix, monkeypatch):
    """What the environment says already stays in force."""
    (prefix / "lib" / "libintelocl.so").touch()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(prefix / "vendors"))

    assert platforms(Loader()) == ["libgpu.so"]
    assert os.environ["OCL_ICD_VENDORS"] == str(prefix / "vendors")
