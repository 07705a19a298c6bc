"""Where the nodes of a graph stand: in layers, each below those that it reads.

    place([Box(90, 30), Box(60, 30)], [(0, 1)])    ==>    corners (0, 0) and (15, 64); size 90 x 94

The way of Sugiyama and others (1981): layers by the longest path, a bend in each layer that a line
crosses, then the nodes of each layer in the order of the middle of their neighbours, and as near to
it as there is room. The same graph gives the same picture always: nothing here depends on chance
or on the order of a set.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

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
    """The length of the longest path to each node; what reads nothing stands above its reader."""
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
