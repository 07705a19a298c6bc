"""What the lanes of a vector do together: reduce, scan, vote, compact, swap, read near places.

Each file ends with a table of the ops it emits; `HANDLERS` joins them.
"""

from flatweave.codegen.llvm.body.emitter import Handlers
from flatweave.codegen.llvm.lanes import collectives, compact, near, segmented, swap, tile

HANDLERS: Handlers = {
    **collectives.HANDLERS,
    **segmented.HANDLERS,
    **compact.HANDLERS,
    **near.HANDLERS,
    **tile.HANDLERS,
    **swap.HANDLERS,
}
