"""Rehearse a release from a clean clone of what is committed: `make release-check`.

    python release/rehearse.py              every Python that is found
    PYTHONS="/opt/py/bin/python3" python release/rehearse.py        these, too

Builds an sdist and a wheel, checks their files and metadata, the licences of what they require and
the changelog of the next version; then installs the wheel into an empty environment of each Python
and the sdist into one, and runs the README's programs and quick tests there, from another folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_wheel import ROOT, readme, run

MINORS = range(11, 16)
"""Versions of Python 3 that are looked for, on the path and where pyenv has them."""
QUICK = "arguments control jit numbers shapes sources trees writes"
"""Tests of the language that run on each Python: those that `make test` runs on OpenCL."""
LICENCES = "BSD;MIT;Apache;0BSD;Zlib;CC0;PSF;Python Software Foundation;ISC"
NEXT, DATE = "99.0.0", "2099-01-01"


def main() -> None:
    """All steps; the first that fails ends the rehearsal."""
    with tempfile.TemporaryDirectory() as name:
        folder, begin = Path(name), time.monotonic()
        clone = folder / "clone"
        command("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone)
        project = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        command(sys.executable, "-m", "build", "--outdir", folder / "dist", clone)
        (wheel,), (sdist,) = (list((folder / "dist").glob(kind)) for kind in ("*.whl", "*.gz"))
        command(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
        say(begin, f"{metadata(wheel, project)}; {files(clone, wheel, sdist)}")
        say(begin, changelog(clone))
        found = pythons(project["requires-python"])
        for number, python in enumerate(found.values()):
            package = sdist if number == len(found) - 1 else wheel
            for each in {wheel, package}:
                say(begin, installed(python, each, clone, folder, licences=number == 0))
        missing = [f"3.{minor}" for minor in MINORS if f"3.{minor}" not in found]
        say(begin, f"tried {', '.join(found)}; not found here: {', '.join(missing)}")


def say(begin: float, text: str) -> None:
    """A line of the report."""
    sys.stdout.write(f"{time.monotonic() - begin:6.1f} s  {text}\n")
    sys.stdout.flush()


def command(*words: str | Path, folder: Path | None = None) -> str:
    """What a command prints; its whole output is shown if it fails."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def metadata(wheel: Path, project: dict[str, Any]) -> str:
    """Compare the wheel's metadata with pyproject.toml."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (info,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        facts = Parser().parsestr(archive.read(info).decode())
    required = [each for each in facts.get_all("Requires-Dist", []) if "extra ==" not in each]
    wanted = {
        "Name": project["name"], "License-Expression": project["license"],
        "Requires-Python": project["requires-python"], "Summary": project["description"],
    }  # fmt: skip
    wrong = {key: facts[key] for key, value in wanted.items() if facts[key] != value}
    extras = set(facts.get_all("Provides-Extra", []))
    if wrong or sorted(required) != sorted(project["dependencies"]):
        raise SystemExit(f"{wheel.name}: {wrong or required} differ from pyproject.toml")
    if extras != set(project["optional-dependencies"]):
        raise SystemExit(f"{wheel.name}: the extras are {extras}")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        raise SystemExit(f"{wheel.name} has no licence")
    return f"{wheel.name}: metadata as in pyproject.toml, {wheel.stat().st_size / 1e6:.1f} MB"


def files(clone: Path, wheel: Path, sdist: Path) -> str:
    """Compare the files of the packages with those that git has."""
    tracked = set(command("git", "ls-files", "flatweave", folder=clone).split())
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    if packed != tracked or not tracked <= source:
        raise SystemExit(f"files of the wheel and of git differ: {sorted(packed ^ tracked)}")
    return f"{len(packed)} files of git in wheel and sdist"


def changelog(clone: Path) -> str:
    """Make the next version's part of the changelog, in the clone."""
    notes = [note for note in (clone / "changes").glob("*.md") if note.name != "README.md"]
    text = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    command(sys.executable, "-m", "towncrier", "build", "--yes", "--version", NEXT, "--date", DATE,
            folder=clone)  # fmt: skip
    after = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    part = after.partition(f"\n## {NEXT}, {DATE}\n")[2].partition("\n## ")[0]
    items = re.findall(r"^- ", part, re.MULTILINE)
    first = text[text.index("\n## 0.1.0") :]
    if len(items) != len(notes) or first not in after or len(first.splitlines()) > 40:
        raise SystemExit(f"{len(items)} lines of {len(notes)} notes:\n{part}")
    command("git", "checkout", "--quiet", "HEAD", ".", folder=clone)
    return f"changelog: {len(items)} notes become the part of {NEXT}"


def pythons(requires: str) -> dict[str, Path]:
    """The interpreters that can make an environment, by version, the newest first."""
    names = [f"python3.{minor}" for minor in MINORS]
    paths = [Path(path) for path in map(shutil.which, names) if path]
    paths += (Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3")
    paths += map(Path, os.environ.get("PYTHONS", "").split())
    found: dict[str, Path] = {}
    test = "import ensurepip, sys, venv; print('{}.{}'.format(*sys.version_info))"
    for path in paths:
        done = subprocess.run([path, "-c", test], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        if version and number(version) >= number(requires.removeprefix(">=")):
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: number(item[0]), reverse=True))


def number(version: str) -> tuple[int, ...]:
    """3.11 before 3.12."""
    return tuple(map(int, version.split(".")))


def installed(
    python: Path, package: Path, clone: Path, folder: Path, *, licences: bool
) -> str:  # fmt: skip
    """Install a package into an empty environment, and run it there."""
    place = Path(tempfile.mkdtemp(dir=folder))
    command(python, "-m", "venv", place / "environment")
    inside, elsewhere = place / "environment" / "bin" / "python", place / "elsewhere"
    elsewhere.mkdir()
    command(inside, "-m", "pip", "install", "--quiet", package)
    command(inside, "-m", "pip", "check")
    run([str(inside), "-m", "flatweave"], elsewhere)
    (elsewhere / "readme.py").write_text(readme(), encoding="utf-8")
    run([str(inside), "readme.py"], elsewhere)
    if licences:
        command(inside, "-m", "pip", "install", "--quiet", "pip-licenses")
        command(place / "environment" / "bin" / "pip-licenses", "--packages", "numpy", "llvmlite",
                "--from=mixed", "--partial-match", f"--allow-only={LICENCES}")  # fmt: skip
    passed = tested(inside, clone, elsewhere) if package.suffix == ".whl" else "programs run"
    shutil.rmtree(place)
    facts = command(python, "-c", "import platform; print(platform.python_version())").strip()
    return f"Python {facts}, {package.name}: README, {passed}{', licences' * licences}"


def tested(python: Path, clone: Path, elsewhere: Path) -> str:
    """Run quick tests on the installed package: their folder has no package next to it."""
    command(python, "-m", "pip", "install", "--quiet", "pytest", "hypothesis")
    shutil.copytree(clone / "tests", elsewhere / "tests")
    shutil.copy(clone / "pyproject.toml", elsewhere)
    paths = [f"tests/language/test_{name}.py" for name in QUICK.split()]
    # what a Python deprecates, a later one that users have may lack
    options = ("-q", "-W", "error::DeprecationWarning", "-m", "not slow")
    words: Sequence[str | Path] = (python, "-m", "pytest", *options, *paths)
    return command(*words, folder=elsewhere).splitlines()[-1]


if __name__ == "__main__":
    main()
