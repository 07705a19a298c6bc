"""Which kernels of a unit are made with the host, and which when they are launched.

    launch a ..                     first    a, d        whatever happens, they run
    if small                        later    [b], [c, e], [f], [g]
        launch b ..                          a branch's kernels are made together
    else
        launch c ..
        if true: launch d ..
        launch e ..
    launch g .. [choice small f]             [f], [g]: one of them runs

A kernel that several branches launch is made alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

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
    bodies = [list(dict.fromkeys(names)) for names in _branches(host)]
    chosen = {
        name for let in walk_lets(host) if isinstance(let.op, Launch) and let.op.variants
        for name in let.op.roles
    }  # fmt: skip
    first = tuple(name for name in bodies[0] if name not in chosen)
    often = Counter(name for body in bodies[1:] for name in body if name not in first)
    groups = [[name for name in body if often[name] == 1] for body in bodies[1:]]
    groups += [[name] for name, times in often.items() if times > 1]
    return Parts(first, tuple(tuple(group) for group in groups if group))


def _branches(host: Lambda) -> Iterator[list[str]]:
    """The kernels that a body launches for sure, then those of each branch in it, and of each
    launch that chooses."""
    sure: list[str] = []
    chosen: list[str] = []
    branches: list[Lambda] = []
    pending = [host]
    while pending:
        fn = pending.pop()
        for let in fn.lets:
            if isinstance(let.op, Launch):
                (chosen if let.op.variants else sure).extend(let.op.roles)
            elif isinstance(let.op, If) and isinstance(let.op.condition, Const):
                ways = [let.op.then, let.op.other]
                pending.append(ways.pop(0 if let.op.condition.value else 1))
                branches += ways
            elif isinstance(let.op, If):
                branches += lambdas_in(let.op)
            else:
                pending += lambdas_in(let.op)
    yield sure
    yield from ([name] for name in chosen)
    for branch in branches:
        yield from _branches(branch)
