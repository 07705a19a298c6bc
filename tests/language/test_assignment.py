"""`x[key] = v` and `x += v`: the object changes, and no other array does."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import flatweave as fw

KEYS = {
    "integer": (2, -1), "slice": (slice(1, 4), 5), "step": (slice(None, None, -2), 6),
    "mask": (np.array([True, False, True, False, True, False]), [1, 2, 3]),
    "indices": (np.array([4, 0]), [7, 8]), "list": ([1, -1], 9), "everything": (Ellipsis, 3),
    "new axis": ((None, slice(0, 2)), [[5, 6]]), "empty": (slice(0, 0), 1),
    "of ours": (fw.asarray([0, 5]), fw.asarray([1, 2])),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("way", ["eager", "traced"])
def test_every_key(name, way):
    """NumPy's assignment, at once and in a program."""
    key, value = KEYS[name]
    expected = np.arange(6)
    expected[np.asarray(key) if isinstance(key, fw.Array) else key] = np.asarray(value)

    def write(x):
        x[key] = value
        return x

    run = write if way == "eager" else fw.jit(write, target="interp")
    assert run(fw.iota(6)).tolist() == expected.tolist()


def test_axes():
    """Rows, columns, elements and a mask of two axes."""
    expected = np.arange(12.0).reshape(3, 4)
    x = fw.asarray(expected, copy=True)
    for key, value in [
        (1, 0), ((slice(None), 2), [1, 2, 3]), ((0, 3), 9), (expected > 8, -1),
        ((..., slice(1, 3)), np.ones(2)), (([0, 2], [1, 1]), [5, 6]),
    ]:  # fmt: skip
        x[key] = value
        expected[key] = value
        assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["bool_", "i8", "u64", "f16", "bf16", "f32", "c64", "c128"])
def test_dtypes(dtype):
    """Elements of every dtype, in place and in a copy."""
    x = fw.zeros(3, dtype=getattr(fw, dtype))
    x[1] = 1
    x[2:] = x[1]
    assert (x == [0, 1, 1]).tolist() == [True] * 3


def test_two_names_of_one_object():
    """As in Python; a copy is another object."""
    x = fw.iota(3)
    y, z, deep, shallow = x, x.copy(), copy.deepcopy(x), copy.copy(x)
    made, taken = fw.array(x), np.copy(x)
    y[0] = 7
    y += 1

    assert y is x
    assert x.tolist() == [8, 2, 3]
    assert [each.tolist() for each in (z, deep, shallow, made, taken)] == [[0, 1, 2]] * 5


def test_memory_is_written_in_place_where_the_array_alone_holds_it():
    """Else it is copied, once."""
    x = fw.iota(100_000) + 1
    address = x.to_numpy().ctypes.data
    x[5] = 1
    assert x.to_numpy().ctypes.data == address
    seen = np.asarray(x)
    x[5] = 2
    copied = x.to_numpy().ctypes.data
    x[5] = 3
    assert copied != address
    assert x.to_numpy().ctypes.data == copied
    assert (seen[5], x[5].item()) == (1, 3)


def test_arrays_over_the_same_memory_do_not_change():
    """Views of ours, of NumPy and through DLPack; the values of a NumPy array given to asarray."""
    mine = np.arange(6)
    x = fw.asarray(mine)
    views = [x[1:], x.reshape(2, 3), x.T, np.asarray(x), np.from_dlpack(x), +x, fw.reverse(x[:])]
    before = [np.array(view) for view in views]
    with warnings.catch_warnings():
        warnings.simplefilter("error", fw.CopyWarning)
        x[:] = -1

    assert mine.tolist() == [0, 1, 2, 3, 4, 5]
    for view, old in zip(views, before, strict=True):
        assert np.array_equal(view, old)
    mine[0] = 100
    assert x.tolist() == [-1] * 6


@pytest.mark.parametrize("name", ["positive", "concat", "astype", "reshape", "asarray", "where"])
def test_a_function_that_changes_nothing_gives_another_object(name):
    """Its result does not change with its argument, in a program either."""

    def ones(x):
        return {
            "positive": lambda: +x, "concat": lambda: fw.concat([x]), "reshape": lambda: x[:],
            "astype": lambda: x.astype(fw.i64), "asarray": lambda: fw.array(x),
            "where": lambda: fw.broadcast_to(x, (3,)),
        }[name]()  # fmt: skip

    def both(x):
        y = ones(x)
        x[0] = 5
        return x, y

    for run in (both, fw.jit(both, target="interp")):
        assert [part.tolist() for part in run(fw.iota(3))] == [[5, 1, 2], [0, 1, 2]]


