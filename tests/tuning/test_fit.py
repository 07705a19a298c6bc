"""Thresholds are those nearest to the machine's that choose what was faster."""

import numpy as np
import pytest

from flatweave.base.records import replace
from flatweave.base.schedule import ALWAYS, NEVER, Sizes, Thresholds
from flatweave.tuning.measure import Seen, fitted

GIVEN = Thresholds(rows=64, longest=65536, share=16, mean=8)
LARGE = Sizes(20_000, 1_000_000, 200)


def test_nothing_changes_without_need():
    """The faster version is the default, or both are equally fast."""
    right = [Seen(LARGE, 2.0, 1.0), Seen(Sizes(3, 3000, 1000), 1.0, 2.0)]
    equal = [Seen(LARGE, 1.0, 1.04), Seen(Sizes(3, 3000, 1000), 1.04, 1.0)]

    assert fitted(GIVEN, []) == fitted(GIVEN, right) == fitted(GIVEN, equal) == GIVEN


@pytest.mark.parametrize(
    ("sizes", "changed"),
    [
        (Sizes(40, 40_000, 1500), {"rows": 40}),
        (Sizes(64, 6_400_000, 100_000), {"longest": 100_000}),
        (Sizes(100, 100_000, 10_000), {"share": 10}),
        (Sizes(1000, 5_500, 10), {"mean": 5}),
        (Sizes(10, 500, 100), {"rows": 10, "share": 5}),
    ],
)
def test_what_is_faster_by_row_is_let_in(sizes, changed):
    """Each threshold that keeps it out moves just as far as it must."""
    assert not GIVEN.admits(sizes)
    found = fitted(GIVEN, [Seen(sizes, flat=2.0, by_row=1.0)])

    assert found == replace(GIVEN, **changed)
    assert found.admits(sizes)


def test_what_is_faster_flat_is_left_out_by_the_nearest_threshold():
    """A mean length of 9 is nearer to 8 than 20,000 rows to 64."""
    assert fitted(GIVEN, [Seen(Sizes(20_000, 170_000, 30), 1.0, 2.0)]) == replace(GIVEN, mean=9)
    assert fitted(GIVEN, [Seen(Sizes(70, 70_000, 1500), 1.0, 2.0)]) == replace(GIVEN, rows=71)


def test_where_no_thresholds_are_right_they_lose_least():
    """The greater difference decides."""
    seen = [Seen(LARGE, 10.0, 1.0), Seen(LARGE, 1.0, 2.0)]

    assert fitted(GIVEN, seen).admits(LARGE)
    assert not fitted(GIVEN, [Seen(LARGE, 1.0, 2.0), *seen[1:]]).admits(LARGE)


def test_empty_nests_have_no_ratios():
    """No rows, and rows without values."""
    for sizes in (Sizes(0, 0, 0), Sizes(100, 0, 0)):
        assert fitted(GIVEN, [Seen(sizes, 2.0, 1.0)]).admits(sizes)
        assert not fitted(ALWAYS, [Seen(sizes, 1.0, 2.0)]).admits(sizes)


def test_on_random_sizes_no_other_thresholds_lose_less():
    """Against thresholds at random, and those with one changed; of equal ones none is nearer."""
    random = np.random.default_rng(7)

    def seen():
        rows, mean, skew = (int(random.integers(1, top)) for top in (300, 50, 20))
        return Seen(Sizes(rows, rows * mean, mean * skew), *random.uniform(1, 3, 2).tolist())

    def lost(limits, all_seen):
        return sum(each.loss(limits.admits(each.sizes)) for each in all_seen)

    for count in (1, 2, 3, 5, 8):
        all_seen = [seen() for _ in range(count)]
        found = fitted(GIVEN, all_seen)
        least = lost(found, all_seen)
        for _ in range(300):
            other = Thresholds(*(int(2 ** random.uniform(0, top)) for top in (9, 10, 5, 6)))
            assert lost(other, all_seen) >= least - 1e-12
        assert lost(ALWAYS, all_seen) >= least - 1e-12
        assert lost(NEVER, all_seen) >= least - 1e-12


def test_many_inputs_are_fitted_in_little_time():
    """What is kept of many thresholds is the choices that they make."""
    random = np.random.default_rng(8)
    sizes = [Sizes(int(n), int(n) * 9, 30) for n in random.integers(1, 1000, 100)]
    found = fitted(GIVEN, [Seen(each, 1.0, 2.0 if each.rows < 200 else 0.5) for each in sizes])

    assert all(found.admits(each) == (each.rows >= 200) for each in sizes)
