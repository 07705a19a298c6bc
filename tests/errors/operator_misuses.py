"""Mistakes with numbers, operators and neutral elements; whole messages in messages/NAME.txt."""

import numpy as np

import flatweave as fw

I = np.arange(5)  # noqa: E741


def argument_too_big():
    fw.jit(lambda xs, k: xs + k)(np.zeros(3, np.uint8), -1)


def number_beyond_every_integer():
    fw.jit(lambda xs, k: xs + k)(I, 2**63)


def neutral_element_too_big():
    fw.reduce(fw.add, 300, np.zeros(3, np.int8))


def neutral_element_of_another_kind():
    fw.jit(lambda xs: fw.scan(fw.minimum, 0.5, xs))(I)


def numpy_scalar_of_another_kind():
    fw.reduce(fw.add, np.float32(0.5), I)
