"""Medians, quantiles, sums without NaN of a Ragged: of each row, at each position, of all."""

import warnings

import numpy as np
import pytest

import flatweave as fw

ROWS = [[3.0, np.nan, 1.0], [], [np.nan], [5.0, 2.0, 8.0, 1.0], [4.0]]
FOLDS = ("median", "ptp", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmedian",
         "nanmin", "nanmax")  # fmt: skip
OF_NOTHING = {"nansum": 0.0, "nanprod": 1.0}


def numpys(name, rows, **options):
    """What NumPy gives for each row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [float(getattr(np, name)(row, **options)) if len(row)
                else OF_NOTHING.get(name, np.nan) for row in rows]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", FOLDS)
def test_of_each_row(target, name):
    """Along axis 1; those that need elements, of rows that have some."""
    rows = [row for row in ROWS if row] if name in ("ptp", "nanmin", "nanmax") else ROWS
    found = fw.jit(lambda r: (getattr(fw, name)(r, axis=1), getattr(fw, name)(r)))(fw.ragged(rows))
    values = [x for row in rows for x in row]

    np.testing.assert_allclose(found[0], numpys(name, rows))
    np.testing.assert_allclose(found[1], numpys(name, [values])[0])


def test_at_each_place():
    """Along axis 0: columns of the rows that are long enough."""
    rows = [[3.0, 1.0], [], [5.0, 2.0, 8.0], [4.0]]
    columns = [[row[k] for row in rows if len(row) > k] for k in range(3)]

    np.testing.assert_allclose(fw.median(fw.ragged(rows), axis=0), numpys("median", columns))
    np.testing.assert_allclose(fw.nansum(fw.ragged(rows), axis=0), numpys("nansum", columns))


def test_quantiles_and_prefixes(target):
    """One for each row; prefixes have the rows' lengths."""
    rows = fw.ragged(ROWS)
    part = fw.jit(lambda r, q: fw.nanquantile(r, q, axis=1))(rows, 0.25)
    sums = fw.jit(lambda r: fw.nancumsum(r, axis=1))(rows)

    np.testing.assert_allclose(part, numpys("nanquantile", ROWS, q=0.25))
    assert sums.tolist() == [np.nancumsum(row).tolist() for row in ROWS]


def test_inside_of_map(target):
    """Of rows that are computed, and of rows of a matrix."""
    rows = fw.ragged([[3, 1, 2], [4], [9, 7]])
    found = fw.jit(lambda r, m: (fw.map(lambda row: fw.median(row * 2), r),
                                 fw.map(lambda row: fw.quantile(row, 0.5), m)))(
        rows, np.arange(6.0).reshape(2, 3)
    )  # fmt: skip

    assert found[0].tolist() == [4.0, 8.0, 16.0]
    assert found[1].tolist() == [1.0, 4.0]
