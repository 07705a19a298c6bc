"""Mistakes with values that are known only when a program runs, or kept after its trace."""

import math
import statistics

import numpy as np

import flatweave as fw

X = np.arange(5.0)


def if_on_a_tracer():
    @fw.jit
    def f(x):
        if x[0] > 0:
            return x
        return -x

    f(X)


def while_on_a_tracer():
    @fw.jit
    def f(n):
        while n > 1:
            n = n // 2
        return n

    f(8)


def and_on_tracers():
    @fw.jit
    def f(x):
        return fw.map(lambda v: v > 0 and v < 3, x)

    f(X)


def assert_on_a_tracer():
    @fw.jit
    def f(x):
        assert x[0] == 0
        return x

    f(X)


def int_of_a_tracer():
    fw.jit(lambda x: x[int(x[0])])(X)


def float_of_a_tracer():
    fw.jit(lambda x: x * float(x[0]))(X)


def math_of_a_tracer():
    fw.map(lambda v: math.sin(v), X)


def range_of_a_tracer():
    @fw.jit
    def f(x):
        for i in range(x.shape[0]):
            x = x + i
        return x

    f(X)


def len_of_a_tracer():
    fw.jit(lambda x: x * len(x))(X)


def iteration_over_a_tracer():
    @fw.jit
    def f(x):
        return sum(v for v in x)

    f(X)


def numpy_array_of_a_tracer():
    fw.jit(lambda x: np.asarray(x))(X)


def numpy_function_of_a_tracer():
    fw.jit(lambda x: np.spacing(x))(X)


def numpy_array_at_a_traced_index():
    table = np.arange(3.0)
    fw.map(lambda i: table[i], [0, 1])


def hash_of_a_tracer():
    fw.jit(lambda x: {x: 1})(X)


def dict_at_a_traced_key():
    fw.map(lambda i: {0: 1.5}[i], [0, 1])


def list_at_a_traced_index():
    fw.map(lambda i: [1.5, 2.5][i], [0, 1])


def assignment_to_an_array_from_outside():
    @fw.jit
    def f(x):
        def row(v):
            x[0] = v
            return v

        return fw.map(row, x)

    f(X)


def tracer_kept_after_its_trace():
    kept = []

    @fw.jit
    def f(x):
        kept.append(x * 2)
        return x

    f(X)
    fw.sum(kept[0])


def tracer_kept_for_another_trace():
    kept = []
    fw.jit(lambda x: kept.append(x))(X)
    fw.jit(lambda y: y + kept[0])(X)


def element_kept_outside_its_function():
    @fw.jit
    def f(x):
        kept = []
        fw.map(lambda v: kept.append(v) or v, x)
        return x + kept[0]

    f(X)


def list_repeated_by_a_tracer():
    fw.jit(lambda x: fw.scatter([0] * x.shape[0], [0], [1]))(X)


def sum_of_python():
    fw.jit(lambda x: sum(x))(X)


def unpacked_tracer():
    @fw.jit
    def f(x):
        a, b = x
        return a + b

    f(X)


def search_in_a_tracer():
    fw.jit(lambda x: fw.map(lambda v: v in x, x))(X)


def search_of_a_tracer():
    fw.jit(lambda x: fw.map(lambda v: v in [1.0, 2.0], x))(X)


def chain_of_comparisons():
    fw.jit(lambda x: fw.map(lambda v: 0 < v < 3, x))(X)


def numpy_array_of_a_traced_length():
    fw.jit(lambda x: np.zeros(x.shape))(X)


def item_of_a_tracer():
    fw.jit(lambda x: x[0].item())(X)


def method_that_is_a_function():
    fw.jit(lambda x: x.median())(X)


def method_that_is_a_function_of_functions():
    fw.asarray(X).filter(lambda x: x > 1)


def traced_array_in_a_function_of_python():
    fw.jit(lambda x: statistics.mean(x))(X)


def attribute_of_no_array():
    fw.jit(lambda x: x.length)(X)


def attribute_of_no_array_with_values():
    fw.asarray(X).length


def method_that_is_a_function_of_complex_numbers():
    fw.asarray(X + 1j).append(2)


def function_without_a_return():
    fw.map(lambda v: None, X)


def array_before_the_neutral_element():
    fw.reduce(fw.add, X, 0)


def function_behind_the_array():
    fw.filter(X, lambda v: v > 0)


def call_without_a_neutral_element():
    fw.reduce(fw.add, X)


def keyword_of_another_function():
    fw.sort(X, reverse=True)


def public_function_that_subtracts():
    fw.reduce(fw.sub, 0.0, X)


def tracer_added_into_an_array():
    @fw.jit
    def f(x):
        total = np.zeros(5)
        total += x
        return total

    f(X)


def array_to_write_results_to():
    np.add(X, 1, out=fw.asarray(X))


def shape_in_two_arguments():
    fw.zeros(2, 3)


def element_in_an_array_of_numpy():
    def f(x):
        table = np.zeros(3)
        table[0] = x[0]
        return x

    fw.jit(f)(X)


def row_in_an_array_of_numpy():
    def f(x):
        table = np.zeros(3)
        table[0] = x
        return x

    fw.jit(f)(X)


def item_of_several_elements():
    fw.asarray(X).item()
