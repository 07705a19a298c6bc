"""Keys as one long number: the order of NumPy's lexsort, whatever ranges and bits they have."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.test_sorting import order_of

BY_TWO = fw.jit(lambda a, b: fw.argsort((a, b)))
DOWN = fw.jit(lambda a, b: fw.argsort((a, b), descending=True))
BY_THREE = fw.jit(lambda a, b, c: fw.sort((a, b, c)))
FAR = 2**63
MANY = np.arange(5000)
"""More elements than are sorted in a network."""


def keys_of(kind, count):
    """Keys of 64 bits: of few bits, of all, around zero, with constant bits in between, alike."""
    rng = np.random.default_rng(count)
    match kind:
        case "near zero":
            return rng.integers(-5, 5, count)
        case "all bits":
            return rng.integers(-FAR, FAR, count)
        case "ends":
            return rng.choice(np.array([-FAR, -1, 0, FAR - 1]), count)
        case "apart":
            return rng.integers(0, 4, count) << 40 | rng.integers(0, 4, count) << 3
        case "alike":
            return np.full(count, 77)
        case "halves":
            return rng.integers(-9, 9, count) / 2
    raise ValueError(kind)


KINDS = ["near zero", "all bits", "ends", "apart", "alike", "halves"]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 129, 3001])
def test_two_keys_are_one_number(kind, count, threads):
    """Of 128 bits at the most: a digit may have bits of both, and a word not all of them."""
    a = keys_of(kind, count)
    for other in KINDS:
        b = keys_of(other, count)[::-1].copy()
        assert np.array_equal(BY_TWO(a, b), np.lexsort((b, a))), other
    assert np.array_equal(DOWN(a, b), order_of(a, b, descending=True))


@pytest.mark.parametrize("kinds", [("near zero", "all bits"), ("all bits", "ends"),
                                   ("ends", "near zero")])  # fmt: skip
def test_the_trailing_bits_of_several_keys_are_mended(kinds, threads):
    """Passes over the leading bits alone leave what both keys, or the second one, decide."""
    count = 70_000
    a, b = (keys_of(kind, count) for kind in kinds)
    a[: count // 2] = a[0]
    assert np.array_equal(BY_TWO(a, b), np.lexsort((b, a)))


def test_small_keys_share_a_short_word(threads):
    """Three keys of a byte each, or less, are taken in words of 32 bits."""
    rng = np.random.default_rng(7)
    keys = (rng.integers(-128, 128, 5000).astype(np.int8), rng.random(5000) < 0.5,
            rng.integers(0, 256, 5000).astype(np.uint8))  # fmt: skip
    order = np.lexsort(keys[::-1])
    for found, key in zip(BY_THREE(*keys), keys, strict=True):
        assert np.array_equal(found, key[order])


SORT = fw.jit(lambda keys: fw.sort(keys))


@pytest.mark.parametrize(
    ("keys", "passes"),
    [
        (MANY % 1000 - 500, 1),  # 10 bits when the least is taken off, all 64 as they are
        (2**40 + MANY % 1000 * 1024, 1),  # what is alike below and above costs nothing
        (MANY % 2 * 2**60 + MANY % 3, 2),  # nor what is between
        (MANY * 0 + 77, 0),
    ],
    ids=["near zero", "multiples", "apart", "alike"],
)
def test_passes_are_as_many_as_bits_need(keys, passes):
    """One pass for up to ten bits; digits that are the same everywhere have none."""
    with fw.profile() as profile:
        assert np.array_equal(SORT(keys), np.sort(keys))
    counts = [row["launches"] for row in profile.rows() if row["kernel"].endswith("_count")]
    assert sum(counts) == passes


@pytest.mark.parametrize(
    ("bits", "counted"),
    [
        ((7, 10), {"_key1_count", "_count"}), ((9, 9), {"_key0_count", "_key1_count"}),
        ((4, 3), {"_count"}), ((0, 5), {"_key1_count"}), ((5, 0), {"_key0_count"}),
    ],
)  # fmt: skip
def test_a_digit_of_one_key_reads_that_key_alone(bits, counted):
    """Other keys are neither read nor shifted, where the digit has no bits of theirs."""
    rng = np.random.default_rng(11)
    a, b = (rng.integers(0, 1 << n, 3000) for n in bits)
    with fw.profile() as profile:
        assert np.array_equal(BY_TWO(a, b), np.lexsort((b, a)))
    ran = [row["kernel"] for row in profile.rows() if row["launches"]]
    assert {name[name.index("_", 2) :] for name in ran if name.endswith("_count")} == counted


@pytest.mark.parametrize("keys", [MANY * 7919 % 5000, (MANY % 7, MANY * 31 % 5000)])
def test_the_last_pass_moves_what_is_read(keys):
    """Keys that nothing reads after it stay; those of a sorted array move to the end."""
    by = keys if isinstance(keys, tuple) else (keys,)
    for function, wanted in ((fw.argsort, {True}), (lambda k: fw.sort_by_key(k, k), {False})):
        with fw.profile() as profile:
            fw.jit(function)(keys)
        passes = [row for row in profile.rows() if row["does"] == "radix sort" and row["launches"]]
        ran = [row["kernel"] for row in passes]
        assert {any(name.endswith("_last") for name in ran)} == wanted
    x = MANY / 3
    assert np.array_equal(fw.jit(lambda k: fw.sort_by_key(k, x)[1])(keys), x[np.lexsort(by[::-1])])
