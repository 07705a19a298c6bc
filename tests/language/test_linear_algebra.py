"""`fw.linalg` and `fw.fft`: as NumPy's, for stacks, real and complex, at once and jitted."""

import numpy as np
import pytest

import flatweave as fw

RANDOM = np.random.default_rng(7)
REAL = RANDOM.normal(size=(2, 4, 3))
COMPLEX = REAL + 1j * RANDOM.normal(size=(2, 4, 3))
L = fw.linalg
KINDS = {"real": REAL, "complex": COMPLEX}


def adjoint(a):
    """The conjugate transposes of a stack."""
    return np.conj(np.swapaxes(np.asarray(a), -1, -2))


def near(found, wanted):
    """Of one dtype and shape, equal to ten digits."""
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_solutions():
    """Of a stack of systems with one right side."""
    a, b = REAL[:, :3], REAL[0, :3]

    near(fw.linalg.solve(a, b), np.linalg.solve(a, b))


TINY = {np.float64: (1e-170, 1e-300), np.float32: (1e-25, 1e-36)}


@pytest.mark.parametrize("dtype", TINY)
def test_factors_of_tiny_columns(dtype):
    """Of columns whose squares are 0, at first or when others are gone."""
    rtol = 50 * np.finfo(dtype).eps
    for t in TINY[dtype]:
        for a in ([[1, t], [1, 2 * t]], [[t, 1], [2 * t, 1]], [[1, 1], [0, t]],
                  [[t, t, 1], [2 * t, 3 * t, 1], [3 * t, -t, 2]]):
            a = np.array(a, dtype)
            q, r = map(np.asarray, fw.linalg.qr(a))
            np.testing.assert_allclose(abs(r), abs(np.linalg.qr(a)[1]), rtol=rtol)
            np.testing.assert_allclose(q.T @ q, np.eye(len(a)), atol=rtol)


