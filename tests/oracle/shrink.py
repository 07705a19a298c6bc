"""Make a failure small: fewer results, steps and inputs, simpler functions, fewer elements.

    smallest(failure)        a failure of the same kind, of the smallest program found
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tests.oracle.check import Failure, Run, first_failure
from tests.oracle.expressions import Call, Cast, Either, Expression, Function, Name, Read, Repeat
from tests.oracle.program import Block, Program, Step, arguments, entered, run_steps, source_of

Fails = Callable[[Program, Run], Failure | None]
SECONDS = 120.0


def smallest(failure: Failure, seconds: float = SECONDS) -> Failure:
    """A failure of the same kind that nothing can be left out of, as far as time allows."""
    end = time.monotonic() + seconds

    def fails(program: Program, run: Run) -> Failure | None:
        if time.monotonic() > end:
            return None
        try:
            found = first_failure(program, [run])
        except Exception:  # the oracle refuses it: it has no meaning
            return None
        return found if found is not None and found.kind == failure.kind else None

    return shrunk(failure, fails)


def shrunk(failure: Failure, fails: Fails) -> Failure:
    """A failure that `fails` finds in the smallest program, by single cuts."""
    found = _simpler_run(failure, fails)
    while True:
        length = len(source_of(found.program))
        smaller = (p for p in candidates(found.program) if len(source_of(p)) < length)
        better = next((f for p in smaller if (f := fails(p, found.run)) is not None), None)
        if better is None:
            return _simpler_run(found, fails)
        found = better


def _simpler_run(failure: Failure, fails: Fails) -> Failure:
    """Fewer elements, one thread, no forced schedule."""
    found = failure
    for n in sorted({0, 1, 2, 3, 5, 8, 17, 65, 129, failure.run.n // 2, failure.run.n * 3 // 4}):
        if n >= found.run.n:
            break
        smaller = fails(found.program, replace(found.run, n=n))
        if smaller is not None:
            found = smaller
            break
    found = fails(found.program, replace(found.run, threads=1)) or found
    if found.program.schedule:
        found = fails(replace(found.program, schedule=()), found.run) or found
    return found


# -- smaller programs ------------------------------------------------------------------------------


def candidates(program: Program) -> Iterator[Program]:
    """Programs with something left out, the greatest cuts first."""
    for name in program.results:
        if len(program.results) > 1:
            yield pruned(replace(program, results=(name,)))
    for k in reversed(range(len(program.steps))):
        yield from _without(program, k)
    for k, step in enumerate(program.steps):
        # what an operator combines must stay what it is exact on
        is_fixed = step.operation == "elements" or "op" in step.details
        for details in () if is_fixed else simpler_details(step.details):
            steps = [*program.steps]
            steps[k] = replace(step, details=details)
            yield pruned(replace(program, steps=tuple(steps)))


def _without(program: Program, k: int) -> Iterator[Program]:
    """The program without a step: what reads it reads an earlier value of the same type."""
    gone = program.steps[k]
    yield pruned(replace(program, results=(gone.name,)))
    types = types_of(program)
    for name, type_ in types.items():
        if name == gone.name:
            return
        if type_ == types.get(gone.name):
            steps = (*program.steps[:k], *program.steps[k + 1 :])
            renamed = tuple(renamed_step(step, gone.name, name) for step in steps)
            results = tuple(name if x == gone.name else x for x in program.results)
            yield pruned(replace(program, steps=renamed, results=tuple(dict.fromkeys(results))))


def types_of(program: Program) -> dict[str, Any]:
    """The dtype and rank of every value, in order."""
    env: dict[str, Any] = {}
    for given, value in zip(program.inputs, arguments(program, 7, 4, 1), strict=True):
        env |= entered(given.name, value)
    run_steps(program.steps, env)
    return {name: _type_of(value) for name, value in env.items() if "." not in name}


def _type_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_type_of(part) for part in value)
    if hasattr(value, "lengths"):
        return "rows", _type_of(value.values)
    return str(np.asarray(value).dtype), np.ndim(value)


def pruned(program: Program) -> Program:
    """The program without what no result needs, and without inputs that nothing reads."""
    needed = set(program.results)
    steps: list[Step] = []
    for step in reversed(program.steps):
        if step.name in needed:
            steps.append(step)
            needed |= set(step.inputs) | names_in(step.details)
    inputs = tuple(x for x in program.inputs if x.name in needed) or program.inputs[:1]
    return replace(program, inputs=inputs, steps=tuple(reversed(steps)))


def names_in(detail: Any) -> set[str]:
    """The values that functions and blocks read from outside."""
    match detail:
        case Name(name):
            return {name.split(".")[0], name.split("[")[0]}
        case Read(array, place):
            return {array} | names_in(place)
        case Block(_, steps, _):
            inner = (set(step.inputs) | names_in(step.details) for step in steps)
            return set().union(*inner)
    return set().union(*(names_in(part) for part in parts_of(detail)))


def parts_of(detail: Any) -> list[Any]:
    """What a detail is made of."""
    if isinstance(detail, Mapping):
        return list(detail.values())
    if isinstance(detail, tuple):
        return list(detail)
    match detail:
        case Call(_, args):
            return list(args)
        case Cast(_, value):
            return [value]
        case Either(condition, then, other):
            return [condition, then, other]
        case Repeat():
            return [detail.count, detail.body, detail.start]
        case Function(_, results):
            return list(results)
    return []


def renamed_step(step: Step, old: str, new: str) -> Step:
    """A step that reads another value."""
    inputs = tuple(new if name == old else name for name in step.inputs)
    details = {role: renamed(detail, old, new) for role, detail in step.details.items()}
    return replace(step, inputs=inputs, details=details)


def renamed(detail: Any, old: str, new: str) -> Any:
    """A detail that reads another value."""
    match detail:
        case Name(name) if name == old or name.startswith(f"{old}."):
            return Name(new + name[len(old) :])
        case Read(array, place):
            return Read(new if array == old else array, renamed(place, old, new))
        case Block(params, steps, result):
            return Block(params, tuple(renamed_step(s, old, new) for s in steps), result)
    return rebuilt(detail, lambda part: renamed(part, old, new))


def rebuilt(detail: Any, change: Callable[[Any], Any]) -> Any:
    """A detail with every part changed."""
    match detail:
        case Call(function, args):
            return Call(function, tuple(change(arg) for arg in args))
        case Cast(dtype, value):
            return Cast(dtype, change(value))
        case Either(condition, then, other):
            return Either(change(condition), change(then), change(other))
        case Repeat():
            return replace(detail, count=change(detail.count), body=change(detail.body),
                           start=change(detail.start))  # fmt: skip
        case Function(params, results):
            return Function(params, tuple(change(result) for result in results))
    return detail


# -- simpler functions -----------------------------------------------------------------------------


def simpler_details(details: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A step's details with one function made simpler."""
    for role, detail in details.items():
        for simpler in simpler_detail(detail):
            yield {**details, role: simpler}


