"""Parallel algorithms over levels, each written once, which kernels of users and sweeps share."""
