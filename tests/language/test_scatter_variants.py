"""Every division of a scattering sweep, forced: what the interpreter gives, for any threads."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.records import replace
from flatweave.targets import TARGETS
from tests import compiling
from tests.language.agreement import same
from tests.quick import every

VARIANTS = ["owner", "private", "partition", "atomic", "cas"]
SIZES = [0, 1, 127, 128, 129, 1023, 1025]
EXTENTS = [0, 1, 2, 70, 5000]


@pytest.fixture(params=[False, True], ids=["", "small parts"])
def parts(request, monkeypatch):
    """As it is, and with so little room that there are many blocks, tiles and rounds."""
    if request.param:
        cpu = TARGETS["cpu"]
        small = replace(
            cpu.machine, block_bytes=2048, block_work=8192, scratch_bytes=4096, first_level=3072
        )
        monkeypatch.setitem(TARGETS, "cpu", replace(cpu, find_machine=lambda: small))
        monkeypatch.setattr(compiling.test_compiler, "is_sharing", False)


def indices(n: int, extent: int, seed: int = 0) -> np.ndarray:
    """Places inside and on both sides outside."""
    return np.random.default_rng(seed + n).integers(-2, extent + 2, n)


def forced(name: str, f, *args, threads: int = 2):
    """The results of a program compiled for the CPU with a variant."""
    with config.scoped(target="cpu", threads=threads), fw.schedule(permute=name):
        return fw.jit(f)(*args)


def meant(f, *args):
    """What the interpreter gives."""
    with config.scoped(target="interp"):
        return fw.jit(f)(*args)


def sums(dest, idx, vals):
    """Exact in any grouping, with a neutral element, and atomic."""
    return fw.reduce_by_index(dest, fw.add, 0, idx, vals)


@pytest.mark.sampled
@pytest.mark.parametrize("extent", every(2, EXTENTS))
@pytest.mark.parametrize("name", VARIANTS)
def test_sums_of_integers(parts, name, extent):
    """Every variant can do these, for every size of the input."""
    dest = np.arange(extent) - 3
    for n in SIZES:
        idx, vals = indices(n, extent), np.arange(n) * 7 - 100
        same(forced(name, sums, dest, idx, vals), meant(sums, dest, idx, vals))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "dtype", every(2, [np.bool_, np.int8, np.uint16, np.int32, np.uint64, np.float32])
)
@pytest.mark.parametrize("fn", ["minimum", "maximum", "add"])
@pytest.mark.parametrize("name", VARIANTS)
def test_elements_of_every_width(name, fn, dtype):
    """Words that hold several elements, too; floats that are whole add up exactly."""
    operator = getattr(fw, fn)
    dest, idx = np.arange(9).astype(dtype), indices(500, 9)
    vals = np.random.default_rng(1).integers(0, 100, 500).astype(dtype)
    low, high = (0, 1) if dtype is np.bool_ else (0, 100)
    neutral = {"minimum": high, "maximum": low, "add": 0}[fn]

    def f(dest, idx, vals):
        return fw.reduce_by_index(dest, operator, neutral, idx, vals)

    same(forced(name, f, dest, idx, vals), meant(f, dest, idx, vals))


@pytest.mark.sampled
@pytest.mark.parametrize("name", VARIANTS)
def test_histograms(parts, name):
    """Counts, where no value is read; of values that add the same number of any width."""
    idx = indices(4000, 300)

    def f(idx):
        counts = fw.histogram(300, idx)
        return counts, fw.histogram(300, idx, np.int16(-3)), fw.histogram(300, idx % 7 * 40, 5)

    same(forced(name, f, idx), meant(f, idx))


@pytest.mark.parametrize("fn", ["add", "mul", "minimum", "maximum", "bitwise_and", "bitwise_xor"])
def test_private_copies_of_a_known_neutral_element(fn):
    """Of operators of the table it need not be said."""
    operator, dest, idx = getattr(fw, fn), np.arange(9, dtype=np.int8) - 4, indices(3000, 9)

    def f(dest, idx, vals):
        return fw.permute(operator, dest, idx, vals)

    vals = np.random.default_rng(1).integers(-100, 100, 3000).astype(np.int8)
    same(forced("private", f, dest, idx, vals), meant(f, dest, idx, vals))


@pytest.mark.sampled
@pytest.mark.parametrize("fn", ["add", "mul", "minimum", "maximum"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_private_copies_leave_floats_as_they_are(fn, dtype):
    """Where nothing or one element goes: the signs of zeros, infinities and NaN stay."""
    operator, odd = getattr(fw, fn), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5]
    dest = np.repeat(np.array(odd, dtype), len(odd))
    vals = np.tile(np.array(odd, dtype), len(odd))
    keep = np.array(odd, dtype)

    def f(dest, idx, vals, keep):
        return fw.permute(operator, dest, idx, vals), fw.permute(operator, keep, idx + 99, vals)

    args = dest, np.arange(dest.size), vals, keep
    with np.errstate(invalid="ignore"):
        wanted = meant(f, *args)
    for found, expected in zip(forced("private", f, *args), wanted, strict=True):
        same(found, expected)
        numbers = ~np.isnan(np.asarray(expected))
        assert np.array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("extent", [1, 9, 300, 5000])
def test_private_copies_for_each_turn_of_a_loop(extent):
    """Of operators that commute; from as many elements on as make them worth their while."""
    for n in (extent * 1024 - 1, extent * 1024 + 3) if extent < 5000 else (200_001,):
        idx, vals = indices(n, extent), np.arange(n) % 251

        def f(idx, vals, extent=extent):
            pair = fw.permute(
                lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])),
                (fw.full(extent, 7), fw.full(extent, -1)), idx, (vals, vals),
            )  # fmt: skip
            first = fw.reduce_by_index(
                fw.full(extent, -1), lambda a, b: fw.where(a < 0, b, a), -1, idx, vals
            )
            return fw.histogram(extent, idx), pair, first

        with config.scoped(target="cpu", threads=3):
            found = fw.jit(f)(idx, vals)
        inside = (idx >= 0) & (idx < extent)
        counts = np.bincount(idx[inside], minlength=extent)
        sums = np.bincount(idx[inside], vals[inside], extent).astype(np.int64) + 7
        most, first = np.full(extent, -1), np.full(extent, -1)
        np.maximum.at(most, idx[inside], vals[inside])
        first[idx[inside][::-1]] = vals[inside][::-1]
        same(found[0], counts)
        same(found[1][0], sums)
        same(found[1][1], most)
        same(found[2], first)


def nearer(a, b):
    """The element with the smaller depth; of equal ones what follows decides, to the last."""
    first = a[-1] < b[-1]
    for x, y in zip(a[-2::-1], b[-2::-1], strict=True):
        first = (x < y) | ((x == y) & first)
    return tuple(fw.where(first, x, y) for x, y in zip(a, b, strict=True))


ELEMENTS = {
    "8 bytes": (np.float32, np.uint32),
    "4 bytes": (np.int16, np.bool_, np.uint8),
    "12 bytes": (np.float32, np.uint32, np.float32),
    "16 bytes": (np.float32, np.float64, np.int32),
}


def depths(dtypes, n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Columns of an element; negative ones and equal ones among them."""
    rng = np.random.default_rng(seed)
    return tuple((rng.integers(-20, 20, n) / 4).astype(dtype) for dtype in dtypes)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["owner", "partition", "cas"])
