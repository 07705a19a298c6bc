"""The schedules of a program's sweeps, one change after the other, each measured next to the best.

    search = Search(compiled, inputs, look)
    search.run(until)                    plans that are faster, as far as there is time
    search.changed                       {"t_9": SweepPlan(..)}

A change is kept if the program with it takes less time for all inputs: the fastest of some runs,
which alternate with runs of the best so far, so that other load on the machine slows both. At the
end all changes together are measured against the plans that the compiler chose. Compiling refuses
what would give other bits under `fw.jit(deterministic=True)`, and results are compared.

The alternatives to a schedule change one thing each, in all versions that have it:

    bind least=10912 most=15392                  half as large, twice as large
    vectorize axis=last width=32 tail=shift      width=16, width=64; axis=space; tail=scalar
    split axis=last by=1024                      by=512, by=2048, or none
    version name=streaming                       left out, or from another size on

Some are refused: by the laws of the sweep's operators, by what emission can do, or as they would
group floats otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flatweave.base.records import replace
from flatweave.lower.schedule.plan import SweepPlan, parse_plans, print_plans
from flatweave.lower.schedule.steps import (
    BY_PANELS,
    Axis,
    Bind,
    Reorder,
    Split,
    Step,
    Tail,
    Unroll,
    Vectorize,
    Version,
    kind_of,
)
from flatweave.tuning.measure import NOISE, same_bits


def alternatives(plan: SweepPlan) -> Iterator[SweepPlan]:
    """Plans that differ from one by one thing, the steps' first."""
    steps = dict.fromkeys(step for version in plan.versions for step in version.steps)
    for old in steps:
        for new in _other(old):
            yield replace(plan, versions=tuple(_with(v, old, new) for v in plan.versions))
        if isinstance(old, Split) and BY_PANELS in steps:
            yield replace(plan, versions=tuple(_in_one(version) for version in plan.versions))
    *special, _ = plan.versions
    for version in special:
        others = tuple(each for each in plan.versions if each is not version)
        yield replace(plan, versions=others)
        for elements in _sizes(version.guard.elements):
            other = replace(version, guard=replace(version.guard, elements=elements))
            versions = tuple(other if each is version else each for each in plan.versions)
            yield replace(plan, versions=versions)
    for least, most in zip(_sizes(plan.bind.least), _sizes(plan.bind.most), strict=True):
        yield replace(plan, bind=_blocks(plan.bind, least, most))


def _sizes(size: int) -> tuple[int, ...]:
    """Half and twice as many."""
    return (size // 2, size * 2) if size > 1 else ()


def _blocks(bind: Bind, least: int, most: int) -> Bind:
    return replace(bind, least=min(least, most), most=most)


def _other(step: Step) -> Iterator[Step]:
    """Other values of one step."""
    match step:
        case Vectorize(axis=axis, width=width):
            yield from (replace(step, width=n) for n in _sizes(width))
            for other in (Axis.SPACE, Axis.LAST, Axis.FOLD):
                if other is not axis:
                    tails = [Tail.SHIFT, Tail.PREDICATE] if other is Axis.LAST else []
                    yield from (Vectorize(other, width, t) for t in (Tail.SCALAR, *tails))
            if axis is Axis.LAST:
                yield from (replace(step, tail=tail) for tail in Tail if tail is not step.tail)
        case Split(by=by) | Unroll(by=by):
            yield from (replace(step, by=n) for n in _sizes(by))


def _with(version: Version, old: Step, new: Step) -> Version:
    """A version with another step for one that it has; parts and guards follow a step's width."""
    if old not in version.steps:
        return version
    changed = version.but(new)
    if isinstance(old, Vectorize) and isinstance(new, Vectorize):
        guard = version.guard
        if new.axis is not Axis.LAST:
            return replace(_in_one(changed), guard=replace(guard, multiple=1))
        if guard.multiple > 1:
            changed = replace(changed, guard=replace(guard, multiple=new.width))
    return changed


def _in_one(version: Version) -> Version:
    """A version whose last axis is not split into column tiles."""
    if version.step(Reorder) != BY_PANELS:
        return version
    left = ((Split, Axis.LAST), Reorder)
    return replace(version, steps=tuple(s for s in version.steps if kind_of(s) not in left))


ROUNDS = 5
"""How often each of two programs runs, alternately. The fastest run of each counts, and a program
that is faster must be so in all pairs of runs but one."""


class Search:
    """A search for the schedules of one program: `compiled(text)` runs it by a text's plans, as far
    as they are allowed.

    `doing` says what is being measured; `before` and `after` are the seconds for all inputs, of the
    schedules that were chosen and of those that were found, when the search has ended.
    """

    def __init__(
        self, compiled: Callable[[str], Any], inputs: Sequence[list[Any]], *, only_exact: bool
    ) -> None:
        self.compiled = compiled
        self.inputs = inputs
        self.only_exact = only_exact
        self.chosen = compiled("")
        self.plans = parse_plans(self.chosen.text["plan"])
        self.changed: dict[str, SweepPlan] = {}
        self.seen: set[str] = set()
        self.doing = "schedules"
        self.before = self.after = 0.0

    def said(self) -> str:
        """What is being done, for a terminal."""
        return f"tuning {self.chosen.program.name}, {self.doing}"

    def run(self, until: float, look: Callable[[], None]) -> None:
        """Try changes until a moment of `time.perf_counter`, or until none is faster."""
        best, found = self.chosen, True
        expected = [self.chosen.run(given) for given in self.inputs]
        while found:
            found = False
            for name, plan in self._next():
                if time.perf_counter() > until:
                    break
                look()
                self.doing = f"schedules of {name}"
                tried = self._tried({**self.changed, name: plan}, expected)
                if tried is not None and self._is_faster(tried, best):
                    self.changed[name], best, found = plan, tried, True
        if self.changed and not self._is_faster(best, self.chosen):
            self.changed.clear()

    @property
    def text(self) -> str:
        """The plans that were found."""
        return print_plans(self.changed) if self.changed else ""

    def _next(self) -> Iterator[tuple[str, SweepPlan]]:
        """A change of each sweep's plan, then another one of each."""
        ways = {name: alternatives(self.changed.get(name, self.plans[name])) for name in self.plans}
        while ways:
            for name in list(ways):
                plan = next(ways[name], None)
                if plan is None:
                    del ways[name]
                else:
                    yield name, plan

    def _tried(self, plans: dict[str, SweepPlan], expected: Sequence[list[Any]]) -> Any:
        """The program by these plans; None where they are refused, or leave other bits."""
        text = print_plans(plans)
        if text in self.seen:
            return None
        self.seen.add(text)
        made = self.compiled(text)
        obeyed = parse_plans(made.text["plan"])
        if any(obeyed[name] != plan for name, plan in plans.items()):
            return None  # it is refused
        results = [made.run(given) for given in self.inputs]  # which compiles kernels
        pairs = zip(results, expected, strict=True)
        return made if not self.only_exact or all(same_bits(*pair) for pair in pairs) else None

    def _is_faster(self, tried: Any, best: Any) -> bool:
        """Whether one program takes less time than the other."""
        pairs = [(self._seconds(best), self._seconds(tried)) for _ in range(ROUNDS)]
        self.before, self.after = map(min, zip(*pairs, strict=True))
        faster = sum(after < before for before, after in pairs)
        return self.after * NOISE < self.before and faster >= ROUNDS - 1

    def _seconds(self, made: Any) -> float:
        """How long one run takes of all inputs."""
        begin = time.perf_counter()
        for given in self.inputs:
            made.run(given)
        return time.perf_counter() - begin
