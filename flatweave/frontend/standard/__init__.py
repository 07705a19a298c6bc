"""Functions of the Python array API standard (2025.12) that are compositions of others.

They add no operation to the compiler; functions of one kind share a module.
"""
