"""Running a kernel on every target that is here, and comparing with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from tests.conftest import DEVICE, missing_device

DEVICES = ("cuda", "opencl")


def check(kernel: Any, *args: Any, want: Any, simulate: bool = True) -> None:
    """The kernel gives what is wanted on the CPU, in the simulator and on the device of TEST_DEVICE
    where there is one, and has text for others."""
    targets = ["cpu", "interp"] if simulate else ["cpu"]
    targets += [] if missing_device() else [DEVICE]
    for target in targets:
        with fw.target(target):
            _same(kernel(*args), want)
    for device in DEVICES:
        assert kernel.text[device]


def _same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            _same(one, other)
        return
    found, wanted = np.asarray(got), np.asarray(want)
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def refused(kernel: Any, *args: Any) -> str:
    """The message of the error that a call raises, which names a line of the user's."""
    try:
        kernel(*args)
    except fw.UserError as error:
        assert error.where is not None and error.where.is_known
        return str(error)
    raise AssertionError("nothing was refused")
