"""jit(donate=..): results are written where arguments were, which nobody can use afterwards."""

import functools
from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same
from tests.language.giving import address, gives, ours

N = 1000
AT, NEW = np.array([3, 0, 7, 3, N + 5]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
SIZES = (0, 1, 2, 127, 128, 129, 1023, 1025, 70_000)


class Moments(NamedTuple):
    """What an optimiser keeps."""

    first: object
    second: object


def scattered(x):
    """Some elements are replaced, one of them twice, one outside."""
    return fw.scatter(x, AT, NEW.astype(x.dtype))


def permuted(x):
    """Some elements are added to what is there."""
    return fw.permute(fw.maximum, x, AT, NEW.astype(x.dtype))


def expanded(x):
    """The results of an expansion are scattered."""
    found = fw.expand(lambda c: c, lambda c, i: fw.astype(10 * c + i, x.dtype), np.array([2, 0, 3]))
    return fw.scatter(x, 4 + fw.iota(found.shape[0]), found)


def counted(x):
    """A histogram that goes on from an earlier one."""
    return fw.reduce_by_index(x, fw.add, 0, AT, NEW.astype(x.dtype))


def turned(x):
    """The state of a loop."""
    return fw.fori_loop(0, 5, lambda i, s: fw.replace(s, i, fw.astype(i, s.dtype)), x)


IN_PLACE = {
    "scatter": scattered,
    "permute": permuted,
    "expand": expanded,
    "reduce_by_index": counted,
    "replace": lambda x: fw.replace(x, slice(2, 5), np.ones(3, x.dtype)),
    "element by element": lambda x: fw.astype(x * x + x, x.dtype),
    "two passes": lambda x: fw.replace(fw.astype(x + x, x.dtype), 1, x.dtype.type(1)),
    "loop": turned,
    "as it is": lambda x: x,
    "another shape": lambda x: x.reshape(-1, 2),
}


@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.int32])
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_result_is_where_the_argument_was(target, name, dtype):
    """On the CPU; the interpreter writes nothing in place, and means the same."""
    f, values = IN_PLACE[name], np.arange(N).astype(dtype)
    expected = fw.jit(f)(values)
    step, x = fw.jit(f, donate="x"), ours(values)
    before = address(x)

    result = step(x)

    same(result, expected)
    assert target != "cpu" or address(result) == before
    with pytest.raises(fw.EscapedArrayError, match="donated"):
        x[0]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_whatever_the_length(target, threads):
    """Blocks, steps and what is left of them: elements are read before something is written."""
    plain = {name: fw.jit(f) for name, f in LONG.items()}
    given = {name: fw.jit(f, donate=("x", 1)) for name, f in LONG.items()}
    for n in SIZES if threads in (1, 3) else (1025, 70_000):
        xs, ys = np.linspace(1.0, 2.0, n), np.linspace(-2.0, 5.0, n)
        with config.scoped(threads=threads):
            for name, f in plain.items():
                same(given[name](ours(xs), ours(ys)), f(xs, ys))


