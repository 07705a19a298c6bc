"""A program as a graph, drawn as SVG: nodes in layers, edges for the arrays between them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.notebook import Markup, joined, tag
from flatweave.ops import Index, Reshape, Sweep
from flatweave.profiler.facts import places_of, title_of
from flatweave.terms.print import print_let, print_type
from flatweave.terms.syntax import ArrayType, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in

# A program as a graph: a node for each operation on arrays, an edge for each array that it reads.
#
#     zs = fw.map(f, xs); fw.sum(zs)    ==>    [xs: f64[n]] -> [map: f64[n]] -> [reduce: f64]
#
# Work on single numbers has no nodes: what it reads counts as read by those who need its results.
# A body with array operations is drawn inside its node.


LONGEST = 30  # characters of a label
Made = dict[Var, tuple[int, ...]]  # the nodes that a variable comes from


@record
class Node:
    """An operation: its label, its locations in the user's program, its inner operations."""

    title: str
    about: str
    text: str
    places: tuple[Location, ...]
    kind: str
    let: Let | None
    inside: tuple[Graph, ...]


@record
class Edge:
    """Node number `to` reads an array, called `name`, that node number `by` makes."""

    by: int
    to: int
    name: str


@record
class Graph:
    """Nodes in the order of the program, and edges that go forwards."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(fn: Lambda) -> Graph:
    """A function's parameters and the operations of its body."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    made: Made = {}
    for param in fn.params:
        if isinstance(param.type, ArrayType):
            made[param] = (len(nodes),)
            text = f"{param.name}: {print_type(param.type)}"
            nodes.append(Node(param.name, print_type(param.type), text, (), "given", None, ()))
    results = set(fn.results)
    for let in fn.lets:
        read = {by: var.name for var in free_vars(let.op) for by in made.get(var, ())}
        if _is_drawn(let):
            number = len(nodes)
            edges += [Edge(by, number, name) for by, name in sorted(read.items())]
            nodes.append(_node(let, any(var in results for var in let.vars)))
            made.update((var, (number,)) for var in let.vars)
        elif read:
            made.update((var, tuple(sorted(read))) for var in let.vars)
    return Graph(tuple(nodes), tuple(edges))


def _is_drawn(let: Let) -> bool:
    """Whether an operation has a node: views and single elements have none."""
    if isinstance(let.op, Index | Reshape):
        return False
    arrays = any(isinstance(var.type, ArrayType) for var in let.vars)
    return arrays or bool(lambdas_in(let.op))


def _node(let: Let, is_result: bool) -> Node:
    bodies = [] if isinstance(let.op, Sweep) else lambdas_in(let.op)
    inside = [graph_of(fn) for fn in bodies if any(map(_is_drawn, fn.lets))]
    about = ", ".join(print_type(var.type) for var in let.vars) or "nothing"
    kind = "result" if is_result else "step"
    return Node(
        _short(title_of(let)), _short(about), print_let(let), tuple(places_of(let)), kind, let,
        tuple(inside),
    )  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# Where the nodes of a graph stand: in layers, each below those that it reads.
#
#     place([Box(90, 30), Box(60, 30)], [(0, 1)])  ==>  corners (0, 0) and (15, 64); size 90 x 94
#
# The way of Sugiyama and others (1981): layers by the longest path, a bend in each layer that a
# line crosses, then the nodes of each layer in the order of the middle of their neighbours, and
# as near to it as there is room. The same graph gives the same picture always: nothing here
# depends on chance or on the order of a set.


GAP_X, GAP_Y = 18.0, 34.0
FAR = 8  # layers: lines that cross more have no bends, and are not drawn
ROUNDS = 6


class Box(NamedTuple):
    """The size of a node."""

    width: float
    height: float


Point = tuple[float, float]


class Placed(NamedTuple):
    """The upper left corner of each node, the size of the whole, and for each line its bends: None
    where it goes too far to be drawn."""

    corners: list[Point]
    size: Box
    bends: list[list[Point] | None]


Pairs = Sequence[tuple[int, int]]


