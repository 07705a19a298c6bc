"""Floats of 16 bits: moved as they are, computed with as f32, rounded once where they are stored.

Those of bf16 are compared by their bits, which needs no ml_dtypes.
"""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.dtypes import as_dtype
from flatweave.frontend.values.tree import flatten
from flatweave.scalar.ops import evaluate

NAMES = pytest.mark.parametrize("name", ["f16", "bf16"])
BF16_SLOWLY = pytest.mark.parametrize(
    "name", ["f16", pytest.param("bf16", marks=pytest.mark.slow)]
)
LENGTHS = (0, 1, 127, 128, 129, 1023, 1025)
NUMBERS = np.array([1, 2.5, -3, 6e-8, 300, 9, -1, 0.1], np.float32)
MASK = np.array([1, 0, 0, 1, 1, 0, 1, 0], bool)


def short(x, name):
    """Numbers as floats of 16 bits, by the table of scalar functions."""
    values = np.asarray(x) * np.float32(1)
    return fw.asarray(evaluate(f"to_{name}", values).view(as_dtype(name).dtype))


def words(x):
    """The bits of an array of floats of 16 bits."""
    return np.asarray(x).view(np.uint16).tolist()


def wide(x, name):
    """Floats of 16 bits as f32, by the table."""
    return evaluate(f"of_{name}", np.asarray(x).view(np.uint16))


def verbs(rows):
    """What moves elements of rows."""
    some = rows.mask(rows > 1)
    return (
        rows.top_k(1)[0].values, rows.firsts().fill_none(0), rows.pad_none(3).fill_none(0).values,
        rows.combinations(2)[1].values, rows.cartesian(rows)[0].values, rows.concat(rows).values,
        some.drop_none().values, fw.unflatten(rows.values, [3, 5]).values,
        fw.concat([rows, rows]).values, fw.flip(rows, axis=1).values,
        fw.roll(rows, 1, axis=1).values,
    )


MOVES = {
    "itself": lambda h: h,
    "slices": lambda h: (h[2:5], h[::-1], h[3]),
    "axes": lambda h: (fw.reshape(h, (2, 4)).T, fw.stack([h, h]), fw.concat([h, h[:1]])),
    "places": lambda h: (fw.gather(h, [7, 99], default=0.0), fw.take(h, fw.asarray([2, 2]))),
    "masks": lambda h: (h[fw.asarray(MASK)], fw.where(fw.asarray(MASK), h, 0.5)),
    "filter": lambda h: (fw.filter(lambda x: x > 1, h), fw.map(lambda x: x, h)),
    "writes": lambda h: (fw.scatter(h, [1], h[:1]), fw.replace(h, 2, 1 / 3), fw.shift(h, 1, 0)),
    "sorted": lambda h: (fw.sort(h), fw.sort((h, fw.iota(8)))[0], fw.sort(h, lambda x: -x)),
    "choices": lambda h: fw.cond(h[0] > 0, lambda: h, lambda: h[::-1]),
    "loops": lambda h: fw.fori_loop(0, 3, lambda i, s: (s * 2).astype(s.dtype), h),
    "rows": lambda h: fw.ragged(h, lengths=[2, 0, 6])[2],
    "of a kind": lambda h: (fw.zeros_like(h), fw.full(3, 0.1, dtype=h.dtype)),
    "expansion": lambda h: fw.expand(lambda x: 2, lambda x, j: x, h),
    "records": lambda h: {"a": h, "b": (h[1:],)},
    "tables": lambda h: (
        fw.top_k(h, 3)[0], fw.run_lengths(h)[0], fw.value_counts(h)[0], fw.rolling(h, 2).values,
        fw.group_by(MASK, h).agg(last="last")["last"],
    ),
    "verbs": lambda h: verbs(fw.ragged(h, lengths=[2, 0, 6])),
}
READS = {
    "arithmetic": lambda h: (h + h, h * 2.5, 1 - h, h / 3, -h, h**2, h > 1, h == 300),
    "functions": lambda h: (fw.sqrt(fw.abs(h)), fw.maximum(h, 0), fw.isnan(h), fw.clip(h, 0, 5)),
    "folds": lambda h: (fw.sum(h), fw.max(h), fw.mean(h), fw.reduce(fw.add, 0, h), fw.argmax(h)),
    "scans": lambda h: (fw.cumsum(h), fw.scan(fw.maximum, -fw.inf, h), fw.diff(h)),
    "segments": lambda h: fw.segmented_reduce(fw.add, 0, fw.asarray(MASK), h),
    "rows": lambda h: (
        fw.sum(fw.ragged(h, lengths=[2, 0, 6]), axis=1),
        fw.map(lambda r: fw.sum(r * 2), fw.ragged(h, lengths=[2, 0, 6])),
    ),
    "places": lambda h: (fw.argsort(h), fw.nonzero(h > 1)[0], h[fw.iota(3)] + 1),
    "by index": lambda h: fw.reduce_by_index(
        fw.zeros(2, fw.f32), fw.add, 0, fw.iota(8) % 2, h.astype(fw.f32)
    ),
    "products": lambda h: (h @ h, fw.reshape(h, (2, 4)) @ fw.reshape(h, (4, 2))),
    "elements": lambda h: fw.map(lambda x, y: x * y + x, h, h),
    "other dtypes": lambda h: (h + 1j, h + fw.iota(8), h.astype(fw.i32), h.astype(bool)),
}


