"""Functions on n-dimensional arrays: shapes, reads, writes, sources, sorting, stencils, segments.

Each is written in terms of the array language's operations, mostly `generate`, a read at computed
indices. Nothing here knows of Ragged values.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "assignment", "shapes")
