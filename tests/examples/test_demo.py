"""examples/demo.py runs every example and says so when one is wrong."""

import os
import subprocess
import sys

import pytest

from tests.shape.tree import ROOT


@pytest.mark.slow
def test_the_demo_ends_with_a_table_and_pictures(tmp_path):
    """`python examples/demo.py --quick` ends with 0, all rows right, the pictures written."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py", "--quick", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "140", "FLATWEAVE_VERIFY": "0"},
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == 18
    assert len(list(tmp_path.glob("*.png"))) == 8


def test_the_demo_ends_with_a_table(example, monkeypatch, tmp_path, capsys):
    """With 0: of one example, without pictures."""
    demo, wc = example("demo"), example("wc")
    monkeypatch.setattr(demo, "cases", lambda quick: wc.cases(1))
    monkeypatch.setattr(demo, "pictures", lambda folder, frames: iter([folder / "a.png"]))

    assert demo.main(["--quick", str(tmp_path)]) == 0

    printed = capsys.readouterr().out
    assert "WRONG" not in printed
    assert printed.count("right") == len(list(wc.cases(1)))
    assert "a.png" in printed


def test_a_wrong_result_is_seen(example):
    """A row whose results differ is marked, and the exit code says so."""
    demo = example("demo")
    row = demo.measure(("adding", "two numbers", lambda: 3, lambda: 4, lambda a, b: a == b))

    assert not row.right
    assert "WRONG" in str(list(demo.table_of([row]).columns[-1].cells))