@BF16_SLOWLY
@pytest.mark.parametrize("move", MOVES)
def test_what_is_moved_keeps_its_dtype_and_its_bits(name, move, target):
    """As words of 16 bits are moved, and numbers that are written rounded once."""
    h = short(NUMBERS, name)
    found = flatten(fw.jit(MOVES[move])(h))[0]
    with fw.target("interp"):
        expected = flatten(MOVES[move](fw.asarray(wide(h, name))))[0]

    for one, other in zip(found, expected, strict=True):
        if one.dtype != h.dtype:
            assert one.dtype == other.dtype != np.float32
            continue
        assert words(one) == evaluate(f"to_{name}", np.asarray(other)).tolist()


@BF16_SLOWLY
@pytest.mark.parametrize("read", READS)
def test_what_computes_reads_f32(name, read, target):
    """The same bits as of an array of f32 with the same values."""
    h = short(NUMBERS, name)
    found = flatten(fw.jit(READS[read])(h))[0]
    expected = flatten(fw.jit(READS[read])(fw.asarray(wide(h, name))))[0]

    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@NAMES
def test_lengths(name, target):
    """Both ways, computed with, filtered and summed, of arrays of all lengths."""
    program = fw.jit(lambda h: (h.astype(fw.f32), (h * 3).astype(h.dtype), fw.sum(h), h[h > 0]))
    for length in LENGTHS:
        h = short(np.linspace(-3, 5, length), name)

        read, stored, total, kept = program(h)

        values = wide(h, name)
        assert np.array_equal(read, values)
        assert words(stored) == evaluate(f"to_{name}", values * np.float32(3)).tolist()
        assert total.dtype == np.float32
        assert np.allclose(total, values.sum(dtype=np.float64), rtol=1e-5, atol=1e-5)
        assert words(kept) == np.asarray(h).view(np.uint16)[values > 0].tolist()


def test_every_number_of_threads_gives_the_same_sum():
    """Of several blocks, accumulated in f32."""
    h = fw.asarray(np.random.default_rng(1).normal(size=300_001).astype(np.float16))
    found = set()
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            found.add(float(fw.sum(h)))

    assert len(found) == 1
    assert found.pop() == pytest.approx(np.asarray(h).astype(np.float64).sum(), rel=1e-4)


@NAMES
def test_integers_and_doubles_are_rounded_once(name):
    """Midway between two numbers, and off by less than an f32 or an f64 can represent."""
    step = 2 ** (13 if name == "f16" else 16)
    near = 1.0 + np.array([step / 2, step / 2 + 2**-20, step * 1.5, step * 1.5 - 2**-20]) * 2**-23
    first = int(evaluate(f"to_{name}", np.array([1.0]))[0])

    assert words(fw.asarray(near).astype(name)) == [first, first + 1, first + 2, first + 1]
    big = 2**62 + 2**54 if name == "bf16" else 2**15 + 2**4
    found = fw.asarray([big, big + 1, -big - 1, 3]).astype(name)
    low = int(evaluate(f"to_{name}", np.array([float(2 ** (big.bit_length() - 1))]))[0])
    three = int(evaluate(f"to_{name}", np.array([3.0]))[0])
    assert words(found) == [low, low + 1, low + 1 | 1 << 15, three]
    most = np.array([2**63 + 1, 2**64 - 1], np.uint64)
    assert words(fw.asarray(most).astype("bf16")) == [0x5F00, 0x5F80]
    assert words(fw.asarray([-(2**63)]).astype("bf16")) == [0xDF00]


