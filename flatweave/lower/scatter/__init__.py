"""Sweeps that write to computed indices, where blocks divide the destination or the elements."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
