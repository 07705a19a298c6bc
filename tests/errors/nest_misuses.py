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
