"""Places computed by quotients, remainders and bits of a number: neighbours where they are."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check
from tests.quick import every

N = 1024
PLACES = {
    "row and column": lambda i: i % 32 * 32 + i // 32,
    "rows turned": lambda i: i // 64 * 64 + 63 - i % 64,
    "columns turned": lambda i: (15 - i // 64) * 64 + i % 64,
    "the other half": lambda i: i ^ 256,
    "a partner": lambda i: i ^ 2,
    "mirrored": lambda i: i ^ 127,
    "mirrored within a register": lambda i: i ^ 3,
    "bits": lambda i: (i & 31) | (i >> 5 << 5),
    "below a mask": lambda i: i & -128,
    "a wider network": lambda i: fk.insert_zero(7, i % 512),
    "a narrow network": lambda i: fk.insert_zero(1, i % 512),
    "a bit": lambda i: fw.where((i & 64) == 0, i + 64, i - 64),
    "halves": lambda i: fw.where(i < 512, i, 1535 - i),
    "from the other side": lambda i: fw.where(i >= 512, i, 511 - i),
    "not more than": lambda i: fw.where(i <= 511, i, 1535 - i),
    "odd rows": lambda i: i % 48 + i // 48 * 48,
    "shifted": lambda i: (i + 5) // 32 * 8 + (i + 3) % 32,
    "below zero": lambda i: (i - 700) % 64 + (i - 700) // 64 + 20,
}


@pytest.mark.sampled
@pytest.mark.parametrize("length", [N, 1000])
@pytest.mark.parametrize("name", every(2, PLACES))
def test_places(name, length):
    """The contents, read and written, as NumPy has them."""
    place = PLACES[name]
    at = _of_numbers(place, np.arange(length))
    xs = np.random.default_rng(0).integers(0, 100, 2 * N).astype(np.int32)

    @fk.kernel
    def read(xs):
        return fk.pconcat_map(
            lambda part: fk.pull(length, lambda i: part[place(i)]), fk.split_up(2 * N, xs)
        )

    check(read, xs, want=xs[at])
    if len(set(at.tolist())) == length:

        @fk.kernel
        def written(xs):
            def block(part):
                m = fk.fill(fk.replicate(2 * N, 0))
                fk.for_all(length, lambda i: m.__setitem__(place(i), fw.astype(part[i], fw.i64)))
                fk.barrier()
                return m.pull()

            return fk.pconcat_map(block, fk.split_up(2 * N, xs))

        want = np.zeros(2 * N, np.int64)
        want[at] = xs[:length]
        check(written, xs, want=want)


def _of_numbers(place, i):
    """The same of whole arrays, by NumPy."""
    return np.asarray(fw.jit(lambda i: fw.map(place, i), target="interp")(i))


@pytest.mark.parametrize("name", ["rows turned", "the other half", "mirrored", "a wider network"])
def test_neighbours_are_read_together(name):
    """Each step reads one row, or half a network: there is no gather."""
    place = PLACES[name]

    @fk.kernel
    def read(xs):
        return fk.pconcat_map(
            lambda part: fk.pull(512, lambda i: part[place(i)]), fk.split_up(2 * N, xs)
        )

    read(np.zeros(2 * N, np.float32))

    assert "gather" not in read.text["llvm"]
