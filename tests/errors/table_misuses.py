"""Mistakes with tables, each with the whole message it gets in messages/NAME.txt."""

from types import SimpleNamespace

import numpy as np

import flatweave as fw

X = np.arange(5.0)
ROWS = fw.ragged([[1, 2], [3]])


def keys_of_different_lengths():
    fw.group_by((np.arange(5), np.arange(4)), X)


def values_of_other_length_than_keys():
    fw.jit(lambda keys, x: fw.group_by(keys, x).rows)(np.arange(4), X)


def a_key_of_two_axes():
    fw.group_by(np.ones((3, 2)))


def an_aggregate_that_is_unknown():
    fw.group_by(X, X).agg(mode="mode")


def an_aggregate_by_name_of_two_values():
    fw.group_by(X, X, X).agg(total="sum")


def bools_of_another_length_than_values():
    fw.Nullable([1, 2, 3], [True, False])


def flags_that_are_no_bools():
    fw.Nullable([1, 2], [1, 0])


def numbers_of_a_nullable_with_missing_elements():
    np.asarray(fw.Nullable([1, None]))


def more_best_elements_than_there_are():
    fw.top_k(X, 6)


def a_negative_number_of_best_elements():
    fw.top_k(X, -1)


def a_method_of_rank_that_is_unknown():
    fw.rank(X, method="median")


def cummax_of_a_matrix_without_an_axis():
    fw.cummax(np.ones((2, 2)))


def a_slice_that_ends_before_it_starts():
    fw.slices(X, [0, 3], [2, 1])


def a_slice_that_ends_behind_the_array():
    fw.slices(X, [0, 3], [2, 6])


def a_window_of_no_elements():
    fw.rolling(X, 0)


def times_that_descend():
    fw.rolling_by(np.array([1, 3, 2]), np.arange(3), 1)


def a_sum_of_times():
    fw.sum(np.array(["2026-01-01"], "M8[D]"))


def an_axis_that_softmax_has_not():
    fw.softmax(X, axis=1)


def segments_of_another_number_of_elements():
    fw.segment_sum(X, [0, 1], 2)


def text_that_is_added():
    fw.map(lambda text: "x" + text, fw.Strings(["a", "bc"]))


def text_that_is_repeated():
    fw.Strings(["a", "bc"]) * 2


def an_index_that_is_missing():
    fw.gather(X, fw.Nullable([1, None, 3]))


def a_date_as_a_width():
    fw.rolling_by(np.array(["2026-01-01"], "M8[D]"), [1.0], np.datetime64("2026-01-01"))


def a_width_of_hours_and_times_of_days():
    fw.rolling_by(np.array(["2026-01-01"], "M8[D]"), [1.0], np.timedelta64(3, "h"))


def a_sum_of_text_in_groups():
    fw.group_by([1, 2, 1], fw.Strings(["a", "b", "c"])).agg(total="sum")


def text_that_is_sorted_by():
    fw.sort_by_key(fw.Strings(["b", "a"]), [1, 2])


def a_window_of_negative_width():
    fw.rolling_by(X, X, -1.0)


def a_choice_of_no_elements():
    ROWS.combinations(0)


def pairs_of_rows_of_another_number():
    ROWS.cartesian(fw.ragged([[1]]))


def a_mask_of_rows_of_other_lengths():
    ROWS.mask(fw.ragged([[True], [False, True]]))


def cuts_that_do_not_fit():
    ROWS.cut(fw.ragged([[1], [1]]))


def a_check_that_fails():
    fw.check(fw.asarray([1, -1]) >= 0, "element {0} is {1}.", [1, -1], remedy="Take its size.")


def a_check_of_numbers():
    fw.check(X, "no")


def a_way_to_join_that_is_unknown():
    fw.join(X, X, "cross")


def key_columns_of_another_number():
    fw.join((X, X), X)


def as_of_keys_that_descend():
    fw.join_asof(X, np.array([1.0, 3.0, 2.0]))


def as_of_keys_that_are_nan():
    fw.join_asof(np.array([1.0, np.nan]), X)


def a_negative_tolerance():
    fw.join_asof(X, X, tolerance=-1.0)


def a_direction_that_is_unknown():
    fw.join_asof(X, X, direction="sideways")


def an_interval_that_ends_before_it_starts():
    fw.overlaps([0, 5], [3, 4], [1], [2])


def a_negative_radius():
    fw.neighbors(X, -1.0)


def points_of_five_dimensions():
    fw.neighbors(np.ones((2, 5)), 1.0)


def a_box_without_a_side():
    fw.neighbors(X, 1.0, box=0.0)


def a_box_of_another_dimension():
    fw.neighbors(np.ones((3, 2)), 1.0, box=np.ones(3))


def values_of_groups_that_are_objects():
    fw.group_by(np.arange(2), np.array([None, object()]))


def a_recurrence_without_a_parallel_form():
    fw.recurrence(lambda c, x: (fw.sqrt(c) + x, c), 0.0, X, parallel=True)


def a_recurrence_whose_step_gives_one_value():
    fw.recurrence(lambda y, x: 0.9 * y + 0.1 * x, 0.0, X)


def a_recurrence_of_nothing():
    fw.recurrence(lambda c, x: (c, c), 0.0, ())


def a_recurrence_whose_arguments_are_exchanged():
    fw.recurrence(lambda c, x: (c + x, c), np.arange(3.0), 0.0)


def a_dictionary_encoded_key_on_one_side():
    names = SimpleNamespace(codes=np.array([0, 1]), categories=["a", "b"])  # as pandas.Categorical
    fw.join(names, np.arange(2))


def more_drawn_than_there_are():
    fw.random.choice(fw.random.key(0), 3, 5, replace=False)


def more_drawn_than_have_a_weight():
    fw.random.choice(fw.random.key(0), 3, 3, replace=False, p=[0.0, 1.0, 2.0])


def drawn_from_none():
    fw.random.choice(fw.random.key(0), 0, 3)


def negative_weight():
    fw.random.choice(fw.random.key(0), 3, 2, p=[0.5, -1.0, 2.0])
