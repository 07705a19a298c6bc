"""A fake GPU that programs run on, and a program of one kernel."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.runtime.devices import cuda
from tests.devices.fake_cuda import FakeCuda


@pytest.fixture
def gpu(monkeypatch, compiler):
    """Makes programs run on a fake GPU."""

    def made(f=None, args=(), kernels=(), **options):
        text = f.stages(*args).text["cuda"] if f is not None else ""
        cu = FakeCuda(text, kernels, **options)
        monkeypatch.setattr(cuda, "bindings", lambda: cu)
        return cu

    cuda._kept.cache_clear()
    yield made
    cuda._kept.cache_clear()


def of(given, name):
    """The parameter that a variable of the program became."""
    return next(value for key, value in given.items() if key.rpartition("_")[0] == name)


def plus_one(cu, grid, threads, **given):
    """What `xs + 1` compiles to does."""
    n = of(given, "n")
    cu.view(of(given, "buffer"), np.float64, n)[:] = cu.view(of(given, "xs"), np.float64, n) + 1


def kernel_of(f, *args):
    """The name of the only kernel of a program."""
    (name,) = {row[0] for row in f.stages(*args).launched}
    return f"k_{name}"


def jitted():
    """A program of one kernel, on the GPU."""
    return fw.jit(lambda xs: xs + 1, target="cuda")
