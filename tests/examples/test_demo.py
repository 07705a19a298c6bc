"""examples/demo.py runs every example and says so when one is wrong."""

import os
import subprocess
import sys

from tests.shape.tree import ROOT


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


def test_a_wrong_result_is_seen(example):
    """A row whose results differ is marked, and the exit code says so."""
    demo = example("demo")
    row = demo.measure(("adding", "two numbers", lambda: 3, lambda: 4, lambda a, b: a == b))

    assert not row.right
    assert "WRONG" in str(list(demo.table_of([row]).columns[-1].cells))
