"""examples/attention.py: ragged softmax and attention equal those of each sequence."""

import numpy as np
import pytest

import flatweave as fw

SIZES = [([2], [3]), ([1, 4, 2], [5, 1, 3]), ([0, 2, 0], [3, 1, 0]), ([3, 1], [130, 1]), ([], [])]


def part(lengths, extent=4, seed=0):
    """Random vectors, some for each sequence."""
    vectors = np.random.default_rng(seed).standard_normal((sum(lengths), extent))
    return fw.ragged(vectors, lengths=np.array(lengths, np.int64))


@pytest.mark.parametrize("lengths", [[], [0], [3], [0, 1, 0, 2, 0], [200, 1]])
def test_each_row_adds_up_to_one(example, target, lengths):
    """Large numbers do not overflow; an empty row stays empty."""
    rows = fw.ragged(
        np.random.default_rng(1).random(sum(lengths)) * 1000, lengths=np.array(lengths, np.int64)
    )
    found = example("attention").ragged_softmax(rows)

    for ours, row in zip(found, rows, strict=True):
        powers = np.exp(np.asarray(row) - np.asarray(row).max(initial=-np.inf))
        assert np.allclose(ours, powers / powers.sum(), rtol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("queries, keys", SIZES)
def test_each_sequence_by_itself(example, target, queries, keys):
    """Weights and mixes are those of NumPy, sequence by sequence; values have another extent."""
    attention = example("attention")
    given = part(queries), part(keys, seed=1), part(keys, 6, seed=2)
    weights, mixes = attention.attention(*given)

    assert np.asarray(weights.lengths).tolist() == np.repeat(keys, queries).tolist()
    assert mixes.shape == (sum(queries), 6)
    if queries:
        assert attention.is_close((weights, mixes), attention.numpy_attention(*given))


def test_queries_without_keys_see_nothing(example, target):
    """Their weights are an empty row, and their mix is 0."""
    weights, mixes = example("attention").attention(part([2, 1]), part([0, 3]), part([0, 3]))

    assert np.asarray(weights.lengths).tolist() == [0, 0, 3]
    assert not np.asarray(mixes)[:2].any() and np.asarray(mixes)[2].all()


def test_fewer_sequences_of_keys_than_of_queries(example, target):
    """The sequence that is not there is named."""
    with pytest.raises(fw.IndexOutOfBounds, match="index 1 is outside"):
        example("attention").attention(part([1, 2]), part([3]), part([3]))


@pytest.mark.sampled
def test_long_sequences_for_every_number_of_threads(example, threads):
    """A few sequences are hundreds of times as long as the others."""
    attention = example("attention")
    given = attention.sequences(60)

    assert attention.is_close(attention.attention(*given), attention.numpy_attention(*given))


def test_words_that_are_alike_have_vectors_that_are(example, target):
    """A product of 1 with themselves, of more with a cousin than with a stranger."""
    water, vater, mouse = np.asarray(example("attention").embedded(["water vater mouse"]).values)

    assert water @ water == pytest.approx(1)
    assert water @ vater > 0.5 > water @ mouse


def test_the_program_ends_well(example, capsys):
    """`python examples/attention.py` prints that music is la musica and ends with 0."""
    assert example("attention").main([]) == 0
    assert "       la  musica\nmusic        @@@\n" in capsys.readouterr().out
