"""How an expansion is divided among blocks, and how a block walks along its sources.

    balanced        equal numbers of results for each block, found by a search; short sources by
                    position, long ones sequentially                        (Merrill, Garland 2016);
                    on devices by what its sources cost a block: a search for each result, a source
                    for each lane, or for each warp
    n-per-block     n sources for each block, by position
    per-block       one source for each block, all lanes along it
    per-warp        one source for each warp, where order does not matter and warps meet alone
    per-source      one source for each lane; sequentially, where order matters

    ..-search       of balanced and n-per-block: by position, each lane searching for its source,
                    on devices only
    ..-random       of the others: sources of a block, and blocks, in an order without pattern,
                    where order does not matter

The names are those of `fw.schedule(expand=..)`; where nothing is forced, it is balanced.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access import ONE, arguments_of
from flatweave.access.analyse import Accesses
from flatweave.base.dtypes import bool_
from flatweave.base.records import record, replace
from flatweave.lower.machine import CHEAP_IN_ROW, DEAR_IN_ROW, SOURCES, Machine
from flatweave.lower.schedule.arrangement import in_any_order
from flatweave.lower.schedule.steps import Along, Rows
from flatweave.ops import CombineRows, Fold, Index, Locate, Sweep
from flatweave.passes.cost import cost_of_body
from flatweave.passes.operators import extreme_beside, is_commutative, place_of
from flatweave.terms.control import Apply, Cast, For, While
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Var, scalar_type
from flatweave.terms.traverse import walk_lets


@record(eq=True)
class Division:
    """Sources of a block (0: enough for its share of results), the walk along them, and whether
    they are `mixed`, in an order without pattern."""

    sources: int
    along: Along
    mixed: bool = False


BALANCED = Division(0, Along.EITHER)


def find_located(op: Sweep) -> Locate | None:
    """The rows in which a sweep looks up its own positions, if it does: it walks along them.

    A search in a branch does not count: positions that take the other one may be in no row.
    """
    if len(op.shape) != 1 or op.reverse:
        return None
    found = (let.op for let in op.body.lets if isinstance(let.op, Locate))
    return next((op_ for op_ in found if op_.position is op.body.params[0]), None)


def along_rows(op: Sweep, located: Locate) -> Accesses:
    """What a sweep computes, along the rows that it finds its positions in, and along folds."""
    of_row = [var for let in op.body.lets if let.op == located for var in let.vars]
    folds = [let.op.body.params[0] for let in walk_lets(op.body) if isinstance(let.op, Fold)]
    return Accesses([*op.body.params, *folds], op.body.lets, of_row)


def reads_of_runs(op: Sweep, located: Locate) -> tuple[Index, ...] | None:
    """The reads along a row, where steps that begin in a row may end in the next ones.

    Lanes after the end of a row compute in vain, and so does the first step of an empty row. Each
    element is cheap, is stored, and reads at its row, or what follows the last element's read.
    """
    known, position = along_rows(op, located), op.body.params[0]
    rows = [let.vars[0] for let in op.body.lets if let.op == located]
    reads: list[Index] = []
    for let in op.body.lets:
        if isinstance(let.op, Index):
            if let.op.checked:
                return None
            if list(let.op.indices) != rows:
                reads.append(let.op)
        elif let.op != located and not isinstance(let.op, Apply | Cast):
            return None
    for read in reads:
        *leading, last = read.indices
        if any(map(known.along, leading)) or known.step(last, position) != ONE:
            return None
    return tuple(reads) if op.only_stores and cost_of_body(op.body) <= CHEAP_IN_ROW else None


def reads_in_place(op: Sweep, located: Locate) -> bool:
    """Whether an element is a few operations on values at its position and at its row. Then a row
    with fewer elements than there are lanes may compute some in vain."""
    known, position = along_rows(op, located), op.body.params[0]
    for let in op.body.lets:
        if isinstance(let.op, Index):
            at = filter(known.along, let.op.indices)
            if let.op.checked or any(i is not position for i in at):
                return False
        elif let.op != located and not isinstance(let.op, Apply | Cast):
            return False
    return cost_of_body(op.body) <= CHEAP_IN_ROW


def folds_at_once(op: Sweep, located: Locate) -> bool:
    """Whether several rows can be combined together, each in a register (sweep/combine_rows.py)."""
    commute = all(isinstance(s, CombineRows) and is_commutative(s.fn) for s in op.sinks)
    return commute and reads_in_place(op, located)


@record
class FlagFold:
    """What a sink combines of its elements: their flags by a function, of the index if there is.

    An element's flag is the value `seen`. Where the sink chooses a pair whose component `place` is
    the index, it is whether the value seen is the `extreme` one.
    """

    fn: str
    seen: Atom
    index: Atom | None = None
    extreme: str = ""
    place: int = 0


def flag_folds(
    op: Sweep, located: Locate, sinks: Sequence[CombineRows], values: Sequence[Atom]
) -> list[FlagFold] | None:
    """How each sink combines flags, of the `values` of elements; None if one of them combines
    anything else."""
    known, found, left = along_rows(op, located), list[FlagFold](), list(values)
    for sink in sinks:
        taken, left = left[: len(sink.neutral)], left[len(sink.neutral) :]
        fold = _flag_fold(sink, taken, known, op.body.params[0])
        if fold is None:
            return None
        found.append(fold)
    return found


def _flag_fold(
    sink: CombineRows, values: list[Atom], known: Accesses, position: Var
) -> FlagFold | None:
    names = component_functions(sink.fn)
    if names is None:
        found = place_of(sink.fn, values, lambda atom: known.step(atom, position) == ONE)
        extreme = extreme_beside(sink.fn, found[0]) if found else None
        if found is None or extreme is None:
            return None
        place, fn = found
        return FlagFold(fn, values[1 - place], values[place], extreme, place)
    if len(names) != 1:
        return None
    (name,), (neutral,), (value,) = names, sink.neutral, values
    if name in ("or", "and") and value.type is bool_:
        return FlagFold(name, value)
    made = known.of(value)
    if name == "add" and scalar_type(value).is_integer:
        counted = arguments_of(made, f"cast.{value.type}")
        flag = known.atom(counted[0]) if counted else None
        return FlagFold(name, flag) if flag is not None and flag.type is bool_ else None
    chosen = arguments_of(made, "select") if name in ("minimum", "maximum") else None
    if chosen is None or chosen[2] != known.of(neutral):
        return None
    flag, at = map(known.atom, chosen[:2])
    if flag is None or at is None or known.step(at, position) != ONE:
        return None
    return FlagFold(name, flag, at)


def reads_along_rows(op: Sweep, located: Locate, known: Accesses) -> bool:
    """Whether some read advances with the elements of a row, or not at all, and elsewhere in other
    rows: by position it is a gather. `known` is what values are along positions."""
    along, position = along_rows(op, located), op.body.params[0]
    rows = [var for let in op.body.lets if let.op == located for var in let.vars[:1]]
    for let in walk_lets(op.body):
        if not isinstance(let.op, Index) or known.is_linear(let.op.indices[-1], position):
            continue
        last = let.op.indices[-1]
        of_row = known.of(last).terms.keys() <= {*rows} or position not in known.along(last)
        if not of_row and (position not in along.along(last) or along.is_linear(last, position)):
            return True
    return False


def gathers_along_rows(op: Sweep, located: Locate) -> bool:
    """Whether some read is a gather where lanes go along a row."""
    along, position = along_rows(op, located), op.body.params[0]
    reads = [let.op for let in walk_lets(op.body) if isinstance(let.op, Index)]
    return any(
        position in along.along(at) and not along.is_linear(at, position)
        for read in reads for at in read.indices
    )  # fmt: skip


def division_of(variant: str | None, op: Sweep, machine: Machine) -> Division:
    """The division that a schedule names, as far as this sweep and machine go along with it."""
    if variant is None or variant == "balanced":
        return BALANCED
    name, search, _ = variant.partition("-search")
    name, mixed, _ = name.partition("-random")
    free = in_any_order(op)
    found = _division_of(name, machine, free=free)
    if search:
        alone = machine.simt and searches(op)
        found = replace(found, along=Along.SEARCH if alone else Along.POSITIONS)
    return replace(found, mixed=bool(mixed) and free)


def _division_of(name: str, machine: Machine, *, free: bool) -> Division:
    """The division of a name without its suffix; `free` says that order does not matter."""
    in_row = Along.POSITIONS if machine.simt else Along.ROW
    if name == "balanced":
        return BALANCED
    if name == "per-source":
        return Division(SOURCES, Along.ROWS if free else in_row)
    if name == "per-block":
        return Division(1, in_row)
    if name == "per-warp":
        alone = machine.simt and machine.warps_meet_alone and free
        return Division(machine.warps, Along.WARPS if alone else in_row)
    return Division(int(name.split("-", 1)[0]), Along.POSITIONS)


def name_of_division(sources: int, rows: Rows, machine: Machine) -> str | None:
    """The name of a division, if a schedule can ask for it: what `division_of` reads."""
    along, in_row = rows.along, Along.POSITIONS if machine.simt else Along.ROW
    search = "-search" if along is Along.SEARCH else ""
    mixed = "-random" if rows.mixed else ""
    if not sources:
        return f"balanced{search}"
    if sources == SOURCES and along in (Along.ROWS, in_row):
        return f"per-source{mixed}"
    if sources == 1 and along is in_row:
        return f"per-block{mixed}"
    if sources == machine.warps and along in (Along.WARPS, in_row):
        return f"per-warp{mixed}"
    return f"{sources}-per-block{search}{mixed}"


def searches(op: Sweep) -> bool:
    """Whether lanes need not know of each other's rows: nothing is combined along them."""
    return not op.scans and not any(sink.by_row for sink in op.sinks)


def along_on_device(op: Sweep) -> Along:
    """What lanes go along in blocks of equal numbers of results. Where an element costs more than
    what it is saved, or order matters, they search."""
    if not searches(op):
        return Along.POSITIONS  # a warp's lanes go one way
    loops = any(isinstance(let.op, For | While | Fold) for let in walk_lets(op.body))
    dear = loops or cost_of_body(op.body) > DEAR_IN_ROW
    return Along.COST if in_any_order(op) and not dear else Along.SEARCH


def side_by_side(op: Sweep, located: Locate) -> int:
    """How many reads and stores of neighbours are side by side in memory."""
    known = along_rows(op, located)
    reads = [let.op for let in op.body.lets if isinstance(let.op, Index)]
    linear = sum(any(known.is_linear(i, op.body.params[0]) for i in read.indices) for read in reads)
    pairs = zip(op.sinks, op.portions(), strict=True)
    return linear + sum(len(sink.consecutive(taken)) for sink, taken in pairs)
