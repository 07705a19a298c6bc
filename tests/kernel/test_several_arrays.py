"""A unit that returns several arrays gives several results, each with its length."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused


def plus(a, b):
    return a + b


def prefixes(part):
    """By doubling, one thread for each element."""
    distance = 1
    while distance < part.length:
        part = fk.force(part)
        d = distance
        part = fk.pull(
            part.length,
            lambda i, xs=part, d=d: fk.cond(i < d, lambda: xs[i], lambda: xs[i - d] + xs[i]),
        )
        distance *= 2
    return fk.force(part)


@fk.kernel
def scans_and_sums(xs):
    def block(part):
        scanned = prefixes(part)
        return scanned, fk.last(scanned)

    return fk.pconcat_map(block, fk.split_up(64, xs))


@fk.kernel
def scan(xs):
    def block(part):
        scanned = prefixes(part)
        return scanned, fk.last(scanned)

    scanned, sums = fk.force(fk.pconcat_map(block, fk.split_up(64, xs)))
    before = fk.force(fk.generate(1, lambda _: fk.generate(1, lambda _: fk.seq_scan(plus, sums))))

    def add(b):
        part = fk.pull(64, lambda j: scanned[b * 64 + j])
        return fk.cond(b > 0, lambda: before[b - 1], lambda: 0), part

    def block_of(b):
        first, part = add(b)
        return fk.map(lambda x: x + first, part)

    return fk.generate(sums.length, block_of)


@fk.kernel
def of_threads(xs):
    def thread(part):
        return fk.seq_scan(plus, part), fk.seq_reduce(plus, part), (part[0], part[3] * 1.5)

    def three(part):
        a, b, c = thread(part)
        return a, b, fk.singleton(c)

    return fk.pconcat_map(lambda part: fk.pconcat_map(three, fk.split_up(4, part)),
                          fk.split_up(32, xs))


@fk.kernel
def with_loops(xs):
    return fk.pconcat_map(
        lambda part: fk.generate(
            1, lambda _: fk.seq_concat(fk.p_map(lambda x: (fk.replicate(2, x), x), part))),
        fk.split_up(4, xs))


@fk.kernel
def in_a_block(xs):
    def block(part):
        sums, firsts = fk.force(
            fk.pconcat_map(lambda c: (fk.singleton(c[0] + c[1]), c[0]), fk.split_up(2, part)))
        return fk.zip_with(lambda a, b: a - b, sums, firsts)

    return fk.pconcat_map(block, fk.split_up(8, xs))


@fk.kernel
def by_hand(xs):
    def block(part):
        def write(put):
            def thread(i):
                put[0](i, part[i])
                fk.when(i % 2 == 0, lambda: put[1](i // 2, part[i] + part[i + 1]))

            fk.for_all(8, thread)

        return fk.make_push((8, 4), write)

    return fk.pconcat_map(block, fk.split_up(8, xs))


XS = np.arange(256) * 7 % 11


@pytest.mark.parametrize("n", [0, 64, 256])
def test_local_scan_and_block_maximum(n):
    """The thesis's kernel with two outputs, 3.4.4."""
    xs = XS[:n]
    parts = xs.reshape(-1, 64).cumsum(1)

    check(scans_and_sums, xs, want=(parts.ravel(), parts[:, -1]))


def test_a_scan_in_three_launches():
    """The second output of one kernel is the input of the next."""
    check(scan, XS, want=XS.cumsum())


def test_threads_give_three():
    """Of lengths 4, 1 and 1, one of them of pairs of two dtypes."""
    rows = XS.reshape(-1, 4)

    check(of_threads, XS, want=(
        rows.cumsum(1).ravel(), rows.sum(1), (rows[:, 0], rows[:, 3] * 1.5)
    ))  # fmt: skip


def test_one_unit_after_the_other():
    """In a loop of one thread."""
    check(with_loops, XS[:8], want=(XS[:8].repeat(2), XS[:8]))


def test_in_shared_memory():
    """Forced in a block they are two arrays of its memory, after one barrier."""
    check(in_a_block, XS[:16], want=XS[1:16:2])
    assert in_a_block.text["kernel"].count("sync") == 1


def test_a_program_written_by_hand():
    """make_push with several lengths."""
    check(by_hand, XS[:16], want=(XS[:16], XS[:16].reshape(-1, 2).sum(1)))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda found: fk.map(lambda x: x, found), "gives several arrays, where one array"),
        (lambda found: fk.concat_p(found, found), "gives several arrays, where one array"),
        (lambda found: fk.take(2, found), "gives several arrays, where one array"),
    ],
)
def test_where_one_is_needed(use, message):
    """Functions of one array refuse several."""
    kernel = fk.kernel(
        lambda xs: use(fk.pconcat_map(lambda part: (part, part[0]), fk.split_up(4, xs))))

    assert message in refused(kernel, XS[:8])


def test_errors_where_a_length_is_asked():
    """There is no one length."""

    def write(xs):
        found = fk.pconcat_map(lambda part: (part, part[0]), fk.split_up(4, xs))
        return fk.iterations(found.length)

    with pytest.raises(fw.ArgumentError, match="gives several arrays"):
        fk.kernel(write)(XS[:8])
