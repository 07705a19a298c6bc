"""The examples as modules: each is a separate program, in a folder that is not a package."""

import importlib
import sys

import pytest

from tests.shape.tree import ROOT


@pytest.fixture
def example(monkeypatch):
    """Gives the module of an example by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))

    def load(name):
        known = sys.modules.get(name)
        return known if known is not None else importlib.import_module(name)

    return load
