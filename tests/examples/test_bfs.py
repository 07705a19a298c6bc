"""examples/bfs.py finds every vertex at its distance, and the least of its parents."""

import numpy as np
import pytest
from hypothesis import given

import flatweave as fw
from tests.examples.graphs import (
    GRAPHS,
    graph_of,
    least_parents,
    levels_of,
    path,
    rows,
    rows_of,
    star,
)
from tests.structure.counted import expansions, opened, stored_types


def check(bfs, graph, root):
    """Both parts of the tree are those that a queue and a look at all edges give."""
    tree = bfs.bfs(graph, root)
    levels = levels_of(rows_of(graph), root)

    assert np.asarray(tree.levels).tolist() == levels
    assert np.asarray(tree.parents).tolist() == least_parents(rows_of(graph), levels)


@pytest.mark.sampled
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_every_shape(example, target, name):
    """Levels are found among the vertices of a star, and along the edges of a path."""
    check(example("bfs"), graph_of(GRAPHS[name]), 0)


def test_random_graphs(example, target):
    """From their last vertex."""
    bfs = example("bfs")

    @given(rows())
    def each(rows):
        check(bfs, graph_of(rows), len(rows) - 1)

    each()


@pytest.mark.sampled
@pytest.mark.parametrize("wide", [0, 1, 10**6])
def test_both_ways_to_the_next_level_agree(example, monkeypatch, wide):
    """Always along edges, sometimes, always among vertices: not seen in the result."""
    bfs = example("bfs")
    monkeypatch.setattr(bfs, "WIDE", wide)
    monkeypatch.setattr(bfs, "bfs", fw.jit(bfs.bfs.__wrapped__))
    graph = example("rmat").rmat(9, 3000)

    check(bfs, graph, bfs.busiest(graph))


def test_a_large_graph_on_any_number_of_threads(example, threads):
    """Levels of many blocks; NumPy finds the same tree."""
    bfs = example("bfs")
    graph = example("rmat").rmat(14)
    root = bfs.busiest(graph)

    assert bfs.agrees(bfs.bfs(graph, root), bfs.numpy_bfs(graph, root))


def test_numpy_finds_the_same(example):
    """What the demo compares with is right."""
    bfs = example("bfs")
    for rows_ in (path(5), star(5), GRAPHS["parallel edges"]):
        levels, parents = bfs.numpy_bfs(graph_of(rows_), 1)

        assert levels.tolist() == levels_of(rows_, 1)
        assert parents.tolist() == least_parents(rows_, levels)


def test_a_root_that_is_no_vertex_is_refused(example, target):
    """One below 0 counts from the end."""
    bfs = example("bfs")
    with pytest.raises(fw.IndexOutOfBounds, match="3"):
        bfs.bfs(graph_of([[1], [2], []]), 3)

    assert np.asarray(bfs.bfs(graph_of([[1], [2], [0]]), -1).levels).tolist() == [1, 2, 0]


def test_the_way_to_a_vertex(example):
    """From the root, both ends included; nothing if there is no path."""
    bfs = example("bfs")
    parents = np.asarray(bfs.bfs(graph_of([[1, 2], [3], [3], [], []]), 0).parents)

    assert bfs.path(parents, 3) == [0, 1, 3]
    assert bfs.path(parents, 0) == [0]
    assert bfs.path(parents, 4) == []


def test_a_level_stores_nothing_as_long_as_its_edges(example):
    """Ends of the frontier's edges, the claims, and the next frontier in one of two ways."""
    bfs = example("bfs")
    root = np.array([0], np.int32)
    stages = opened(bfs.next_level, graph_of(star(9)), 0, np.full(9, -1), root)
    edges = expansions(stages)

    assert len(edges) == 2  # into the claims, and along the edges to the next level
    assert stages.kernels == 5  # ends and claims; a filter; ends and a filter
    assert not any(f"[{extent}]" in text for extent in edges for text in stored_types(stages))


def test_the_program_finds_a_chain_of_packages(example, monkeypatch, capsys):
    """`python examples/bfs.py 0ad perl` ends with 0; with 1 where there is no way, or no name."""
    debian, bfs = example("debian"), example("bfs")
    sample = debian.read(debian.SAMPLE)
    monkeypatch.setattr(debian, "available", lambda: (sample, "the sample"))

    assert bfs.main(list(bfs.QUESTION)) == 0
    chain = capsys.readouterr().out.splitlines()[-1].split(" -> ")
    assert (len(chain), chain[0], chain[-1]) == (10, "0ad", "perl")
    assert bfs.main(["perl", "0ad"]) == 1
    assert "perl does not need 0ad" in capsys.readouterr().out
    assert bfs.main(["perl", "no-such-package"]) == 1
    assert "no package is called no-such-package" in capsys.readouterr().err
