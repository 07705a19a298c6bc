"""Derivatives of fw.linalg and fw.fft: against differences, closed forms and NumPy."""

import itertools

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3))
B = RNG.normal(size=(3, 2))
TALL = RNG.normal(size=(4, 2))
STACK = RNG.normal(size=(2, 3, 3))
IMAG = RNG.normal(size=(3, 3))
TALL_IMAG = RNG.normal(size=(4, 2))
L, F = fw.linalg, fw.fft


@pytest.fixture(autouse=True)
def interpreted():
    """Libraries are called in the same way on every target."""
    with fw.target("interp"):
        yield


def adjoint(z):
    """The conjugate transpose."""
    return fw.conj(fw.matrix_transpose(z))


def positive(a):
    """A positive definite matrix."""
    return a @ adjoint(a) + fw.eye(3)


def hermitian(a):
    """A Hermitian matrix."""
    return a + adjoint(a)


def seen(z):
    """Real numbers that depend on the real and on the imaginary parts."""
    x, y = fw.real(z), fw.imag(z)
    return 2 * x * x + y * y * y + x * y


def sizes(z):
    """Without the phases of vectors, or their signs."""
    return fw.real(z) ** 2 + fw.imag(z) ** 2


REAL = {
    "solve": (L.solve, A, B), "solve for a vector": (L.solve, A, B[:, 0]),
    "inv": (L.inv, A), "det": (L.det, A), "slogdet": (lambda a: L.slogdet(a)[1], A),
    "cholesky": (lambda a: L.cholesky(positive(a)), A),
    "upper cholesky": (lambda a: L.cholesky(positive(a), upper=True), A),
    "eigh": (lambda a: (L.eigh(hermitian(a))[0], L.eigh(hermitian(a))[1] ** 2), A),
    "eigvalsh": (lambda a: L.eigvalsh(hermitian(a)), A),
    "eig": (lambda a: seen(L.eig(a)[1]), A), "eigvals": (lambda a: seen(L.eigvals(a)), A),
    "svdvals": (L.svdvals, TALL), "square svd": (lambda a: [x**2 for x in L.svd(a)], A),
    "tall svd": (lambda a: [x**2 for x in L.svd(a, full_matrices=False)], TALL),
    "wide svd": (lambda a: [x**2 for x in L.svd(a.T, full_matrices=False)], TALL),
    "tall qr": (L.qr, TALL), "wide qr": (lambda a: L.qr(a.T), TALL),
    "r": (lambda a: L.qr(a, mode="r"), A), "complete qr": (lambda a: L.qr(a, mode="complete"), A),
    "tall pinv": (L.pinv, TALL), "wide pinv": (lambda a: L.pinv(a.T), TALL),
    "matrix_power": (lambda a: L.matrix_power(a, 3), A),
    "power of the inverse": (lambda a: L.matrix_power(a, -2), A),
    "matrix_norm": (lambda a: [L.matrix_norm(a, ord=k) for k in ("fro", "nuc", 2, -2, 1)], A),
    "vector_norm": (lambda a: [L.vector_norm(a, ord=k) for k in (2, 1, 3, np.inf)], A),
    "stacks": (lambda a: (L.inv(a), L.det(a), L.svdvals(a), L.solve(a, a)), STACK),
    "products": (lambda a, b: (a @ b, fw.tensordot(a, b, axes=1), fw.einsum("ij,jk", a, b)), A, B),
    "fft": (lambda x: seen(F.fft(x, norm="ortho")), A), "cut": (lambda x: seen(F.fft(x, n=2)), A),
    "rfft": (lambda x: seen(F.rfft(x)), A), "padded": (lambda x: seen(F.rfft(x, n=6, axis=0)), A),
    "ihfft": (lambda x: seen(F.ihfft(x)), A), "rfftn": (lambda x: seen(F.rfftn(x)), A),
    "irfft of reals": (lambda x: F.irfft(x) ** 2, A), "hfft": (lambda x: F.hfft(x, n=5) ** 2, A),
    "fftn": (lambda x: seen(F.fftn(x)), A),
}  # fmt: skip
COMPLEX = {
    "solve": lambda z: seen(L.solve(z, B)), "right side": lambda z: seen(L.solve(A, z)),
    "inv": lambda z: seen(L.inv(z)), "det": lambda z: seen(L.det(z)),
    "slogdet": lambda z: [L.slogdet(z)[1], seen(L.slogdet(z)[0])],
    "cholesky": lambda z: seen(L.cholesky(positive(z))),
    "eigh": lambda z: (L.eigh(hermitian(z))[0], sizes(L.eigh(hermitian(z))[1])),
    "eigvalsh": lambda z: L.eigvalsh(hermitian(z)), "eig": lambda z: seen(L.eig(z)[1]),
    "svd": lambda z: seen(L.svd(z)[0][:, :1] @ L.svd(z)[2][:1]), "svdvals": L.svdvals,
    "qr": lambda z: [seen(x) for x in L.qr(z)], "pinv": lambda z: seen(L.pinv(z)),
    "fft": lambda z: seen(F.fft(z)), "ifft": lambda z: seen(F.ifft(z, axis=0, n=4)),
    "ifftn": lambda z: seen(F.ifftn(z, norm="ortho")), "irfft": lambda z: F.irfft(z) ** 2,
    "odd irfft": lambda z: F.irfft(z, n=5) ** 2, "hfft": lambda z: F.hfft(z, norm="forward") ** 2,
    "irfftn": lambda z: F.irfftn(z) ** 2,
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", REAL)
def test_real(name):
    """Both modes agree with differences."""
    f, *args = REAL[name]
    fw.check_grads(f, args, order=1)


@pytest.mark.sampled
@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    """By the real and the imaginary part of a matrix."""
    fw.check_grads(lambda x, y: COMPLEX[name](x + 1j * y), (A, IMAG), order=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REAL if "norm" not in name])
