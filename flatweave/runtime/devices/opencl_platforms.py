"""OpenCL's platforms: the system's, PoCL's that pyopencl knows of, and those that wheels bring.

    .venv/lib/libintelocl.so      pip install intel-opencl-rt: found, though nothing points to it

OpenCL's loader reads the `.icd` files of one folder, once in a process: each is the name of a
driver's library. Wheels of drivers leave no such file. Where there is one, the loader gets a folder
for that moment, with the system's files and one more for each wheel.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flatweave.base.config import variable_of_another

SYSTEM = Path("/etc/OpenCL/vendors")
LIBRARIES = ("libintelocl.so",)
FOLDER = "OCL_ICD_VENDORS"
CHOSEN = (FOLDER, "OPENCL_VENDOR_PATH")  # where a user tells the loader what to read


def platforms(cl: Any) -> list[Any]:
    """All platforms; none where the loader finds no driver."""
    found = [Path(sys.prefix) / "lib" / name for name in LIBRARIES]
    brought = [library for library in found if library.is_file()]
    if not brought:
        return _seen(cl)
    with tempfile.TemporaryDirectory(prefix="flatweave-icd-") as folder:
        _fill(Path(folder), brought)
        with variable_of_another(FOLDER, folder, unless=CHOSEN):
            return _seen(cl)


def _fill(folder: Path, libraries: Sequence[Path]) -> None:
    for file in SYSTEM.glob("*.icd"):
        shutil.copyfile(file, folder / file.name)
    for library in libraries:
        (folder / f"{library.stem}.icd").write_text(f"{library}\n")


def _seen(cl: Any) -> list[Any]:
    try:
        return list(cl.get_platforms())
    except cl.Error:
        return []
