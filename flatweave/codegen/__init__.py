"""Kernel IR becomes text for a machine: LLVM for CPUs (`llvm/`), or CUDA C and OpenCL C (`c/`).

Each op has one handler for each of the two families. One object holds the differences between CPUs
(`llvm/isa/`) or dialects (`c/dialect.py`). A decision that could be a pass over kernel IR is not
made here.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
