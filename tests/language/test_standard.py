"""The functions of the array API standard that are compositions: as NumPy's of the same name."""

import numpy as np
import pytest

import flatweave as fw

NX = np
M = np.arange(12.0).reshape(3, 4) % 7 - 2
V = np.array([3.0, 1.0, 2.0, 1.0, 3.0, -4.0])
K = np.array([4, 2, 4, 4, 0, 2, 9])
B = np.array([True, False, True])
CUBE = np.arange(24.0).reshape(2, 3, 4)
EMPTY = np.zeros(0)

CASES = {
    "zeros": (lambda xp, a: xp.zeros((2, 3)), None),
    "zeros of i32": (lambda xp, a: xp.zeros(4, dtype=np.int32), None),
    "ones": (lambda xp, a: xp.ones((2, 0), dtype=np.float32), None),
    "zeros_like": (lambda xp, a: xp.zeros_like(a), K),
    "ones_like": (lambda xp, a: xp.ones_like(a, dtype=np.uint8), M),
    "ones_like of bools": (lambda xp, a: xp.ones_like(a), B),
    "full_like": (lambda xp, a: xp.full_like(a, 7), M),
    "arange": (lambda xp, a: xp.arange(5), None),
    "arange with a step": (lambda xp, a: xp.arange(2, 20, 3), None),
    "arange down": (lambda xp, a: xp.arange(5, -5, -2), None),
    "arange of nothing": (lambda xp, a: xp.arange(5, 2), None),
    "arange of floats": (lambda xp, a: xp.arange(0.0, 1.0, 0.25), None),
    "linspace": (lambda xp, a: xp.linspace(0.0, 1.0, 11), None),
    "linspace of one": (lambda xp, a: xp.linspace(2.0, 3.0, 1), None),
    "linspace of none": (lambda xp, a: xp.linspace(2.0, 3.0, 0), None),
    "linspace without end": (lambda xp, a: xp.linspace(0.0, 8.0, 4, endpoint=False), None),
    "eye": (lambda xp, a: xp.eye(3), None),
    "eye of bools": (lambda xp, a: xp.eye(3, dtype=bool), None),
    "eye aside": (lambda xp, a: xp.eye(3, 5, k=1, dtype=np.int64), None),
    "tril": (lambda xp, a: xp.tril(a), M),
    "triu": (lambda xp, a: xp.triu(a, k=1), M),
    "tril of a cube": (lambda xp, a: xp.tril(a, k=-1), CUBE),
    "meshgrid": (lambda xp, a: tuple(xp.meshgrid(a, a[:2])), V),
    "meshgrid ij": (lambda xp, a: tuple(xp.meshgrid(a, a[:2], a[:3], indexing="ij")), V),
    "stack": (lambda xp, a: xp.stack([a, a + 1, a]), V),
    "stack behind": (lambda xp, a: xp.stack([a, a + 1], axis=-1), M),
    "unstack": (lambda xp, a: tuple(xp.unstack(xp.reshape(a, (3, 2)))), V),
    "squeeze": (lambda xp, a: xp.squeeze(xp.reshape(a, (1, 6, 1)), axis=(0, 2)), V),
    "moveaxis": (lambda xp, a: xp.moveaxis(a, 0, -1), CUBE),
    "moveaxis of two": (lambda xp, a: xp.moveaxis(a, (0, 1), (2, 0)), CUBE),
    "permute_dims": (lambda xp, a: xp.permute_dims(a, (2, 0, 1)), CUBE),
    "matrix_transpose": (lambda xp, a: xp.matrix_transpose(a), CUBE),
    "flip": (lambda xp, a: xp.flip(a), CUBE),
    "flip one": (lambda xp, a: xp.flip(a, axis=1), CUBE),
    "roll": (lambda xp, a: xp.roll(a, 2), V),
    "roll all": (lambda xp, a: xp.roll(a, -5), M),
    "roll along axes": (lambda xp, a: xp.roll(a, (1, -1), axis=(0, 1)), M),
    "repeat": (lambda xp, a: xp.repeat(a, 3), V),
    "repeat each": (lambda xp, a: xp.repeat(a, xp.asarray(np.array([0, 2, 1, 0, 3, 1]))), V),
    "repeat rows": (lambda xp, a: xp.repeat(a, 2, axis=1), M),
    "tile": (lambda xp, a: xp.tile(a, 3), V),
    "tile of a matrix": (lambda xp, a: xp.tile(a, (2, 1, 2)), M),
    "tile none": (lambda xp, a: xp.tile(a, (0, 2)), M),
    "broadcast_to": (lambda xp, a: xp.broadcast_to(a, (4, 6)), V),
    "broadcast_arrays": (lambda xp, a: tuple(xp.broadcast_arrays(a, a[0], a[:, :1])), M),
    "var": (lambda xp, a: xp.var(a), M),
    "var of columns": (lambda xp, a: xp.var(a, axis=0, keepdims=True), M),
    "std": (lambda xp, a: xp.std(a, axis=1), M),
    "std of integers": (lambda xp, a: xp.std(a), K),
    "diff": (lambda xp, a: xp.diff(a), V),
    "diff twice": (lambda xp, a: xp.diff(a, n=2, axis=0), M),
    "diff of bools": (lambda xp, a: xp.diff(a), B),
    "diff with ends": (lambda xp, a: xp.diff(a, prepend=xp.asarray(np.zeros(1))), V),
    "cumulative_sum": (lambda xp, a: xp.cumulative_sum(a), V),
    "cumulative_sum from 0": (lambda xp, a: xp.cumulative_sum(a, axis=1, include_initial=True), M),
    "cumulative_prod": (lambda xp, a: xp.cumulative_prod(a, include_initial=True), K),
    "count_nonzero": (lambda xp, a: xp.count_nonzero(a), K),
    "count_nonzero of rows": (lambda xp, a: xp.count_nonzero(a, axis=1), M),
    "nonzero": (lambda xp, a: xp.nonzero(a), K),
    "isin": (lambda xp, a: xp.isin(a, a[1:3]), K),
    "isin none": (lambda xp, a: xp.isin(a, a[:0], invert=True), V),
    "nonzero of a matrix": (lambda xp, a: xp.nonzero(a), M),
    "nonzero of none": (lambda xp, a: xp.nonzero(a), EMPTY),
    "take": (lambda xp, a: xp.take(a, xp.asarray(np.array([2, 0, 2]))), V),
    "take columns": (lambda xp, a: xp.take(a, xp.asarray(np.array([3, 1])), axis=1), M),
    "take_along_axis": (
        lambda xp, a: xp.take_along_axis(a, xp.argsort(a, axis=1), axis=1), M[:, ::-1] + 0.5),
    "searchsorted": (lambda xp, a: xp.searchsorted(xp.sort(a), a), V),
    "searchsorted right": (lambda xp, a: xp.searchsorted(xp.sort(a), a, side="right"), V),
    "searchsorted in none": (lambda xp, a: xp.searchsorted(a[:0], a), V),
    "searchsorted in one": (lambda xp, a: xp.searchsorted(a[:1], a), V),
    "unique_values": (lambda xp, a: xp.sort(xp.unique_values(a)), K),
    "unique_all": (lambda xp, a: tuple(xp.unique_all(a)), V),
    "unique_all of a matrix": (lambda xp, a: tuple(xp.unique_all(a)), M),
    "unique_all of none": (lambda xp, a: tuple(xp.unique_all(a)), EMPTY),
    "unique_counts": (lambda xp, a: tuple(xp.unique_counts(a)), K),
    "unique_inverse": (lambda xp, a: tuple(xp.unique_inverse(a)), K),
    "matmul": (lambda xp, a: xp.matmul(a, xp.matrix_transpose(a)), M),
    "matmul of vectors": (lambda xp, a: xp.matmul(a, a), V),
    "matmul of stacks": (lambda xp, a: xp.matmul(a, xp.matrix_transpose(a)), CUBE),
    "matmul of a stack and a matrix": (lambda xp, a: xp.matmul(a, xp.reshape(a, (6, 4)).T), CUBE),
    "matmul of a stack and a vector": (lambda xp, a: xp.matmul(a, a[0, 0]), CUBE),
    "matmul of a vector and a stack": (lambda xp, a: xp.matmul(a[0, :, 0], a), CUBE),
    "vecdot": (lambda xp, a: xp.vecdot(a, a + 1), CUBE),
    "tensordot": (lambda xp, a: xp.tensordot(a, xp.permute_dims(a, (1, 2, 0))), CUBE),
    "tensordot of axes": (lambda xp, a: xp.tensordot(a, a, axes=((0, 2), (0, 2))), CUBE),
    "tensordot of none": (lambda xp, a: xp.tensordot(a, a, axes=0), V),
    "logaddexp": (lambda xp, a: xp.logaddexp(a, a[::-1] if xp is NX else xp.flip(a)), V),
    "imag": (lambda xp, a: xp.imag(a), V),
    "nextafter": (lambda xp, a: xp.nextafter(a, a[::-1] if xp is NX else xp.flip(a)),
                  np.array([0.0, -0.0, np.inf, 5e-324, -1.0, np.nan, 1.0, -np.inf])),
    "a mask of rows": (lambda xp, a: a[a[:, :, 0] > 8], CUBE),
    "concat without an axis": (lambda xp, a: xp.concat([a, a[0]], axis=None)
                               if xp is fw else np.concatenate([a, a[0]], axis=None), M),
    "expand_dims of two": (lambda xp, a: xp.expand_dims(a, axis=(0, -1)), M),
    "repeat by one number": (lambda xp, a: xp.repeat(a, xp.asarray(np.array([2]))), V),
    "signbit": (lambda xp, a: xp.signbit(a), np.array([0.0, -0.0, np.nan, -1.0, 2.0])),
}  # fmt: skip


