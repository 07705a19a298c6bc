"""Mistakes inside nests, whose work is done for all rows at once."""

import numpy as np

import flatweave as fw

M = np.arange(6.0).reshape(2, 3)
ROWS = fw.ragged([[3, 1], [], [2]])


def index_outside_a_sorted_row():
    fw.map(lambda row: fw.sort(row)[0], ROWS)


def negative_length_in_a_row():
    fw.map(lambda n: fw.sum(fw.cumsum(fw.iota(n))), np.array([2, 1, -4]))


def rows_of_two_arguments_that_differ():
    fw.map(lambda a, b: fw.cumsum(a) + b, ROWS, fw.ragged([[1, 2], [3, 4], [4]]))


def operator_that_gives_a_longer_row():
    fw.reduce(lambda a, b: fw.concat([a, b]), np.zeros(3), M)


THREE = fw.ragged([[1, 0], [], [0, 5, 1]])


def index_in_a_function_inside_a_row():
    fw.map(lambda row: fw.sort(fw.map(lambda x: row[x], row)), THREE)


def index_in_a_branch_that_few_rows_take():
    fw.map(lambda row: fw.cond(row.shape[0] > 2, lambda: row[row[1]:] + row[4], lambda: row), THREE)


def index_in_a_loop_of_a_row():
    def turn(state):
        i, way = state
        return i + 1, fw.concat([way, fw.full(1, THREE.values[i * 2])])

    fw.map(lambda n: fw.while_loop(lambda s: s[0] < n, turn, (0, fw.iota(0)))[1],
           np.array([1, 0, 4]))  # fmt: skip


def greatest_of_an_empty_row():
    fw.map(fw.max, THREE)


def least_of_what_a_filter_leaves():
    fw.map(lambda row: fw.min(fw.filter(lambda x: x == 1, row)), THREE)


def place_of_the_greatest_of_an_empty_row():
    fw.map(lambda row: fw.argmax(fw.sort(row)), THREE)


def negative_size_of_an_expansion_in_a_row():
    fw.map(lambda row: fw.expand(lambda x: 4 - x, lambda x, i: i, row), THREE)


def negative_length_in_rows_of_rows():
    fw.map(lambda n: fw.map(lambda i: fw.iota(i - 1), fw.iota(n)), np.array([0, 2]))


def branches_of_different_ranks_in_a_row():
    fw.map(lambda n: fw.cond(n > 1, lambda: fw.iota(n), lambda: n), np.array([2, 1]))


def arguments_of_different_numbers_of_rows():
    fw.map(lambda row, n: fw.sum(row) + n, THREE, np.arange(4))


def recursion_that_depends_on_a_row():
    def sorted_(row):
        return fw.cond(row.shape[0] < 2, lambda: row, lambda: fw.concat([
            sorted_(fw.filter(lambda x: x < row[0], row)),
            fw.filter(lambda x: x >= row[0], row)]))  # fmt: skip

    fw.map(sorted_, THREE)


def greatest_of_the_first_row():
    fw.map(fw.max, fw.ragged([[], [1]]))


def index_outside_the_first_row():
    fw.map(lambda row: fw.sort(row)[3], THREE)


def index_outside_for_the_first_element():
    fw.map(lambda i: ROWS.values[i], np.array([3, 4]))


def a_matrix_of_a_row_that_is_not_positive_definite():
    fw.map(fw.linalg.cholesky, np.stack([np.eye(2), np.diag([1.0, -1.0]), np.eye(2)]))


def a_singular_matrix_in_a_branch_that_few_rows_take():
    fw.map(
        lambda m, flag: fw.cond(flag, lambda m: fw.linalg.solve(m, M[:, :2]), lambda m: m, m),
        np.stack([np.ones((2, 2)), np.eye(2), np.ones((2, 2))]), np.array([False, True, True]),
    )  # fmt: skip
