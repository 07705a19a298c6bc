"""A wheel as a user gets it: an empty environment, no compiler, another folder, the README.

    python release/check_wheel.py dist

Installs the one wheel of a folder into a new virtual environment, where nothing but Python is on
the path, and runs there, in an empty folder, `python -m flatweave` and the README's programs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main(folder: str) -> None:
    """Check the wheel of a folder; what fails is shown as Python shows it."""
    wheel = only_wheel(Path(folder))
    with tempfile.TemporaryDirectory() as place:
        python = environment(Path(place, "environment"))
        elsewhere = Path(place, "elsewhere")
        elsewhere.mkdir()
        run([python, "-m", "pip", "install", "--quiet", str(wheel)], elsewhere)
        run([python, "-m", "flatweave"], elsewhere)
        script = elsewhere / "readme.py"
        script.write_text(readme(), encoding="utf-8")
        run([python, str(script)], elsewhere)
    sys.stdout.write(f"{wheel.name} runs the README's programs\n")


def only_wheel(folder: Path) -> Path:
    """The wheel that was just built."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        names = ", ".join(wheel.name for wheel in wheels) or "none"
        raise SystemExit(f"{folder}: wanted one wheel, found {names}. Run `make wheel`.")
    return wheels[0].resolve()


def environment(folder: Path) -> str:
    """The Python of a new virtual environment."""
    venv.create(folder, with_pip=True)
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def readme() -> str:
    """The README's programs in order, and a check that the installed package ran them."""
    programs = PROGRAM.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    installed = "import sys, flatweave\nassert flatweave.__file__.startswith(sys.prefix)\n"
    return "\n".join([*programs, installed])


def run(command: list[str], folder: Path) -> None:
    """A command where only this Python can be found, no compiler, and nothing compiled before."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own = {"PATH": str(Path(command[0]).parent), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env={**kept, **own}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed with status {done.returncode}")


if __name__ == "__main__":
    main(*sys.argv[1:])
