"""Mistakes that users make, each with the whole message it gets in messages/NAME.txt.

After a message has been changed on purpose:  python -m tests.errors.update
"""

import re
from typing import NamedTuple

import numpy as np

import flatweave as fw

X = np.arange(5.0)
I = np.arange(5)  # noqa: E741
M = np.arange(6.0).reshape(2, 3)


class Pair(NamedTuple):
    a: object
    b: object


def arrays_of_different_lengths():
    @fw.jit
    def saxpy(xs, ys):
        return fw.map(lambda x, y: 2 * x + y, xs, ys)

    saxpy(X, X[1:])


def operands_that_do_not_broadcast():
    fw.jit(lambda x, y: x + y)(X, X[:3])


def rows_that_do_not_broadcast():
    fw.jit(lambda m, v: m * v)(M, X)


def constant_extents_that_differ():
    fw.iota(3) + fw.jit(lambda: fw.full(3, 1) + fw.full(4, 1))()


def index_out_of_bounds():
    fw.jit(lambda x, i: x[i])(X, 7)


def negative_index_out_of_bounds():
    fw.jit(lambda x, i: fw.gather(x, i))(X, np.array([0, -6]))


def index_of_an_array_of_no_elements():
    fw.jit(lambda x: x[0])(X[:0])


def index_in_an_element_function():
    @fw.jit
    def differences(x):
        return fw.generate(x.shape[0], lambda i: x[i + 1] - x[i])

    differences(X)


def index_along_the_second_axis():
    fw.jit(lambda m, j: m[0, j])(M, 3)


def too_many_indices():
    fw.jit(lambda x: x[0, 0])(X)


def float_index():
    fw.jit(lambda x: fw.gather(x, x / 2))(X)


def negative_length():
    fw.iota(-1)


def negative_traced_length():
    fw.jit(lambda x: fw.full(x.shape[0] - 9, 0.0))(X)


def too_many_elements():
    fw.jit(lambda n: fw.generate((n, n), lambda i, j: i))(2**33)


def operator_with_another_dtype():
    fw.reduce(lambda a, b: (a + b) / 2, 0, I)


def operator_with_another_structure():
    fw.scan(lambda a, b: (a, b), 0, X)


def operator_of_one_operand():
    fw.reduce(lambda a: a, 0, X)


def operator_that_takes_tuples_apart():
    fw.reduce(lambda a, b, c, d: (a + c, b + d), (0, 0), (X, X))


def tuple_taken_apart():
    fw.map(lambda x, y: x + y, (X, X))


def builtin_max():
    fw.reduce(max, 0, X)


def lists_of_different_lengths():
    fw.sum([[1, 2], [3]])


def neutral_element_of_another_structure():
    fw.reduce(fw.add, (0, 0), X)


def predicate_that_is_no_bool():
    fw.filter(lambda v: v % 2, I)


def bits_of_floats():
    fw.jit(lambda x: x & 1)(X)


def difference_of_bools():
    fw.jit(lambda x: (x > 1) - (x > 2))(X)


def literal_too_big():
    fw.jit(lambda x: x + 300)(np.zeros(3, np.uint8))


def complex_argument():
    fw.jit(lambda x: fw.sort(x))(X + 1j)


def object_argument():
    fw.jit(lambda x: x)(np.array([1, None], dtype=object))


def record_argument():
    fw.asarray(np.zeros(3, [("a", "f4"), ("b", "i4")]))


def text_argument():
    fw.jit(lambda x, mode: x)(X, "fast")


def unhashable_static_argument():
    fw.jit(lambda x, axes: x, static_argnames="axes")(X, [0, 1])


def unknown_static_argument():
    fw.jit(lambda x: x, static_argnames="axis")


def jit_of_no_function():
    fw.jit(3)


def result_that_is_no_array():
    @fw.jit
    def f(x):
        return {"name": "x", "values": x}

    f(X)


def array_before_function():
    fw.map(X, lambda v: v + 1)


def map_over_a_scalar():
    fw.jit(lambda s: fw.map(lambda v: v, s))(3)


def least_of_nothing():
    fw.min(X[:0])


def axis_that_is_not_there():
    fw.sum(M, axis=2)


def reshape_to_another_size():
    fw.jit(lambda x: x.reshape(2, 3))(X)


def product_of_misfits():
    fw.jit(lambda a, b: a @ b)(M, M)


def loop_state_of_another_dtype():
    fw.fori_loop(0, 3, lambda i, s: Pair(s.a, s.b / 2), Pair(X, I))


def loop_state_of_another_rank():
    fw.fori_loop(0, 3, lambda i, s: s[0], X)


def loop_state_of_another_structure():
    fw.while_loop(lambda s: s[0] < 3, lambda s: s[0] + 1, (0, X))


def condition_that_is_no_bool():
    fw.while_loop(lambda s: s, lambda s: s - 1, 5)


