"""The kernels of one program on a device, made group by group when one of them is first launched.

    kernels["scale"]      what a launch must know of it; made now, with its group, if it is not yet
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flatweave.base.locks import Lock
from flatweave.base.records import record


@record(eq=True)
class Launchable:
    """A kernel in a module of the device, which has a text, and what a launch must know of it."""

    text: str
    module: Any
    name: str
    threads: int
    claims: bool
    reports: tuple[int, ...]  # the sites where it may


Keep = Callable[[Sequence[str], Mapping[str, "Launchable"]], None]
Make = Callable[[Sequence[str]], Mapping[str, Launchable]]


class Kernels:
    """Kernels by their names; `make` makes a group of them, and `keep` is told of it."""

    def __init__(self, groups: Iterable[Sequence[str]], make: Make) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        self.keep: Keep | None = None
        self._groups = {name: group for group in self.groups for name in group}
        self._make = make
        self._lock = Lock()
        self._made: dict[str, Launchable] = {}

    @property
    def made(self) -> frozenset[str]:
        """The names of the kernels that a run has needed."""
        return frozenset(self._made)

    def __contains__(self, name: str) -> bool:
        return name in self._made

    def __getitem__(self, name: str) -> Launchable:
        found = self._made.get(name)
        if found is not None:
            return found
        with self._lock:
            if name not in self._made:
                group = self._groups[name]
                made = self._make(group)
                self._made.update(made)
                if self.keep is not None:
                    self.keep(group, made)
            return self._made[name]
