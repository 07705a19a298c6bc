"""Programs with rules that are given, for misuses of them."""

import numpy as np

import flatweave as fw

X = np.array([1.0, 2.0, 3.0])


def total_with_vjp(fwd, bwd):
    """The gradient of a sum of sines with a rule for reverse mode."""
    def sine(x):
        return fw.sin(x)

    f = fw.custom_vjp(sine)
    f.defvjp(fwd, bwd)
    fw.grad(lambda x: fw.sum(f(x)))(X)


def total_with_jvp(rule):
    """The same with a rule for forward mode."""
    def sine(x):
        return fw.sin(x)

    f = fw.custom_jvp(sine)
    f.defjvp(rule)
    fw.grad(lambda x: fw.sum(f(x)))(X)
