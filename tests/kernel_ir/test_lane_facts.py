"""Low bits that are known to be zero are zero in every value that a kernel computes."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_ir.lane_facts import trailing_zeros, zeros_in, zeros_of
from flatweave.kernel_ir.syntax import Store
from flatweave.terms.traverse import walk_lets

FUNCTIONS = {
    "i * 24": (lambda i: i * 24, 3),
    "i * 8 + 4": (lambda i: i * 8 + 4, 2),
    "i * 16 - i * 16 % 64": (lambda i: i * 16 - i * 16 % 64, 6),
    "(i + 1) - (i + 1) % 48": (lambda i: (i + 1) - (i + 1) % 48, 4),
    "i * 32 % 48": (lambda i: i * 32 % 48, 4),
    "i * 32 // 8": (lambda i: i * 32 // 8, 2),
    "i * 32 // 12": (lambda i: i * 32 // 12, 0),
    "i * 32 // -8": (lambda i: i * 32 // -8, 0),
    "(i << 5) >> 2": (lambda i: (i << 5) >> 2, 3),
    "i & 40": (lambda i: i & 40, 3),
    "i & -64": (lambda i: i & -64, 6),
    "i * 4 | 8": (lambda i: i * 4 | 8, 2),
    "i * 4 ^ 2": (lambda i: i * 4 ^ 2, 1),
    "max": (lambda i: fw.maximum(i * 4, 96), 2),
    "where": (lambda i: fw.where(i > 3, i * 64, 16), 4),
    "i": (lambda i: i, 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    """The facts are correct, and as strong as expected."""
    fn, expected = FUNCTIONS[name]
    kernel = fk.kernel(lambda xs: fk.map(lambda i: fn(i - 20), fk.iterations(xs.length)))
    xs = np.zeros(300)
    with fw.target("interp"):
        (body,) = (each.body for each in kernel.traced(xs).unit.kernels)
        found = kernel(xs)
    stored = next(let.op.value for let in walk_lets(body) if isinstance(let.op, Store))
    zeros = zeros_of(trailing_zeros(body), stored)

    assert zeros == expected
    assert not np.any(found & ((1 << zeros) - 1))


def test_numbers():
    """All bits of 0 are zero; a negative number has the count of its opposite."""
    assert [zeros_in(n) for n in (0, 1, 2, 12, -12, 1 << 40)] == [64, 0, 1, 2, 2, 40]
