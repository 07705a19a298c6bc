"""fw.tune: measures the versions of nests and the schedules of sweeps, and keeps what decides.

    fw.tune(f, (rows,))                 print(_)  what was measured, and what holds from now on
    f(rows)                             the faster version for such sizes, in later processes too
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from flatweave.array_ir.syntax import Fault, print_program
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.pretty import counted, duration, indent, table
from flatweave.base.recording import shown
from flatweave.base.records import record, replace
from flatweave.base.schedule import ALWAYS, NEVER, SWEEP, ByGain, Schedule, Thresholds
from flatweave.base.source import user_location
from flatweave.frontend.call.compiled import Compiled
from flatweave.frontend.call.options import in_force
from flatweave.frontend.trace.run_time_checks import user_error
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.array import shown as as_shown
from flatweave.frontend.values.scope import innermost
from flatweave.jit import Jitted, jit
from flatweave.runtime.lazy_import import compiler
from flatweave.runtime.tuned import keep, keep_plans, kept, key_of, place
from flatweave.tuning.measure import NOISE, Nest, Seen, Trial, fitted
from flatweave.tuning.search import Search

BUDGET = 10.0
ROUNDING = "its versions may differ in the last bits: jit(deterministic=False) lets it be tuned"


@record(eq=True)
class TunedNest:
    """What is known of a nest: the line, its thresholds (None: those of the machine), why, and the
    seconds of both versions at the sizes of each input."""

    where: str
    thresholds: Thresholds | None
    said: str
    seen: tuple[Seen, ...]

    def __str__(self) -> str:
        rows = [
            [*(_size(n) for n in (each.sizes.rows, each.sizes.values, each.sizes.longest)),
             duration(each.flat), duration(each.by_row)]
            for each in self.seen
        ]  # fmt: skip
        header = ["rows", "values", "longest", "flat", "by row"]
        text = f"{self.where}: by row {self.said}"
        return f"{text}\n{indent(table(header, rows, right=range(5)))}" if rows else text


@record(eq=True)
class TunedSchedules:
    """The schedules of some sweeps of a program, as `fw.schedule` takes them, and the seconds of
    all inputs by the ones that were chosen before and by these."""

    text: str
    before: float
    after: float

    def __str__(self) -> str:
        return f"{duration(self.before)}, and by these {duration(self.after)}:\n{self.text}"


@record(eq=True)
class Tuning:
    """What `fw.tune` measured and decided: `print` shows it.

    Units: seconds. Source: Flatweave.

    >>> fw.tune(fw.jit(lambda x: x + 1), (np.arange(3),), budget=0.01).nests
    ()
    """

    name: str
    nests: tuple[TunedNest, ...]
    said: str
    schedules: tuple[TunedSchedules, ...] = ()

    def __str__(self) -> str:
        parts = [indent(str(part)) for part in (*self.nests, *self.schedules)]
        return "\n".join([f"{self.name}: {self.said}", *parts])


def tune(f: Callable[..., Any], inputs: Any, budget: float = BUDGET) -> Tuning:
    """Measure a function's versions and schedules on inputs, and choose by that from then on.

    `inputs` is a tuple of arguments, or a list of such tuples: of the sizes that matter. The
    thresholds that decide, with sizes, which version of a nest runs are fitted to what was measured
    in `budget` seconds, of which compiling takes none, or in one round. In the seconds that are
    left, schedules of the sweeps are changed step by step, compiled, and kept where all inputs
    together take less time. What was found is kept for this program on this machine: for calls of
    `f`, and for later processes. Only what gives the same bits is chosen between, unless `f` is
    jitted with deterministic=False. `print` shows what was found.
    Raises ArgumentError for a budget or inputs of another kind, what a call of `f` raises, and
    UserError where nothing can be kept.

    Types: a function and its inputs `->` a `Tuning`. Source: Flatweave.

        >>> isinstance(fw.tune(fw.jit(lambda x: x + 1), (np.arange(3),), budget=0.01), fw.Tuning)
        True
    """
    calls = _checked(f, inputs, budget)
    jitted = f if isinstance(f, Jitted) else jit(f)
    name = jitted.__name__
    target = jitted.target or config.target
    for call in calls:  # which tells of mistakes, and compiles what broadcasts
        jitted(*call)
    if target != "cpu":
        return Tuning(name, (), f"the target {target} has one version of each nest")
    if config.schedule.version is not None:
        raise ArgumentError.here(
            f"fw.tune where the version is forced to be {config.schedule.version}.",
            "Call it outside of the `with`, or without the variable.",
        )
    schedule = in_force(deterministic=jitted.deterministic)
    nests: list[TunedNest] = []
    schedules: list[TunedSchedules] = []
    for compiled, given in _programs(jitted, calls):
        key = key_of(print_program(compiled.traced.program), schedule)
        _check_place(key)
        trial = _trial(compiled, given, jitted.checks, schedule)
        budget = _run(trial, budget)
        machine = compiler().target_named("cpu").machine.rows_alone
        found = [_tuned(nest, machine, trial.only_exact) for nest in trial.conclude()]
        thresholds = tuple(nest.thresholds for nest in found)
        keep(key, thresholds)
        nests += found
        if not schedule.text:
            wished = replace(schedule, tuned=thresholds)
            begin = time.perf_counter()
            schedules += _searched(compiled, given, jitted.checks, wished, key, budget)
            budget -= time.perf_counter() - begin
    jitted.forget()
    return Tuning(name, tuple(nests), _said(nests, schedules), tuple(schedules))


def _checked(f: Any, inputs: Any, budget: Any) -> list[tuple[Any, ...]]:
    """The calls to measure; ArgumentError for what makes no sense."""
    if innermost() is not None:
        raise ArgumentError.here(
            "fw.tune inside a function that is being compiled: it runs the function.",
            "Call it outside, on concrete inputs.",
        )
    if not callable(f):
        raise ArgumentError.here(
            f"tune needs a function, got {kind_of(f)}.",
            "Give the function first: fw.tune(f, (xs,)).",
        )
    is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
    if not is_number or not budget > 0:
        raise ArgumentError.here(
            f"the budget of tune must be seconds above 0, got {as_shown(budget)}.",
            f"Leave it out for {BUDGET:.0f} seconds.",
        )
    calls = [inputs] if isinstance(inputs, tuple) else inputs
    if not isinstance(calls, list) or not all(isinstance(call, tuple) for call in calls):
        found = kind_of(inputs)
        if isinstance(inputs, list):
            found = "a list with " + kind_of(next(x for x in inputs if not isinstance(x, tuple)))
        raise ArgumentError.here(
            f"the inputs of tune must be a tuple of arguments or a list of such, got {found}.",
            "Of one argument: fw.tune(f, (xs,)).",
        )
    if not calls:
        raise ArgumentError.here(
            "tune got no inputs, so that there is nothing to measure.",
            "Give a tuple of arguments for each size that matters.",
        )
    return calls


def _programs(
    jitted: Jitted[..., Any], calls: Sequence[tuple[Any, ...]]
) -> list[tuple[Compiled, list[list[Any]]]]:
    """The programs that the calls run, each with its calls' flat arguments."""
    found: dict[int, tuple[Compiled, list[list[Any]]]] = {}
    for call in calls:
        compiled, given = jitted.taken(*call)
        found.setdefault(id(compiled), (compiled, []))[1].append(given)
    return list(found.values())


