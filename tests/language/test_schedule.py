"""fw.schedule: a property of what is compiled inside its `with`, in this thread alone."""

from threading import Thread

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.lower.schedule.plan import parse_plans
from tests.language.agreement import same

IDX = np.array([2, 0, 2, 9, 1])


def in_force() -> tuple[str | None, str | None]:
    """The variants that a program compiled here would take."""
    return config.schedule.expand, config.schedule.permute


def test_schedules_nest():
    """What an inner one does not name stays as outside; an error ends them, too."""
    with pytest.raises(KeyError), fw.schedule(permute="owner"):
        with fw.schedule(expand="16-per-block"):
            assert in_force() == ("16-per-block", "owner")
            with fw.schedule(expand="balanced", permute="private"):
                assert in_force() == ("balanced", "private")
            with fw.schedule():
                assert in_force() == ("16-per-block", "owner")
        assert in_force() == (None, "owner")
        raise KeyError

    assert in_force() == (None, None)


@pytest.mark.parametrize("name", ["per-source", "per-block", "1-per-block", "512-per-block",
                                  "16-per-block-search", "per-source-random"])  # fmt: skip
def test_names_of_expansions(name):
    """Any number of sources can go to a block."""
    with fw.schedule(expand=name):
        assert in_force() == (name, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"expand": "0-per-block"}, {"expand": "per_source"}, {"permute": "Owner"}, {"permute": 3},
        {"seq_factor": 0}, {"seq_factor": 2.5}, {"seq_factor": True}, {"seq_factor": "many"},
    ],
)  # fmt: skip
def test_unknown_names_are_refused_at_once(wrong):
    """Before anything is computed."""
    with pytest.raises(fw.ArgumentError, match="makes no sense"):
        fw.schedule(**wrong)


def test_other_threads_do_not_see_it():
    """As with fw.target."""
    seen = []
    with fw.schedule(permute="owner"):
        other = Thread(target=lambda: seen.append(in_force()))
        other.start()
        other.join()

    assert seen == [(None, None)]


def test_a_function_is_compiled_for_each_schedule():
    """What was compiled outside is not run inside, nor the other way round; both are kept."""
    f = fw.jit(lambda idx: fw.histogram(3, idx), target="cpu")
    expected = np.array([1, 1, 2])
    same(f(IDX), expected)
    assert f.traces == 1
    with fw.schedule(permute="owner"):
        same(f(IDX), expected)
        same(f(IDX[1:]), np.array([1, 1, 1]))
        owner = f.stages(IDX)
    assert f.traces == 2
    same(f(IDX), expected)
    assert f.traces == 2

    assert "role=partials" in f.stages(IDX).text["kernel"]  # private copies are combined
    assert "role=partials" not in owner.text["kernel"]


def test_calls_outside_jit_follow_it():
    """Each eager call is a separate program."""
    idx, ones = fw.asarray(IDX), fw.asarray(np.ones(5))

    def combined():
        return fw.permute(lambda a, b: fw.maximum(a, b) + fw.minimum(a, b), np.zeros(3), idx, ones)

    with fw.target("cpu"):
        same(combined(), np.array([1.0, 1, 2]))
        with fw.schedule(permute="private"), pytest.raises(fw.ArgumentError, match="cannot"):
            combined()
        same(combined(), np.array([1.0, 1, 2]))


def test_variants_traced_later_keep_the_schedule():
    """An axis of extent 1 asks for a second trace, here of a function called again outside."""
    f = fw.jit(lambda x, y, idx: fw.permute(fw.add, fw.full(3, 0.0), idx, x + y), target="cpu")
    x, one = np.arange(5.0), np.ones(1)
    with fw.schedule(permute="owner"):
        same(f(x, x, IDX), np.array([2.0, 8, 4]))
        same(f(x, one, IDX), np.array([2.0, 5, 4]))
    same(f(x, one, IDX), np.array([2.0, 5, 4]))


@fw.jit
def folded(x):
    """A sum, all sums, what a filter keeps, and sums by an operator that does not commute."""
    lines = fw.map(lambda v: (v % 2 * 2 - 1, v), x)
    lines = fw.scan(lambda f, g: (g[0] * f[0], g[0] * f[1] + g[1]), (1, 0), lines)
    return fw.sum(x), fw.cumsum(x), fw.filter(lambda v: v % 3 == 0, x), lines


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("each", [1, 3, 65536])
def test_each_thread_takes_as_many_elements_as_one_likes(each, target):
    """The values are those of any other number: blocks of one step, of three, or one block."""
    for n in (0, 1, 127, 1025):
        x = np.arange(n) % 11
        want = folded(x)
        with fw.target(target), fw.schedule(seq_factor=each):
            same(folded(x), want)


def test_blocks_have_so_many_steps():
    """A plan says it."""
    with fw.schedule(seq_factor=3):
        text = folded.stages(np.arange(4)).text["plan"]

    plans = parse_plans(text).values()
    assert plans
    for plan in plans:
        assert plan.bind.least == plan.bind.most == 3 * plan.plain.width
