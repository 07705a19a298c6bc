"""Memory: loads and stores, atomic updates, and updates by any operator, under a lock or without.

Each file ends with a table of the ops it emits; `HANDLERS` joins them.
"""

from flatweave.codegen.llvm.body.emitter import Handlers
from flatweave.codegen.llvm.memory import access, updates
from flatweave.runtime.lazy_import import lazy_modules

HANDLERS: Handlers = {**access.HANDLERS, **updates.HANDLERS}

__getattr__ = lazy_modules(__name__, "counted", "permuted")