def test_a_part_is_a_value_of_its_own():
    """It warns once for each line, while the whole exists."""
    x = fw.iota(6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", fw.CopyWarning)
        for _ in range(3):
            part = x[2:5]
            part += 1
        other = x[2:5]
        other[0] = 9
        del x
        other[1] = 9
    assert part.tolist() == [3, 4, 5]
    assert other.tolist() == [9, 9, 4]
    assert [warning.category for warning in caught] == [fw.CopyWarning] * 2
    assert len({warning.lineno for warning in caught}) == 2


def test_nothing_warns_where_the_whole_is_gone():
    """Whoever keeps the part alone may write to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", fw.CopyWarning)
        part = (fw.iota(6) + 1)[2:5]
        part[0] = 0
        part += 1
    assert part.tolist() == [1, 5, 6]


def test_augmented_assignment_follows_the_rule_of_casting():
    """A result of another kind, or of another shape, is refused."""
    x, y = fw.iota(3), fw.asarray([1, 2, 3], fw.f32)
    y += fw.asarray([0.5, 0.5, 0.5])
    assert (y.dtype, y.tolist()) == (np.float32, [1.5, 2.5, 3.5])
    with pytest.raises(fw.DTypeError, match="float64, which an array of int64 cannot hold"):
        x += 0.5
    with pytest.raises(fw.DTypeError, match="xs / v"):
        x /= 2
    with pytest.raises(fw.ShapeError, match="augmented assignment gives"):
        x += fw.zeros((2, 3), dtype=fw.i64)
    x[1:] += 10
    x <<= 1
    x @= fw.eye(3, dtype=fw.i64)
    assert x.tolist() == [0, 22, 24]
    with pytest.raises(fw.DTypeError, match="cannot"):
        x[0] += 0.5


def test_a_scalar_is_a_number():
    """`s += v` of one element gives another object, as of a number of Python."""
    s = fw.iota(3)[2]
    t = s
    t += 0.5
    assert (s.tolist(), t.tolist()) == (2, 2.5)


def test_a_value_that_does_not_fit_leaves_the_array_as_it_is():
    """Shapes, indices and dtypes are those of `replace`."""
    x = fw.iota(3)
    for key, value, error in [
        (3, 0, fw.IndexOutOfBounds), (0, 0.5, fw.DTypeError), (slice(2), [1, 2, 3], fw.ShapeError),
        (0, 2**70, fw.DTypeError), ((0, 0), 1, fw.ShapeError), ("a", 1, TypeError),
    ]:  # fmt: skip
        with pytest.raises(error):
            x[key] = value
    assert x.tolist() == [0, 1, 2]


def test_arguments_of_a_jitted_function_keep_their_value():
    """A program works on a copy; one inside of another one, too."""

    @fw.jit(target="interp")
    def inner(x):
        x[0] = 9
        return x

    @fw.jit(target="interp")
    def outer(x):
        y = inner(x)
        x[1] = 8
        z = fw.cond(y[0] > 0, lambda x: inner(x) * 2, lambda x: x, x)
        return x, y, z

    x = fw.iota(3)
    assert [part.tolist() for part in outer(x)] == [[0, 8, 2], [9, 1, 2], [18, 16, 4]]
    assert x.tolist() == [0, 1, 2]


def test_assignments_in_bodies():
    """Elements of a map, and the state of a loop."""

    @fw.jit(target="interp")
    def f(m):
        def row(r):
            r[1:] += r[0]
            return r

        def body(i, state):
            state[i] = state[i] * 2
            return state

        return fw.map(row, m), fw.fori_loop(0, 2, body, m[0])

    rows, state = f(np.arange(6).reshape(2, 3))
    assert rows.tolist() == [[0, 1, 2], [3, 7, 8]]
    assert state.tolist() == [0, 2, 2]


def test_gradients_see_assignments():
    """A derivative of what was written."""

    def f(x):
        y = x * x
        y[0] = 3 * x[1]
        y[1:] += x[:1]
        x[2] = 0.0
        return fw.sum(y) + fw.sum(x)

    x = np.array([1.0, 2.0, 3.0])
    assert fw.grad(f)(x).tolist() == [3.0, 8.0, 6.0]


@pytest.mark.parametrize("place", ["map", "loop", "cond", "scan", "jit"])
def test_arrays_of_another_body_are_refused(place):
    """The message has the line."""
    outside = fw.iota(3)

    def f(x):
        def body(*_):
            (outside if place == "jit" else x)[0] = 1
            return 1

        if place == "map":
            return fw.map(body, x)
        if place == "loop":
            return fw.fori_loop(0, 3, body, 1)
        if place == "cond":
            return fw.cond(x[0] > 0, body, lambda: 1)
        if place == "scan":
            return fw.scan(body, 0, x)
        return body()

    with pytest.raises(fw.NotTraceableError, match=r"outside = 1|\[0\] = 1"):
        fw.jit(f, target="interp")(fw.iota(3))
    assert outside.tolist() == [0, 1, 2]


@pytest.mark.parametrize("target", ["interp", "cpu"])
@pytest.mark.parametrize("dtype", ["i64", "f16", "c128"])
def test_programs_that_captured_an_array_see_what_it_is_now(target, dtype):
    """Also where machine code makes the calls; another array with the same memory stays."""
    x = fw.zeros(2, dtype=getattr(fw, dtype))
    y = x.copy()

    @fw.jit(target=target)
    def f(z):
        return z + x, z - y

    zeros = np.zeros(2, x.dtype)
    for k in range(6):
        x[k % 2] = k
        expected = x.to_numpy().copy()
        for _ in range(3):
            total, rest = f(zeros)
            assert np.array_equal(np.asarray(total), expected)
            assert not np.asarray(rest).any()
    assert f.traces == 1


def test_rows():
    """One row is replaced by one of any length; offsets are not to be written."""
    flat = fw.iota(3)
    rows = fw.ragged(flat, lengths=[2, 1])
    other, shallow = rows[:], copy.copy(rows)
    flat[0] = 50
    rows[1] = [7, 8]
    rows *= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.CopyWarning)
        rows.offsets[0] = 99
        rows.offsets[1:] += 1000
    assert rows.tolist() == [[0, 2], [14, 16]]
    assert other.tolist() == shallow.tolist() == [[0, 1], [2]]
    with pytest.raises(fw.DTypeError, match="cannot hold"):
        rows += 0.5
    with pytest.raises(fw.ArgumentError, match="one row"):
        rows[0:1] = [[1]]

    @fw.jit(target="interp")
    def f(rows, values):
        made = fw.ragged(values, lengths=[1, 1])
        values[0] = 5
        rows[0] = [values[0]]
        rows += made.values[:1]
        return rows, made

    assert [part.tolist() for part in f(rows, fw.asarray([1, 2]))] == [
        [[6], [15, 17]], [[1], [2]]
    ]  # fmt: skip


def test_groups_trust_their_parts():
    """What users assign to is a copy."""
    groups = fw.group_by([1, 2, 1], [10, 20, 30])
    for part in (groups.offsets, groups.order, groups.index):
        part[:] = 10**9
    assert groups.rows.tolist() == [[10, 30], [20]]
    assert groups.spread(fw.asarray([5, 6])).tolist() == [5, 6, 5]


def test_pickles_and_threads():
    """A pickle has the values that there were; each thread writes to a separate array."""
    x = fw.iota(4)
    kept = pickle.dumps(x)
    x[0] = 9
    assert pickle.loads(kept).tolist() == [0, 1, 2, 3]
    assert pickle.loads(pickle.dumps(x)).tolist() == [9, 1, 2, 3]
    shared, found = fw.iota(1000), []

    def work(number):
        mine = shared.copy()
        for k in range(200):
            mine[k] = number
        found.append(bool(fw.all(mine[:200] == number)) and mine[200:].tolist()[0] == 200)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
    assert shared.tolist() == list(range(1000))


def test_donated_arrays():
    """Where a call was given an array nobody writes to it; its result is written in place."""
    step = fw.jit(lambda x: x + 1, donate="x")
    x = fw.iota(4) + 0
    y = step(x)
    with pytest.raises(fw.EscapedArrayError):
        x[0] = 1
    y[0] = 5
    assert y.tolist() == [5, 2, 3, 4]
