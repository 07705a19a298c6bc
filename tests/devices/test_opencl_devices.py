"""Which OpenCL device is taken: one whose compiler works."""

import sys
from types import SimpleNamespace

import pytest

from flatweave.base.config import config
from flatweave.base.errors import Unsupported
from flatweave.runtime.devices import opencl

EXTENSIONS = "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_fp64"


class Refused(Exception):
    """What a driver raises."""


def device(name, version):
    return SimpleNamespace(
        name=name, version="OpenCL 3.0", extensions=EXTENSIONS, driver_version=version, type=0,
        global_mem_size=1 << 30,
    )


def driver(*devices, refusing=()):
    """A pyopencl whose devices of some names compile nothing."""

    class Program:
        def __init__(self, context, text):
            self.names = [each.name for each in context]

        def build(self, **given):
            if set(self.names) & set(refusing):
                raise Refused("Build on a device:\n\nerror: unknown target CPU 'generic'\nfailed")
            return SimpleNamespace(all_kernels=list)

        def get_info(self, what):
            return [b""]

    return SimpleNamespace(
        get_platforms=lambda: [SimpleNamespace(get_devices=lambda: list(devices))],
        Context=list, CommandQueue=lambda context: None, Program=Program,
        MemoryError=Refused, LogicError=Refused, CompilerWarning=Warning,
        __file__="", program_info=SimpleNamespace(BINARIES=0),
        RuntimeError=Refused, Error=Refused, device_type=SimpleNamespace(GPU=4),
    )  # fmt: skip


def chosen(monkeypatch, cl):
    monkeypatch.setitem(sys.modules, "pyopencl", cl)
    with config.scoped(no_cache=True):
        return opencl.opened().name


def test_the_newest_driver_is_taken(monkeypatch):
    """Version 6 before version 3."""
    assert chosen(monkeypatch, driver(device("a", "3.0"), device("b", "6.0"))).startswith("b")


def test_a_device_that_compiles_nothing_is_passed_over(monkeypatch):
    """A newer driver that refuses an empty kernel is left for an older one."""
    cl = driver(device("a", "3.0"), device("b", "6.0"), refusing="b")
    assert chosen(monkeypatch, cl).startswith("a")


def test_where_no_device_compiles_the_error_says_what_to_install(monkeypatch):
    """The error has what the compiler said."""
    with pytest.raises(Unsupported) as caught:
        chosen(monkeypatch, driver(device("a", "3.0"), refusing="a"))
    text = str(caught.value)
    assert "a, OpenCL 3.0: error: unknown target CPU 'generic'" in text
    assert "install a newer one" in text
