"""The page of a call: `f.stages(*args).page("f.html")`, one file that needs nothing else.

Related things have the same marks: lines, boxes and kernels name in `data-of` the locations in the
user's program that they come from, and in `data-pass` the passes that they are part of; page.js
lights up what shares a mark with what was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from flatweave.array_ir.interp import Extents, extents_of
from flatweave.array_ir.syntax import print_program
from flatweave.base.pretty import counted, duration, size
from flatweave.base.source import Location
from flatweave.frontend.call.compiled import Stages
from flatweave.notebook import Markup, more, table, tag
from flatweave.page.graph import Marks, Node, draw, graph_of
from flatweave.page.passes import KernelFacts, Pass, is_large, passes_of, written_kernels
from flatweave.page.source import Source, Timing, drawn, timing
from flatweave.profiler.facts import Moved, lines_of
from flatweave.profiler.tables import check_folder, write_text

HERE = Path(__file__).parent
HUES = 8
LONGEST = 20_000  # characters of the detail of a box
NEWLINE = "\n"
LANGUAGES = {"opencl": "OpenCL C", "cuda": "CUDA C++"}
TEXT = 200_000  # characters of a program, a kernel, or its code
TOP = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
VIEW = '<meta name="viewport" content="width=device-width, initial-scale=1">\n'


def write(stages: Stages, path: str | Path | None = None, *, run: bool = True) -> Path:
    """Write the page of a call; by default to the function's name in the working folder."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in stages.name)
    target = Path(f"{name}.html" if path is None else path)
    check_folder(target, "the page")
    return write_text(target, page(stages, run=run), "the page")


def page(stages: Stages, *, run: bool = True, is_small: bool = False) -> str:
    """The page as text; with `run` the program is run, to see what it takes and how long. A small
    one has no texts of programs, and nothing is run for it."""
    return _Page(stages, timing(stages) if run and not is_small else None, is_small).text()


