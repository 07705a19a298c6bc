"""The stages of a sweep's body: what each chain of blocks carries, and what each let waits for.

    body:  x = index xs i            level 0
           p = prefix (add) [0] x    level 1: needs the first chain
           q = prefix (max) [..] p   level 2: needs the second
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flatweave.base.dtypes import bool_, i64
from flatweave.lower.pairs import restarting
from flatweave.ops import CombineSegments, Compact, Prefix, Sweep
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import free_vars

COUNT = lambda_of("add", i64)


@dataclass(frozen=True, eq=False)
class Link:
    """One thing that a chain carries: a prefix's value, or how many a sink kept or closed.

    A prefix that starts anew at flags carries pairs of a flag and an element; `inner` is the link
    of its elements alone. `initial` is what the first block goes on from, where that is not the
    neutral element.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    args: tuple[Atom, ...]
    prefix: Let | None = None
    compact: int | None = None
    closing: bool = False
    inner: Link | None = None
    initial: tuple[Atom, ...] = ()

    @property
    def first(self) -> tuple[Atom, ...]:
        """What comes before all elements."""
        return self.initial or self.neutral


@dataclass(frozen=True, eq=False)
class Stages:
    """The links of each level, from 1 on."""

    levels: tuple[tuple[Link, ...], ...]

    @property
    def depth(self) -> int:
        return len(self.levels)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links of all levels, in order."""
        return tuple(link for links in self.levels for link in links)


def with_slots(links: Iterable[Link]) -> Iterator[tuple[int, Link]]:
    """Each link with the first of its slots among the values that they carry together."""
    slot = 0
    for link in links:
        yield slot, link
        slot += len(link.neutral)


def link_of(links: Iterable[Link], let: Let) -> tuple[Link | None, int]:
    """The link of a prefix, with its first slot among the carries."""
    found = ((link, slot) for slot, link in with_slots(links) if link.prefix is let)
    return next(found, (None, 0))


def find_stages(op: Sweep) -> Stages:
    """Assign every prefix and every compact sink to the chain that it needs."""
    level: dict[Var, int] = {}
    found: dict[int, list[Link]] = {}
    for let in op.body.lets:
        known = max((level.get(v, 0) for v in free_vars(let.op)), default=0)
        if isinstance(let.op, Prefix):
            known += 1
            found.setdefault(known, []).append(_link_of_prefix(let, let.op))
        level.update((var, known) for var in let.vars)
    for k, (sink, taken) in enumerate(zip(op.sinks, op.portions(), strict=True)):
        if isinstance(sink, Compact):
            known = _level(level, taken[0]) + 1
            link = Link(COUNT, (index(0),), (taken[0],), compact=k)
            found.setdefault(known, []).append(link)
        if isinstance(sink, CombineSegments):
            known = _level(level, taken[0]) + 1
            link = Link(COUNT, (index(0),), (taken[0],), compact=k, closing=True)
            found.setdefault(known, []).append(link)
    depth = max(found, default=0)
    return Stages(tuple(tuple(found.get(k, ())) for k in range(1, depth + 1)))


def _link_of_prefix(let: Let, op: Prefix) -> Link:
    alone = Link(op.fn, op.neutral, op.args, prefix=let, initial=op.initial)
    if not op.starts:
        return alone
    neutral, args = (Const(False, bool_), *op.neutral), (*op.starts, *op.args)
    return Link(restarting(op.fn), neutral, args, prefix=let, inner=alone)


def _level(level: dict[Var, int], atom: Atom) -> int:
    return level.get(atom, 0) if isinstance(atom, Var) else 0
