"""examples/shortest_paths.py finds the distances that Dijkstra's algorithm finds."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw
from tests.examples.graphs import GRAPHS, graph_of, rows, rows_of
from tests.structure.counted import expansions, opened, stored_types


def dijkstra(edges, root):
    """The distance of each vertex, by a heap; `edges` are lists of (target, length)."""
    found, heap = [np.inf] * len(edges), [(0.0, root)]
    while heap:
        distance, v = heapq.heappop(heap)
        if distance < found[v]:
            found[v] = distance
            for target, length in edges[v]:
                heapq.heappush(heap, (distance + length, target))
    return found


def edges_of(graph):
    """The lists of (target, length) of a graph of `Edges`."""
    return [
        list(zip(row.targets.tolist(), row.lengths.tolist(), strict=True)) for row in graph
    ]


def check(shortest_paths, graph, root, stride):
    """Distances are right, and each parent is the last step of a shortest path."""
    paths = shortest_paths.shortest_paths(graph, root, stride)
    distances, edges = np.asarray(paths.distances), edges_of(graph)
    assert distances.tolist() == dijkstra(edges, root)

    for v, parent in enumerate(np.asarray(paths.parents).tolist()):
        if v == root:
            assert parent == root
        elif np.isinf(distances[v]):
            assert parent == -1
        else:
            steps = [length for target, length in edges[parent] if target == v]
            assert distances[parent] + min(steps) == distances[v]


def with_lengths(example, rows, seed=0):
    """A graph of lists of neighbours, its edges 1 to 9 long."""
    graph = graph_of(rows)
    lengths = np.random.default_rng(seed).integers(1, 10, graph.values.size).astype(np.float64)
    return example("shortest_paths").with_lengths(graph, lengths)


@pytest.mark.sampled
@pytest.mark.parametrize("stride", [0.0, 3.0, np.inf])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_every_shape(example, name, stride):
    """One distance at a time, some, all at once."""
    graph = with_lengths(example, GRAPHS[name])
    check(example("shortest_paths"), graph, 0, stride)


def test_random_graphs(example, target):
    """From their last vertex, with any stride."""
    module = example("shortest_paths")

    @given(rows(), st.floats(0, 20), st.integers(0, 5))
    def each(rows, stride, seed):
        check(module, with_lengths(example, rows, seed), len(rows) - 1, stride)

    each()


def test_the_picture_in_the_file(example, target):
    """Four vertices, a short cut, a detour that is shorter."""
    module = example("shortest_paths")
    rows, lengths = [[1, 2], [0, 2, 3], [0, 1, 3], [1, 2]], [1, 5, 1, 2, 4, 5, 2, 1, 4, 1]
    graph = module.with_lengths(graph_of(rows), np.array(lengths, np.float64))

    paths = module.shortest_paths(graph, 0, 1.0)

    assert np.asarray(paths.distances).tolist() == [0, 1, 3, 4]
    assert np.asarray(paths.parents).tolist() == [0, 0, 1, 2]


@pytest.mark.sampled
def test_a_large_graph_on_any_number_of_threads(example, threads):
    """NumPy, Bellman's and Ford's way, finds the same."""
    module = example("shortest_paths")
    graph = module.random_graph(11)
    root = example("bfs").busiest(graph)

    paths = module.shortest_paths(graph, root, module.STRIDE)

    assert module.agrees(paths, module.numpy_distances(graph, root))
    assert module.agrees(paths, np.array(dijkstra(edges_of(graph), root)))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_lengths_are_above_zero(example, bad):
    """Round a circle of no length, parents would lead nowhere."""
    graph = graph_of([[1], [0]])

    with pytest.raises(ValueError, match="the length"):
        example("shortest_paths").with_lengths(graph, np.array([1.0, bad]))


def test_a_root_that_is_no_vertex_is_refused(example, target):
    """As in breadth-first search."""
    with pytest.raises(fw.IndexOutOfBounds, match="7"):
        example("shortest_paths").shortest_paths(with_lengths(example, [[1], [0]]), 7, 1.0)


def test_nothing_as_long_as_the_edges_of_a_turn_is_stored(example):
    """Distances given by edges go from the vertices that are near to those that they reach."""
    module = example("shortest_paths")
    stages = opened(module.shortest_paths, with_lengths(example, [[1], [0]]), 0, 1.0)
    edges = expansions(stages)

    assert len(edges) == 2  # in an iteration, and for the parents
    assert not any(f"[{extent}]" in text for extent in edges for text in stored_types(stages))


def test_the_program_finds_the_lightest_chain(example, monkeypatch, capsys):
    """It may have more packages than the shortest one; rows without lengths are not changed."""
    debian, module = example("debian"), example("shortest_paths")
    sample = debian.read(debian.SAMPLE)
    monkeypatch.setattr(debian, "available", lambda: (sample, "the sample"))

    assert module.main(["blender", "dpkg"]) == 0
    chain, _, total = capsys.readouterr().out.rpartition(": ")
    names = chain.split(" -> ")
    found = debian.packages(sample)
    numbers = [found.number(name) for name in names]
    rows = rows_of(found.graph)
    assert all(b in rows[a] for a, b in zip(numbers, numbers[1:], strict=False))
    assert int(total.split()[0]) == sum(max(int(found.sizes[k]), 1) for k in numbers[1:])
    assert module.main(["dpkg", "blender"]) == 1
