"""Every mistake gets the message that was written for it: what, where, whence, what to do."""

import pytest

import flatweave as fw
from tests.errors.rendering import CASES, MESSAGES, message_of
from tests.language.agreement import same


@pytest.mark.parametrize("name", CASES)
def test_the_whole_message(target, name):
    """Word for word, on every target."""
    assert message_of(CASES[name]) == (MESSAGES / f"{name}.txt").read_text(encoding="utf-8")


def test_every_message_has_its_case():
    """A message of a case that is gone is gone, too."""
    assert {path.stem for path in MESSAGES.glob("*.txt")} == set(CASES)


def test_every_message_names_a_line_and_a_remedy():
    """A message that does not say what to do is not finished."""
    for path in MESSAGES.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "misuses.py:N:" in text, path.stem
        assert len(text.splitlines()) >= 5, path.stem


@pytest.mark.parametrize("name", ["if_on_a_tracer", "index_out_of_bounds", "float_index"])
def test_the_process_goes_on(target, name):
    """After an error everything works as before."""
    with pytest.raises(fw.UserError):
        CASES[name]()

    same(fw.jit(lambda x: x + 1)(1), fw.iota(3)[2])
