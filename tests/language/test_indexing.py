"""`xs[key]`: whatever NumPy selects, with sizes known only at run time."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, same, values
from tests.quick import every

BOUNDS = [None, 0, 1, 3, 100, -1, -3, -100]


@pytest.mark.parametrize("step", every(2, [None, 1, 2, 3, -1, -2]))
def test_slices(target, step):
    """Every pair of bounds, clipped as Python clips them."""
    for n in (0, 1, 2, 5):
        x = np.arange(n)
        keys = [slice(a, b, step) for a in BOUNDS for b in BOUNDS]
        found = fw.jit(lambda x, keys=keys: [x[key] for key in keys])(x)

        same(found, [x[key] for key in keys])



def test_bad_indices_into_what_is_computed_at_once(target):
    """A fused array has the extents of a stored one."""
    x = np.arange(5)
    f = fw.jit(lambda x, i: fw.map(lambda k: (x * 2)[k], i))

    agree(lambda x, i: fw.map(lambda k: (x * 2)[k], i), x[[1, -1]] * 2, x, np.array([1, -1]))
    for bad in (5, -6, 10**12):
        with pytest.raises(fw.IndexOutOfBounds):
            f(x, np.array([1, bad]))


def test_slices_at_traced_bounds(target):
    """Bounds may be known only at run time, negative ones too."""
    x = np.arange(7)
    f = fw.jit(lambda x, a, b: (x[a:b], x[a:], x[:b], x[a:b:2], x[b:a:-1]))

    for a in (-9, -2, 0, 3, 9):
        for b in (-9, -2, 0, 3, 9):
            same(f(x, a, b), (x[a:b], x[a:], x[:b], x[a:b:2], x[b:a:-1]))
    assert f.traces == 1


def test_slices_with_a_traced_step(target):
    """Of either sign."""
    x = np.arange(7)
    f = fw.jit(lambda x, s, a, b: (x[::s], x[a::s], x[:b:s], x[a:b:s]))

    for step in (-8, -2, -1, 1, 3):
        for a, b in ((-9, 9), (2, -2), (5, 1), (9, -9)):
            same(f(x, step, a, b), (x[::step], x[a::step], x[:b:step], x[a:b:step]))
    with pytest.raises(ValueError, match="step"):
        f(x, 0, 1, 2)


KEYS = [
    0, -1, (0,), (1, 2), (-1, -1, -1), slice(1, None), (slice(None), 1), (Ellipsis, 0),
    (0, Ellipsis), (slice(None, None, -1), slice(None), slice(1)), None, (None, 0),
    (slice(None), None, 1),
    (Ellipsis, None), (1, slice(1, None), -1), (slice(0, 1), slice(1, 2), slice(2, 3)), Ellipsis,
    (slice(None),) * 3, (0, None, slice(None), None, 1),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_keys(target, key):
    """Integers, slices, None and Ellipsis in every order."""
    x = np.arange(24).reshape(2, 3, 4)

    agree(lambda x: x[key], x[key], x)


A, B = np.array([1, 0, -1]), np.array([[2, 0], [1, -2]])
ADVANCED = [
    (A,), (B,), (slice(None), A), (A, A), (A, 0), (0, A), (slice(None), A, A), (A, slice(None), A),
    (0, slice(None), B), (B, slice(1, None), slice(None, None, 2)), (None, A), (A[:1], B),
    (Ellipsis, A, B[:, :1]), (A, A, A),
]  # fmt: skip


@pytest.mark.parametrize("key", ADVANCED, ids=range(len(ADVANCED)))
def test_index_arrays(target, key):
    """Index arrays are broadcast together and stand where NumPy puts them."""
    x = np.arange(24).reshape(2, 3, 4) % 23
    fits = tuple(np.where(abs(k) > 1, 0, k) if isinstance(k, np.ndarray) else k for k in key)

    agree(lambda x: x[fits], x[fits], x)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_index_dtypes(target, dtype):
    """Indices of every integer dtype."""
    x, i = np.arange(10.0), np.array([3, 9, 0], dtype)

    agree(lambda x, i: x[i], x[i], x, i)
    agree(lambda x, i: x[i[0]], x[3], x, i)


def test_masks(target):
    """A mask selects elements, rows, or the elements of a matrix in flat order."""
    x = values(np.int32, 20)
    m = np.arange(12).reshape(4, 3)

    agree(lambda x: x[x > 10], x[x > 10], x)
    agree(lambda m: m[m[:, 0] > 3], m[m[:, 0] > 3], m)
    agree(lambda m: m[m % 2 == 0], m[m % 2 == 0], m)


def test_lists_as_indices(target):
    """A list of integers is an index array."""
    x = np.arange(5.0)

    agree(lambda x: x[[0, 2, -1]], x[[0, 2, -1]], x)


def test_gather(target):
    """Of tuples, of rows, through a tuple of index arrays."""
    x, m, i = np.arange(5.0), np.arange(12).reshape(4, 3), np.array([0, 2, -1, 2])

    agree(lambda x, i: fw.gather(x, i), x[i], x, i)
    agree(lambda x, i: fw.gather((x, x * 2), i), (x[i], x[i] * 2), x, i)
    agree(lambda m, i: fw.gather(m, i), m[i], m, i)
    agree(lambda m, i: fw.gather(m, (i, i)), m[i, i], m, i)
    agree(lambda m, i: fw.gather(m, i[:, None]), m[i[:, None]], m, i)


def test_backpermute(target):
    """The function maps the result's indices to those of the source."""
    m = np.arange(12).reshape(3, 4)

    agree(lambda m: fw.backpermute((4, 3), lambda i, j: (j, i), m), m.T, m)
    agree(lambda m: fw.backpermute(3, lambda i: (i, i), m), np.diag(m), m)
    agree(lambda m: fw.backpermute((2, 2), lambda i, j: 2 * i + j, m[0]), m[0].reshape(2, 2), m)


