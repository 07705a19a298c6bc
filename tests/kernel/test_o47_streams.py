"""O47: copies to a device and back overlap launches of kernels: implicit streams."""

import numpy as np
import pytest

from flatweave import kernel as fk
from flatweave.runtime.devices import opencl
from tests.devices.held import held


@fk.kernel(target="opencl")
def doubled(xs):
    """Blocks of 256, and what is left."""
    return fk.map(lambda x: x * 2, xs)


@pytest.mark.needs_opencl
def test_copies_beside_launches():
    """The arguments of the next call go there, and the result of the one before comes back, while
    the launches of a call wait."""
    xs = np.arange(1 << 16)
    before = doubled(xs)
    opencl.device().wait()
    with held(opencl.device()) as is_held:
        now, after = doubled(xs + 1), doubled(xs + 2)
        assert np.array_equal(before, xs * 2)
        assert is_held()

    assert np.array_equal(now, xs * 2 + 2) and np.array_equal(after, xs * 2 + 4)