def agree(found, wanted):
    """Equal in structure, shape, dtype, and value to the last bits of sums."""
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            agree(one, other)
        return
    one, other = np.asarray(found), np.asarray(wanted)
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name, target):
    """At once, and in a jitted function."""
    program, given = CASES[name]
    wanted = program(np, given)
    agree(program(fw, None if given is None else fw.asarray(given)), wanted)
    if given is None:
        agree(fw.jit(lambda: program(fw, None))(), wanted)
    else:
        agree(fw.jit(lambda a: program(fw, a))(given), wanted)


def test_infinities():
    """The logarithm of a sum of exponentials has no NaN where none goes in."""
    xs, ys = np.array([np.inf, -np.inf, np.inf, 1e308]), np.array([np.inf, -np.inf, -np.inf, 1e308])

    assert fw.logaddexp(xs, ys).tolist() == np.logaddexp(xs, ys).tolist()


def test_correction():
    """Of a sample, the sum is divided by one less; of one element, NaN."""
    assert float(fw.var(V, correction=1)) == pytest.approx(np.var(V, ddof=1))
    assert float(fw.jit(lambda v: fw.std(v, ddof=1))(V)) == pytest.approx(np.std(V, ddof=1))
    assert np.isnan(fw.std(V[:1], correction=1))


