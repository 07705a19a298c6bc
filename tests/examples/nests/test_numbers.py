"""examples/nests: big numbers, chains, matrices and systems are what they should be."""

import numpy as np
import pytest

from tests.structure.counted import opened, stored_types


def added(a, b):
    """The sums of rows of digits, as Python's numbers."""
    count = a.shape[1]
    found = []
    for x, y in zip(a, b, strict=True):
        total = sum(int.from_bytes(z.astype("<u4").tobytes(), "little") for z in (x, y))
        digits = (total % (1 << 32 * count)).to_bytes(4 * count, "little")
        found.append(np.frombuffer(digits, "<u4"))
    return np.array(found, np.uint32).reshape(a.shape)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (1, 1), (4, 2), (7, 128), (5, 129), (3, 4096)])
def test_sums_of_big_numbers(example, target, shape):
    """As Python's own; carries that go through whole rows."""
    big_numbers = example("nests.big_numbers")
    a, b = big_numbers.pairs(*shape)
    if shape[1]:
        b[::3, 0] = ~a[::3, 0] + 1  # a carry at the very beginning

    assert np.array_equal(big_numbers.sums(a, b), added(a, b))
    assert np.array_equal(big_numbers.numpy_sums(a, b), added(a, b))


def test_sums_for_every_number_of_threads(example, threads):
    """Rows that several blocks share, and blocks that several rows share."""
    big_numbers = example("nests.big_numbers")
    for rows, digits in ((3000, 100), (2, 150_000)):
        a, b = big_numbers.pairs(rows, digits)
        assert np.array_equal(big_numbers.sums(a, b), added(a, b))


def test_a_sum_is_one_kernel_and_its_result(example):
    """Neither the sums without carries nor the carries are stored."""
    big_numbers = example("nests.big_numbers")
    stages = opened(big_numbers.sums, *big_numbers.pairs(4, 8))

    assert stages.kernels == 1
    assert stored_types(stages) == ["u32[n_1, n_2] (result)"]


@pytest.mark.parametrize("name", ["map", "sum", "scan", "scan of scan", "sum of products"])
def test_a_chain_is_one_kernel_and_its_result(example, name):
    """What stands between the operations of a row is stored nowhere."""
    chains = example("nests.chains")
    rows, weights = chains.matrix(4, 8)
    simple = chains.CHAINS.get(name)
    stages = opened(simple[0], rows) if simple else opened(chains.WEIGHTED[name][0], rows, weights)

    assert stages.kernels == 1
    assert ["(result)" in text for text in stored_types(stages)] == [True]


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (3, 1), (3, 129), (200, 7)])
def test_chains(example, target, shape):
    """Rows without elements too; whole numbers, so that every order gives the same."""
    chains = example("nests.chains")
    rows, weights = chains.matrix(*shape)

    for name, (ours, numpys) in chains.CHAINS.items():
        assert np.array_equal(ours(rows), numpys(rows)), name
    for name, (ours, numpys) in chains.WEIGHTED.items():
        assert np.array_equal(ours(rows, weights), numpys(rows, weights)), name
    total, greatest = chains.reduce_twice(rows)
    assert np.array_equal(total, rows.sum(axis=1))
    assert np.array_equal(greatest, rows.max(axis=1, initial=-1))
    prefixes, total = chains.scan_and_sum(rows)
    assert np.array_equal(prefixes, rows.cumsum(axis=1))
    assert np.array_equal(total, rows.sum(axis=1))


def test_rows_written_at_places_of_their_own(example, target):
    """An index outside of a row drops its value."""
    rows = np.zeros((2, 4), np.int64)
    places, values = np.array([[0, 3], [4, 1]]), np.array([[5, 6], [7, 8]])

    found = example("nests.chains").scatter_rows(rows, places, values)

    assert np.array_equal(found, [[5, 0, 0, 6], [0, 8, 0, 0]])


@pytest.mark.parametrize("extents", [(0, 3, 2), (3, 0, 2), (1, 1, 1), (65, 130, 17)])
def test_products(example, target, extents):
    """Of whole numbers: exact."""
    n, m, k = extents
    draw = np.random.default_rng(3)
    a, b = draw.integers(-9, 10, (n, m)), draw.integers(-9, 10, (m, k))

    assert np.array_equal(example("nests.matrices").product(a, b), a @ b)


@pytest.mark.parametrize("number, size", [(0, 3), (4, 0), (3, 1), (5, 2), (40, 17)])
def test_decompositions(example, target, number, size):
    """L times U is the matrix."""
    matrices = example("nests.matrices")
    given = matrices.dominant(number, size)

    found = np.asarray(matrices.decompositions(given))

    lower = np.tril(found, -1) + np.eye(size)
    assert np.allclose(lower @ np.triu(found), given)


@pytest.mark.parametrize("size, filled", [(1, 1), (7, 0), (7, 0.3), (40, 0.1), (130, 0.02)])
def test_sparse_products(example, target, size, filled):
    """Rows and columns without numbers; each column comes once in a row, in order."""
    matrices = example("nests.matrices")
    x = matrices.sparse(size, filled)
    rows = matrices.compressed(x)

    numbers, columns = matrices.sparse_product(rows, rows)

    assert np.array_equal(matrices.dense(numbers, columns, size), x @ x)
    assert all(row == sorted(set(row)) for row in columns.tolist())


@pytest.mark.parametrize("number, size", [(0, 4), (3, 1), (3, 2), (4, 129), (2, 1025)])
def test_systems(example, target, number, size):
    """As the loop that goes down and up; in long systems nothing overflows."""
    tridiagonal = example("nests.tridiagonal")
    given = tridiagonal.systems(number, size, np.float64)

    found = tridiagonal.solutions(*given)

    assert np.allclose(found, tridiagonal.numpy_solutions(*given))


def test_systems_for_every_number_of_threads(example, threads):
    """In f32."""
    tridiagonal = example("nests.tridiagonal")
    given = tridiagonal.systems(300, 128)

    found = tridiagonal.solutions(*given)

    assert found.dtype == np.float32
    assert np.allclose(found, tridiagonal.numpy_solutions(*given), rtol=1e-3, atol=1e-4)
