"""Mistakes with loops and branches, each with the whole message it gets in messages/NAME.txt."""

import numpy as np

import flatweave as fw

M = np.arange(6.0).reshape(2, 3)


def loop_over_an_array_in_map():
    f = fw.jit(lambda m: fw.map(powers, m), target="cpu")

    def powers(r):
        return fw.fori_loop(0, 3, lambda i, s: s * r, r)

    f(M)


def loop_of_unknown_length_in_map():
    @fw.jit
    def turned(m):
        return fw.map(lambda r: fw.fori_loop(0, 3, lambda i, s: fw.concat([s[1:], s[:1]]), r), m)

    turned(M)


def cond_of_arrays_in_map():
    f = fw.jit(lambda m: fw.map(signed, m), target="cpu")

    def signed(r):
        return fw.cond(r[0] > 1, lambda: r, lambda: -r)

    f(M)
