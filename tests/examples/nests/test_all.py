"""examples/nests: every file's programs agree with NumPy or plain Python, as its runner says."""

import os
import subprocess
import sys

import pytest

from tests.quick import every
from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "nests"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, NAMES))
def test_small_cases_agree(example, target, name):
    """What the runner shows for each program, on every target."""
    for program, _, ours, theirs, agree in example(f"nests.{name}").cases(True):
        assert agree(ours(), theirs()), program


def test_the_readme_lists_every_file():
    """A row of its table for each."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")

    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]

    assert sorted(listed) == [f"{name}.py" for name in NAMES]


def test_the_runner_says_what_is_right():
    """`python examples/nests --quick words` ends with 0 and a table; an unknown file with 2."""

    def run(*names):
        return subprocess.run(
            [sys.executable, FOLDER, "--quick", *names],
            capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "140"},
        )  # fmt: skip

    done, refused = run("words"), run("verses")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == 2
    assert refused.returncode == 2
    assert "There is no verses; there are big_numbers" in refused.stdout
