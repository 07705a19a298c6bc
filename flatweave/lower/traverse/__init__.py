"""How a warp visits the positions of its block: in whole steps, row by row, a row per lane."""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
