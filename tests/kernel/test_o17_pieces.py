"""O1 to O7, O14 to O18: arrays and what is made of them, each function against NumPy."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused

XS = np.arange(12) * 3 % 7
YS = np.arange(12) * 5 % 11


@pytest.mark.parametrize(
    ("fn", "want"),
    [
        (lambda xs: fk.pull(xs.length, lambda i: xs[i] + i), XS + np.arange(12)),
        (lambda xs: fk.conc(xs, fk.reverse(xs)), np.r_[XS, XS[::-1]]),
        (lambda xs: fk.concat_p(xs, fk.reverse(xs)), np.r_[XS, XS[::-1]]),
        (lambda xs: fk.interleave_p(xs, fk.reverse(xs)), np.stack([XS, XS[::-1]], 1).ravel()),
        (lambda xs: fk.unpair(fk.pair(xs)), XS),
        (lambda xs: fk.unpair_p(fk.map(lambda p: (p[1], p[0]), fk.pair(xs))),
         XS.reshape(-1, 2)[:, ::-1].ravel()),
        (lambda xs: fk.conc(*fk.halve(xs)), XS),
        (lambda xs: fk.conc(*reversed(fk.split_at(5, xs))), np.r_[XS[5:], XS[:5]]),
        (lambda xs: fk.conc(*fk.even_odds(xs)), np.r_[XS[::2], XS[1::2]]),
        (lambda xs: fk.every_nth(3, 1, xs), XS[1::3]),
        (lambda xs: fk.flatten(fk.split_up(4, xs)), XS),
        (lambda xs: fk.flatten(fk.coalesce(4, xs)), XS.reshape(4, 3).T.ravel()),
        (lambda xs: fk.flatten(fk.transpose(fk.split_up(4, xs))), XS.reshape(3, 4).T.ravel()),
        (lambda xs: fk.take(5, xs), XS[:5]),
        (lambda xs: fk.drop(5, xs), XS[5:]),
        (lambda xs: fk.take(5, fk.push(xs)), XS[:5]),
        (lambda xs: fk.singleton(fk.first(xs) + fk.last(xs)), XS[:1] + XS[-1:]),
        (lambda xs: fk.replicate(3, fk.last(xs)), XS[[11, 11, 11]]),
        (lambda xs: fk.shift_right(2, -1, xs), np.r_[-1, -1, XS[:-2]]),
        (lambda xs: fk.shift_left(2, -1, xs), np.r_[XS[2:], -1, -1]),
        (lambda xs: fk.rotate(5, xs), np.roll(XS, -5)),
        (lambda xs: fk.ix_map(lambda i: (i + 1) % 12, xs), np.roll(XS, -1)),
        (lambda xs: fk.ix_map(lambda i: (i + 1) % 12, fk.push(xs)), np.roll(XS, 1)),
        (lambda xs: fk.padded(8, xs, 9), np.r_[XS, 9, 9, 9, 9]),
        (lambda xs: fk.fix_size(12, xs), XS),
        (lambda xs: xs[2:7], XS[2:7]),
        (lambda xs: fk.unzip(fk.zip(fk.reverse(xs), xs))[0], XS[::-1]),
    ],
)  # fmt: skip
def test_pieces(fn, want):
    """In code of the grid, of any length, and in a block, of a static one."""
    check(fk.kernel(fn), XS, want=want)
    in_block = fk.kernel(lambda xs: fk.generate(1, lambda _: fn(fk.fix_size(12, xs))))
    check(in_block, XS, want=want)


def test_fix_size_is_checked():
    """The length is found when it runs."""
    kernel = fk.kernel(lambda xs: fk.fix_size(12, xs))

    assert "fix_size wants 12 elements, and there are 11" in refused(kernel, XS[:11])


@pytest.mark.parametrize("level", [fk.BLOCK, fk.WARP, fk.THREAD])
def test_the_same_function_at_every_level(level):
    """O14, O16: push goes one by one in a thread, and in parallel above."""

    def unit(part):
        return fk.force(fk.map(lambda x: x * 2, fk.reverse(part)))

    def block(part):
        if level is fk.BLOCK:
            return unit(part)
        return fk.pconcat_map(unit, fk.split_up(4, part), level=level)

    kernel = fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(4, xs)))
    check(kernel, XS, want=2 * XS.reshape(-1, 4)[:, ::-1].ravel())


@pytest.mark.parametrize("how", [lambda p: fk.push_n(2, p), lambda p: fk.load(2, p), fk.push])
def test_elements_for_each_thread(how):
    """O15: neighbours, or with a stride of half the length."""
    kernel = fk.kernel(lambda xs: fk.pconcat_map(how, fk.split_up(4, xs)))

    check(kernel, XS, want=XS)


def test_maps_fuse():
    """O4: any chain of functions is one loop, with one load and one store."""
    kernel = fk.kernel(lambda xs: fk.map(lambda x: x * 2, fk.reverse(
        fk.map(lambda x: x + 1, fk.zip_with(lambda a, b: a - b, xs, fk.rotate(1, xs))))))

    check(kernel, XS, want=2 * (XS - np.roll(XS, -1) + 1)[::-1])
    text = kernel.text["kernel"]
    assert (text.count(" load "), text.count("store "), text.count("alloc")) == (2, 1, 1)


def test_force_is_what_stores():
    """O12: between two maps, one shared array and one barrier."""
    def block(part):
        return fk.map(lambda x: x * 2, fk.force(fk.map(lambda x: x + 1, part)))

    kernel = fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(4, xs)))
    check(kernel, XS, want=2 * (XS + 1))
    text = kernel.text["kernel"]
    assert (text.count("= shared"), text.count("sync")) == (1, 1)


@pytest.mark.parametrize("most", [4, 16])
def test_longer_arrays_stay_as_they_are(most):
    """O13: force_below stores the short ones only; values are the same."""
    def block(part):
        while part.length > 1:
            part = fk.force_below(most, fk.zip_with(lambda a, b: a + b, *fk.halve(part)))
        return part

    xs = np.arange(64)
    kernel = fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(32, xs)))
    check(kernel, xs, want=xs.reshape(2, 32).sum(1))
    assert kernel.text["kernel"].count("= shared") == {4: 3, 16: 5}[most]


DTYPES = [fw.i8, fw.u8, fw.i16, fw.u16, fw.i32, fw.u32, fw.i64, fw.u64, fw.f32, fw.f64]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_scalars(dtype):
    """O5, O6: all dtypes, comparisons, choices between tuples, functions of fw."""
    def fn(x, y):
        p = fk.cond((x < y) | (x == 3), lambda: (x, y), lambda: (y, x))
        return p[0] * 2 + p[1], x < y, fw.maximum(x, y)

    xs, ys = XS.astype(dtype.numpy), YS.astype(dtype.numpy)
    turned = (xs < ys) | (xs == 3)
    kernel = fk.kernel(lambda xs, ys: fk.zip_with(fn, xs, ys))
    check(kernel, xs, ys, want=(
        np.where(turned, xs, ys) * dtype.numpy.type(2) + np.where(turned, ys, xs), xs < ys,
        np.maximum(xs, ys),
    ))  # fmt: skip


def test_tuples_are_stored_side_by_side():
    """O7: a forced array of pairs is an array for each."""
    def block(part):
        return fk.force(fk.map(lambda x: (x, (x.astype(fw.f32), x < 3)), fk.reverse(part)))

    kernel = fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(12, xs)))
    turned = XS[::-1]
    check(kernel, XS, want=(turned, (turned.astype(np.float32), turned < 3)))
    assert "shared bool" in kernel.text["kernel"] and "shared f32" in kernel.text["kernel"]


def test_p_map_and_p_zip_with():
    """O16: parts side by side, given to blocks."""
    def add(xs, ys):
        return fk.zip_with(lambda a, b: a + b, xs, ys)

    kernel = fk.kernel(lambda xs, ys: fk.pconcat(fk.p_zip_with(
        add, fk.p_map(fk.reverse, fk.split_up(4, xs)), fk.split_up(4, ys))))
    check(kernel, XS, YS, want=XS.reshape(-1, 4)[:, ::-1].ravel() + YS)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 300])
def test_parts_that_are_filled_up(n):
    """Only in the last part is it asked where the array ends."""

    @fk.kernel
    def filled(xs):
        return fk.pconcat(fk.split_up(32, xs, pad=-1))

    xs = np.arange(n)
    check(filled, xs, want=np.r_[xs, np.full(-n % 32, -1)])
    if n:
        block, of_thread = filled.text["kernel"].split("for_all thread")
        assert "le" in block and of_thread.count("load") == 2


def test_zipped_lengths():
    """Known ones are cut to the least; those of arguments are equal, or it is an error."""
    check(fk.kernel(lambda xs, ys: fk.zip_with(fw.add, xs[:5], ys[:3])), XS, YS, want=(XS + YS)[:3])
    steps = fk.kernel(lambda xs: fk.zip_with(fw.sub, xs[1:], xs[: xs.length - 1]))
    check(steps, XS, want=np.diff(XS))
    for kernel in (
        fk.kernel(lambda xs, ys: fk.zip_with(fw.add, xs, ys)),
        fk.kernel(lambda xs, ys: fk.pconcat(fk.p_zip_with(
            fk.conc, fk.split_up(1, xs), fk.split_up(1, ys)
        ))),
    ):  # fmt: skip
        assert "different lengths: 12 and 11" in refused(kernel, XS, YS[:-1])
        assert "different lengths: 11 and 12" in refused(kernel, XS[1:], YS)


def test_columns_that_were_zipped_are_asked_alone():
    """`unzip` and `unpair` of `zip` read nothing but what is wanted, however deep they are."""

    @fk.kernel
    def first(xs, ys):
        return fk.unzip(fk.zip(xs, ys))[0]

    @fk.kernel
    def nested(xs, ys):
        for _ in range(4):
            xs = fk.unpair(fk.zip(xs, ys))
        return xs

    xs, ys = np.arange(3), np.arange(10, 13)
    check(first, xs, ys, want=xs)
    want = xs
    for _ in range(4):
        want = np.stack([want[:3], ys], 1).ravel()
    check(nested, xs, ys, want=want)
    assert first.text["kernel"].count("load") == 1
    assert nested.text["kernel"].count("load") == 5


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f4", "f8"])
def test_numbers_of_python_take_the_floats_they_meet(dtype):
    """Whole numbers stay i64 among integers, as everywhere in a loop's state."""

    @fk.kernel
    def sums(xs):
        def thread(part):
            return fk.seq_reduce(lambda s, x: (s[0] + x, s[1] + 1), part, (0, 0))

        def block(part):
            return fk.pconcat_map(lambda p: fk.singleton(thread(p)), fk.split_up(4, part))

        return fk.pconcat_map(block, fk.split_up(16, xs))

    xs = np.arange(64).astype(dtype)
    kept = xs.dtype if dtype[0] == "f" else np.int64
    found = sums(xs)

    check(sums, xs, want=(xs.reshape(-1, 4).sum(1, dtype=kept), np.full(16, 4)))
    assert [np.asarray(each).dtype for each in found] == [kept, np.int64]


@pytest.mark.parametrize("dtype", ["i8", "f4"])
def test_prefixes_go_on_from_a_number_of_python(dtype):
    """As folds do: a whole number is one of the elements' floats."""
    kernel = fk.kernel(lambda xs: fk.pconcat_map(
        lambda part: fk.seq_scan(fw.add, part, 1), fk.split_up(4, xs)
    ))  # fmt: skip
    xs = np.arange(8).astype(dtype)

    check(kernel, xs, want=1 + xs.reshape(2, 4).cumsum(1).astype(dtype).ravel())
    assert np.asarray(kernel(xs)).dtype == xs.dtype
