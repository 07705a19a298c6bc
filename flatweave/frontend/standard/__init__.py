"""Functions of the Python array API standard (2025.12) that are compositions of others.

They bring no operation of their own to the compiler, and each stands beside those of its kind.
"""
