"""Mistakes with numbers, operators and neutral elements; whole messages in messages/NAME.txt."""

import numpy as np

import flatweave as fw
from flatweave.base.config import config

I = np.arange(5)  # noqa: E741


def argument_too_big():
    fw.jit(lambda xs, k: xs + k)(np.zeros(3, np.uint8), -1)


def number_beyond_every_integer():
    fw.jit(lambda xs, k: xs + k)(I, 2**63)


def neutral_element_too_big():
    fw.reduce(fw.add, 300, np.zeros(3, np.int8))


def histogram_as_numpy_has_it():
    fw.histogram(np.array([0.5, 1.5]), 2)


def operator_that_subtracts():
    fw.reduce(lambda a, b: a - b, 0, I)


def operator_that_divides_rows():
    fw.scan(lambda a, b: a / b, 1.0, np.ones((3, 2)))


def operator_of_tuples_that_subtracts():
    fw.reduce(lambda a, b: (a[0] + b[0], b[1] - a[1]), (0, 0), (I, I))


def operator_that_averages():
    fw.reduce(lambda a, b: (a + b) / 2, 0.0, np.array([1.0, 2.0, 4.0, np.inf]))


def operator_of_an_exponential_average():
    fw.jit(lambda xs: fw.scan(lambda y, x: 0.75 * y + 0.25 * x, xs[0], xs))(I / 1)


def operator_that_does_not_commute():
    fw.permute(lambda a, b: a + 2 * b, np.zeros(3), I % 2, I / 1)


def operator_of_tuples_that_is_tried():
    with config.scoped(debug=True):
        fw.jit(lambda xs: fw.scan(lambda a, b: (a[0] + b[0], a[1] * b[0]), (0, 1), (xs, xs)))(I)


def neutral_element_that_is_tried():
    with config.scoped(debug=True):
        fw.reduce_by_index(np.zeros(3, np.int64), fw.add, 10, I, I)


def neutral_element_of_a_histogram_that_is_tried():
    with config.scoped(debug=True):
        fw.histogram(3, I, np.array([-1, 2, 3, 4, 5]), fw.maximum, 0)


def initial_element_by_both_names():
    fw.reduce(fw.add, initial=0, ne=0, xs=I)


def neutral_element_of_another_kind():
    fw.jit(lambda xs: fw.scan(fw.minimum, 0.5, xs))(I)


def numpy_scalar_of_another_kind():
    fw.reduce(fw.add, np.float32(0.5), I)


def neutral_row_of_another_length():
    f = fw.jit(lambda x, e: fw.scan(lambda a, b: fw.maximum(a, b) + 0, e, x))
    f(np.ones((4, 3)), np.ones(2))
