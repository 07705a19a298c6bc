"""A whole unit: `emit.py` defines a function for each kernel and one for the host.

`host.py` says what the host's own ops become: buffers, launches, failures.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "rows")
