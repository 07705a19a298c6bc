"""Kernel IR becomes text for a machine: LLVM for CPUs (`llvm/`), or CUDA C and OpenCL C (`c/`)."""
