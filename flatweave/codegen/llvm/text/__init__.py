"""LLVM text: modules, functions with their blocks, and values that Python operators combine.

Nothing here knows of kernels; `module.py` is the place to begin.
"""
