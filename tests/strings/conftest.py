"""Strings are tried on the interpreter; `test_compiled.py` compiles them."""

import pytest

import flatweave as fw


@pytest.fixture(autouse=True)
def interpreted():
    """Values are what is tested here."""
    with fw.target("interp"):
        yield
