"""fw.tune: measures versions of nests, keeps thresholds, and changes no value."""

import threading

import numpy as np
import pytest

import flatweave as fw
from flatweave.base import recording
from flatweave.base.config import config
from flatweave.base.schedule import ALWAYS, NEVER, Thresholds
from flatweave.runtime import tuned
from flatweave.tuning import measure, search
from flatweave.tuning import tune as tuning
from flatweave.tuning.measure import Trial
from tests.base.test_progress import terminal

FEW = Thresholds(rows=2, longest=1000, share=1, mean=0)


@pytest.fixture(autouse=True)
def own_thresholds(monkeypatch):
    """What these tests tune holds in this process, and not after them; few rounds are enough."""
    monkeypatch.setattr(tuned, "_KEPT", {})
    monkeypatch.setattr(tuned, "_PLANS", {})
    monkeypatch.setattr(measure, "ROUNDS", 2)
    monkeypatch.setattr(search, "alternatives", lambda plan: iter(()))
    with config.scoped(no_cache=True, target="cpu"):
        yield


@pytest.fixture
def few(monkeypatch):
    """Measurements say that two rows are enough."""
    monkeypatch.setattr(tuning, "fitted", lambda given, seen: FEW)


def rows_of(count, longest, seed=0, dtype=np.int64):
    random = np.random.default_rng(seed)
    lengths = random.integers(0, longest + 1, count)
    return fw.ragged(random.integers(-50, 50, int(lengths.sum())).astype(dtype), lengths=lengths)


def in_order(row):
    return fw.cumsum(fw.filter(lambda x: x > 0, fw.sort(row)))


def all_in_order(rows):
    return fw.map(in_order, rows)


def expected(rows):
    return [np.cumsum([x for x in sorted(row) if x > 0]).tolist() for row in rows.tolist()]


def took_by_row(f, *args):
    """Whether calls with these arguments have compiled the version that runs rows one at a time."""
    return any(name.endswith("_by_row") and made for name, _, made in f.stages(*args).launched)


def test_measured_thresholds_decide_from_then_on(few):
    """Calls that were compiled before are compiled anew; the notes say why."""
    f, rows = fw.jit(all_in_order), rows_of(8, 30)
    assert f(rows).tolist() == expected(rows)
    assert not took_by_row(f, rows)
    found = fw.tune(f, (rows,))
    assert f(rows).tolist() == expected(rows)

    assert took_by_row(f, rows)
    assert [nest.thresholds for nest in found.nests] == [FEW]
    assert any(f"{FEW}: thresholds that fw.tune measured" in note for note in f.stages(rows).notes)
    one = rows_of(1, 30)
    assert f(one).tolist() == expected(one)


@pytest.mark.slow
def test_other_functions_and_new_ones_of_the_same_program(few):
    """The program's text is the key: equal functions share, others keep the machine's."""
    rows = rows_of(8, 30)
    fw.tune(all_in_order, [(rows,)])
    same, other = fw.jit(all_in_order), fw.jit(lambda rows: fw.map(in_order, rows))
    with fw.schedule(version="flat"):
        assert same(rows).tolist() == expected(rows)
        assert not took_by_row(same, rows)
    assert same(rows).tolist() == other(rows).tolist() == expected(rows)

    assert took_by_row(same, rows)
    assert not took_by_row(other, rows)


def test_what_is_measured_is_told():
    """Sizes of each input and both times; the text is a table."""
    inputs = [(rows_of(8, 30),), (rows_of(100, 5),)]
    found = fw.tune(all_in_order, inputs)
    (nest,) = found.nests

    sizes = [(each.sizes.rows, each.sizes.values, each.sizes.longest) for each in nest.seen]
    assert sizes == [
        (len(rows), len(rows.values), max(map(len, rows.tolist()))) for (rows,) in inputs
    ]
    assert all(each.flat > 0 and each.by_row > 0 for each in nest.seen)
    assert str(found).startswith("all_in_order: thresholds of ")
    assert str(found).count("\n") == 4
    assert f"{__file__.rsplit('/', 1)[-1]}:" in str(found)


def test_the_budget_is_for_measuring(few, monkeypatch):
    """Compiling takes none of it, however small it is; one round is measured in any case."""
    runs, original = [], Trial._executable
    monkeypatch.setattr(
        Trial, "_executable", lambda self, version: runs.append(version) or original(self, version)
    )
    f, rows = fw.jit(all_in_order), rows_of(8, 30)
    (nest,) = fw.tune(f, (rows,), budget=1e-9).nests

    assert runs == [None, 0, None, 0]
    assert [each.flat > 0 and each.by_row > 0 for each in nest.seen] == [True]
    assert f(rows).tolist() == expected(rows)


def test_what_takes_long_is_not_run_again(monkeypatch):
    """Where the budget has ended, what the first run took is what is known of it."""
    monkeypatch.setattr("flatweave.tuning.measure.LONG", 0.0)
    (nest,) = fw.tune(all_in_order, (rows_of(8, 30),), budget=1e-9).nests

    assert len(nest.seen) == 1


def float_sums(rows):
    return fw.map(lambda row: fw.sum(fw.sort(row)), rows)


