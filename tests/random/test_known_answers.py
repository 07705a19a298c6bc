"""Words and uniforms are those of NumPy's Philox and of JAX's Threefry, bit for bit."""

import numpy as np
import pytest

import flatweave as fw

SEEDS = [0, 7, 2**64 - 1, 2**100 + 12345]
LENGTHS = [0, 1, 3, 4, 5, 127, 1025]

# jax.random with jax_threefry_partitionable, its default
BITS = {
    "uint8": [11, 0, 170, 48, 134],
    "uint16": [10507, 32256, 10666, 17712, 25478],
    "uint32": [2895194379, 4185947648, 1300703658, 1906787632, 3139134342],
    "uint64": [
        15571024786774969728, 837714335556982463, 4150233810675416579, 1187704779931702788,
        220234664623017412,
    ],
}  # fmt: skip


def words(made):
    """The two words of a key as Python numbers."""
    return tuple(int(np.asarray(word)) for word in made)


@pytest.mark.parametrize("seed", SEEDS)
def test_words_of_philox_are_numpys(target, seed):
    """Of any length, also such that end within a block."""
    for n in LENGTHS:
        found = np.asarray(fw.random.bits(fw.random.key(seed), n))

        np.testing.assert_array_equal(found, np.random.Philox(key=seed).random_raw(n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniforms_of_philox_are_numpys(target, dtype):
    """As numpy.random.Generator makes them of the words."""
    found = np.asarray(fw.random.uniform(fw.random.key(3), (17, 61), dtype=dtype))

    expected = np.random.Generator(np.random.Philox(key=3)).random((17, 61), dtype=dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", BITS)
def test_bits_of_threefry_are_those_of_jax(target, dtype):
    """Of every width, for any shape."""
    key = fw.random.key(7, "threefry")

    assert np.asarray(fw.random.bits(key, 5, dtype=dtype)).tolist() == BITS[dtype]
    square = np.asarray(fw.random.bits(key, (2, 2), dtype=dtype))
    assert square.ravel().tolist() == BITS[dtype][:4]


def test_uniforms_of_threefry_are_those_of_jax(target):
    """23 bits of f32 and 52 of f64."""
    key = fw.random.key(7, "threefry")

    assert np.asarray(fw.random.uniform(key, 3, dtype=fw.f32)).tolist() == [
        0.6740899085998535, 0.9746168851852417, 0.3028435707092285,
    ]  # fmt: skip
    assert np.asarray(fw.random.uniform(key, 3)).tolist() == [
        0.8441069450823528, 0.04541258512665647, 0.22498462569285382,
    ]  # fmt: skip


def test_keys_of_threefry_are_those_of_jax():
    """Of large and negative seeds, split, and folded with a number."""
    key = fw.random.key(7, "threefry")

    assert words(key) == (0, 7)
    assert words(fw.random.key(2**40 + 5, "threefry")) == (256, 5)
    assert words(fw.random.key(-3, "threefry")) == (4294967295, 4294967293)
    assert [words(child) for child in fw.random.split(key, 3)] == [
        (3625411723, 1954958720), (195045567, 4062205631), (966301609, 1948237315),
    ]  # fmt: skip
    assert words(fw.random.fold_in(key, 9)) == (2810364265, 2977591751)


def test_a_computed_seed_is_the_seed(target):
    """Inside of a jitted function, for both generators."""
    for generator in ("philox", "threefry"):
        made = fw.jit(lambda s, g=generator: fw.random.key(s, g))(2**40 + 5)

        assert words(made) == words(fw.random.key(2**40 + 5, generator))
