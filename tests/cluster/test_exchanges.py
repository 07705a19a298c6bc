"""How often something is run and brought to the client: what a chunk costs besides its own work."""

from collections import Counter

import numpy as np
import pytest

import flatweave as fw
from flatweave.cluster.executor import WIDTH, Tree
from flatweave.cluster.in_process import InProcess
from flatweave.frontend.call.options import PLACE
from tests.cluster.programs import agree

CHUNKS = 20
XS = np.arange(100) * 37 % 101


class Counting(InProcess):
    """Counts what it is asked for."""

    def __init__(self):
        super().__init__("interp")
        self.count = Counter()

    def run(self, *args):
        for each in super().run(*args):
            self.count["run"] += 1
            yield each

    def joined(self, *args):
        self.count["joined"] += 1
        return super().joined(*args)

    def gathered(self, results):
        self.count["gathered"] += 1
        return super().gathered(results)

    def rows(self, parts):
        self.count["rows"] += 1
        return super().rows(parts)

    def picked(self, rows, at):
        self.count["picked"] += 1
        return super().picked(rows, at)

    def share(self, value):
        self.count["share"] += 1
        return super().share(value)


def counted(f, *args):
    """What was asked for, and how often, while a function ran on `CHUNKS` chunks; its results."""
    place = Counting()
    token = PLACE.set(place)
    try:
        found = fw.jit(f)(*(fw.Chunked.cut(arg, len(arg) // CHUNKS) for arg in args))
    finally:
        PLACE.reset(token)
    return dict(place.count), found


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (fw.sum, {"run": CHUNKS, "gathered": 1}),
        (lambda xs: (fw.sum(xs), fw.max(xs), fw.cumsum(xs)), {"run": 2 * CHUNKS, "gathered": 1}),
        (fw.cumsum, {"run": 2 * CHUNKS, "gathered": 1}),
        (lambda xs: xs[xs > 3], {"run": CHUNKS, "gathered": 1}),
        (lambda xs: fw.histogram(7, xs % 7), {"run": CHUNKS, "gathered": 1}),
        (fw.sort, {"run": 2 * CHUNKS, "picked": 1, "gathered": 1}),
        (lambda xs: xs[1:] - xs[:-1], {"run": CHUNKS}),
        (lambda xs: xs[xs % 100], {"run": CHUNKS, "share": 1}),
    ],
    ids=["sum", "folds", "scan", "filter", "histogram", "sort", "neighbours", "reads"],
)
def test_a_chunk_is_one_task_for_each_step(f, wanted):
    """And what all chunks found out goes to the client at once."""
    assert counted(f, XS)[0] == wanted


DOWN = {
    "sums": (
        lambda m: fw.cumsum(m, axis=0) * 2,
        lambda m: m.cumsum(0) * 2,
    ),
    "in reverse": (
        lambda m: fw.scan(fw.maximum, 3, m, reverse=True),
        lambda m: np.maximum(np.maximum.accumulate(m[::-1])[::-1], 3),
    ),
    "from a row": (
        lambda m: fw.scan(lambda a, b: a + b, fw.iota(m.shape[1]), m, exclusive=True),
        lambda m: np.concatenate([0 * m[:1], m.cumsum(0)[:-1]]) + np.arange(m.shape[1]),
    ),
    "no identity": (
        lambda m: fw.scan(lambda a, b: b - b % 2 + a % 2, 5, m),
        lambda m: m - m % 2 + 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DOWN)
@pytest.mark.parametrize("columns", [0, 1, 3, 5])
def test_scans_down_columns_are_one_exchange(name, columns):
    """Whatever a chunk does for memory's sake, with few columns and with many."""
    f, wanted = DOWN[name]
    m = np.random.default_rng(columns).integers(0, 9, (CHUNKS * 5, columns))
    count, found = counted(f, m)

    assert np.array_equal(found, wanted(m))
    assert count["run"] == 2 * CHUNKS and count["gathered"] == 1


def test_scans_down_columns_as_machine_code():
    """The same values, in chunks of more rows than a block has."""
    m = np.random.default_rng(0).integers(0, 9, (1500, 6))
    for f, wanted in DOWN.values():
        assert np.array_equal(fw.jit(f)(fw.Chunked.cut(m, 641)), wanted(m))


def test_large_copies_are_joined_where_they_are(monkeypatch):
    """In groups of eight, with the same result."""
    monkeypatch.setattr("flatweave.cluster.executor.AT_CLIENT", 100)
    count, found = counted(lambda xs: fw.histogram(7, xs % 7), XS)

    assert count == {"run": CHUNKS, "joined": 4, "gathered": 1}  # 8, 8, 4, and these
    assert np.array_equal(found, np.bincount(XS % 7))


def test_ends_of_rows_are_asked_for_once():
    """A loop does not ask again in each iteration."""
    f = lambda ks: fw.fori_loop(
        0, 3, lambda i, total: total + fw.sum(fw.expand(lambda k: k, lambda k, j: k * j + i, ks)), 0
    )
    count, found = counted(f, XS % 4)

    assert count["rows"] == 3  # the scan of sizes is a new one in each iteration
    assert int(found) == sum(sum(k * j + i for j in range(k)) for i in range(3) for k in XS % 4)


@pytest.mark.parametrize("count", [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH, WIDTH**2 + 5])
def test_a_tree_joins_neighbours_in_order(count):
    """Whatever their number."""
    tree = Tree(lambda parts: "".join(parts))
    letters = [chr(65 + k) for k in range(count)]
    for letter in letters:
        tree.add(letter)

    assert (tree.whole() or "") == "".join(letters)


def test_copies_joined_on_the_way_have_the_same_values(monkeypatch):
    """For any operator, and with no neutral element."""
    monkeypatch.setattr("flatweave.cluster.executor.AT_CLIENT", 0)
    for name in ("histogram", "permute", "permute, the last stays", "scatter", "k means"):
        agree(name, InProcess("interp"), 2)


def test_what_writers_need_from_outside_is_theirs():
    """As machine code, which allocates memory for every value."""
    agree("a neutral element from outside", InProcess(), 7)
