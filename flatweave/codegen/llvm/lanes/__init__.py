"""What the lanes of a vector do together: reduce, scan, vote, compact, swap, load and store in
another order.

Each file ends with a table of the ops it emits; `HANDLERS` joins them.
"""

from flatweave.codegen.llvm.body.emitter import Handlers
from flatweave.codegen.llvm.lanes import collectives, compact, rearranged, segmented

HANDLERS: Handlers = {
    **collectives.HANDLERS,
    **segmented.HANDLERS,
    **compact.HANDLERS,
    **rearranged.HANDLERS,
}
