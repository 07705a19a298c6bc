"""@jit: traces once for dtypes, ranks and static arguments; what it accepts, what it gives."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.call import eager
from tests.language.agreement import same


def test_one_trace_for_all_sizes(target):
    """Sizes are arguments of the program."""
    f = fw.jit(lambda x, y: fw.sum(x * y) + x.shape[0])

    for n in (0, 1, 2, 10, 1000):
        x = np.arange(n, dtype=np.float64)
        same(f(x, x), np.float64((x * x).sum() + n), ulps=64)
    assert f.traces == 1


def test_one_trace_for_each_signature(target):
    """Dtypes, ranks, structures and weak numbers are what counts."""
    f = fw.jit(lambda x, y: x + y)
    x = np.arange(3)
    calls = [(x, x), (x, x[:, None]), (x.astype(np.int8), x), (x, 1), (x, 2), (x, 1.5), (x, True),
             (x, np.int64(1)), (x, np.array(2))]  # fmt: skip

    for a, b in calls:
        same(f(a, b), a + b)
    # (x, x[:, None]) is traced twice: its axis of extent 1 is broadcast
    assert f.traces == 8


def test_static_arguments(target):
    """The trace sees their values."""
    calls = []

    @fw.jit(static_argnames=("n", "mode"))
    def f(x, n, *, mode="up"):
        calls.append((n, mode))
        for _ in range(n):
            x = x + 1 if mode == "up" else x - 1
        return x

    x = np.arange(3)
    same(f(x, 2), x + 2)
    same(f(x, n=2, mode="down"), x - 2)
    same(f(x[:1], 2), x[:1] + 2)
    same(f(x, 3), x + 3)
    assert calls == [(2, "up"), (2, "down"), (3, "up")]


def test_keyword_arguments(target):
    """By name, in any order."""
    f = fw.jit(lambda x, y=2: x - y)

    same(f(np.arange(3)), np.arange(3) - 2)
    same(f(y=np.arange(3), x=1), 1 - np.arange(3))


def test_decorator_forms():
    """With and without arguments, keeping name and docstring."""

    @fw.jit
    def f(x):
        """One more."""
        return x + 1

    @fw.jit(target="interp", checks=True, deterministic=True)
    def g(x):
        return x + 1

    assert f.__name__ == "f"
    assert f.__doc__ == "One more."
    same(f(1), np.int64(2))
    same(g(np.arange(2)), np.arange(2) + 1)


def test_methods(target):
    """A jitted method gets its object as an argument that must be static."""

    class Model:
        scale = 3

        @fw.jit(static_argnames="self")
        def run(self, x):
            return x * self.scale

    same(Model().run(np.arange(3)), np.arange(3) * 3)


def test_jitted_functions_call_each_other(target):
    """Inside a trace a jitted function is part of the caller's program."""
    square = fw.jit(lambda x: x * x)
    f = fw.jit(lambda x: fw.sum(square(x)))

    same(f(np.arange(4)), np.int64(14))
    assert square.traces == 0


def test_closed_over_arrays_are_arguments(target):
    """They are not part of the program's text."""
    table = np.arange(5.0)
    f = fw.jit(lambda i: fw.map(lambda k: table[0] + fw.gather(table, k), i))

    same(f(np.array([1, 3])), np.array([1.0, 3.0]))
    same(fw.jit(lambda x: x + table + fw.iota(5))(1.0), table * 2 + 1)


def test_non_contiguous_and_read_only_arrays(target):
    """They are copied where that is needed, and never written to."""
    x = np.arange(12.0).reshape(3, 4)
    locked = np.arange(3.0)
    locked.setflags(write=False)
    f = fw.jit(lambda x: x + 1)

    same(f(x.T), x.T + 1)
    same(f(x[:, ::2]), x[:, ::2] + 1)
    same(f(locked), locked + 1)


def test_results_do_not_alias_arguments(target):
    """What comes out stays as it is when what went in changes."""
    x = np.arange(3.0)
    y, z = fw.jit(lambda x: (x, x.reshape(3, 1)))(x)
    x[:] = -1

    same((y, z), (np.arange(3.0), np.arange(3.0)[:, None]))


