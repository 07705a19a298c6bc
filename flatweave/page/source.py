"""The user's lines on the page, how long their call takes, and what a kernel does with memory.

The simulator says who reads and writes what in a kernel, and when, in a row for each use:

    thread 0-127    reads   ████████            xs, a column for each buffer: the elements in a row
    thread 0-127    writes           ████       shared memory
    ----------------------------------------    a barrier
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flatweave.array_ir.syntax import Fault
from flatweave.base.errors import UserError
from flatweave.base.pretty import counted
from flatweave.base.recording import run
from flatweave.base.records import record
from flatweave.base.source import Location, source_line
from flatweave.frontend.call.compiled import Stages
from flatweave.frontend.trace.run_time_checks import user_error
from flatweave.notebook import Markup, joined, tag
from flatweave.places.demand import rates
from flatweave.profiler.profile import Profile
from flatweave.simulator.counts import Use, Watching

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


ROW, LEFT, GAP, HEAD = 13, 170, 24, 22
WIDEST, CELL = 300.0, 8.0
MARKS = {"reads": "read", "writes": "write", "atomics": "update"}
MOST = 1 << 16  # elements of the arguments, for more of which the simulator takes too long


def drawn(stages: Stages) -> Markup:
    """The pictures of a kernel's blocks; nothing for programs that are no kernels."""
    if stages.watch is None:
        return Markup("")
    heading = tag("h2", "Who reads and writes what, and when")
    return tag("section", heading, *_said(stages), class_="watch")


def _said(stages: Stages) -> Iterator[Markup]:
    """The pictures, or why there are none."""
    assert stages.watch is not None
    count = sum(getattr(arg, "size", 1) for arg in stages.args or ())
    if count > MOST:
        said = f"The arguments have {count:,} elements: the page simulates at most {MOST:,} of them"
        yield tag("p", f"{said}. Ask for the page of a call on fewer.")
        return
    try:
        watched: Watching = stages.watch()
    except UserError as wrong:
        yield tag("p", f"The simulator refuses this call: {wrong}")
        return
    legend = []
    for what, mark in MARKS.items():
        box = tag("svg", tag("rect", width=12, height=10, class_=mark), width=15, height=10)
        legend.append(joined([box, what]))
    yield tag("p", "As the simulator runs it: ", joined(legend, " · "), " · barriers are dashed.")
    yield from pictures(watched)


def pictures(watched: Watching) -> Iterator[Markup]:
    """A figure for each block that was watched."""
    groups: dict[tuple[str, int], list[Use]] = {}
    for use in watched.uses:
        groups.setdefault((use.kernel, use.block), []).append(use)
    for (kernel, block), uses in groups.items():
        said = f"{kernel}, block {block}: {counted(len(uses), 'step')}"
        yield tag("figure", tag("figcaption", said), tag("div", _picture(uses), class_="scroll"))
    if watched.left_out:
        yield tag("p", f"{watched.left_out:,} more steps, of these blocks and of others.")


def _picture(uses: Sequence[Use]) -> Markup:
    """One block: a column for each buffer, a row for each step."""
    extents: dict[tuple[str, str], int] = {}
    for use in uses:
        if use.places:
            key = use.buffer, use.space
            extents[key] = max(extents.get(key, 0), *(place + 1 for place in use.places))
    firsts = _firsts(uses)
    columns: dict[tuple[str, str], tuple[float, float]] = {}
    x, parts = float(LEFT), []
    for key, extent in extents.items():
        span = extent - firsts[key]
        each = min(CELL, WIDEST / span)
        columns[key] = x, each
        name, space = key
        label = f"{name} ({space})"
        ends = f"[{firsts[key]}..{extent - 1}]"
        parts += [tag("text", tag("title", ends), label, x=f"{x:.0f}", y=12)]
        x += max(span * each, len(label) * 6.7) + GAP
    for row, use in enumerate(uses):
        parts.append(_row(use, HEAD + row * ROW, x, columns, firsts))
    height = HEAD + len(uses) * ROW + 4
    return tag(
        "svg", *parts, viewBox=f"0 0 {x:.0f} {height}", width=f"{x:.0f}", height=height, role="img",
        aria_label="what each step reads and writes",
    )  # fmt: skip


def _firsts(uses: Iterable[Use]) -> dict[tuple[str, str], int]:
    """The first element of each buffer that is used: a block uses its part of an array."""
    found: dict[tuple[str, str], int] = {}
    for use in uses:
        if use.places:
            key = use.buffer, use.space
            found[key] = min(found.get(key, use.places[0]), *use.places)
    return found


def _row(
    use: Use, y: int, width: float, columns: dict[tuple[str, str], tuple[float, float]],
    firsts: dict[tuple[str, str], int],
) -> Markup:  # fmt: skip
    if use.what == "barrier":
        middle = y + ROW / 2
        said = tag("text", f"barrier of a {use.space}", x=0, y=y + 10)
        line = tag("line", x1=LEFT, x2=f"{width:.0f}", y1=middle, y2=middle, class_="barrier")
        return joined([said, line])
    key = use.buffer, use.space
    x, each = columns[key]
    who = f"{_word(use.threads)} {runs_text(use.threads)}"
    title = tag("title", f"{who}: {use.what} {use.buffer}[{runs_text(use.places)}]")
    bars = [
        tag(
            "rect", x=f"{x + (first - firsts[key]) * each:.1f}", y=y + 2, height=ROW - 3,
            width=f"{max((last + 1 - first) * each - (each > 4), 1):.1f}", class_=MARKS[use.what],
        )
        for first, last in runs(use.places)
    ]  # fmt: skip
    short = who if len(who) < 20 else f"{who[:19]}…"
    label = tag("text", f"{short} {use.what}", x=0, y=y + 10)
    return tag("g", title, label, *bars)


def _word(threads: Sequence[int]) -> str:
    return "thread" if len(set(threads)) == 1 else "threads"


def runs(places: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as runs of neighbours: 1, 2, 3, 7 are (1, 3), (7, 7)."""
    found: list[tuple[int, int]] = []
    for place in sorted(set(places)):
        if found and found[-1][1] == place - 1:
            found[-1] = found[-1][0], place
        else:
            found.append((place, place))
    return found


def runs_text(places: Iterable[int]) -> str:
    """Runs in words: `0-31, 64`, or with an equal step `0, 2, .. 62`."""
    each = sorted(set(places))
    steps = {b - a for a, b in zip(each, each[1:], strict=False)}
    if len(each) > 3 and len(steps) == 1 and steps != {1}:
        return f"{each[0]}, {each[1]}, .. {each[-1]}"
    parts = [f"{a}" if a == b else f"{a}-{b}" for a, b in runs(each)]
    return ", ".join(parts if len(parts) < 6 else [*parts[:4], "..", parts[-1]])
