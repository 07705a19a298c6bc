"""O24 to O26: more threads than there are, and the layout of shared memory."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.kernel.programs import check, refused
from tests.quick import every


def plus(a, b):
    return a + b


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 32, 33, 96, 256, 1024])
@pytest.mark.parametrize("n", every(2, [1, 31, 33, 96, 100, 256, 1500, 2048]))
def test_any_number_of_threads_for_any_number_of_elements(threads, n):
    """O24: q = n div threads passes, and one more for the rest."""

    def write(xs):
        def block(part):
            turned = fk.force(fk.reverse(part))
            return fk.zip_with(plus, turned, part)

        return fk.pconcat_map(block, fk.split_up(n, xs))

    xs = np.arange(2 * n) ** 2
    kernel = fk.kernel(write, threads=threads)
    check(kernel, xs, want=(xs.reshape(2, n) + xs.reshape(2, n)[:, ::-1]).ravel())
    warps = -(-threads // 32)
    assert f"__launch_bounds__({32 * warps})" in kernel.text["cuda"]


@pytest.mark.parametrize("threads", [0, 1025, 2.5])
def test_blocks_have_so_many_at_most(threads):
    """What no device has is said at once."""
    with pytest.raises(fw.ArgumentError, match="a block has 1 to 1024 threads"):
        fk.kernel(lambda xs: xs, threads=threads)


def steps(count, n):
    """A kernel with several forced arrays of n elements, each read from the one before."""

    def write(xs):
        def block(part):
            for _ in range(count):
                part = fk.force(fk.reverse(part))
            return part

        return fk.pconcat_map(block, fk.split_up(n, xs))

    return fk.kernel(write)


def test_memory_is_used_again():
    """O25: ten arrays in two buffers, one to read and one to write."""
    kernel = steps(10, 64)
    xs = np.arange(128)

    check(kernel, xs, want=xs)
    assert kernel.text["kernel"].count("= shared") == 10
    assert kernel.text["cuda"].count("__shared__ int64_t") == 2


def test_too_much_memory():
    """O26: the map names arrays, bytes and the user's lines."""

    @fk.kernel
    def kernel(xs):
        def block(part):
            turned = fk.force(fk.reverse(part))  # the first
            halves = fk.force(fk.map(lambda x: x // 2, part))  # the second
            return fk.zip_with(plus, turned, halves)

        return fk.pconcat_map(block, fk.split_up(4096, xs))

    message = refused(kernel, np.arange(8192))
    assert "kernel needs 65536 bytes of shared memory, and a block has 49152" in message
    assert "bytes 0 to 32767: m" in message and "# the first" in message
    assert "bytes 32768 to 65535: m" in message and "# the second" in message
    assert "split_up" in message


def table(xs, ys):
    """A block for each row and column: element i, j is xs[i] - ys[j]."""
    return fk.generate((xs.length, ys.length), lambda i, j: xs[i] - ys[j])


def turned(a):
    """Tiles of 4 by 8 in a grid of tiles, transposed in shared memory."""
    rows, columns = a.length, a[0].length

    def write(put):
        def block(top, left):
            tile = fk.memory(36, fw.i64)

            def load(i, j):
                tile[9 * i + j] = a[4 * top + i][8 * left + j]

            fk.for_all((4, 8), load)
            fk.barrier()
            fk.for_all(
                (8, 4), lambda j, i: put((8 * left + j) * rows + 4 * top + i, tile[9 * i + j])
            )

        fk.for_all((rows // 4, columns // 8), block)

    return fk.make_push(rows * columns, write)


def test_indices_of_two_dimensions():
    """Of blocks, of which the host knows how many, and of threads; the last one is that of
    neighbours."""
    a = np.arange(8 * 24).reshape(8, 24)
    check(fk.kernel(turned), a, want=a.T.ravel())
    differences = np.subtract.outer(range(3), range(5)).ravel()
    check(fk.kernel(table), np.arange(3), np.arange(5), want=differences)


def test_indices_of_three_dimensions_are_known_to_be_inside():
    """No access is tested, and nothing is divided by what is not known."""
    kernel = fk.kernel(lambda a: fk.generate((2, 3, 4), lambda i, j, k: a[i * 12 + j * 4 + k] * k))

    check(kernel, np.arange(24), want=np.arange(24) * (np.arange(24) % 4))
    constant = fk.kernel(lambda: fk.generate((2, 3, 4), lambda i, j, k: fk.iterations(3)[j]))
    check(constant, want=np.arange(24) // 4 % 3)
    assert "report" not in constant.stages().text["kernel"]


def test_no_dimensions_and_negative_ones():
    """Are errors where they are written."""
    for shape, message in (((), "generate of no lengths"), ((2, -1), "a length from 0 on, got -1")):
        assert message in refused(fk.kernel(lambda n: fk.generate(shape, lambda *i: n)), 1)  # noqa: B023
