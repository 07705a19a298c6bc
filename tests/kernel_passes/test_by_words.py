"""Tiles of narrow elements come into shared memory a word at a time, wherever they begin."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_ir.text import print_unit
from flatweave.kernel_passes.by_words import by_words
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.runtime.devices import nvrtc
from tests.kernel_ir.units import one_kernel

THREADS = 64
DTYPES = {"u8": np.uint8, "i16": np.int16, "bool": np.bool_}
SHAPE = BlockShape(2, 32)
TILE = """
    s: shared u8 = shared u8 64
    for_all thread 64 (t: i64 =>
        i: i64 = add {first} t
        x: u8 = load xs i
        {more})
    sync
    for_all thread 64 (u: i64 =>
        j: i64 = sub 63 u
        y: u8 = load s j
        z: i64 = cast i64 y
        store out u z)
"""


def turned(dtype, size):
    """Each block turns `size` elements, from `start` on, `apart` from those of the one before."""

    @fk.kernel(threads=THREADS)
    def kernel(xs: fk.Pull[dtype], start: fw.i64, apart: fw.i64):
        def block(b):
            part = fk.pull(size, lambda i: xs[start + b * apart + i])
            return fk.reverse(fk.force(part))

        return fk.generate(3, block)

    return kernel


def want(xs, size, start, apart):
    """The same in NumPy."""
    return np.concatenate([xs[start + b * apart :][:size][::-1] for b in range(3)])


def given(name, count):
    """So many elements, and not one more behind them."""
    numbers = np.random.default_rng(count).integers(0, 251, count)
    return numbers % 2 == 0 if name == "bool" else numbers.astype(DTYPES[name])


def check(name, size, starts, distances):
    """A kernel that is written once, from all these places."""
    kernel = turned(getattr(fw, name), size)
    for start in starts:
        for apart in distances:
            xs = given(name, start + 2 * apart + size)
            args = xs, np.int64(start), np.int64(apart)
            found = kernel.simulate(*args, threads=THREADS)
            np.testing.assert_array_equal(found, want(xs, size, start, apart))
    return kernel


@pytest.mark.parametrize(("name", "size"), [("u8", 7), ("i16", 5), ("bool", 9), ("u8", 130)])
def test_tiles_from_anywhere(name, size):
    """Begin and end within a word or not, and share words with others."""
    check(name, size, [0, 1, 3], [size, 2])


@pytest.mark.slow
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 8, 127, 128, 129, 1023, 1025])
def test_tiles_of_any_length_from_anywhere(name, size):
    """Lengths around multiples of a word, each remainder of the start, and each of the distance."""
    check(name, size, range(5), [size, *range(1, 5)])


@pytest.mark.needs_opencl
@pytest.mark.parametrize(("name", "size"), [("u8", 7), ("i16", 129), ("bool", 130)])
def test_on_a_device(name, size):
    """OpenCL C, with tiles that begin at each place of a word."""
    kernel = turned(getattr(fw, name), size)
    for start in range(4):
        xs = given(name, start + 3 * size)
        with fw.target("opencl"):
            found = kernel(xs, np.int64(start), np.int64(size))
        np.testing.assert_array_equal(found, want(xs, size, start, size))


def test_a_quarter_of_the_accesses():
    """Of whole words, in which order the block's threads take them; all text compiles."""
    xs = given("u8", 4096)

    @fk.kernel(threads=THREADS)
    def kernel(xs: fk.Pull[fw.u8]):
        return fk.pconcat_map(lambda part: fk.reverse(fk.force(part)), fk.split_up(1024, xs))

    counts = kernel.counts(xs, threads=THREADS)

    assert counts.global_reads == counts.shared_writes == xs.size // 4
    assert counts.shared_reads == counts.global_writes == xs.size
    assert counts.sectors == counts.fewest_sectors == 2 * xs.size // 32
    nvrtc.ptx(kernel.text["cuda"])
    assert "fw_word" in kernel.text["opencl"]
    assert "copy_word" not in kernel.text["kernel"]


@pytest.mark.parametrize("q", [1, 3, 8])
def test_tiles_of_scans(q):
    """With gaps between the rows of the tile (q = 8), too."""
    size = 1000
    xs = given("u8", 2 * size)

    @fk.kernel(threads=256)
    def kernel(xs: fk.Pull[fw.u8]):
        def block(part):
            return fk.scan(lambda a, b: a + b, part, np.uint8(0))

        return fk.pconcat_map(fk.sequential(q)(block), fk.split_up(size, xs))

    sums = xs.reshape(2, size).cumsum(1, dtype=np.uint8).ravel()
    np.testing.assert_array_equal(kernel.simulate(xs, threads=256), sums)
    with fw.target("cpu"):
        np.testing.assert_array_equal(kernel(xs), sums)
    if q > 1:
        assert kernel.counts(xs, threads=256).global_reads == xs.size // 4


@pytest.mark.parametrize(
    ("first", "more", "shape", "words"),
    [
        ("64", "store s t x", SHAPE, 1),
        ("n", "store s t x", SHAPE, 1),
        ("n", "store s t x", BlockShape(1, 64, simt=False), 0),  # a vector has more than a word
        ("n", "w: u8 = add x x\n        store s t w", SHAPE, 0),  # other elements
        ("n", "store s i x", SHAPE, 0),  # in other places
        ("t", "store s t x", SHAPE, 0),  # of other places
        ("n", "store s t x\n        store s t x", SHAPE, 0),
    ],
)
def test_what_is_a_copy(first, more, shape, words):
    """Only elements that stand side by side in both memories, on machines that move words."""
    unit = one_kernel(TILE.format(first=first, more=more), xs="u8")

    assert print_unit(by_words(unit, shape)).count("copy_word") == words


def test_a_tile_that_is_used_before_is_not_moved():
    """Its elements stay where the use before expects them."""
    before = "for_all thread 64 (v: i64 => store s v 0u8)\n    sync\n    for_all thread 64 (t"
    text = TILE.format(first="n", more="store s t x").replace("for_all thread 64 (t", before)

    assert "copy_word" not in print_unit(by_words(one_kernel(text, xs="u8"), SHAPE))
