"""Mistakes with what is handed over: other libraries' data, axes, yes or no, powers."""

import fractions

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


def where_of_two_structures():
    fw.jit(lambda x: fw.where(x > 1, (x, [1, 2]), x))(X)


def generated_by_one_index():
    fw.generate((2, 3), lambda i: i)


def turn_without_its_number():
    fw.fori_loop(0, 3, lambda state: state, 0)


def nulls_in_an_argument():
    fw.jit(lambda x: x)(Column())


def nulls_in_a_call():
    fw.sum(Column())


def unknown_way_to_take_nulls():
    fw.asarray(Column(), nulls="zero")


def text_in_a_call():
    fw.jit(lambda texts: texts.len())(np.array(["a", "bc"]))


def times_not_set_in_a_call():
    fw.max(np.array(["2026-01-01", "NaT"], "M8[D]"))


def hours_and_days():
    fw.add(np.array(["2026-01-01"], "M8[D]"), np.timedelta64(3, "h"))


def map_over_a_list_of_pairs():
    fw.map(lambda pair: pair[0] + pair[1], [(1, 3), (2, 4)])


def asarray_of_text():
    fw.asarray("1, 2, 3")


def asarray_of_complex_numbers_as_floats():
    fw.asarray(np.array([1j]), fw.f64)


def select_of_lists_of_different_lengths():
    fw.select([I > 1, I > 2], [I])


def quantile_of_no_integers():
    fw.quantile(np.zeros(0, np.int64), 0.5, method="lower")


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


def mask_without_an_initial_value():
    fw.max(X, where=X > 2)


def mask_that_is_no_bool():
    fw.sum(X, where=X)


def mask_with_more_axes():
    fw.sum(X, where=np.ones((2, 5), bool))


def initial_value_of_another_kind():
    fw.sum(np.arange(5), initial=0.5)


def initial_value_that_is_an_array():
    fw.sum(X, initial=X)


def negative_power_of_integers():
    fw.jit(lambda x: x**-1)(I)


def negative_power_at_run_time():
    fw.map(lambda x: 2 ** (1 - x), I)


def plus_of_bools():
    fw.jit(lambda x: +(x > 1))(X)


def none_for_an_array():
    fw.sum(None)


def tuple_for_an_array():
    fw.jit(lambda x: fw.sum((x, (x, "total"))))(X)


def list_that_holds_none():
    fw.sum([1, None])


def structure_without_arrays():
    fw.reshape((None, {}), (2, 3))


def complex_operand():
    fw.less(fw.asarray(M), 1j)


def complex_operand_in_a_trace():
    fw.jit(lambda x: fw.maximum(1j, x))(X)


def fraction_for_a_number():
    fw.asarray(X) + fractions.Fraction(1, 2)