LONG = {
    "one result": lambda x, y: x * 2 - y,
    "two results": lambda x, y: (x + y, x - y),
    "a result and a sum": lambda x, y: (x + y, fw.sum(x)),
    "shifted": lambda x, y: x + fw.shift(x, 1, 0.0) + fw.reverse(y),
    "scan": lambda x, y: (fw.cumsum(x) + x, y + 1),
    "scatter": lambda x, y: fw.scatter(x, fw.iota(y.shape[0]) // 2 * 2, y),
    "sort": lambda x, y: fw.sort(y),
}


def test_steps_of_an_optimiser_need_no_memory(target):
    """No argument or result is stored again."""

    def adam(weights, moments, slope):
        first = moments.first * 0.9 + slope * 0.1
        second = moments.second * 0.99 + slope * slope * 0.01
        return weights - first / (fw.sqrt(second) + 1e-8), Moments(first, second)

    step = fw.jit(adam, donate=(0, "moments"))
    weights, moments = ours(np.ones(N)), Moments(fw.zeros(N), fw.zeros(N))
    slope = np.linspace(-1, 1, N)
    expected = np.ones(N), Moments(np.zeros(N), np.zeros(N))
    before = {address(weights), address(moments.first), address(moments.second)}

    for _ in range(3):
        weights, moments = step(weights, moments, slope)
        expected = fw.jit(adam)(*expected, slope)

    same((weights, *moments), (expected[0], *expected[1]))
    found = {address(weights), address(moments.first), address(moments.second)}
    assert target != "cpu" or found == before


def test_no_memory_is_taken_for_a_result():
    """The most that a call holds at once: nothing of the size of the array."""

    def peak(**options):
        step = fw.jit(lambda x, i, v: fw.scatter(x, i, v), target="cpu", **options)
        step(fw.zeros(1 << 20), AT, NEW)
        compiled, _ = step.taken(fw.zeros(1 << 20), AT, NEW)
        return compiled.executable.runnable.program.native.peak_bytes

    assert peak() > 8 << 20
    assert peak(donate="x") < 1 << 20


# -- calls that fail, or are tried again ---------------------------------------------------------


def test_a_call_that_is_tried_again_sees_the_elements_as_they_were(target):
    """How many are left is known when the array has been written to: only then extents differ."""

    def late(x, y):
        more = fw.permute(fw.add, x, np.array([0, 3]), np.array([5.0, 5.0]))
        return more, fw.filter(lambda v: v > 2, more) * y

    def looped(x, y):
        first, one = np.array([0]), np.array([1.0])
        turned = fw.fori_loop(0, 3, lambda i, s: fw.permute(fw.add, s, first, one), x)
        return fw.filter(lambda v: v > 2, turned) * y

    for f in (late, looped):
        step, x = fw.jit(f, donate="x"), np.arange(4.0)
        for y in (np.ones(1), np.ones(2), np.ones(1)):
            same(step(ours(x), y), fw.jit(f)(x, y))


def test_what_fails_says_so_and_the_argument_is_gone(target):
    """An error while the program runs takes the argument along; an error before does not."""
    step = fw.jit(lambda x, i: fw.replace(x * 2, i, 1.0), donate="x")
    x, y = ours(np.arange(3.0)), ours(np.arange(3.0))

    with pytest.raises(fw.IndexOutOfBounds):
        step(x, 5)
    with pytest.raises(fw.EscapedArrayError):
        x + 1
    with pytest.raises(fw.UserError):
        fw.jit(lambda x: float(x[0]), donate="x")(y)
    with pytest.raises(TypeError):
        step(y)
    gives(step(y, 0), [1.0, 2.0, 4.0])
    assert repr(x) == f"<an array donated to <lambda> at {x_line(x)}>"


def x_line(x):
    """The line at which an array was donated, by its repr."""
    return repr(x).partition(" at ")[2].rstrip(">")


def test_the_message_names_the_call(target):
    """Whatever is done with the array: who took it, and where."""

    def advance(x):
        return x + 1

    x = ours(np.arange(3.0))
    fw.jit(advance, donate="x")(x)
    uses = [lambda: x + 1, lambda: x[0], lambda: np.asarray(x), lambda: len(x), lambda: x.shape,
            lambda: float(x), lambda: fw.sum(x), lambda: fw.jit(advance, donate="x")(x),
            lambda: list(x), lambda: x.dtype]  # fmt: skip
    for use in uses:
        with pytest.raises(
            fw.EscapedArrayError, match=r"donated to advance at .*test_donate.py:\d+"
        ):
            use()
    assert repr(x).startswith("<an array donated to advance at ")


# -- trees, rows, other kinds of elements --------------------------------------------------------


def test_every_array_of_an_argument_is_given(target):
    """Dicts, tuples, the values of rows, complex numbers, bools, with scalars."""
    step = fw.jit(lambda d, k=2: {"a": d["a"] * k, "b": ~d["b"]}, donate="d")
    d = {"a": ours(np.arange(3) + 1j), "b": ours(np.array([True, False]))}
    a = d["a"]
    before = address(d["a"]), address(d["b"])
    result = step(d)
    gives(result["a"], np.arange(3) * 2 + 2j)
    gives(result["b"], [False, True])
    assert target != "cpu" or address(result["b"]) == before[1]
    with pytest.raises(fw.EscapedArrayError):
        a.real
    rows = fw.ragged([[0.0, 1.0], [], [2.0]]) + 1
    before = address(rows.values)
    found = fw.jit(lambda r: fw.map(lambda row: row * 2, r), donate=0)(rows)
    assert found.tolist() == [[2.0, 4.0], [], [6.0]]
    assert target != "cpu" or address(found.values) == before
    with pytest.raises(fw.EscapedArrayError):
        rows.tolist()
    people = np.array([(1, 2.0), (3, 4.0)], [("id", "i8"), ("size", "f8")])
    moved = fw.jit(lambda p: fw.map(lambda e: {"id": e["id"], "size": e["size"] * 2}, p), donate=0)
    gives(moved(people)["size"], [4.0, 8.0])
    gives(fw.jit(lambda x, k: x * k, donate=("x", "k"))(ours(np.arange(3)), 2), [0, 2, 4])


def test_parameters_are_picked_by_name_and_position(target):
    """By name where they are given by position, and the other way round; of methods, partials and
    any number of arguments."""
    place = fw.jit(lambda x, v: fw.replace(x, 0, v), donate="x")
    by_number = fw.jit(lambda x, v: fw.replace(x, 0, v), donate=-2)
    for f in (place, by_number):
        for call in (lambda f, x: f(x, 5.0), lambda f, x: f(v=5.0, x=x)):
            x = ours(np.zeros(2))
            before = address(x)
            result = call(f, x)
            assert target != "cpu" or address(result) == before
    some = fw.jit(lambda *xs: [x + 1 for x in xs], donate=(0, 2))
    xs = [ours(np.zeros(2)) for _ in range(3)]
    gives(some(*xs), [[1.0, 1.0]] * 3)
    gives(xs[1], [0.0, 0.0])
    bound = fw.jit(functools.partial(lambda k, x: x * k, 3.0), donate="x")
    gives(bound(ours(np.ones(2))), [3.0, 3.0])

    class Counter(NamedTuple):
        hits: object

        @fw.jit(donate="self")
        def count(self, at):
            return Counter(fw.permute(fw.add, self.hits, at, fw.full(at.shape, 1)))

    counter = Counter(fw.zeros(3, fw.i64))
    before = address(counter.hits)
    for _ in range(2):
        counter = counter.count(np.array([0, 2, 2]))
    assert counter.hits.tolist() == [2, 0, 4]
    assert target != "cpu" or address(counter.hits) == before


def test_inside_of_other_functions_nothing_is_given(target):
    """There the array is part of the program around; fw.vmap likewise."""
    inner = fw.jit(lambda x: fw.replace(x, 0, -1.0), donate="x")
    outer = fw.jit(lambda x: (inner(x), x))
    x = ours(np.arange(3.0))

    gives(outer(x), ([-1.0, 1.0, 2.0], [0.0, 1.0, 2.0]))
    gives(fw.vmap(inner)(np.zeros((2, 2))), [[-1.0, 0.0], [-1.0, 0.0]])
    m = ours(np.zeros((2, 2)))
    before = address(m)
    found = fw.jit(fw.vmap(lambda row: row + 1), donate=0)(m)
    gives(found, np.ones((2, 2)))
    assert target != "cpu" or address(found) == before


def test_beside_arrays_in_chunks_nothing_is_given():
    """Each chunk reads it anew."""
    f, kept = fw.jit(lambda x, y: x + fw.sum(y), donate=(0, 1)), ours(np.ones(3))

    gives(np.asarray(f(fw.Chunked.cut(np.arange(10.0), 4), kept)), np.arange(10.0) + 3)
    gives(kept, np.ones(3))


def test_notes_say_what_was_given_for_nothing():
    """And what is copied, with the reason."""

    def notes(f, *args):
        return " ".join(fw.jit(f, donate="x", target="cpu").stages(*args).notes)

    x, one = ours(np.arange(3.0)), np.ones(1)
    assert "donated" not in notes(lambda x: x + 1, x)
    assert "x is donated, but no array of its dtype" in notes(lambda x: fw.sum(x), x)
    assert "needed again: a copy is written" in notes(lambda x: (fw.replace(x, 0, 1.0), x), x)

    def late(x, y):
        found = fw.scatter(x, np.array([0]), np.array([1.0]))
        return found, fw.filter(lambda v: v > 0, found) + y

    assert "a call is tried again" in notes(late, x, one)


def test_what_cannot_be_given_is_refused():
    """A parameter that is not there, one that is static, a call that several devices share."""
    f = lambda x, n=2: x * n
    for options, said in (
        ({"donate": "y"}, "has no parameter 'y' to be donated"),
        ({"donate": 2}, "has no argument at position 2 to be donated"),
        ({"donate": 1.5}, "donate of jit must be names or positions"),
        ({"donate": "n", "static_argnames": "n"}, "n is static and cannot be donated"),
        ({"donate": "x", "devices": ["cpu", "cpu"]}, "several devices cannot share"),
        ({"static_argnums": 5}, "has no argument at position 5 to be static"),
        ({"static_argnums": "n"}, "static_argnums of jit must be positions"),
    ):
        with pytest.raises(fw.ArgumentError, match=said):
            fw.jit(f, **options)


def test_static_arguments_by_position(target):
    """As JAX's static_argnums: from the front or from the end, and together with names."""
    for options in ({"static_argnums": 1}, {"static_argnums": (-2,), "static_argnames": "k"}):
        f = fw.jit(lambda x, n, k=1: fw.concat([x] * n) * k, **options)
        gives(f(np.ones(2), 3), np.ones(6))
        gives(f(np.ones(2), n=2), np.ones(4))
        assert f.traces == 2
