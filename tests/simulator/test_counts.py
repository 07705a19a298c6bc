"""The simulator counts what a device would do; every number here can be found by hand."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.simulator.counts import bank_conflicts, touched


def plus(a, b):
    return a + b


@fk.kernel
def reduced(xs: fk.Pull[fw.f32]):
    def block(part):
        while part.length > 1:
            part = fk.force(fk.zip_with(plus, *fk.halve(part)))
        return part

    return fk.pconcat_map(block, fk.split_up(256, xs))


XS = np.arange(1024, dtype=np.float32)


@pytest.mark.parametrize("threads", [None, 128, 32])
def test_a_reduction(threads):
    """4 blocks halve 256 elements 8 times, each time after a barrier; in warps the last sum needs
    neither barrier nor memory, as the thread that has it reads it."""
    counts = reduced.counts(XS, threads=threads)
    own = 0 if threads is None else 1

    assert (counts.launches, counts.blocks) == (1, 4)
    assert counts.threads == 4 * min(threads or 128, 128)
    assert counts.barriers + counts.warp_barriers == 4 * (8 - own)  # some of one warp alone
    assert counts.global_reads == 1024
    assert counts.global_writes == 4
    assert counts.shared_writes == counts.shared_reads == 4 * (255 - own)
    assert counts.local_writes == counts.local_reads == 4 * own
    assert counts.bank_conflicts == 0
    assert counts.sectors == 1024 * 4 // 32 + 4
    assert counts.lines == 1024 * 4 // 128 + 4
    assert counts.uncoalesced == 0


def test_a_table():
    """What is not done has no row; with several kernels there is one for all."""
    one = str(reduced.counts(XS))
    assert one.splitlines()[0].split() == ["reduced"]
    assert "barriers of blocks" in one and "bank conflicts" not in one

    @fk.kernel
    def two(xs):
        return fk.map(lambda x: x + 1, fk.force(fk.map(lambda x: x * 2, xs)))

    head, *rows = str(two.counts(np.arange(4))).splitlines()
    assert head.split() == ["two", "two_1", "all"]
    assert ["launches", "1", "1", "2"] in [row.split() for row in rows]


def test_nothing_is_counted_under_another_name():
    """The message says what is."""
    with pytest.raises(AttributeError, match="bank_conflicts"):
        _ = reduced.counts(XS).banks


def test_transposing_by_rows_or_through_shared_memory():
    """A column of 32 f32 is in 32 sectors: each load of a warp touches all of them."""

    @fk.kernel
    def plain(xs):
        return fk.generate(32, lambda i: fk.pull(32, lambda j: xs[j * 32 + i]))

    counts = plain.counts(np.zeros(1024, np.float32))
    assert counts.global_reads == counts.global_writes == 1024
    assert counts.uncoalesced == 32
    assert counts.sectors == 32 * 32 + 32 * 4
    assert counts.fewest_sectors == 2 * 32 * 4

    def tile(pad):
        @fk.kernel
        def kernel(xs):
            def block(part):
                m = fk.memory(32 * (32 + pad), fw.f32)
                fk.for_all(1024, lambda i: m.__setitem__((i // 32) * (32 + pad) + i % 32, part[i]))
                fk.barrier()
                return fk.pull(1024, lambda i: m[(i % 32) * (32 + pad) + i // 32])

            return fk.pconcat_map(block, fk.split_up(1024, xs))

        return kernel

    shared = tile(0).counts(np.zeros(1024, np.float32))
    assert shared.uncoalesced == 0
    assert shared.bank_conflicts == 32 * 31  # 32 reads of warps, all lanes in one bank
    assert tile(1).counts(np.zeros(1024, np.float32)).bank_conflicts == 0


LANES = np.arange(32)


@pytest.mark.parametrize(
    ("places", "itemsize", "conflicts"),
    [
        (LANES, 4, 0),
        (LANES * 0, 4, 0),  # all of one word: it is broadcast
        (LANES * 2, 4, 1),
        (LANES * 32, 4, 31),
        (LANES * 33, 4, 0),
        (LANES, 8, 0),  # two halves, each of 128 bytes
        (LANES * 2, 8, 1 + 1),
        (LANES, 1, 0),  # four lanes share a word
        (LANES * 4, 1, 0),
        (LANES * 128, 1, 31),
        (LANES // 16 * 32, 4, 1),
    ],
)
def test_bank_conflicts(places, itemsize, conflicts):
    """Words of one bank are accessed one at a time."""
    assert bank_conflicts(places, itemsize, LANES) == conflicts


@pytest.mark.parametrize(
    ("places", "itemsize", "found"),
    [
        (LANES, 4, (4, 4, 1, 0)),
        (LANES + 1, 4, (5, 4, 2, 0)),  # not aligned: one sector more, which is no fault
        (LANES * 8, 4, (32, 4, 8, 1)),
        (LANES * 0, 4, (1, 1, 1, 0)),
        (LANES, 8, (8, 8, 2, 0)),
        (LANES[::-1], 4, (4, 4, 1, 0)),  # any order will do
    ],
)
def test_sectors(places, itemsize, found):
    """Of 32 bytes, and lines of 128."""
    assert touched(places, itemsize, LANES * 0) == found


def test_warps_are_apart():
    """Two warps that touch the same sectors touch them twice."""
    twice = np.concatenate([LANES, LANES])

    assert touched(twice, 4, np.arange(64) // 32) == (8, 8, 2, 0)
    assert bank_conflicts(twice * 2, 4, np.arange(64)) == 2


def test_atomics_and_memory_of_threads():
    """Updates are counted separately, and so is private memory."""

    @fk.kernel
    def counted(xs):
        found = fk.fill(fk.replicate(16, 0))

        def thread(i):
            own = fk.memory(2, fw.i64)
            own[0] = xs[i]
            fk.atomic_inc(found, own[0])

        fk.for_all(1, lambda b: fk.for_all(64, thread))
        return found

    counts = counted.counts(np.arange(64) % 16)
    assert counts.global_atomics == 64
    assert (counts.local_reads, counts.local_writes) == (64, 64)
    assert counts.global_reads == 64