class Quantity:
    """Numbers with a unit, of a library that implements NumPy's protocol."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(5.0)

    def __array_ufunc__(self, *args, **options):
        return NotImplemented

    def __rmul__(self, other):
        return np.asarray(other) * np.asarray(self)


def quantity_in_a_jitted_function():
    fw.jit(lambda x: x * Quantity())(X)


def set_for_an_array():
    fw.sum({1, 2, 3})


def list_with_too_great_a_number():
    fw.sum([1, 2**64])


def values_of_another_row_width():
    fw.scatter(M, np.array([0]), np.zeros((1, 5)))


def numpy_array_of_an_escaped_array():
    kept = []
    fw.jit(lambda x: kept.append(x * 2))(X)
    np.asarray(kept[0])


def truth_of_an_escaped_array():
    kept = []
    fw.map(lambda v: kept.append(v > 0) or v, X)
    bool(kept[0])


def reshape_with_two_answers():
    fw.reshape(np.zeros(0), (-1, 0))


def reshape_with_two_answers_at_run_time():
    fw.jit(lambda x, n: fw.reshape(x, (-1, n)))(np.zeros(0), 0)


def size_beyond_an_i64():
    fw.iota(2**63)


def size_beyond_an_i64_at_run_time():
    fw.jit(lambda n: fw.iota(n))(np.uint64(2**64 - 1))


def index_beyond_an_i64():
    fw.asarray(X)[2**65]


def indices_beyond_an_i64_at_run_time():
    fw.gather(X, np.array([0, 2**64 - 1], np.uint64))


def more_than_memory():
    fw.iota(10**15)


def more_than_there_are_addresses():
    fw.jit(lambda n: fw.full(n, 1.0))(2**60)


def neutral_array_for_scalars():
    fw.reduce(fw.add, np.zeros(3), X)


def no_index_array():
    fw.gather(X, ())


def dtype_that_is_none_of_numpy():
    fw.asarray([1]).astype({"f": 4})


def branch_that_is_no_function():
    fw.cond(X[0] > 0, X, X)


def array_for_an_axis():
    fw.sum(M, axis=np.arange(100.0).reshape(10, 10))


def array_for_a_boundary():
    fw.stencil(lambda n: n[0], X, (3,), (X, X))


def two_ellipses():
    fw.asarray(M)[..., ..., 0]


def float_in_a_slice():
    fw.asarray(M)[0.5:]


def histogram_of_floats():
    fw.histogram(3, X)


def text_for_a_bound_of_clip():
    fw.clip(X, "low")


def tuple_for_a_length():
    fw.iota((3,))


def ragged_operand():
    fw.dot(fw.ragged(X, lengths=[2, 3]), X)


def rows_of_other_lengths():
    fw.ragged(X, lengths=[2, 3]) + fw.ragged(X, lengths=[3, 2])


def rows_of_other_lengths_in_all():
    fw.ragged(X, lengths=[2, 3]) * fw.ragged(X[1:], lengths=[2, 2])


def values_for_other_rows():
    fw.ragged(X, lengths=[2, 3]) - X


def tuples_in_rows_as_operands():
    fw.ragged((X, X), lengths=[2, 3]) + 1


def numpy_function_of_a_ragged():
    np.spacing(fw.ragged(X, lengths=[2, 3]))


def format_of_a_tracer():
    fw.map(lambda v: f"{v:.2f}", X)


def array_beyond_the_edges():
    fw.stencil(lambda n: n[1], X, 3, ("constant", X))


def constants_of_another_structure():
    fw.stencil(lambda n: n[1][0], (X, X), 3, ("constant", (1.0, 2.0, 3.0)))


def number_for_a_static_name():
    fw.jit(lambda x, n: x, static_argnames=3)


def text_for_checks():
    fw.jit(lambda x: x, checks="no")


def tune_without_inputs():
    fw.tune(fw.sort, [])


def tune_of_an_array():
    fw.tune(fw.sort, X)


def tune_of_inputs_that_are_no_tuples():
    fw.tune(fw.sort, [X])


def tune_of_no_function():
    fw.tune(X, (X,))


def tune_without_time():
    fw.tune(fw.sort, (X,), budget=0)


def tune_of_a_time_that_is_no_number():
    fw.tune(fw.sort, (X,), budget="10 s")


def tune_inside_a_function():
    fw.jit(lambda x: fw.tune(fw.sort, (x,)))(X)


class Scale:
    """An object with a method that is compiled."""

    @fw.jit
    def run(self, x):
        return x


def method_of_an_object():
    Scale().run(X)


def generator_for_an_array():
    fw.jit(lambda x: x)(x for x in X)


def jit_of_a_generator_function():
    def rows(x):
        yield x

    fw.jit(rows)


def jit_of_a_coroutine():
    async def later(x):
        return x

    fw.jit(later)


def option_of_another_jit():
    fw.jit(lambda x: x, donate_argnums=0)


def option_that_is_none_of_jit():
    fw.jit(lambda x: x, parallel=True)


def transform_of_nothing():
    fw.fft.fft(M[:, :0])


def chunks_that_may_be_true():
    assert fw.Chunked([np.arange(3)]) == 3


def chunks_with_a_mask():
    fw.Chunked([np.ma.masked_array([1, 2], [False, True])])


def chunks_of_text():
    fw.Chunked([np.array(["1", "2"])])


def field_of_chunks_of_numbers():
    fw.Chunked([np.arange(3)])["price"]


def sum_of_a_neighbourhood():
    fw.stencil(lambda n: fw.sum(n), X, (3,))


def python_sum_of_a_neighbourhood():
    fw.stencil(lambda n: sum(n), X, (3,))


def numpy_sum_of_a_neighbourhood():
    fw.stencil(lambda n: np.sum(n), X, (3,))


def neighbourhood_as_a_result():
    fw.stencil(lambda n: n, X, (3,))


def arange_with_a_computed_step():
    fw.jit(lambda n: fw.arange(0, 10, n))(2)


def arange_of_a_computed_float():
    fw.jit(lambda x: fw.arange(x[0]))(X)


def percentile_above_100():
    fw.percentile(X, 101)


def dtype_as_a_correction():
    fw.std(X, 0, np.float32)


def axis_as_a_key():
    fw.sort(M, 0)


def array_as_an_axis():
    fw.max(I, I)


def out_by_position():
    fw.max(M, 0, np.zeros(3), True)


def einsum_of_uneven_axes():
    fw.einsum("ij,jk", M, M)


def three_values_for_five_elements():
    x = fw.zeros((4, 5))
    x[0] = np.ones(3)


def other_argument_of_a_method():
    fw.asarray(X).sum(foo=1)


def method_without_its_argument():
    fw.asarray(X).dot()


def partition_as_a_method():
    fw.asarray(X).partition(2)


def truth_of_an_array():
    return bool(fw.asarray(X) > 2)


def elements_in_an_unknown_order():
    fw.reshape(M, (3, 2), order="columns")


def take_in_an_unknown_mode():
    fw.take(X, [9], mode="last")


def field_of_an_array():
    fw.asarray(X)["a"]
