"""What LAPACK and the transforms of SciPy and NumPy compute: their bits, eager, jitted, mapped."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.call import eager
from flatweave.frontend.standard import library, small_matrices, small_spectra

DRAW = np.random.default_rng(3)
STACK = DRAW.normal(size=(4, 3, 3))
HERMITIAN = STACK @ np.swapaxes(STACK, 1, 2) + np.eye(3)
LINE = DRAW.normal(size=(3, 12))
OF_MATRICES = {
    "inv": STACK, "det": STACK, "slogdet": STACK, "cholesky": HERMITIAN, "qr": STACK,
    "eigh": HERMITIAN, "eigvalsh": HERMITIAN, "svd": STACK, "svdvals": STACK, "eig": STACK,
    "eigvals": STACK, "matrix_rank": STACK, "pinv": STACK,
}  # fmt: skip
OF_LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


def parts(found):
    """The arrays of a result."""
    return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]


def same(found, wanted):
    """Equal to the last bit."""
    for mine, theirs in zip(parts(found), parts(wanted), strict=True):
        assert mine.tobytes() == theirs.astype(mine.dtype).tobytes()
        assert mine.shape == theirs.shape


@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices(name):
    """At once, of a view, in a program, mapped, and in chunks."""
    f, x = getattr(fw.linalg, name), OF_MATRICES[name]
    wanted = parts(f(x))
    if name not in ("matrix_rank", "pinv"):
        same(tuple(wanted), getattr(np.linalg, name)(x))
    wide = np.zeros((4, 3, 6))
    wide[..., ::2] = x
    for found in (
        f(wide[..., ::2]), fw.jit(f)(x), fw.map(f, x), fw.jit(f)(fw.Chunked([x[:1], x[1:]])),
        fw.jit(f, target="interp")(x),
    ):  # fmt: skip
        same(found, tuple(wanted))


@pytest.mark.parametrize("name", OF_LINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lines(name, dtype):
    """The same of transforms; floats of 32 bits stay such."""
    f, x = getattr(fw.fft, name), LINE.astype(dtype)
    wanted = f(x)
    assert np.asarray(wanted).dtype.itemsize == dtype().itemsize * (
        1 + (np.asarray(wanted).dtype.kind == "c")
    )
    np.testing.assert_allclose(wanted, getattr(np.fft, name)(x), atol=1e-5)
    wide = np.zeros((3, 24), dtype)
    wide[:, ::2] = x
    for found in (
        f(wide[:, ::2]), fw.jit(f)(x), fw.map(f, x), fw.jit(f)(fw.Chunked([x[:1], x[1:]])),
    ):  # fmt: skip
        same(found, wanted)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name):
    """At once, in a program and mapped, where they are counted from the last one."""
    x, f = DRAW.normal(size=(2, 4, 3, 5)), getattr(fw.fft, name)
    for axes in (None, (0, 2), (-1, 1)):
        wanted = getattr(np.fft, name)(x, axes=axes)
        for found in (f(x, axes=axes), fw.jit(lambda x, a=axes: f(x, axes=a))(x)):
            np.testing.assert_allclose(found, wanted, atol=1e-12)
    wanted = np.stack([getattr(np.fft, name)(each, axes=(0, 2)) for each in x])
    np.testing.assert_allclose(fw.map(lambda each: f(each, axes=(0, 2)), x), wanted, atol=1e-12)


def test_nothing_is_traced_outside_of_programs(monkeypatch):
    """Calls with arrays that are here go straight to the library."""
    monkeypatch.setattr(eager, "_entry", None)
    fw.linalg.solve([[2.0, 0], [0, 4]], [1.0, 2.0])
    fw.linalg.matrix_power(STACK, -2)
    fw.fft.fft([1.0, 2.0], n=4, norm="ortho")
    fw.fft.irfftn(LINE, s=(3, 4))


def test_rows_of_different_lengths():
    """One after the other."""
    rows = fw.ragged([[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]])
    found = fw.map(lambda r: fw.abs(fw.fft.fft(r)), rows)
    for row, mine in zip([[1.0, 2, 3], [4.0], [5.0, 6]], found, strict=True):
        np.testing.assert_allclose(mine, abs(np.fft.fft(row)))
    norms = fw.map(lambda r: fw.linalg.det(r[:, None] * r[None, :] + fw.eye(r.shape[0])), rows)
    np.testing.assert_allclose(norms, [15, 17, 62])


@pytest.mark.parametrize("way", ["at once", "jitted", "mapped", "interp"])
def test_what_lapack_refuses(way):
    """Singular and indefinite matrices, with the line of the call."""

    def run(f, x):
        if way == "mapped":
            return fw.map(f, x[None])
        return f(x) if way == "at once" else fw.jit(f, target="cpu" if way == "jitted" else way)(x)

    for f, x, match in (
        (lambda a: fw.linalg.solve(a, np.ones(2)), np.ones((2, 2)), "solve of a singular matrix"),
        (fw.linalg.inv, np.zeros((2, 2)), "inv of a singular matrix"),
        (fw.linalg.cholesky, -np.eye(2), "not positive definite"),
        (fw.linalg.eigvals, np.full((2, 2), np.nan), "eigvals fails"),
    ):
        with pytest.raises(fw.ArgumentError, match=match) as caught:
            run(f, x)
        assert "test_libraries.py" in str(caught.value.where)


def test_other_dtypes():
    """Integers and bools become f64, floats of 16 bits f32; two dtypes are promoted."""
    whole = np.array([[2, 1], [1, 3]])
    for f in (fw.linalg.inv, fw.jit(fw.linalg.inv)):
        assert f(whole).dtype == np.float64
        assert f(whole.astype(np.float16)).dtype == np.float32
    for f in (fw.linalg.solve, fw.jit(fw.linalg.solve)):
        assert f(whole.astype("f"), whole.astype("D")).dtype == np.complex128
        assert f(whole.astype("F"), whole.astype("f")).dtype == np.complex64


def test_a_bound_for_each_matrix():
    """`rtol` may be an array, also one that is computed."""
    x, rtol = np.array([[[1.0, 0], [0, 0.1]]] * 2), np.array([0.5, 0.01])
    for f in (fw.linalg.matrix_rank, fw.jit(lambda x, rtol: fw.linalg.matrix_rank(x, rtol=rtol))):
        found = f(x, rtol=rtol) if f is fw.linalg.matrix_rank else f(x, rtol)
        assert np.asarray(found).tolist() == [1, 2]


def test_without_scipy(monkeypatch):
    """NumPy computes the transforms."""
    monkeypatch.setattr(library, "_library", lambda: (np.fft, "NumPy's transforms"))
    same(fw.fft.rfft(LINE), np.fft.rfft(LINE))
    f = fw.jit(lambda x: fw.fft.irfft(x, n=7, norm="forward"))
    same(f(LINE), np.fft.irfft(LINE, n=7, norm="forward"))


def test_notes_mark_steps_of_libraries():
    """And what they are given is stored for them."""
    f = fw.jit(lambda x: fw.linalg.inv(x * 2) + 1)
    notes = "\n".join(f.stages(np.eye(3)).notes)
    assert ": inv: it is called on the host: a step of NumPy's LAPACK, whose bits" in notes
    assert ": inv: " in str(fw.explain(f, np.eye(3)))


def small_stack(n, dtype, count=10_000):
    """Matrices that need exchanges of rows, one of them with a 0 in its corner."""
    stack = np.random.default_rng(n).normal(size=(count // 2, 2, n, n)).astype(dtype)
    stack[0, 1, 0, 0] = 0 if n > 1 else 1
    return stack


@pytest.mark.parametrize("n, dtype", [(1, "d"), (2, "f"), (3, "d")])
def test_stacks_of_small_matrices(n, dtype):
    """By a program, with a matrix in each lane; a view of them as well."""
    a = small_stack(n, dtype)
    b = small_stack(n + 4, dtype)[..., :n, :2]
    near = {"rtol": 2e-2 if dtype == "f" else 1e-7, "atol": 1e-3 if dtype == "f" else 1e-9}
    kept = np.abs(np.linalg.det(a)) > 1e-2
    for view in (a, np.ascontiguousarray(np.swapaxes(a, 0, 1)).swapaxes(0, 1)):
        assert small_matrices.are_small(view)
        np.testing.assert_allclose(fw.linalg.det(view), np.linalg.det(a), **near)
        found = np.asarray(fw.linalg.inv(view))
        assert (found.dtype, found.shape) == (a.dtype, a.shape)
        np.testing.assert_allclose(found[kept], np.linalg.inv(a)[kept], **near)
    found = np.asarray(fw.linalg.solve(a, b))
    np.testing.assert_allclose(found[kept], np.linalg.solve(a, b)[kept], **near)
    positive = a @ np.swapaxes(a, -1, -2) + np.eye(n, dtype=dtype)
    for upper in (False, True):
        found = fw.linalg.cholesky(positive, upper=upper)
        np.testing.assert_allclose(found, np.linalg.cholesky(positive, upper=upper), **near)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_programs_of_small_matrices(n):
    """Steps that are unrolled, and loops, with exchanges of rows."""
    a, flat = of_program(n, n)
    b = a[..., : n // 2 + 1]
    near = {"rtol": 1e-9, "atol": 1e-9}
    found = {
        "det": by_program(small_matrices.determinants, flat, n),
        "inv": by_program(small_matrices.inverses, flat, n),
        "solve": by_program(small_matrices.solutions, flat, b.reshape(-1), n, n // 2 + 1),
    }
    np.testing.assert_allclose(found["det"], np.linalg.det(a), **near)
    np.testing.assert_allclose(found["inv"].reshape(a.shape), np.linalg.inv(a), **near)
    np.testing.assert_allclose(found["solve"].reshape(b.shape), np.linalg.solve(a, b), **near)
    positive = a @ np.swapaxes(a, -1, -2) + np.eye(n)
    found = by_program(small_matrices.factors, positive.reshape(-1), n)
    np.testing.assert_allclose(found.reshape(a.shape), np.linalg.cholesky(positive), **near)


@pytest.mark.parametrize("n", [2, 4])
def test_programs_of_small_complex_matrices(n):
    """The same of complex numbers."""
    a = of_program(n, n)[0] + 1j * of_program(n, n + 1)[0]
    flat = a.reshape(-1)
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(
        by_program(small_matrices.determinants, flat, n), np.linalg.det(a), **near
    )
    found = by_program(small_matrices.inverses, flat, n)
    np.testing.assert_allclose(found.reshape(a.shape), np.linalg.inv(a), **near)
    positive = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(n)
    found = by_program(small_matrices.factors, positive.reshape(-1), n, upper=True)
    wanted = np.conj(np.swapaxes(np.linalg.cholesky(positive), -1, -2))
    np.testing.assert_allclose(found.reshape(a.shape), wanted, **near)


@pytest.mark.parametrize("n", [1, 5, 8])
def test_programs_of_small_spectra(n):
    """Of an even and an odd number of rows, zeros and repeated eigenvalues among them."""
    a, _ = of_program(n, n)
    a[1], a[2], a[3] = 0, np.eye(n), np.ones((n, n))
    one = np.broadcast_to(np.eye(n), a.shape)
    near = {"rtol": 0, "atol": 1e-12}
    good, q, r = by_program(small_spectra.reflections, a.reshape(-1), n)
    assert good
    np.testing.assert_allclose(r.reshape(a.shape), np.linalg.qr(a).R, **near)
    np.testing.assert_allclose((q.reshape(a.shape) @ r.reshape(a.shape)), a, **near)
    a = a + np.swapaxes(a, -1, -2)
    good, values, vectors = by_program(small_spectra.eigensystems, a.reshape(-1), n)
    assert good
    vectors = vectors.reshape(a.shape)
    np.testing.assert_allclose(values.reshape(a.shape[:2]), np.linalg.eigvalsh(a), **near)
    np.testing.assert_allclose(vectors @ np.swapaxes(vectors, -1, -2), one, **near)
    np.testing.assert_allclose(vectors * values.reshape(-1, 1, n), a @ vectors, **near)


def of_program(n, seed):
    """A few matrices, one with a 0 in its corner, and all their elements."""
    a = np.random.default_rng(seed).normal(size=(6, n, n)) + np.eye(n)
    a[5, 0, 0] = 0 if n > 1 else 1
    return a, a.reshape(-1)


def by_program(compute, *args, **options):
    """What a program of small matrices gives in the interpreter."""
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    program = fw.jit(lambda *xs: compute(*xs, *args[len(xs) :], **options), target="interp")
    found = program(*arrays)
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)


def test_stacks_of_small_complex_matrices():
    """The same, with the conjugate factor."""
    a = small_stack(2, "d") + 1j * small_stack(3, "d")[..., :2, :2]
    near = {"rtol": 1e-7, "atol": 1e-9}
    kept = np.abs(np.linalg.det(a)) > 1e-2
    np.testing.assert_allclose(fw.linalg.det(a), np.linalg.det(a), **near)
    np.testing.assert_allclose(np.asarray(fw.linalg.inv(a))[kept], np.linalg.inv(a)[kept], **near)
    found = np.asarray(fw.linalg.solve(a, a[..., :1]))
    np.testing.assert_allclose(found[kept], np.linalg.solve(a, a[..., :1])[kept], **near)
    positive = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(2)
    for upper in (False, True):
        found = fw.linalg.cholesky(positive, upper=upper)
        np.testing.assert_allclose(found, np.linalg.cholesky(positive, upper=upper), **near)


@pytest.mark.parametrize("n, dtype", [(2, "f"), (3, "d")])
def test_spectra_of_stacks_of_small_matrices(n, dtype):
    """Eigenvalues in order, factors with LAPACK's signs; zeros, ones and identities among them."""
    a = small_stack(n, dtype)
    a[3, 0], a[4, 0], a[5, 0] = 0, 1, np.eye(n)
    a[6, 0] = np.triu(a[6, 0])
    near = {"rtol": 0, "atol": 1e-4 if dtype == "f" else 1e-12}
    q, r = map(np.asarray, fw.linalg.qr(a))
    one = np.broadcast_to(np.eye(n), a.shape)
    np.testing.assert_allclose(q @ r, a, **near)
    np.testing.assert_allclose(q @ np.swapaxes(q, -1, -2), one, **near)
    np.testing.assert_allclose(r, np.linalg.qr(a)[1], **near)
    a = a + np.swapaxes(a, -1, -2)
    values, vectors = map(np.asarray, fw.linalg.eigh(a))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), **near)
    np.testing.assert_allclose(fw.linalg.eigvalsh(a), values, **near)
    np.testing.assert_allclose(vectors @ np.swapaxes(vectors, -1, -2), one, **near)
    np.testing.assert_allclose(vectors * values[..., None, :], a @ vectors, **near)