@pytest.mark.parametrize("bad", [5, -6, 2**40])
def test_bad_indices(target, bad):
    """Too large, too small, and on the way: an IndexError that names the index."""
    x, i = np.arange(5.0), np.array([0, bad, 1])

    for f in (lambda x, i: x[i], lambda x, i: fw.gather(x, i), lambda x, i: x[i[1]]):
        with pytest.raises(fw.IndexOutOfBounds, match=f"index {bad} is outside an array of 5"):
            fw.jit(f)(x, i)
    with pytest.raises(IndexError):
        fw.generate(6, lambda k: fw.gather(x, k))
    same(fw.gather(x, [4]), x[[4]])  # the process goes on


def test_iteration_outside_jit(target):
    """A concrete array is a sequence."""
    x = fw.iota(3)

    assert [int(v) for v in x] == [0, 1, 2]
    assert len(x) == 3
    assert 2 in x
    with pytest.raises(IndexError):
        x[3]


def test_backwards_is_read_in_registers():
    """As `reverse` reads, without an address for each lane."""
    f = fw.jit(lambda x: x[::-1] + x)

    assert "gather" not in f.stages(np.arange(100.0)).text["llvm"]
    agree(lambda x: x[::-1] + x[2:97][::-1][0], np.arange(100.0)[::-1] + 96, np.arange(100.0))


@pytest.mark.parametrize(
    ("shape", "mask"),
    [((0, 0), (0, 1)), ((), (0,)), ((3,), (1,)), ((0,), (1,)), ((2, 0), (2, 1)), ((2, 3), (1, 3))],
)
def test_masks_of_another_shape_are_index_errors(shape, mask):
    """As in NumPy, also where an extent is 0 or 1; more indices than axes, too."""
    for key in (np.zeros(mask, bool), np.ones(mask, bool), (0,) * (len(shape) + 1)):
        with pytest.raises(IndexError):
            np.zeros(shape)[key]
        with pytest.raises(IndexError) as failure:
            fw.zeros(shape)[key]
        assert isinstance(failure.value, fw.UserError)


def test_masks_without_elements():
    """An extent of 0 in a mask fits every extent of the array; the others must be equal."""
    for shape, mask in (((3,), (0,)), ((1,), (0,)), ((2, 3), (0,)), ((2, 3), (0, 3)),
                        ((2, 3), (2, 0)), ((2, 1), (0, 0)), ((2, 0), (2, 0))):  # fmt: skip
        for dtype in (np.float32, np.complex64, np.float16):
            x = np.ones(shape, dtype)
            found = fw.asarray(x)[np.zeros(mask, bool)]
            same(found, x[np.zeros(mask, bool)])
            same(fw.asarray(x)[fw.asarray(np.zeros(mask, bool))], found)
    with pytest.raises(IndexError):
        fw.ones((2, 3))[np.zeros((3, 0), bool)]
