"""Stages, explanations and profiles of functions whose arrays are in chunks."""

import numpy as np
import pytest

import flatweave as fw

XS = np.arange(24.0)


def spread(x):
    total = fw.sum(x * x)
    return total, fw.cumsum(x) / total


def test_stages_are_those_of_each_step():
    """The whole function, its steps, and what becomes of each."""
    stages = fw.jit(spread).stages(fw.Chunked.cut(XS, 10))
    assert len(stages.steps) == 2 and not stages.executable.is_whole
    assert stages.text["array"].startswith("spread(")
    assert stages.text["steps"].count("chunks of") == 2
    assert "folds" in stages.text["steps"] and "; step spread_1" in stages.text["fused"]
    assert stages.kernels == sum(step.kernels for step in stages.steps)
    for shown in (str(stages), stages.notes, stages.seconds, stages.launched, stages.manifest):
        assert shown is not None
    assert "---- steps ----" in str(stages) and stages._repr_html_() is None
    with pytest.raises(fw.Unsupported, match=r"(?s)is a separate program.*steps\[0\]\.page"):
        stages.page()


def test_the_page_of_a_step(tmp_path):
    """As the advice says."""
    stages = fw.jit(lambda x: fw.sum(x), target="cpu").stages(fw.Chunked.cut(XS, 10))
    assert stages.cpu
    assert stages.steps[0].page(tmp_path / "step.html", run=False).read_text()


def test_explanations_and_profiles_name_steps():
    """On how many chunks each ran, its passes, its kernels, its lines."""
    xs = fw.Chunked.cut(XS, 10)
    f = fw.jit(spread)
    said = str(fw.explain(f, xs))
    assert "spread: 2 steps. " in said
    assert "Step 1, spread_0: on 3 chunks, in order." in said
    assert "reduces to a value" in said and "computes an array" in said
    assert said.count("ran 3 times") == 2

    with fw.profile() as profile:
        f(xs)
    rows = {row["function"]: row for row in profile.rows()}
    assert set(rows) == {"spread_0", "spread_1"}
    assert all(row["launches"] == 3 and row["seconds"] > 0 for row in rows.values())
    calls = [row for row in profile.calls() if row["calls"]]
    assert all("test_chunks.py:" in row["line"] for row in calls)


def test_what_is_tuned_is_on_one_machine():
    """Tuning asks for some rows."""
    with pytest.raises(fw.Unsupported, match=r"(?s)tune measures.*xs\.load\(0, 1000\)"):
        fw.tune(fw.jit(spread), (fw.Chunked.cut(XS, 10),))
