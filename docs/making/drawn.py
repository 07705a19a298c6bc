"""Pictures that programs of the gallery draw themselves: `picture()` gives numbers, a pixel each.

    examples/gallery/NAME.py        pictures/gallery/gallery_NAME.png

Small numbers are dark and large ones light, as in notebooks. A program whose peer is not installed
is left without a picture.
"""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from flatweave.notebook import levels, png


def write(programs: Path, folder: Path) -> None:
    """A file for each program that has a picture."""
    for path in sorted(programs.glob("*.py")):
        if "\ndef picture(" in path.read_text(encoding="utf-8"):
            module = _loaded(path)
            if module is not None:
                entries = levels(np.asarray(module.picture()))[0]
                image = base64.b64decode(png(entries).partition(",")[2])
                (folder / f"{programs.name}_{path.stem}.png").write_bytes(image)


def _loaded(path: Path) -> Any:
    """A program as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError:
        return None
    return module
