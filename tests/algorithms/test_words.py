"""Elements and their state in words: unpacking restores every bit."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.algorithms.block_scans import AGGREGATE, COUNT_BITS, PREFIX, packing_of
from flatweave.base.dtypes import DTYPES, bool_, f32, f64, i8, i16, i32, i64, u8, u16
from flatweave.codegen import cuda
from flatweave.lower.machine import CUDA
from flatweave.simulator.control import Runner
from flatweave.terms.batch import Env
from flatweave.terms.build import Builder
from tests.codegen.device_programs import lowered, traced

ELEMENTS = [
    *((dtype,) for dtype in DTYPES), (i16, bool_, u8), (bool_, i32), (f32, u16, i8), (i64, i32),
    (f32, f32, f32), (f64, f32, bool_),
]  # fmt: skip


def extremes(dtype):
    """The least and greatest values, those around 0, and NaN with a payload."""
    if dtype is bool_:
        return np.array([False, True])
    if not dtype.is_float:
        return np.array([dtype.low, -1 if dtype.low else 1, 0, 1, dtype.high], dtype.numpy)
    quiet = {f32: 0x7FC12345, f64: 0x7FF8123456789ABC}[dtype]
    nan = np.array([quiet], f"u{dtype.bytes}").view(dtype.numpy)
    return np.concatenate([nan, np.array([-0.0, np.inf, -1.5], dtype.numpy)])


@pytest.mark.parametrize("dtypes", ELEMENTS, ids=lambda dtypes: "_".join(map(str, dtypes)))
def test_what_is_packed_is_unpacked(dtypes):
    """For all extremes, next to each other, in both states."""
    packing = packing_of([(dtype, dtype.bits) for dtype in dtypes], 2)
    b = Builder()

    def there_and_back(c, *values):
        words = packing.pack(c, values, PREFIX)
        other = packing.pack(c, values, AGGREGATE)
        return (*packing.unpack(c, words), packing.state(c, words), packing.state(c, other))

    fn = b.function(dtypes, there_and_back)
    for k in range(5):
        values = [np.asarray(found[(k + n) % len(found)]) for n, found in
                  enumerate(map(extremes, dtypes))]  # fmt: skip
        *found, prefix, aggregate = Runner().pure(Env(), fn, values)
        assert [x.tobytes() for x in found] == [x.tobytes() for x in values]
        assert (prefix, aggregate) == (PREFIX.value, AGGREGATE.value)


@pytest.mark.parametrize(
    ("components", "on_one", "on_two"),
    [
        ([(i8, 8)], 1, 1),
        ([(i32, 32), (bool_, bool_.bits)], 1, 1),
        ([(f32, 32), (f32, 32)], None, 2),
        ([(i64, 64)], None, 2),
        ([(i64, COUNT_BITS)], 1, 1),
        ([(i64, COUNT_BITS), (i64, COUNT_BITS)], None, 2),
        ([(i64, 64), (i32, 32)], None, 2),
        ([(i64, 64), (f64, 64)], None, None),
    ],
)  # fmt: skip
def test_what_fits(components, on_one, on_two):
    """Each component is in one word, next to two bits of the state."""
    found = [packing_of(components, most) for most in (1, 2)]
    assert [packing and packing.count for packing in found] == [on_one, on_two]


def test_no_fence_where_it_fits():
    """Two components of 64 bits do not; counts do, and so does a flag with a sum."""
    xs = np.arange(9)
    for fits, f in [
        (True, lambda xs: fw.cumsum(xs)),
        (True, lambda xs: fw.filter(lambda x: x > 3, xs)),
        (False, lambda xs: fw.scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1, 0), (xs, xs))),
    ]:  # fmt: skip
        text = cuda.emit(lowered(traced("f", f, xs), CUDA).unit)
        assert ("acquire" not in text and "release" not in text) is fits
        assert ("ld.relaxed.gpu" in text) is fits
