"""Programs over ragged data: nothing as long as what they expand to is ever stored."""

import numpy as np
import pytest

import flatweave as fw
from tests.structure.counted import expansions, opened, stored_types

NUMBERS, COLUMNS = np.arange(12, dtype=np.float32), np.arange(12, dtype=np.int32) % 5
ROWS = fw.ragged((NUMBERS, COLUMNS), lengths=[3, 0, 9])


def test_the_flattened_sieve_stores_flags_and_primes(example):
    """The multiples go from the primes to the flags that they clear, and are nowhere in between."""
    stages = opened(example("sieve").flattened, np.int32(100))
    (multiples,) = expansions(stages)

    assert stages.kernels == 6  # ends, clear flags, strike out, filter, and both parts of concat
    assert sorted(text.split("[")[0] for text in stored_types(stages)) == [
        "bool", "i32", "i32", "i32", "i64",  # flags; no, new and all primes; ends of multiples
    ]  # fmt: skip
    assert not any(f"[{multiples}]" in text for text in stored_types(stages))


def test_counting_primes_stores_flags_only(example):
    """Above the root: the ends of each prime's multiples, and the flags that the sum reads."""
    stages = opened(example("sieve").count, np.int32(100))
    multiples = expansions(stages)

    assert stages.kernels == 10
    assert len(multiples) == 2
    assert not any(f"[{extent}]" in text for extent in multiples for text in stored_types(stages))


def test_the_nested_sieve_stores_primes_only(example):
    """Each number is divided by all primes where it is filtered: not even flags are stored."""
    stages = opened(example("sieve").nested, np.int32(100))

    assert stages.kernels == 3
    assert {text.split("[")[0] for text in stored_types(stages)} == {"i32"}


def test_spmv_is_one_kernel_and_its_result(example):
    """The products are summed where they are computed, in one pass over the numbers."""
    stages = opened(example("sparse_matrices").spmv, ROWS, NUMBERS)

    assert stages.kernels == 1
    (result,) = stored_types(stages)
    assert result.startswith("f32[") and result.endswith("- 1] (result)")


def test_sparse_times_dense_stores_only_its_result(example):
    """Each element of the product is a separate sum; a pass over the rows checks their sizes."""
    stages = opened(example("sparse_matrices").spmm, ROWS, np.ones((5, 3), np.float32))

    assert stages.kernels == 2
    (result,) = stored_types(stages)
    assert result.endswith("(result)")


def test_expand_reduce_stores_where_each_source_ends():
    """A pass over the sizes, and one over what they expand to, which is combined on the way."""
    stages = opened(
        lambda xs: fw.expand_reduce(lambda n: n, lambda n, i: fw.sqrt(n + i), fw.add, 0.0, xs),
        np.arange(5),
    )

    assert stages.kernels == 2
    assert stored_types(stages) == ["i64[n_1]", "f64[n_1] (result)"]


def test_a_ragged_softmax_stores_two_numbers_for_each_row(example):
    """The largest element, and the sum of the powers: these are computed again, not stored."""
    rows = fw.ragged(NUMBERS, lengths=[3, 0, 9])
    stages = opened(example("attention").ragged_softmax, rows)
    stored = stored_types(stages)

    assert stages.kernels == 3
    assert sum("(result)" in text for text in stored) == 1
    assert [text for text in stored if "(result)" not in text] == ["f32[n_3 - 1]"] * 2


def test_attention_stores_scores_and_weights(example):
    """Of arrays as long as all pairs of queries and keys there are two: what softmax reads twice,
    and the result."""
    attention = example("attention")
    stages = opened(attention.attention, *attention.sequences(3, 4))
    floats = [text for text in stored_types(stages) if text.startswith("f32[")]

    assert sum("t_" in text for text in floats) == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda rows: fw.sum(rows + 1, axis=1),
        lambda rows: fw.sum(fw.exp(fw.exp(rows * 2)), axis=1),
        lambda rows: fw.max(rows * rows - 1, axis=1, initial=0),
    ],
)
def test_what_is_done_to_all_elements_is_done_where_rows_are_combined(f):
    """Each is read once, whatever it costs: nothing is stored but a result for each row."""
    stages = opened(f, fw.ragged(NUMBERS, lengths=[3, 0, 9]))

    assert stages.kernels == 1
    assert stored_types(stages) == ["f32[n_3 - 1] (result)"]