@pytest.mark.parametrize("kind", KINDS)
def test_equations(kind):
    """Solutions, inverses and determinants, of stacks and of a single matrix."""
    a = KINDS[kind][:, :3]
    b = REAL[0, :3]

    near(fw.linalg.solve(a, b), np.linalg.solve(a, b))
    near(fw.linalg.solve(a[0], b[:, 0]), np.linalg.solve(a[0], b[:, 0]))
    near(fw.jit(fw.linalg.inv)(a), np.linalg.inv(a))
    near(fw.linalg.det(a), np.linalg.det(a))
    near(fw.linalg.matrix_power(a, -3), np.linalg.matrix_power(a, -3))
    for found, wanted in zip(fw.linalg.slogdet(a), np.linalg.slogdet(a), strict=True):
        near(found, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_factors(kind):
    """The factors multiply to the matrix, and are of the form they should be."""
    a = KINDS[kind]
    hermitian = adjoint(a) @ a + np.eye(3)

    near(fw.linalg.cholesky(hermitian), np.linalg.cholesky(hermitian))
    q, r = fw.linalg.qr(a)
    near(np.asarray(q) @ np.asarray(r), a)
    near(adjoint(q) @ np.asarray(q), np.broadcast_to(np.eye(3), (2, 3, 3)).astype(a.dtype))
    values, vectors = fw.linalg.eigh(hermitian)
    near(values, np.linalg.eigvalsh(hermitian))
    near((np.asarray(vectors) * np.asarray(values)[:, None]) @ adjoint(vectors), hermitian)


@pytest.mark.parametrize("turned", [False, True])
def test_singular_values(turned):
    """Of tall and of wide matrices; what is made of them."""
    a = np.ascontiguousarray(np.swapaxes(COMPLEX, 1, 2)) if turned else REAL

    u, s, vh = (np.asarray(part) for part in fw.linalg.svd(a, full_matrices=False))
    near(s, np.linalg.svdvals(a))
    near((u * s[:, None]) @ vh, a)
    near(fw.linalg.pinv(a), np.linalg.pinv(a))


def test_a_matrix_of_low_rank():
    """Its rank is found, its basis is complete, its inverse refused."""
    a = np.outer(np.arange(1.0, 5), [1.0, -2.0, 3.0])

    assert int(fw.linalg.matrix_rank(a)) == 1
    u = np.asarray(fw.linalg.svd(a).U)
    near(u @ u.T, np.eye(4))
    with pytest.raises(fw.ArgumentError, match="singular"):
        fw.linalg.inv(a[:3])
    with pytest.raises(fw.ArgumentError, match="not positive definite"):
        fw.linalg.cholesky(-np.eye(2))
    with pytest.raises(fw.ShapeError, match="square"):
        fw.linalg.det(a)


def test_eigenvalues_without_symmetry():
    """In a jitted function: of any matrices, of a ring, of one that has too few vectors."""
    eig = fw.jit(fw.linalg.eig)
    ring = np.roll(np.eye(3), 1, axis=1)[None]
    for a in (REAL[:, :3], ring, np.array([[[1.0, 1.0], [0.0, 1.0]]])):
        values, vectors = (np.asarray(part) for part in eig(a))
        near(a @ vectors, vectors * values[:, None])
        near(np.linalg.norm(vectors, axis=1), np.ones(a.shape[:2]))


def test_norms():
    """Of vectors and of matrices, in every order."""
    for order in (0, 1, 2, 3, -1, np.inf, -np.inf):
        near(fw.linalg.vector_norm(COMPLEX, ord=order, axis=1),
             np.linalg.norm(COMPLEX, ord=order, axis=1).astype(np.float64))  # fmt: skip
    for order in ("fro", 1, -1, np.inf, -np.inf):
        near(fw.linalg.matrix_norm(REAL, ord=order), np.linalg.norm(REAL, ord=order, axis=(1, 2)))
    near(fw.linalg.trace(REAL, offset=1), np.linalg.trace(REAL, offset=1))
    near(fw.linalg.cross(REAL[0], REAL[1]), np.linalg.cross(REAL[0], REAL[1]))
    near(fw.linalg.eigvals(REAL[:, :3]).sum(axis=1).real, np.trace(REAL[:, :3], axis1=1, axis2=2))


def test_a_transform():
    """Of a power of 2 and of another length, by one program."""
    transform = fw.jit(lambda z: fw.fft.fft(z))
    for n in (1, 8, 12, 2048):
        z = RANDOM.normal(size=n) + 1j * RANDOM.normal(size=n)
        near(transform(z), np.fft.fft(z))
    assert transform.traces == 1


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("n", [1, 2, 6, 17, 64])
def test_transforms(n, target):
    """Of powers of 2, of a prime, and of other lengths; cut, filled, and along another axis."""
    z = RANDOM.normal(size=(n, 2)) + 1j * RANDOM.normal(size=(n, 2))
    with fw.target(target):
        near(fw.fft.fft(z, axis=0), np.fft.fft(z, axis=0))
    if target == "cpu":
        near(fw.jit(lambda z: fw.fft.ifft(fw.fft.fft(z)))(z.T.copy()), z.T)
        near(fw.fft.ifft(z, n=3, norm="ortho"), np.fft.ifft(z, n=3, norm="ortho"))
        near(fw.fft.rfft(z.real, axis=0), np.fft.rfft(z.real, axis=0))
        near(fw.fft.irfft(z, n=n + 1, axis=0), np.fft.irfft(z, n=n + 1, axis=0))
        near(fw.fft.fftn(z), np.fft.fftn(z))
        near(fw.fft.fftshift(z), np.fft.fftshift(z))
        near(fw.fft.fftfreq(n, d=0.5), np.fft.fftfreq(n, d=0.5))


def test_shifted_transforms_along_axes():
    """One, several, or from the end; one that is not there is an error that says so."""
    x = np.arange(6).reshape(2, 3)
    with fw.target("interp"):
        for axes in (0, -1, (0, 1), [1], None):
            for name in ("fftshift", "ifftshift"):
                found = getattr(fw.fft, name)(x, axes=axes)
                assert found.tolist() == getattr(np.fft, name)(x, axes=axes).tolist()
        for axes in (2, (0, -3)):
            with pytest.raises(fw.ShapeError, match="fftshift along axis"):
                fw.fft.fftshift(x, axes=axes)


def test_empty_and_single():
    """Stacks of none, matrices of none, and of one element."""
    for shape in ((0, 2, 2), (2, 0, 0), (1, 1)):
        a = np.full(shape, 2.0)
        near(fw.linalg.inv(a), np.linalg.inv(a))
        near(fw.linalg.det(a), np.linalg.det(a))
        near(fw.linalg.eigvalsh(a), np.linalg.eigvalsh(a))
        near(fw.linalg.svdvals(a), np.linalg.svdvals(a))


def test_only_the_lower_triangle_is_factored():
    """Elements above the diagonal are ignored; of 17 rows, with a shift-inwards tail."""
    a = np.random.default_rng(4).random((17, 17))
    whole = a @ a.T + np.eye(17)

    near(fw.linalg.cholesky(np.tril(whole)), np.linalg.cholesky(whole))
    near(fw.linalg.solve(whole, a[0]), np.linalg.solve(whole, a[0]))


@pytest.mark.parametrize("f, row", [
    (lambda m, n: L.cholesky(m), 2),
    (lambda m, n: fw.fori_loop(0, n, lambda i, m: L.cholesky(m), m), 2),
    (lambda m, n: fw.map(lambda k: L.cholesky(m * (1 - k)), fw.iota(n)), 0),
    (lambda m, n: fw.map(lambda r: L.solve(m * (n - 3), r), m), 2),
    (lambda m, n: fw.map(
        lambda k: fw.cond(k > 1, lambda m: L.inv(m * 0), lambda m: m, m), fw.iota(n)
    ), 2),
    (lambda m, n: L.svd(fw.where(m < 0, fw.nan, m)).S, 2),
], ids=["map", "loop", "rows of rows", "solve", "branch", "svd"])  # fmt: skip
def test_the_row_of_a_matrix_that_is_refused_is_named(target, f, row):
    """By its index in the outermost map, whatever the call is in."""
    matrices = np.stack([np.eye(2), np.eye(2), np.diag([1.0, -1.0]), -np.eye(2)])

    with pytest.raises(fw.ArgumentError, match=rf"\(first found at element {row}\)\."):
        fw.map(f, matrices, np.array([2, 2, 3, 1]))


def test_a_call_that_is_the_same_for_all_rows_is_made_once(target):
    """A number of the row, for errors, does not make it one of each row."""
    calls = fw.jit(lambda ms, m: fw.map(lambda each: each + L.cholesky(m), ms), target="cpu")
    text = calls.stages(np.ones((3, 2, 2)), np.eye(2)).text["flat"]

    assert "stacked [] " in text
