"""Kernels as C at the level of one thread, for CUDA and OpenCL.

`program.py` prints a unit; the files around it say what each op becomes and end with a table of
those ops. A `Dialect` (`dialect.py`) holds what tells the two languages apart. Where the host
cannot be compiled, `host_steps.py` makes closures of its lambda.
"""
