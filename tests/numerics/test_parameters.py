"""Parameters in each form that NumPy takes: its own integers, lists, tuples, ranges, arrays."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.call import eager

M = np.arange(12.0).reshape(3, 4) ** 1.5
CUBE = np.arange(24.0).reshape(2, 3, 4)
V = np.arange(6)
N = np.int64

CALLS = {
    "arange": lambda xp: (xp.arange(np.prod((2, 3))), xp.arange(np.int8(2), N(9), np.uint8(3)),
                          xp.arange(np.float32(2.5)), xp.arange(np.array(4))),
    "linspace": lambda xp: xp.linspace(0, 1, N(3)),
    "diff": lambda xp: xp.diff(M, n=N(2), axis=N(0)),
    "eye": lambda xp: xp.eye(N(2), N(3), k=N(1)),
    "tril": lambda xp: (xp.tril(M, k=N(-1)), xp.triu(M, k=np.array(1))),
    "zeros": lambda xp: (xp.zeros([2, 3]), xp.zeros(np.array([2, 3])), xp.zeros((N(2), 1))),
    "reshape": lambda xp: (xp.reshape(V, np.array([2, 3])), xp.reshape(V, [N(-1), 2])),
    "broadcast_to": lambda xp: xp.broadcast_to(V, np.array([2, 6])),
    "tile": lambda xp: (xp.tile(V, N(2)), xp.tile(V, [2, 1]), xp.tile(V, np.array([1, 2]))),
    "roll": lambda xp: (xp.roll(M, [1, 2], axis=[0, 1]), xp.roll(M, np.array([1, 1]), axis=(0, 1)),
                        xp.roll(M, (1, 2)), xp.roll(M, (1, 2), axis=1), xp.roll(M, 1, [0, 1])),
    "flip": lambda xp: (xp.flip(M, axis=(0, 1)), xp.flip(M, axis=N(1))),
    "moveaxis": lambda xp: (xp.moveaxis(CUBE, [0, 1], np.array([1, 2])),
                            xp.moveaxis(CUBE, 0, N(2))),
    "squeeze": lambda xp: xp.squeeze(CUBE[:1, :, :1], axis=(2, 0)),
    "expand_dims": lambda xp: xp.expand_dims(M, (N(0), 2)),
    "rot90": lambda xp: (xp.rot90(M, N(3)), xp.rot90(M, 1, [1, 0]),
                         xp.rot90(M, 1, np.array([1, 0]))),
    "split": lambda xp: [xp.split(V, cut) for cut in (
        N(3), np.array(3), [2, 5], (2, 5), np.array([2, 5]), range(1, 4), [], [N(4)], [-2], [4, 9]
    )],
    "diag": lambda xp: xp.diag(V, k=N(1)),
    "median": lambda xp: (xp.median(CUBE, axis=(N(0), 1)), xp.median(CUBE, axis=[0, 1])),
    "sum": lambda xp: xp.sum(CUBE, axis=(N(0), np.int8(2)), keepdims=True),
    "cumsum": lambda xp: xp.cumsum(M, axis=np.array(1)),
    "nanvar": lambda xp: xp.nanvar(M, axis=N(1), ddof=np.float32(1)),
    "pad widths": lambda xp: [xp.pad(M, width) for width in (
        N(2), [1], [1, 2], (1, 2), [[1, 2], [0, 3]], ((1, 2), (0, 3)), [[1], [2]], [[1, 2]],
        np.array(1), np.array([1, 2]), np.array([[1, 2], [0, 3]]), np.array([[1], [2]]),
        {0: 2}, {-1: (1, 2)}, {0: 1, 1: (2, 0)}, {})],
    "pad constants": lambda xp: [xp.pad(M, 2, constant_values=value) for value in (
        7, N(7), (5, 6), [5, 6], ((5, 6), (7, 8)), [[5], [7]], np.array([5.0, 6.0]))],
    "fftn": lambda xp: [xp.real(xp.fft.fftn(M, s=s, axes=(0, 1))) for s in (
        [4, 4], (4, 2), np.array([2, 4]), [N(4), 4])] + [xp.real(xp.fft.ifftn(M, axes=[0, 1]))],
    "bincount": lambda xp: xp.bincount(V, minlength=N(9)),
    "stacks of rows": lambda xp: [getattr(xp, name)(M) for name in ("hstack", "vstack",
                                                                     "column_stack", "stack")],
    "select": lambda xp: xp.select(M > 4, M),
    "take_along_axis": lambda xp: [xp.take_along_axis(M[:rows], np.array(at), axis)
                                   for rows, at, axis in ((3, [[0]], 1), (3, [[0, 3]], N(1)),
                                                          (1, [[0], [2]], 1), (3, [[1]], 0),
                                                          (3, [[2, 0, 1, 0]], 0))],
}  # fmt: skip


def leaves(found):
    """All arrays of a result."""
    if isinstance(found, list | tuple):
        return [leaf for part in found for leaf in leaves(part)]
    return [np.asarray(found)]


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name):
    """The same values, shapes and dtypes."""
    wanted = leaves(CALLS[name](np))
    with fw.target("interp"):
        found = leaves(CALLS[name](fw))

    assert [(x.dtype, x.shape) for x in found] == [(x.dtype, x.shape) for x in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_one_program_for_each_value():
    """However it is written: a list of axes is not traced anew for each call."""
    reductions = eager._entries
    with fw.target("interp"):
        fw.median(CUBE, axis=(0, 1))
        count = len(reductions)
        for axis in ([0, 1], np.array([0, 1]), (N(0), N(1)), range(2)):
            fw.median(CUBE, axis=axis)

    assert len(reductions) == count


def test_an_integer_of_another_library():
    """Whatever has __index__ is one."""

    class Two:
        def __index__(self):
            return 2

    with fw.target("interp"):
        assert fw.linspace(0, 1, Two()).tolist() == [0.0, 1.0]
        assert fw.median(CUBE, axis=Two()).shape == (2, 3)
        assert fw.jit(lambda x, n: x * n, static_argnums=N(1))(V, 3).tolist() == (V * 3).tolist()


def test_in_a_trace():
    """A number that is known there, and widths that are arguments of the program."""
    with fw.target("interp"):
        found = fw.jit(lambda x, n: fw.pad(x, [n, 1], constant_values=(n, 7)))(V[:2], 2)
        assert found.tolist() == [2, 2, 0, 1, 7]
        assert fw.jit(lambda x: fw.diff(x, n=fw.asarray(2)))(V**2).tolist() == [2, 2, 2, 2]
        with pytest.raises(fw.NotTraceableError):
            fw.jit(lambda x, n: fw.diff(x, n=n))(V, 1)


def test_floats_of_16_bits_stay():
    """Where elements are only moved, as NumPy's do; also those of other widths."""
    h = fw.asarray(np.float16([2, 1, 2]))
    with fw.target("interp"):
        for found in (
            fw.pad(h, 1), fw.pad(h, 1, mode="edge"), fw.diag(h), fw.diag(fw.diag(h)),
            fw.tril(fw.diag(h)), fw.unique(h), fw.union1d(h, h), fw.select([h > 1], [h]),
            fw.ravel(h), fw.hstack([h, h]), fw.vstack([h]), fw.append(h, h), fw.split(h, 3)[0],
            fw.swapaxes(fw.diag(h), 0, 1), fw.flipud(h), fw.rot90(fw.diag(h)), fw.nan_to_num(h),
        ):
            assert found.dtype == np.float16
        assert fw.pad(fw.asarray([1.0]).astype(fw.bf16), 1).dtype == fw.bf16.dtype


