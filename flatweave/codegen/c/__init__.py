"""Kernels as C at the level of one thread, for CUDA and OpenCL.

`program.py` prints a unit. The files around it emit each op and end with a table of those ops. A
`Dialect` (`dialect.py`) holds the differences between the two languages. Where the host cannot be
compiled, `host_steps.py` builds closures from its lambda.
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__)
