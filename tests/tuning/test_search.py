"""fw.tune searches schedules: faster ones hold from then on, and bits stay the same."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.records import replace
from flatweave.base.schedule import CHOSEN
from flatweave.lower.schedule.plan import SweepPlan, parse_plans
from flatweave.lower.schedule.steps import (
    BY_PANELS,
    Axis,
    Bind,
    Guard,
    Split,
    Stream,
    Tail,
    Vectorize,
    Version,
)
from flatweave.runtime import tuned
from flatweave.tuning import search
from flatweave.tuning.search import Search, alternatives

XS = np.arange(1000, dtype=np.float64) % 17


@pytest.fixture(autouse=True)
def narrower(monkeypatch):
    """The one change there is: half as many lanes. What is tried counts as faster."""

    def half(plan):
        (version, *others) = (v.but(replace(v.lanes, width=8)) for v in plan.versions)
        yield replace(plan, versions=(version, *others))

    monkeypatch.setattr(tuned, "_KEPT", {})
    monkeypatch.setattr(tuned, "_PLANS", {})
    monkeypatch.setattr(search, "alternatives", half)
    monkeypatch.setattr(Search, "_is_faster", lambda self, tried, best: True)
    with config.scoped(no_cache=True, target="cpu"):
        yield


def widths(f, *args):
    """The lanes of all versions of all sweeps."""
    text = f.stages(*args).text["plan"]
    return {int(width) for width in re.findall("width=([0-9]+)", text)}


PLAIN = widths(fw.jit(lambda xs: xs * 2), XS)


def test_a_faster_schedule_holds_from_then_on():
    """For other functions of the same program, too; no value changes."""
    f = fw.jit(lambda xs: xs * 2)
    assert widths(f, XS) == PLAIN
    found = fw.tune(f, (XS,))
    again = fw.jit(lambda xs: xs * 2)

    assert widths(f, XS) == widths(again, XS) == {8}
    assert np.array_equal(f(XS), XS * 2)
    (schedules,) = found.schedules
    assert parse_plans(schedules.text).keys() == parse_plans(f.stages(XS).text["plan"]).keys()
    assert "schedules of 1 sweep changed" in str(found)
    with fw.schedule(schedules.text):
        assert np.array_equal(again(XS), XS * 2)


def test_sums_of_floats_are_grouped_as_before():
    """Unless a function may give other bits."""
    strict, free = fw.jit(fw.sum), fw.jit(fw.sum, deterministic=False)

    assert fw.tune(strict, (XS,)).schedules == ()
    (schedules,) = fw.tune(free, (XS,)).schedules
    assert "width=8" in schedules.text
    assert widths(free, XS) == {8} != widths(strict, XS)


def test_results_are_compared(monkeypatch):
    """So that a fault in a schedule would not be kept."""
    monkeypatch.setattr(search, "same_bits", lambda results, expected: False)
    f = fw.jit(lambda xs: xs * 2)

    assert fw.tune(f, (XS,)).schedules == ()
    assert widths(f, XS) == PLAIN


def test_what_is_not_faster_in_the_end_is_not_kept(monkeypatch):
    """All changes are measured once more, next to the schedules that were chosen."""
    answers = iter([True, False])
    monkeypatch.setattr(Search, "_is_faster", lambda self, tried, best: next(answers))
    f = fw.jit(lambda xs: xs * 2)

    assert fw.tune(f, (XS,)).schedules == ()
    assert widths(f, XS) == PLAIN


def test_schedules_that_no_longer_fit_are_passed_over():
    """As after a change of the package: what is chosen then holds."""
    f = fw.jit(lambda xs: xs * 2)
    text = f.stages(XS).text["plan"].replace("axis=space", "axis=fold")
    program = f.taken(XS)[0].traced.program
    compiled = search_compiled(program, text)

    assert "axis=space" in compiled.text["plan"]
    assert np.array_equal(compiled.run([len(XS), XS])[-1][: len(XS)], XS * 2)


def search_compiled(program, text):
    """The program by plans that were measured."""
    from flatweave import pipeline

    return pipeline.build(program, "cpu", True, replace(CHOSEN, tuned_text=text))


def test_schedules_outlive_a_process(tmp_path, monkeypatch):
    """They lie next to thresholds."""
    made = tuned.TunedFolder(tmp_path / "tuned")
    monkeypatch.setattr(tuned, "folder", lambda: made)
    with config.scoped(no_cache=False):
        assert tuned.kept_plans("a") == ""
        assert tuned.keep_plans("a", "sweep t_9")
        monkeypatch.setattr(tuned, "_PLANS", {})
        assert (tuned.kept_plans("a"), tuned.kept("a")) == ("sweep t_9", ())


def test_alternatives_change_one_thing_each():
    """In all versions that have it."""
    lanes = Vectorize(Axis.LAST, 32, Tail.SHIFT)
    steps = (Split(Axis.LAST, 64), BY_PANELS, lanes)
    plain = Version("plain", steps=steps)
    streaming = Version("streaming", Guard(1024, multiple=32), (*steps, Stream()))
    plan = SweepPlan(Bind(64, 256), (), (streaming, plain))
    found = list(alternatives(plan))

    assert plan not in found
    assert len({repr(each) for each in found}) == len(found)
    assert {each.plain.lanes.width for each in found} == {16, 32, 64}
    assert {each.plain.panel for each in found} == {0, 32, 64, 128}
    multiples = {each.versions[0].guard.multiple for each in found if each.versions[1:]}
    assert multiples == {1, 16, 32, 64}
    assert {len(each.versions) for each in found} == {1, 2}
    assert {each.bind.most for each in found} == {128, 256, 512}
