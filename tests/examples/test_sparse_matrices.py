"""examples/sparse_matrices.py multiplies as dense matrices do, and ranks what is linked to."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flatweave as fw
from flatweave.base.config import config
from tests.conftest import DEVICE


def compressed(dense):
    """A dense matrix in CSR form, with the fields that SciPy's have."""
    rows, columns = np.nonzero(dense)
    ends = np.cumsum(np.bincount(rows, minlength=len(dense)))
    indptr = np.concatenate([[0], ends]).astype(np.int32)
    return SimpleNamespace(
        data=dense[rows, columns], indices=columns.astype(np.int32), indptr=indptr
    )


def matrix(filled, dtype=np.int64):
    """A matrix with `count` nonzero elements in each row, of 7 columns."""
    dense = np.zeros((len(filled), 7), dtype)
    for i, count in enumerate(filled):
        dense[i, np.random.default_rng(i).permutation(7)[:count]] = np.arange(1, count + 1) - i
    return dense


@pytest.mark.parametrize(
    "filled", [[], [0], [0, 0], [3, 0, 7], [0, 2, 0, 0, 1, 0], [1] * 130, [0] * 127 + [7, 0]]
)
def test_products_are_those_of_dense_matrices(example, target, filled):
    """Empty rows first, last, in between, and nothing else."""
    sparse, dense = example("sparse_matrices"), matrix(filled)
    rows = sparse.rows_of(compressed(dense))
    x, xs = np.arange(7), np.arange(21).reshape(7, 3)

    assert np.array_equal(sparse.spmv(rows, x), dense @ x)
    assert np.array_equal(sparse.numpy_spmv(rows, x), dense @ x)
    assert np.array_equal(sparse.spmm(rows, xs), dense @ xs)


@pytest.mark.needs_device
def test_products_on_another_machine(example):
    """A device gives the same."""
    sparse, dense = example("sparse_matrices"), matrix([3, 0, 7, 1])
    rows = sparse.rows_of(compressed(dense))
    with config.scoped(target=DEVICE):
        assert np.array_equal(sparse.spmv(rows, np.arange(7)), dense @ np.arange(7))


def test_random_matrices(example, target):
    """Any rows, any columns."""
    sparse = example("sparse_matrices")

    @given(st.lists(st.integers(0, 7), max_size=12))
    def check(filled):
        dense = matrix(filled, np.float32)
        found = sparse.spmv(sparse.rows_of(compressed(dense)), np.arange(7, dtype=np.float32))
        assert np.array_equal(found, dense @ np.arange(7, dtype=np.float32))

    check()


def test_one_long_row_for_every_number_of_threads(example, threads):
    """A row of 100,000 among empty and short ones: the same sums, whoever adds them."""
    sparse = example("sparse_matrices")
    lengths = np.array([3, 0, 100_000, 1, 0])
    numbers = np.random.default_rng(4).integers(-9, 10, lengths.sum()).astype(np.float32)
    columns = np.arange(len(numbers), dtype=np.int32) % 50
    rows = fw.ragged((numbers, columns), lengths=lengths)
    x = np.arange(50, dtype=np.float32)

    assert np.array_equal(sparse.spmv(rows, x), sparse.numpy_spmv(rows, x))


def test_a_column_that_is_not_there(example, target):
    """A matrix that is broader than the vector is long is refused, whole."""
    sparse = example("sparse_matrices")
    rows = sparse.rows_of(compressed(np.eye(7)))

    with pytest.raises(fw.IndexOutOfBounds, match="index 5 is outside an array of 5 elements"):
        sparse.spmv(rows, np.ones(5))


def test_numbers_and_columns_are_not_copied(example):
    """The Ragged sees the matrix's own memory; where rows end is checked, and kept as i64."""
    sparse, made = example("sparse_matrices"), compressed(np.eye(7))
    rows = sparse.rows_of(made)

    assert np.shares_memory(np.asarray(rows.values[0]), made.data)
    assert np.shares_memory(np.asarray(rows.values[1]), made.indices)
    assert rows.offsets.dtype == np.int64


def test_matrices_of_scipy(example):
    """Both of its CSR classes, sparse times vector, sparse times dense."""
    scipy = pytest.importorskip("scipy.sparse", reason="SciPy comes with the extra `bench`")
    sparse = example("sparse_matrices")
    made = scipy.random(40, 30, 0.1, "csr", np.float32, random_state=1)
    x, xs = np.arange(30, dtype=np.float32), np.ones((30, 4), np.float32)

    for matrix_ in (made, scipy.csr_array(made)):
        rows = sparse.rows_of(matrix_)
        assert np.shares_memory(np.asarray(rows.values[1]), matrix_.indices)
        assert np.allclose(sparse.spmv(rows, x), matrix_ @ x)
        assert np.allclose(sparse.spmm(rows, xs), matrix_ @ xs)


def test_ranks_of_a_small_web(example, target):
    """Everybody links to the first page, which links to the second; the last one links nowhere."""
    sparse = example("sparse_matrices")
    web = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], np.float64)
    start = np.full((4, 1), 0.25)
    rows = sparse.rows_of(compressed(web))
    rank, turns = sparse.pagerank(rows, start)
    rank = np.asarray(rank)[:, 0]

    assert rank.sum() == pytest.approx(1)
    assert rank[0] > rank[1] > rank[2] == pytest.approx(rank[3])
    assert np.allclose(sparse.numpy_pagerank(rows, start, int(turns))[:, 0], rank)


def test_imports_are_found(example):
    """Absolute, relative, several at once, of modules and of what is in them."""
    sparse = example("sparse_matrices")
    known = dict.fromkeys(["os", "os.path", "re", "a", "a.b", "a.c"])
    text = b"import os.path, re as r\nfrom a import b, nothing\nfrom .c import x\nif 1:\n import io"

    assert sparse.imports_of("a.b", text, known) == {"os.path", "re", "a", "a.c"}


def test_the_program_ends_well(example, tmp_path, capsys):
    """`python examples/sparse_matrices.py FOLDER` ends with 0."""
    for name, text in {"a": "import b", "b": "import c", "c": "", "asyncio": "import b, c"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    for k in range(10):
        (tmp_path / f"m{k}.py").write_text("import a")

    assert example("sparse_matrices").main([str(tmp_path)]) == 0
    assert "14 modules with 14 imports" in capsys.readouterr().out
