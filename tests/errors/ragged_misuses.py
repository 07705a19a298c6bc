"""Mistakes with irregular data, each with the whole message it gets in messages/NAME.txt."""

from types import SimpleNamespace

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


def result_that_reads_too_far():
    table = X

    @fw.jit
    def f(sizes, table):
        return fw.expand(lambda n: n, lambda n, i: table[n + i], sizes)

    f(np.array([1, 2, 3, 4]), table)


def results_of_different_dtypes():
    fw.expand(lambda n: n, lambda n, i: fw.cond(i == 0, lambda: n, lambda: n * 0.5), I)


def results_of_different_structures():
    fw.expand(lambda n: n, lambda n, i: fw.cond(i == 0, lambda: n, lambda: (n, i)), I)


def if_in_the_results_of_an_expansion():
    fw.expand(lambda n: n, lambda n, i: n if i == 0 else 0, I)


def results_of_a_function_of_one_argument():
    fw.expand(lambda n: n, lambda n: n, I)


def size_of_another_structure():
    fw.expand(lambda n: (n, n), lambda n, i: n, I)


def operator_of_an_expansion_with_another_dtype():
    fw.expand_reduce(lambda n: n, lambda n, i: i, lambda a, b: (a + b) / 2, 0, I)


def operator_of_segments_with_another_structure():
    fw.segmented_reduce(lambda a, b: (a, b), 0, I > 2, I)


def operator_of_rows_with_another_dtype():
    rows = fw.ragged(I, lengths=[2, 3])
    fw.map(lambda row: fw.reduce(lambda a, b: (a + b) * 0.5, 0, row), rows)


def iota_of_a_narrow_dtype():
    fw.iota(1000, fw.u8)


def traced_iota_of_a_narrow_dtype():
    fw.jit(lambda x: x[fw.iota(x.shape[0], fw.i8)])(np.arange(129))


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


def offsets_of_a_narrow_dtype():
    fw.ragged(np.arange(1000), offsets=np.array([0, 500, 1000]).astype(np.uint8))


def traced_offsets_of_a_narrow_dtype():
    offsets = np.array([0, 100, 200]).astype(np.int8)
    fw.jit(lambda x, o: fw.ragged(x, offsets=o))(np.arange(200), offsets)


def traced_offsets_that_end_late():
    fw.jit(lambda x, o: fw.ragged(x, offsets=o))(X, np.array([0, 3, 9]))


def lengths_that_overflow():
    fw.ragged(X, lengths=[2**62, 5, 2**62])


def traced_lengths_that_overflow():
    fw.jit(lambda x, n: fw.ragged(x, lengths=n))(X, np.array([2**62, 5, 2**62]))


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


def ragged_beside_an_array():
    fw.ragged((fw.ragged(X, lengths=[2, 3]), X[:2]), lengths=[1, 1])


def sums_of_a_ragged_along_two_axes():
    fw.cumsum(fw.ragged([[[1], [2, 3]], []]), axis=(0, 2))


def none_in_a_row():
    fw.ragged([[1, 2], [3, None]])


def row_that_is_a_number():
    fw.ragged([[1, 2], 3])


def elements_of_different_structures():
    fw.ragged([[(1, 2), (3,)]])


def truth_of_a_ragged():
    a = fw.ragged([[1, 2], [3]])
    assert a == a


def shorter_list_among_lists():
    fw.sum([[1, 2], [3]])


def numbers_beside_rows():
    fw.ragged([[1, 2], [[3]]])


def matrix_of_row_numbers():
    fw.ragged(X, lengths=[2, 3])[np.array([[0, 1]])]


def ragged_and_array_end_to_end():
    fw.concat([fw.ragged(X, lengths=[2, 3]), X])


def rows_end_to_end_with_fewer_rows():
    fw.concat([fw.ragged(X, lengths=[2, 3]), fw.ragged(X, lengths=[5])], axis=1)


def maximum_of_a_row_without_elements():
    fw.max(fw.ragged(X, lengths=[2, 0, 3]), axis=1)


def place_of_the_maximum_of_a_row_without_elements():
    fw.jit(lambda rows: fw.argmax(rows, axis=1))(fw.ragged(X, lengths=[5, 0]))


def order_of_rows():
    fw.sort(fw.ragged(X, lengths=[2, 3]))


def predicate_of_elements_for_rows():
    fw.filter(lambda row: row > 1, fw.ragged(X, lengths=[2, 3]))


def row_of_an_index_array_that_is_not_there():
    fw.ragged(X, lengths=[2, 3])[[1, 2]]


def single_bool_for_rows():
    fw.ragged(X, lengths=[2, 3])[True]


def single_bool_within_rows():
    fw.ragged(X, lengths=[2, 3])[:, True]


def number_within_rows_that_is_no_integer():
    fw.ragged(X, lengths=[2, 3])[:, 0.5]


def index_arrays_of_rows_of_different_lengths():
    fw.ragged(X, lengths=[2, 3])[[0, 1], [0, 1, 0]]


def function_as_a_method_of_a_ragged():
    fw.ragged(X, lengths=[2, 3]).std(axis=0)


def name_that_a_ragged_lacks():
    fw.ragged(X, lengths=[2, 3]).pivot()


def field_as_an_attribute():
    fw.ragged([[{"pt": 1.0}], []]).pt.tolist()


def row_that_is_not_there():
    fw.ragged(X, lengths=[2, 3])[2]


def traced_row_that_is_not_there():
    fw.jit(lambda rows, i: fw.sum(rows[i]))(fw.ragged(X, lengths=[2, 3]), 2)


def sparse_matrix_as_an_argument():
    matrix = SimpleNamespace(data=X, indices=I, indptr=np.array([0, 2, 5]))
    fw.jit(lambda a: a)(matrix)


def element_of_rows_that_are_too_short():
    fw.ragged(X, lengths=[2, 0, 3])[:, 0]


def element_of_a_row_that_is_too_short():
    fw.jit(lambda rows, j: rows[:, j])(fw.ragged(X, lengths=[2, 3]), 2)


def field_that_is_not_there():
    fw.ragged([[{"x": 1, "y": 2}]])["z"]


def len_of_a_traced_ragged():
    fw.jit(lambda r: r.values * len(r))(fw.ragged(X, lengths=[2, 3]))


def sum_of_a_ragged():
    fw.reduce(fw.add, 0.0, fw.ragged(X, lengths=[2, 3]))


def map_over_a_ragged_and_a_scalar():
    fw.map(lambda row, x: row + x, fw.ragged(X, lengths=[2, 3]), 1.0)


def map_over_a_ragged_and_an_array():
    fw.map(lambda row, x: row + x, fw.ragged(X, lengths=[2, 3]), X)


def rows_that_do_not_fit_each_other():
    fw.map(lambda a, b: a + b, fw.ragged(X, lengths=[2, 3]), fw.ragged(X, lengths=[3, 2]))


def shape_of_rows():
    return fw.ragged([[1], [2]]).shape
