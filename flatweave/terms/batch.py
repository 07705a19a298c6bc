"""The values of variables over a batch of elements, and columns of such values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.terms.syntax import Atom, Const, Lambda, Var

Value = np.ndarray[Any, np.dtype[Any]]
Values = tuple[Value, ...]


class Env:
    """The values of variables over a batch of `size` elements; `size` None: no batch.

    `positions` says which element of the whole batch each one is, for messages.
    """

    __slots__ = ("index", "outer", "positions", "size", "values")

    def __init__(
        self,
        size: int | None = None,
        outer: Env | None = None,
        index: Value | None = None,
        positions: Value | None = None,
    ) -> None:
        self.size = size
        self.outer = outer
        self.index = index
        self.positions = positions
        self.values: dict[Var, Value] = {}

    def get(self, var: Var) -> Value | None:
        """The variable's value, or None where it has none."""
        found = self.values.get(var)
        if found is None and self.outer is not None and (found := self.outer.get(var)) is not None:
            if self.index is not None and isinstance(var.type, DType) and found.ndim:
                found = found[self.index]
            self.values[var] = found
        return found

    def __getitem__(self, var: Var) -> Value:
        found = self.get(var)
        if found is None:
            raise CompilerBug(f"{var} has no value: it is read before it is bound.")
        return found

    def knows(self, var: Var) -> bool:
        """Whether the variable has a value here."""
        return self.get(var) is not None

    def inner(self) -> Env:
        """A scope inside this one, over the same batch."""
        return Env(self.size, self, None, self.positions)

    def batch(self, size: int, positions: Value | None = None) -> Env:
        """A scope inside this one, which has no batch, over a batch of `size` elements."""
        if self.size is not None:
            raise CompilerBug("an array operation runs on a batch of elements.")
        return Env(size, self, None, np.arange(size) if positions is None else positions)

    def take(self, index: Value) -> Env:
        """A scope over some of this batch's elements, in the order of `index`."""
        if self.size is None:
            return self.batch(len(index))
        assert self.positions is not None
        return Env(len(index), self, index, self.positions[index])

    def whole(self) -> Env:
        """The scope around the whole batch."""
        env = self
        while env.size is not None:
            if env.index is not None or env.outer is None:
                raise CompilerBug("a prefix needs all elements of its sweep: it is inside an if.")
            env = env.outer
        return env

    def position(self, element: int) -> int:
        """The number in the whole batch of an element of this one; -1 without a batch."""
        return -1 if self.positions is None else int(self.positions[element])


class Reader:
    """Reads atoms from an environment: the base of interpreters."""

    def atom(self, env: Env, atom: Atom) -> Value:
        """The value of an atom."""
        if isinstance(atom, Const):
            return np.asarray(atom.value, atom.dtype.numpy)
        return env[atom]

    def atoms(self, env: Env, atoms: Sequence[Atom]) -> Values:
        """The values of several atoms."""
        return tuple([self.atom(env, atom) for atom in atoms])


def spread(values: Sequence[Value], size: int | None) -> Values:
    """Scalars as columns: one value for every element of the batch, if there is one."""
    if size is None:
        return tuple(values)
    return tuple(value if value.ndim else np.broadcast_to(value, size) for value in values)


def empty_columns(fn: Lambda, size: int) -> Values:
    """Columns for the scalar results of a lambda, to be assigned to."""
    types = [type_ for type_ in fn.result_types() if isinstance(type_, DType)]
    return tuple(np.empty(size, type_.numpy) for type_ in types)


def assign(columns: Values, index: Value, values: Values) -> None:
    """columns[index] = values, each."""
    for column, value in zip(columns, values, strict=True):
        column[index] = value


def take(columns: Sequence[Value], index: Any) -> Values:
    """columns[index], each."""
    return tuple(column[index] for column in columns)


def prepend(first: Sequence[Value], rest: Sequence[Value]) -> Values:
    """Columns concatenated; a single value counts as a column of one."""
    pairs = zip(first, rest, strict=True)
    return tuple(np.concatenate([a.reshape(-1, *b.shape[1:]), b]) for a, b in pairs)