class _Page:
    """All parts of one page."""

    def __init__(self, stages: Stages, timed: Timing | None, is_small: bool) -> None:
        self.stages, self.timed, self.is_small = stages, timed, is_small
        self.whole = stages.executable.whole
        self.source = Source()
        self.details: list[str] = []
        program = self.whole.program
        self.extents: Extents = {} if program is None else extents_of(program, stages.args)
        self.passes: Sequence[Pass] = ()
        if self.whole.unit is not None:
            target = self.whole.target.name
            self.passes = (
                written_kernels(stages, target, not is_small) if program is None
                else passes_of(stages, program, self.extents, target, not is_small)
            )  # fmt: skip
        self.of_place: dict[Location, list[int]] = {}
        self.of_line: dict[tuple[str, int], list[int]] = {}
        own = {each.number: each.let and each.let.where for each in self.passes}
        for each in self.passes:
            for place in each.places:
                if place in own.values() and place != own[each.number]:
                    continue  # another pass is already there
                self.of_place.setdefault(place, []).append(each.number)
                self.of_line.setdefault((place.file, place.line), []).append(each.number)

    def text(self) -> str:
        """The whole file."""
        graphs = self._graphs()  # first: they define the locations
        kernels = self._kernels()
        main = tag(
            "main",
            tag("section", self._source(), *graphs, class_="follow"),
            tag("section", tag("h2", "Chosen"), tag("pre", "Nothing yet.", id="detail"),
                class_="chosen", aria_live="polite"),
            kernels, *self._rest(),
        )  # fmt: skip
        details = json.dumps(self.details).replace("</", "<\\/")
        title = f"{self.stages.name}: what became of a call"
        return (
            f"{TOP}{VIEW}{tag('title', title)}\n<style>\n{_data('page.css')}</style>\n</head>\n"
            f"<body>\n{self._head()}\n{main}\n"
            f'<script type="application/json" id="details">{details}</script>\n'
            f"<script>\n{_data('page.js')}</script>\n</body>\n</html>\n"
        )

    def _rest(self) -> list[Markup]:
        """What a small page leaves out."""
        if self.is_small:
            return []
        return [
            drawn(self.stages), self._memory(), self._notes(), self._compilation(), self._texts()
        ]  # fmt: skip

    def _head(self) -> Markup:
        timed = self.timed
        facts = [counted(self.stages.kernels, "pass over data", "passes over data")]
        if self.stages.cpu:
            facts.append(f"for {self.stages.cpu}")
        total = sum(each.bytes for each in self.passes)
        if total:
            facts.append(f"{size(total)} moved")
        if timed is not None and timed.seconds is not None:
            facts.append(f"{duration(timed.seconds)} a call")
            if timed.rate and total:
                facts.append(f"floor {duration(timed.floor(total))}")
        keys = "/ search, Tab and Enter choose, arrows move, Esc clears"
        return tag(
            "header", tag("h1", self.stages.name), tag("p", " · ".join(facts), class_="facts"),
            tag("p", tag("input", id="search", type="search", placeholder="Search (/)",
                         aria_label="Search operations, lines and kernels"),
                tag("output", id="found"), tag("small", keys)),
        )  # fmt: skip

    # -- what can be followed ---------------------------------------------------------------------

    def _source(self) -> Markup:
        lines = self.source.lines() or tag("p", "No line of it is known.")
        return tag("div", tag("h2", "Your lines"), lines, class_="panel", id="lines")

    def _graphs(self) -> list[Markup]:
        found = []
        traced, program = self.whole.traced, self.whole.program
        for title, each, id_ in (("As written", traced, "written"), ("As fused", program, "fused")):
            if each is not None:
                graph = graph_of(each.fn)
                picture = draw(graph, self._mark, f"{title}: operations and arrays")
                count = tag("small", counted(len(graph.nodes), "box", "boxes"))
                heading = tag("h2", f"{title} ", count)
                found.append(tag("div", heading, tag("div", picture, class_="picture"),
                                 class_="panel", id=id_))  # fmt: skip
        return found

    def _mark(self, node: Node) -> Marks:
        numbers = [each.number for each in self.passes if each.let and each.let is node.let]
        if not numbers and node.let is not None:
            numbers = self._passes_at(node.places)
        passes = " ".join(f"k{number}" for number in numbers)
        self.details.append(node.text[:LONGEST] + ("\n…" if len(node.text) > LONGEST else ""))
        own = node.places[:1] if self._is_written(node) else node.places
        hue = numbers[0] % HUES if numbers else None
        return Marks(self.source.of(own), passes, hue, str(len(self.details) - 1))

    def _is_written(self, node: Node) -> bool:
        """Whether a node is of the program as written: it has one location, its own."""
        return not any(each.let and each.let is node.let for each in self.passes)

    def _passes_at(self, places: Sequence[Location]) -> list[int]:
        """The passes that contain the code at these locations."""
        for place in places[:1]:
            found = self.of_place.get(place) or self.of_line.get((place.file, place.line), [])
            if found:
                return list(dict.fromkeys(found))
        return []

    # -- passes -----------------------------------------------------------------------------------

    def _kernels(self) -> Markup:
        if not self.passes:
            said = "None: the interpreter runs the program as it was written."
            return tag("section", tag("h2", "Passes over data"), tag("p", said))
        heading = tag("h2", "Passes over data, and their kernels")
        cards = tag("div", *map(self._pass, self.passes), class_="passes")
        return tag("section", heading, cards)

    def _pass(self, each: Pass) -> Markup:
        marks = self.source.of(each.places)
        where = ", ".join(lines_of(each.places)) or "no line known"
        moved = table(("array", "bytes", ""), map(_moved, each.moved)) if each.moved else ""
        notes = tag("ul", *map(_note, each.notes)) if each.notes else ""
        parts = [
            tag("h3", f"{each.name} ", tag("small", each.title)),
            tag("p", f"From {where}. {self._cost(each)}".rstrip()), moved, notes,
            more("Plan", tag("pre", each.plan)) if each.plan and not self.is_small else "",
            *map(self._kernel, each.kernels),
        ]  # fmt: skip
        return tag(
            "article", *parts, class_=f"pass hue{each.number % HUES}", tabindex=0, role="button",
            data_of=marks or None, data_pass=f"k{each.number}",
            data_find=f"{each.name} {each.title}",
        )  # fmt: skip

    def _cost(self, each: Pass) -> str:
        """What a pass moves, how long that takes at least, and how long the pass took."""
        said = []
        timed = self.timed
        took = timed.passes.get(each.name) if timed is not None else None
        if each.let is not None:
            n_bytes, is_known = each.bytes, each.is_bytes_known
            if not is_known and took is not None and took.bytes is not None:
                n_bytes, is_known = took.bytes, True
            said.append(f"Moves {size(n_bytes)}{'' if is_known else ' and what only a run tells'}")
            if timed is not None and timed.rate:
                floor = duration(timed.floor(n_bytes))
                said[0] += f", which takes {floor} at {size(int(timed.rate))}/s"
        if took is not None:
            busy = " and ".join(f"{share:.0%}" for share in took.busy)
            shared = f", of which threads were busy {busy}" if len(took.busy) > 1 else ""
            said.append(f"{'It' if said else 'Its kernels'} took {duration(took.seconds)}{shared}")
        return "".join(f"{sentence}. " for sentence in said)

    def _kernel(self, kernel: KernelFacts) -> Markup:
        state = "ran" if kernel.made else "not needed so far"
        why = f": {kernel.why}" if kernel.why else ""
        texts = [
            more(f"{title}, {counted(text.count(NEWLINE) + 1, 'line')}",
                 tag("pre", _cut(text, stage)))
            for title, text, stage in (
                ("As lowered", kernel.text.rstrip(), "kernel"), ("Assembly", kernel.code, "asm"),
            )
            if text
        ]  # fmt: skip
        head = tag("h4", kernel.name, " ", tag("small", f"{kernel.role}, {state}{why}"))
        return tag("div", head, *texts, class_="kernel made" if kernel.made else "kernel")

    # -- tables -----------------------------------------------------------------------------------

    def _memory(self) -> Markup:
        rows = [
            (array.name, array.type, "a run tells" if array.bytes is None else size(array.bytes),
             "result" if array.is_result else "in between", array.line)
            for array in self.stages.manifest
        ]  # fmt: skip
        if self.whole.program is None:
            return Markup("")
        none = tag("p", "No array is written to memory.")
        body = table(("array", "type", "bytes", "", "line"), rows) if rows else none
        return tag("section", tag("h2", "Arrays in memory"), body)

    def _notes(self) -> Markup:
        notes = list(map(_note, self.stages.notes))
        if self.timed is not None and self.timed.wrong:
            notes.insert(0, tag("li", f"The call fails: {self.timed.wrong}"))
        none = "Nothing stood in the way of fusion." if self.whole.program else "Nothing."
        body = tag("ul", *notes) if notes else tag("p", none)
        return tag("section", tag("h2", "What was decided, and why"), body)

    def _compilation(self) -> Markup:
        rows = [(stage, duration(seconds)) for stage, seconds in self.stages.seconds.items()]
        body = table(("stage", "time"), rows) if rows else tag("p", "Nothing was compiled.")
        return tag("section", tag("h2", "Compilation"), body)

    def _texts(self) -> Markup:
        programs = {"As written": self.whole.traced, "As fused": self.whole.program}
        found = [
            more(title, tag("pre", _cut(print_program(each), "array" if k == 0 else "fused")))
            for k, (title, each) in enumerate(programs.items())
            if each is not None
        ]
        name = self.whole.target.name
        if name in LANGUAGES:
            found.append(more(LANGUAGES[name], tag("pre", _cut(self.stages.text[name], name))))
        return tag("section", tag("h2", "The programs as text"), *found) if found else Markup("")


