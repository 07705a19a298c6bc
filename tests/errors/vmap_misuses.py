"""Mistakes with the axes of vmap."""

import numpy as np

import flatweave as fw

M = np.arange(6.0).reshape(2, 3)
ROWS = fw.ragged([[1, 2], [3]])


def vmap_of_an_array():
    fw.vmap(M)


def vmap_along_a_float():
    fw.vmap(fw.sum, in_axes=(0, 1.0))


def vmap_along_no_axis():
    fw.vmap(fw.sin, in_axes=None)(M)


def vmap_of_a_scalar():
    fw.vmap(fw.add)(M, 1.0)


def vmap_along_an_axis_that_is_not_there():
    fw.vmap(fw.sum, in_axes=2)(M)


def vmap_with_too_many_axes():
    fw.vmap(fw.sum, in_axes=(0, None))(M)


def vmap_with_axes_of_another_structure():
    fw.vmap(lambda p: p["w"], in_axes=({"v": 0},))({"w": M})


def vmap_of_uneven_lengths():
    fw.jit(fw.vmap(fw.add, in_axes=(0, 1)))(M, M)


def vmap_of_rows_along_axis_1():
    fw.vmap(fw.sum, in_axes=1)(ROWS)


def vmap_gives_rows_along_axis_1():
    fw.vmap(lambda row: row + 1, out_axes=1)(ROWS)


def vmap_of_results_that_differ():
    fw.vmap(lambda x: (x, x + 1), out_axes=(0, None))(M)


def vmap_to_an_axis_that_is_not_there():
    fw.vmap(fw.sum, out_axes=1)(M)


F64 = fw.ShapeDtypeStruct((3,), fw.f64)


def callback_of_a_row_without_a_method():
    fw.map(lambda x: fw.pure_callback(np.sin, fw.ShapeDtypeStruct((), fw.f64), x), np.ones(3))


def callback_once_for_rows_of_different_lengths():
    fw.map(
        lambda r: fw.pure_callback(
            np.sort, fw.ShapeDtypeStruct(r.shape, r.dtype), r, vmap_method="expand_dims"
        ),
        fw.ragged([[1.0], [2.0, 3.0]]),
    )


def callback_that_gives_another_shape():
    fw.jit(lambda x: fw.pure_callback(np.sum, F64, x))(np.ones(3))


def callback_that_gives_another_dtype():
    fw.pure_callback(lambda x: x.astype(np.float32), F64, np.ones(3))


def callback_that_gives_another_structure():
    fw.jit(lambda x: fw.pure_callback(np.sin, (F64, F64), x))(np.ones(3))


def callback_by_an_unknown_method():
    fw.pure_callback(np.sin, F64, np.ones(3), vmap_method="vectorized")


def callback_with_results_that_are_not_described():
    fw.pure_callback(np.sin, (3,), np.ones(3))


def callback_of_no_function():
    fw.pure_callback(F64, np.ones(3))
