"""The language suite as aarch64 code (NEON), on any Linux machine: an emulated Python runs it.

    python -m tests.aarch64                              tests/language, two hours on two cores
    python -m tests.aarch64 tests/language/test_axes.py  any arguments of pytest

A folder of Debian's arm64 packages (build/aarch64/root) holds the Python, another the wheels of
NumPy, llvmlite and pytest (build/aarch64/site); qemu-aarch64 runs both. Nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
BUILD = REPOSITORY / "build" / "aarch64"
ROOT, SITE, PYTHON = BUILD / "root", BUILD / "site", BUILD / "python"
DEBIAN, VERSION = "bookworm", "3.11"
WHEELS = ("numpy", "llvmlite", "pytest", "pytest-xdist", "hypothesis", "pillow")
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
EMULATORS = ("qemu-aarch64", "qemu-aarch64-static")
TOOLS = "apt install debootstrap qemu-user-static"

# what starts another Python must start the emulated one
SITECUSTOMIZE = f"import sys\nsys.executable = {str(PYTHON)!r}\n"


def tool(*names: str) -> str:
    """The path of the first of these commands that is there."""
    for name in names:
        if found := shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
            return found
    raise SystemExit(f"{names[0]} was not found. On Debian or Ubuntu: {TOOLS}")


def make_root() -> None:
    """Debian's smallest arm64 system with a Python, unpacked and not set up."""
    command = [tool("debootstrap"), "--arch=arm64", "--foreign", "--variant=minbase"]
    part = ROOT.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    subprocess.run([*command, "--include=python3", DEBIAN, str(part)], check=True)
    for package in sorted((part / "var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(part)], check=True)
    part.rename(ROOT)


def make_site() -> None:
    """The wheels for aarch64, unpacked."""
    platforms = [f"--platform={platform}_aarch64" for platform in PLATFORMS]
    part = SITE.with_suffix(".part")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--upgrade",
         *platforms, f"--python-version={VERSION}", "--target", str(part), *WHEELS],
        check=True,
    )  # fmt: skip
    (part / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
    part.rename(SITE)


def make_python() -> None:
    """A command that is that Python."""
    PYTHON.write_text(
        "#!/bin/sh\n"
        f'exec {tool(*EMULATORS)} -L {ROOT} {ROOT}/usr/bin/python{VERSION} "$@"\n',
        encoding="utf-8",
    )
    PYTHON.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Prepare what is missing, and run pytest."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for path, make in ((ROOT, make_root), (SITE, make_site), (PYTHON, make_python)):
        if not path.exists():
            make()
    paths = os.pathsep.join(map(str, (SITE, REPOSITORY)))
    environment = dict(os.environ, PYTHONPATH=paths, PYTHONDONTWRITEBYTECODE="1")
    pytest = [str(PYTHON), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*pytest, *(arguments or ["tests/language"])], cwd=REPOSITORY, env=environment, check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
