"""Programs of devices that an earlier process compiled: the same values, lines and errors, and the
compiler is not imported."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import flatweave as fw
from flatweave import recall, recall_on_devices
from flatweave.base.config import config
from flatweave.base.errors import Unsupported
from flatweave.frontend.call import eager
from flatweave.recall_on_devices import RecalledOnDevice
from flatweave.runtime.cache import DiskCache, seal
from flatweave.runtime.systems import system
from tests.conftest import DEVICE
from tests.shape.tree import ROOT

pytestmark = [
    pytest.mark.needs_device,
    pytest.mark.skipif(not system().has_images, reason="the portable runtime maps no images"),
]
XS = np.sin(np.arange(1025.0))


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache of this test's own, in which everything is kept."""
    kept = DiskCache(tmp_path, 1 << 28)
    monkeypatch.setattr(recall, "process_cache", lambda: kept)
    monkeypatch.setattr(eager, "COMPILER", [recall.build])
    with config.scoped(verify=False, no_cache=False):
        yield tmp_path


def fresh(f):
    """A function that no call of this process has compiled, and what its calls run."""
    made = fw.jit(f, target=DEVICE)
    return made, lambda *args: made.taken(*args)[0].executable


PROGRAMS = {
    "sum": (lambda xs: fw.sum(xs), XS),
    "sort": (lambda xs: fw.sort(xs), XS),
    "filter": (lambda xs: fw.filter(lambda v: v > 0.5, xs), XS),
    "scan": (lambda xs: fw.scan(fw.multiply, 1.0, xs), XS),
    "numbers": (lambda xs, k, b: fw.where(b, xs * k, -xs), XS, 3, True),
    "nothing": (lambda xs: xs * 2, XS[:0]),
    "turns": (lambda xs: fw.while_loop(lambda s: s[0] < 9, lambda s: s * 2 + 1, xs), np.arange(9)),
}  # fmt: skip


SLOW = ("sort", "filter", "scan")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PROGRAMS],
)
def test_values_are_the_same(folder, name):
    """Compiled, and recalled instead."""
    f, *args = PROGRAMS[name]
    (first, _), (second, runs) = fresh(f), fresh(f)
    expected, found = np.asarray(first(*args)), np.asarray(second(*args))

    assert isinstance(runs(*args), RecalledOnDevice)
    assert found.tobytes() == expected.tobytes() and found.dtype == expected.dtype
    assert runs(*args)._whole is None


def test_lines_are_those_of_the_trace(folder):
    """An error names the line, wherever it is now."""
    def f(xs, i):
        return fw.gather(xs, i)

    for _ in range(2):
        made, runs = fresh(f)
        with pytest.raises(fw.IndexOutOfBounds, match="index 2000 is outside") as found:
            np.asarray(made(XS, np.array([2000])))
        assert "return fw.gather(xs, i)" in str(found.value)
    assert runs(XS, np.array([1]))._whole is None


def test_kernels_that_no_process_needed_are_made_and_kept(folder):
    """A branch that was never taken: the compiler is asked once."""
    def f(xs):
        return fw.cond(xs[0] > 0, lambda xs: xs * 2, lambda xs: fw.reverse(xs) + 1, xs)

    first, _ = fresh(f)
    first(XS + 2)
    wanted = (XS - 2)[::-1] + 1
    for has_compiled in (True, False):
        made, runs = fresh(f)
        assert np.array_equal(made(XS - 2), wanted)
        assert (runs(XS)._whole is not None) == has_compiled


def test_texts_are_there_for_who_asks(folder):
    """The compiler gives them; calls still run what was recalled."""
    (first, _), (second, runs) = fresh(PROGRAMS["sum"][0]), fresh(PROGRAMS["sum"][0])
    first(XS)

    assert "k_" in second.stages(XS).text[DEVICE]
    assert isinstance(runs(XS), RecalledOnDevice)
    assert np.isclose(second(XS).item(), XS.sum())


def test_texts_need_no_device(folder, monkeypatch):
    """Those of a program that an earlier process printed, where no driver is found."""
    def missing(number):
        raise Unsupported("no driver")

    monkeypatch.setitem(recall_on_devices.FIND, "cuda", missing)
    for _ in range(2):
        f = fw.jit(PROGRAMS["sum"][0], target="cuda")
        assert "__global__" in f.stages(XS).text["cuda"]
    assert isinstance(f.taken(XS)[0].executable, RecalledOnDevice)


@pytest.mark.parametrize("content", [b"", b"\x00", "short"])
def test_what_is_damaged_is_compiled_anew(folder, content):
    """Sealed rightly, and yet no program."""
    f = PROGRAMS["sum"][0]
    first, _ = fresh(f)
    expected = first(XS).item()
    for file in folder.rglob("*"):
        if file.is_file():
            whole = file.read_bytes()
            file.write_bytes(whole[:-9] if content == "short" else seal(file.name, content))
    second, _ = fresh(f)

    assert second(XS).item() == expected


@pytest.mark.slow
def test_a_second_process_does_without_the_compiler(tmp_path):
    """Neither passes nor LLVM are imported."""
    script = textwrap.dedent(f"""
        import sys
        import numpy as np
        import flatweave as fw
        found = fw.jit(lambda xs: xs * 3 + 1, target={DEVICE!r})(np.arange(9))
        names = ("flatweave.pipeline", "flatweave.lower", "llvmlite")
        print(np.asarray(found).tolist(), any(name in sys.modules for name in names))
    """)
    home = {"XDG_CACHE_HOME": str(tmp_path), "FLATWEAVE_VERIFY": "0", "PYTHONPATH": str(ROOT)}

    def said():
        ran = [sys.executable, "-c", script]
        return subprocess.run(
            ran, env={**os.environ, **home}, capture_output=True, text=True, check=True
        ).stdout

    values = [k * 3 + 1 for k in range(9)]
    assert [said(), said()] == [f"{values} True\n", f"{values} False\n"]
