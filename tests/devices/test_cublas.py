"""Products of matrices on a GPU go to cuBLAS where it is there: a strict fake, kernels by PTX."""

from itertools import product

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import schedule_of
from flatweave.runtime.devices import cuda_libraries
from tests.devices.fake_cublas import FakeCublas
from tests.ptx.driver import cuda_by_ptx


def by(product):
    """Products are computed so, whatever their sizes."""
    return config.scoped(schedule=schedule_of(f"product={product}"))


@pytest.fixture
def blas(monkeypatch, compiler):
    """A device that runs PTX, with cuBLAS."""
    with cuda_by_ptx() as cu:
        library = FakeCublas(cu)
        monkeypatch.setattr(cuda_libraries, "_cublas", lambda: cuda_libraries.declared(library))
        yield library


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 10, shape).astype(dtype)
    return values + 1j * rng.integers(-9, 10, shape) if values.dtype.kind == "c" else values


def on_gpu(fn, **options):
    return fw.jit(fn, target="cuda", **options)


@pytest.mark.parametrize(("left", "right"), [*product((False, True), repeat=2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_values_are_numpys(blas, dtype, left, right):
    """Of matrices as they are, or transposed, whose extents all differ."""
    a = numbers((3, 5) if not left else (5, 3), dtype).astype(dtype)
    b = numbers((5, 7) if not right else (7, 5), dtype, 1).astype(dtype)

    def multiply(a, b):
        return (a.T if left else a) @ (b.T if right else b)

    with by("library"):
        found = np.asarray(on_gpu(multiply)(a, b))
    assert found.dtype == dtype and np.array_equal(found, multiply(a, b))
    (name, m, n, k, first, second), = blas.products
    assert (m, n, k, first, second) == (7, 3, 5, int(right), int(left))


def test_an_adjoint_is_one_product(blas):
    """BLAS conjugates what it transposes; other conjugates are four products of parts."""
    a, b = numbers((5, 3), np.complex128), numbers((5, 7), np.complex128, 1)
    with by("library"):
        found = np.asarray(on_gpu(lambda a, b: fw.conj(a).T @ b)(a, b))
        assert np.array_equal(found, a.conj().T @ b) and blas.products[0][-1] == 2
        found = np.asarray(on_gpu(lambda a, b: fw.conj(a) @ b)(a.T.copy(), b))
    assert np.array_equal(found, a.T.conj() @ b)
    assert [name for name, *_ in blas.products[1:]] == ["cublasDgemm_v2_64"] * 4


def test_sizes_choose(blas):
    """Large products are the library's, unless a reduction reads them or the user says so."""
    a, b = numbers((64, 70), np.float32), numbers((70, 66), np.float32, 1)
    f = on_gpu(lambda a, b: a @ b + 1)
    assert np.array_equal(np.asarray(f(a, b)), a @ b + 1) and len(blas.products) == 1
    f(a[:8], b)
    on_gpu(lambda a, b: fw.sum(a @ b, axis=1))(a, b)
    assert len(blas.products) == 1
    with by("kernels"):
        f = on_gpu(lambda a, b: a @ b)
        f(a[:8, :8], b[:8, :8])
    assert len(blas.products) == 1


def test_a_loop_of_products(blas):
    """Each iteration waits for nothing; the last result is right."""
    a = np.triu(np.ones((4, 4)))
    with by("library"):
        found = on_gpu(lambda a: fw.fori_loop(0, 5, lambda i, x: x @ a, a))(a)
    assert np.array_equal(np.asarray(found), np.linalg.matrix_power(a, 6))
    assert len(blas.products) == 5


def test_zeros_of_a_cotangent_count(blas):
    """In a gradient what is infinite does not matter where the cotangent is 0."""
    a, b, seeds = (numbers(shape, np.float64) for shape in ((4, 5), (5, 6), (4, 6)))
    a[1, 2], a[3, 0], b[3, 3], b[0, 0] = np.inf, np.nan, -np.inf, np.nan
    seeds[1], seeds[:, 3], seeds[2, 2] = 0, 0, np.inf

    def gradient(a, b, seeds):
        return fw.vjp(lambda a, b: a @ b, a, b)[1](seeds)

    with by("kernels"), fw.target("interp"):
        expected = [np.asarray(x) for x in fw.jit(gradient)(a, b, seeds)]
    with by("library"):
        found = on_gpu(gradient)(a, b, seeds)
    assert len(blas.products) == 2 and np.isfinite(expected[0][1]).all()
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(x), y)


@pytest.mark.parametrize("name", ["stacks", "one for all", "transposed", "two axes"])
def test_stacks(blas, name):
    """Of matrices are one call; one matrix may be a factor of all."""
    a, b = numbers((4, 3, 5), np.float32), numbers((4, 5, 7), np.float32, 1)
    f, args = {
        "stacks": (lambda a, b: a @ b, (a, b)),
        "one for all": (lambda a, b: a @ b, (a, b[0])),
        "transposed": (lambda a, b: fw.matrix_transpose(b) @ fw.matrix_transpose(a), (a, b)),
        "two axes": (lambda a, b: a @ b, (a.reshape(2, 2, 3, 5), b.reshape(2, 2, 5, 7))),
    }[name]
    with by("library"):
        found = np.asarray(on_gpu(f)(*args))
    a, b = args
    wanted = b.swapaxes(1, 2) @ a.swapaxes(1, 2) if name == "transposed" else a @ b
    assert found.shape == wanted.shape and np.array_equal(found, wanted)
    assert [each[0] for each in blas.products] == ["cublasSgemmStridedBatched_64"]


@pytest.mark.parametrize("refuses", [True, False])
def test_without_the_library(monkeypatch, compiler, refuses):
    """Where it is missing, or does not work here, the product is our kernel."""
    a, b = numbers((3, 5), np.float32), numbers((5, 7), np.float32, 1)
    with cuda_by_ptx() as cu:
        library = cuda_libraries.declared(FakeCublas(cu, refuses=True)) if refuses else None
        monkeypatch.setattr(cuda_libraries, "_cublas", lambda: library)
        with by("library"):
            assert np.array_equal(np.asarray(on_gpu(lambda a, b: a @ b)(a, b)), a @ b)


def test_empty_matrices(blas):
    """A sum of no products is 0, and no elements are no call."""
    f = on_gpu(lambda a, b: a @ b)
    with by("library"):
        assert not np.asarray(f(np.ones((3, 0)), np.ones((0, 2)))).any()
        assert np.asarray(f(np.ones((0, 3)), np.ones((3, 2)))).shape == (0, 2)
