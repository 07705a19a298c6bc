"""A function of arrays with its cotangents, compiled: what other libraries call.

    flat = Flat(f, moving=(0,))
    flat(x, k)           the leaves of f(x, k), as a list
    flat.back(x, k, c)   the cotangent of x, given that of the result: a Flat, too
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.errors import Unsupported
from flatweave.frontend.functions.derivatives import vjp
from flatweave.frontend.values.number_formats import Composed
from flatweave.frontend.values.tree import LEAF, Tree, flatten, unflatten
from flatweave.jit import jit


class Flat:
    """A compiled function of arrays, of which those in `moving` have cotangents.

    A call sets `out`, the structure of the result, and `floats`, which of its leaves are floats.
    """

    def __init__(self, f: Callable[..., Any], moving: Sequence[int]) -> None:
        self.f, self.moving = f, tuple(moving)
        self.count = 0
        self.out: Tree = LEAF
        self.floats: tuple[int, ...] = ()
        self._compiled = jit(self._leaves)

    def __call__(self, *arrays: Any) -> list[Any]:
        """The leaves of the result."""
        found: list[Any] = self._compiled(*arrays)
        self.count = len(arrays)
        self.floats = tuple(k for k, leaf in enumerate(found) if leaf.dtype.kind in "fcV")
        return found

    def _leaves(self, *arrays: Any) -> list[Any]:
        found, self.out = flatten(self.f(*arrays), _is_one)
        if self.out.irregular:
            raise Unsupported.here(
                "a Ragged among the results of a function for another library.",
                "Return rows.values and rows.offsets.",
            )
        return found

    @functools.cached_property
    def back(self) -> Flat:
        """From all arguments and the cotangents of floats to the cotangents of `moving`."""
        count = self.count

        def cotangents(*arrays: Any) -> list[Any]:
            def floats(*moving: Any) -> list[Any]:
                every = list(arrays[:count])
                for number, value in zip(self.moving, moving, strict=True):
                    every[number] = value
                found = self._leaves(*every)
                return [found[k] for k in self.floats]

            back = vjp(floats, *(arrays[k] for k in self.moving))[1]
            return list(back(list(arrays[count:])))

        given = range(count, count + len(self.floats))
        return Flat(cotangents, (*self.moving, *given))


def _is_one(value: Any) -> bool:
    """Whether a result is one array of numbers that programs have as several arrays."""
    return isinstance(value, Composed) and not value.irregular


def arrays_of(
    args: Any, is_array: Callable[[Any], bool]
) -> tuple[list[Any], Callable[[Sequence[Any]], Any], Any]:
    """The arrays in the arguments of a call, a function that rebuilds the arguments of other
    arrays, and a key for all else."""
    leaves, tree = flatten(args, is_array)
    places = [k for k, leaf in enumerate(leaves) if is_array(leaf)]

    def rebuild(arrays: Sequence[Any]) -> Any:
        every = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            every[place] = array
        return unflatten(tree, every)

    rest = tuple((k, _key(leaf)) for k, leaf in enumerate(leaves) if k not in places)
    return [leaves[k] for k in places], rebuild, (tree, rest)


def _key(leaf: Any) -> Any:
    """What tells one constant from another: its value, or for other objects which one it is."""
    return (type(leaf), leaf) if isinstance(leaf, bool | int | float | str) else id(leaf)
