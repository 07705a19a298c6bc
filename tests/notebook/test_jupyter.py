"""A notebook that Jupyter's own kernel runs shows values and functions as pictures and pages."""

import os
import sys

import pytest

from tests.shape.tree import ROOT

CELLS = [
    "import numpy as np\nimport flatweave as fw\nxs = fw.asarray(np.eye(20))\nxs",
    "fw.ragged([[1.0], [], [2.0, 3.0]])",
    "@fw.jit\ndef half(x):\n    return fw.sum(x) / 2\nhalf(xs)",
    "half",
    "half.stages(xs)",
    "xs + np.ones(3)",
]


@pytest.fixture(scope="module")
def outputs():
    """What each cell shows: the data of its result, by kind, or its error."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, CELLS)))
    client = nbclient.NotebookClient(notebook, timeout=120, allow_errors=True)
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    return [cell.outputs[-1] for cell in notebook.cells]


@pytest.mark.slow
def test_values_are_pictures_and_functions_pages(outputs):
    """Beside the text that any console shows."""
    array, rows, number, function, stages, _ = (found.get("data", {}) for found in outputs)

    assert array["text/plain"].startswith("Array([[1.,") and "data:image/png" in array["text/html"]
    assert "Ragged" in rows["text/plain"] and "<svg" in rows["text/html"]
    assert number["text/plain"] == "Array(10.0, dtype=float64)"
    assert "<iframe" in function["text/html"] and "<iframe" in stages["text/html"]


@pytest.mark.slow
def test_an_error_names_the_cells_line(outputs):
    """In Jupyter a cell is no file, and its lines are known all the same."""
    error = outputs[-1]

    assert error["output_type"] == "error" and error["ename"] == "ShapeError"
    assert "xs + np.ones(3)" in error["evalue"]
