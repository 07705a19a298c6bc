"""A sweep becomes a kernel: its launches, and the passes over a block."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
