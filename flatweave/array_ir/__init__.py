"""The array language: programs of named whole-array operations.

Here are programs, their text, meaning and rules; the operations themselves are in `ops/`, and what
rewrites programs is in `passes/`.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
