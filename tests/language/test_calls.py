"""What @jit takes as a function, and how it is called: methods, partials, lists, keywords."""

import functools
import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

X = np.arange(5.0)


class Model:
    """An object whose method is compiled for each of its objects."""

    def __init__(self, scale):
        self.scale = scale
        self.table = np.arange(5.0)

    @fw.jit(static_argnames="self")
    def run(self, x, k=1):
        """Scaled, and shifted."""
        return x * self.scale * k + self.table


@dataclass
class Line:
    """An object whose fields are arguments."""

    slope: float
    start: object

    @fw.jit
    def at(self, x):
        return self.slope * x + self.start


def test_a_method_of_an_object_that_is_static(target):
    """It has the attributes of a jitted function; each object is compiled separately."""
    two, three = Model(2), Model(3)

    same(two.run(X), 3 * X)
    same(three.run(X, k=2), 7 * X)
    same(fw.jit(two.run)(X), 3 * X)
    assert two.run.__doc__ == "Scaled, and shifted."
    assert repr(two.run).startswith("<jitted run of <")
    assert "mul" in two.run.stages(X).text["array"]


def test_a_method_keeps_no_object_alive():
    """Its programs go with the object they were made for."""
    jitted = vars(Model)["run"]
    jitted.forget()
    kept = Model(4)
    kept.run(X)

    for scale in range(3):
        model = Model(scale)
        gone = weakref.ref(model)
        same(model.run(X), X * scale + model.table)
        same(model.run(X[:1]), X[:1] * scale + model.table)  # broadcast: traced once more
        del model
        gc.collect()
        assert gone() is None
    assert len(jitted._entries) == 1
    same(kept.run(X), 5 * X)


def test_the_fields_of_a_dataclass_are_arguments(target):
    """A method of it is compiled once for all objects; what is assigned to a field counts."""
    line = Line(2.0, X)
    traces = Line.at.traces

    same(line.at(X), 3 * X)
    line.slope = 4.0
    same(line.at(X), 5 * X)
    assert Line.at.traces == traces + 1


def test_static_and_class_methods(target):
    """As any other function."""
    class Space:
        dimensions = 3

        @staticmethod
        @fw.jit
        def shifted(x):
            return x + 1

        @classmethod
        @fw.jit(static_argnames="cls")
        def scaled(cls, x):
            return x * cls.dimensions

    same(Space.shifted(X), X + 1)
    same(Space().scaled(X), X * 3)


def test_partials_and_callable_objects(target):
    """What is bound already is no argument; the name is that of the function within."""
    def power(base, exponent, times=1):
        return base ** exponent * times

    class Shift:
        def __call__(self, x):
            return x + 2

    squares = fw.jit(functools.partial(functools.partial(power, exponent=2), times=3))
    same(squares(X), X * X * 3)
    same(squares(X, times=X), X * X * X)
    assert squares.__name__ == "power"
    same(fw.jit(functools.partial(power, X), static_argnames="times")(2, times=2), X * X * 2)
    same(fw.jit(Shift())(X), X + 2)


def test_static_names_among_keywords(target):
    """Also of a function that takes any; kept when a jitted function is jitted once more."""
    def repeated(x, **how):
        return fw.concat([x] * how["times"]) + how["more"]

    for f in (fw.jit(repeated, static_argnames="times"),
              fw.jit(fw.jit(repeated, static_argnames="times"), checks=False)):  # fmt: skip
        same(f(X, times=2, more=1), np.tile(X, 2) + 1)
        same(f(X, more=X[:1], times=1), X)


def test_lists_and_dicts_of_arrays(target):
    """Each array is an argument; how many there are is part of the signature, their lengths not."""
    f = fw.jit(lambda parts: fw.concat(parts))
    g = fw.jit(lambda named: named["b"] - named["a"])

    same(f([X, X[:2]]), np.concatenate([X, X[:2]]))
    same(f([X[:0], X]), X)
    same(f([X, X, X]), np.tile(X, 3))
    assert f.traces == 2
    same(g({"a": X, "b": 1.0}), 1 - X)
    same(g({"a": X[:1], "b": 2.0}), 2 - X[:1])
    assert g.traces == 1


def test_defaults_are_read_when_traced(target):
    """An array among them is read where it is; a number is a constant."""
    def f(x, table=X, k=2):
        return x * k + table

    go = fw.jit(f)
    same(go(X), 3 * X)
    same(go(X, k=3), 4 * X)
    same(go(x=X, table=1), 2 * X + 1)


def test_a_function_that_gives_no_values_is_refused_at_once():
    """Before it is called: what it gives would be run by nobody."""
    def rows(x):
        yield x

    async def later(x):
        return x

    for fn, what in ((rows, "a generator"), (later, "a coroutine")):
        with pytest.raises(fw.ArgumentError, match=what):
            fw.jit(fn)
