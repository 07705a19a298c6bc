"""Kernels of one algorithm each, what they give in plain Python, and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flatweave.algorithms.operator import Operator
from flatweave.base.dtypes import DType, bool_, i64
from flatweave.kernel_ir.hierarchy import Pull, Values
from flatweave.kernel_ir.syntax import Store
from flatweave.kernel_ir.syntax import Unit as KernelUnit
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var
from tests.kernel_ir.staged import staged

SIZES = (0, 1, 2, 31, 32, 33, 127, 128, 129, 1023)


def _compose(b: Builder, f: Values, g: Values) -> Values:
    """x -> m x + c composed: the order matters."""
    return b.mul(f[0], g[0]), b.add(b.mul(f[1], g[0]), g[1])


AFFINE = Operator(_compose, (index(1), index(0)))
Pair = tuple[int, int]


def affine(f: Pair, g: Pair) -> Pair:
    """The same, modulo two to the 64."""
    return _wrap(f[0] * g[0]), _wrap(f[1] * g[0] + g[1])


def _wrap(x: int) -> int:
    return (x + 2**63) % 2**64 - 2**63


def zipped(*arrays: Pull) -> Pull:
    """Elements side by side: the components of the first, then those of the second, .."""
    return Pull(
        arrays[0].extent, lambda b, i: tuple(atom for array in arrays for atom in array.at(b, i))
    )


@dataclass(frozen=True)
class Case:
    """`write(b, xs, flags, ys, units)`, and `meaning(pairs, flags)`: a list for each of `outs`."""

    write: Callable[[Builder, Pull, Pull, list[Var], int], None]
    meaning: Callable[[list[Pair], list[bool]], list[list[Any]]]
    outs: tuple[DType, ...] = (i64, i64)

    def unit(self, units: int, length: int = 0) -> KernelUnit:
        """The unit, for a number of elements that is known at run time, or for this number."""

        def write(b: Builder, n: Atom, xs: list[Pull], ys: list[Var]) -> None:
            self.write(b, zipped(*xs[:2]), xs[2], ys, units)

        return staged(write, (i64, i64, bool_), self.outs, length=length)

    def agree(self, found: Sequence[np.ndarray], args: Sequence[Any]) -> None:
        """The values are right as far as there are any."""
        pairs = list(zip(args[2].tolist(), args[3].tolist(), strict=True))
        for ours, wanted in zip(found, self.meaning(pairs, args[4].tolist()), strict=True):
            assert ours[: len(wanted)].tolist() == wanted


def arguments(n: int) -> list[Any]:
    """n, the length of results, factors, summands, and flags of some elements."""
    rng = np.random.default_rng(n)
    factors, summands = rng.integers(-2, 4, n), rng.integers(-9, 9, n)
    return [n, n + 1, factors, summands, rng.random(n) < rng.choice([0.05, 0.3, 0.9])]


def _prefixes(pairs: Sequence[Pair], exclusive: bool = False) -> list[Pair]:
    ends = [(1, 0)]
    for pair in pairs:
        ends.append(affine(ends[-1], pair))
    return ends[:-1] if exclusive else ends[1:]


def _columns(pairs: Sequence[Pair]) -> list[list[int]]:
    return [[a for a, _ in pairs], [b for _, b in pairs]]


def _segments(pairs: list[Pair], flags: list[bool]) -> list[list[Pair]]:
    found: list[list[Pair]] = []
    for pair, flag in zip(pairs, flags, strict=True):
        if flag or not found:
            found.append([])
        found[-1].append(pair)
    return found


def _keep(b: Builder, values: Values, ys: Sequence[Var]) -> None:
    for value, y in zip(values, ys, strict=True):
        b.emit(Store(y, index(0), value))


def _meaning_of_scan(exclusive: bool) -> Callable[..., list[list[Any]]]:
    def meaning(pairs: list[Pair], flags: list[bool]) -> list[list[Any]]:
        total = _columns([(1, 0), *_prefixes(pairs)][-1:])
        return [*_columns(_prefixes(pairs, exclusive)), *total]

    return meaning


def _meaning_of_segments(exclusive: bool) -> Callable[..., list[list[Any]]]:
    return lambda pairs, flags: _columns(
        [end for row in _segments(pairs, flags) for end in _prefixes(row, exclusive)]
    )


MEANINGS = {
    "reduce": (lambda pairs, flags: _columns([(1, 0), *_prefixes(pairs)][-1:]), 2),
    "scan": (_meaning_of_scan(False), 4),
    "scan_exclusive": (_meaning_of_scan(True), 4),
    "segmented_scan": (_meaning_of_segments(False), 2),
    "segmented_exclusive": (_meaning_of_segments(True), 2),
}
"""What each gives, and how many results that are."""
