"""The variant that a scatter chooses: by sizes, threads and a sample of its indices."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same

PLACES, MANY = 1 << 21, 1 << 16
RANDOM = np.random.default_rng(7)
UNIFORM = RANDOM.integers(0, PLACES, MANY)
INDICES = {
    "uniform": UNIFORM,
    "sorted": np.sort(UNIFORM),
    "backwards": np.sort(UNIFORM)[::-1].copy(),
    "skewed": (RANDOM.zipf(1.2, MANY) - 1) % PLACES,
    "one place": np.full(MANY, 5),
    "far apart": np.arange(MANY) * 4099 % PLACES,
    "outside": UNIFORM + PLACES,
}

pytestmark = pytest.mark.usefixtures("compiled_anew")


def sums(dest, idx, vals):
    """Of floats."""
    return fw.permute(fw.add, dest, idx, vals)


def last(dest, idx, vals):
    """The last one stays."""
    return fw.scatter(dest, idx, vals)


def ways(f, *args, threads):
    """The result, and the kernels that made it."""
    f = fw.jit(f, target="cpu")
    with config.scoped(threads=threads):
        result = f(*args)
        return result, [name for name, _, there in f.stages(*args).launched if there]


def way(f, *args, threads):
    """How one scatter was done."""
    made = ways(f, *args, threads=threads)[1]
    for name in ("private", "partition", "alone"):
        if any(name in each for each in made):
            return name
    return "owner"


@pytest.mark.sampled
@pytest.mark.parametrize("f", [sums, last])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("uniform", "partition"), ("far apart", "partition"), ("sorted", "alone"),
        ("backwards", "alone"), ("skewed", "alone"), ("one place", "alone"), ("outside", "alone"),
    ],
)  # fmt: skip
def test_elements_are_sorted_if_they_go_far_from_each_other(f, kind, expected):
    """In a large destination; else the caches hold where they go."""
    dest, idx, vals = np.zeros(PLACES), INDICES[kind], np.arange(MANY) * 0.1

    assert way(f, dest, idx, vals, threads=1) == expected


@pytest.mark.usefixtures("crowd")
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("each", "dtype", "expected"),
    [
        (16, np.float64, ("private", "private")), (4, np.float64, ("private", "private")),
        (3, np.float64, ("alone", "owner")),
        (8, np.int64, ("private", "private")), (4, np.int64, ("alone", "private")),
        (3, np.int64, ("alone", "owner")),
    ],
)  # fmt: skip
def test_copies_are_made_where_elements_are_many(each, dtype, expected):
    """From 4 for each index on; of integers, which any grouping leaves, by one thread from 8 on."""
    places = (1 << 20) // 4
    total = places * each
    idx = np.random.default_rng(each).integers(0, places, total)
    dest, vals = np.zeros(places, dtype), (np.arange(total) % 10).astype(dtype)

    assert [way(sums, dest, idx, vals, threads=t) for t in (1, 4)] == list(expected)


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize(
    ("places", "threads", "expected"),
    [(4000, 1, "alone"), (4000, 2, "alone"), (4000, 7, "alone"), (70_000, 2, "alone"),
     (70_000, 7, "owner")],
)  # fmt: skip
def test_one_owner_is_enough_for_what_its_first_cache_holds(places, threads, expected):
    """Several all look at each element, which costs more than to write it."""
    idx, vals = INDICES["uniform"] % places, np.arange(MANY) * 0.1

    assert way(last, np.zeros(places), idx, vals, threads=threads) == expected


@pytest.mark.sampled
@pytest.mark.parametrize("kind", INDICES)
def test_every_way_leaves_the_same_bits(kind):
    """Whatever data and threads choose: sums that round, and NaNs that meet."""
    bits = np.arange(MANY, dtype=np.uint64) * 0x1234567 % (1 << 50) | 0x7FF8000000000000
    nans = np.where(np.arange(MANY) % 5 == 0, bits.view(np.float64), np.arange(MANY) * 0.1)
    dest, idx = np.ones(PLACES), INDICES[kind] % (PLACES // 64) * 64
    found = [np.asarray(ways(sums, dest, idx, nans, threads=t)[0]) for t in (1, 2, 3, 8)]

    for other in found[1:]:
        assert np.array_equal(other.view(np.uint64), found[0].view(np.uint64))


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["one block", "every block", "the destination", "a constant"])
def test_nans_of_some_blocks_leave_the_same_bits(where):
    """A partition tests elements only where a block has a NaN; owners test all of them."""
    quiet = np.float64(np.nan).view(np.uint64) + np.arange(MANY, dtype=np.uint64) * 7
    nans, vals, dest = quiet.view(np.float64), np.arange(MANY) * 0.1, np.ones(PLACES)
    vals[::5], vals[1::5] = np.inf, -np.inf
    idx = INDICES["uniform"] % (PLACES // 256) * 256
    if where == "one block":
        vals[9000:9500] = nans[:500]
    if where == "every block":
        vals[::7] = nans[::7]
    if where == "the destination":
        dest[::512] = nans[: PLACES // 512]
    given = nans[3] if where == "a constant" else 0.0

    def f(dest, idx, vals):
        scaled = fw.map(lambda x: (x * 3.0, given), vals)
        return fw.permute(lambda a, b: (a[0] + b[0], a[1] + b[1]), (dest, dest), idx, scaled)

    found = []
    for threads, variant in ((1, "owner"), (2, "owner"), (1, "partition"), (3, "partition")):
        with config.scoped(threads=threads), fw.schedule(permute=variant):
            found.append(
                [np.asarray(x).view(np.uint64) for x in fw.jit(f, target="cpu")(dest, idx, vals)]
            )
    for other in found[1:]:
        assert all(map(np.array_equal, other, found[0]))


def test_a_look_at_elements_that_are_computed():
    """From rows, from sums of rows, from an expansion; the same as NumPy's."""
    n, places = 1 << 15, 1 << 20
    sizes, matrix = np.arange(n) % 4, RANDOM.integers(0, places, (n, 3))

    def f(sizes, matrix):
        dest = fw.full(places, 0)
        of_rows = fw.map(lambda row: fw.sum(row * 7919) % places, matrix)
        spread = fw.expand(lambda s: s, lambda s, i: (s * i * 7907) % places, sizes)
        flat = fw.reshape(matrix, (n * 3,))
        return tuple(fw.scatter(dest, idx, idx + 1) for idx in (of_rows, spread, flat))

    expected = []
    inside = [np.arange(s) * s * 7907 % places for s in sizes]
    for idx in ((matrix * 7919).sum(1) % places, np.concatenate(inside), matrix.ravel()):
        dest = np.zeros(places, np.int64)
        dest[idx] = idx + 1
        expected.append(dest)
    for threads in (1, 2, 5):
        found, made = ways(f, sizes, matrix, threads=threads)
        assert any("sample" in name for name in made)
        for one, other in zip(found, expected, strict=True):
            same(one, other)


def test_the_first_bad_element_is_the_one_reported():
    """Though a look at elements would come upon another before."""
    table, at = np.arange(MANY), np.arange(MANY)
    at[100], at[1 << 15] = -MANY - 100, MANY + 7

    def f(table, at):
        return fw.scatter(fw.full(PLACES, 0), table[at], at)

    for threads in (1, 2):
        with config.scoped(threads=threads), pytest.raises(fw.IndexOutOfBounds) as caught:
            fw.jit(f, target="cpu")(table, at)
        assert str(-MANY - 100) in str(caught.value)
