"""xarray, Dask, SciPy and scikit-learn on arrays of ours: each with the library itself."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import flatweave as fw
from tests.docs.blocks import programs
from tests.shape.tree import ROOT

PAGE = ROOT / "docs" / "how_to" / "any_array.md"


def test_the_page_runs(tmp_path):
    """In a process of its own, as SciPy reads its variable when it is imported; without the
    program of scikit-learn where that is missing."""
    for name in ("xarray", "dask.dataframe", "scipy"):
        pytest.importorskip(name)
    has_sklearn = find_spec("sklearn") is not None
    source = "".join(
        program for program in programs(PAGE.read_text(encoding="utf-8"))
        if has_sklearn or "sklearn" not in program
    )
    (tmp_path / "page.py").write_text(source, encoding="utf-8")
    known = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)}

    done = subprocess.run(
        [sys.executable, tmp_path / "page.py"], env=known, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


OF_LABELS = {
    "mean": lambda a: a.mean("day"), "std": lambda a: a.std("day", ddof=1),
    "median": lambda a: a.median("site"), "cumsum": lambda a: a.cumsum("day"),
    "anomaly": lambda a: (a - a.mean("day")) / a.max(), "where": lambda a: a.where(a > 3).sum(),
    "chosen": lambda a: a.sel(day=[2, 1]).isel(site=0), "turned": lambda a: a.T.roll(day=1),
    "groups": lambda a: a.groupby("half").mean(), "steps": lambda a: a.diff("day").shift(day=1),
    "filled": lambda a: a.reindex(day=[1, 9]).fillna(-1.0), "ufunc": lambda a: np.exp(a).round(2),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_LABELS)
def test_labels_of_xarray(name):
    """Elements stay arrays of ours, and have the values of NumPy's."""
    xr = pytest.importorskip("xarray")
    coords = {"day": [1, 2, 3], "half": ("day", [0, 0, 1])}
    values = np.arange(12.0).reshape(3, 4)

    def found(elements):
        return OF_LABELS[name](xr.DataArray(elements, dims=("day", "site"), coords=coords))

    theirs = found(values)
    with fw.target("interp"):
        ours = found(fw.asarray(values))

    assert isinstance(ours.data, fw.Array)
    assert (ours.dims, list(ours.coords)) == (theirs.dims, list(theirs.coords))
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-12)
