"""Mistakes with what is handed over: other libraries' data, axes, yes or no, powers."""

import numpy as np

import flatweave as fw

X = np.arange(5.0)
I = np.arange(5)  # noqa: E741
M = np.arange(6.0).reshape(2, 3)


class Column:
    """A column with something missing, as polars and Arrow have it."""

    null_count = 2

    def __array__(self, dtype=None, copy=None):
        return np.array([1, np.nan, np.nan])


def nulls_in_an_argument():
    fw.jit(lambda x: x)(Column())


def nulls_in_a_call():
    fw.sum(Column())


def unknown_way_to_take_nulls():
    fw.asarray(Column(), nulls="zero")


def asarray_of_text():
    fw.asarray("1, 2, 3")


def asarray_of_uneven_lists():
    fw.asarray([[1, 2], [3]])


def asarray_of_too_great_a_number():
    fw.asarray([1, 300], fw.u8)


def range_beyond_an_i64():
    fw.sum(range(2**63, 2**63 + 2))


def closed_buffer():
    view = memoryview(b"abc")
    view.release()
    fw.sum(view)


def structure_that_holds_itself():
    endless = []
    endless.append(endless)
    fw.jit(lambda x: x)(endless)


def float_for_an_axis():
    fw.sum(M, axis=1.0)


def new_axis_beyond_the_rank():
    fw.expand_dims(M, 5)


def text_for_yes_or_no():
    fw.scan(fw.add, 0, I, exclusive="no")


def ragged_along_an_axis():
    fw.sum(fw.ragged(X, lengths=[2, 3]), axis=1)


def negative_power_of_integers():
    fw.jit(lambda x: x**-1)(I)


def negative_power_at_run_time():
    fw.map(lambda x: 2 ** (1 - x), I)


def plus_of_bools():
    fw.jit(lambda x: +(x > 1))(X)
