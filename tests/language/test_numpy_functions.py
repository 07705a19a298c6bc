"""NumPy's functions on arrays of ours: traced they are ours, and give what NumPy gives."""

import pickle

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.numpy_protocol import FORMS
from tests.language.agreement import same
from tests.numerics.cases import CASES

M = np.array([[3.0, -1.0, 2.0], [0.5, 3.0, -4.0]])
V = np.array([3, 1, 2, 3, 0])
S = np.array([[4.0, 1.0], [1.0, 3.0]])

# what NumPy's function is called with: a matrix m, a vector v, a symmetric matrix s
CALLS = {
    "sum": lambda m, v, s: (np.sum(m), np.sum(m, axis=1), np.sum(v, 0, None, None, True)),
    "prod": lambda m, v, s: np.prod(m, axis=0, keepdims=True),
    "mean": lambda m, v, s: (np.mean(m), np.mean(a=m, axis=1)),
    "std": lambda m, v, s: np.std(m, axis=0, ddof=1),
    "var": lambda m, v, s: np.var(m),
    "any": lambda m, v, s: np.any(m > 2, axis=1),
    "all": lambda m, v, s: np.all(m > 2),
    "argmax": lambda m, v, s: np.argmax(m, axis=1),
    "argmin": lambda m, v, s: np.argmin(v),
    "count_nonzero": lambda m, v, s: np.count_nonzero(v),
    "max": lambda m, v, s: np.max(m, axis=0),
    "min": lambda m, v, s: np.min(m, initial=-9.0),
    "amax": lambda m, v, s: np.amax(m),
    "amin": lambda m, v, s: np.amin(v, axis=0),
    "cumsum": lambda m, v, s: (np.cumsum(m), np.cumsum(m, axis=1)),
    "cumprod": lambda m, v, s: np.cumprod(m),
    "cumulative_sum": lambda m, v, s: np.cumulative_sum(m, axis=0, include_initial=True),
    "cumulative_prod": lambda m, v, s: np.cumulative_prod(v),
    "diff": lambda m, v, s: np.diff(m),
    "sort": lambda m, v, s: (np.sort(v), np.sort(m), np.sort(m, axis=0), np.sort(m, axis=None)),
    "argsort": lambda m, v, s: np.argsort(v, kind="stable"),
    "searchsorted": lambda m, v, s: np.searchsorted(np.sort(v), v, side="right"),
    "nonzero": lambda m, v, s: np.nonzero(v),
    "flatnonzero": lambda m, v, s: np.flatnonzero(m > 2),
    "gcd": lambda m, v, s: np.gcd(v, 6),
    "lcm": lambda m, v, s: np.lcm(v, 6),
    "isin": lambda m, v, s: np.isin(v, [3, 0], invert=True),
    "unique": lambda m, v, s: np.unique(v),
    "unique_values": lambda m, v, s: np.sort(np.unique_values(v)),
    "unique_all": lambda m, v, s: tuple(np.unique_all(v)),
    "unique_counts": lambda m, v, s: tuple(np.unique_counts(v)),
    "unique_inverse": lambda m, v, s: tuple(np.unique_inverse(v)),
    "where": lambda m, v, s: (np.where(m > 0, m, 0.0), *np.where(v > 1)),
    "clip": lambda m, v, s: (np.clip(m, 0, 2), np.clip(v, min=1), np.clip(m, a_min=None, a_max=1)),
    "round": lambda m, v, s: (np.round(m), np.round(m / 3, 2)),
    "take": lambda m, v, s: (np.take(m, v), np.take(m, np.array([1, 0]), axis=1)),
    "take_along_axis": lambda m, v, s: np.take_along_axis(m, np.argsort(m, kind="stable"), 1),
    "concatenate": lambda m, v, s: (
        np.concatenate([v, v]), np.concatenate((m, m), axis=1), np.concatenate((m, s), axis=None)
    ),
    "stack": lambda m, v, s: np.stack([v, v], axis=1),
    "unstack": lambda m, v, s: np.unstack(np.stack([v, v])),
    "vstack": lambda m, v, s: np.vstack([v, v]),
    "reshape": lambda m, v, s: (np.reshape(m, (3, 2)), np.reshape(m, -1)),
    "ravel": lambda m, v, s: np.ravel(m),
    "transpose": lambda m, v, s: np.transpose(m),
    "matrix_transpose": lambda m, v, s: np.matrix_transpose(m),
    "swapaxes": lambda m, v, s: np.swapaxes(m, 0, 1),
    "moveaxis": lambda m, v, s: np.moveaxis(m, 0, 1),
    "expand_dims": lambda m, v, s: np.expand_dims(v, 1),
    "squeeze": lambda m, v, s: np.squeeze(np.expand_dims(v, 0), axis=0),
    "broadcast_to": lambda m, v, s: np.broadcast_to(v, (2, 5)),
    "broadcast_arrays": lambda m, v, s: tuple(np.broadcast_arrays(s, np.expand_dims(s, 0))),
    "meshgrid": lambda m, v, s: tuple(np.meshgrid(v, v, indexing="ij")),
    "flip": lambda m, v, s: (np.flip(v), np.flip(m, axis=1)),
    "flipud": lambda m, v, s: np.flipud(m),
    "fliplr": lambda m, v, s: np.fliplr(m),
    "roll": lambda m, v, s: np.roll(v, 2),
    "repeat": lambda m, v, s: np.repeat(v, 2),
    "tile": lambda m, v, s: np.tile(v, 2),
    "zeros_like": lambda m, v, s: np.zeros_like(m),
    "ones_like": lambda m, v, s: np.ones_like(v, dtype=np.float32),
    "empty_like": lambda m, v, s: np.empty_like(m) * 0,
    "full_like": lambda m, v, s: np.full_like(v, 7),
    "tril": lambda m, v, s: np.tril(m),
    "triu": lambda m, v, s: np.triu(m, k=1),
    "dot": lambda m, v, s: (np.dot(s, m), np.dot(v, v)),
    "outer": lambda m, v, s: (np.outer(v, v), np.outer(m, v)),
    "tensordot": lambda m, v, s: np.tensordot(s, m, axes=1),
    "trace": lambda m, v, s: (np.trace(s), np.trace(np.stack([m, m + 1]))),
    "diagonal": lambda m, v, s: (np.diagonal(s), np.diagonal(np.stack([m, m + 1]), 1, 0, 2)),
    "cross": lambda m, v, s: np.cross(m, m + 1.0),
    "real": lambda m, v, s: np.real(m),
    "imag": lambda m, v, s: np.imag(s + 1j * s),
    "copy": lambda m, v, s: np.copy(m),
    "shape": lambda m, v, s: np.zeros_like(m) + np.shape(m)[0],
    "ndim": lambda m, v, s: m + np.ndim(m),
    "linalg.cholesky": lambda m, v, s: np.linalg.cholesky(s),
    "linalg.det": lambda m, v, s: np.linalg.det(s),
    "linalg.inv": lambda m, v, s: np.linalg.inv(s),
    "linalg.solve": lambda m, v, s: np.linalg.solve(s, m),
    "linalg.qr": lambda m, v, s: np.abs(np.linalg.qr(s)[1]),
    "linalg.eigh": lambda m, v, s: np.linalg.eigh(s)[0],
    "linalg.eigvalsh": lambda m, v, s: np.linalg.eigvalsh(s),
    "linalg.matrix_power": lambda m, v, s: np.linalg.matrix_power(s, 3),
    "linalg.slogdet": lambda m, v, s: tuple(np.linalg.slogdet(s)),
    "fft.fft": lambda m, v, s: np.abs(np.fft.fft(v)),
    "fft.ifft": lambda m, v, s: np.abs(np.fft.ifft(v, norm="ortho")),
    "fft.rfft": lambda m, v, s: np.abs(np.fft.rfft(v)),
    "fft.irfft": lambda m, v, s: np.fft.irfft(v, n=6),
    "fft.hfft": lambda m, v, s: np.fft.hfft(v),
    "fft.ihfft": lambda m, v, s: np.abs(np.fft.ihfft(v)),
    "fft.fftn": lambda m, v, s: np.abs(np.fft.fftn(m, s=[4, 2], axes=(0, 1))),
    "fft.ifftn": lambda m, v, s: np.abs(np.fft.ifftn(m, axes=[1])),
    "fft.fft2": lambda m, v, s: np.abs(np.fft.fft2(m)),
    "fft.ifft2": lambda m, v, s: np.abs(np.fft.ifft2(m, norm="ortho")),
    "fft.rfftn": lambda m, v, s: np.abs(np.fft.rfftn(m)),
    "fft.irfftn": lambda m, v, s: np.fft.irfftn(m),
    "fft.fftshift": lambda m, v, s: np.fft.fftshift(m, axes=1),
    "fft.ifftshift": lambda m, v, s: np.fft.ifftshift(v),
    "linalg.cross": lambda m, v, s: np.linalg.cross(m, m + 1.0),
    "linalg.diagonal": lambda m, v, s: np.linalg.diagonal(s, offset=1),
    "linalg.trace": lambda m, v, s: np.linalg.trace(np.stack([s, s + 1])),
    "linalg.outer": lambda m, v, s: np.linalg.outer(v, v),
    "linalg.matmul": lambda m, v, s: np.linalg.matmul(s, m),
    "linalg.tensordot": lambda m, v, s: np.linalg.tensordot(s, m, axes=1),
    "linalg.vecdot": lambda m, v, s: np.linalg.vecdot(m, m),
    "linalg.matrix_transpose": lambda m, v, s: np.linalg.matrix_transpose(m),
    "linalg.matrix_norm": lambda m, v, s: np.linalg.matrix_norm(m, ord=1),
    "linalg.vector_norm": lambda m, v, s: np.linalg.vector_norm(m, axis=1),
    "linalg.norm": lambda m, v, s: np.linalg.norm(m, 1, axis=(0, 1)),
    "linalg.lstsq": lambda m, v, s: np.linalg.lstsq(s, m, rcond=None)[0],
    "linalg.matrix_rank": lambda m, v, s: np.linalg.matrix_rank(s),
    "linalg.pinv": lambda m, v, s: np.linalg.pinv(s),
    "linalg.svd": lambda m, v, s: np.linalg.svd(s)[1],
    "linalg.svdvals": lambda m, v, s: np.linalg.svdvals(s),
    "linalg.eig": lambda m, v, s: np.sort(np.real(np.linalg.eig(s)[0])),
    "linalg.eigvals": lambda m, v, s: np.sort(np.real(np.linalg.eigvals(s))),
}
SLOW = ("linalg", "fft")
QUICK = [name for name in CALLS if not name.startswith(SLOW)]


