"""Which kernels of a unit are made with the host, and which when they are launched.

    launch a ..                     first    a, d        whatever happens, they run
    if small                        later    [b], [c, e], [f], [g]
        launch b ..                          a branch's kernels are made together
    else
        launch c ..
        if true: launch d ..
        launch e ..
    launch g .. [choice small f]             [f], [g]: one of them runs

A kernel that several branches launch is made alone. Launches of one body that choose among as many
kernels mostly choose alike, as they go over the same arrays: when one kernel is made, the others of
its suffix are compiled with it, side by side, and wait (`alike`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from flatweave.base.records import record
from flatweave.kernel_ir.host import Launch
from flatweave.terms.control import If
from flatweave.terms.syntax import Const, Lambda
from flatweave.terms.traverse import lambdas_in, walk_lets


@record(eq=True)
class Parts:
    """Names of kernels: those made with the host, and groups of those made later."""

    first: tuple[str, ...]
    later: tuple[tuple[str, ...], ...]
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """All that are made together; the first ones first, if there are any."""
        return (self.first, *self.later) if self.first else self.later

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each kernel in the program's table, from 1 on."""
        names = [name for group in self.groups for name in group]
        return {name: number for number, name in enumerate(names, 1)}


def parts_of(host: Lambda) -> Parts:
    """The parts of a unit with this host program."""
    found = list(_bodies(host))
    bodies = [list(dict.fromkeys(names)) for names in _branches(found)]
    chosen = {
        name for let in walk_lets(host) if isinstance(let.op, Launch) and let.op.variants
        for name in let.op.roles
    }  # fmt: skip
    first = tuple(name for name in bodies[0] if name not in chosen)
    often = Counter(name for body in bodies[1:] for name in body if name not in first)
    groups = [[name for name in body if often[name] == 1] for body in bodies[1:]]
    groups += [[name] for name, times in often.items() if times > 1]
    alone = {group[0] for group in groups if len(group) == 1}
    alike = [[name for name in names if name in alone] for names in _alike(found)]
    return Parts(
        first, tuple(tuple(group) for group in groups if group),
        tuple(tuple(names) for names in alike if len(names) > 1),
    )  # fmt: skip


@record
class _Body:
    """What a body launches for sure, and the launches that choose."""

    sure: list[str]
    choosing: list[Launch]


def _branches(bodies: Iterable[_Body]) -> Iterator[list[str]]:
    """The kernels that a body launches for sure, then those of each launch that chooses."""
    for body in bodies:
        yield body.sure
        yield from ([name] for launch in body.choosing for name in launch.roles)


def _alike(bodies: Iterable[_Body]) -> Iterator[list[str]]:
    """The kernels of one suffix, of launches that choose among as many."""
    for body in bodies:
        found: dict[tuple[int, str], list[str]] = {}
        for launch in body.choosing:
            for name in launch.roles:
                suffix = name.removeprefix(launch.kernel)
                found.setdefault((len(launch.roles), suffix), []).append(name)
        yield from (list(dict.fromkeys(names)) for names in found.values())


def _bodies(host: Lambda) -> Iterator[_Body]:
    """The body of a program, then those of each branch in it."""
    sure: list[str] = []
    choosing: list[Launch] = []
    branches: list[Lambda] = []
    pending = [host]
    while pending:
        fn = pending.pop()
        for let in fn.lets:
            if isinstance(let.op, Launch):
                if let.op.variants:
                    choosing.append(let.op)
                else:
                    sure.extend(let.op.roles)
            elif isinstance(let.op, If) and isinstance(let.op.condition, Const):
                ways = [let.op.then, let.op.other]
                pending.append(ways.pop(0 if let.op.condition.value else 1))
                branches += ways
            elif isinstance(let.op, If):
                branches += lambdas_in(let.op)
            else:
                pending += lambdas_in(let.op)
    yield _Body(sure, choosing)
    for branch in branches:
        yield from _bodies(branch)
