"""Parallel algorithms over levels, each written once, which kernels of users and sweeps share."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
