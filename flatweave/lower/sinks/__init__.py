"""The uses of the elements of a sweep: stored, selected, combined, combined by segment."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
