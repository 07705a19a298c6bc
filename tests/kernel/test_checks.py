"""Indices from data are checked on every target; what is known needs no check."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_ir.syntax import Report
from flatweave.terms.traverse import walk_lets
from tests.conftest import DEVICE, missing_device
from tests.kernel import programs
from tests.kernel.programs import check

XS = np.arange(64)


def plus(a, b):
    return a + b


def refused(kernel, *args):
    """What a call says whose result is read: a device reports no earlier."""
    return programs.refused(lambda *given: np.asarray(kernel(*given)), *args)


def picks(xs, at):
    return fk.map(lambda i: xs[i], at)


def checks_of(kernel, *args):
    """How many checks are left in the kernels' code."""
    unit = kernel.traced(*args).unit
    return sum(isinstance(let.op, Report) for k in unit.kernels for let in walk_lets(k.body))


def targets():
    return ["interp", "cpu", *([] if missing_device() else [DEVICE])]


@pytest.mark.parametrize("bad", [-1, 64, 2**40, -(2**63)])
def test_an_index_from_data(bad):
    """The first one that is outside, with its line, on every target, whatever runs first."""
    at = np.arange(300) % 64
    at[[17, 250]] = bad, 99
    for target in targets():
        with fw.target(target):
            said = refused(fk.kernel(picks), XS, at)
            assert f"index {bad} is outside a pull array of length 64" in said
            assert "xs[i]" in said


def test_an_empty_array_is_not_touched():
    """No element of it is read, on any target."""
    for target in targets():
        with fw.target(target):
            assert "length 0" in refused(fk.kernel(picks), XS[:0], np.array([0]))
            assert fk.kernel(picks)(XS[:0], XS[:0]).size == 0
            assert fk.kernel(lambda xs: fk.pull(xs.length, lambda i: xs[i]))(XS[:0]).size == 0


def test_what_is_outside_is_not_written():
    """Neither by a store nor by an update: the error is the only effect."""

    def block(part):
        m = fk.fill(fk.replicate(4, 0))
        fk.for_all(8, lambda t: fk.atomic_add(m, part[t], 1))
        fk.barrier()
        return m.pull()

    kernel = fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(8, xs)))
    check(kernel, XS[:16] % 4, want=np.full(8, 2))
    for target in targets():
        with fw.target(target):
            assert "index 4 is outside memory of length 4" in refused(kernel, XS[:16] % 6)


def test_a_search_ends_where_the_array_does():
    """A loop that would go on for ever, around another one, in one thread of many."""

    def search(first):
        def from_here(state):
            i, _ = state
            return fk.seq_while(lambda k: xs_of[0][k] != 63, lambda k: k + 1, i), i

        return fk.seq_while(lambda s: s[0] != 7, from_here, (first, first))[0]

    xs_of = [None]

    def threads(xs):
        xs_of[0] = xs
        return fk.pconcat_map(lambda _: fk.pconcat_map(search, fk.iterations(5)), fk.iterations(2))

    for target in targets():
        with fw.target(target):
            assert "index 60 is outside" in refused(fk.kernel(threads), XS[:60])
    with fw.target("cpu"):
        assert "index 60 is outside" in refused(fw.jit(fk.kernel(threads)), XS[:60])


def test_in_a_jitted_function():
    """Where it fuses, a negative index is outside, too, and there is one check."""
    jitted = fw.jit(lambda xs, at: fk.kernel(picks)(xs, at) + 1)

    assert jitted(XS, np.array([3, 5])).tolist() == [4, 6]
    assert "index -1 is outside" in refused(jitted, XS, np.array([3, -1]))
    texts = [f.stages(XS, XS).text["kernel"] for f in (jitted, fw.jit(lambda xs, at: xs[at] + 1))]
    assert texts[0].count("report") == texts[1].count("report")


def test_without_checks():
    """As a promise: nothing is tested where nothing can be outside."""
    kernel = fk.kernel(picks, checks=False)

    assert kernel(XS, XS[::-1].copy()).tolist() == XS[::-1].tolist()
    assert checks_of(fk.kernel(picks), XS, XS) == 1
    assert checks_of(kernel, XS, XS) == 0


