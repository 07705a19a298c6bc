"""Python functions that programs call on the host."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import pytest

import flatweave as fw
from flatweave import ShapeDtypeStruct as Struct
from tests.conftest import DEVICE


@pytest.fixture(params=["interp", "cpu"])
def target(request):
    """The interpreter, and compiled code."""
    with fw.target(request.param):
        yield request.param


@pytest.fixture(params=["interp", "cpu", DEVICE])
def any_target(request):
    """A device, too, which copies."""
    with fw.target(request.param):
        yield request.param


def doubled(x):
    """A function that is found by its module and name."""
    return x * 2


def summed(x):
    return np.sum(x, axis=-1)


def test_in_a_program_between_kernels(any_target):
    """It reads what one kernel writes, and the next reads its results."""
    @fw.jit
    def f(x, k):
        y = fw.pure_callback(np.cumsum, Struct(x.shape, x.dtype), x + 1)
        total = fw.pure_callback(np.sum, Struct((), fw.f64), y)
        return y * k, total

    for n in (0, 1, 5, 300):
        x = np.arange(float(n))
        y, total = f(x, 2)
        np.testing.assert_array_equal(y, np.cumsum(x + 1) * 2)
        assert total == np.sum(np.cumsum(x + 1))


def test_every_dtype_and_structure(any_target):
    """Numbers, complex numbers and floats of 16 bits arrive as NumPy has them."""
    seen = []

    def swap(pair, *, more):
        z, h = pair
        seen.append((z.dtype, h.dtype, more["k"].dtype, more["b"].dtype, more["k"].shape))
        return {"z": z.conj(), "rest": (h + h, more["k"] + 1, ~more["b"])}

    @fw.jit
    def f(z, h, b):
        found = fw.pure_callback(
            swap,
            {"z": Struct(z.shape, fw.c64),
             "rest": (Struct(h.shape, fw.f16), Struct((), fw.i64), Struct(b.shape, bool))},
            (z, h), more={"k": 3, "b": b},
        )
        return found["z"], *found["rest"]

    z = (np.arange(4) + 1j).astype(np.complex64).reshape(2, 2)
    h, b = np.arange(3, dtype=np.float16), np.array([True, False])
    found = f(z, h, b)
    assert seen[-1] == (np.complex64, np.float16, np.int64, np.bool_, ())
    for value, wanted in zip(found, (z.conj(), h + h, 4, ~b), strict=True):
        np.testing.assert_array_equal(value, wanted)
        assert value.dtype == np.asarray(wanted).dtype


def test_extents_may_be_computed(target):
    """The shapes of results follow from arguments and from other results."""
    @fw.jit
    def f(x, n):
        kept = fw.filter(lambda v: v > 2, x)
        return fw.pure_callback(lambda v: np.repeat(v, 2), Struct((kept.shape[0] * 2,), fw.f64),
                                kept), fw.pure_callback(np.ones, Struct((n,), fw.f64), n)

    doubled_, ones = f(np.arange(5.0), 3)
    np.testing.assert_array_equal(doubled_, [3, 3, 4, 4])
    np.testing.assert_array_equal(ones, np.ones(3))


def test_in_loops_and_branches(any_target):
    """It is called once in each iteration, and in the branch that is taken."""
    calls = []

    def count(x):
        calls.append(1)
        return x + 1

    @fw.jit
    def f(x, p):
        x = fw.fori_loop(0, 3, lambda i, s: fw.pure_callback(count, Struct(s.shape, s.dtype), s), x)
        return fw.cond(p, lambda: fw.pure_callback(count, Struct(x.shape, x.dtype), x), lambda: x)

    np.testing.assert_array_equal(f(np.zeros(2), True), [4, 4])
    assert len(calls) == 4
    np.testing.assert_array_equal(f(np.zeros(2), False), [3, 3])
    assert len(calls) == 7


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_mapped(target, method):
    """Each row separately, or all rows along a first axis."""
    shapes = []

    def add(x, y, k):
        shapes.append((x.shape, y.shape, k.shape))
        return x + y + np.reshape(k, k.shape + (1,) * (x.ndim - k.ndim))

    def per_row(x, k):
        return fw.pure_callback(add, Struct(x.shape, x.dtype), x, same, k, vmap_method=method)

    xs, same, ks = np.arange(6.0).reshape(2, 3), np.array([10.0, 20, 30]), np.array([1.0, 2])
    f = fw.jit(lambda xs, ks: fw.map(per_row, xs, ks))
    np.testing.assert_array_equal(f(xs, ks), xs + same + ks[:, None])
    assert f(xs[:0], ks[:0]).shape == (0, 3)
    if target != "interp":  # which calls functions for each row separately
        wanted = {
            "sequential": [((3,), (3,), ())] * 2,
            "expand_dims": [((2, 3), (1, 3), (2,))],
            "broadcast_all": [((2, 3), (2, 3), (2,))],
        }
        assert shapes == wanted[method]


def test_mapped_with_results_that_are_numbers(target):
    """A number of each row is an array of all rows."""
    def per_row(x):
        found = fw.pure_callback(summed, Struct((), x.dtype), x, vmap_method="broadcast_all")
        return found * 2 + x[0]

    xs = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(fw.map(per_row, xs), xs.sum(axis=1) * 2 + xs[:, 0])
    np.testing.assert_array_equal(fw.vmap(per_row, in_axes=1)(xs), xs.sum(axis=0) * 2 + xs[0])


def test_mapped_in_a_map(target):
    """All rows of all rows are along one axis."""
    def per_row(x):
        return fw.pure_callback(doubled, Struct(x.shape, x.dtype), x, vmap_method="broadcast_all")

    xs = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(fw.map(lambda rows: fw.map(per_row, rows), xs), xs * 2)


def test_rows_of_different_lengths(any_target):
    """One call for each row, in order."""
    rows = fw.ragged([[3.0, 1, 2], [], [5, 4]])
    sort = fw.map(
        lambda r: fw.pure_callback(np.sort, Struct(r.shape, r.dtype), r, vmap_method="sequential"),
        rows,
    )
    assert [list(row) for row in sort] == [[1, 2, 3], [], [4, 5]]
    total = fw.map(
        lambda r: fw.pure_callback(np.sum, Struct((), r.dtype), r, vmap_method="sequential"), rows
    )
    np.testing.assert_array_equal(total, [6, 0, 9])
    with pytest.raises(fw.NestingError, match="rows of different shapes"):
        fw.map(lambda r: fw.pure_callback(np.sort, Struct(r.shape, r.dtype), r,
                                          vmap_method="expand_dims"), rows)


def test_in_a_branch_of_a_row_and_in_its_loop(target):
    """Only the rows that choose it are computed by it."""
    seen = []

    def work(x):
        seen.append(float(x[0]))
        return x + 100

    def call(x):
        return fw.pure_callback(work, Struct(x.shape, x.dtype), x, vmap_method="sequential")

    def per_row(x):
        return fw.cond(x[0] > 2, lambda: call(x), lambda: x)

    xs = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(fw.map(per_row, xs), np.where(xs[:, :1] > 2, xs + 100, xs))
    assert seen == [4.0]
    twice = fw.map(lambda x: fw.fori_loop(0, 2, lambda i, s: call(s), x), xs)
    np.testing.assert_array_equal(twice, xs + 200)


def test_a_mapped_function_says_how_rows_are_done():
    """Unless it is the same for all rows."""
    with pytest.raises(fw.Unsupported, match="without a vmap_method"):
        fw.map(lambda x: fw.pure_callback(doubled, Struct((), x.dtype), x), np.arange(3.0))
    same = fw.map(lambda x: x + fw.pure_callback(doubled, Struct((), fw.f64), 1.0), np.arange(3.0))
    np.testing.assert_array_equal(same, [2, 3, 4])


@pytest.mark.parametrize("wrong, error, match", [
    (lambda x: x[:2], fw.ShapeError, r"shape \(2,\), where \(3,\) was declared"),
    (lambda x: x.astype(np.float32), fw.DTypeError, "float32, where float64 was declared"),
    (lambda x: (x, x), fw.ShapeError, r"shape \(2, 3\)"),
    (lambda x: None, fw.DTypeError, "object, where float64 was declared"),
    (lambda x: [[1.0], [1.0, 2.0]], fw.DTypeError, "no array of float64"),
    (lambda x: ["a"] * 3, fw.DTypeError, "where float64 was declared"),
    (lambda x: x.sort(), ValueError, "read-only"),
])
def test_results_are_checked(target, wrong, error, match):
    """Against what was declared, when the program runs."""
    f = fw.jit(lambda x: fw.pure_callback(wrong, Struct((3,), fw.f64), x + 1))
    with pytest.raises(error, match=match):
        f(np.arange(3.0))
    with pytest.raises(error, match=match):
        fw.pure_callback(wrong, Struct((3,), fw.f64), np.arange(3.0))


@pytest.mark.parametrize("layout", [
    lambda x: x, np.asfortranarray, lambda x: x[::-1], lambda x: np.broadcast_to(x[:1], x.shape),
])
def test_results_may_have_any_layout(target, layout):
    """In new memory, an operand, or a view; for all rows of a map at once, too."""
    given = np.arange(12.0).reshape(2, 2, 3)
    f = fw.jit(lambda x: fw.pure_callback(layout, Struct(x.shape, x.dtype), x) + x)
    np.testing.assert_array_equal(f(given), layout(given) + given)

    def row(x):
        return fw.pure_callback(layout, Struct(x.shape, x.dtype), x, vmap_method="sequential")

    np.testing.assert_array_equal(fw.vmap(row)(given), np.stack([layout(x) for x in given]))


@pytest.mark.parametrize("n", [3, 400])
def test_an_error_of_a_library_keeps_what_it_shows(n):
    """Frames of its traceback hold the operands, which later calls do not overwrite."""
    f = fw.jit(lambda x: fw.linalg.inv(x * 2.0))
    with pytest.raises(fw.ArgumentError, match="singular") as caught:
        f(np.zeros((n, n)))
    for _ in range(3):
        np.testing.assert_allclose(f(np.eye(n)), np.eye(n) / 2)
    of_numpy = caught.value.__context__.__traceback__
    shown = [frame.f_locals.get("a") for frame, _ in traceback.walk_tb(of_numpy)]
    held = [x for x in shown if isinstance(x, np.ndarray) and x.shape == (n, n)]
    assert held
    assert not any(x.any() for x in held)


def test_python_numbers_take_the_declared_dtype():
    """As far as it holds them: nothing is rounded or cut."""
    given = fw.pure_callback(lambda: [1, True, 2.5], Struct((3,), fw.f32))
    assert (given.dtype, given.tolist()) == (np.float32, [1.0, 1.0, 2.5])
    for wrong, match in ((lambda: 2.5, "float64"), (lambda: 300, "out of bounds")):
        with pytest.raises(fw.DTypeError, match=match):
            fw.pure_callback(wrong, Struct((), fw.u8))


def test_what_it_raises_has_the_line_and_the_process_goes_on(any_target):
    """The next call works, and views in the traceback stay readable."""
    class Mine(Exception):
        pass

    def fail(x):
        kept.append(x)
        if x[0] == 1:
            raise Mine("no")
        return x

    kept = []
    f = fw.jit(lambda x: fw.pure_callback(fail, Struct(x.shape, x.dtype), x + 1) * 2)
    for n in (4, 200_000):
        with pytest.raises(Mine, match="no") as caught:
            f(np.zeros(n))
        assert any("test_callbacks.py" in note for note in caught.value.__notes__)
        np.testing.assert_array_equal(f(np.ones(n)), np.full(n, 4.0))
    gc.collect()
    assert [view[0] for view in kept] == [1, 2, 1, 2]


def test_views_that_are_kept_stay_what_they_were(target):
    """Of arguments, of arrays between kernels, of results."""
    kept = []

    def keep(x, y):
        kept.extend([x, y[1:]])
        return x

    @fw.jit
    def f(x):
        y = fw.cumsum(x)
        return fw.pure_callback(keep, Struct(x.shape, x.dtype), x, y) + 1, y

    x = np.arange(100_000.0)
    for _ in range(3):
        f(x)
    del _
    gc.collect()
    fw.cumsum(x * 5)
    for first, second in zip(kept[::2], kept[1::2], strict=True):
        np.testing.assert_array_equal(first, x)
        np.testing.assert_array_equal(second, np.cumsum(x)[1:])


def test_a_callback_calls_jitted_functions(target):
    """A program runs in the midst of another one."""
    inner = fw.jit(lambda x: fw.sum(fw.map(lambda v: v * v, x)))

    def call(x):
        return np.asarray(inner(x)) + np.asarray(fw.sum(x))

    f = fw.jit(lambda x: fw.pure_callback(call, Struct((), x.dtype), x + 1) * 2)
    x = np.arange(50_000.0)
    assert f(x) == 2 * (np.sum((x + 1) ** 2) + np.sum(x + 1))


def test_threads_call_side_by_side():
    """Calls do not share values."""
    f = fw.jit(lambda x: fw.pure_callback(doubled, Struct(x.shape, x.dtype), x + 1) + 1)
    wrong = []

    def work(k):
        for _ in range(50):
            if not np.array_equal(f(np.full(1000, float(k))), np.full(1000, 2.0 * k + 3)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, also where the shell that began the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_call(target):
    """Ctrl-C does not wait for the function."""
    def slow(x):
        main = threading.main_thread().ident
        threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        time.sleep(5)
        return x

    f = fw.jit(lambda x: fw.pure_callback(slow, Struct(x.shape, x.dtype), x + 1))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        f(np.zeros(3))
    assert time.monotonic() - begin < 4


def test_our_threads_rest_meanwhile():
    """What runs before it in parallel does not wait for work on a core that a library may use."""

    def rest(x):
        before = time.process_time()
        time.sleep(0.1)
        return np.array(time.process_time() - before)

    f = fw.jit(lambda x: fw.pure_callback(rest, Struct((), fw.f64), fw.sum(fw.sin(x))) + 0 * x[0])
    assert f(np.ones(1_000_000)) < 0.05


def test_in_the_child_of_a_fork():
    """The child calls what the parent compiled."""
    f = fw.jit(lambda x: fw.pure_callback(doubled, Struct(x.shape, x.dtype), x + 1) + 1)
    f(np.zeros(3))
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(f(np.zeros(3)), np.full(3, 3.0)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_it_may_fork():
    """No lock of ours is held meanwhile."""
    def fork(x):
        child = os.fork()
        if not child:
            os._exit(int(x[0]))
        return np.asarray(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    f = fw.jit(lambda x: fw.pure_callback(fork, Struct((), fw.i64), x + 1) + 1)
    assert f(np.full(5, 6)) == 8


PROGRAM = """
import sys
import numpy as np
import flatweave as fw

