"""Tuples, NamedTuples, dataclasses, dicts, lists, None: in, out, as elements and as state."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw
from tests.language.agreement import agree, same


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Body:
    at: Point
    mass: Any


@dataclass
class Counted:
    values: Any
    count: Any = field(default=0)


X, Y = np.arange(4.0), np.arange(4.0)[::-1].copy()


def test_arguments_and_results(target):
    """Whatever goes in may come out."""
    tree = {"p": Point(X, Y), "l": [X, (Y, None)], "b": Body(Point(X, X), Y)}

    agree(lambda t: t, tree, tree)
    agree(lambda t: {"z": t["p"].x + t["l"][1][0], "a": t["b"].mass}, {"z": X + Y, "a": Y}, tree)


def test_the_order_of_a_dict_is_kept(target):
    """Two dicts with the same keys are one structure, each in its own order."""
    f = fw.jit(lambda d: {"b": d["b"], "a": d["a"]})

    assert list(f({"a": X, "b": Y})) == ["b", "a"]
    same(fw.cond(True, lambda: {"a": 1, "b": 2}, lambda: {"b": 2, "a": 1}), {"a": 1, "b": 2})


def test_elements(target):
    """An array of points is a point of arrays."""
    agree(lambda p: fw.map(lambda q: Point(q.y, q.x * 2), p), Point(Y, X * 2), Point(X, Y))
    agree(lambda b: fw.map(lambda c: c.at.x * c.mass, b), X * Y, Body(Point(X, X), Y))
    agree(
        lambda b: fw.reduce(
            lambda a, c: Body(Point(a.at.x + c.at.x, a.at.y + c.at.y), a.mass + c.mass),
            Body(Point(0, 0), 0), b,
        ),
        Body(Point(np.float64(6), np.float64(6)), np.float64(6)), Body(Point(X, Y), X),
    )  # fmt: skip
    agree(lambda p: fw.filter(lambda q: q.x > 1, p), Point(X[2:], Y[2:]), Point(X, Y))
    agree(lambda p: fw.gather(p, np.array([0, -1])), Point(X[[0, -1]], Y[[0, -1]]), Point(X, Y))


def test_state(target):
    """A loop gives its state back in the class it came in."""
    found = fw.jit(
        lambda c: fw.fori_loop(0, 3, lambda i, s: Counted(s.values * 2, s.count + 1), c)
    )(Counted(X))

    assert isinstance(found, Counted)
    same((found.values, found.count), (X * 8, np.int64(3)))


def test_nothing(target):
    """None and empty tuples are structure."""
    same(fw.jit(lambda a, b: (a, b, ()))(None, X), (None, X, ()))
    assert fw.jit(lambda x: None)(X) is None
