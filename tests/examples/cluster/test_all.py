"""examples/cluster: every program finds in chunks what it finds on one machine."""

import os
import subprocess
import sys

import pytest

import flatweave as fw
from tests.shape.tree import ROOT

pytest.importorskip("distributed")
pytest.importorskip("rich")
FOLDER = ROOT / "examples" / "cluster"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__main__")
LONG = ("csv_statistics", "graph", "medians", "word_count")  # take a second and more to compile


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in NAMES]
)
def test_chunks_give_what_one_machine_gives(example, tmp_path, name):
    """In this process, with a bound on memory."""
    same = example("cluster.__main__").same
    if name == "medians":
        pytest.importorskip("pyarrow")

    for program, _, chunked, whole in example(f"cluster.{name}").cases(tmp_path, True):
        with fw.on(memory="1 GiB", folder=tmp_path):
            assert same(chunked(), whole()), program


def test_a_difference_is_seen(example):
    """Of values, of shapes and of element types."""
    same = example("cluster.__main__").same

    assert same((fw.iota(3), 1.0), (fw.iota(3), 1.0 + 1e-12))
    assert not same(fw.iota(3), fw.iota(4)[1:])
    assert not same(fw.iota(3), fw.iota(4))
    assert not same(fw.iota(3), fw.iota(3) * 1.0)


@pytest.mark.slow
def test_two_processes_give_what_one_gives():
    """`python examples/cluster --quick` ends with 0, all rows right."""
    done = subprocess.run(
        [sys.executable, FOLDER, "--quick"], capture_output=True, text=True, check=False,
        env=os.environ | {"COLUMNS": "140"},
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == len(NAMES) + 2


def test_an_unknown_file_is_named(example, capsys):
    """With those that there are; nothing is begun."""
    assert example("cluster.__main__").main(["nothing"]) == 2
    assert "There is no nothing; there are csv_statistics, dragon," in capsys.readouterr().out