def test_every_function_is_called():
    """Of those that have a counterpart, here or in tests/numerics."""
    assert CALLS.keys() | CASES.keys() == FORMS.keys()


def check(names, target="cpu"):
    """All the calls in one compiled function."""
    calls = [CALLS[name] for name in names]
    found = fw.jit(lambda *args: [call(*args) for call in calls], target=target)(M, V, S)
    for name, one, call in zip(names, found, calls, strict=True):
        expected = call(M, V, S)
        parts = one if isinstance(one, tuple) else (one,)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        assert len(parts) == len(wanted), name
        for part, want in zip(parts, wanted, strict=True):
            assert isinstance(part, fw.Array), name
            values = np.asarray(part)
            assert (values.dtype, values.shape) == (np.asarray(want).dtype, np.shape(want)), name
            np.testing.assert_allclose(values, want, rtol=1e-12, atol=1e-12, err_msg=name)


def test_in_a_compiled_function():
    """The same values, shapes and dtypes as NumPy's."""
    check(QUICK, "interp")


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", *SLOW])
def test_in_a_compiled_function_on_every_target(target, prefix):
    """Those of linear algebra as well."""
    check([name for name in CALLS if name.startswith(prefix)] if prefix else QUICK, target)


def test_outside_of_a_compiled_function():
    """They give arrays of ours, of arrays of ours and NumPy's together."""
    xs = fw.asarray(V)

    same(np.where(xs > 1, xs, 0), np.where(V > 1, V, 0))
    same(np.concatenate([xs, V]), np.concatenate([V, V]))
    same(np.sort(xs), np.sort(V))
    same(np.clip(xs, 1, 2), np.clip(V, 1, 2))
    rows = fw.ragged([[3, 1], [], [2]])
    assert np.where(rows > 1, rows, 0).tolist() == [[3, 0], [], [2]]
    assert np.sum(rows, axis=1).tolist() == [4, 0, 2]