def test_second_derivatives(name):
    """Rules have derivatives, too."""
    f, *args = REAL[name]
    fw.check_grads(f, args, order=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPLEX)
def test_second_complex_derivatives(name):
    """The same."""
    fw.check_grads(lambda x, y: COMPLEX[name](x + 1j * y), (A, IMAG), order=2)


def test_some_second_derivatives():
    """One of each kind: a rule with a transpose, one that is transposed, and a transform."""
    fw.check_grads(L.solve, (A, B), order=2)
    fw.check_grads(lambda a: L.eigh(hermitian(a))[1] ** 2, (A,), order=2)
    fw.check_grads(lambda x: seen(F.rfft(x)), (A[0],), order=2)


def test_closed_forms():
    """Also of matrices that are Hermitian and as such given."""
    s = A @ A.T + np.eye(3)
    w, v = np.linalg.eigh(s)
    close = np.testing.assert_allclose
    close(fw.grad(lambda a: L.slogdet(a)[1])(A), np.linalg.inv(A).T, rtol=1e-9)
    close(fw.grad(L.det)(A), np.linalg.det(A) * np.linalg.inv(A).T, rtol=1e-9)
    close(fw.grad(lambda a: L.eigvalsh(a)[2])(s), np.outer(v[:, 2], v[:, 2]), atol=1e-12)
    close(fw.grad(lambda a: fw.sum(fw.log(fw.linalg.diagonal(L.cholesky(a)))))(s),
          np.linalg.inv(s) / 2, atol=1e-12)
    close(fw.grad(lambda a: L.matrix_norm(a, ord="nuc"))(A),
          np.linalg.svd(A)[0] @ np.linalg.svd(A)[2], atol=1e-12)
    z = A + 1j * IMAG  # of a holomorphic function the gradient is its derivative
    slope = fw.grad(lambda z: fw.real(L.det(z)))(z)
    close(slope, np.linalg.det(z) * np.linalg.inv(z).T, rtol=1e-9)


def test_numpys_differences():
    """Element by element."""
    def differences(f, x, step=1e-6):
        found = np.zeros_like(x)
        for at in np.ndindex(*x.shape):
            moved = np.zeros_like(x)
            moved[at] = step
            found[at] = (f(x + moved) - f(x - moved)) / (2 * step)
        return found

    pairs = [
        (lambda a: fw.sum(L.inv(a) ** 2), lambda a: np.sum(np.linalg.inv(a) ** 2)),
        (lambda a: fw.sum(L.svdvals(a) ** 3), lambda a: np.sum(np.linalg.svd(a)[1] ** 3)),
        (lambda a: fw.sum(fw.abs(F.fft2(a) if hasattr(F, "fft2") else F.fftn(a)) ** 3),
         lambda a: np.sum(np.abs(np.fft.fftn(a)) ** 3)),
    ]
    for ours, numpys in pairs:
        np.testing.assert_allclose(fw.grad(ours)(A), differences(numpys, A), rtol=1e-5, atol=1e-6)


