"""Kernel IR becomes LLVM text for CPUs: `emit` makes a module of a unit.

From bottom to top: `text/` is LLVM's language, `isa/` what CPUs differ in, `math/` scalar
functions, `body/` control flow, `memory/` loads, stores and updates, `lanes/` what lanes do
together, `unit/` kernels and the host.
"""

from flatweave.codegen.llvm.unit.emit import emit
from flatweave.codegen.llvm.unit.load import load

__all__ = ["emit", "load"]
