"""Whose memory an array of ours is: shared where nobody writes to it, copied where somebody may."""

import array
import gc

import numpy as np
import pytest

import flatweave as fw
from flatweave.runtime.cpu import is_frozen, shared
from tests.conftest import TARGETS
from tests.language.agreement import same

pytestmark = pytest.mark.usefixtures("little_to_collect")

HOST = pytest.mark.parametrize(  # where results can be in the memory of the arguments
    "target", [name for name in TARGETS if name in ("interp", "cpu")], indirect=True
)
SHAPES = [(0,), (1,), (7,), (129,), (3, 5), (2, 0), ()]
KINDS = [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.float64,
         np.complex64, np.complex128]  # fmt: skip


def is_shared(a, b):
    """Whether two arrays are the same memory."""
    return np.shares_memory(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("dtype", KINDS)
def test_asarray_shares_what_fits(dtype):
    """An array of a dtype of ours in row-major order, of every shape; the source stays writable."""
    for shape in SHAPES:
        xs = np.ones(shape, dtype)
        found = fw.asarray(xs)

        same(found, xs)
        assert is_shared(found, xs) == bool(xs.size)
        assert xs.flags.writeable
        assert not np.asarray(found).flags.writeable
        assert not is_shared(fw.asarray(xs, copy=True), xs)
        assert fw.asarray(found) is found
        assert is_shared(fw.asarray(xs, copy=False), xs) == bool(xs.size)


@pytest.mark.parametrize(
    "xs",
    [np.arange(6.0)[::2], np.ones((3, 4)).T, np.arange(3).astype(">i4"), [1, 2], 1.5, range(3)],
    ids=lambda xs: type(xs).__name__,
)
def test_what_does_not_fit_is_copied(xs):
    """Or refused, where no copy is allowed."""
    found = fw.asarray(xs)

    same(found, np.asarray(xs, np.asarray(xs).dtype.newbyteorder("=")))
    assert not isinstance(xs, np.ndarray) or not is_shared(found, xs)
    with pytest.raises(BufferError, match="copy=False"):
        fw.asarray(xs, copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        fw.asarray(np.arange(3), fw.f32, copy=False)


def test_a_shared_array_sees_what_its_owner_writes():
    """As in NumPy; `copy=True` is for those who go on writing."""
    xs = np.arange(3.0)
    seen, kept = fw.asarray(xs), fw.asarray(xs, copy=True)
    xs[0] = 7

    same(seen, np.array([7.0, 1, 2]))
    same(kept, np.array([0.0, 1, 2]))


def test_memory_lives_as_long_as_who_sees_it():
    """The owner may forget it; what exports a buffer cannot be resized meanwhile."""
    found = fw.jit(lambda xs: xs)(fw.asarray(np.arange(1000.0)))
    gc.collect()
    same(found, np.arange(1000.0))

    numbers = array.array("d", [1, 2])
    seen = fw.asarray(numbers)
    with pytest.raises(BufferError):
        numbers.append(3)
    same(seen, np.array([1.0, 2]))
    del seen
    gc.collect()
    numbers.append(3)


@pytest.fixture(scope="module")
def passed_on():
    """A function with results that are its argument, another shape of it, and new."""
    return fw.jit(lambda xs: {"xs": xs, "flat": fw.reshape(xs, -1), "more": xs + xs})


@HOST
@pytest.mark.parametrize("dtype", KINDS)
def test_an_identity_copies_nothing_of_ours(target, passed_on, dtype):
    """The result is the argument's memory, in another shape as well."""
    for shape in SHAPES[:6]:
        xs = np.ones(shape, dtype)
        found = passed_on(fw.asarray(xs))

        more = xs + xs
        if dtype is np.float16:  # computed with as f32
            more = more.astype(np.float32)
        for name, expected in (("xs", xs), ("flat", xs.reshape(-1)), ("more", more)):
            same(found[name], expected)
            passes = name == "xs" or (name == "flat" and (xs.dtype.kind != "c" or xs.ndim == 1))
            assert is_shared(found[name], xs) == bool(passes and xs.size)
        again = passed_on(found["more"])
        assert is_shared(again["xs"], found["more"]) == bool(xs.size)


def test_a_result_does_not_change_with_an_argument(target, passed_on):
    """NumPy's arrays may be written to after the call; a view of one that may not is no promise."""
    xs = np.arange(4.0)
    view = xs[:]
    view.setflags(write=False)
    found = passed_on(xs), passed_on(view)
    xs[:] = 9

    for each in found:
        same(each["xs"], np.arange(4.0))
        same(each["flat"], np.arange(4.0))
    assert xs.flags.writeable


@HOST
def test_an_array_from_outside_of_the_function(target):
    """Returned as it is: shared if it is ours, a copy if it is NumPy's, which stays writable."""
    xs = np.arange(3.0)
    ours = fw.asarray(np.arange(4.0))
    found = fw.jit(lambda k: (xs, ours, k))(1)

    same(found[0], xs)
    assert not is_shared(found[0], xs)
    assert xs.flags.writeable
    assert is_shared(found[1], ours)


@HOST
def test_the_rows_of_a_ragged_pass_unchanged(target):
    """Values and offsets both."""
    rows = fw.ragged(np.arange(5.0), lengths=[2, 0, 3])
    found = fw.jit(lambda rows: rows)(rows)

    assert is_shared(found.values, rows.values)
    assert is_shared(found.offsets, rows.offsets)


def test_what_is_frozen():
    """An array and all its bases; a promise made by `shared` ends the search."""
    xs = np.arange(3.0)
    view = xs[1:]
    view.setflags(write=False)

    assert not is_frozen(xs)
    assert not is_frozen(view)
    assert is_frozen(shared(xs))
    assert is_frozen(shared(xs)[1:])
    assert is_frozen(np.frombuffer(b"abc", np.uint8))
    assert not is_frozen(np.frombuffer(bytearray(b"abc"), np.uint8))
    assert shared(shared(xs)) is not xs


def test_dlpack_says_who_may_write():
    """Shared memory is read-only; older consumers can take only a copy, which is theirs."""
    xs = fw.iota(5) * 2

    assert not np.from_dlpack(xs).flags.writeable
    assert is_shared(np.from_dlpack(xs), xs)
    own = np.from_dlpack(xs, copy=True)
    own[0] = 7
    same(xs, np.arange(5) * 2)
    assert "dltensor_versioned" in repr(xs.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" not in repr(xs.__dlpack__())
    with pytest.raises(BufferError, match=r"DLPack 1\.0"):
        xs.__dlpack__(copy=False)


class Column:
    """A consumer of Arrow's interface, as asarray takes one."""

    def __init__(self, given):
        self.given = given

    def __arrow_c_array__(self, requested_schema=None):
        return self.given


@pytest.mark.parametrize(
    "export",
    [
        np.asarray, np.from_dlpack, lambda xs: memoryview(np.asarray(xs)),
        lambda xs: fw.asarray(Column(xs.__arrow_c_array__())), lambda xs: fw.jit(lambda x: x)(xs),
        lambda xs: fw.from_dlpack(xs), lambda xs: fw.ragged(xs, lengths=[len(xs)]).values,
    ],
    ids=["numpy", "dlpack", "buffer", "arrow", "identity", "from_dlpack", "ragged"],
)
def test_what_was_given_away_is_not_used_again(export):
    """The buffer of a result goes back to the pool with the last that sees it, not before."""
    make = fw.jit(lambda n, k: fw.iota(n) * 0 + k)
    n = 2**18  # 2 MiB: above what the C library allocates
    given = export(make(n, 5))
    gc.collect()
    others = [make(n, 7) for _ in range(4)]

    assert (np.asarray(given) == 5).all()
    assert all((np.asarray(other) == 7).all() for other in others)
