"""A graph as SVG: boxes with what they do and give, lines for the arrays between them.

What lies far apart is not joined by a line through all that is between: the box that reads says
the array's name instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from flatweave.base.html import Markup, joined, tag
from flatweave.base.records import record
from flatweave.page.graph import Graph, Node
from flatweave.page.layout import Box, Placed, Point, place

LETTER, LEAST, LABEL, MARGIN = 7.3, 84.0, 42.0, 12.0


@record
class Marks:
    """What a node is marked with: the places it comes from, the number of its pass, its detail."""

    of: str
    passes: str
    hue: int | None
    detail: str


Mark = Callable[[Node], Marks]


def draw(graph: Graph, mark: Mark, label: str) -> Markup:
    """The whole picture; `mark` says what belongs to a node."""
    placed, insides, notes = _placed(graph)
    room = 2 * MARGIN
    width = max(placed.size.width, _widest(notes)) + room
    height = placed.size.height + room
    content = tag(
        "g", _content(graph, placed, insides, notes, mark),
        transform=f"translate({MARGIN} {MARGIN})",
    )  # fmt: skip
    return tag(
        "svg", content, viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}",
        height=f"{height:.0f}", role="group", aria_label=label,
    )  # fmt: skip


Notes = dict[int, str]
Inside = list[list["Drawn"]]
Drawn = tuple[Graph, Placed, "Inside", Notes]


def _placed(graph: Graph) -> tuple[Placed, Inside, Notes]:
    """Where everything stands, from the inside outwards, and what far arrays boxes name."""
    insides: Inside = [
        [(inner, *_placed(inner)) for inner in node.inside] for node in graph.nodes
    ]
    boxes = [_box(node, inside) for node, inside in zip(graph.nodes, insides, strict=True)]
    placed = place(boxes, [(edge.by, edge.to) for edge in graph.edges])
    notes: Notes = {}
    for edge, bends in zip(graph.edges, placed.bends, strict=True):
        if bends is None:
            notes[edge.to] = f"{notes[edge.to]}, {edge.name}" if edge.to in notes else edge.name
    return placed, insides, notes


def _box(node: Node, inside: Sequence[Drawn]) -> Box:
    width = max(LEAST, max(len(node.title), len(node.about)) * LETTER + 20)
    height = LABEL
    if inside:
        width = max(width, sum(each[1].size.width + MARGIN for each in inside) + MARGIN)
        height += max(each[1].size.height for each in inside) + MARGIN
    return Box(round(width, 1), height)


def _widest(notes: Notes) -> float:
    return max((len(note) * LETTER + 20 for note in notes.values()), default=0.0)


def _content(
    graph: Graph, placed: Placed, insides: Inside, notes: Notes, mark: Mark
) -> Markup:
    boxes = [_box(node, inside) for node, inside in zip(graph.nodes, insides, strict=True)]
    lines = [
        _line(_ends(placed, boxes, edge.by, edge.to, bends), edge.name)
        for edge, bends in zip(graph.edges, placed.bends, strict=True)
        if bends is not None
    ]
    nodes = [
        _node(node, placed.corners[k], boxes[k], insides[k], notes.get(k, ""), mark)
        for k, node in enumerate(graph.nodes)
    ]
    return joined([*lines, *nodes])


def _ends(
    placed: Placed, boxes: Sequence[Box], by: int, to: int, bends: Sequence[Point]
) -> list[Point]:
    """Where a line begins, bends and ends."""
    (x0, y0), (x1, y1) = placed.corners[by], placed.corners[to]
    first = x0 + boxes[by].width / 2, y0 + boxes[by].height
    return [first, *bends, (x1 + boxes[to].width / 2, y1)]


def _line(points: Sequence[Point], name: str) -> Markup:
    """A smooth line that leaves and enters boxes straight."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        bend = max((y1 - y0) / 2, 8)
        path.append(
            f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
        )
    return tag("path", tag("title", name), d="".join(path), class_="edge")


def _node(
    node: Node, corner: tuple[float, float], box: Box, inside: Sequence[Drawn], far: str,
    mark: Mark,
) -> Markup:  # fmt: skip
    marks = mark(node)
    hue = "" if marks.hue is None else f" hue{marks.hue}"
    middle = box.width / 2
    parts = [
        tag("title", f"{node.title}: {node.about}"),
        tag("rect", width=box.width, height=box.height, rx=4),
        tag("text", node.title, x=f"{middle:.1f}", y=17, class_="title"),
        tag("text", node.about, x=f"{middle:.1f}", y=33, class_="about"),
    ]
    if far:
        parts.append(tag("text", f"reads {far}", x=f"{middle:.1f}", y=-4, class_="far"))
    x = (box.width - sum(each[1].size.width + MARGIN for each in inside) + MARGIN) / 2
    for inner in inside:
        parts.append(tag(
            "g", _content(*inner, mark), transform=f"translate({x:.1f} {LABEL:.1f})"
        ))  # fmt: skip
        x += inner[1].size.width + MARGIN
    return tag(
        "g", *parts, class_=f"node {node.kind}{hue}{' nest' if inside else ''}",
        transform=f"translate({corner[0]} {corner[1]})", tabindex=0, role="button",
        data_of=marks.of or None, data_pass=marks.passes or None, data_detail=marks.detail,
        data_find=f"{node.title} {node.about} {node.let.vars[0].name}"
        if node.let and node.let.vars else f"{node.title} {node.about}",
    )  # fmt: skip
