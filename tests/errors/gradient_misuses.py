"""Mistakes with derivatives."""

import numpy as np

import flatweave as fw

X = np.array([1.0, 2.0, 3.0])
ROWS = fw.ragged([[1, 2], [3]])


def grad_of_an_array():
    fw.grad(X)


def grad_by_an_integer():
    fw.grad(lambda a: a * 2.0)(3)


def grad_by_integer_rows():
    fw.grad(lambda r: fw.sum(r.values) * 1.0)(ROWS)


def grad_by_no_argument():
    fw.grad(lambda a: a * 2.0, argnums=1)(3.0)


def grad_by_a_name():
    fw.grad(lambda a: a * 2.0, argnums="a")


def grad_of_an_array_result():
    fw.grad(lambda a: a * 2.0)(X)


def grad_of_two_results():
    fw.grad(lambda a: (a, a))(1.0)


def grad_of_an_integer_result():
    fw.grad(lambda a: a.astype(fw.i64))(1.0)


def vjp_of_a_number():
    fw.vjp(1.0, X)


def cotangent_of_another_length():
    fw.vjp(lambda x: x * 2, X)[1](X[:2])


def cotangent_of_another_rank():
    fw.vjp(lambda x: x * 2, X)[1](1.0)


def cotangent_of_another_structure():
    fw.vjp(lambda x: (x, x), X)[1](X)


def cotangent_of_integers():
    fw.vjp(lambda x: x * 2, X)[1](np.array([1, 2, 3]))


def tangent_of_another_length():
    fw.jvp(lambda x: x * 2, (X,), (X[:2],))


def tangents_without_a_tuple():
    fw.jvp(lambda x: x * 2, X, X)


def tangents_for_fewer_arguments():
    fw.jvp(lambda x, y: x * y, (X, X), (X,))


def back_outside_of_its_body():
    def called_outside(x):
        kept = []

        def body(a):
            kept.append(fw.vjp(fw.sin, a)[1])
            return a

        fw.map(body, x)
        return kept[0](1.0)

    fw.jit(called_outside)(X)


def grad_through_a_callback():
    def body(x):
        return fw.sum(fw.pure_callback(np.sin, fw.ShapeDtypeStruct(x.shape, fw.f64), x))

    fw.grad(body)(X)


def jacobian_of_rows():
    fw.jacrev(lambda r: r * 2)(fw.ragged([[1.0], []]))


def jacobian_by_an_integer():
    fw.jacfwd(lambda a: a * 2.0)(3)


def hessian_of_an_array():
    fw.hessian(X)


def check_of_another_mode():
    fw.check_grads(fw.sin, (X,), order=1, modes=("back",))


def cotangent_of_other_rows():
    fw.vjp(lambda r: fw.map(lambda x: x * 2.0, r), ROWS * 1.0)[1](fw.ragged([[1.0], [2.0, 3.0]]))


def cotangent_of_rows_without_offsets():
    fw.vjp(lambda r: fw.map(lambda x: x * 2.0, r), ROWS * 1.0)[1](X)


def gradient_with_aux_of_one_value():
    fw.grad(lambda a: fw.sum(a), has_aux=True)(X)


def vjp_with_aux_of_one_value():
    fw.vjp(lambda a: fw.sum(a), X, has_aux=True)
