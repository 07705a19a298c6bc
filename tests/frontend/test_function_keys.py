"""Functions of calls outside of jit: known by what they read, and traced again if it changes."""

import functools
import gc
import math
import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState

import flatweave as fw
from flatweave.frontend.call.function_keys import key_of_function

XS = np.arange(5.0)
FACTOR: Any = 2
TABLE = fw.asarray([5.0, 6.0, 7.0])
LIST, ARRAY = [2.0], np.array([2.0])


class Settings:
    """A class of the user's, whose attributes may be assigned to."""

    factor = 2.0


def scaled(a: Any) -> Any:
    return a * FACTOR


def scaled_sum(a: Any, b: Any) -> Any:
    return scaled(a) + b


def through_others(a: Any) -> Any:
    return scaled(a) + 1


def recursive(a: Any, n: int = 3) -> Any:
    return a if n == 0 else recursive(a * FACTOR, n - 1)


def read(i: Any) -> Any:
    return TABLE[i]


def counting() -> Callable[[Any], Any]:
    """A function that assigns to a variable around it."""
    calls = 0

    def counted(a: Any) -> Any:
        nonlocal calls
        calls += 1
        return a * calls

    return counted


def with_list(a: Any, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(1)
    return a * len(seen)


def with_attribute(a: Any) -> Any:
    return a * with_attribute.factor  # type: ignore[attr-defined]


with_attribute.factor = 1.0  # type: ignore[attr-defined]


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the programs that are traced from here on."""
    from flatweave.frontend.call import eager

    found: list[str] = []

    def counted(name: str, *rest: Any) -> Any:
        found.append(name)
        return traced(name, *rest)

    traced = eager.trace
    monkeypatch.setattr(eager, "trace", counted)
    return found


KNOWN = {
    "a global number": scaled,
    "another function": through_others,
    "itself": recursive,
    "a library's number": lambda a: a * math.pi + np.pi,
    "functions of NumPy": lambda a: np.maximum(np.exp(a), np.sum(a)),
    "ours": lambda a: fw.exp(a) + fw.f32(1) * fw.random.uniform(fw.random.key(3)),
    "its own functions": lambda a: sum((lambda k: a * k)(k) for k in range(3)),
    "a partial": functools.partial(lambda k, a: a * k, 3),
    "of derivatives": fw.grad(lambda a: a * a),
    "an array": lambda a: a + TABLE[0],
    "an array of another function": lambda a: read(0) + a,
    "an array as default": lambda a, table=TABLE: a + table[1],
    "an array of a partial": functools.partial(lambda table, a: a + table[2], TABLE),
}
UNKNOWN: dict[str, Callable[[Any], Any]] = {
    "an array of NumPy": lambda a: a + ARRAY[0],
    "a list": lambda a: a * LIST[0],
    "a class": lambda a: a * Settings.factor,
    "random numbers of NumPy": lambda a: a * np.random.rand(),
    "a class of NumPy with a state": lambda a: a * RandomState().rand(),
    "a module with a state": lambda a: a * random.random(),
    "what is printed": lambda a: (print(), a)[1],
    "an assignment": counting(),
    "a list as default": with_list,
    "an attribute of its own": with_attribute,
    "a name that nothing has": lambda a: a * nothing,  # type: ignore[name-defined]  # noqa: F821
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_function_is_traced_once(name: str, traces: list[str]) -> None:
    """Whatever calls it: here one line does, twice."""
    for _ in range(2):
        fw.map(KNOWN[name], XS)

    assert key_of_function(KNOWN[name], []) is not None
    assert len(traces) == 1


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_reads_a_state_has_no_key(name: str) -> None:
    """Or changes one: it is traced in each call."""
    assert key_of_function(UNKNOWN[name], []) is None


def test_numbers_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that Python holds for equal."""
    for factor in (2, 3, 2.0, -0.0, 0.0, True, np.float32(0.1), 2):
        monkeypatch.setattr(f"{__name__}.FACTOR", factor)
        for fn, wanted in ((scaled, XS * factor), (through_others, XS * factor + 1),
                           (recursive, XS * factor * factor * factor)):  # fmt: skip
            got = fw.map(fn, XS).to_numpy()
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_functions_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A global function gets another one's code, and a loop makes functions."""
    first = fw.map(through_others, XS)
    monkeypatch.setattr(f"{__name__}.scaled", lambda a: a - FACTOR)
    made = [fw.map(lambda a: a * k, XS).to_numpy() for k in range(4)]  # noqa: B023

    np.testing.assert_array_equal(first, XS * 2 + 1)
    np.testing.assert_array_equal(fw.map(through_others, XS), XS - 2 + 1)
    np.testing.assert_array_equal(made, [XS * k for k in range(4)])


def test_states_that_change() -> None:
    """What a list, a class, an attribute and an array have when a call is made holds for it."""
    calls = counting()
    for k in (1, 2, 3):
        ARRAY[0] = LIST[0] = Settings.factor = with_attribute.factor = k  # type: ignore[attr-defined]
        TABLE[0] = k
        for fn in (lambda a: a * LIST[0], lambda a: a * Settings.factor, with_attribute, calls,
                   lambda a: a * TABLE[0], lambda a: a * ARRAY[0], lambda a: a * read(0),
                   lambda a: a * TABLE.to_numpy()[0]):  # fmt: skip
            np.testing.assert_array_equal(fw.map(fn, XS), XS * k)


def test_a_program_for_extents_of_one() -> None:
    """It is traced later than that for other extents: by then, what the first function read has
    changed."""

    def made(factor: float) -> tuple[Callable[..., Any], Callable[[float], None]]:
        def added(row: Any, other: Any) -> Any:
            return row + other * factor

        def change(to: float) -> None:
            nonlocal factor
            factor = to

        return added, change

    rows, ones = np.arange(6.0).reshape(2, 3), np.ones(1)
    first, change = made(2.0)
    for fn, others in ((first, np.ones(3)), (made(2.0)[0], ones)):
        np.testing.assert_array_equal(
            fw.vmap(fn, in_axes=(0, None))(rows, others), rows + 2.0, str(others)
        )
        change(5.0)
    np.testing.assert_array_equal(fw.vmap(first, in_axes=(0, None))(rows, ones), rows + 5.0)


def test_the_line_is_that_of_the_call() -> None:
    """Calls of one function that fail, each at its own line; twice, once from what is kept."""
    calls = (
        lambda ys: fw.map(scaled_sum, XS, ys),
        lambda ys: fw.map(scaled_sum, XS, ys),
    )
    for ys in (XS, XS[:2], XS[:2]):
        for call in calls:
            line = call.__code__.co_firstlineno
            if len(ys) == len(XS):
                np.testing.assert_array_equal(call(ys), XS * 2 + XS)
                continue
            with pytest.raises(fw.ShapeError, match=rf"test_function_keys.py:{line}:"):
                call(ys)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("shape", [(3,), (1,), (0,), (2, 3), (1, 3)])
def test_arrays_that_change(dtype: str, shape: tuple[int, ...]) -> None:
    """Another array, of another length or dtype, under the same name; the same under two names."""

    def added(row: Any) -> Any:
        return fw.sum(row + first) * 2 + fw.sum(second)

    def twice() -> Any:
        return fw.map(added, rows), np.array([(row + one).sum() * 2 + two.sum() for row in rows])

    rows = np.arange(6.0).reshape(2, 3) if 0 not in shape else np.zeros((2, 0))
    draw = np.random.default_rng(3)
    for _ in range(3):
        one, two = draw.integers(0, 2, (2, *shape)).astype(dtype)
        first, second = fw.asarray(one), fw.asarray(two)
        np.testing.assert_allclose(*twice())
        second, two = first, one
        np.testing.assert_allclose(*twice())
        first = second = fw.asarray(np.float64(draw.integers(5)))
        one = two = np.asarray(first)
        np.testing.assert_allclose(*twice())


def test_values_at_once(traces: list[str]) -> None:
    """A function that needs what an array has now is traced with the array as it is."""
    for k in (4.0, 5.0):
        TABLE[0] = k
        for _ in range(2):
            np.testing.assert_array_equal(fw.map(lambda a: a * TABLE.to_numpy()[0], XS), XS * k)

    assert len(traces) == 5


def test_errors_of_functions_with_arrays() -> None:
    """They are those of the function as it is, without a trace of other attempts."""
    for _ in range(2):
        with pytest.raises(fw.IndexOutOfBounds, match="index 3 is outside an array of 3 elements"):
            fw.map(lambda i: TABLE[i], np.array([0, 3]))
        with pytest.raises(TypeError) as failure:
            fw.map(lambda a: TABLE[0] + "one" * a, XS)
        assert failure.value.__context__ is None


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_functions_of_other_operations(target: str) -> None:
    """Reductions, scans, filters, expansions and loops: each call gives what the first one gave."""
    step = 3
    with fw.target(target):
        for _ in range(3):
            assert fw.reduce(lambda a, b: a + b * TABLE[1], 0.0, XS[:1], check=False) == 0.0
            np.testing.assert_array_equal(fw.filter(lambda a: a < step, XS), XS[:3])
            np.testing.assert_array_equal(
                fw.expand(lambda a: a, lambda a, k: a * step + k, np.array([1, 2])), [3, 6, 7]
            )
            np.testing.assert_array_equal(
                fw.generate((2, 2), lambda i, j: i * step + j), [[0, 1], [3, 4]]
            )
            found = fw.fori_loop(0, step, lambda i, s: s + i, 0)
            assert found == 3


def test_arrays_are_not_kept() -> None:
    """What a function has read is freed with it, also while calls of its program are known."""

    def called(fill: float) -> weakref.ref[Any]:
        table = fw.asarray(np.full(1000, fill))
        for _ in range(2):
            np.testing.assert_array_equal(fw.map(lambda a: a + table[0], XS), XS + fill)
        return weakref.ref(np.asarray(table))

    for fill in (1.0, 2.0):
        kept = called(fill)
        gc.collect()
        assert kept() is None


def test_dicts_in_other_orders() -> None:
    """A function sees the order in which the user wrote a dict."""

    def first(row: dict[str, Any]) -> Any:
        return next(iter(row.values()))

    a, b = XS, XS * 2
    for _ in range(2):
        for rows in ({"a": a, "b": b}, {"b": b, "a": a}):
            np.testing.assert_array_equal(fw.vmap(first)(rows), next(iter(rows.values())))
            np.testing.assert_array_equal(fw.map(first, rows), next(iter(rows.values())))


def each_way(k: float) -> dict[str, Any]:
    """Calls with functions and what else decides their programs: shapes, neutral elements, static
    arguments and names."""
    add = lambda a, b: a + b + k
    return {
        "generate": lambda n: fw.generate((n, 3), lambda i, j: i * k + j),
        "reduce": lambda n: fw.reduce(add, 0.0, XS[:n]),
        "scan": lambda n: fw.scan(add, 0.0, XS[:n], exclusive=True),
        "from another element": lambda n: fw.reduce(add, 2.5 * n, XS),
        "pairs": lambda n: fw.fori_loop(0, n, lambda i, s: (s[0] + i, s[1] * k), (0, 1.0)),
        "by name": lambda n: fw.sort(XS[:n], key=lambda a: -a * k, descending=n > 3),
        "stencil": lambda n: fw.stencil(lambda w: w[-1] * k + w[1], XS[:n], (3,)),
        "an index tuple": lambda n: fw.map(lambda i: TABLE[i] * k, fw.asarray([0, 2])[None, :n][0]),
    }


@pytest.mark.parametrize("way", each_way(1.0))
def test_other_parameters_are_in_the_key(way: str, traces: list[str]) -> None:
    """Found again for the same ones; for others, the program's of them."""
    for k in (2.0, 3.0, 2.0, 3.0):
        for n in (2, 4, 5, 2, 4, 5):
            with fw.target("interp"):
                wanted = each_way(k)[way](n)
            found = each_way(k)[way](n)
            pairs = zip(*(x if type(x) is tuple else (x,) for x in (found, wanted)), strict=True)
            for a, b in pairs:
                np.testing.assert_allclose(a, b, rtol=1e-12)
    traces.clear()
    for n in (2, 4, 5):
        each_way(3.0)[way](n)
    assert not traces
