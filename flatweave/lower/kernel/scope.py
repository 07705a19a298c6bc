"""What the variables of a program are on the host: scalars, and arrays in buffers."""

from __future__ import annotations

from itertools import count

from flatweave.base.plan import Site
from flatweave.base.records import record
from flatweave.terms.syntax import Atom, Const, Var


@record
class HostArray:
    """An array in memory: its buffer and the host atoms of its extents."""

    buffer: Var
    shape: tuple[Atom, ...]


class HostScope:
    """The host values of the variables in reach; a variable owns one reference to its buffer."""

    def __init__(self, outer: HostScope | None = None) -> None:
        self.outer = outer
        self._values: dict[Var, Atom | HostArray] = {}
        self._known: dict[Atom, Const] = {}

    def inner(self) -> HostScope:
        return HostScope(self)

    def bind(self, var: Var, value: Atom | HostArray) -> None:
        self._values[var] = value

    def know(self, host: Atom, value: Const) -> None:
        """In this body a host value is known: kernels have the constant instead."""
        self._known[host] = value

    def known(self, host: Atom) -> Const | None:
        """What a host value is known to be in this body."""
        scope: HostScope | None = self
        while scope is not None and host not in scope._known:
            scope = scope.outer
        return None if scope is None else scope._known[host]

    def owns(self, var: Var) -> bool:
        """Whether the variable was bound in this body, not outside it."""
        return var in self._values

    def find(self, atom: Atom) -> Atom | HostArray:
        scope: HostScope | None = self
        while scope is not None and isinstance(atom, Var):
            if atom in scope._values:
                return scope._values[atom]
            scope = scope.outer
        return atom

    def scalar(self, atom: Atom) -> Atom:
        value = self.find(atom)
        assert not isinstance(value, HostArray), f"{atom!r} is an array"
        return value

    def array(self, atom: Atom) -> HostArray:
        value = self.find(atom)
        assert isinstance(value, HostArray), f"{atom!r} is no array"
        return value


class Sites:
    """The table of sites; their numbers go into the machine code."""

    def __init__(self, rows: dict[int, Site] | None = None, first: int = 0) -> None:
        self.rows = {} if rows is None else rows
        self._numbers = count(first)

    def add(self, site: Site) -> int:
        number = next(self._numbers)
        self.rows[number] = site
        return number

    def shared(self) -> Sites:
        """The same table with the same numbers for all kernels of a kernel, written one by one."""
        return _SharedSites(self.rows, self._numbers)

    def apart(self, kernel: int) -> Sites:
        """The same table for a kernel written later: its numbers do not depend on when that is."""
        return Sites(self.rows, kernel * MOST_SITES)


class _SharedSites(Sites):
    """Sites of kernels that are all written together."""

    def __init__(self, rows: dict[int, Site], numbers: count[int]) -> None:
        super().__init__(rows)
        self._numbers = numbers

    def apart(self, kernel: int) -> Sites:
        return self


MOST_SITES = 1 << 20
"""Of one kernel."""
