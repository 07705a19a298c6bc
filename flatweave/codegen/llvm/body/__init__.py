"""Kernel code but for memory and collectives: scalar functions, control flow, positions, calls.

`emitter.py` is what all handlers of ops work on; `shapes.py` finds which values are the same in all
lanes, or count up from lane to lane, and so need no vector. The tables say what each op becomes.
"""

from flatweave.codegen.llvm.body import control, loops, scalars
from flatweave.codegen.llvm.body.emitter import Handlers

SCALAR_HANDLERS: Handlers = {**scalars.SCALAR_HANDLERS, **control.HANDLERS, **loops.HANDLERS}
"""Those that host code has, too."""
HANDLERS: Handlers = {**SCALAR_HANDLERS, **scalars.HANDLERS, **control.CALL_HANDLERS}
