"""Few bins are a thread's own, until all of its elements are in them: the same results."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.runtime.devices import nvrtc

SIZE, THREADS = 300, 128
RNG = np.random.default_rng(12)
KEYS = RNG.integers(0, 4, 2 * SIZE)
XS = RNG.integers(-9, 10, 2 * SIZE)
UPDATES = {
    "add": (fk.atomic_add, np.add, 0),
    "max": (fk.atomic_max, np.maximum, -100),
    "min": (fk.atomic_min, np.minimum, 100),
    "xor": (fk.atomic_xor, np.bitwise_xor, 5),
    "mul": (lambda m, k, x: fk.atomic(lambda a, b: a * b, m, k, x), np.multiply, 3),
}


def kernel_of(write, bins, start, q, dtype=np.int64):
    """Bins of each block, into which `write(m, i, key, x)` puts each element."""

    @fk.kernel(threads=THREADS)
    def kernel(keys, xs):
        @fk.sequential(q)
        def block(b):
            m = fk.fill(fk.replicate(bins, dtype(start)))
            fk.for_all(SIZE, lambda i: write(m, i, keys[b * SIZE + i], xs[b * SIZE + i]))
            fk.barrier()
            return m.pull()

        return fk.generate(2, block)

    return kernel


def want(ufunc, bins, start, keys, xs):
    """The same in NumPy."""
    found = np.full((2, bins), start, xs.dtype)
    with np.errstate(over="ignore"):
        for b in range(2):
            part = slice(b * SIZE, (b + 1) * SIZE)
            ufunc.at(found[b], keys[part], xs[part])
    return found.ravel()


def check(kernel, keys, xs, wanted):
    """Distributed as a device does it, as written for one, and on the CPU."""
    np.testing.assert_array_equal(kernel.simulate(keys, xs, threads=THREADS), wanted)
    with fw.target("interp"):
        np.testing.assert_array_equal(kernel.simulate(keys, xs, seed=1, blocks=2), wanted)
    with fw.target("cpu"):
        np.testing.assert_array_equal(kernel(keys, xs), wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("bins", [1, 4])
def test_updates(name, bins):
    """Onto what was there before, with a q that divides nothing."""
    update, ufunc, start = UPDATES[name]
    keys = KEYS % bins
    kernel = kernel_of(lambda m, i, k, x: update(m, k, x), bins, start, 7)

    check(kernel, keys, XS, want(ufunc, bins, start, keys, XS))
    assert kernel.counts(keys, XS, threads=THREADS).local_writes > 0
    assert kernel.counts(keys, XS, threads=THREADS).shared_atomics == 2 * 64 * bins


def test_some_elements():
    """Updates under a condition, of two arrays, by floats whose zeros keep their sign."""

    @fk.kernel(threads=THREADS)
    def kernel(xs: fk.Pull[fw.f32]):
        @fk.sequential(8)
        def block(b):
            sums = fk.fill(fk.replicate(2, np.float32(-0.0)))
            count = fk.fill(fk.replicate(1, 0))

            def thread(i):
                x = xs[b * SIZE + i]
                fk.when(x > 0, lambda: fk.atomic_add(sums, 1, x))
                fk.atomic_inc(count, 0)

            fk.for_all(SIZE, thread)
            fk.barrier()
            return sums.pull(), count.pull()

        return fk.generate(2, block)

    xs = XS.astype(np.float32)
    for options in ({"threads": THREADS}, {}):
        with fw.target("interp"):
            sums, count = kernel.simulate(xs, **options)
        assert np.signbit(sums[::2]).all()  # nobody added anything, not even 0.0
        assert sums[1::2].tolist() == [part[part > 0].sum() for part in xs.reshape(2, SIZE)]
        assert count.tolist() == [SIZE, SIZE]
    nvrtc.ptx(kernel.text["cuda"])


@pytest.mark.needs_opencl
@pytest.mark.parametrize("name", UPDATES)
def test_on_a_device(name):
    """OpenCL."""
    update, ufunc, start = UPDATES[name]
    kernel = kernel_of(lambda m, i, k, x: update(m, k, x), 4, start, 16)
    with fw.target("opencl"):
        found = kernel(KEYS, XS)
    np.testing.assert_array_equal(found, want(ufunc, 4, start, KEYS, XS))


def twice(m, i, k, x):
    """By two functions."""
    fk.atomic_add(m, k, x)
    fk.atomic_max(m, k, x)


def earlier(m, i, k, x):
    """What was there before is asked for."""
    fk.when(fk.atomic_add(m, k, x) < -10**6, lambda: fk.atomic_add(m, k, 1))


@pytest.mark.parametrize(
    ("write", "bins", "q"),
    [
        (lambda m, i, k, x: fk.atomic_add(m, k, x), 4, 4),  # no fewer than a thread's elements
        (lambda m, i, k, x: fk.atomic_add(m, k, x), 40, 300),  # more than its registers
        (lambda m, i, k, x: fk.atomic_exchange(m, 0, 1), 1, 8),
        (lambda m, i, k, x: fk.atomic(lambda a, b: a - b, m, k, x), 4, 8),  # no neutral element
        (twice, 4, 8),
        (earlier, 4, 8),
    ],
)  # fmt: skip
def test_what_stays_an_update(write, bins, q):
    """Where own bins would not pay, or not be the same."""
    counts = kernel_of(write, bins, 0, q).counts(KEYS, XS, threads=THREADS)

    assert counts.shared_atomics >= 2 * SIZE
    assert counts.local_writes == 0
