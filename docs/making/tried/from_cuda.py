"""Tried as a new user who comes from CUDA: a kernel is written, tested and printed.

In an empty environment with `pip install .`, by docs/kernel.md and docs/tutorial/6_kernels.md
alone.

Stumbles, and what was changed:
    no page names what CUDA's words are here           docs/from/cuda.md
    fk.reduce(op, initial, xs), as fw.reduce has it    the message says which comes first
    `if i < n:` in a kernel                            the message names fk.when and fk.cond
    saxpy(x, x, 2.0) of f32 gives f64                  docs/from/cuda.md: annotate numbers
"""

import numpy as np

import flatweave as fw
from flatweave import kernel as fk


@fk.kernel
def row_sums(xs: fk.Pull[fw.f32], ys: fk.Pull[fw.f32]):
    """The dot product of each 256 elements, by a block."""
    products = fk.zip_with(lambda x, y: x * y, xs, ys)

    def block(part):
        return fk.singleton(fk.reduce(fw.add, part, 0.0))

    return fk.pconcat_map(block, fk.split_up(256, products))


rng = np.random.default_rng(0)
x, y = rng.random((2, 1024), dtype=np.float32)
expected = (x * y).reshape(-1, 256).sum(1)
print("on the CPU:", np.allclose(row_sums(x, y), expected))
print("simulated, no race:", np.allclose(row_sums.simulate(x, y), expected))


@fk.kernel
def mirrored(xs):
    """Wrong: a thread reads what another one writes."""
    def block(part):
        shared = fk.fill(part)
        fk.for_all(256, lambda t: shared.__setitem__(t, shared[255 - t]))
        return shared.pull()

    return fk.pconcat_map(block, fk.split_up(256, xs))


try:
    mirrored.simulate(x)
except fw.KernelError as error:
    print("a wrong one:", error.message.partition(":")[0])

cuda = row_sums.text["cuda"]
print(*(line for line in cuda.splitlines() if "__global__" in line))
print("barriers:", cuda.count("__syncthreads()"))
