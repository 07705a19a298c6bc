"""O35: indivisible updates, by instructions, by compare-and-swap and under locks."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.config import config
from tests.kernel.programs import check, refused

N, PLACES = 512, 5
RNG = np.random.default_rng(35)
AT = RNG.integers(0, PLACES, N)
XS = RNG.integers(-40, 40, N)


def scatter(start, update, shared=False):
    """A kernel whose thread i does update(m, index, value i); m begins with `start` everywhere."""

    def write(places, values):
        parts = fk.zip(fk.split_up(128, places), fk.split_up(128, values))

        def thread(m):
            return lambda part: lambda t: update(m, part[0][t], part[1][t])

        if not shared:
            m = fk.fill(fk.replicate(PLACES, start()))
            fk.for_all(parts.length, lambda b: fk.for_all(128, thread(m)(parts[b])))
            return m

        def block(part):
            m = fk.fill(fk.replicate(PLACES, start()))
            fk.for_all(128, thread(m)(part))
            fk.barrier()
            return m.pull()

        return fk.pconcat_map(block, parts)

    return fk.kernel(write)


def wanted(start, op, values, shared=False):
    """What NumPy and a loop find."""
    blocks = 4 if shared else 1
    found = [[start] * PLACES for _ in range(blocks)]
    for k, (at, value) in enumerate(zip(AT, values, strict=True)):
        row = found[k * blocks // N]
        row[at] = op(row[at], value)
    return np.array([x for row in found for x in row])


NATIVE = [
    (fk.atomic_add, np.add, 0), (fk.atomic_min, np.minimum, 100), (fk.atomic_max, np.maximum, 0),
    (fk.atomic_and, np.bitwise_and, 127), (fk.atomic_or, np.bitwise_or, 0),
    (fk.atomic_xor, np.bitwise_xor, 0), (fk.atomic_sub, np.subtract, 0),
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize("dtype", [fw.i8, fw.u16, fw.i32, fw.u64], ids=lambda dtype: dtype.name)
def test_instructions(dtype, shared):
    """Of all integers, small ones as a part of the word around them."""
    values = (XS % 50).astype(dtype.numpy)
    for update, op, start in NATIVE:
        with np.errstate(over="ignore"):
            want = wanted(dtype.numpy.type(start), op, values, shared)
        check(scatter(lambda start=start: dtype(start), update, shared), AT, values, want=want)


@pytest.mark.sampled
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize("dtype", [fw.f32, fw.f64], ids=lambda dtype: dtype.name)
def test_floats(dtype, shared):
    """Whole numbers, so that sums are exact in any order."""
    values = XS.astype(dtype.numpy)
    for update, op in ((fk.atomic_add, np.add), (fk.atomic_max, np.maximum)):
        want = wanted(dtype.numpy.type(0), op, values, shared)
        check(scatter(lambda: dtype(0), update, shared), AT, values, want=want)


def test_bools():
    """Bit operations and extremes, without sums."""
    values = XS % 3 == 0
    for update, op in ((fk.atomic_or, np.logical_or), (fk.atomic_xor, np.logical_xor),
                       (fk.atomic_max, np.logical_or)):  # fmt: skip
        check(scatter(lambda: fw.bool_(False), update), AT, values,
              want=wanted(False, op, values))  # fmt: skip
    assert "has such an operation" in refused(
        scatter(lambda: fw.bool_(False), fk.atomic_add), AT, values)


@pytest.mark.sampled
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize("dtype", [fw.u8, fw.i16, fw.i32, fw.f64], ids=lambda dtype: dtype.name)
def test_any_operator(dtype, shared):
    """By compare-and-swap, of small ones in the word around them."""
    values = (XS % 3 + 1).astype(dtype.numpy)

    def op(a, b):
        return a * b % 17 if dtype.is_integer else fw.maximum(a, 1 / b) + b * 0

    def want_op(a, b):
        return a * b % 17 if dtype.is_integer else np.maximum(a, 1 / b)

    def update(m, i, value):
        fk.atomic(op, m, i, value)

    with np.errstate(over="ignore"):
        want = wanted(dtype.numpy.type(1), want_op, values, shared)
    check(scatter(lambda: dtype(1), update, shared), AT, values, want=want.astype(dtype.numpy))


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
def test_component_by_component(shared):
    """Components that know nothing of each other need no lock."""

    def op(a, b):
        return a[0] + b[0], fw.maximum(a[1], b[1])

    def update(m, i, value):
        fk.atomic(op, m, i, (value, value))

    kernel = scatter(lambda: (fw.i64(0), fw.i64(-50)), update, shared)
    check(kernel, AT, XS, want=(
        wanted(0, np.add, XS, shared), wanted(-50, np.maximum, XS, shared)
    ))  # fmt: skip
    assert "locked_update" not in kernel.text["kernel"]


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
def test_elements_of_several_words_under_a_lock(shared):
    """The greatest value and where it is."""

    def better(a, b):
        wins = (b[0] > a[0]) | (b[0] == a[0]) & (b[1] < a[1])
        return fw.where(wins, b[0], a[0]), fw.where(wins, b[1], a[1])

    def update(m, i, value):
        fk.atomic(better, m, i, (value, value * 2))

    kernel = scatter(lambda: (fw.i64(-50), fw.i64(0)), update, shared)
    best = wanted(-50, np.maximum, XS, shared)
    check(kernel, AT, XS, want=(best, 2 * best))
    assert "locked_update" in kernel.text["kernel"]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("bits", [8, 64, 128])
def test_by_any_number_of_threads(threads, bits):
    """Of the machine: instructions, swaps and locks keep every update of 64,000."""
    def update(m, i, value):
        if bits == 8:
            fk.atomic(lambda a, b: a * 3 + b * 0 + 1, m, i, value.astype(fw.u8))
        elif bits == 64:
            fk.atomic_add(m, i, value)
        else:
            fk.atomic(both, m, i, (value, value * 2))

    def both(a, b):
        return a[0] + b[0], fw.where(a[0] > 10**12, a[1], a[1] + b[1])

    starts = {8: lambda: fw.u8(0), 64: lambda: fw.i64(0), 128: lambda: (fw.i64(0), fw.i64(0))}
    places, values = np.tile(AT, 125), np.tile(XS, 125)
    with config.scoped(target="cpu", threads=threads):
        kernel = scatter(starts[bits], update)
        found = kernel(places, values)
    assert ("locked_update" in kernel.text["kernel"]) == (bits == 128)
    sums = np.bincount(places, values, PLACES).astype(np.int64)
    if bits == 8:
        times = np.bincount(places)
        want = [0] * PLACES
        for k in range(PLACES):
            for _ in range(times[k]):
                want[k] = (want[k] * 3 + 1) % 256
        assert found.tolist() == want
    elif bits == 64:
        assert found.tolist() == sums.tolist()
    else:
        assert [x.tolist() for x in found] == [sums.tolist(), (2 * sums).tolist()]


@pytest.mark.sampled
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize(
    "dtype", [fw.i8, fw.u32, fw.i64, fw.f32, fw.f64, fw.bool_], ids=lambda dtype: dtype.name
)
def test_exchange(dtype, shared):
    """Every value ever at an index is exchanged out of it once, or is there at the end."""
    if shared and dtype.bits < 32:
        return

    @fk.kernel
    def turns(values):
        if not shared:
            m = fk.fill(fk.replicate(1, dtype(0)))
            out = fk.memory(values.length, dtype)
            parts = fk.split_up(32, values)

            def thread(b, t):
                out[b * 32 + t] = fk.atomic_exchange(m, 0, parts[b][t])

            fk.for_all(parts.length, lambda b: fk.for_all(32, lambda t: thread(b, t)))
            return m, out

        def block(part):
            m = fk.fill(fk.replicate(1, dtype(0)))
            out = fk.memory(32, dtype)

            def thread(t):
                out[t] = fk.atomic_exchange(m, 0, part[t])

            fk.for_all(32, thread)
            fk.barrier()
            return m.pull(), out.pull()

        return fk.pconcat_map(block, fk.split_up(32, values))

    values = np.arange(1, 33).astype(dtype.numpy)
    for target in ("cpu", "interp"):
        with fw.target(target):
            last, found = turns(values)
        assert sorted([*last, *found]) == sorted([0, *values])
    assert turns.text["cuda"] and turns.text["opencl"] and turns.text["ptx"]


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
def test_all_of_them_compile_for_cuda(shared):
    """By NVRTC: every operator, of every dtype."""
    pytest.importorskip("cuda.bindings.nvrtc")

    dtypes = (fw.i8, fw.u8, fw.i16, fw.u16, fw.i32, fw.u32, fw.i64, fw.u64, fw.f32, fw.f64,
              fw.bool_)  # fmt: skip

    def updates(m, dtype, x):
        one = x.astype(dtype)
        if dtype.bits >= 32 or not shared:
            for update in (fk.atomic_min, fk.atomic_max, fk.atomic_exchange):
                update(m, 0, one)
            for update in (fk.atomic_and, fk.atomic_or, fk.atomic_xor):
                if not dtype.is_float:
                    update(m, 0, one)
            if dtype is not fw.bool_:
                fk.atomic_sub(m, 0, one)
        fk.atomic(lambda a, b: fw.where(b == a, b, a), m, 0, one)

    def swap(m, x):
        fk.atomic(lambda a, b: (a[0] ^ b[0], fw.where(a[0], a[1], b[1])), m, 0, (True, x))

    def every(xs):
        made = [] if shared else memories(xs)

        def block(_):
            singles, pairs = memories(xs) if shared else made
            for dtype, m in zip(dtypes, singles, strict=True):
                fk.for_all(1, lambda t, m=m, dtype=dtype: updates(m, dtype, xs[0]))
            fk.for_all(1, lambda t: swap(pairs, xs[0]))

        fk.for_all(1, block)
        return xs

    def memories(xs):
        singles = [fk.fill(fk.replicate(1, dtype(0))) for dtype in dtypes]
        return singles, fk.fill(fk.replicate(1, (fw.bool_(False), xs[0])))

    kernel = fk.kernel(every)
    kernel(np.ones(1, np.int32))
    assert ".entry" in kernel.text["ptx"]
    assert kernel.text["opencl"]


def test_memory_of_a_thread_and_of_a_warp():
    """A thread's own needs nothing; a warp's may be of any kind."""

    @fk.kernel
    def kernel(xs):
        def warp(part):
            m = fk.fill(fk.replicate(2, (fw.i64(0), fw.f32(1))))

            def thread(t):
                own = fk.fill(fk.replicate(1, 0))
                fk.atomic(lambda a, b: a + b, own, 0, part[t])
                fk.atomic(lambda a, b: (a[0] + b[0], a[1] * b[1] + a[0].astype(fw.f32) * 0),
                          m, t % 2, (own[0], fw.f32(2)))

            fk.for_all(32, thread)
            fk.barrier()
            return m.pull()

        return fk.pconcat_map(
            lambda part: fk.pconcat_map(warp, fk.split_up(32, part), level=fk.WARP),
            fk.split_up(64, xs))

    xs = np.arange(128)
    check(kernel, xs, want=(
        xs.reshape(4, 16, 2).sum(1).ravel(), np.full(8, 2.0**16, np.float32)))


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (lambda m, t: fk.atomic(lambda a, b: a + b + t, m, 0, 1), "reads a number of the thread"),
        (lambda m, t: fk.atomic(lambda a, b: 1.5, m, 0, 1), "where others are i64"),
        (lambda m, t: fk.atomic_add(m, 0, 1.5), "where others are i64"),
        (lambda m, t: fk.atomic_inc(m.pull(), 0), "changes memory, got a Pull"),
        (lambda m, t: fk.atomic(max, m.pull(), 0, 1), "changes memory, got a Pull"),
        (lambda m, t: m.pull().__setitem__(0, 1), "a pull array is a function"),
    ],
)
def test_refused(update, message):
    """An operator's operands are two elements, and what the host knows."""

    def write(xs):
        m = fk.fill(fk.replicate(1, 0))
        fk.for_all(4, lambda b: fk.for_all(4, lambda t: update(m, t)))
        return m

    assert message in refused(fk.kernel(write), XS)


def test_in_code_of_a_block():
    """Which of its threads would do it?"""

    def write(xs):
        m = fk.fill(fk.replicate(1, 0))
        fk.for_all(4, lambda b: fk.atomic_inc(m, 0))
        return m

    assert "for_all(1, ..) is one of them" in refused(fk.kernel(write), XS)
