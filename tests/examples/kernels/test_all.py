"""examples/kernels: every kernel gives what NumPy gives, and becomes machine code for GPUs."""

import os
import subprocess
import sys
from functools import cache

import pytest

import flatweave as fw
from flatweave.base.errors import Unsupported
from flatweave.runtime.devices import cuda_libraries
from tests.conftest import DEVICE
from tests.quick import every
from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "kernels"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")
WAITING = {"last_block"}  # kernels whose blocks wait for other blocks


@cache
def has_nvrtc():
    """Whether the compiler of CUDA C is installed."""
    try:
        cuda_libraries.ptx("")
    except Unsupported:
        return False
    return True


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, NAMES))
def test_small_cases_in_the_simulator(example, name):
    """It finds no race, and no read of what nobody wrote."""
    with fw.target("interp"):
        for program, _, ours, theirs, agree in example(f"kernels.{name}").cases(True):
            assert agree(ours(), theirs()), program


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, NAMES))
def test_small_cases_on_the_cpu_and_code_for_gpus(example, name):
    """What the runner shows for each kernel; its CUDA C compiles for sm_80 and sm_90."""
    module = example(f"kernels.{name}")
    for program, _, ours, theirs, agree in module.cases(True):
        assert agree(ours(), theirs()), program
        text = module.KERNELS[program].text["cuda"]
        for architecture in ("sm_80", "sm_90") if has_nvrtc() else ():
            assert cuda_libraries.cubin(text, architecture).startswith(b"\x7fELF"), program


@pytest.mark.sampled
@pytest.mark.needs_device
@pytest.mark.parametrize("name", every(3, NAMES))
def test_small_cases_on_a_gpu(example, name):
    """The same on a device; what waits for another block is refused by OpenCL."""
    with fw.target(DEVICE):
        for program, _, ours, theirs, agree in example(f"kernels.{name}").cases(True):
            if program in WAITING and DEVICE == "opencl":
                with pytest.raises(Unsupported, match="opencl does not promise"):
                    ours()
                continue
            assert agree(ours(), theirs()), program


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
    assert "There is no verses; there are counting, first" in refused.stdout
