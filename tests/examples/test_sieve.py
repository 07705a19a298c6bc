"""examples/sieve.py finds the primes, by division and by expansion, and draws them."""

import numpy as np
import pytest
from PIL import Image


def primes_up_to(n):
    """The numbers that no smaller one divides."""
    return [k for k in range(2, n + 1) if all(k % d for d in range(2, k))]


@pytest.mark.parametrize("name", ["nested", "flattened"])
def test_all_primes_up_to_each_number(example, target, name):
    """From nothing to the third iteration: squares, and squares less one, are the risk."""
    sieve = getattr(example("sieve"), name)

    for n in [*range(30), 255, 256, 257, 290]:
        assert np.asarray(sieve(n)).tolist() == primes_up_to(n), n


def test_counting_is_as_good_as_listing(example, target):
    """Around squares, where the root is what matters."""
    count = example("sieve").count

    for n in [*range(12), 24, 25, 26, 120, 121, 122]:
        assert int(count(n)) == len(primes_up_to(n)), n
    assert int(count(np.int32(10_007))) == 1230


def test_both_sieves_and_numpy_agree(example):
    """Four iterations, of which the last one is cut short."""
    sieve = example("sieve")
    expected = sieve.numpy_sieve(70_000)

    assert np.array_equal(sieve.flattened(70_000), expected)
    assert np.array_equal(sieve.nested(70_000), expected)


def test_the_primes_have_the_dtype_of_their_bound(example, target):
    """Half the memory for numbers of 32 bits."""
    sieve = example("sieve")

    assert sieve.flattened(np.int32(20)).dtype == np.int32
    assert sieve.flattened(20).dtype == np.int64


def test_the_same_primes_for_every_number_of_threads(example, threads):
    """A million, of which every multiple is struck out by somebody."""
    sieve, n = example("sieve"), np.int32(1_000_000)
    found = sieve.flattened(n)

    assert len(found) == sieve.count(n) == 78_498 and found[-1] == 999_983


def test_the_spiral_winds_around_its_middle(example, target):
    """Each number is next to the one before it."""
    spiral, extent = example("sieve").spiral, 6
    places = [np.argwhere(np.asarray(spiral(np.array([k]), extent))) for k in range(1, 37)]

    assert all(len(place) == 1 for place in places)
    steps = np.abs(np.diff(np.concatenate(places), axis=0))
    assert (steps.sum(axis=1) == 1).all()
    assert places[0].tolist() == [[3, 2]]


def test_the_program_ends_well(example, tmp_path, capsys):
    """`python examples/sieve.py 1000 FOLDER` ends with 0 and leaves a picture."""
    assert example("sieve").main(["1000", str(tmp_path)]) == 0
    assert "168 primes up to 1,000, the last ones [983, 991, 997]" in capsys.readouterr().out
    assert Image.open(tmp_path / "primes.png").size == (400, 400)
