"""Random programs: every operation, each as often as its weight says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from flatweave.base.schedule import EXPANDS
from tests.oracle import control, elementwise, folds, moves, nests, writes
from tests.oracle.data import DTYPES, FLOATS
from tests.oracle.program import Program
from tests.oracle.writer import Known, NoChoice, Writer, inputs_for, sampled

Choose = Callable[[Writer], Known]
CHOICES: dict[Choose, int] = {
    **elementwise.CHOICES, **folds.CHOICES, **moves.CHOICES, **writes.CHOICES, **nests.CHOICES,
    **control.CHOICES,
}  # fmt: skip
COMBINING = (
    folds.choose_scan, folds.choose_scan, folds.choose_reduce, folds.choose_segmented,
    folds.choose_named, writes.choose_permute, writes.choose_expand_reduce, nests.choose_row_fold,
)  # fmt: skip
UNORDERED = ("atomic", "cas")


def random_program(seed: int, length: int = 4, exact: bool = True) -> Program:
    """The program of a seed: about `length` choices, each of some steps.

    Where it need not be exact, floats are combined as they are, so that every grouping shows.
    """
    random = Random(seed)
    some = (*DTYPES, *FLOATS) if exact else FLOATS
    dtypes = tuple(random.sample(some, random.randint(1, min(3, len(some)))))
    writer = Writer(random, exact=exact)
    inputs = inputs_for(random, dtypes, rows=random.random() < 0.3)
    sampled(writer, inputs)
    if not exact:
        combining(writer)
    made, tries = 0, 0
    wanted = random.randint(max(1, length - 2), length + 1)
    while made < wanted and tries < 200:
        tries += 1
        made += chosen(writer)
    return Program(inputs, tuple(writer.steps), results_of(writer), schedule_of(random, writer))


def combining(writer: Writer) -> None:
    """A step that combines what other steps will read."""
    while not chosen(writer, {writer.random.choice(COMBINING): 1}):
        pass


def chosen(writer: Writer, choices: Mapping[Choose, int] = CHOICES) -> bool:
    """Whether a step was chosen; nothing is left of one that could not be."""
    known, steps, env = list(writer.known), list(writer.steps), dict(writer.env)
    choose = writer.random.choices(list(choices), list(choices.values()))[0]
    try:
        choose(writer)
    except (NoChoice, TypeError, OverflowError):
        writer.known, writer.steps, writer.env = known, steps, env
        return False
    return True


def results_of(writer: Writer) -> tuple[str, ...]:
    """What nothing reads, and something else now and then."""
    read = {name for step in writer.steps for name in step.inputs}
    made = [step.name for step in writer.steps]
    ends = [name for name in made if name not in read][-3:]
    some = writer.random.choice(made or [writer.known[0].name])
    return tuple(dict.fromkeys([*ends, some] if writer.chance(0.2) else ends or [some]))


def schedule_of(random: Random, writer: Writer) -> tuple[tuple[str, str], ...]:
    """A forced way to divide work, for some of the programs that it makes a difference to."""
    used = {step.operation for step in writer.steps}
    found: dict[str, str] = {}
    if used & {"expand", "expand_reduce", "replicated_iota"} and random.random() < 0.5:
        found["expand"] = random.choice([*EXPANDS, "16-per-block"])
    if used & {"scatter", "permute", "histogram"} and random.random() < 0.6:
        found["permute"] = random.choice(["owner", "private", "partition", "sorted", *UNORDERED])
        # where elements meet in no order, which of equal ones stays is open
        ordered = {"scatter"} & used or any(
            step.operation in ("permute", "histogram")
            and getattr(step.details["op"], "name", "") in ("minimum", "maximum")
            for step in writer.steps
        )
        if (ordered or not writer.exact) and found["permute"] in UNORDERED:
            found["permute"] = "partition"
    return tuple(found.items())