def test_spectra_that_lapack_computes():
    """Of a stack with NaN, or with elements whose squares are 0 or infinite."""
    a = small_stack(2, "d")
    for value in (1e-170, 1e200):
        a[2, 1] = [[1, value], [value, 2 * value]]
        same(tuple(fw.linalg.qr(a)), tuple(np.linalg.qr(a)))
    a[2, 1] = np.nan
    for name in ("eigh", "qr"):
        same(tuple(getattr(fw.linalg, name)(a)), tuple(getattr(np.linalg, name)(a)))


def test_one_small_matrix_that_is_refused():
    """Of many; determinants of singular matrices are 0, and NaN stays where it is."""
    a = small_stack(3, "d")
    a[7, 1, :, 1] = 0
    b = a[..., :1]
    for f, match in (
        (lambda: fw.linalg.inv(a), "inv of a singular matrix"),
        (lambda: fw.linalg.solve(a, b), "solve of a singular matrix"),
        (lambda: fw.linalg.cholesky(a), "not positive definite"),
    ):
        with pytest.raises(fw.ArgumentError, match=match) as caught:
            f()
        assert "test_libraries.py" in str(caught.value.where)
    a[3, 0, 2, 2] = np.nan
    found = np.asarray(fw.linalg.det(a))
    assert found[7, 1] == 0
    assert np.isnan(found).sum() == 1