def place(boxes: Sequence[Box], edges: Pairs) -> Placed:
    """Place nodes of these sizes; each edge goes from a node to a later one."""
    count, layers = len(boxes), layers_of(len(boxes), edges)
    boxes, steps = list(boxes), []
    bends: list[list[int] | None] = []
    for a, b in edges:
        crossed = range(layers[a] + 1, layers[b])
        if len(crossed) >= FAR:
            bends.append(None)
            continue
        path = list(range(len(boxes), len(boxes) + len(crossed)))
        boxes += [Box(0, 0)] * len(crossed)
        layers += crossed
        bends.append(path)
        steps += list(itertools.pairwise([a, *path, b]))
    rows = _rows(layers)
    above: list[list[int]] = [[] for _ in boxes]
    below: list[list[int]] = [[] for _ in boxes]
    for a, b in steps:
        above[b].append(a)
        below[a].append(b)
    middles = _ordered(rows, boxes, above, below)
    left = min((middles[k] - boxes[k].width / 2 for k in range(len(boxes))), default=0.0)
    corners: list[Point] = [(0.0, 0.0)] * len(boxes)
    ends: list[Point] = [(0.0, 0.0)] * len(boxes)
    y = 0.0
    for row in rows:
        height = max(boxes[k].height for k in row)
        for k in row:
            x = middles[k] - boxes[k].width / 2 - left
            corners[k] = (round(x, 1), round(y + (height - boxes[k].height) / 2, 1))
            if k >= count:
                corners[k], ends[k] = (round(x, 1), y), (round(x, 1), y + height)
        y += height + GAP_Y
    width = max((x + boxes[k].width for k, (x, _) in enumerate(corners)), default=0.0)
    routes = [
        None if path is None else [end for k in path for end in (corners[k], ends[k])]
        for path in bends
    ]
    return Placed(corners[:count], Box(round(width, 1), max(y - GAP_Y, 0.0)), routes)


def layers_of(count: int, edges: Pairs) -> list[int]:
    """The length of the longest path to each node; nodes without inputs are above their reader."""
    layers = [0] * count
    readers: list[list[int]] = [[] for _ in range(count)]
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layers[b] = max(layers[b], layers[a] + 1)
        readers[a].append(b)
    is_read = {b for _, b in edges}
    for k in range(count):
        if k not in is_read and readers[k]:
            layers[k] = min(layers[b] for b in readers[k]) - 1
    return layers


def _rows(layers: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for k, layer in enumerate(layers):
        rows[layer].append(k)
    return [row for row in rows if row]


def _ordered(
    rows: list[list[int]], boxes: Sequence[Box], above: list[list[int]], below: list[list[int]]
) -> list[float]:
    """The middle of each node; rows are put in order on the way."""
    middles = [0.0] * len(boxes)
    for row in rows:
        _pack(row, boxes, middles, [0.0] * len(row))
    for turn in range(ROUNDS):
        down = turn % 2 == 0
        near = above if down else below
        for row in rows if down else reversed(rows):
            wanted = {
                k: sum(middles[j] for j in near[k]) / len(near[k]) if near[k] else middles[k]
                for k in row
            }
            row.sort(key=lambda k: (wanted[k], k))
            _pack(row, boxes, middles, [wanted[k] for k in row])
    return middles


def _pack(
    row: Sequence[int], boxes: Sequence[Box], middles: list[float], wanted: Sequence[float]
) -> None:
    """Put the nodes of a row side by side, as near as can be to where they are wanted."""
    end = float("-inf")
    for k, middle in zip(row, wanted, strict=True):
        half = boxes[k].width / 2
        middles[k] = max(middle, end + GAP_X + half)
        end = middles[k] + half
    if row:  # what was pushed was pushed to the right: half of it goes back
        pushed = sum(middles[k] - m for k, m in zip(row, wanted, strict=True)) / len(row)
        for k in row:
            middles[k] -= pushed


# A graph as SVG: boxes with what they do and give, lines for the arrays between them.
#
# Boxes that are far from each other are not joined by a line through everything between: the
# reading box has the array's name instead.


LETTER, LEAST, LABEL, MARGIN = 7.3, 84.0, 42.0, 12.0


@record
class Marks:
    """The marks of a node: the locations it comes from, the number of its pass, its detail."""

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
        _drawn_node(node, placed.corners[k], boxes[k], insides[k], notes.get(k, ""), mark)
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


def _drawn_node(
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