def _moved(each: Moved) -> tuple[str, str, str]:
    known = "a run tells" if each.bytes is None else size(each.bytes)
    return each.name, known, "written" if each.writes else "read"


def _note(note: object) -> Markup:
    remedy = getattr(note, "remedy", "")
    return tag("li", str(note), *([tag("br"), tag("em", remedy)] if remedy else []))


def _cut(text: str, stage: str) -> str:
    """A text without what is too long for a page, and where that is."""
    if len(text) <= TEXT:
        return text
    kept = text[:TEXT].rpartition("\n")[0]
    left = text.count("\n") - kept.count("\n")
    return f'{kept}\n… {counted(left, "line")} more: .text["{stage}"]'


def _data(name: str) -> str:
    """A file that is put into every page."""
    return (HERE / name).read_text(encoding="utf-8")


# The page in small, as a notebook shows it: the lines, both graphs, the passes.
#
# It has a separate frame, so that its style and its keys are not those of the notebook.
# The program is not run for it, and no kernel is made: it has what is known already.


HEIGHT = 460


def small(stages: Stages) -> str | None:
    """HTML of a call that has been compiled; None for a program that takes long to draw."""
    program = stages.executable.whole.traced
    if program is not None and is_large(program):
        return None
    frame = tag(
        "iframe", srcdoc=page(stages, run=False, is_small=True), title=f"stages of {stages.name}",
        style=f"width:100%;height:{HEIGHT}px;resize:vertical;overflow:auto;border:1px solid"
        " color-mix(in srgb,currentColor 25%,transparent)",
    )  # fmt: skip
    return frame