def test_equal_eigenvalues():
    """Vectors that may be turned into each other have no derivative along that; nothing is NaN."""
    one = np.eye(3)
    through = lambda a: fw.sum(L.eigh(a)[1] @ adjoint(L.eigh(a)[1]) * A)

    np.testing.assert_allclose(fw.grad(through)(one), np.zeros((3, 3)), atol=1e-12)
    np.testing.assert_allclose(fw.grad(lambda a: fw.sum(L.eigvalsh(a)))(one), one, atol=1e-12)
    assert np.all(np.isfinite(fw.grad(lambda a: fw.sum(L.svd(a)[0]))(one)))
    assert np.all(np.isfinite(fw.grad(lambda a: fw.sum(L.svd(a)[0]))(np.zeros((3, 3)))))


def test_singular_matrices():
    """The determinant of one has a derivative."""
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])

    np.testing.assert_allclose(fw.grad(L.det)(singular), [[4, -2], [-2, 1]], atol=1e-12)
    np.testing.assert_allclose(fw.grad(L.det)(np.zeros((2, 2))), np.zeros((2, 2)), atol=1e-12)


def by_minors(a):
    """The second derivatives of a determinant of three rows."""
    found = np.zeros((3, 3, 3, 3))
    for i, j, k, m in itertools.product(range(3), repeat=4):
        if i != k and j != m:
            sign = (-1) ** (i + j + k + m) * (1 if (i < k) == (j < m) else -1)
            found[i, j, k, m] = sign * a[3 - i - k, 3 - j - m]
    return found


@pytest.mark.parametrize("a", [
    np.diag([0.0, 1.0, 2.0]), np.diag([0.0, 0.0, 2.0]), np.zeros((3, 3)),
    np.arange(9.0).reshape(3, 3), np.eye(3), np.outer([1.0, 2.0, 3.0], [2.0, -1.0, 1.0]),
])  # fmt: skip
def test_second_derivatives_of_singular_matrices(a):
    """Those of the determinant are its minors."""
    np.testing.assert_allclose(fw.hessian(L.det)(a), by_minors(a), atol=1e-12)


def test_third_derivatives_of_determinants():
    """Products of elements where there are inverses; else the error names the determinant."""
    along = lambda x: L.det(x * np.diag([1.0, 2.0, 3.0]) + np.ones((3, 3)))
    third = fw.grad(fw.grad(fw.grad(along)))
    complex_ = fw.grad(fw.grad(lambda x: fw.real(L.det(x * np.array([[1j, 2], [1, 1]])))))

    np.testing.assert_allclose(third(1.0), 36, rtol=1e-9)
    np.testing.assert_allclose(complex_(0.5), -4, rtol=1e-9)
    with pytest.raises(fw.ArgumentError, match="the third derivative of det of a singular matrix"):
        fw.grad(fw.grad(fw.grad(lambda x: L.det(x * np.ones((3, 3))))))(1.0)


def test_small_floats_and_none():
    """f32 stays f32; there may be no matrices in a stack."""
    found = fw.grad(lambda a: fw.sum(L.inv(a) ** 2))(A.astype(np.float32))
    assert found.dtype == np.float32
    empty = fw.grad(lambda a: fw.sum(L.inv(a)))(np.zeros((0, 2, 2)))
    assert empty.shape == (0, 2, 2)
    assert fw.grad(lambda x: fw.sum(seen(F.fft(x))))(A[0].astype(np.float32)).dtype == np.float32


def test_in_programs():
    """In map, loops, branches and Jacobians."""
    slopes = fw.map(fw.grad(lambda m: L.det(m)), STACK)
    np.testing.assert_allclose(slopes, [np.linalg.det(m) * np.linalg.inv(m).T for m in STACK])
    newton = lambda a: fw.sum(fw.fori_loop(0, 2, lambda i, x: (x + L.inv(x)) / 2, a))
    fw.check_grads(newton, (A + 3 * np.eye(3),), order=1)
    np.testing.assert_allclose(fw.jacrev(lambda b: L.solve(A, b))(B[:, 0]), np.linalg.inv(A))
    np.testing.assert_allclose(fw.jacfwd(lambda b: L.solve(A, b))(B[:, 0]), np.linalg.inv(A))
    back = fw.linear_transpose(lambda b: L.solve(A, b), B)(B)[0]
    np.testing.assert_allclose(back, np.linalg.solve(A.T, B))


def test_without_derivatives_nothing_changes():
    """A program has the steps that it had."""
    text = fw.jit(lambda a: L.inv(a)).stages(A).text["array"]
    assert text.count("callback") == 1


def test_as_machine_code():
    """One program of several steps."""
    loss = lambda a: L.slogdet(positive(a))[1] + fw.sum(fw.abs(F.rfft(a)) ** 2)
    with fw.target("cpu"):
        compiled = fw.grad(loss)(A)
    np.testing.assert_allclose(compiled, fw.grad(loss)(A), rtol=1e-10)
