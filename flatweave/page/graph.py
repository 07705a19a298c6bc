"""A program as a graph: a node for each operation on arrays, an edge for each array that it reads.

    zs = fw.map(f, xs); fw.sum(zs)    ==>    [xs: f64[n]] -> [map: f64[n]] -> [reduce: f64]

Work on single numbers has no nodes: what it reads counts as read by those who need its results. A
body with operations on arrays of its own is drawn inside its node.
"""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.ops import Index, Reshape, Sweep
from flatweave.profiler.passes import places_of, title_of
from flatweave.terms.print import print_let, print_type
from flatweave.terms.syntax import ArrayType, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in

LONGEST = 30  # characters of a label
Made = dict[Var, tuple[int, ...]]  # the nodes that a variable comes from


@record
class Node:
    """An operation: what it says, the places of the user's program in it, what is inside."""

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
