"""Mistakes with irregular data, each with the whole message it gets in messages/NAME.txt."""

import numpy as np

import flatweave as fw

X = np.arange(5.0)
I = np.arange(5)  # noqa: E741
SIZES = np.array([2, 0, -3, 1])


def size_below_zero():
    fw.expand(lambda n: n, lambda n, i: n * i, SIZES)


def size_of_a_reduction_below_zero():
    fw.jit(lambda xs: fw.expand_reduce(lambda n: n, lambda n, i: i, fw.add, 0, xs))(SIZES)


def repetition_below_zero():
    fw.replicated_iota(SIZES)


def sizes_that_overflow():
    fw.jit(lambda xs: fw.expand(lambda n: n, lambda n, i: i, xs))(np.array([2**62, 2**62, 1]))


def size_that_is_no_integer():
    fw.expand(lambda x: x / 2, lambda x, i: x, X)


def results_of_different_lengths():
    fw.expand(lambda n: 2, lambda n, i: fw.iota(i), I)


def flags_for_other_elements():
    fw.segmented_scan(fw.add, 0, X > 2, X[:3])


def traced_flags_for_other_elements():
    fw.jit(lambda f, x: fw.segmented_reduce(fw.add, 0, f, x))(X > 2, X[:3])


def flags_that_are_numbers():
    fw.segmented_iota(I)


def flags_of_a_matrix():
    fw.segmented_iota(np.eye(2, dtype=bool))


def repetitions_that_are_no_integers():
    fw.replicated_iota(X)


def repetitions_in_a_matrix():
    fw.replicated_iota(np.eye(2, dtype=np.int64))


def offsets_that_do_not_start_at_zero():
    fw.ragged(X, offsets=[1, 3, 5])


def offsets_that_decrease():
    fw.jit(lambda x, o: fw.ragged(x, offsets=o))(X, np.array([0, 3, 2, 5]))


def offsets_that_end_early():
    fw.ragged(X, offsets=[0, 3, 4])


def offsets_of_no_rows():
    fw.ragged(X[:0], offsets=I[:0])


def offsets_that_are_floats():
    fw.ragged(X, offsets=[0.0, 5.0])


def offsets_in_a_matrix():
    fw.ragged(X, offsets=[[0, 5]])


def offsets_that_are_a_name():
    fw.ragged(X, offsets="rows")


def lengths_below_zero():
    fw.ragged(X, lengths=[3, -1, 3])


def lengths_of_other_values():
    fw.jit(lambda x, n: fw.ragged(x, lengths=n))(X, np.array([3, 3]))


def row_flags_for_other_values():
    fw.ragged(X, flags=X[:4] > 2)


def rows_given_twice():
    fw.ragged(X, offsets=[0, 5], lengths=[5])


def rows_not_given():
    fw.ragged(X)


def ragged_of_a_scalar():
    fw.ragged(np.float64(1), lengths=[1])


def ragged_of_arrays_of_different_lengths():
    fw.ragged((X, I[:4]), lengths=[5])


def ragged_of_a_ragged():
    fw.ragged(fw.ragged(X, lengths=[2, 3]), lengths=[1, 1])


def row_that_is_not_there():
    fw.ragged(X, lengths=[2, 3])[2]


def slice_of_a_ragged():
    fw.ragged(X, lengths=[2, 3])[:1]


def len_of_a_traced_ragged():
    fw.jit(lambda r: r.values * len(r))(fw.ragged(X, lengths=[2, 3]))


def sum_of_a_ragged():
    fw.reduce(fw.add, 0.0, fw.ragged(X, lengths=[2, 3]))


def scatter_into_a_row():
    fw.map(lambda row: fw.scatter(row, I[:1], X[:1]), fw.ragged(X, lengths=[2, 3]))


def part_of_a_row():
    fw.map(lambda row: row[1:], fw.ragged(X, lengths=[2, 3]))


def map_over_a_ragged_and_a_scalar():
    fw.map(lambda row, x: row + x, fw.ragged(X, lengths=[2, 3]), 1.0)


def map_over_a_ragged_and_an_array():
    fw.map(lambda row, x: row + x, fw.ragged(X, lengths=[2, 3]), X)


def rows_that_do_not_fit_each_other():
    fw.map(lambda a, b: a + b, fw.ragged(X, lengths=[2, 3]), fw.ragged(X, lengths=[3, 2]))