def test_the_namespace():
    """What libraries for any array ask: functions, dtypes, devices, and what can be done."""
    x = fw.zeros((2, 3), device="cpu")
    info = x.__array_namespace__(api_version="2025.12").__array_namespace_info__()

    assert x.__array_namespace__() is fw
    assert (x.device, x.mT.shape, x.to_device("cpu") is x) == ("cpu", (3, 2), True)
    assert (info.devices(), info.default_device()) == (("cpu",), "cpu")
    assert info.dtypes(kind="real floating") == {"float32": fw.f32, "float64": fw.f64}
    assert len(info.dtypes()) == 13 and info.default_dtypes()["indexing"] == fw.i64
    with pytest.raises(fw.ArgumentError, match="memory of the host"):
        fw.ones(3, device="gpu")
    with pytest.raises(fw.ArgumentError, match="no version"):
        x.__array_namespace__(api_version="2019.01")


def test_memory_is_shared():
    """By DLPack, and by asarray unless a copy is asked for; what cannot be shared is refused."""
    values = np.arange(6.0)

    assert np.shares_memory(np.asarray(fw.from_dlpack(values)), values)
    assert np.shares_memory(np.asarray(fw.asarray(values, copy=False)), values)
    assert np.shares_memory(np.asarray(fw.asarray(values)), values)
    assert not np.shares_memory(np.asarray(fw.asarray(values, copy=True)), values)
    array = fw.asarray(values)
    assert fw.asarray(array) is array
    with pytest.raises(BufferError):
        fw.asarray(values[::2], copy=False)
    with pytest.raises(BufferError):
        fw.from_dlpack(values[::2], copy=False)


def test_dtypes():
    """What dtypes hold and become, as NumPy says."""
    assert (fw.float32, fw.int64, fw.bool) == (fw.f32, fw.i64, fw.bool_)
    assert fw.finfo(fw.f32).eps == np.finfo(np.float32).eps
    assert (fw.iinfo(fw.u8).max, fw.iinfo(K).min) == (255, -(2**63))
    assert fw.can_cast(fw.i32, fw.f64) and not fw.can_cast(fw.f64, fw.f32)
    assert fw.result_type(fw.i32, fw.f32) == fw.f64
    assert fw.result_type(np.zeros(2, np.float32), 1.5) == fw.f32
    assert fw.isdtype(fw.u8, ("bool", "unsigned integer")) and not fw.isdtype(fw.u8, "bool")
    with pytest.raises(fw.DTypeError, match="finfo is of floats"):
        fw.finfo(fw.i8)
    with pytest.raises(fw.DTypeError, match="no kind of dtypes"):
        fw.isdtype(fw.i8, "integer")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda: fw.arange(0, 5, 0), "never ends"),
        (lambda: fw.stack([V, M]), "arrays of one shape"),
        (lambda: fw.stack([V, V[1:]]), "extents 6 and 5"),
        (lambda: fw.squeeze(M, axis=0), "one has 3"),
        (lambda: fw.matmul(M, 3.0), "Multiply a number with *"),
        (lambda: fw.tril(V), "takes matrices"),
        (lambda: fw.searchsorted(V, V, side="up"), '"left" or "right"'),
        (lambda: fw.moveaxis(CUBE, (0, 0), (1, 2)), "each once"),
        (lambda: fw.repeat(V, -1), "-1"),
    ],
)  # fmt: skip
def test_refused(program, message):
    """What cannot be done is said, with what to do instead."""
    with pytest.raises(fw.UserError, match=message.replace("*", r"\*")):
        program()