def _check_place(key: str) -> None:
    """Raise UserError where thresholds could not be kept, before anything is measured."""
    if not keep(key, kept(key)):
        raise UserError(
            f"the results of tune cannot be stored in {place()}.",
            where=user_location(),
            remedy="Make that folder writable for you alone, let XDG_CACHE_HOME name another one,"
            " or set FLATWEAVE_NO_CACHE=1: then it holds for this process.",
            more="compiled-code-on-disk",
        )


def _trial(
    compiled: Compiled, given: Sequence[list[Any]], checks: bool, schedule: Schedule
) -> Trial:
    def version(**wishes: Any) -> Any:
        pipeline = compiler()
        wished = replace(schedule, **wishes)
        return pipeline.build(compiled.traced.program, "cpu", checks, wished, pipeline.MEASURED)

    return Trial(version, given, schedule.deterministic)


def _run(trial: Trial, budget: float) -> float:
    """What a trial leaves of the budget."""
    try:
        with shown(trial) as look:
            return trial.run(budget, look)
    except Fault as fault:
        raise user_error(fault) from None


def _searched(
    compiled: Compiled, given: Sequence[list[Any]], checks: bool, schedule: Schedule, key: str,
    budget: float,
) -> list[TunedSchedules]:  # fmt: skip
    """The schedules that are faster, if any are; they are kept."""

    def by(text: str) -> Any:
        wished = replace(schedule, tuned_text=text)
        return compiler().build(compiled.traced.program, "cpu", checks, wished)

    until = time.perf_counter() + budget
    search = Search(by, given, only_exact=schedule.deterministic)
    try:
        with shown(search) as look:
            search.run(until, look)
    except Fault as fault:
        raise user_error(fault) from None
    keep_plans(key, search.text)
    return [TunedSchedules(search.text, search.before, search.after)] if search.text else []


def _tuned(nest: Nest, machine: ByGain, only_exact: bool) -> TunedNest:
    """What is to decide for a nest, by what was seen of it."""
    if only_exact and not nest.exact:
        return TunedNest(nest.where, None, f"as sizes ask for: {ROUNDING}", ())
    given = machine.of(nest.gain)
    found = fitted(given, nest.seen) if nest.has_sizes else _throughout(nest.seen)
    said = f"{found or given}{'' if found not in (None, given) else ', as before'}"
    return TunedNest(nest.where, None if found == given else found, said, tuple(nest.seen))


def _throughout(seen: Sequence[Seen]) -> Thresholds | None:
    """For a nest whose sizes differ between iterations: the version faster on all inputs."""
    if all(each.flat > each.by_row * NOISE for each in seen):
        return ALWAYS
    return NEVER if all(each.by_row > each.flat * NOISE for each in seen) else None


def _said(nests: Sequence[TunedNest], schedules: Sequence[TunedSchedules]) -> str:
    changed = sum(nest.thresholds is not None for nest in nests)
    parts = [f"thresholds of {changed} of {counted(len(nests), 'nest')} changed"] if nests else []
    if schedules:
        sweeps = sum(each.text.count(SWEEP) for each in schedules)
        parts.append(f"schedules of {counted(sweeps, 'sweep')} changed")
    if not parts:
        return "nothing to choose: no schedule was faster than the one that it has"
    kept_in = place()
    held = f"kept in {kept_in}" if kept_in else "for this process, as FLATWEAVE_NO_CACHE is set"
    return f"{' and '.join(parts)}, {held}"


def _size(count: int) -> str:
    return str(count) if count >= 0 else "differs"