def simpler_detail(detail: Any) -> Iterator[Any]:
    """A function, expression or block with one part less."""
    if isinstance(detail, Block):
        yield from _simpler_block(detail)
    if isinstance(detail, Function):
        for k, result in enumerate(detail.results):
            for simpler in simpler_detail(result):
                results = (*detail.results[:k], simpler, *detail.results[k + 1 :])
                yield Function(detail.params, results)
    if isinstance(detail, Call | Cast | Either | Repeat):
        yield from _simpler_expression(detail)


def _simpler_expression(made: Expression) -> Iterator[Expression]:
    """A part instead of the whole, or a part made simpler."""
    parts = parts_of(made)
    yield from parts
    for k, part in enumerate(parts):
        for simpler in simpler_detail(part):
            now = iter([*parts[:k], simpler, *parts[k + 1 :]])
            yield rebuilt(made, lambda _, now=now: next(now))


def _simpler_block(block: Block) -> Iterator[Block]:
    for k, step in enumerate(block.steps):
        rest = block.steps[k + 1 :]
        for name in (*block.params, *(s.name for s in block.steps[:k])):
            steps = (*block.steps[:k], *(renamed_step(s, step.name, name) for s in rest))
            yield Block(block.params, steps, name if block.result == step.name else block.result)
        for details in simpler_details(step.details):
            changed = replace(step, details=details)
            yield Block(block.params, (*block.steps[:k], changed, *rest), block.result)
