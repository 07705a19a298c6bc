"""examples/embarbb: every program agrees with NumPy or plain Python."""

import numpy as np
import pytest

from flatweave.base.config import config
from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "embarbb"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")


@pytest.mark.parametrize("name", NAMES)
def test_small_cases_agree(example, name):
    """What the runner shows for each program, by the reference meaning."""
    with config.scoped(target="interp"):
        for program, _, ours, theirs, agree in example(f"embarbb.{name}").cases(True):
            assert agree(ours(), theirs()), program


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_small_cases_agree_when_compiled(example, name):
    """The same by machine code."""
    for program, _, ours, theirs, agree in example(f"embarbb.{name}").cases(True):
        assert agree(ours(), theirs()), program


def test_the_readme_lists_every_file():
    """A row of its table for each."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")

    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]

    assert sorted(listed) == [f"{name}.py" for name in NAMES]


def test_lists_of_one_element_and_of_all(example):
    """Ranks of elements that are alone, and of one list of 129."""
    lists = example("embarbb.lists")

    assert lists.ranks(np.arange(3)).tolist() == [0, 0, 0]
    chain = np.minimum(np.arange(129) + 1, 128)
    assert lists.ranks(chain).tolist() == list(range(128, -1, -1))
