"""Kernel IR becomes LLVM text for CPUs: `unit.emit` makes a module of a unit, `unit.load` code.

    unit               a function for each kernel and one for the host
    host, rows         what the host does, and kernels that launch others
    collectives, rearranged, by_flags
                       what the lanes of a vector do together
    memory, updates    loads, stores, updates; counted and permuted have lanes of few, or in order
    scalars, control, loops
                       kernel code but for these; emitter is what all of it works on
    math, isa          scalar functions, and what CPUs differ in
    module, values     LLVM's text, which does not depend on kernels: modules, functions, values
"""

from flatweave.runtime.lazy_import import lazy_modules

__getattr__ = lazy_modules(__name__, "counted", "permuted", "rows")
