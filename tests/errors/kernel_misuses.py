"""Kernels that the simulator refuses: races, holes, places outside, waiting for ever."""

import numpy as np

import flatweave as fw
from flatweave import kernel as fk

XS = np.arange(64)


class Run:
    """Parts of kernels, in the simulator."""

    @staticmethod
    def blocks(block):
        """Each part of 8 elements by a block."""
        fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(8, xs))).simulate(XS)

    @staticmethod
    def threads(put_some):
        """A push array of 8 elements that the threads of a block put."""

        def write(put):
            fk.for_all(1, lambda b: fk.for_all(8, lambda i: put_some(put, i)))

        fk.kernel(lambda xs: fk.make_push(8, write)).simulate(XS)


def race_of_threads():
    def turned(part):
        m = fk.fill(part)
        fk.for_all(8, lambda i: m.__setitem__(i, m[7 - i]))
        return m.pull()

    Run.blocks(turned)


def race_of_warps():
    def warp(m):
        return lambda w: fk.for_all(1, lambda i: m.__setitem__(0, 1))

    def block(part):
        m = fk.fill(part)
        fk.for_all(2, warp(m), level=fk.WARP)
        return m.pull()

    Run.blocks(block)


def race_of_blocks():
    @fk.kernel
    def sums(xs):
        total = fk.fill(fk.replicate(1, 0))
        fk.for_all(2, lambda b: fk.for_all(1, lambda i: total.__setitem__(0, total[0] + xs[b])))
        return total

    sums.simulate(XS)


def read_before_it_is_written():
    def block(part):
        m = fk.memory(8, fw.i64)
        return fk.map(lambda x: x + m[0], part)

    Run.blocks(block)


def push_leaves_holes():
    Run.threads(lambda put, i: fk.when(i < 5, lambda: put(i, 1)))


def push_puts_twice():
    Run.threads(lambda put, i: put(i // 2, i))


def push_puts_outside():
    Run.threads(lambda put, i: put(2 * i, i))



def thread_memory_outside():
    def thread(x):
        own = fk.memory(2, fw.i64)
        own[x] = x
        return own[x]

    Run.blocks(lambda part: fk.pconcat_map(thread, part))


def read_outside_of_an_argument():
    def block(part):
        return fk.map(lambda i: part[i + 60], fk.iterations(8))

    Run.blocks(block)


def kernel_of_short_floats():
    @fk.kernel
    def twice(xs):
        return fk.map(lambda x: x + x, xs)

    twice(np.ones(3, np.float16))


def kernel_of_chunks():
    fk.kernel(lambda xs: fk.map(abs, xs))(fw.Chunked([XS]))


def function_of_arrays_in_a_kernel():
    fk.kernel(lambda xs: fw.sum(xs))(np.arange(8))
