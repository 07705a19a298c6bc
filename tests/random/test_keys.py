"""Keys are values: split, folded, mapped over, carried through loops; other values are refused."""

import re

import numpy as np
import pytest

import flatweave as fw

GENERATORS = pytest.mark.parametrize("generator", ["philox", "threefry"])


@GENERATORS
def test_no_two_uses_share_numbers(generator):
    """Of a key, its parts, their parts, and keys folded with numbers."""
    key = fw.random.key(1, generator)
    parts = [key, *fw.random.split(key, 5), *(fw.random.fold_in(key, i) for i in range(50, 55))]
    parts += [inner for part in parts[1:3] for inner in fw.random.split(part)]

    found = np.concatenate([np.asarray(fw.random.bits(part, 200)) for part in parts])

    assert len(np.unique(found)) == len(found)


@pytest.mark.sampled
@GENERATORS
def test_an_array_of_keys_is_what_split_gives(target, generator):
    """For a computed number of keys, none among them."""
    key = fw.random.key(5, generator)
    many = fw.jit(lambda k, n: fw.random.keys(k, n))

    for n in (0, 1, 6):
        found, expected = many(key, n), fw.random.split(key, n)
        assert list(zip(*map(np.ndarray.tolist, map(np.asarray, found)), strict=True)) == [
            tuple(int(np.asarray(word)) for word in part) for part in expected
        ]


@pytest.mark.sampled
@GENERATORS
def test_numbers_inside_of_map(target, generator):
    """Elements, rows, and rows of computed lengths, each as if drawn alone."""
    key = fw.random.key(5, generator)
    parts = fw.random.split(key, 4)
    lengths = np.array([3, 0, 9, 4])

    one = fw.jit(lambda k: fw.map(fw.random.uniform, fw.random.keys(k, 4)))(key)
    rows = fw.jit(
        lambda k: fw.map(lambda each: fw.random.uniform(each, 5), fw.random.keys(k, 4))
    )(key)
    ragged = fw.jit(lambda k, ns: fw.map(fw.random.uniform, fw.random.keys(k, 4), ns))(key, lengths)

    alone = [np.asarray(fw.random.uniform(part, 9)) for part in parts]
    assert np.asarray(one).tolist() == [row[0] for row in alone]
    assert np.asarray(rows).tolist() == [row[:5].tolist() for row in alone]
    assert ragged.tolist() == [
        row[:n].tolist() for row, n in zip(alone, lengths.tolist(), strict=True)
    ]


def test_a_key_goes_round_with_a_loop(target):
    """Each iteration draws from a separate key."""
    def body(i, state):
        key, total = state
        here, key = fw.random.split(key)
        return key, total + fw.random.uniform(here)

    found = fw.jit(lambda k: fw.fori_loop(0, 4, body, (k, 0.0))[1])(fw.random.key(2))

    key, total = fw.random.key(2), 0.0
    for _ in range(4):
        here, key = fw.random.split(key)
        total += float(fw.random.uniform(here))
    assert float(found) == total


def test_threads_do_not_matter(threads):
    """Nor the number of elements drawn with one."""
    key = fw.random.key(11)
    draw = fw.jit(lambda k, n: fw.random.normal(k, n), target="cpu")

    found = np.asarray(draw(key, 300_001))

    np.testing.assert_array_equal(found[:1000], np.asarray(draw(key, 1000)))
    assert len(np.unique(found)) == len(found)


MISUSES = {
    "no key": (lambda: fw.random.uniform(7), "^uniform takes a key first, got i64\\.$"),
    "none at all": (lambda: fw.random.normal(None, 3), "takes a key first, got a NoneType"),
    "a traced number": (
        lambda: fw.jit(lambda k: fw.random.uniform(k))(7), "takes a key first, got i64"
    ),
    "other words": (
        lambda: fw.random.bits((1.5, 2.5), 3), "two words of u64 or of u32, got a pair of f64"
    ),
    "an array of keys": (
        lambda: fw.random.uniform(fw.random.keys(fw.random.key(1), 3)), "got an array of keys"
    ),
    "no generator": (lambda: fw.random.key(1, "mersenne"), "there is no generator 'mersenne'"),
    "a large seed": (lambda: fw.random.key(2**128), "a seed of philox has 128 bits"),
    "a float": (lambda: fw.random.key(1.5), "a seed must be an integer, got f64"),
    "a computed number": (
        fw.jit(lambda: fw.random.split(fw.random.key(1), fw.iota(4)[3])),
        "takes a Python number of keys",
    ),
    "an empty range": (lambda: fw.random.integers(fw.random.key(1), 5, 5), "got \\[5, 5\\)"),
    "a wide range": (
        lambda: fw.random.integers(fw.random.key(1), 0, 300, 3, dtype=fw.u8), "does not fit u8"
    ),
    "a number between integers": (
        lambda: fw.random.fold_in(fw.random.key(1), 1.5), "the number of fold_in must be an integer"
    ),
    "a weight that is NaN": (
        lambda: fw.random.choice(fw.random.key(1), 2, 2, p=[1.0, np.nan]), "weight 1 of choice"
    ),
    "two shapes": (
        lambda: fw.random.poisson(fw.random.key(1), np.ones(3), 3), "takes no"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_misuses(name):
    """Each says what is wrong, and what to do."""
    call, message = MISUSES[name]

    with pytest.raises(fw.ArgumentError) as refused:
        call()
    # not the whole text: it shows this file's line, on which the expected words stand
    assert re.search(message, refused.value.message)
    assert refused.value.remedy


def test_other_misuses():
    """Dtypes without such numbers, extents below 0, weights that do not fit, too many drawn."""
    key = fw.random.key(1)
    with pytest.raises(fw.DTypeError, match="uniform gives f32 or f64, not i32"):
        fw.random.uniform(key, 3, dtype=fw.i32)
    with pytest.raises(fw.DTypeError, match="integers gives integers, not f32"):
        fw.random.integers(key, 3, dtype=fw.f32)
    with pytest.raises(fw.NegativeExtentError, match="an extent of normal must not be negative"):
        fw.random.normal(key, -1)
    with pytest.raises(fw.ShapeError, match="got 3 elements and 2 weights"):
        fw.random.choice(key, np.arange(3), 5, p=np.ones(2))
    for replace, p in ((False, None), (False, [1.0, 0.0, 2.0]), (True, np.zeros(3))):
        with pytest.raises(fw.ShapeError, match="choice needs"):
            fw.random.choice(key, 3, 3 + (p is None), replace, p)
    with pytest.raises(fw.ShapeError, match="choice needs 1 or more elements, got 0"):
        fw.random.choice(key, 0, 3)
    assert fw.random.choice(key, 0, 0).tolist() == []
