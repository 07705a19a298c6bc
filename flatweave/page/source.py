"""The user's lines on the page, and how long their call takes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flatweave.array_ir.fault import Fault
from flatweave.base.errors import UserError
from flatweave.base.html import Markup, joined, tag
from flatweave.base.recording import run
from flatweave.base.records import record
from flatweave.base.source import Location, source_line
from flatweave.frontend.call.compiled import Stages
from flatweave.frontend.trace.run_time_checks import user_error
from flatweave.places.demand import rates
from flatweave.profiler.profile import Profile

# The user's lines, and the locations in them: everything from one location is highlighted
# together.
#
#     source.of([place])  ==>  "p3"       marks everything compiled from the expression at `place`
#
# A location is an expression, by its columns, if Python knows them.


FAR = 12  # lines between two that are shown, and do not matter
Spots = dict[int, list[str]]


class Source:
    """The requested locations, by number."""

    def __init__(self) -> None:
        self._numbers: dict[Location, str] = {}

    def of(self, places: Iterable[Location]) -> str:
        """The marks of these locations."""
        marks = []
        for place in places:
            if place.is_known:
                marks.append(self._numbers.setdefault(place, f"p{len(self._numbers)}"))
        return " ".join(dict.fromkeys(marks))

    def lines(self) -> Markup:
        """Every line with a location, those between them, and their locations."""
        files: dict[str, Spots] = {}
        texts: dict[tuple[str, int], str] = {}
        for place, mark in self._numbers.items():
            files.setdefault(place.file, {}).setdefault(place.line, []).append(mark)
            texts[place.file, place.line] = place.text
        return joined(self._file(file, spots, texts) for file, spots in files.items())

    def _file(self, file: str, spots: Spots, texts: dict[tuple[str, int], str]) -> Markup:
        rows = []
        for number in shown(spots):
            if number is None:
                rows.append(tag("li", "…", class_="gap"))
                continue
            text = texts.get((file, number)) or source_line(file, number)
            code = (tag("b", number), tag("code", text or " "))
            if number in spots:
                marks = " ".join(spots[number])
                rows.append(tag(
                    "li", *code, class_="line", tabindex=0, role="button", data_of=marks,
                    data_find=f"{number} {text}",
                ))  # fmt: skip
            else:
                rows.append(tag("li", *code))
        return joined([tag("h3", file), tag("ol", *rows, class_="source")])


def shown(spots: Iterable[int]) -> Iterator[int | None]:
    """The numbers of the lines to show; None for lines that are left out."""
    last: int | None = None
    for number in sorted(spots):
        if last is not None and number - last > FAR:
            yield None
        elif last is not None:
            yield from range(last + 1, number)
        yield number
        last = number


# The time of a call, and the time that its bytes need at this machine's memory bandwidth.


RUNS, ENOUGH = 20, 0.3


@record
class Took:
    """What the kernels of a pass took in a call, on average, the bytes that it moved as far as they
    are known now, and the part of the time in which each thread was busy, where one kernel ran."""

    seconds: float
    bytes: int | None
    busy: Sequence[float]


@record
class Timing:
    """The fastest of `runs` calls, and each pass by name; `wrong` says why there are no times.
    `rate` is in bytes a second."""

    seconds: float | None
    runs: int
    rate: float
    passes: Mapping[str, Took]
    wrong: str = ""

    def floor(self, n_bytes: int) -> float:
        """The time that `n_bytes` take at the rate of the machine."""
        return n_bytes / self.rate if self.rate else 0.0


def timing(stages: Stages) -> Timing | None:
    """Run a program a few times; None without its arguments."""
    if stages.args is None:
        return None
    found: list[float] = []
    profile = Profile()
    args = list(stages.args)
    try:
        run(stages.name, stages.executable, list(args))  # makes the kernels that these sizes need
        end = time.perf_counter() + ENOUGH
        with profile:
            while not found or (len(found) < RUNS and time.perf_counter() < end):
                begin = time.perf_counter()
                run(stages.name, stages.executable, list(args))
                found.append(time.perf_counter() - begin)
    except Fault as fault:
        return Timing(None, 0, 0.0, {}, user_error(fault).args[0])
    except UserError as wrong:
        return Timing(None, 0, 0.0, {}, str(wrong))
    rate = rates("cpu", None).memory if _is_on_cpu(stages) else 0.0
    return Timing(min(found), len(found), rate, _passes(profile, len(found)))


def _passes(profile: Profile, runs: int) -> dict[str, Took]:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in profile.rows():
        rows.setdefault(row["pass"], []).append(row)
    return {
        name: Took(
            sum(row["seconds"] for row in own) / runs,
            next((row["bytes"] // runs for row in own if row["bytes"] is not None), None),
            own[0]["busy"] if len(own) == 1 else (),
        )
        for name, own in rows.items()
    }


def _is_on_cpu(stages: Stages) -> bool:
    return str(stages.executable.whole.target.name) == "cpu"
