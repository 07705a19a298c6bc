"""Where the elements come from on which the first call tries an operator."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.frontend.call.eager import first_calls
from flatweave.operator_checks.first_calls import FirstCalls, Sampler
from flatweave.operator_checks.laws import Broken

XS = 1 + np.random.default_rng(5).random(100_000)
ROWS = XS.reshape(1000, 100)


@pytest.fixture(autouse=True)
def interpreted():
    """No machine code is needed here, and what earlier tests have tried does not count."""
    with config.scoped(target="interp", no_cache=True):
        yield


def bad(a, b):
    """Not associative."""
    return a * a + b


def pull(xs):
    """The fold that is wrong."""
    return fw.reduce(bad, 0.0, xs)


def in_a_loop(xs):
    """A fold in the iterations of a loop."""
    return fw.fori_loop(0, 3, lambda i, s: fw.scan(bad, 0.0, s), xs)


SOURCES = {
    "an argument": pull,
    "a map": lambda xs: pull(fw.sqrt(xs * 2) + 1),
    "a slice, reversed": lambda xs: pull(xs[::-2][5:]),
    "a gather": lambda xs: pull(fw.gather(xs, fw.iota(50_000) * 2)),
    "a reshape": lambda xs: pull(xs.reshape(100, 1000)[3]),
    "a join": lambda xs: pull(fw.concat([xs[:2], xs + 1])),
    "a filter": lambda xs: pull(fw.filter(lambda x: x > 1.9, xs)),
    "a scan": lambda xs: pull(fw.scan(fw.add, 0.0, xs)),
    "a sum of all": lambda xs: pull(xs - fw.mean(xs)),
    "a sort": lambda xs: pull(fw.sort(xs)),
    "a scan from the end": lambda xs: pull(fw.scan(fw.add, 0.0, xs, reverse=True)),
    "a scatter": lambda xs: pull(fw.scatter(xs, fw.iota(50_000) * 2, xs[:50_000] + 1)),
    "a histogram": lambda xs: pull(fw.histogram(100, (xs * 50).astype(fw.i64) - 50, xs)),
    "a branch": lambda xs: fw.cond(xs[0] > 0, pull, lambda x: x[0], xs),
    "a loop": in_a_loop,
    "rows": lambda xs: fw.map(pull, xs.reshape(1000, 100)),
    "columns": lambda xs: fw.reduce(bad, 0.0, xs.reshape(1000, 100)),
    "an expansion": lambda xs: pull(fw.expand(lambda x: 3, lambda x, i: x + i, xs)),
    "rows of an expansion": lambda xs: fw.expand_reduce(
        lambda x: 5, lambda x, i: x + i, bad, 0.0, xs
    ),
    "whole rows": lambda xs: fw.scan(lambda a, b: fw.cumsum(a) + b, 0.0, xs.reshape(1000, 100)),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_elements_are_found_wherever_they_come_from(name):
    """Of each array the first elements, or the last ones."""
    with pytest.raises(fw.OperatorError, match="not associative"):
        fw.jit(SOURCES[name])(XS)


def test_rows_of_a_ragged():
    """The first ones that are long enough."""
    rows = fw.ragged([[1.0], [], [2.0, 3.0, 5.0, 7.0]])

    with pytest.raises(fw.OperatorError, match="x = 2.0, y = 3.0 and z = 5.0"):
        fw.map(pull, rows)


def test_arrays_in_chunks():
    """Their first chunk."""
    for f in (pull, *map(SOURCES.get, ["a map", "a filter", "a sort", "a scan from the end"])):
        with pytest.raises(fw.OperatorError, match="not associative"):
            fw.jit(f)(fw.Chunked.cut(XS, 5_000))
        fw.jit(f, checks=False)(fw.Chunked.cut(XS[:100], 50))


def test_neighbours_in_different_segments_are_not_combined():
    """Of runs by key, an operator may rely on the keys being equal."""
    keys, values = np.repeat(np.arange(50), 3), np.arange(150.0)

    def same_key(a, b):
        return fw.where(a[0] == b[0], a[0], -1), a[1] + fw.where(a[0] == b[0], b[1], 1e6)

    flags = np.diff(keys, prepend=-1) != 0
    fw.segmented_reduce(same_key, (0, 0.0), flags, (keys, values), check=False)
    at = fw.reduce_by_index(
        (np.arange(50), np.zeros(50)), lambda a, b: same_key(a, b), (0, 0.0), keys, (keys, values),
        check=False,
    )  # fmt: skip
    found = fw.permute(same_key, (np.arange(50), np.zeros(50)), keys, (keys, values))
    assert np.array_equal(found[1], at[1])


def test_no_call_takes_long(monkeypatch):
    """A program whose operator meets nothing that counts is tried now and then."""
    tries = []
    run = Sampler.run
    monkeypatch.setattr(Sampler, "run", lambda self: (tries.append(1), run(self)))
    f = fw.jit(pull)
    for _ in range(1000):
        f(np.zeros(4))

    assert 16 < len(tries) < 128


def test_an_error_is_raised_by_every_call():
    """However many there were before it."""
    f = fw.jit(pull)

    for _ in range(12):
        with pytest.raises(fw.OperatorError):
            f(XS)


def test_a_kept_program_remembers_it(tmp_path, monkeypatch):
    """Another process that finds it on disk tries nothing."""
    kept = {}
    monkeypatch.setattr(
        "flatweave.operator_checks.first_calls.process_cache", lambda: _Kept(kept)
    )
    program = fw.jit(lambda v: fw.reduce(lambda a, b: fw.minimum(a + b, 100.0), 0.0, v))
    traced = program.taken(XS)[0].traced.program
    first, second = FirstCalls(traced), FirstCalls(traced)
    with config.scoped(no_cache=False):
        first([len(XS), XS])
        monkeypatch.setattr("flatweave.operator_checks.first_calls.Sampler.run", None)
        second([len(XS), XS])

    assert first.is_done and second.is_done and len(kept) == 1


class _Kept:
    """What is on disk."""

    def __init__(self, kept):
        self.kept = kept

    def get(self, name):
        return self.kept.get(name)

    def put(self, name, payload):
        self.kept[name] = payload


def test_operators_that_a_law_covers_are_not_tried():
    """Nor those of our own functions: no call of these programs looks at its data."""
    for f in (
        lambda v: fw.reduce(fw.add, 0.0, v),
        lambda v: fw.scan(lambda a, b: fw.maximum(a, b), 0.0, v),
        lambda v: fw.reduce(lambda a, b: a * b, 1.0, v.reshape(100, 1000)),
        lambda v: (fw.var(v), fw.argmax(v), fw.cumsum(v), fw.any(v > 0)),
        lambda v: fw.histogram(3, v.astype(fw.i64)),
    ):
        assert fw.jit(f).taken(XS)[0].checks is None
    assert first_calls(fw.jit(pull).taken(XS)[0].traced.program) is not None


@pytest.mark.parametrize("name", ["an argument", "a sort", "a sum of all", "rows"])
def test_compiled_programs_are_tried(name):
    """The small program that gives first elements is compiled, too."""
    with config.scoped(target="cpu"), pytest.raises(fw.OperatorError, match="not associative"):
        fw.jit(SOURCES[name])(XS)


def test_arrays_in_chunks_of_several_lengths():
    """Each has the first rows of its chunks, and a length that fits."""
    def f(xs, ys, zs):
        return pull(fw.sort(xs * ys)) + fw.sum(zs)

    cut = [fw.Chunked.cut(XS, 5_000), fw.Chunked.cut(XS, 300), fw.Chunked.cut(XS[:10], 4)]
    with pytest.raises(fw.OperatorError, match="not associative"):
        fw.jit(f)(*cut)


def test_large_arrays_in_rows_are_tried():
    """Of a row of more elements than are ever computed, the first ones."""
    with pytest.raises(fw.OperatorError, match="not associative"):
        fw.jit(lambda xs: fw.map(lambda row: pull(row + fw.cumsum(row)), xs))(XS.reshape(2, -1))


def test_two_values_are_enough_where_the_operator_makes_a_third():
    """Backslashes at the end of a part, and whether it has no others: data has two kinds."""
    def joined(f, g):
        return fw.where(g[1], f[0] + g[0], g[0]), f[1] & g[1]

    ones = np.random.default_rng(1).random(400) < 0.5
    program = program_of(lambda b: fw.scan(joined, (0, True), (b.astype(fw.i64), b)), ones)
    checks = FirstCalls(program)
    checks([400, ones])
    assert checks.is_done


def test_a_program_of_many_steps_costs_little():
    """What takes long is left alone: the lets of a try are counted, and large arrays count more."""
    def f(xs):
        for _ in range(200):
            xs = fw.sort(xs) + 1
        return pull(xs)

    sampler = Sampler(program_of(f, XS), [XS.size, XS])
    sampler.run()
    assert not sampler.is_done and sampler.spent < 500


def test_what_was_computed_is_not_computed_again():
    """A scan and a filter of four components, of which elements are read again and again."""
    def every(op):
        return lambda a, b: tuple(op(x, y) for x, y in zip(a, b, strict=True))

    def f(xs):
        sums = fw.scan(every(lambda x, y: x + y), (0.0,) * 4, (xs, xs * 2, xs + 1, xs - 1))
        kept = fw.filter(lambda sums: fw.sin(sums[0]) > 0, sums)
        return fw.reduce(every(bad), (0.0,) * 4, kept)

    program = program_of(f, XS)
    sampler = Sampler(program, [XS.size, XS])
    with pytest.raises(Broken):
        sampler.run()
    assert sampler.spent < 180
    sampler = Sampler(program, [0, XS[:0]])
    sampler.run()
    assert sampler.spent < 12


def program_of(f, *args):
    """The program of a function as traced."""
    return fw.jit(f).taken(*args)[0].traced.program


@pytest.mark.filterwarnings("error")
def test_signalling_nan_are_tried_without_a_warning():
    """NumPy warns where it converts one."""
    xs = np.ones(100, np.float32)
    xs[::3] = np.array([0x7FA00001], np.uint32).view(np.float32)[0]

    fw.jit(lambda x: fw.reduce(lambda a, b: fw.maximum(a, b) + 0 * b, -np.inf, x))(xs)
