"""Functions that NumPy has as well give what NumPy's give, with any arguments."""

from pathlib import Path

import numpy as np
import pytest

import flatweave as fw
from tests.surface.explained import EXPLAINED
from tests.surface.run import run
from tests.surface.table import OTHER, TABLE

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"": (fw, np), "linalg.": (fw.linalg, np.linalg), "fft.": (fw.fft, np.fft)}


def test_every_function_has_a_row():
    """Of the public names that NumPy has as well."""
    missing = [
        prefix + name
        for prefix, (ours, theirs) in MODULES.items()
        for name in dir(ours)
        if name[0] != "_" and hasattr(theirs, name)
        if prefix + name not in TABLE and prefix + name not in OTHER
    ]  # fmt: skip

    assert not missing


def test_the_docs_explain_what_differs():
    """Each reason quotes words of a page."""
    for known in EXPLAINED:
        text = " ".join((ROOT / known.page).read_text(encoding="utf-8").split())
        assert known.words in text, known


@pytest.mark.parametrize(("target", "count"), [("interp", 1000), ("cpu", 100)])
def test_random_calls(target, count):
    """No difference that the docs do not explain."""
    tally = run(count, 1, target)

    assert not tally.differences
    assert tally.calls == count
