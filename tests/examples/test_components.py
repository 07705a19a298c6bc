"""examples/components.py finds the components that union and find finds."""

import numpy as np
import pytest
from hypothesis import given

from tests.examples.graphs import GRAPHS, graph_of, parts_of, path, rows, rows_of
from tests.structure.counted import expansions, opened, stored_types


def check(example, graph):
    """Each vertex has the least one of its component for a label."""
    labels = example("components").components(graph)

    assert np.asarray(labels).tolist() == parts_of(rows_of(graph))


@pytest.mark.sampled
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_every_shape(example, target, name):
    """A direction keeps no edge from joining."""
    check(example, graph_of(GRAPHS[name]))


def test_random_graphs(example, target):
    """Edges in one direction, to oneself, several times."""

    @given(rows())
    def each(rows):
        check(example, graph_of(rows))

    each()


def test_a_path_whose_vertices_are_in_no_order(example):
    """Trees get deep, and few edges are settled in the first iteration."""
    order = np.random.default_rng(4).permutation(2000)
    shuffled = [[] for _ in order]
    for v, row in enumerate(path(2000)):
        shuffled[order[v]] = [order[w] for w in row]

    check(example, graph_of(shuffled))


def test_no_vertex_has_no_component(example, target):
    """An empty graph."""
    assert example("components").components(graph_of([])).shape == (0,)


def test_a_large_graph_on_any_number_of_threads(example, threads):
    """Few edges for each vertex, so that there are many components."""
    graph = example("rmat").rmat(11, 1500)
    check(example, graph)

    components = example("components")
    assert components.agrees(components.components(graph), components.numpy_components(graph))


def test_edges_are_stored_when_few_are_left(example):
    """Not while they are still those of the graph."""
    stages = opened(example("components").components, graph_of([[1], [0]]))
    edges = expansions(stages)

    assert edges
    assert not any(f"[{extent}]" in text for extent in edges for text in stored_types(stages))


def test_the_program_agrees_with_numpy(example, capsys):
    """`python examples/components.py 7` ends with 0."""
    assert example("components").main(["7"]) == 0
    assert "R-MAT: 128 vertices" in capsys.readouterr().out
