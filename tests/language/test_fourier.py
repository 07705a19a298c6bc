"""Fourier transforms of powers of 2, short and long, as NumPy gives them."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.quick import every


def numbers(rows, n, seed=0):
    """Complex numbers around 0."""
    draw = np.random.default_rng(seed)
    return draw.standard_normal((rows, n)) + 1j * draw.standard_normal((rows, n))


def close(found, wanted, eps=1e-15):
    """Equal but for rounding, which grows with the number of steps."""
    assert found.shape == wanted.shape
    bound = eps * (4 + np.log2(max(wanted.shape[-1], 1)))
    error = np.abs(np.asarray(found) - wanted).max(initial=0)
    assert error <= bound * np.abs(wanted).max(initial=1)


def test_every_power_of_two(target):
    """Even and odd numbers of steps, one column and many, several rows; one program for all."""
    for bits in range(13 if target == "cpu" else 10):
        z = numbers(1 + bits % 3, 1 << bits)
        close(fw.fft.fft(z), np.fft.fft(z))


def test_stacks_of_short_rows(target):
    """All rows side by side: fewer rows than elements, and more; rows of arguments and computed."""
    for rows, n in ((129, 8), (1025, 2), (3, 128), (7, 1), (0, 16)):
        z = numbers(rows, n)
        close(fw.fft.fft(z), np.fft.fft(z))
    double = fw.jit(lambda z: fw.fft.fft(z * 2.0 + 0.5))
    close(double(z[:0]), z[:0])
    z = numbers(129, 8)
    close(double(z), np.fft.fft(z * 2.0 + 0.5))


def test_real_rows_of_even_and_odd_lengths(target):
    """By half as many complex numbers, and by as many; there and back, cut and filled."""
    for n in (1, 2, 3, 8, 9, 127, 128) if target == "cpu" else (1, 6, 7):
        x = numbers(3, n).real
        half = np.fft.rfft(x)
        found = np.asarray(fw.fft.rfft(x))
        close(found, half, 1e-14)
        assert n % 2 or not found.imag[:, [0, -1]].any()
        given = numbers(3, half.shape[1], 1)  # whose ends are no real numbers
        for length in (n, n + 1, max(n - 2, 1)):
            close(fw.fft.irfft(given, n=length), np.fft.irfft(given, length), 1e-14)


def test_other_lengths():
    """By a convolution of a length that is a power of 2; also of no rows."""
    for n in (3, 127, 129, 1023, 1025):
        z = numbers(2, n)
        close(fw.fft.fft(z), np.fft.fft(z), 1e-14)
        close(fw.fft.fft(z[:0]), z[:0])


@pytest.mark.parametrize("name", every(3, ["fft", "rfft", "irfft"]))
def test_rows_of_no_elements(target, name):
    """There is no transform of nothing; filled up to n elements they are zeros."""
    transform, nothing = getattr(fw.fft, name), np.zeros((3, 0))
    with pytest.raises(fw.ShapeError, match="at least one element"):
        transform(nothing)
    with pytest.raises(fw.ShapeError, match="at least one element"):
        transform(np.ones((3, 4)), n=0)

    if name != "irfft":
        close(transform(nothing, n=4), getattr(np.fft, name)(nothing, 4))


@pytest.mark.slow
def test_programs_copy_nothing():
    """Complex numbers go to the library and come back as they are in memory, of any rank."""
    z = numbers(6, 4).reshape(2, 3, 4)
    for given in (z[0, 0], z[0], z):
        for name in ("fft", "ifft", "hfft", "irfft"):
            f = fw.jit(lambda z, name=name: getattr(fw.fft, name)(z), target="cpu")
            assert f.stages(given).kernels == 0
            close(f(given), getattr(np.fft, name)(given))
        halves = fw.jit(fw.fft.rfft, target="cpu")
        assert halves.stages(given.real.copy()).kernels == 0
    columns = fw.jit(lambda z: fw.fft.fft(z, n=5, axis=1))
    close(columns(z), np.fft.fft(z, n=5, axis=1))


def test_the_way_back():
    """The inverse, of short and long rows."""
    for n in (1, 2, 100, 128, 512, 1024):
        z = numbers(2, n)
        close(fw.fft.ifft(z), np.fft.ifft(z), 1e-14)


def test_the_same_bits_for_every_number_of_threads():
    """Of many blocks."""
    z = numbers(1, 1 << 16)
    found = set()
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            found.add(np.asarray(fw.fft.fft(z)).tobytes())

    assert len(found) == 1
    close(np.frombuffer(found.pop(), np.complex128).reshape(z.shape), np.fft.fft(z))


@pytest.mark.slow
def test_single_precision():
    """complex64 stays complex64."""
    z = numbers(3, 512).astype(np.complex64)
    found = fw.fft.fft(z)

    assert found.dtype == np.complex64
    close(found, np.fft.fft(z), 3e-7)


@pytest.mark.needs_opencl
@pytest.mark.parametrize("name", every(3, ["fft", "ifft", "rfft", "irfft"]))
def test_on_a_device(name):
    """There transforms are kernels: of powers of 2 and of other lengths, by one program."""
    transform = fw.jit(getattr(fw.fft, name), target="opencl")
    for n in (1, 2, 12, 64, 1024):
        x = numbers(3, n + (name == "irfft"))
        x = x.real if name == "rfft" else x
        close(np.asarray(transform(x)), getattr(np.fft, name)(x), 1e-14)
    assert "callback" not in transform.stages(x).text["array"]


def test_arguments_by_position(target):
    """In NumPy's order."""
    x, m = np.arange(8.0), numbers(3, 4)
    for run in (lambda f: f, fw.jit):
        close(run(lambda m: fw.fft.fft(m, 2, 0, "ortho"))(m), np.fft.fft(m, 2, 0, "ortho"))
        close(run(lambda m: fw.fft.ifftn(m, (2, 2), (0, 1)))(m), np.fft.ifftn(m, (2, 2), (0, 1)))
        close(run(lambda x: fw.fft.irfft(x, 6))(x), np.fft.irfft(x, 6), 4e-15)
        close(run(lambda m: fw.fft.fftshift(m, 1))(m), np.fft.fftshift(m, 1))
    close(fw.fft.fftfreq(8, 0.5), np.fft.fftfreq(8, 0.5))
    close(fw.fft.rfftfreq(8, 0.5), np.fft.rfftfreq(8, 0.5))
