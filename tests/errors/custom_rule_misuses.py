"""Mistakes with custom_vjp, custom_jvp, linearize and linear_transpose."""

import numpy as np

import flatweave as fw
from flatweave import kernel as fk

X = np.array([1.0, 2.0, 3.0])


class Sines:
    """The gradient of a sum of sines with a rule that is given."""

    @staticmethod
    def by_vjp(fwd, bwd):
        """With one for reverse mode."""
        def sine(x):
            return fw.sin(x)

        f = fw.custom_vjp(sine)
        f.defvjp(fwd, bwd)
        fw.grad(lambda x: fw.sum(f(x)))(X)

    @staticmethod
    def by_jvp(rule):
        """With one for forward mode."""
        def sine(x):
            return fw.sin(x)

        f = fw.custom_jvp(sine)
        f.defjvp(rule)
        fw.grad(lambda x: fw.sum(f(x)))(X)


def custom_vjp_of_an_array():
    fw.custom_vjp(X)


def custom_vjp_without_a_rule():
    @fw.custom_vjp
    def sine(x):
        return fw.sin(x)

    sine(X)


def custom_jvp_without_a_rule():
    @fw.custom_jvp
    def sine(x):
        return fw.sin(x)

    fw.jit(sine)(X)


def custom_vjp_in_forward_mode():
    @fw.custom_vjp
    def sine(x):
        return fw.sin(x)

    sine.defvjp(lambda x: (fw.sin(x), x), lambda x, c: (c * fw.cos(x),))
    fw.jvp(lambda x: sine(x) * 2, (X,), (X,))


def custom_vjp_that_reads_from_around():
    def loss(y):
        @fw.custom_vjp
        def scaled(x):
            return x * y

        scaled.defvjp(lambda x: (x * y, None), lambda saved, c: (c * y,))
        return fw.sum(scaled(X))

    fw.grad(loss)(X)


def custom_vjp_for_an_argument_that_is_not_there():
    f = fw.custom_vjp(lambda x: x, nondiff_argnums=(1,))
    f.defvjp(lambda x: (x, None), lambda saved, c: (c,))
    f(X)


def custom_vjp_by_a_name():
    fw.custom_vjp(lambda x: x, nondiff_argnums="x")


def fwd_without_saved_values():
    Sines.by_vjp(lambda x: fw.sin(x), lambda x, c: (c,))


def fwd_of_another_structure():
    Sines.by_vjp(lambda x: ((fw.sin(x), x), x), lambda x, c: (c,))


def fwd_of_another_length():
    Sines.by_vjp(lambda x: (fw.sin(x)[:2], x), lambda x, c: (c,))


def fwd_of_another_dtype():
    Sines.by_vjp(lambda x: (fw.sin(x).astype(fw.f32), x), lambda x, c: (c,))


def bwd_without_a_tuple():
    Sines.by_vjp(lambda x: (fw.sin(x), x), lambda x, c: c)


def bwd_of_too_many():
    Sines.by_vjp(lambda x: (fw.sin(x), x), lambda x, c: (c, c))


def bwd_of_another_structure():
    Sines.by_vjp(lambda x: (fw.sin(x), x), lambda x, c: ({"x": c},))


def bwd_of_another_rank():
    Sines.by_vjp(lambda x: (fw.sin(x), x), lambda x, c: (fw.sum(c),))


def bwd_of_another_length():
    Sines.by_vjp(lambda x: (fw.sin(x), x), lambda x, c: (c[:2],))


def jvp_without_a_tangent():
    Sines.by_jvp(lambda xs, vs: fw.sin(xs[0]))


def jvp_of_another_structure():
    Sines.by_jvp(lambda xs, vs: (fw.sin(xs[0]), (vs[0], vs[0])))


def jvp_of_another_length():
    Sines.by_jvp(lambda xs, vs: (fw.sin(xs[0]), vs[0][:2]))


def defjvps_with_other_arguments():
    fw.custom_jvp(lambda x, n: x, nondiff_argnums=(1,)).defjvps(lambda v, out, x: v)


def checkpoint_of_an_array():
    fw.checkpoint(X)


def transpose_of_what_is_not_linear():
    fw.linear_transpose(lambda x: x * x, X)(X)


def transpose_of_what_is_linear_in_pieces():
    fw.linear_transpose(lambda x: fw.clip(x, -1.0, 1.0), X)(X)


def rule_of_a_custom_jvp_that_is_not_linear():
    same = fw.custom_jvp(lambda x: x)
    same.defjvps(lambda t, out, x: fw.clip(t, -1.0, 1.0))
    fw.grad(lambda x: 5.0 * same(x))(2.0)


def tangents_of_linearize_of_another_length():
    fw.linearize(lambda x: x * x, X)[1](X[:2])


def kernel_without_a_rule():
    turned = fk.kernel(
        lambda xs: fk.pconcat_map(lambda part: fk.reverse(fk.force(part)), fk.split_up(3, xs))
    )
    fw.grad(lambda x: fw.sum(turned(x)))(X)


def derivative_of_a_whole_svd():
    fw.grad(lambda a: fw.sum(fw.linalg.svd(a)[0]))(np.ones((3, 2)))


def derivative_of_a_complete_qr():
    fw.grad(lambda a: fw.sum(fw.linalg.qr(a, mode="complete")[0]))(np.ones((3, 2)))
