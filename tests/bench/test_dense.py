"""Dense work next to libraries: rows of each group, and how one is measured."""

import time

import pytest

from bench import dense


@pytest.mark.parametrize("group", ["small", "products"])
def test_rows_of_a_group(group):
    """Each row has a distinct name and a target."""
    pytest.importorskip("scipy")
    rows = list(dense.ROWS[group]())
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.wanted > 0 for row in rows)


def test_a_measured_row(monkeypatch):
    """The least times of both calls."""
    monkeypatch.setattr(dense, "SECONDS", 0)
    row = dense.Row("sleep", lambda: time.sleep(0.02), lambda: time.sleep(0.001), 1.0)
    ours, theirs = dense.measured(row, time.perf_counter)
    assert 0.001 <= theirs < 0.02 <= ours
