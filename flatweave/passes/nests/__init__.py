"""Nested parallelism made flat: see `lift.py`."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
