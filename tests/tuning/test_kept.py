"""Thresholds outlive a process: the next one compiles by them, or runs what was compiled so."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import ALWAYS, CHOSEN, Schedule, Thresholds
from flatweave.runtime import tuned
from flatweave.runtime.cache import seal
from flatweave.runtime.image import to_bytes
from flatweave.runtime.systems import system

ROOT = Path(__file__).resolve().parents[2]
SOME = (Thresholds(2, 1000, 1, 0), None, ALWAYS)
PROGRAM = """
    import sys
    import numpy as np
    import flatweave as fw
    from flatweave.base.schedule import Thresholds
    from flatweave.tuning import measure, search, tune
    def in_order(rows):
        return fw.map(lambda row: fw.cumsum(fw.sort(row)), rows)
    f = fw.jit(in_order)
    rows = fw.ragged(np.arange(40)[::-1], lengths=[9, 0, 1, 20, 10])
"""
TUNED = """
    measure.ROUNDS = 2
    search.alternatives = lambda plan: iter(())
    tune.fitted = lambda given, seen: Thresholds(2, 1000, 1, 0)
    print(fw.tune(f, (rows,)).nests[0].thresholds)
"""
CALLED = """
    result = f(rows).tolist()
    opened = "flatweave.pipeline" in sys.modules
    made = [name for name, _, made in f.stages(rows).launched if made and "by_row" in name]
    noted = any("fw.tune measured" in note for note in f.stages(rows).notes)
    print(sum(map(sum, result)), "compiled" if opened else "recalled", len(made), noted)
"""


@pytest.fixture
def run(tmp_path):
    """Run a script in a separate process, with a cache of this test: its output."""

    def ran(*scripts, **environment):
        file = tmp_path / "script.py"
        file.write_text("".join(map(textwrap.dedent, (PROGRAM, *scripts))), encoding="utf-8")
        home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "FLATWEAVE_VERIFY": "0"}
        done = subprocess.run(
            [sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=150,
            env=os.environ | home | {"PYTHONPATH": str(ROOT)} | environment,
        )  # fmt: skip
        return done.stdout.splitlines() or done.stderr

    return ran


def test_a_later_process_takes_what_was_measured(run):
    """Compiled for it at first, recalled after that; the sum is that of rows in order."""
    recalled = "recalled" if system().has_images and os.uname().machine == "x86_64" else "compiled"
    before, (said,), compiled, again = run(CALLED), run(TUNED), run(CALLED), run(CALLED)

    total = before[0].split()[0]
    assert before == [f"{total} compiled 0 False"]
    assert said.startswith("from 2 rows on")
    assert compiled == [f"{total} compiled 1 True"]
    assert again == [f"{total} {recalled} 1 True"]
    assert run(CALLED, FLATWEAVE_SCHEDULE="version=flat") == [f"{total} compiled 0 False"]
    assert run(CALLED, FLATWEAVE_NO_CACHE="1") == [f"{total} compiled 0 False"]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(run, tmp_path):
    """That is said before anything is measured; with the cache switched off it needs none."""
    (tmp_path / "cache").write_text("a file", encoding="utf-8")

    assert "the results of tune cannot be stored in" in run(TUNED)
    assert run(TUNED, CALLED, FLATWEAVE_NO_CACHE="1")[1].endswith("compiled 1 True")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Thresholds are in a folder of this test."""
    made = tuned.TunedFolder(tmp_path / "tuned")
    monkeypatch.setattr(tuned, "folder", lambda: made)
    with config.scoped(no_cache=False):
        yield made


def test_thresholds_are_read_as_they_were_written(folder, monkeypatch):
    """By who has not written them, too."""
    assert tuned.kept("a") == ()
    assert tuned.keep("a", SOME)
    monkeypatch.setattr(tuned, "_KEPT", {})

    assert tuned.kept("a") == SOME
    assert tuned.kept("b") == ()
    assert tuned.place() == folder.folder


@pytest.mark.parametrize("content", [b"", b"\xff\xff", to_bytes(7), to_bytes("text")])
def test_what_is_no_thresholds_counts_as_none(folder, content):
    """Other bytes under a good seal."""
    tuned.keep("others", ())
    (folder.folder / "x.fwc").write_bytes(seal("x", content))

    assert tuned.kept("x") == ()


def test_damage_counts_as_none(folder, monkeypatch):
    """A file that was cut off, and thresholds of three numbers."""
    tuned.keep("a", SOME)
    monkeypatch.setattr(tuned, "_KEPT", {})
    file = folder.folder / "a.fwc"
    file.write_bytes(file.read_bytes()[:-3])
    (folder.folder / "b.fwc").write_bytes(seal("b", to_bytes(((1, 2, 3), (1, 2, "3", 4)))))

    assert tuned.kept("a") == ()
    assert tuned.kept("b") == (None, None)


def test_a_folder_of_others_is_not_trusted(folder, monkeypatch):
    """Nothing is read from where somebody else could have written."""
    tuned.keep("a", SOME)
    monkeypatch.setattr(tuned, "_KEPT", {})
    folder.folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=r"what fw.tune measured, kept in .* is not used"):
        assert tuned.kept("a") == ()

    assert not tuned.keep("a", SOME)


def test_keys_tell_programs_machines_and_code_apart(monkeypatch):
    """What was tuned for one of them says nothing of the others."""
    keys = {tuned.key_of("f", CHOSEN), tuned.key_of("g", CHOSEN)}
    keys.add(tuned.key_of("f", Schedule(deterministic=False)))
    with config.scoped(cpu="x86-64-v3"):
        keys.add(tuned.key_of("f", CHOSEN))
    monkeypatch.setattr(tuned, "_machine", lambda: "another one")
    keys.add(tuned.key_of("f", CHOSEN))

    assert len(keys) == 5
    assert tuned.key_of("f", CHOSEN) == tuned.key_of("f", Schedule(tuned=SOME))


def test_results_do_not_depend_on_what_is_kept(folder, monkeypatch):
    """Thresholds of more nests than there are, and of fewer."""
    rows = fw.ragged(np.arange(40)[::-1], lengths=[9, 0, 1, 20, 10])
    monkeypatch.setattr(tuned, "key_of", lambda text, schedule: "all")

    for limits in ((), SOME, (ALWAYS,), (Thresholds(5, 20, 2, 8),) * 4):
        tuned.keep("all", limits)
        f = fw.jit(lambda rows: fw.map(fw.sort, rows), target="cpu")
        assert f(rows).tolist() == [sorted(row) for row in rows.tolist()]
