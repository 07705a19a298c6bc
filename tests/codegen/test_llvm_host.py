"""Host programs: buffers, loops, launches, failures and results, through fw_main."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from flatweave.base.dtypes import DTYPES, DType, bool_, f64, i8, i32, i64
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.host import Alloc, Fail, Free, IsUnique, Launch, Retain, Threads, Trim
from flatweave.kernel_ir.syntax import Kernel, Load, Report, Sync
from flatweave.runtime.native import support
from flatweave.terms.build import index
from flatweave.terms.syntax import Lambda, constant
from tests.codegen.llvm_programs import Outcome, Writer, buffer, for_each, run_host


def elementwise(name: str, step, dtype: DType = i64) -> Kernel:
    """A kernel ys[i] = step(xs[i]) over n elements."""

    def body(w, n, xs, ys):
        for_each(w, n, 8, lambda w, i: w.store(ys, i, step(w, w.load(xs, i))))

    fn = Writer().fn([i64, buffer(dtype), buffer(dtype)], body)
    return Kernel(name, fn.params, Lambda((), fn.lets, ()))


def launch(w: Writer, kernel: str, *args) -> None:
    w.do(Launch(kernel, index(1), args))


def drop(outcome: Outcome, number: int) -> None:
    """Give a result's buffer back, as its Python owner does."""
    owner = int(outcome.slots[outcome.first + number + 1])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(support().address("fw_drop"))(owner)


DOUBLE = elementwise("double", lambda w, x: w.add(x, x))


def test_a_buffer_goes_round_a_loop() -> None:
    """Each iteration allocates, launches, frees the last buffer; the last one is the result."""
    xs = np.arange(100)

    def host(w, n, turns, xs):
        def going(w, t, xs):
            return w.apply("lt", t, turns)

        def turn(w, t, old):
            new = w.do(Alloc(i64, n, 5))
            launch(w, "double", n, old, new)
            w.do(Free(old))
            return w.add(t, index(1)), new

        t, last = w.repeat([index(0), xs], going, turn)
        return t, last

    fn = Writer().fn([i64, i64, buffer(i64)], host)
    outcome = run_host(fn, [DOUBLE], [100, 10, xs])
    assert (outcome.status, outcome.scalar(0)) == (0, 10)
    np.testing.assert_array_equal(outcome.array(1, i64, 100), xs * 1024)
    assert outcome.live == 0
    drop(outcome, 1)
    borrowed = run_host(fn, [DOUBLE], [100, 0, xs])
    assert borrowed.slots[borrowed.first + 1] == xs.ctypes.data
    assert borrowed.slots[borrowed.first + 2] == 0


def test_two_buffers_swap_places() -> None:
    """A loop whose state is two buffers that change roles."""
    xs = np.arange(50)

    def host(w, n, turns, xs):
        a, b = w.do(Alloc(i64, n, 1)), w.do(Alloc(i64, n, 2))
        launch(w, "double", n, xs, a)

        def turn(w, t, a, b):
            launch(w, "double", n, a, b)
            return b, a

        a, b = w.loop(index(0), turns, index(1), [a, b], turn)
        w.do(Free(b))
        return a

    outcome = run_host(Writer().fn([i64, i64, buffer(i64)], host), [DOUBLE], [50, 7, xs])
    assert outcome.status == 0
    np.testing.assert_array_equal(outcome.array(0, i64, 50), xs * 256)
    assert outcome.live == 0
    drop(outcome, 0)


def test_if_chooses_between_an_input_and_a_fresh_buffer() -> None:
    """The owner comes with the data through the phi."""
    xs = np.arange(20)

    def host(w, n, flag, xs):
        def then(w):
            ys = w.do(Alloc(i64, n, 1))
            launch(w, "double", n, xs, ys)
            return ys

        return w.choose(flag, then, lambda w: xs)

    fn = Writer().fn([i64, bool_, buffer(i64)], host)
    fresh = run_host(fn, [DOUBLE], [20, True, xs])
    np.testing.assert_array_equal(fresh.array(0, i64, 20), 2 * xs)
    assert fresh.slots[fresh.first] == fresh.slots[fresh.first + 1]
    drop(fresh, 0)
    borrowed = run_host(fn, [DOUBLE], [20, False, xs])
    assert (borrowed.slots[borrowed.first], borrowed.slots[borrowed.first + 1]) == (
        xs.ctypes.data, 0,
    )  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("n", [-7, -6, -1, 0, 1, 5, 6, 7, -(1 << 63), (1 << 63) - 1])
