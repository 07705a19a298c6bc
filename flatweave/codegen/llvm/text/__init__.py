"""LLVM text: modules, functions with their blocks, and values that Python operators combine.

This package does not depend on kernels. Start with `module.py`.
"""
