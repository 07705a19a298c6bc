"""Sorts by radix, in passes of blocks or lanes over digits; of a row, by a network."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
