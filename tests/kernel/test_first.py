"""Kernels of all levels give what NumPy gives, on the CPU and in the simulator."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused


def plus(a, b):
    return a + b


@fk.kernel
def add(xs: fk.Pull[fw.f32], ys: fk.Pull[fw.f32]):
    return fk.zip_with(plus, xs, ys)


@fk.kernel
def sums_of_blocks(xs):
    def block(part):
        while part.length > 1:
            a, b = fk.halve(part)
            part = fk.force(fk.zip_with(plus, a, b))
        return part

    return fk.pconcat_map(block, fk.split_up(256, xs))


@fk.kernel
def sum_in_two_launches(xs):
    def block(part):
        part = fk.force(fk.pconcat_map(lambda c: fk.seq_reduce(plus, c), fk.coalesce(8, part)))
        while part.length > 1:
            part = fk.force(fk.zip_with(plus, *fk.halve(part)))
        return part

    sums = fk.force(fk.pconcat_map(block, fk.split_up(512, xs)))
    return fk.generate(1, lambda _: fk.generate(1, lambda _: fk.seq_reduce(plus, sums, 0)))


@fk.kernel
def escape_times(width: fw.i64, height: fw.i64):
    def pixel(i, j):
        cx = -2.0 + j.astype(fw.f64) * 3.0 / width.astype(fw.f64)
        cy = -1.0 + i.astype(fw.f64) * 2.0 / height.astype(fw.f64)

        def step(state):
            x, y, n = state
            return x * x - y * y + cx, 2 * x * y + cy, n + 1

        def is_near(state):
            return (state[0] * state[0] + state[1] * state[1] < 4) & (state[2] < 50)

        return fk.seq_until(step, is_near, (0.0, 0.0, 0))[2].astype(fw.u8)

    return fk.generate(height, lambda i: fk.generate(64, lambda j: pixel(i, j)))


def _escape_times(width, height):
    out = np.zeros((height, width), np.uint8)
    for i in range(height):
        for j in range(width):
            x = y = 0.0
            cx, cy = -2.0 + j * 3.0 / width, -1.0 + i * 2.0 / height
            while x * x + y * y < 4 and out[i, j] < 50:
                x, y = x * x - y * y + cx, 2 * x * y + cy
                out[i, j] += 1
    return out.ravel()


@fk.kernel
def counts(xs):
    found = fk.fill(fk.replicate(16, 0))
    fk.for_all(
        xs.length // 256,
        lambda b: fk.for_all(256, lambda t: fk.atomic_inc(found, xs[b * 256 + t])),
    )
    return found


@fk.kernel
def sums_of_warps(xs):
    def warp(part):
        while part.length > 1:
            part = fk.force(fk.zip_with(plus, *fk.halve(part)))
        return part

    def block(part):
        return fk.pconcat_map(warp, fk.split_up(32, part), level=fk.WARP)

    return fk.pconcat_map(block, fk.split_up(256, xs))


@fk.kernel
def there_and_back(xs):
    return fk.pconcat_map(lambda p: fk.concat_p(p, fk.reverse(p)), fk.split_up(32, xs))


@fk.kernel
def doubled(xs):
    parts = fk.split_up(64, xs, pad=0)
    return fk.take(xs.length, fk.pconcat_map(lambda p: fk.map(lambda v: v * 2, p), parts))


@fk.kernel
def prefixes_of_threads(xs):
    def block(part):
        return fk.pconcat_map(lambda c: fk.seq_scan(plus, c), fk.split_up(4, part))

    return fk.pconcat_map(block, fk.split_up(64, xs))


@fk.kernel
def with_its_reverse(xs):
    return fk.zip(xs, fk.reverse(xs))


@fk.kernel
def transposed(matrix):
    return fk.transpose(matrix)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 1023, 1025, 40_000])
def test_arrays_of_the_grid_have_any_length(n):
    """Nobody has to divide them among blocks."""
    xs = np.arange(n, dtype=np.float32)

    check(add, xs, xs, want=2 * xs, simulate=n < 2000)


XS = np.arange(4096)


@pytest.mark.parametrize(
    ("kernel", "args", "want"),
    [
        (sums_of_blocks, (XS,), XS.reshape(-1, 256).sum(1)),
        (sum_in_two_launches, (XS,), np.array([XS.sum()])),
        (escape_times, (64, 20), _escape_times(64, 20)),
        (counts, (XS % 13,), np.bincount(XS % 13, minlength=16)),
        (sums_of_warps, (XS[:1024],), XS[:1024].reshape(-1, 32).sum(1)),
        (there_and_back, (XS[:64],), XS[[*range(32), *range(31, -1, -1), *range(32, 64),
                                         *range(63, 31, -1)]]),
        (doubled, (XS[:100],), 2 * XS[:100]),
        (prefixes_of_threads, (XS[:128],), XS[:128].reshape(-1, 4).cumsum(1).ravel()),
        (with_its_reverse, (XS[:10],), (XS[:10], XS[9::-1])),
        (transposed, (XS[:35].reshape(5, 7),), XS[:35].reshape(5, 7).T),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_kernels(kernel, args, want):
    """On the CPU and in the simulator."""
    check(kernel, *args, want=want)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda xs: fk.for_all(4, lambda b: fk.for_all(4, lambda t: fk.barrier())),
         "a barrier in code of one thread"),
        (lambda xs: fk.for_all(4, lambda b: fk.for_all(4, lambda t: fk.for_all(4, print))),
         "among units below a thread"),
        (lambda xs: fk.pconcat_map(lambda part: fk.force(xs), fk.split_up(4, xs)),
         "length is known at run time only"),
        (lambda xs: fk.push(xs)[0], "a push array cannot be indexed"),
        (lambda xs: "a", "returns a str"),
        (lambda xs: fk.split_up(3, fk.iterations(4)), "cuts 4 elements into parts of 3"),
        (lambda xs: fk.pconcat_map(lambda p: p, fk.split_up(3, xs)), "and that leaves some over"),
        (lambda xs: fk.map(lambda x: fw.sum(fw.iota(3)), xs), "is an operation on arrays"),
    ],
)  # fmt: skip
def test_refused(write, message):
    """What cannot be done is said where the user wrote it."""
    assert message in refused(fk.kernel(write), np.arange(8))


def test_outside_of_a_kernel():
    """Functions that write code need a kernel to write."""
    with pytest.raises(fw.ArgumentError, match="no kernel is being written"):
        fk.barrier()


def test_text_needs_dtypes():
    """Before any call, dtypes come from annotations."""
    assert "kernel add(" in add.text["kernel"]
    with pytest.raises(fw.ArgumentError, match=r"xs: fk.Pull\[fw.f32\]"):
        _ = fk.kernel(lambda xs: xs).text["cuda"]


def test_where_results_are_written():
    """A kernel's result is written after its lines, at the line of its definition."""
    early = fk.kernel(
        lambda xs: fk.make_push(
            8, lambda put: fk.for_all(2, lambda b: fk.for_all(4, lambda t: put(t, xs[t])))
        )
    )

    @fk.kernel
    def without_barrier(xs):
        def block(part):
            held = fk.memory(64, fw.i64)
            fk.for_all(64, lambda t: held.__setitem__(t, part[t]))
            return fk.reverse(held.pull())

        return fk.pconcat_map(block, fk.split_up(64, xs))  # here

    for kernel, line in ((early, "lambda t: put(t, xs[t])"), (without_barrier, "# here")):
        with pytest.raises(fw.KernelError) as caught:
            kernel.simulate(XS[:64])
        assert line in str(caught.value)


@pytest.mark.parametrize("name", ["<lambda>", "größer", "_"])
def test_names_in_text(name):
    """C knows fewer letters than Python."""

    def double(xs):
        return fk.map(lambda x: x + x, xs)

    double.__name__ = name
    kernel = fk.kernel(double)
    kernel(np.arange(3))

    assert re.search(r"\bk_[a-z_]+\(", kernel.text["cuda"])
