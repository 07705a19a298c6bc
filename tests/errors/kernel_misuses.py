"""Kernels that are refused: races, holes, indices and lengths that do not fit, endless waits."""

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
    def scaled(xs, a: fw.f32):
        """A number of one dtype."""
        return fk.map(lambda x: a * x, xs)

    @staticmethod
    def threads(put_some):
        """A push array of 8 elements that the threads of a block put."""

        def write(put):
            fk.for_all(1, lambda b: fk.for_all(8, lambda i: put_some(put, i)))

        fk.kernel(lambda xs: fk.make_push(8, write)).simulate(XS)


def arguments_of_reduce_in_another_order():
    Run.blocks(lambda part: fk.singleton(fk.reduce(fw.add, 0, part)))


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

    fw.jit(lambda xs: twice(xs))(np.ones(3, np.float16))


def kernel_of_chunks():
    fk.kernel(lambda xs: fk.map(abs, xs))(fw.Chunked([XS]))


def function_of_arrays_in_a_kernel():
    fk.kernel(lambda xs: fw.sum(xs))(np.arange(8))


def index_from_data_outside():
    picked = fk.kernel(lambda xs, at: fk.map(lambda i: xs[i], at))
    picked(XS, np.array([3, 64, -1]))


def row_from_data_outside():
    rows = fk.kernel(lambda a, at: fk.map(lambda i: a[i][1], at))
    rows(XS.reshape(8, 8), np.array([7, 8]))


def memory_updated_outside():
    def block(part):
        m = fk.fill(fk.replicate(4, 0))
        fk.for_all(8, lambda t: fk.atomic_inc(m, part[t]))
        fk.barrier()
        return m.pull()

    fk.kernel(lambda xs: fk.pconcat_map(block, fk.split_up(8, xs)))(XS)


def constant_index_outside_of_memory():
    Run.blocks(lambda part: fk.singleton(fk.fill(part)[8]))


def negative_index_in_a_kernel():
    fk.kernel(lambda xs: xs[-1])(XS)


def part_longer_than_the_array():
    Run.blocks(lambda part: fk.take(9, part))


def part_longer_than_the_argument():
    fk.kernel(lambda xs: fk.take(65, xs))(XS)


def slice_from_data_outside():
    ends = fk.kernel(lambda xs, at: fk.pull(at.length - 1, lambda k: fk.seq_reduce(
        lambda a, b: a + b, xs[at[k]:at[k + 1]], 0)))
    ends(XS, np.array([0, 60, 70]))


def pairs_of_an_odd_length():
    fk.kernel(lambda xs: fk.unpair(fk.pair(xs)))(XS[:7])


def interleaved_lengths_that_differ():
    Run.blocks(lambda part: fk.interleave_p(part, fk.take(4, part)))


def zipped_lengths_that_differ():
    fk.kernel(lambda xs, ys: fk.zip_with(lambda x, y: x + y, xs, ys))(XS, XS[:-1])


def zipped_rows_that_differ():
    fk.kernel(lambda a, b: fk.pconcat_map(
        lambda rows: fk.zip_with(lambda x, y: x + y, *rows), fk.zip(a, b)
    ))(XS.reshape(8, 8), XS[:56].reshape(8, 7))


def part_of_negative_length():
    fk.kernel(lambda xs: fk.take(-1, xs))(XS)


def values_for_the_branches_of_a_kernel():
    fk.kernel(lambda xs: fk.map(lambda x: fk.cond(x > 3, x, -x), xs))(XS)


def array_before_the_function_of_a_kernel():
    fk.kernel(lambda xs: fk.zip_with(xs, xs))(XS)


def operator_on_a_pull_array():
    fk.kernel(lambda xs: 2 * xs)(XS)


def shift_by_less_than_nothing():
    Run.blocks(lambda part: fk.shift_left(-1, 0, part))


def search_past_the_end():
    fk.kernel(lambda xs: fk.pconcat_map(
        lambda p: fk.seq_while(lambda i: xs[i] != 64, lambda i: i + 1, 0), fk.split_up(32, xs))
    )(XS)


def operator_of_a_block_that_weighs():
    Run.blocks(lambda part: fk.scan(lambda y, x: y + 2 * x, part, 0))


def neutral_element_of_a_block_that_counts():
    Run.blocks(lambda part: fk.singleton(fk.reduce(lambda a, b: a + b, part, 5)))


def neutral_element_of_a_block_that_is_tried():
    Run.blocks(lambda part: fk.singleton(fk.reduce(lambda a, b: a + b + a * b, part, 1)))


def argument_of_another_dtype():
    @fk.kernel
    def twice(xs: fk.Pull[fw.f32]):
        return fk.map(lambda x: x + x, xs)

    twice(np.ones(3))


def number_of_another_dtype():
    fk.kernel(Run.scaled)(np.ones(3, "f4"), np.float64(2))


def array_where_a_number_is_annotated():
    fk.kernel(Run.scaled)(np.ones(3, "f4"), np.ones(3, "f4"))


def scan_of_a_grid_by_an_operator_that_does_not_associate():
    fk.kernel(lambda xs: fk.scan(lambda a, b: a - b, xs, 0))(XS)


def scan_of_rows_in_code_of_the_grid():
    fk.kernel(lambda xs: fk.scan(fw.add, xs, 0))(XS.reshape(8, 8))
