"""The comparison with NumPy, function by function: the table is complete, and failures are rows."""

import json
import types

import numpy as np
import pytest

import flatweave as fw
from bench import names
from bench.functions import compare
from bench.functions.compare import SIZES, both, difference, function, is_view, measured
from bench.functions.table import CALLS, NOT_MEASURED, call_of
from bench.machine import BLAS_OVERRIDES, environment
from tests.quick import every

MODULES = {"": (fw, np), "fft.": (fw.fft, np.fft), "linalg.": (fw.linalg, np.linalg)}
COUNTERPARTS = {
    prefix + name: getattr(ours, name)
    for prefix, (ours, theirs) in MODULES.items()
    for name in (ours.__all__ if prefix else dir(ours))
    if isinstance(getattr(ours, name), types.FunctionType)
    and callable(getattr(theirs, name, None))
}
MEASURED = {call.name for call in CALLS}


def resolved(name):
    """The function of a name such as fft.fft."""
    value = fw
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_every_function_that_numpy_has_is_measured_or_excepted():
    """By its name, or by another name of the same function."""
    functions = {id(resolved(name)) for name in MEASURED}
    left = {
        name for name, value in COUNTERPARTS.items()
        if id(value) not in functions and name not in NOT_MEASURED
    }  # fmt: skip

    assert len(COUNTERPARTS) > 200
    assert not left, f"give them a line in bench/functions/table.py: {sorted(left)}"
    assert not [name for name in NOT_MEASURED if name not in COUNTERPARTS or name in MEASURED]


def test_no_call_is_there_twice():
    """A call and a dtype are one key."""
    assert len({call.key for call in CALLS}) == len(CALLS)


@pytest.mark.parametrize("call", every(60, CALLS), ids=lambda call: call.key)
def test_both_compute_the_same(call):
    """On the interpreter, a hundred elements of each dtype."""
    ours, theirs = both(100, call.dtype)
    with np.errstate(all="ignore"), fw.target("interp"):
        mine, other = function(call.ours, ours)(), function(call.theirs, theirs)()

    assert difference(call, mine, other) == ""


def test_differences_are_told():
    """Of lengths, of shapes, of values; NaN equals NaN."""
    call = call_of("sum", "x", "d")
    assert difference(call, np.array([1.0, np.nan]), np.array([1.0, np.nan])) == ""
    assert "1.5 at 1 of 2" in difference(call, np.array([1.0, 1.5]), np.array([1.0, 2.0]))
    assert "shape (2,)" in difference(call, np.zeros(2), np.zeros(3))
    assert "1 arrays" in difference(call, [np.zeros(2)], [np.zeros(2)] * 2)


def test_a_view_is_timed_with_its_copy(monkeypatch):
    """Unless both give one: a transpose of NumPy's is copied, a reshape is not."""
    taken = []
    monkeypatch.setattr(compare, "least", lambda *calls: taken.append(calls) or (1, 1))
    _, names_ = both(100, "d")
    for text, view in (("m", False), ("m, (-1,)", True)):
        with fw.target("interp"):
            measured(call_of("reshape" if view else "transpose", text, "d"), 100)
        result = taken[-1][1]()
        assert is_view(result, names_) == view and result.flags.c_contiguous


def test_texts_of_numpy():
    """Another function of NumPy's, one of a generator, and an expression."""
    assert call_of("gather", "x, i | take(x, i)", "d").theirs == "xp.take(x, i)"
    assert call_of("random.permutation", "key, x | rng.permutation(x)", "d").theirs[:4] == "rng."
    assert call_of("filter", "f, x | {}.compress(x > 5, x)", "d").theirs == "xp.compress(x > 5, x)"
    assert call_of("sum", "x", "d").text == "sum(x)"


@pytest.fixture
def results():
    """Three calls: one fast, one slow, one that ended its process."""
    calls = [call_of("sum", "x", "d"), call_of("sin", "x", "f"), call_of("sort", "x", "d")]
    times = {str(size): {"ours": 1e-3, "numpy": 2e-3} for size in SIZES}
    slow = {str(size): {"ours": 4e-3, "numpy": 1e-3} for size in SIZES}
    found = {
        calls[0].key: {"key": calls[0].key, "sizes": times, "first": 0.1},
        calls[1].key: {"key": calls[1].key, "sizes": slow, "first": 2.0},
        calls[2].key: {"key": calls[2].key, "sizes": {}, "failed": "100 elements: ValueError: x"},
    }
    return calls, found


def test_the_page_has_the_slowest_first(results):
    """Geometric means, what failed, and first calls that are long."""
    calls, found = results
    text = names.page({"date": "2026-01-01 00:00"}, found, calls)
    last = text.rpartition("## 100 elements")[2]

    assert "| 1,000,000 | 0.71 | 0.25 | 2.00 |" in text
    assert "- `sort(x)` f64: 100 elements: ValueError: x" in text
    assert "- `sin(x)` f32: 2 s" in text
    assert last.index("`sin(x)`") < last.index("`sum(x)`")


def test_what_is_slower_than_in_an_earlier_run(results):
    """By the ratio to NumPy's time, so that another machine's speed does not count."""
    _, found = results
    before = json.loads(json.dumps(list(found.values())))
    before[0]["sizes"]["100"] = {"ours": 1e-6, "numpy": 4e-6}
    before[0]["sizes"]["10000"] = {"ours": 1e-6, "numpy": 2.2e-6}

    assert names.slower(found, before) == ["sum(x) d, 100 elements: 4.00 before, 2.00 now"]


@pytest.mark.slow
def test_a_process_that_fails_says_how_it_ended():
    """After what it has said of itself."""
    about, end = names.answers(["no such call d"], 1)

    assert "blas" in about and end == {"ended": 1}


def test_a_process_that_ends_is_a_failure_of_its_call(results, monkeypatch):
    """Another one goes on with the next call."""
    calls, found = results
    asked = []

    def answers(keys, threads):
        asked.append(keys)
        yield {"blas": "none"}
        if len(asked) == 1:
            yield found[keys[0]] | {"done": False}
        if len(asked) == 2:
            yield found[keys[0]] | {"done": True}
        yield {"ended": -11}

    monkeypatch.setattr(names, "answers", answers)
    given, about = names.results_of(calls[:2], 2)

    assert given[calls[1].key]["failed"].startswith("the process ended with status -11")
    assert given[calls[1].key]["sizes"] == found[calls[1].key]["sizes"]  # what was measured stays
    assert given[calls[0].key] == found[calls[0].key]
    assert [len(keys) for keys in asked] == [2, 1] and about == {"blas": "none"}


def test_what_changes_openblas_is_not_handed_on(monkeypatch):
    """Else NumPy runs the code of another processor."""
    for name in BLAS_OVERRIDES:
        monkeypatch.setenv(name, "Haswell")

    assert not set(BLAS_OVERRIDES) & set(environment(2, 1))
    assert environment(2, 1)["OPENBLAS_NUM_THREADS"] == "1"
