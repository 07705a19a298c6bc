"""examples/rmat.py draws the same random graph everywhere, and one with hubs."""

import numpy as np
import pytest
from PIL import Image

ALL = 2**64 - 1


def bits(counter):
    """SplitMix64 in Python's integers."""
    x = counter * 0x9E3779B97F4A7C15 & ALL
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
    return x ^ x >> 31


def edge_by_hand(number, seed, scale):
    """One edge, level by level."""
    source = target = 0
    for level in range(scale):
        share = (bits((64 * number + level + 1) ^ bits(seed)) >> 32) / 2**32
        quarter = (share >= 0.57) + (share >= 0.57 + 0.19) + (share >= 0.57 + 0.19 + 0.19)
        source, target = 2 * source + quarter // 2, 2 * target + quarter % 2
    return source, target


def halves(packed):
    """The sources and targets of packed edges."""
    packed = np.asarray(packed)
    return packed >> 32, packed & 0xFFFFFFFF


def test_edges_fall_as_by_hand(example, target):
    """The integers agree on every target."""
    sources, targets = halves(example("rmat").packed_edges(np.uint64(7), 9, 50))

    found = list(zip(sources.tolist(), targets.tolist(), strict=True))
    assert found == [edge_by_hand(number, 7, 9) for number in range(50)]


def test_quarters_have_their_shares(example):
    """Of many edges, at the first level."""
    sources, targets = halves(example("rmat").packed_edges(np.uint64(3), 1, 100_000))
    shares = np.bincount(2 * sources + targets) / 100_000

    assert np.abs(shares - [0.57, 0.19, 0.19, 0.05]).max() < 0.01


@pytest.mark.parametrize(
    "edges, rows",
    [
        ([], [[], [], []]),
        ([(2, 0)], [[], [], [0]]),
        ([(2, 2), (0, 2), (0, 1), (2, 2), (0, 1)], [[1, 2], [], [2]]),
    ],
)
def test_rows_of_edges(example, target, edges, rows):
    """An edge that comes twice counts once; vertices may have none."""
    packed = np.array([source << 32 | end for source, end in edges], np.int64)

    graph = example("rmat").rows(3, packed)

    assert [row.tolist() for row in graph] == rows
    assert graph.values.dtype == np.int32


def test_rows_hold_each_edge_once_in_order(example, threads):
    """The graph is the set of its edges, whatever the number of threads."""
    rmat = example("rmat")
    sources, targets = halves(rmat.packed_edges(np.uint64(5), 8, 3000))
    expected = sorted(set(zip(sources.tolist(), targets.tolist(), strict=True)))

    graph = rmat.rmat(8, 3000, seed=5)

    found = [(v, end) for v, row in enumerate(graph) for end in row.tolist()]
    assert found == expected


def test_the_seed_makes_the_graph(example):
    """The same one twice, another one for another seed."""
    rmat = example("rmat")
    one, again, other = (np.asarray(rmat.rmat(6, seed=seed).values) for seed in (1, 1, 2))

    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_the_picture_shows_how_many_edges_there_are(example, tmp_path):
    """A cell of the matrix without edges is black, the fullest one is white."""
    rmat = example("rmat")
    graph = rmat.rows(4, np.array([3 << 32 | 3, 1, 0, 1 << 32], np.int64))

    assert np.asarray(rmat.density(graph, 2)).tolist() == [[3, 0], [0, 1]]
    picture = np.asarray(Image.open(rmat.draw(graph, tmp_path, side=2)))
    assert picture[0, 0] == 255 and picture[0, 1] == 0 < picture[1, 1] < 255


def test_the_program_ends_well(example, tmp_path, capsys):
    """`python examples/rmat.py 6 FOLDER` ends with 0."""
    assert example("rmat").main(["6", str(tmp_path)]) == 0
    assert "64 vertices" in capsys.readouterr().out
