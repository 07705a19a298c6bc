"""Floats of 16 bits: words that move as they are, and f32 for whatever computes with them."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused

XS = (np.arange(64) * 7 % 23 / 8).astype(np.float16)
F32 = XS.astype(np.float32)


def plus(a, b):
    return a + b


def turned(xs):
    """Moved, and stored in shared memory, as words."""
    return fk.pconcat_map(lambda part: fk.force(fk.reverse(part)), fk.split_up(32, xs))


def doubled(xs, factor):
    """Computed in f32, and rounded once."""
    return fk.map(lambda x: (x * factor + 0.1).astype(fw.f16), xs)


def total(xs):
    return fk.reduce(plus, xs, 0)


def prefixes(xs):
    return fk.pconcat_map(lambda part: fk.scan(plus, part, 0), fk.split_up(32, xs))


def by_warps(xs):
    """The steps of a scan: a lane has what it had, or a sum."""
    def block(b):
        return fk.pconcat_map(
            lambda part: fk.warp_scan(plus, fk.shuffle_xor(1, part)), fk.split_up(32, xs),
            level=fk.WARP,
        )  # fmt: skip

    return fk.generate(1, block)


def in_loops(xs):
    """The state of a loop is an f32."""
    return fk.map(lambda part: fk.seq_reduce(plus, part), fk.split_up(4, xs))


SWAPPED = F32.reshape(-1, 2)[:, ::-1].reshape(2, 32).cumsum(1).ravel()


@pytest.mark.parametrize(
    ("write", "args", "want"),
    [
        (turned, (), XS.reshape(2, 32)[:, ::-1].ravel()),
        (doubled, (np.float16(3),), (F32 * np.float32(3) + np.float32(0.1)).astype(np.float16)),
        (total, (), F32.sum()),
        (prefixes, (), F32.reshape(2, 32).cumsum(1).ravel()),
        (by_warps, (), SWAPPED),
        (in_loops, (), F32.reshape(-1, 4).sum(1)),
    ],
)
def test_what_is_moved_and_what_is_computed(write, args, want):
    """In shared memory, in registers of warps and in loops; the sums are exact."""
    kernel = fk.kernel(write)
    check(kernel, XS, *args, want=want)
    assert np.asarray(kernel(XS, *args)).dtype == want.dtype


def test_memory_of_them():
    """Two bytes an element."""
    @fk.kernel
    def kernel(xs):
        m = fk.memory(64, fw.f16)
        fk.for_all(2, lambda b: fk.for_all(
            32, lambda t: m.__setitem__(32 * b + t, (xs[32 * b + t] / 3).astype(fw.f16))
        ))  # fmt: skip
        return m

    check(kernel, XS, want=(F32 / np.float32(3)).astype(np.float16))
    assert "global u16 = alloc u16 64" in kernel.text["kernel"]


def test_bfloat16_from_f32():
    """Rounded to nearest even: the upper half of an f32."""
    kernel = fk.kernel(lambda xs: fk.map(lambda x: x.astype(fw.bf16), xs))
    xs = np.linspace(-3, 3, 50, dtype=np.float32)

    found, want = kernel(xs), fw.asarray(xs).astype(fw.bf16)
    assert np.array_equal(found.astype(fw.f32), want.astype(fw.f32))


def test_atomics_of_them_go_through_the_operator():
    """No machine adds their words; any operator that gives one is compare-and-swap."""
    def added(op):
        def kernel(xs):
            m = fk.fill(fk.map(lambda x: (x * 0).astype(fw.f16), fk.take(2, xs)))
            fk.for_all(2, lambda b: fk.for_all(32, lambda t: op(m, t % 2, xs[32 * b + t])))
            return m

        return fk.kernel(kernel)

    any_operator = added(
        lambda m, i, x: fk.atomic(lambda a, b: (a + b).astype(fw.f16), m, i, x)
    )
    check(any_operator, XS, want=np.array([XS[::2].sum(), XS[1::2].sum()]))
    assert "the elements here are f16" in refused(added(fk.atomic_add), XS)


def test_in_programs():
    """A kernel in a program gives them; given them, it says what to do."""
    kernel = fk.kernel(turned)
    stored = fk.kernel(lambda xs: fk.pconcat_map(
        lambda part: fk.force(fk.map(lambda x: x.astype(fw.f16), part)), fk.split_up(32, xs)
    ))  # fmt: skip
    assert np.array_equal(fw.jit(lambda xs: stored(xs))(F32), XS)
    with pytest.raises(fw.Unsupported, match="of floats of 16 bits, in a program"):
        fw.jit(lambda xs: kernel(xs))(XS)


def test_elements_of_one_kind_are_stored():
    """What is computed is an f32, and is not stored among others without a word."""
    def kernel(xs):
        m = fk.fill(xs)
        fk.for_all(1, lambda b: fk.for_all(4, lambda t: m.__setitem__(t, xs[t] + 1)))
        return m

    assert "an element is f32, where others are f16" in refused(fk.kernel(kernel), XS)


def test_compiled_for_cuda():
    """The annotation says what the words are."""
    pytest.importorskip("cuda.bindings.nvrtc")

    @fk.kernel
    def halves(xs: fk.Pull[fw.f16]):
        return fk.map(lambda x: (x * 2).astype(fw.f16), xs)

    assert "ld.global.nc.u16" in halves.text["ptx"]