@pytest.mark.parametrize(
    "fn",
    [
        lambda xs: fk.pull(xs.length, lambda i: fk.cond(i < 3, lambda: xs[i], lambda: xs[i - 3])),
        lambda xs: fk.generate(xs.length // 8, lambda b: fk.generate(8, lambda t: xs[b * 8 + t])),
        lambda xs: fk.generate(xs.length // 8, lambda b: fk.generate(8, lambda t: xs[t * 8 + b])
                               if isinstance(xs.length, int) else fk.singleton(xs[b])),
        lambda xs: fk.pull(xs.length, lambda i: xs[fw.clip(i * 3, 0, xs.length - 1)]),
        lambda xs: fk.pull(xs.length, lambda i: xs[(i + 5) % xs.length]),
        lambda xs: fk.pull(xs.length, lambda i: fk.cond(
            (i > 0) & (i < xs.length - 1), lambda: xs[i - 1] + xs[i + 1], lambda: xs[i])),
        lambda xs: fk.pull(xs.length, lambda i: fk.cond(i == 0, lambda: 0, lambda: xs[i - 1])),
        lambda xs: fk.pull(xs.length, lambda i: fk.seq_for(
            0, xs.length - i, lambda k, s: s + xs[i + k], 0)),
        lambda xs: fk.pull(xs.length, lambda i: fk.seq_for(
            fw.maximum(i - 2, 0), i, lambda k, s: s + xs[k], 0)),
        lambda xs: fk.pconcat_map(lambda p: fk.pull(64, lambda i: p[i ^ 32] + p[63 - i]),
                                  fk.split_up(64, xs)),
        lambda xs: fk.pconcat_map(lambda p: fk.pull(32, lambda i: p[i + (i & -4)]),
                                  fk.split_up(64, xs)),
    ],
)  # fmt: skip
def test_what_is_known_is_not_tested(fn):
    """By ranges, quotients, clips and the conditions around it."""
    assert checks_of(fk.kernel(fn), XS) == 0


@pytest.mark.parametrize(
    "fn",
    [
        lambda xs: fk.pull(xs.length, lambda i: fk.cond(i < 3, lambda: xs[i], lambda: xs[i - 4])),
        lambda xs: fk.pull(xs.length, lambda i: fk.cond(i != 0, lambda: 0, lambda: xs[i - 1])),
        lambda xs: fk.pull(xs.length, lambda i: fk.seq_for(
            -1, i, lambda k, s: s + xs[k], 0)),
        lambda xs: fk.pull(xs.length, lambda i: fk.seq_for(
            0, xs.length - i + 1, lambda k, s: s + xs[i + k], 0)),
        lambda xs: fk.pconcat_map(lambda p: fk.pull(64, lambda i: p[i + (i & -2)]),
                                  fk.split_up(64, xs)),
        lambda xs: fk.generate(xs.length // 8 + 1, lambda b: fk.generate(
            8, lambda t: xs[b * 8 + t])),
        lambda xs: fk.pull(xs.length, lambda i: xs[fw.clip(i * 3, 0, xs.length)]),
    ],
)  # fmt: skip
def test_what_is_not_known_is_tested(fn):
    """Each of them goes outside, and says so."""
    assert checks_of(fk.kernel(fn), XS) >= 1
    with fw.target("interp"):
        assert "outside" in refused(fk.kernel(fn), XS)


def test_a_loop_that_begins_below_nothing():
    """Its counter is no index: nothing may be left out that asks for its sign."""
    kernel = fk.kernel(lambda xs: fk.map(lambda x: fk.seq_for(
        -3, 4, lambda i, s: s + fw.maximum(i, 0) + fk.cond(i < 0, lambda: 100, lambda: 0), x), xs))

    check(kernel, XS[:4], want=XS[:4] + 306)


def test_columns_of_a_matrix_without_rows():
    """Who asks how long a row is reads none."""
    kernel = fk.kernel(lambda a: fk.pull(a[0].length, lambda j: fk.seq_for(
        0, a.length, lambda i, s: s + a[i][j], 0)))

    check(kernel, np.zeros((0, 5), np.int64), want=np.zeros(5, np.int64))
    check(kernel, XS[:20].reshape(4, 5), want=XS[:20].reshape(4, 5).sum(0))


def test_the_row_of_an_element_is_not_tested():
    """An element's number says which row and column it is in, along any number of axes."""

    def rows(a):
        return fk.pull(a.length, lambda i: fk.pull(a[0].length, lambda j: 2 * a[i][j]))

    def planes(a):
        return fk.pull(a.length, lambda i: fk.pull(a[0].length, lambda j: fk.pull(
            a[0][0].length, lambda k: 2 * a[i][j][k])))  # fmt: skip

    def product(a, b):
        return fk.pull(a.length, lambda i: fk.pull(b[0].length, lambda j: fk.seq_for(
            0, b.length, lambda k, s: s + a[i][k] * b[k][j], 0)))  # fmt: skip

    matrix, cube = XS.reshape(8, 8), XS.reshape(2, 4, 8)
    mapped = fk.kernel(lambda a: fk.map(lambda row: fk.map(fw.negative, row), a))
    untested = checks_of(mapped, matrix)
    assert checks_of(fk.kernel(rows), matrix) == checks_of(fk.kernel(planes), cube) == untested
    assert checks_of(fk.kernel(product), matrix, matrix) == untested + 1  # k is a row of b alone
    check(fk.kernel(planes), cube, want=2 * cube)
    check(fk.kernel(planes), cube[:, :0], want=cube[:, :0])
    check(fk.kernel(product), matrix, matrix[:, :3].copy(), want=matrix @ matrix[:, :3])
    with fw.target("interp"):
        assert "index 7 is outside" in refused(fk.kernel(product), matrix[:, :7].copy(), matrix)
        more = fk.kernel(lambda a: fk.pull(a.length + 1, lambda i: fk.pull(8, lambda j: a[i][j])))
        assert "index 8 is outside" in refused(more, matrix)


