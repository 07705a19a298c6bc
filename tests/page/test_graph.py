"""Where the boxes of a graph stand."""

import itertools
import random

import pytest

from flatweave.page.graph import FAR, Box, layers_of, place


def graph(count, seed):
    """Boxes of many sizes, and edges from earlier to later ones."""
    rng = random.Random(seed)
    boxes = [Box(rng.randint(20, 200), rng.choice([30, 42, 120])) for _ in range(count)]
    pairs = itertools.combinations(range(count), 2)
    return boxes, [pair for pair in pairs if rng.random() < 3 / count]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
def test_boxes_lie_apart_and_lines_go_down(count):
    """No two boxes overlap; each is below its inputs, and all are inside the whole."""
    boxes, edges = graph(count, count)
    placed = place(boxes, edges)
    sides = [(x, y, x + b.width, y + b.height) for (x, y), b in zip(placed.corners, boxes)]

    for a, b in itertools.combinations(sides, 2):
        assert a[2] <= b[0] + 0.2 or b[2] <= a[0] + 0.2 or a[3] <= b[1] or b[3] <= a[1]
    assert all(sides[a][3] < sides[b][1] for a, b in edges)
    assert all(x >= 0 and y >= 0 for x, y, _, _ in sides)
    assert all(
        right <= placed.size.width + 0.2 and low <= placed.size.height
        for _, _, right, low in sides
    )


def test_lines_bend_around_boxes():
    """A line has no point inside a box that it passes; one that goes too far is not drawn."""
    boxes, edges = graph(30, 5)
    placed = place(boxes, edges)
    layers = layers_of(len(boxes), edges)

    for (a, b), bends in zip(edges, placed.bends, strict=True):
        crossed = layers[b] - layers[a] - 1
        assert (bends is None) == (crossed >= FAR)
        for x, y in bends or ():
            for (left, top), box in zip(placed.corners, boxes):
                inside = left < x < left + box.width and top <= y <= top + box.height
                assert not inside


def test_the_same_graph_gives_the_same_picture():
    """Nothing depends on chance."""
    boxes, edges = graph(40, 1)

    assert place(boxes, edges) == place(boxes, edges)


def test_what_is_given_stands_above_its_reader():
    """An array that only the last step reads is not drawn at the top."""
    assert layers_of(4, [(0, 1), (1, 3), (2, 3)]) == [0, 1, 1, 2]