def test_a_divisor_that_is_known_to_be_positive(n: int) -> None:
    """What is divided may be anything."""

    def host(w, n, m):
        large = w.apply("maximum", m, index(3))
        small = w.apply("minimum", large, index(5))
        return w.apply("floordiv", n, large), w.apply("floordiv", n, small)

    for m in (-4, 0, 4, 6):
        outcome = run_host(Writer().fn([i64, i64], host), [], [n, m])
        large = max(m, 3)
        assert (outcome.scalar(0), outcome.scalar(1)) == (n // large, n // min(large, 5))


@pytest.mark.parametrize("count", [1 << 60, -1, (1 << 63) - 1, -(1 << 63), 1 << 61])
def test_memory_that_there_is_not(count: int) -> None:
    """An allocation that cannot be ends the program with a report of the count and the dtype."""

    def host(w, n):
        return w.do(Alloc(f64, n, 9))

    outcome = run_host(Writer().fn([i64], host), [], [count])
    assert outcome.status == 1
    assert outcome.report == (1, 9, 0, count, DTYPES.index(f64))


def test_fail_ends_the_program() -> None:
    """What comes after is not run; the values are in the context, and that it is no element."""

    def host(w, n, xs):
        w.do(Fail(w.apply("lt", n, index(0)), 3, 8, n, w.load(xs, index(0))))
        return w.mul(n, index(2))

    fn = Writer().fn([i64, buffer(i32)], host)
    xs = np.array([-7], np.int32)
    bad, good = run_host(fn, [], [-4, xs]), run_host(fn, [], [4, xs])
    assert (bad.status, bad.report) == (1, (3, 8, -1, -4, -7))
    assert (good.status, good.scalar(0)) == (0, 8)


def test_an_error_in_a_kernel_ends_the_program() -> None:
    """The launch after the report does not happen."""
    xs = np.array([1, 2, -3, 4])

    def check(w, x):
        w.when(w.apply("lt", x, index(0)), lambda w: (w.do(Report(2, 6, x, x, x)), None)[1])
        return x

    def host(w, n, xs):
        launch(w, "check", n, xs, xs)
        launch(w, "double", n, xs, xs)

    fn = Writer().fn([i64, buffer(i64)], host)
    outcome = run_host(fn, [elementwise("check", check), DOUBLE], [4, xs])
    assert (outcome.status, outcome.report) == (1, (2, 6, -3, -3, -3))
    assert xs.tolist() == [1, 2, -3, 4]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scalars_in_and_out(dtype: DType) -> None:
    """A scalar of every dtype goes through the slots, a kernel's arguments and a host load."""

    def put(w, x, ys):
        w.store(ys, index(0), x)

    def host(w, x):
        ys = w.do(Alloc(dtype, index(1), 1))
        launch(w, "put", x, ys)
        y = w.do(Load(ys, index(0)))
        w.do(Free(ys))
        return y, x

    fn = Writer().fn([dtype, buffer(dtype)], put)
    kernel = Kernel("put", fn.params, Lambda((), fn.lets, ()))
    value = dtype.numpy.type(dtype.high if not dtype.is_float else 1.25)
    outcome = run_host(Writer().fn([dtype], host), [kernel], [value])
    assert outcome.scalar(0, dtype) == outcome.scalar(1, dtype) == value
    assert outcome.live == 0


def test_owners_are_counted() -> None:
    """Retain makes a buffer shared; an input is never ours to overwrite; trim keeps the rest."""

    def host(w, xs):
        ys = w.do(Alloc(i8, index(1 << 22), 1))
        first = w.do(IsUnique(ys))
        w.do(Retain(ys))
        second, inputs = w.do(IsUnique(ys)), w.do(IsUnique(xs))
        w.do(Free(ys))
        w.do(Trim(ys, index(100)))
        third = w.do(IsUnique(ys))
        w.do(Free(ys))
        return first, second, inputs, third, w.do(Threads())

    outcome = run_host(Writer().fn([buffer(i8)], host), [], [np.zeros(3, np.int8)])
    flags = [bool(outcome.scalar(k, bool_)) for k in range(4)]
    assert flags == [True, False, False, True]
    assert outcome.scalar(4) == 1
    assert outcome.live == 0


def test_a_cancelled_loop_ends() -> None:
    """A host loop that would never end looks at the cancel flag in every iteration."""

    def host(w, xs):
        w.repeat([index(0)], lambda w, t: constant(True, bool_), lambda w, t: w.add(t, index(1)))

    fn = Writer().fn([buffer(i64)], host)
    outcome = run_host(fn, [], [np.zeros(1, np.int64)], cancel=True)
    assert outcome.status == 1


def test_ops_out_of_place_are_refused() -> None:
    """A barrier in the host program is a fault of the compiler, and says so."""
    fn = Writer().fn([], lambda w: (w.do(Sync()), None)[1])
    with pytest.raises(CompilerBug, match="sync cannot stand here"):
        run_host(fn, [], [])
