"""Array IR becomes better array IR, one verb a file."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
