"""Scalar functions at any width: `scalar.py` finds the function that builds each of them.

Integers, floats and casts are a few instructions each; elementary functions are polynomials of our
own (`exponentials.py`, `logarithms.py`, `trigonometry.py`), or calls of glibc's libmvec or libm.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
