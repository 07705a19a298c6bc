"""Requirements are judged from interleaved times, round by round."""

import pytest

from bench.needs import ONE, OURS, V3, At, AtMost, Faster, OfFloor, OneThread, PerSecond, Times
from bench.table import duration, text

# in the second round the whole machine is half as fast
SECONDS = {
    OURS: [1.0, 2.0, 1.1],
    ONE: [1.8, 3.6, 1.8],
    "flatweave, x86-64-v3": [1.2, 2.5, 1.2],
    "C loop": [2.0, 4.0, 2.0],
    "numpy": [3.0, 6.0, 3.0],
    "numba": [1.5, 3.0, 1.5],
}
TIMES = Times(SECONDS, reference=[0.45, 0.9, 0.45], moved=50, compulsory=100)


@pytest.mark.parametrize(
    ("need", "measured", "reached"),
    [
        (OfFloor(0.85), "0.90", True),
        (OfFloor(0.95), "0.90", False),
        (Faster(1.4, "numpy", "numba"), "1.50 (numba)", True),
        (Faster(4, "numpy"), "3.00 (numpy)", False),
        (Faster(1, "jax"), "no peer", None),
        (OneThread(), "1.11", True),
        (AtMost(1200, "ms"), "1.1e+03 ms", True),
        (At(V3, Faster(1.3, "numba")), "1.25 (numba)", False),
        (At("x86-64-v2", OfFloor(0.5)), "not measured", None),
        (PerSecond(0.9, "calls"), "0.9", True),
        (PerSecond(1, "calls"), "0.9", False),
    ],
)
def test_a_need_is_judged_by_the_median_of_ratios(need, measured, reached):
    """A slow round is slow for all, so ratios hardly see it."""
    verdict = need.judge(TIMES)

    assert (verdict.measured, verdict.reached) == (measured, reached)


def test_a_need_at_a_level_says_so_and_our_own_code_is_no_peer():
    """Code for another level is ours, too."""
    assert At(V3, OfFloor(0.7)).judge(TIMES).need == "x86-64-v3: 0.7 of memory's speed"
    assert Faster(0.1).judge(TIMES).measured.endswith("(numba)")


def test_without_a_compiler_there_is_no_floor():
    """What cannot be measured is neither reached nor missed."""
    verdict = OfFloor(0.85).judge(Times(SECONDS, [], 0, 100))

    assert verdict.reached is None


def test_the_least_times_can_be_compared_instead():
    """On a machine that others use, the median tells what they did."""
    times = Times({OURS: [1.0, 9.0], "numpy": [8.0, 3.0]}, [], 0, 0, least=True)

    assert times.ratio("numpy", OURS) == 3.0


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0131, "13.1 ms"), (4.2e-6, "4.2 us"), (2.5, "2.5 s"), (None, "")]
)
def test_times_have_a_readable_unit(seconds, shown):
    """Three digits are as precise as one can trust."""
    assert duration(seconds) == shown


def test_the_table_has_a_line_per_need():
    """A row's numbers are on its first line only."""
    verdict = {"need": "at most 1 s", "measured": "2 s", "reached": False}
    row = {"title": "a row", "seconds": {OURS: 2.0}, "verdicts": [verdict, verdict]}

    lines = text([row]).splitlines()

    assert [line.split()[-1] for line in lines[1:]] == ["NO", "NO"]
    assert "a row" not in lines[2]