def test_what_has_no_counterpart():
    """Is NumPy's own on values that are there, and an error where they are not."""
    xs = fw.asarray(V)

    assert np.partition(xs, 2)[2] == np.median(V)
    assert np.array_equal(xs, V)
    assert np.histogram(xs, bins=2)[0].tolist() == [2, 3]
    assert np.sort(fw.asarray([3 + 1j, 1]), order=None).tolist() == [1, 3 + 1j]
    out = np.zeros(5, np.int64)
    assert np.cumsum(xs, out=out) is out
    assert out.tolist() == np.cumsum(V).tolist()
    for call, message in (
        (lambda x: np.partition(x, 2), r"numpy\.partition has no counterpart that can be traced"),
        (lambda x: np.cumsum(x, out=out), r"numpy\.cumsum with these arguments"),
        (lambda x: np.partition(x + 1j, 2), r"numpy\.partition"),
    ):
        with pytest.raises(fw.NotTraceableError, match=message):
            fw.jit(call)(V)
    with pytest.raises(fw.ArgumentError, match="no counterpart for a Ragged"):
        np.partition(fw.ragged([[1]]), 0)
    kept = []
    fw.jit(lambda x: (kept.append(x), x)[1])(V)
    with pytest.raises(fw.EscapedArrayError):
        np.partition(kept[0], 0)


