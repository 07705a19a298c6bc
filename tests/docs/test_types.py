"""Type checkers accept the programs of the pages, as they stand."""

import shutil
import subprocess
import sys

import pytest

from tests.docs.blocks import programs, shown
from tests.docs.test_pages import RUNNING
from tests.shape.tree import ROOT


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file for each page."""
    folder = tmp_path_factory.mktemp("typed")
    for page in RUNNING:
        name = shown(page).removesuffix(".md").replace("/", "_").replace("-", "_")
        text = "\n\n".join(programs(page.read_text(encoding="utf-8")))
        (folder / f"page_{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_mypy_accepts_the_pages(written):
    """Without an annotation that was not on the page. What polars registers has no types."""
    files = sorted(written.glob("*.py"))
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent",
         "--ignore-missing-imports", "--check-untyped-defs", *files],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip

    errors = [line for line in run.stdout.splitlines() if ": error:" in line]

    assert len(files) > 15
    assert run.returncode in (0, 1), run.stdout
    assert [line for line in errors if 'has no attribute "fw"' not in line] == []


@pytest.mark.slow
def test_pyright_accepts_the_pages(written):
    """Where it is installed."""
    pyright = shutil.which("pyright", path=f"{sys.prefix}/bin") or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    (written / "pyrightconfig.json").write_text('{"reportMissingImports": false}')

    run = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--project", written],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
