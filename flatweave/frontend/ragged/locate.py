"""Which row, or which source of an expansion, a position of the flat result belongs to.

    locate(ends, 0, p)        ends    = [2, 5, 6, 7],    p = 3   ==>   row 1, which begins at 2
    locate(offsets, 1, p)     offsets = [0, 2, 5, 6, 7], p = 3   ==>   the same
"""

from __future__ import annotations

from flatweave.frontend.trace.extents import known_natural, sub
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Locate
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


def locate(ends: Tracer, skip: int, p: Atom) -> tuple[Atom, Atom]:
    """The row of position `p`, and where that row begins; row i ends at `ends[skip + i]`.

    Ends do not decrease, and `p` is below the last one: the row is the first one to end behind p.
    """
    row, start = current().emit(Locate(ends.atom, skip, p), "s")
    known_natural(row)
    known_natural(start)
    current().trace.bounds[row] = sub(ends.extents[0], index(skip))
    return row, start