V9 = np.arange(9.0)
LACKING = {
    "a mode": lambda x: np.pad(x, 2, mode="mean"),
    "a function for a mode": lambda x: np.pad(x, 2, mode=lambda *_: None),
    "a parameter of a mode": lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd"),
    "a method": lambda x: np.quantile(x, 0.3, method="inverted_cdf"),
    "another method": lambda x: np.nanpercentile(x, 30, method="averaged_inverted_cdf"),
    "a constant that does not fit": lambda x: np.pad(x.astype(int), 1, constant_values=2.5),
    "a mode of a product": lambda x: np.convolve(x, [1, 2], 1),
    "no axis": lambda x: np.squeeze(x[None]),
    "a mode of factors": lambda x: np.linalg.qr(np.reshape(x, (3, 3)), mode="raw")[0],
    "an axis of sets": lambda x: np.unique(np.reshape(x, (3, 3)), axis=0),
    "weights of observations": lambda x: np.cov(x, fweights=np.arange(9)),
    "a result in place": lambda x: np.median(x, out=np.zeros(())),
    "a flag": lambda x: np.average(x, returned=True),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_ours_lacks_is_numpys_own(name):
    """Whatever the argument; not in a trace, where ours says what is wrong."""
    with fw.target("interp"):
        found = LACKING[name](fw.asarray(V9))
        with pytest.raises(fw.UserError):
            fw.jit(LACKING[name])(V9)
    for ours, theirs in zip(*map(np.atleast_1d, (found, LACKING[name](V9))), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("f", [np.add, np.mean, np.linalg.det, np.fft.fft])
def test_jitted_functions_of_numpy_are_pickled(f):
    """Whatever they are there: universal functions, and functions of other modules."""
    args = (S,) * (2 if f is np.add else 1)
    again = pickle.loads(pickle.dumps(fw.jit(f, target="interp")))

    np.testing.assert_allclose(np.asarray(again(*args)), f(*args), rtol=1e-12)


def test_what_numpy_refuses_as_well():
    """The error is ours, which names the line."""
    with fw.target("interp"), pytest.raises(fw.ArgumentError, match="is not a mode of pad"):
        np.pad(fw.asarray(V9), 2, mode="nothing")
    with fw.target("interp"), pytest.raises(fw.IndexOutOfBounds):
        np.take(fw.asarray(V9), [99])


def test_another_library_may_know_what_to_do():
    """An array of ours among the arguments: its class is asked."""

    class Theirs:
        def __array_function__(self, func, types, args, kwargs):
            return "theirs"

    assert np.concatenate([fw.iota(2), Theirs()]) == "theirs"


N = np.arange(12.0).reshape(3, 4) % 5
K = N > 1
BY_POSITION = {
    "sum": lambda xp, m: xp.sum(m, 0, None, None, True),
    "sum from 2": lambda xp, m: xp.sum(m, 0, None, None, True, 2),
    "max": lambda xp, m: xp.max(m, 0, None, True),
    "any": lambda xp, m: xp.any(m, 0, None, True),
    "mean": lambda xp, m: xp.mean(m, 0, None, None, True),
    "std": lambda xp, m: xp.std(m, 0, None, None, 1, True),
    "eye": lambda xp, m: xp.eye(3, 4, 1),
    "tensordot": lambda xp, m: xp.tensordot(m, m.T, 1),
    "linspace": lambda xp, m: xp.linspace(0, 1, 5, False),
    "diff": lambda xp, m: xp.diff(m, 2, 0),
    "std where": lambda xp, m: xp.std(m, 0, where=K),
    "var where": lambda xp, m: xp.var(m, where=K, ddof=1),
    "take wrap": lambda xp, m: xp.take(m, np.array([5, -9]), 1, mode="wrap"),
    "take clip": lambda xp, m: xp.take(m, np.array([5, -9]), 1, mode="clip"),
    "clip": lambda xp, m: xp.clip(m, a_min=1, a_max=2),
    "reshape": lambda xp, m: xp.reshape(m, (2, -1), order="F"),
    "reshape of complex numbers": lambda xp, m: xp.reshape(m * 1j, (2, -1), order="F"),
    "methods": lambda xp, m: m.reshape(2, 6, order="F") + m.T.repeat(2, axis=1)[0, 0],
    "more methods": lambda xp, m: m.swapaxes(0, 1) + m.trace() + m[0].searchsorted(0.5),
    "nonzero": lambda xp, m: m.nonzero()[1],
}


@pytest.mark.parametrize("name", BY_POSITION)
def test_arguments_in_numpys_order(target, name):
    """Those that NumPy takes by position or by name, functions and methods."""
    f = BY_POSITION[name]

    same(f(fw, fw.asarray(N)), f(np, N))
    same(fw.jit(lambda m: f(fw, m))(N), f(np, N))


def test_libraries_are_named_as_users_know_them():
    """Not by the file that has them."""
    for library in ("linalg", "fft"):
        with pytest.raises(AttributeError, match=f"module 'flatweave.{library}' has no"):
            getattr(fw, library).unknown
