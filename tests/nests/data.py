"""Arguments of nests: rows, ranks 2 and 3, Ragged values and Ragged of Ragged, as plain lists.

    value_of(Row(Row("int64")), Random(3), shape)     [[2, -1], [], [7, 0, 3]]
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import flatweave as fw
from tests.nests.types import Row, Type, rank_of, scalar_of


def number(dtype: str, random: Random, small: bool = False) -> Any:
    """A small number; of integers sometimes one that wraps soon."""
    if dtype == "uint8":
        return np.uint8(random.choice([random.randint(0, 9), random.randint(0, 255)]))
    if dtype == "int32" and random.random() < 0.1 and not small:
        return np.int32(random.randint(-(2**31), 2**31 - 1))
    return np.dtype(dtype).type(random.randint(-6, 9))


class Matrix(list[Any]):
    """Rows that are equally long, also where there are none."""

    def __init__(self, rows: list[Any], width: int) -> None:
        super().__init__(rows)
        self.width = width


@dataclass(frozen=True)
class Shape:
    """How long arrays are along their regular axes."""

    rows: int
    width: int
    depth: int

    @property
    def extents(self) -> tuple[int, ...]:
        return self.rows, self.width, self.depth


def shape_of(random: Random) -> Shape:
    """Short ones, and empty ones."""
    some = [0, 1, 2, 2, 3, 3, 4, 5]
    return Shape(random.choice([0, 1, 2, 3, 3, 4, 5, 6]), random.choice(some), random.choice(some))


def value_of(type_: Type, random: Random, extents: tuple[int, ...]) -> Any:
    """A value of a type: an array's extents are given where it is regular, random where not."""
    if isinstance(type_, str):
        return number(type_, random)
    assert isinstance(type_, Row)
    n, *rest = extents
    if isinstance(type_.of, str):
        return [value_of(type_.of, random, ()) for _ in range(n)]
    if type_.regular:
        return Matrix([value_of(type_.of, random, tuple(rest)) for _ in range(n)], rest[0])
    lengths = [random.choice([0, 0, 1, 2, 3, 4, 6]) for _ in range(n)]
    return [value_of(type_.of, random, (m, *rest)) for m in lengths]


def passed(value: Any, type_: Type, extents: tuple[int, ...]) -> Any:
    """A value as Flatweave takes it: NumPy's scalars and arrays, or a Ragged."""
    if isinstance(type_, str):
        return value
    assert isinstance(type_, Row)
    if isinstance(type_.of, Row) and not type_.regular:
        flat = [x for row in value for x in row]
        inner = passed(flat, type_.of, (len(flat),))
        return fw.ragged(inner, lengths=np.array([len(row) for row in value], np.int64))
    return np.array(value, scalar_of(type_)).reshape(extents[: rank_of(type_)])


def passed_text(value: Any, type_: Type, extents: tuple[int, ...]) -> str:
    """The same as code."""
    if isinstance(type_, str):
        return f"np.{type_}({value})"
    assert isinstance(type_, Row)
    if isinstance(type_.of, Row) and not type_.regular:
        flat = [x for row in value for x in row]
        inner = passed_text(flat, type_.of, (len(flat),))
        return f"fw.ragged({inner}, lengths={[len(row) for row in value]})"
    array = passed(value, type_, extents)
    reshape = f".reshape({array.shape})" if not array.size and array.ndim > 1 else ""
    return f"np.array({array.tolist()}, np.{scalar_of(type_)}){reshape}"
