"""O47: whole algorithms as one kernel: loops of launches, kernels in kernels and in jit; and what
the simulator says of push arrays that leave holes or put twice."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check


def plus(a, b):
    return a + b


@pytest.mark.parametrize("turns", [0, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_a_loop_of_launches(turns, n):
    """Each iteration allocates memory of the grid, and frees it."""

    @fk.kernel
    def kernel(xs, turns: fw.i64):
        m = fk.fill(xs)

        def turn(_):
            more = fk.force(fk.map(lambda x: x + 1, m.pull()))
            m.write(fk.reverse(more))

        fk.seq_for(0, turns, turn)
        return m

    xs = np.arange(n)
    check(kernel, xs, turns, want=(xs[::-1] if turns % 2 else xs) + turns)


def test_locks_in_a_loop_of_launches():
    """They are allocated in each iteration, and freed with it."""
    def better(a, b):
        wins = b[0] > a[0]
        return fw.where(wins, b[0], a[0]), fw.where(wins, b[1], a[1])

    @fk.kernel
    def kernel(keys, xs):
        m = fk.fill(fk.replicate(4, (-1, 0)))

        def turn(r):
            fk.for_all(xs.length // 32, lambda b: fk.for_all(32, lambda t: fk.atomic(
                better, m, keys[b * 32 + t], (xs[b * 32 + t] * (r + 1), t))))

        fk.seq_for(0, 3, turn)
        return m

    xs = np.arange(64)
    check(kernel, xs % 4, xs, want=(3 * np.arange(60, 64), np.arange(28, 32)))


def test_until_nothing_changes():
    """A number that a launch has found decides whether another one follows: labels that spread."""

    @fk.kernel
    def kernel(left):
        n = left.length
        labels = fk.fill(fk.iterations(n))

        def turn(_):
            changed = fk.fill(fk.replicate(1, 0))
            before = fk.force(labels.pull())

            def element(b, t):
                i = b * 32 + t
                at = fw.minimum(before[i], before[left[i]])
                fk.when(at < before[i], lambda: put(i, at))

            def put(i, at):
                labels[i] = at
                fk.atomic_max(changed, 0, 1)

            fk.for_all(n // 32, lambda b: fk.for_all(32, lambda t: element(b, t)))
            return changed[0]

        fk.seq_while(lambda again: again == 1, turn, 1)
        return labels

    left = np.arange(64) - 1
    left[[0, 20, 50]] = [0, 20, 50]
    check(kernel, left, want=np.r_[[0] * 20, [20] * 30, [50] * 14])


def test_kernels_in_kernels_and_in_jit():
    """A filter and a sum, each a kernel, in a program of arrays."""

    @fk.kernel
    def kept(xs):
        return fk.filter(lambda x: x % 3 == 0, xs)

    @fk.kernel
    def total(xs):
        found = fk.force(kept(xs))
        return fk.generate(1, lambda _: fk.generate(1, lambda _: fk.seq_reduce(plus, found, 0)))

    xs = np.arange(100)
    check(total, xs, want=np.array([xs[::3].sum()]))
    assert fw.jit(lambda xs: fw.sum(kept(xs + 1)) * 2)(xs) == 2 * sum(range(3, 101, 3))


def parts(write):
    """A kernel whose blocks put four elements by hand."""
    return fk.kernel(lambda xs: fk.pconcat_map(
        lambda p: fk.make_push(4, lambda put: write(p, put)), fk.split_up(4, xs)))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda p, put: fk.for_all(3, lambda t: put(t, p[t])), "has holes"),
        (lambda p, put: fk.for_all(4, lambda t: put(t // 2, p[t])), "is written by two threads"),
        (lambda p, put: fk.for_all(4, lambda t: put(t + 5, p[t])), "out of bounds"),
    ],
)
def test_push_arrays_that_do_not_put_each_element_once(write, message):
    """The simulator names the user's line."""
    with pytest.raises(fw.UserError, match=message) as found:
        parts(write).simulate(np.arange(8))

    assert found.value.where.is_known


def then(f, g):
    """The affine function f, then g: it does not commute. Each is a factor and a summand."""
    return f[0] * g[0], f[1] * g[0] + g[1]


@fk.kernel
def centred(xs):
    """What all blocks have found is a number in the next launch."""
    total = fk.reduce(plus, xs, 0)
    return fk.map(lambda x: x * xs.length - total, xs)


@fk.kernel
def prefixes(xs):
    return fk.scan(plus, xs, 0), fk.scan(plus, xs, 0, 100, exclusive=True)


@fk.kernel
def composed(xs):
    functions = fk.map(lambda x: (x, x + 1), xs)
    return fk.scan(then, functions, (1, 0)), fk.reduce(then, functions, (1, 0))


@pytest.mark.parametrize("n", [0, 1, 1025])
def test_reductions_and_scans_of_the_grid(n):
    """By all blocks and one more: of no elements, of a part, of whole parts and a rest."""
    xs = np.arange(n) * 7 % 13 - 6

    check(centred, xs, want=xs * n - xs.sum())
    check(prefixes, xs, want=(xs.cumsum(), 100 + xs.cumsum() - xs))


def test_operators_of_the_grid_need_not_commute():
    """Parts are combined in their order; pairs wrap as NumPy's integers do."""
    xs = np.arange(3000) % 3 * 2 - 1
    want = np.zeros((2, 3000), np.int64)
    factor, summand = np.int64(1), np.int64(0)
    with np.errstate(over="ignore"):
        for k, x in enumerate(xs):
            factor, summand = want[:, k] = factor * x, summand * x + x + 1

    scanned, total = composed(xs)
    assert np.array_equal(np.stack([np.asarray(part) for part in scanned]), want)
    assert [int(part) for part in total] == want[:, -1].tolist()
    assert composed.stages(xs).kernels == 5