def test_a_result_is_rounded_once_where_a_dtype_is_asked_for():
    """A sum in f32, and numbers of new arrays."""
    h = short([2048, 1, 1, 1], "f16")

    assert float(fw.sum(h)) == 2051
    assert fw.sum(h, dtype=fw.f16).dtype == np.float16
    assert float(fw.sum(h, dtype=fw.f16)) == 2052
    assert fw.linspace(0, 1, 3, dtype=fw.f16).tolist() == [0, 0.5, 1]
    assert fw.asarray([1 / 3], fw.f16).tolist() == [float(np.float16(1 / 3))]
    assert words(fw.asarray([1 / 3, 1], fw.bf16)) == [0x3EAB, 0x3F80]


def test_dtypes():
    """Names, promotion, what they hold; NumPy's float16 is the same dtype."""
    assert fw.float16 is fw.f16 == np.float16
    assert fw.bfloat16 is fw.bf16 == short([1], "bf16").dtype
    assert fw.result_type(fw.f16, 2.0, 3) is fw.f16
    assert fw.result_type(fw.f16, fw.bf16) is fw.f32 is fw.result_type(fw.bf16, fw.i16)
    assert fw.result_type(fw.f16, fw.i32) is fw.f64 is fw.result_type(fw.bf16, fw.f64)
    assert fw.result_type(fw.f16, 1j) is fw.c64
    assert fw.can_cast(fw.bf16, fw.f32)
    assert fw.can_cast(fw.u8, fw.bf16)
    assert not fw.can_cast(fw.f32, fw.bf16)
    assert not fw.can_cast(fw.bf16, fw.f16)
    assert fw.isdtype(fw.bf16, "real floating")
    for dtype, eps, most in ((fw.f16, 2.0**-10, 65504.0), (fw.bf16, 2.0**-7, 2.0**128 - 2.0**120)):
        held = fw.finfo(dtype)
        assert (held.bits, held.eps, held.max, held.min) == (16, eps, most, -most)


def test_joined_with_others_they_are_f32():
    """Of one dtype they stay; a Python number takes it; two of them, or an f32, are read."""
    h, b = short(NUMBERS, "f16"), short(NUMBERS, "bf16")

    assert fw.concat([h, h]).dtype == np.float16
    assert fw.where(fw.asarray(MASK), h, 1).dtype == np.float16
    for other in (b, fw.asarray(NUMBERS)):
        assert fw.concat([h, other]).dtype == np.float32
        assert fw.where(fw.asarray(MASK), other, h).dtype == np.float32


def test_nothing_is_copied_at_the_ends():
    """A program has the words as its argument, and gives an argument back as it is."""
    xs = NUMBERS.astype(np.float16)
    stages = fw.jit(lambda h: h * 2).stages(xs)

    assert stages.kernels == 1
    assert "u16[n_1]" in stages.text["array"].splitlines()[0]
    h = fw.asarray(xs)
    assert np.shares_memory(h, xs)
    assert np.shares_memory(fw.jit(lambda h: h)(h), xs)


@pytest.mark.slow  # to import JAX
def test_brain_floats_go_through_dlpack():
    """DLPack's code 4, both ways over the same memory."""
    jnp = pytest.importorskip("jax.numpy")
    xs = jnp.arange(5).astype(jnp.bfloat16)

    for ours in (fw.asarray(xs), fw.from_dlpack(xs)):
        assert ours.dtype == fw.bf16
        assert np.asarray(ours).ctypes.data == xs.unsafe_buffer_pointer()
    back = jnp.from_dlpack(fw.asarray(xs))
    assert back.dtype == jnp.bfloat16
    assert back.tolist() == [0, 1, 2, 3, 4]


def test_who_does_not_take_them_says_so():
    """Bits of floats, bodies that give another dtype, and Arrow for bf16."""
    h = short(NUMBERS, "f16")

    with pytest.raises(fw.DTypeError, match="not defined for f32"):
        fw.jit(lambda h: h & 1)(h)
    with pytest.raises(fw.DTypeError, match="enters as f16 and comes back as f32"):
        fw.fori_loop(0, 3, lambda i, s: s * 2, h)
    with pytest.raises(fw.NotTraceableError, match=r"f16\[8\]"):
        fw.jit(lambda h: np.asarray(h))(h)
    with pytest.raises(fw.DTypeError, match="Arrow has no arrays"):
        short(NUMBERS, "bf16").__arrow_c_array__()