@pytest.mark.parametrize("q", [1, 3, 4])
def test_sequential_over_units_that_are_not_forced(q):
    """Its length is known while it is written."""

    def block(part):
        rows = fk.pconcat_map(lambda p: fk.map(lambda x: x + 1, p), fk.split_up(4, part))
        return fk.map(lambda x: 2 * x, rows)

    kernel = fk.kernel(lambda xs: fk.pconcat_map(fk.sequential(q)(block), fk.split_up(16, xs)))
    check(kernel, XS, want=2 * (XS + 1))


@pytest.mark.parametrize("warps", [1, 3, 9])
@pytest.mark.parametrize("n", [1, 20, 33])
def test_any_number_of_warps_scans(warps, n):
    """Where lanes meet in memory, warps without work come to the barriers, too."""

    def block(part):
        return fk.pconcat_map(
            lambda w: fk.scan(lambda a, b: a * 2 + b, w, 0), fk.split_up(n, part), level=fk.WARP)

    def block_of_sums(part):
        return fk.pconcat_map(
            lambda w: (fk.scan(plus, w, 0), fk.reduce(plus, w, 0)), fk.split_up(n, part),
            level=fk.WARP)

    xs = np.arange(2 * warps * n)
    kernel = fk.kernel(lambda xs: fk.pconcat_map(block_of_sums, fk.split_up(warps * n, xs)))
    rows = xs.reshape(-1, n)
    check(kernel, xs, want=(rows.cumsum(1).ravel(), rows.sum(1)))


@pytest.mark.parametrize("how", [lambda f: f, fk.sequential(2)])
def test_reductions_of_no_elements(how):
    """The neutral element, in the dtype of the elements, whoever computes them."""
    none = lambda p: fk.reduce(plus, fk.pull(0, lambda i: p[i]), 0)

    def warp(p):
        return fk.reduce(plus, fk.take(0, p), 0)

    def block(p):
        warps = fk.pconcat_map(warp, fk.split_up(4, p), level=fk.WARP)
        threads = fk.pconcat_map(lambda x: none(fk.take(0, p)), fk.take(2, p))
        return fk.singleton(none(fk.take(0, p))), warps, threads

    kernel = fk.kernel(lambda xs: fk.pconcat_map(how(block), fk.split_up(8, xs)))
    check(kernel, XS[:16].astype(np.float32), want=(
        np.zeros(2, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32)))  # fmt: skip
    with fw.target("interp"):
        assert all(found.dtype == np.float32 for found in kernel(XS[:16].astype(np.float32)))


def test_the_greatest_of_a_warp_again_and_again():
    """Later code may write what its lanes have read for a reduction."""

    def better(a, b):
        wins = b[0] > a[0]
        return fw.where(wins, b[0], a[0]), fw.where(wins, b[1], a[1])

    def warp(part):
        m, found = fk.fill(part), fk.memory(3, fw.i64)
        for k in range(3):
            value, i = fk.reduce(better, fk.zip(m.pull(), fk.iterations(32)), (-1, 0))

            def thread(_, k=k, value=value, i=i):
                m[i], found[k] = -1, value

            fk.for_all(1, thread)
            fk.barrier()
        return found.pull()

    kernel = fk.kernel(lambda xs: fk.pconcat_map(
        lambda p: fk.pconcat_map(warp, fk.split_up(32, p), level=fk.WARP), fk.split_up(64, xs)))
    xs = np.random.default_rng(0).permutation(128)
    check(kernel, xs, want=np.sort(xs.reshape(4, 32))[:, :-4:-1].ravel())


def test_an_annotated_dtype_is_the_argument_s():
    """Of arrays of any rank; numbers are no arrays."""

    @fk.kernel
    def doubled(xs: fk.Pull[fw.f32]):
        return fk.map(lambda x: x + x, xs)

    assert doubled(np.ones(2, np.float32)).tolist() == [2, 2]
    for wrong in (np.ones(2), np.ones(2, np.int32), np.float32(1)):
        assert "is a Pull[f32], got" in refused(doubled, wrong)
    assert "is a Pull[f32], got" in refused(fw.jit(lambda xs: doubled(xs)), np.ones(2))


def test_a_position_says_its_block_and_its_thread_without_a_division():
    """Element 16 b + t of what all blocks put: where it goes depends on b and t."""
    @fk.kernel
    def turned(xs):
        blocks = xs.length // 16
        return fk.ix_map(
            lambda q: q % 16 * blocks + q // 16,
            fk.generate(blocks, lambda b: fk.generate(16, lambda t: xs[b * 16 + t])),
        )

    text = turned.stages(np.arange(64)).text["kernel"]
    code = text[text.index("kernel turned"):]
    assert "floordiv" not in code and "mod" not in code
    assert turned(np.arange(64)).tolist() == np.arange(64).reshape(4, 16).T.ravel().tolist()
