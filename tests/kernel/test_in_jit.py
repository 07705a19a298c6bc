"""Kernels in jitted functions, on cpu and interp: as elements where they are nothing else."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.config import config
from tests.kernel.programs import refused


def plus(a, b):
    return a + b


@fk.kernel
def add(xs, ys):
    return fk.zip_with(plus, xs, ys)


@fk.kernel
def turned_parts(xs):
    return fk.pconcat_map(fk.reverse, fk.split_up(4, xs))


@fk.kernel
def sums_of_four(xs):
    def block(part):
        return fk.pconcat_map(lambda c: fk.seq_reduce(plus, c), fk.split_up(4, part))

    return fk.pconcat_map(block, fk.split_up(16, xs))


@fk.kernel
def shifted(xs):
    return fk.shift_right(1, 0, xs)


@fk.kernel
def transposed(matrix):
    return fk.transpose(matrix)


@fk.kernel
def scaled(xs, factor):
    return fk.map(lambda x: (x * factor, x), xs)


@fk.kernel
def sums_of_blocks(xs):
    def block(part):
        while part.length > 1:
            part = fk.force(fk.zip_with(plus, *fk.halve(part)))
        return part

    return fk.pconcat_map(block, fk.split_up(16, xs)), xs.length


XS = np.arange(64)
ELEMENTS = [
    (lambda xs: fw.sum(add(xs * 2, xs) + 1), (3 * XS + 1).sum()),
    (lambda xs: fw.sum(turned_parts(xs + 1) * xs),
     ((XS + 1).reshape(-1, 4)[:, ::-1].ravel() * XS).sum()),
    (lambda xs: fw.sum(shifted(xs) * xs), (XS[:-1] * XS[1:]).sum()),
    (lambda xs: fw.sum(transposed(xs.reshape(16, 4))[1]), XS.reshape(16, 4)[:, 1].sum()),
    (lambda xs: fw.sum(scaled(xs, 3)[0] - scaled(xs, xs[2])[1]), (2 * XS).sum()),
]  # fmt: skip


@pytest.mark.parametrize(("program", "want"), ELEMENTS)
def test_fuses(program, want):
    """What only says what stands where is computed where it is read: one kernel, nothing stored."""
    compiled = fw.jit(program)

    assert compiled(XS) == want
    assert compiled.stages(XS).kernels == 1
    assert compiled.stages(XS).manifest == []
    with fw.target("interp"):
        assert compiled(XS) == want


def test_loops_of_threads():
    """Work in a loop of a thread is an element function, too."""
    total = fw.jit(lambda xs: sums_of_four(xs + 1) * 2)

    assert total(XS).tolist() == (2 * (XS + 1).reshape(-1, 4).sum(1)).tolist()
    assert total.stages(XS).kernels <= 2


@fw.jit
def of_blocks(xs):
    sums, length = sums_of_blocks(xs + 1)
    return fw.sum(sums * 2), sums, length


def test_memory():
    """A kernel that stores runs as it was written, between the program's own."""
    for target in ("cpu", "interp"):
        with fw.target(target):
            total, sums, length = of_blocks(XS)
            assert total == (XS + 1).sum() * 2
            assert sums.tolist() == (XS + 1).reshape(-1, 16).sum(1).tolist()
            assert length == 64
    stages = of_blocks.stages(XS)
    assert "call_kernel" in stages.text["array"]
    assert "__syncthreads" in stages.text["cuda"]
    assert any("the kernel sums_of_blocks" in note for note in stages.notes)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_in_a_loop(threads):
    """A kernel's memory is freed in each iteration."""
    body = fw.jit(
        lambda xs: fw.fori_loop(
            0, 3, lambda i, s: fw.concat([sums_of_blocks(s)[0], s[4:]]), xs
        )
    )
    want = XS
    for _ in range(3):
        want = np.concatenate([want.reshape(-1, 16).sum(1), want[4:]])
    with config.scoped(target="cpu", threads=threads):
        assert body(XS).tolist() == want.tolist()


def test_kernels_in_kernels():
    """A kernel that calls another one is one program of both."""
    both = fk.kernel(lambda xs: add(fk.force(turned_parts(xs)), xs))

    want = XS.reshape(-1, 4)[:, ::-1].ravel() + XS
    assert both(XS).tolist() == want.tolist()


def test_refused():
    """Checks of a kernel name their line; kernels with memory cannot be elements."""
    assert "cuts 7 elements into parts of 16" in refused(of_blocks, XS[:7])
    assert "cuts 7 elements into parts of 4" in refused(
        fw.jit(lambda xs: fw.sum(turned_parts(xs))), XS[:7]
    )
    nested = fw.jit(lambda rows: fw.map(lambda row: fw.sum(sums_of_blocks(row)[0]), rows))
    assert "inside an element function" in refused(nested, XS.reshape(4, 16))


def test_annotated_numbers():
    """Python numbers are taken; others have the dtype that is annotated."""
    @fk.kernel
    def scaled(xs, a: fw.f64):
        return fk.map(lambda x: a * x, xs)

    xs = np.arange(4.0)
    with fw.target("interp"):
        assert np.array_equal(scaled(xs, 2), 2 * xs)
        assert np.array_equal(scaled(xs, np.float64(2)), 2 * xs)
        assert np.array_equal(fw.jit(lambda v: scaled(v, 2))(xs), 2 * xs)
        assert np.array_equal(fw.jit(lambda v: scaled(v, fw.sum(v)))(xs), 6 * xs)
        for a in (np.float32(2), xs):
            with pytest.raises(fw.DTypeError, match="a of the kernel scaled is one f64"):
                scaled(xs, a)
            with pytest.raises(fw.DTypeError, match="a of the kernel scaled is one f64"):
                fw.jit(lambda v, a=a: scaled(v, fw.asarray(a)))(xs)
