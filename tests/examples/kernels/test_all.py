"""examples/kernels: every kernel gives what NumPy gives, and becomes machine code for GPUs."""

import os
import subprocess
import sys

import pytest

from flatweave.base.errors import Unsupported
from flatweave.runtime import nvrtc
from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "kernels"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")


@pytest.mark.parametrize("name", NAMES)
def test_small_cases_agree(example, target, name):
    """What the runner shows for each kernel, on every target."""
    for program, _, ours, theirs, agree in example(f"kernels.{name}").cases(True):
        assert agree(ours(), theirs()), program


@pytest.mark.parametrize("name", NAMES)
def test_machine_code_for_gpus(example, name):
    """NVRTC compiles what a call has written, for sm_80 and for sm_90."""
    try:
        nvrtc.ptx("")
    except Unsupported as reason:
        pytest.skip(f"no NVRTC: {reason.message}")
    module = example(f"kernels.{name}")
    called = {program: ours for program, _, ours, _, _ in module.cases(True)}
    assert set(called) <= set(module.KERNELS)
    for program, kernel in module.KERNELS.items():
        if program not in called:
            continue
        called[program]()
        text = kernel.text["cuda"]
        for architecture in ("sm_80", "sm_90"):
            assert nvrtc.cubin(text, architecture).startswith(b"\x7fELF"), program


def test_the_readme_lists_every_file():
    """A row of its table for each."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")

    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]

    assert sorted(listed) == sorted(f"{name}.py" for name in NAMES)


def test_the_runner_says_what_is_right():
    """`python examples/kernels --quick first` ends with 0 and a table; an unknown file with 2."""

    def run(*names):
        return subprocess.run(
            [sys.executable, FOLDER, "--quick", *names],
            capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "140"},
        )  # fmt: skip

    done, refused = run("first"), run("verses")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == 11
    assert refused.returncode == 2
    assert "There is no verses; there are first" in refused.stdout
