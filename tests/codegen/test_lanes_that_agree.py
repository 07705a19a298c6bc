"""A branch on comparisons of an index runs for all lanes at once where they agree."""

import numpy as np
import pytest

import flatweave as fw

WIDTHS = [0, 1, 2, 15, 16, 17, 63, 64, 65, 130, 200]
DTYPES = ["u1", "f4", "f8"]


def rows(columns, dtype):
    """Three rows of different numbers."""
    return (np.arange(3 * columns) % 199).reshape(3, columns).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", WIDTHS)
def test_one_of_two_arrays_by_its_place(columns, dtype):
    """Joined rows: the second array begins in the middle of a step."""
    x, y = rows(columns, dtype), rows(70, dtype)

    np.testing.assert_array_equal(fw.concat([x, y], axis=1), np.concatenate([x, y], 1))
    np.testing.assert_array_equal(fw.concat([y, x, y], axis=1), np.concatenate([y, x, y], 1))


CONDITIONS = {
    "and": lambda i, lo, hi: (i >= lo) & (i < hi),
    "or": lambda i, lo, hi: (i < lo) | (i > hi),
    "not": lambda i, lo, hi: fw.logical_not((i >= lo) & (i <= hi)),
    "falling": lambda i, lo, hi: (hi - i > lo) & (lo <= i),
    "with a flag": lambda i, lo, hi: (i >= lo) & (hi > 40),
    "sum that wraps": lambda i, lo, hi: i + (2**63 - 1 - hi) < 2**63 - 1 - lo,
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (0, 300), (3, 64), (64, 128), (100, 50), (-9, 41)])
def test_every_kind_of_condition(name, lo, hi):
    """As without lanes, by the interpreter."""
    holds, xs = CONDITIONS[name], np.arange(300.0, dtype=np.float32)

    def chosen(xs, lo, hi):
        return fw.generate(
            (300,), lambda i: fw.cond(holds(i, lo, hi), lambda: xs[i] + 1, lambda: xs[299 - i])
        )

    with fw.target("interp"):
        wanted = fw.jit(chosen)(xs, lo, hi)

    np.testing.assert_array_equal(fw.jit(chosen)(xs, lo, hi), wanted)


def test_the_text_has_a_step_without_masks():
    """All lanes load at once; only a step where they differ loads under a mask."""
    x = rows(200, "u1")

    text = fw.jit(lambda x, w: fw.pad(x, w)).stages(x, 2).text["llvm"]

    assert "differ" in text
    assert "masked" in text
