"""Masks next to other indices: each becomes the index arrays where it holds."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

COLUMNS = np.array([True, False, True])
LAYERS = [True, False, False, True]


def some(x, mask, cells, places):
    """One selection of each way to compile one."""
    return [x[mask, :, places], x[None, cells, 1]]


def every(x, mask, cells, places):
    """Every kind of part next to a mask, of one axis and of two."""
    return [
        *some(x, mask, cells, places), x[mask, 2], x[mask, :, 1], x[mask, None, 1],
        x[mask, ..., -1], x[mask, ::-1, 1:], x[mask, places], x[cells, 1], x[cells, ::2],
        x[:, COLUMNS], x[:, COLUMNS, 2], x[..., LAYERS], x[:, COLUMNS, None, 1],
        x[mask, [False, True, False], 1],
    ]  # fmt: skip


def test_masks_beside_other_indices(target):
    """Arrays between slices stay where they are, separated ones come first."""
    rng = np.random.default_rng(0)
    selections = every if target == "interp" else some
    f = fw.jit(selections)
    for n in (0, 1, 129) if target == "interp" else (0, 129):
        x = np.arange(n * 12).reshape(n, 3, 4)
        mask = np.arange(n) % 3 == 0
        places = rng.integers(-3, 3, int(mask.sum()))
        cells = rng.random((n, 3)) < 0.4

        same(f(x, mask, cells, places), selections(x, mask, cells, places))
    same(fw.asarray(x)[-1, COLUMNS, 1:], x[-1, COLUMNS, 1:])


def test_a_mask_that_holds_once_is_broadcast(target):
    """As NumPy broadcasts its one index."""
    x = np.arange(6).reshape(2, 3)
    f = fw.jit(lambda x, mask, i: x[mask, i])

    for mask in ([True, False], [True, True]):
        same(f(x, np.array(mask), np.array([0, 2])), x[mask, [0, 2]])
    with pytest.raises(ValueError, match="got 2 and 3 elements"):
        f(x, np.array([True, True]), np.array([0, 1, 2]))


def test_masks_beside_other_indices_of_rows(target):
    """In functions of elements each row has a different mask."""
    x = np.random.default_rng(1).integers(0, 9, (9, 4, 4))
    f = fw.jit(lambda x: fw.map(lambda r: fw.sum(r[r[:, 0] > 3, r[r[:, 0] > 3, 1] % 4]), x))

    sums = f(x)

    assert sums.tolist() == [r[r[:, 0] > 3, r[r[:, 0] > 3, 1] % 4].sum() for r in x]


def test_writes_where_a_mask_holds_beside_other_indices(target):
    """Every key that selects can be written to."""
    x = np.arange(24).reshape(2, 3, 4)
    mask = np.array([True, False])
    changed = [x.copy() for _ in range(3)]
    changed[0][mask, 1:, 2] = -5
    changed[1][:, COLUMNS, 0] += [[1, 2], [3, 4]]
    changed[2][1, COLUMNS] = np.arange(8).reshape(2, 4)

    same(fw.jit(lambda x, mask: [
        x.at[mask, 1:, 2].set(-5),
        x.at[:, COLUMNS, 0].add(np.array([[1, 2], [3, 4]])),
        fw.replace(x, (1, COLUMNS), np.arange(8).reshape(2, 4)),
    ])(x, mask), changed)  # fmt: skip


def test_masks_that_do_not_fit(target):
    """A mask is as long as the array along each of its axes, of which there are enough."""
    x = fw.asarray(np.arange(24).reshape(2, 3, 4))

    for key in [(np.array([True] * 3), 0), (0, [True] * 4), np.ones((3, 2), bool)]:
        with pytest.raises(fw.ShapeError, match=r"a mask needs the lengths.* got \d and \d"):
            x[key]
    with pytest.raises(fw.ShapeError, match="4 indices for"):
        x[np.ones((2, 3, 4), bool), 0]
    for key in [(np.array([True, False]), 7), ([True, False], [0, -4])]:
        with pytest.raises(fw.IndexOutOfBounds, match=r"outside an array of 3 elements"):
            x[key]


def test_single_bools(target):
    """One bool is a new axis of extent 1, or of 0 where it does not hold, known or computed."""
    x, one = np.arange(24).reshape(2, 3, 4), np.float64(2.5)
    keys = [True, False, (0, True), (False, 0), (slice(1), True), (..., False), (True, [0, 1])]
    if target == "interp":
        keys += [
            np.array(True), (True, True), (None, True), (True, slice(2), 0), (True, [True, False]),
            (slice(None), [2], False), (0, True, [1]), (slice(2), True, 0, ..., True),
        ]  # fmt: skip
    f = fw.jit(lambda x, p: (x[0, p], x[p], x[:, [2], p]))

    same(fw.jit(lambda x: [x[key] for key in keys])(x), [x[key] for key in keys])
    for p in (np.True_, np.False_):
        same(f(x, p), (x[0, p], x[p], x[:, [2], p]))
        same(fw.asarray(one)[p], one[p])
        if target == "interp":
            changed = x.copy()
            changed[1, p] = 7
            same(fw.asarray(x).at[1, p].set(7), changed)