@pytest.mark.slow
def test_versions_of_other_bits_are_left_alone(few):
    """A sum of floats depends on how it is grouped; who allows that may have it tuned."""
    rows = rows_of(8, 30, dtype=np.float32)
    found = fw.tune(float_sums, (rows,))
    assert [nest.thresholds for nest in found.nests] == [None]
    assert "jit(deterministic=False)" in str(found)

    free = fw.jit(float_sums, deterministic=False)
    found = fw.tune(free, (rows,))
    assert [nest.thresholds for nest in found.nests] == [FEW]
    free(rows)
    assert took_by_row(free, rows)
    strict = fw.jit(float_sums)
    strict(rows)
    assert not took_by_row(strict, rows)


def test_different_bits_are_noticed_when_they_are_not_foreseen(few, monkeypatch):
    """The results of both versions are compared."""
    monkeypatch.setattr(measure, "same_bits", lambda results, expected: False)
    found = fw.tune(all_in_order, (rows_of(8, 30),))

    assert [nest.thresholds for nest in found.nests] == [None]


@pytest.mark.parametrize(
    "f",
    [
        lambda rows: fw.map(lambda row: fw.sum(row), rows),
        lambda rows: fw.sum(rows.values),
        lambda rows: rows,
    ],
)
def test_programs_with_one_version(f):
    """That is said, and nothing else happens."""
    rows = rows_of(8, 30)
    found = fw.tune(f, (rows,))

    assert found.nests == ()
    assert "nothing to choose" in str(found)


def test_targets_with_one_version():
    """Who interprets has no threads to divide rows among."""
    found = fw.tune(fw.jit(all_in_order, target="interp"), (rows_of(8, 30),))

    assert found.nests == ()
    assert "interp" in str(found)


def several(rows, others):
    """Two nests, and one in a loop of the host."""
    def turn(_, state):
        return fw.map(lambda row: fw.sort(row * -1), state)

    turned = fw.fori_loop(0, 3, turn, fw.map(lambda row: fw.sort(row), others))
    return all_in_order(rows), fw.map(lambda row: fw.sum(row), turned)


@pytest.mark.slow
def test_nests_are_tuned_by_themselves(monkeypatch):
    """Each has its thresholds; for a nest in a loop only the faster version is chosen."""
    monkeypatch.setattr(tuning, "fitted", lambda given, seen: FEW)
    rows, others = rows_of(8, 30), np.arange(40).reshape(5, 8) % 7
    f = fw.jit(several)
    before = [f(rows, others)[0].tolist(), np.asarray(f(rows, others)[1]).tolist()]
    found = fw.tune(f, (rows, others))

    assert len(found.nests) == 3
    assert sorted(nest.thresholds == FEW for nest in found.nests) == [False, True, True]
    assert "differs" in str(found)
    assert {nest.thresholds for nest in found.nests} <= {FEW, ALWAYS, NEVER, None}
    assert [f(rows, others)[0].tolist(), np.asarray(f(rows, others)[1]).tolist()] == before


@pytest.mark.slow
def test_inputs_of_several_signatures():
    """Each has a program, each is tuned by its inputs; extents of 1 that broadcast among them."""
    rows = rows_of(8, 30)
    f = fw.jit(lambda rows, by: fw.map(lambda row, b: fw.sort(row * b), rows, by))
    inputs = [(rows, np.arange(8)), (rows, np.arange(8.0)), (rows_of(9, 4), np.arange(9))]
    found = fw.tune(f, inputs)

    assert [len(nest.seen) for nest in found.nests] == [2, 1]


def test_inputs_that_do_not_fit():
    """The error is that of a call."""
    with pytest.raises(fw.UserError):
        fw.tune(lambda a, b: a + b, (np.arange(3), np.arange(4)))
    with pytest.raises(TypeError, match="argument"):
        fw.tune(all_in_order, (rows_of(3, 3), 1, 2))
    with pytest.raises(fw.IndexOutOfBounds):
        fw.tune(lambda rows: fw.map(lambda row: fw.sort(row)[3], rows), (rows_of(3, 3),))


def test_a_version_forced_from_outside():
    """There is nothing to choose between, and nothing is kept."""
    with fw.schedule(version="by-row"), pytest.raises(fw.ArgumentError, match="forced"):
        fw.tune(all_in_order, (rows_of(3, 3),))


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is(monkeypatch):
    """On a line that is gone at the end."""
    monkeypatch.setattr(recording, "PATIENCE", 0.0)
    with terminal() as text:
        fw.tune(all_in_order, (rows_of(8, 30),))
        found = text()

    assert "flatweave: tuning all_in_order, round 1, input 1 of 1" in found
    assert found.endswith(recording.CLEAR)


def test_calls_go_on_in_other_threads(few):
    """While it measures, and while calls are compiled anew."""
    f, rows = fw.jit(all_in_order), rows_of(8, 30)
    wanted, wrong, done = expected(rows), [], threading.Event()

    def calls():
        with config.scoped(no_cache=True, target="cpu"):
            while not done.is_set():
                if f(rows).tolist() != wanted:
                    wrong.append(1)

    others = [threading.Thread(target=calls) for _ in range(2)]
    for other in others:
        other.start()
    fw.tune(f, (rows,))
    done.set()
    for other in others:
        other.join()

    assert not wrong
    assert f(rows).tolist() == wanted
