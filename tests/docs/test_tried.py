"""What new users tried runs as its transcript says: docs/making/tried.

    python -m tests.docs.test_tried         writes the transcripts
"""

import contextlib
import io
import runpy

import pytest

import flatweave as fw
from tests.shape.tree import ROOT

SCRIPTS = sorted((ROOT / "docs" / "making" / "tried").glob("*.py"))
NEEDS = {"from_pandas": "pandas", "from_awkward": "awkward"}


def transcript(script):
    """What a script prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))
    return printed.getvalue()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_prints_its_transcript(script):
    """On the interpreter, but for kernels."""
    if script.stem in NEEDS:
        pytest.importorskip(NEEDS[script.stem])
    with fw.target("cpu" if script.stem == "from_cuda" else "interp"):
        found = transcript(script)

    assert found == script.with_suffix(".txt").read_text(encoding="utf-8")


def test_each_transcript_has_its_script():
    """And each script says where its user stumbled."""
    assert {path.stem for path in SCRIPTS} == {
        path.stem for path in SCRIPTS[0].parent.glob("*.txt")
    }
    assert len(SCRIPTS) == 3
    assert all("Stumbles, and what was changed:" in path.read_text("utf-8") for path in SCRIPTS)


if __name__ == "__main__":
    for each in SCRIPTS:
        each.with_suffix(".txt").write_text(transcript(each), encoding="utf-8")
