"""The table of first calls has every function that calls a library, and adds up."""

import flatweave as fw
from bench import library_calls


def test_every_function_is_called():
    """Each of both modules, but for those of numbers alone."""
    named = {name for name, _, _ in library_calls.calls()}
    wanted = {f"linalg.{name}" for name in fw.linalg.__all__}
    wanted |= {f"fft.{name}" for name in fw.fft.__all__ if not name.endswith("freq")}
    assert named == wanted


def test_the_page():
    """The slowest first; how many are above the limit."""
    found = [("fft.fft", 1.0, 20.0, None), ("linalg.eigh", 0.1, 16.0, 400.0)]
    text = library_calls.page(found, {"date": "2026-11-24 10:00 UTC"})
    assert text.index("linalg.eigh") < text.index("fft.fft")
    assert "| `fft.fft` | 1 | 20 |  |" in text
    assert text.endswith("Above 300 ms: 1 of 2 functions.\n")
