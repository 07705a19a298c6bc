"""How much LLVM does for a host program: most of it runs once per call, or once per launch.

    while (..) (x => mul x 3 ..)                   LIGHT: a turn takes as long as its instructions
    while (..) (xs => .. launch a ..)              RAW: a turn takes as long as its launch
    for 0 blocks 1 (..)  beside  launch a blocks   RAW: a turn goes with a block, which takes longer
"""

from __future__ import annotations

from flatweave.kernel_ir.host import Launch
from flatweave.runtime.optimise import LIGHT, RAW
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import Atom, Lambda, Op, Var
from flatweave.terms.traverse import lambdas_in, walk_lets


def level_of(host: Lambda) -> int:
    """The level of optimisation at which a host program is compiled."""
    lets = list(walk_lets(host))
    loops = [let.op for let in lets if isinstance(let.op, (For, While))]
    definitions = {var: let.op for let in lets for var in let.vars}
    grids = {let.op.grid for let in lets if isinstance(let.op, Launch)}
    alone = [loop for loop in loops if not _launches(loop)]
    is_hot = any(not _is_per_block(loop, definitions, grids) for loop in alone)
    return LIGHT if is_hot else RAW


def _launches(op: Op) -> bool:
    inside = (let.op for fn in lambdas_in(op) for let in walk_lets(fn))
    return any(isinstance(each, Launch) for each in inside)


def _is_per_block(loop: For | While, definitions: dict[Var, Op], grids: set[Atom]) -> bool:
    """Whether there is a turn for each block of a launch, and perhaps a few more."""
    if not isinstance(loop, For):
        return False
    count: list[Atom] = [loop.hi]
    op = definitions.get(loop.hi) if isinstance(loop.hi, Var) else None
    if isinstance(op, Apply) and op.fn == "add":
        count += op.args
    return any(isinstance(atom, Var) and atom in grids for atom in count)
