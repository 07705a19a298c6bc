"""Kernel IR becomes text for a machine: LLVM for CPUs (`llvm/`), or CUDA C and OpenCL C (`c/`).

Each op has one handler for each of the two families; what tells CPUs or dialects apart is one
object (`llvm/isa/`, `c/dialect.py`). Nothing is decided here that could be a pass over kernel IR.
"""
