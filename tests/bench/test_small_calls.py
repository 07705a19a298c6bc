"""The table of calls on small arrays."""

import numpy as np

from bench import small_calls


def test_both_compute_the_same():
    """Each row, and its line."""
    for row in small_calls.rows(40):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(np.asarray(row.ours()), np.asarray(row.theirs()))

    times = small_calls.measured(row, calls=2, rounds=1)
    assert all(time > 0 for time in times)
    assert small_calls.line(row, 1.0, 8.5).split() == ["std(x)", "1.00", "8.50", "NumPy", "8.50"]