def test_remainders_have_the_sign_of_the_dividend():
    """Of zeros, too."""
    x = np.array([-0.0, -4.0, 4.0, 0.0, -0.0])
    y = np.array([2.0, -2.0, -2.0, -1.0, np.inf])
    with fw.target("interp"):
        assert np.signbit(fw.fmod(x, y)).tolist() == np.signbit(np.fmod(x, y)).tolist()


@pytest.mark.parametrize("far", [2**64, -2**64, 2**63, 2**63 - 1, -2**63, 2**64 + 1])
def test_diagonals_outside_of_a_matrix(far):
    """All are alike, also where their number has more than 64 bits."""
    k = 4 if far > 0 else -4

    for function, *args in ((fw.eye, 3, 4), (fw.tril, M), (fw.triu, M)):
        assert np.array_equal(function(*args, k=far), function(*args, k=k))


@pytest.mark.parametrize(
    "ends", [(2**64, 2**64 + 2), (2**63 - 1, 2**63 + 2), (-(2**63), -(2**63) - 2, -1)]
)
def test_integers_of_more_bits_are_no_arange(ends):
    """They do not begin again from the other end."""
    with pytest.raises(fw.UserError, match="arange reaches"):
        fw.arange(*ends)


def test_an_arange_up_to_the_last_integer():
    """With the dtype that holds it."""
    assert fw.arange(2**64 - 2, 2**64, dtype=fw.u64).tolist() == [2**64 - 2, 2**64 - 1]
    assert fw.arange(-2**63, -2**63 + 2).tolist() == [-2**63, -2**63 + 1]


@pytest.mark.parametrize("shift", [-2**63, 2**63 - 1, np.int8(-128), np.uint8(1), np.uint64(4)])
def test_rolls_by_any_integer(shift):
    """Also by those without a negative of their dtype."""
    x = np.arange(12).reshape(3, 4)
    n = int(shift)

    assert np.array_equal(fw.roll(x, shift), np.roll(x, n % 12))
    assert np.array_equal(fw.roll(x, (shift, 1), (0, 1)), np.roll(x, (n % 3, 1), (0, 1)))
    assert np.array_equal(fw.jit(fw.roll)(x.ravel(), shift), np.roll(x.ravel(), n % 12))
    assert fw.roll(x[:0], shift).shape == (0, 4)


@pytest.mark.parametrize("offset", [-2**63, 2**63 - 1, np.int8(-128), np.uint8(1), -1])
def test_diagonals_of_any_offset(offset):
    """Also of those without a negative of their dtype; outside of the matrix there is nothing."""
    x = np.arange(12).reshape(3, 4)
    near = max(-9, min(int(offset), 9))

    assert np.array_equal(fw.linalg.diagonal(x, offset=offset), np.diagonal(x, near))
    assert int(fw.linalg.trace(x, offset=offset)) == int(np.trace(x, near))