@pytest.mark.parametrize("elements", every(2, ELEMENTS))
def test_tuples_whose_components_mix(parts, name, elements):
    """An element is combined whole, whatever it is made of."""
    dtypes = ELEMENTS[elements]
    dest = depths(dtypes, 40, 1)
    for n in (0, 1, 129, 1025):
        idx, vals = indices(n, 40), depths(dtypes, n, 2)

        def f(dest, idx, vals):
            return fw.permute(nearer, dest, idx, vals)

        same(forced(name, f, dest, idx, vals), meant(f, dest, idx, vals))


@pytest.mark.parametrize("name", VARIANTS)
def test_all_to_one_place(name):
    """The worst that can happen to those who share a word, a lock or a tile."""
    f = fw.jit(lambda idx: fw.reduce_by_index(fw.full(5000, 1), fw.add, 0, idx, fw.iota(20_000)))
    expected = np.ones(5000, np.int64)
    expected[4321] += np.arange(20_000).sum()

    same(forced(name, f, np.full(20_000, 4321), threads=7), expected)


@pytest.mark.parametrize("name", ["owner", "private", "partition"])
def test_the_order_of_the_sweep_is_kept(parts, name):
    """Functions composed in order; matrices do not commute."""

    def compose(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    dest = (np.ones(30, np.int64), np.zeros(30, np.int64))
    idx = indices(2000, 30)
    vals = (np.random.default_rng(3).integers(-3, 4, 2000), np.arange(2000))

    def f(dest, idx, vals):
        return fw.reduce_by_index(dest, compose, (1, 0), idx, vals, check=False)

    wanted = meant(f, dest, idx, vals)
    for threads in (1, 2, 3, 7):
        same(forced(name, f, dest, idx, vals, threads=threads), wanted)


@pytest.mark.parametrize("name", ["owner", "partition", "atomic"])
def test_the_last_of_scattered_elements_stays(parts, name):
    """The last in the order of the sweep, whole, whoever writes it; from the end, the first."""
    dest = (np.zeros(300, np.int64), np.zeros(300, np.float32))
    idx, vals = indices(3000, 300), (np.arange(3000), np.arange(3000, dtype=np.float32) / 2)

    def f(dest, idx, vals):
        backwards = fw.scatter(dest, fw.reverse(idx), tuple(fw.reverse(v) for v in vals))
        return fw.scatter(dest, idx, vals), backwards

    wanted = meant(f, dest, idx, vals)
    for threads in (1, 2, 3, 7):
        same(forced(name, f, dest, idx, vals, threads=threads), wanted)


@pytest.mark.parametrize("name", ["owner", "private", "partition"])
def test_sums_of_floats_have_the_same_bits(parts, name):
    """For every number of threads."""
    rng = np.random.default_rng(4)
    idx, vals = rng.integers(0, 900, 30_000), rng.standard_normal(30_000).astype(np.float32)

    def f(idx, vals):
        return fw.histogram(900, idx, vals, fw.add, 0.0)

    first = forced(name, f, idx, vals, threads=1)
    for threads in (2, 3, 7):
        same(forced(name, f, idx, vals, threads=threads), first)


def test_copies_for_each_thread_where_bits_may_differ():
    """A sum of floats has as many private copies as there are threads, if the user says so."""
    idx, vals = indices(30_000, 900), np.random.default_rng(4).standard_normal(30_000)

    def f(idx, vals):
        return fw.histogram(900, idx, vals, fw.add, 0.0)

    with config.scoped(target="cpu", threads=3), fw.schedule(permute="private"):
        free, fixed = fw.jit(f, deterministic=False), fw.jit(f)
        assert "threads" in free.stages(idx, vals).text["kernel"]
        assert "threads" not in fixed.stages(idx, vals).text["kernel"]
        np.testing.assert_allclose(np.asarray(free(idx, vals)), np.asarray(fixed(idx, vals)))


@pytest.mark.usefixtures("crowd")
def test_few_threads_own_larger_parts():
    """Each owner looks at all elements: what few threads do faster, many leave to a partition. One
    value for all elements is not moved, so that two threads are many."""
    places = 1 << 20
    idx = indices(1 << 15, places)
    is_inside = (idx >= 0) & (idx < places)
    expected = np.bincount(idx[is_inside], minlength=places)
    cases = ((True, (1,), (2, 4)), (False, (1, 2), (4, 8)))
    for constant, few, many in cases:
        vals = np.ones(len(idx), np.float32)

        def sums(idx, vals, constant=constant):
            values = fw.f32(1.0) if constant else vals
            return fw.permute(fw.add, fw.full(places, fw.f32(0)), idx, values)

        f = fw.jit(sums)
        for threads in (*few, *many):
            assert is_partitioned(f, idx, vals, threads, expected) is (threads in many)


def test_what_is_expensive_is_computed_once():
    """Each owner would compute all elements."""
    places = 1 << 20
    idx = indices(1 << 15, places)
    expected = np.bincount(idx[(idx >= 0) & (idx < places)], minlength=places)
    for steps, way in ((0, "owner"), (9, "partition")):

        def one(x, steps=steps):
            for _ in range(steps):
                x = fw.sqrt(x * x + 1.0) * 1.0
            return fw.where(x > 0, 1.0, x).astype("f32")

        f = fw.jit(lambda idx, xs, one=one: fw.permute(
            fw.add, fw.full(places, fw.f32(0)), idx, fw.map(one, xs)))  # fmt: skip
        xs = np.ones(len(idx), np.float32)
        assert is_partitioned(f, idx, xs, 2, expected) is (way == "partition")


def is_partitioned(f, idx, vals, threads, expected):
    """Whether elements were sorted by tile, the result being right."""
    with config.scoped(target="cpu", threads=threads):
        same(f(idx, vals), expected.astype(np.float32))
        return any("partition" in name for name, _, there in f.stages(idx, vals).launched if there)


@pytest.mark.sampled
@pytest.mark.parametrize("name", VARIANTS)
def test_a_costly_body_and_rows(name):
    """Elements that are computed on the way, by rows of a matrix, from an expansion."""
    matrix, sizes = np.arange(600).reshape(20, 30), np.arange(40) % 7

    def f(matrix, sizes):
        by_row = fw.map(lambda row: fw.sum(row * row) % 11, matrix)
        spread = fw.expand(lambda s: s, lambda s, i: s * i, sizes)
        square = fw.generate((20, 30), lambda i, j: (matrix[i, j] ^ (i * j)) % 13)
        flat = fw.reshape(square, (600,)), fw.reshape(matrix, (600,))
        return fw.histogram(11, by_row), fw.histogram(9, spread, spread), fw.histogram(13, *flat)

    same(forced(name, f, matrix, sizes), meant(f, matrix, sizes))


def test_a_dead_destination_is_written_in_place():
    """No variant that can do without makes a copy of it."""

    def f(idx):
        return fw.reduce_by_index(fw.full(2000, 0) + idx[0], fw.add, 0, idx, 1)

    for name in VARIANTS:
        with config.scoped(target="cpu"), fw.schedule(permute=name):
            text = fw.jit(f).stages(np.zeros(5, np.int64)).text["kernel"]
        host = text[: text.index("\n\n")]
        assert "is_unique" in host
        assert host.count("copy_i64") == 1  # where somebody else holds it after all