def named(x):
    return x * 2

f = fw.jit(lambda x: fw.pure_callback({fn}, fw.ShapeDtypeStruct(x.shape, x.dtype), x + 1))
assert (np.asarray(f(np.zeros(3))) == 2).all()
print("flatweave.pipeline" in sys.modules)
"""


@pytest.mark.parametrize("fn, is_compiled_again", [("named", False), ("lambda x: x * 2", True)])
def test_programs_are_kept_for_later_processes(tmp_path, fn, is_compiled_again):
    """If the function is found by its module and name."""
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM.format(fn=fn)))
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "FLATWEAVE_VERIFY": "0"}
    runs = [
        subprocess.run([sys.executable, file], env=env, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [each.stdout.strip() for each in runs] == ["True", str(is_compiled_again)]


def test_in_chunks():
    """A whole array is fetched; rows are done where they are."""

    @fw.jit
    def f(xs):
        order = fw.pure_callback(np.argsort, Struct(xs.shape[:1], fw.i64), xs[:, 0])
        rows = fw.map(
            lambda r: fw.pure_callback(np.sort, Struct(r.shape, r.dtype), r,
                                       vmap_method="broadcast_all"), xs
        )
        total = fw.pure_callback(np.sum, Struct((), xs.dtype), xs)
        return order, rows + 1, total, fw.pure_callback(doubled, Struct(xs.shape, xs.dtype), xs)

    xs = np.arange(40.0).reshape(10, 4)[::-1, ::-1]
    wanted = np.argsort(xs[:, 0]), np.sort(xs) + 1, np.sum(xs), xs * 2
    for found, value in zip(f(fw.Chunked([xs[:3], xs[3:]])), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(found), value)


def test_notes_tell_of_calls():
    """Where they are made, and why a program is not kept."""
    f = fw.jit(lambda x: fw.pure_callback(lambda v: v, Struct(x.shape, x.dtype), x + 1))
    notes = "\n".join(f.stages(np.zeros(3)).notes)
    assert "is called on the host" in notes
    assert "compiled anew in each process" in notes
    g = fw.jit(lambda x: fw.pure_callback(doubled, Struct(x.shape, x.dtype), x + 1))
    assert "compiled anew" not in "\n".join(g.stages(np.zeros(3)).notes)
