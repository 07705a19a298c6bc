"""examples/gradients: values and derivatives agree with the published formulas in NumPy."""

import pytest

from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "gradients"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_small_cases_agree(example, name):
    """What the runner shows for each program, compiled."""
    for program, _, ours, theirs, agree in example(f"gradients.{name}").cases(True):
        assert agree(ours(), theirs()), program


def test_the_readme_lists_every_file():
    """A row of its table for each."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")

    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]

    assert sorted(listed) == [f"{name}.py" for name in NAMES]


def test_the_runner_ends_well(example, monkeypatch, capsys):
    """`python examples/gradients --quick lstm` prints a table and ends with 0."""
    assert example("folder").run(FOLDER, ["--quick", "lstm"]) == 0
    assert capsys.readouterr().out.count("right") == 1