def test_results_are_arrays(target):
    """0-d for scalars, without a copy for NumPy, read-only."""
    y, total = fw.jit(lambda x: (x + 1, fw.sum(x)))(np.arange(3))

    assert isinstance(y, fw.Array)
    assert isinstance(total, fw.Array)
    assert (y.shape, y.dtype, y.ndim, y.size) == ((3,), fw.i64, 1, 3)
    assert fw.i64 == y.dtype
    assert np.shares_memory(np.asarray(y), np.asarray(y))
    assert int(total) == 3
    assert float(total) == 3.0
    assert bool(total)
    assert f"{total:03d}" == "003"
    with pytest.raises(ValueError):
        np.asarray(y)[0] = 5


def test_representation():
    """Short, and as NumPy's."""
    assert repr(fw.iota(3)) == "Array([0, 1, 2], dtype=int64)"
    assert str(fw.iota(3)) == "[0 1 2]"
    assert len(repr(fw.iota(100_000))) < 100
    assert repr(fw.sum(fw.iota(3))) == "Array(3, dtype=int64)"


def test_dlpack(target):
    """In and out."""

    class Foreign:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    x = np.arange(3.0)
    y = fw.jit(lambda x: x + 1)(Foreign(x))

    same(y, x + 1)
    np.testing.assert_array_equal(np.from_dlpack(y, device="cpu"), x + 1)


def test_objects_with_array(target):
    """Anything that NumPy can take."""

    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    same(fw.jit(lambda x: x + 1)(Foreign()), np.arange(3) + 1)


def test_pickle():
    """An array travels as its values."""
    x = pickle.loads(pickle.dumps(fw.iota(3)))

    same(x, np.arange(3))
    assert pickle.loads(pickle.dumps(fw.f32)) is fw.f32


@fw.jit
def plus_one(x):
    return x + 1


class Scaled:
    @fw.jit
    def times(self, x, n):
        return x * n


def test_pickle_of_functions():
    """A decorated one travels by its name, any other with what it calls and its options."""
    assert pickle.loads(pickle.dumps(plus_one)) is plus_one
    assert pickle.loads(pickle.dumps(Scaled.times)) is Scaled.times
    x = np.array([3.0, 1.0, 2.0])
    with fw.target("interp"):
        for fn in (np.median, fw.median, np.sort, np.sin):
            same(pickle.loads(pickle.dumps(fw.jit(fn)))(x), fn(x))
        known = fw.jit(np.reshape, static_argnames="shape", checks=False)
        clone = pickle.loads(pickle.dumps(known))
        assert clone(x, shape=(3, 1)).shape == (3, 1)
        assert (clone.checks, clone.static.names) == (False, {"shape"})


def test_many_threads(target):
    """One function, called at once from many threads with many signatures."""
    f = fw.jit(lambda x, k: fw.scan(fw.add, 0, x * k))
    barrier = threading.Barrier(8)

    def call(k):
        barrier.wait()
        for n in (0, 1, 10, 1000):
            for dtype in (np.int32, np.float64):
                x = np.arange(n, dtype=dtype)
                same(f(x, k), np.cumsum(x * k, dtype=dtype))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))
    assert f.traces == 2


def test_eager_lambdas_do_not_compile_anew(target):
    """Equal programs share their machine code."""
    def call(k):
        return fw.map(lambda v: v * 17 + k, np.arange(3))

    call(np.float32(2))
    before = len(eager._programs)
    for _ in range(3):
        call(np.float32(2))
    assert len(eager._programs) == before


def test_target(target):
    """By name, for a body or for a function."""
    with fw.target("interp"):
        same(fw.iota(2), np.arange(2))
    with pytest.raises(fw.ArgumentError), fw.target("abacus"):
        pass
    with pytest.raises(fw.ArgumentError):
        fw.jit(lambda x: x, target="abacus")(1)


def test_stages():
    """What happened to a call, without running it."""
    stages = fw.jit(lambda x: fw.sum(x * x), target="cpu").stages(np.arange(3.0))

    assert "reduce" in stages.text["array"]
    assert stages.kernels == 1
    assert "kernel" in str(stages)
    assert repr(stages) == "<stages of <lambda>: 1 kernel>"
