"""What of a sweep's body asks no more than whether a row begins at an element.

Such a sweep need not know which row an element is in: flags in memory answer it.
"""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.ops.folds import Locate
from flatweave.ops.sweep import Sink, Sweep
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars


@record
class HeadFlags:
    """What of a sweep's body says where rows begin.

    `flags` are the variables that do; `lets` are those of the body without them, and without the
    rows unless something else asks for these (`needs_rows`).
    """

    located: Locate
    flags: tuple[Var, ...]
    lets: tuple[Let, ...]
    needs_rows: bool

    def lean(self, op: Sweep) -> Sweep:
        """The sweep as far as it works on elements, not on rows."""
        rows = [taken[0] for sink, taken in _combined(op)]
        results = tuple(atom for atom in op.body.results if atom not in rows)
        lean: Sweep = op.replace(body=Lambda(op.body.params, self.lets, results))
        return lean


def _combined(op: Sweep) -> list[tuple[Sink, tuple[Atom, ...]]]:
    pairs = zip(op.sinks, op.portions(), strict=True)
    return [(sink, taken) for sink, taken in pairs if sink.row(taken) is not None]


def find_head_flags(op: Sweep, located: Locate | None) -> HeadFlags | None:
    """The values of a sweep that say where its rows begin, if it combines these rows and no others,
    or uses nothing else of them."""
    combined, lets = _combined(op), op.body.lets
    at = next((let for let in lets if let.op is located), None)
    if located is None or at is None:
        return None
    row, start = at.vars
    flags = [let for let in lets if _is_start(let, op.body.params[0], start)]
    bound = {let.vars[0] for let in flags}
    if any(taken[0] is not row or taken[1] not in bound for _, taken in combined):
        return None
    others = [let for let in lets if let not in flags and let is not at]
    results = [atom for atom in op.body.results if atom is not row]
    needs_rows = any({row, start} & free_vars(let.op).keys() for let in others) or any(
        atom in (row, start) for atom in results
    ) or op.body.results.count(row) > len(combined)
    if not combined and (needs_rows or not flags):
        return None
    rest = [let for let in lets if let not in flags and (needs_rows or let is not at)]
    return HeadFlags(located, tuple(bound), tuple(rest), needs_rows)


def _is_start(let: Let, position: Var, start: Var) -> bool:
    """Whether a let asks if a position is where its row begins."""
    return isinstance(let.op, Apply) and let.op.fn == "eq" and set(let.op.args) == {position, start}