def condition_that_is_an_array():
    fw.jit(lambda x: fw.cond(x > 0, lambda: 1, lambda: 2))(X)


def branches_of_different_dtypes():
    fw.jit(lambda x: fw.cond(x[0] > 0, lambda: x, lambda: x.astype(fw.i32)))(X)


def boundary_that_is_none():
    fw.stencil(lambda n: n[0], X, 3, "round")


def even_stencil():
    fw.stencil(lambda n: n[0], X, 4)


def distance_beyond_the_stencil():
    fw.stencil(lambda n: n[2], X, 3)


def traced_distance():
    fw.jit(lambda x, d: fw.stencil(lambda n: n[d], x, 3))(X, 1)


def values_for_other_indices():
    fw.jit(lambda d, i, v: fw.scatter(d, i, v))(X, I, X[:2])


def values_of_another_dtype():
    fw.scatter(I, [0], [1.5])


def values_of_another_structure():
    fw.scatter((X, X), [0], X)


def rows_of_different_lengths():
    fw.generate((3, 2), lambda i, j: fw.iota(i))


def schedule_of_no_variant():
    with fw.schedule(permute="sorting"):
        fw.histogram(3, I)


def schedule_with_a_word_that_is_nearly_right():
    with fw.schedule(version="by_row"):
        fw.sort(I)


def schedule_of_no_sources():
    with fw.schedule(expand="0-per-block"):
        fw.histogram(3, I)


def schedule_with_a_text_that_is_none():
    with fw.schedule("per-warp"):
        pass


def schedule_of_a_sweep_that_is_not_there():
    doubled = fw.jit(lambda xs: xs * 2, target="cpu")
    with fw.schedule("sweep other\n    bind least=32 most=64"):
        doubled(np.ones(3))


def schedule_of_steps_that_are_unknown():
    doubled = fw.jit(lambda xs: xs * 2, target="cpu")
    with fw.schedule("sweep t_1\n    unroll by=4"):
        doubled(np.ones(3))


def schedule_that_groups_floats_otherwise():
    total = fw.jit(lambda xs: fw.sum(xs), target="cpu")
    text = total.stages(np.ones(3)).text["plan"]
    with fw.schedule(re.sub("width=[0-9]+", "width=2", text)):
        total(np.ones(3))


def schedule_inside_a_function():
    @fw.jit
    def f(idx):
        with fw.schedule(permute="owner"):
            return fw.histogram(3, idx)

    f(I)


def private_copies_without_a_neutral_element():
    length = lambda a, b: fw.sqrt(a * a + b * b)
    f = fw.jit(lambda d, i, v: fw.permute(length, d, i, v), target="cpu")
    with fw.schedule(permute="private"):
        f(X, I, X)


def sort_of_rows_without_a_key():
    fw.sort((M, M))


def sort_of_a_number():
    fw.sort(3.0)


def sort_along_an_axis():
    fw.sort(X, -1)


def key_that_is_a_row():
    fw.argsort(M, key=lambda row: row * 2)


def key_that_is_a_dict():
    fw.sort((X, I), key=lambda e: {"first": e[1], "then": e[0]})


def key_of_two_arguments():
    fw.sort((X, I), key=lambda x, i: i)


def keys_that_are_rows():
    fw.sort_by_key(M, I[:2])


def keys_without_values():
    @fw.jit
    def f(keys, values):
        return fw.sort_by_key(keys, values)

    f(X, I[1:])


def atomic_product():
    f = fw.jit(lambda d, i, v: fw.permute(fw.mul, d, i, v), target="cpu")
    with fw.schedule(permute="atomic"):
        f(X, I, X)


def swap_of_a_large_element():
    def least(a, b):
        first = a[0] < b[0]
        return tuple(fw.where(first, x, y) for x, y in zip(a, b, strict=True))

    f = fw.jit(lambda d, i, v: fw.permute(least, d, i, v), target="cpu")
    with fw.schedule(permute="cas"):
        f((X, X, X), I, (X, X, X))


def order_that_swaps_cannot_keep():
    f = fw.jit(lambda d, i, v: fw.permute(lambda a, b: b, d, i, v), target="cpu")
    with fw.schedule(permute="cas"):
        f(X, I, X)


def scatter_that_combines_nothing():
    f = fw.jit(lambda d, i, v: fw.scatter(d, i, v), target="cpu")
    with fw.schedule(permute="private"):
        f(X, I, X)


def partition_of_a_scan():
    f = fw.jit(lambda d, i, v: fw.permute(fw.add, d, i, fw.cumsum(v)), target="cpu")
    with fw.schedule(permute="partition"):
        f(X, I, X)


def unknown_target():
    fw.jit(lambda x: x, target="abacus")(X)


def unknown_dtype():
    fw.iota(3, dtype="S2")
