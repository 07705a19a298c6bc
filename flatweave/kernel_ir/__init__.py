"""The machine language: kernels over grid, block, warp and lanes, and the host around them.

Here are its operations, their text and the rules that a unit keeps; what writes kernels
(`lower/`, `kernel/`) and what emits them (`codegen/`) is above it.

    syntax.py        units, kernels, loads and stores; op.py: what every op says of itself
    hierarchy.py     levels of the machine; host.py: the host's program
    warp_ops.py      what lanes do together; memory_ops.py: updates, prefetches, words for others
    arrays.py        Python values that write kernel IR
    lane_facts.py    which variables differ between lanes, where not all warps of a block come
    text.py, verify.py
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "text")
