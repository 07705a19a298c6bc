"""Sorts and writes of arrays in chunks: every element goes to its part, in one stage or in two."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.array_ir import interp
from flatweave.base.dtypes import i64, u16, u32
from flatweave.base.schedule import CHOSEN
from flatweave.cluster.in_process import InProcess
from flatweave.cluster.shuffle import COMPARED, Parting
from flatweave.cluster.shuffled import SAMPLES
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.call.options import PLACE
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType

RNG = np.random.default_rng(3)


def parting(types, keys):
    """Programs for arrays of these types, of which the first are the keys."""
    b = Builder()
    xs = [b.param("x", ArrayType(type_, (b.param("n", i64),))) for type_ in types]
    return Parting(xs, b.function(types, lambda inside, *elements: elements[:keys]))


def both(program, args):
    """The results of a program, compiled and interpreted, which are the same."""
    made = compile_program(program, "cpu", True, CHOSEN).run(args)
    for mine, theirs in zip(made, interp.run(program, args), strict=True):
        assert np.array_equal(mine, theirs)
    return made


@pytest.mark.parametrize("parts", [5, (1 << COMPARED) + 1])
def test_elements_are_brought_in_order_of_their_parts(parts):
    """Few splitters are compared, more are bisected; the greatest key of all is in the last part,
    and elements of a part stay in their order."""
    made = parting([u32, i64], 1)
    for n in (0, 1, 129, 1025):
        keys = RNG.integers(0, 1 << 32, n, np.uint32)
        keys[:2] = np.uint32(0xFFFFFFFF)
        splitters = np.sort(RNG.integers(0, 1 << 32, parts - 1, np.uint32))
        splitters[1:2] = splitters[0]
        args = [n, *made.given([splitters], parts), keys, np.arange(n)]
        own, order, counts = both(made.program(parts).program, args)

        number = np.searchsorted(splitters, keys, side="right")
        assert np.array_equal(order, np.argsort(number, kind="stable"))
        assert np.array_equal(own, keys[order])
        assert np.array_equal(counts, np.bincount(number, minlength=parts))


def test_later_keys_count_where_earlier_ones_are_equal(parts=6):
    """Of several keys the first one counts most."""
    made = parting([u16, u32], 2)
    keys = RNG.integers(0, 4, 500).astype(np.uint16), RNG.integers(0, 9, 500).astype(np.uint32)
    chosen = RNG.integers(0, 500, parts - 1)
    chosen = chosen[np.lexsort([each[chosen] for each in keys[::-1]])]
    args = [500, *made.given([each[chosen] for each in keys], parts), *keys]
    first, second, counts = both(made.program(parts).program, args)

    pairs = [*zip(*(each.tolist() for each in keys), strict=True)]
    number = [sum(pairs[k] <= pair for k in chosen) for pair in pairs]
    assert np.array_equal(counts, np.bincount(number, minlength=parts))
    order = np.argsort(number, kind="stable")
    assert np.array_equal(first, keys[0][order]) and np.array_equal(second, keys[1][order])


class InStages(InProcess):
    """Parts are grouped first."""

    def __init__(self, each):
        super().__init__("interp")
        self.each = each
        self.tasks = 0

    def group(self, chunks, parts, size):
        return self.each

    def run(self, *args):
        self.tasks += 1
        return super().run(*args)


def on(place, f, *args):
    """The results of a function there."""
    token = PLACE.set(place)
    try:
        return fw.jit(f)(*args)
    finally:
        PLACE.reset(token)


@pytest.mark.parametrize("each", [5, 20])
def test_two_stages_give_what_one_does(each):
    """Also where a group has one part, where many keys are equal, and where chunks are few."""
    xs = np.concatenate([RNG.integers(0, 9, 150), RNG.integers(0, 1000, 53)])
    values, places = np.arange(203), RNG.permutation(203)
    cut = lambda array: fw.Chunked.cut(array, 10)
    ordered, moved = on(InStages(each), fw.sort_by_key, cut(xs), cut(values))
    assert np.array_equal(ordered, np.sort(xs))
    assert np.array_equal(moved, np.argsort(xs, kind="stable"))

    write = lambda dest, at, new: fw.scatter(dest, at, new)
    written = on(InStages(each), write, cut(np.full(203, -1)), cut(places), cut(values))
    assert np.array_equal(written, np.argsort(places))
    once, twice = InStages(0), InStages(each)
    for place in (once, twice):
        on(place, fw.sort, cut(xs))
    assert twice.tasks > once.tasks


def test_parts_are_even_also_where_keys_repeat_at_equal_distances():
    """The sample is taken at unequal distances."""
    n = 1 << 14
    for keys in (np.arange(n) % 32, np.arange(n), np.arange(n)[::-1]):
        found = on(InProcess("interp"), fw.sort, fw.Chunked.cut(keys, n // 8))
        lengths = np.diff(found.bounds)
        assert lengths.sum() == n and lengths.max() < 1.5 * n / 8
    assert n // 8 > SAMPLES  # not all are in the sample


@pytest.mark.parametrize("dtype", ["<u4", ">f8"])
def test_a_sample_of_a_file_is_its_rows(tmp_path, dtype):
    """The elements at the requested indices, in this machine's byte order."""
    rows = np.arange(60).reshape(20, 3).astype(dtype)
    np.save(tmp_path / "a.npy", rows[:8])
    np.save(tmp_path / "b.npy", rows[8:])
    xs = fw.Chunked.open([tmp_path / "a.npy", tmp_path / "b.npy"], 5)
    found = fw.jit(lambda x: fw.sort(x[:, 1]))(xs)
    assert np.array_equal(found, rows[:, 1])
    ordered = fw.Chunked.of([xs.pieces[1], xs.pieces[2]], xs.dtype, xs.row)
    from_piece = ordered.pieces[1].picked(np.array([0, 2]))
    assert np.array_equal(from_piece, rows[[8, 10]]) and from_piece.dtype.isnative
