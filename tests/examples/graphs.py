"""Graphs for the tests of graph programs, and what is true of them, found one step at a time."""

from collections import deque

import numpy as np
from hypothesis import strategies as st

import flatweave as fw


def graph_of(rows, values=None):
    """A graph of lists of neighbours; `values` takes the flat neighbours to its values."""
    neighbours = np.array([vertex for row in rows for vertex in row], np.int32)
    lengths = np.array([len(row) for row in rows], np.int64)
    return fw.ragged(neighbours if values is None else values(neighbours), lengths=lengths)


def rows_of(graph):
    """The lists of neighbours of a graph."""
    return [row.tolist() for row in graph]


@st.composite
def rows(draw):
    """Up to twenty vertices, any edges: to oneself, several times, in one direction only."""
    count = draw(st.integers(1, 20))
    neighbours = st.lists(st.integers(0, count - 1), max_size=4)
    return draw(st.lists(neighbours, min_size=count, max_size=count))


def path(count):
    """One vertex after the other."""
    return [[v + 1] for v in range(count - 1)] + [[]]


def star(count):
    """All others around the first one."""
    return [list(range(1, count))] + [[0]] * (count - 1)


GRAPHS = {
    "one vertex": [[]],
    "an edge to itself": [[0]],
    "a circle": [[1], [2], [0]],
    "parallel edges": [[1, 1, 1], [2, 2], [1, 0]],
    "two parts": [[1], [0], [3], [2]],
    "a path": path(300),
    "a star": star(129),
    "a star at the end of a path": path(40)[:-1] + [list(range(41, 1025))] + [[]] * 985,
}


def levels_of(rows, root):
    """The distance of each vertex from the root, -1 for none: a queue."""
    levels, queue = [-1] * len(rows), deque([root])
    levels[root] = 0
    while queue:
        v = queue.popleft()
        for w in rows[v]:
            if levels[w] < 0:
                levels[w] = levels[v] + 1
                queue.append(w)
    return levels


def least_parents(rows, levels):
    """The least of the vertices one level nearer that have an edge to each vertex."""
    parents = [v if level == 0 else -1 for v, level in enumerate(levels)]
    for v in reversed(range(len(rows))):
        for w in rows[v]:
            if levels[v] >= 0 and levels[w] == levels[v] + 1:
                parents[w] = v
    return parents


def parts_of(rows):
    """The least vertex of each vertex's component: union and find."""
    above = list(range(len(rows)))

    def find(v):
        while above[v] != v:
            above[v] = above[above[v]]
            v = above[v]
        return v

    for v, row in enumerate(rows):
        for w in row:
            low, high = sorted((find(v), find(w)))
            above[high] = low
    return [find(v) for v in range(len(rows))]
