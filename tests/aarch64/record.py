"""A plugin of pytest: every program that is compiled is kept as text.

    RECORD_TO=folder python -m pytest -p tests.aarch64.record tests/language
"""

import hashlib
import os
from pathlib import Path

from flatweave import pipeline
from flatweave.array_ir.syntax import print_program

FOLDER = Path(os.environ["RECORD_TO"])
build = pipeline._build


def recording(program, *given):
    """Compile a program and keep what it is, unless the compiler refuses it."""
    made, text = build(program, *given), print_program(program)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    (FOLDER / f"{name}.air").write_text(text, encoding="utf-8")
    return made


FOLDER.mkdir(parents=True, exist_ok=True)
pipeline._build = recording
