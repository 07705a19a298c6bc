"""Along what the lanes of a step lie, so that most reads are consecutive (`plan.Axis`), and which
steps leave every value as it is: the dependence test, by the laws of a sweep's operators.

    an element may be visited twice      if it is stored and nothing else is done with it
    lanes may be idle                    if they are threads, or each combines its own elements
    elements may change their order      if none is scanned, and what combines them commutes
    a fold may go by parts               if its operator is associative
    a fold may be split over lanes       if its operator is associative

Operators of users count as associative, as `reduce` asks; one that combines component by component
is looked up. Sums of floats are associative but for rounding: whether two schedules leave the same
bits is another question, which `grouping` answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from flatweave.access.analyse import Accesses
from flatweave.base.dtypes import DType, c128
from flatweave.base.records import record, replace
from flatweave.lower.machine import WIDEST, Machine
from flatweave.lower.schedule.steps import (
    Along,
    Axis,
    Guard,
    How,
    RFactor,
    Split,
    Step,
    Stream,
    Tail,
    Unroll,
    Vectorize,
    Version,
)
from flatweave.ops import Fold, Index, InTurn, Locate, Prefix, Sweep
from flatweave.passes.operators import is_commutative, is_exact
from flatweave.terms.build import index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.operators import component_functions, is_lawful
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, array_type
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, needed_for, walk_lets

TAILS = {
    Axis.SPACE: {Tail.SCALAR, Tail.PREDICATE},
    Axis.LAST: {Tail.SCALAR, Tail.PREDICATE, Tail.SHIFT, Tail.SHIFT_OR_MASK},
    Axis.FOLD: {Tail.SCALAR, Tail.PREDICATE},
}
"""The ends that steps along an axis have code for (`lower/traverse`); rows that are data end as
those of the last axis."""


def accesses_of(op: Sweep) -> Accesses:
    """The values of a sweep's body, along its axes and those of its folds."""
    lets = walk_lets(op.body)
    folds = [let.op.body.params[0] for let in lets if isinstance(let.op, Fold)]
    return Accesses([*op.body.params, *folds], op.body.lets)


def arrange_lanes(
    machine: Machine, op: Sweep, known: Accesses, width: int, *, short: bool = False
) -> Vectorize:
    """The arrangement under which most reads are consecutive; threads divide by themselves, but for
    folds along memory.

    Where rows are `short`, lanes are not along each of them, as most would be idle.
    """
    along_folds = _folds_run_along_memory(op, known)
    if along_folds and not short and _folds_by_warps(machine, op):
        return Vectorize(Axis.FOLD, width, Tail.PREDICATE if machine.simt else Tail.SCALAR)
    if machine.simt:
        return Vectorize(Axis.SPACE, width, Tail.PREDICATE)
    along_last_axis = along_folds or not short
    if along_last_axis and len(op.shape) > 1 and not op.reverse and _needs_indices(op):
        return Vectorize(Axis.LAST, width, peel=find_reach(op, known))
    if not (along_folds or machine.one_block) and _is_one_row_of_folds(op):
        return Vectorize(Axis.LAST, width, peel=find_reach(op, known))
    by_elements = len(op.shape) == 1 and not machine.one_block  # by row, it is often all ends
    return Vectorize(Axis.SPACE, width, peel=find_reach(op, known) if by_elements else 0)


@record(eq=True)
class Turned:
    """The reads of a sweep that go along memory with another axis than the last one: the number of
    that axis, and the lets that read."""

    axis: int
    reads: tuple[Let, ...]


def find_turned(op: Sweep, known: Accesses) -> Turned | None:
    """Of a sweep that only stores what it computes of reads, where no element fails.

        sweep [n, m] (i, j => index xs [j, i])      lanes along j read rows of xs, one each
    """
    stores = all(sink.at_own_position or isinstance(sink, InTurn) for sink in op.sinks)
    if len(op.shape) < 2 or op.reverse or not (op.sinks and stores):
        return None
    found: dict[Var, list[Let]] = {}
    *others, last = op.body.params
    for let in op.body.lets:
        read = let.op
        if not isinstance(read, Apply | Cast | Index) or read.effect:
            return None
        if isinstance(read, Index) and any(last in known.along(i) for i in read.indices):
            axis = _axis_along_memory(read, known)
            if axis in others:
                found.setdefault(axis, []).append(let)
    if not found:
        return None
    axis, reads = max(found.items(), key=lambda pair: len(pair[1]))
    return Turned(op.body.params.index(axis), tuple(reads))


def _axis_along_memory(read: Index, known: Accesses) -> Var | None:
    """The axis along which a read goes from a number, which may be a pair of floats, to its
    neighbour; None where it goes along none, or along several at once."""
    type_ = array_type(read.xs)
    size = type_.dtype.bytes
    for place, extent in zip(reversed(read.indices), reversed(type_.shape), strict=True):
        along = known.along(place)
        if along:
            axis = next(iter(along))
            step = known.step(place, axis) if len(along) == 1 else None
            plain = step is not None and not step.terms and abs(step.more) == 1
            return axis if plain else None
        size *= int(extent.value) if isinstance(extent, Const) else c128.bits
        if size > c128.bytes:
            return None
    return None


def _folds_by_warps(machine: Machine, op: Sweep) -> bool:
    """Whether the lanes of a warp can all be along the fold of one element: threads meet there, so
    a barrier must concern no other warp, and no thread may go its own way before."""
    scans = any(isinstance(let.op, Prefix | Locate) for let in walk_lets(op.body))
    return not machine.simt or (machine.warps_meet_alone and op.only_stores and not scans)


def elements_of_step(machine: Machine, lanes: Vectorize) -> int:
    """How many elements a warp takes at once: one, where threads are along its fold."""
    return 1 if machine.simt and lanes.axis is Axis.FOLD else lanes.width


def has_loops(op: Sweep) -> bool:
    """Whether the elements of a sweep are loops, some of them at least."""
    return any(isinstance(let.op, Fold | For | While) for let in walk_lets(op.body))


def lanes_of_rows(op: Sweep, lanes: Vectorize, width: int) -> Vectorize:
    """Lanes along each of the rows that positions are located among: `width` of them where a row
    can end like one of known length, else those of a step by position."""
    if not _may_overlap(op) or min(lanes.width, width) < 2:
        return replace(lanes, axis=Axis.SPACE)
    return Vectorize(Axis.SPACE, width, Tail.SHIFT_OR_MASK, lanes.peel)


def _may_overlap(op: Sweep) -> bool:
    """Whether elements may be visited twice: all are only stored."""
    return op.only_stores and not op.scans


def choose_tail(op: Sweep, machine: Machine, lanes: Vectorize, how: RFactor) -> Tail:
    """The tail of rows that are visited one by one. Lanes may be idle where each combines its own
    elements. Steps may overlap if an element may be visited twice. A loop takes one lane as long as
    all lanes. Totals that a fold is added to are read and stored in one array, where none may be
    visited twice."""
    by_row = lanes.axis is Axis.LAST and lanes.width > 1 and not machine.one_block
    if by_row and is_lanewise(op, how):
        return Tail.PREDICATE
    if not (by_row and _may_overlap(op)):
        return lanes.tail
    folds = {var for let in op.body.lets if isinstance(let.op, Fold) for var in let.vars}
    if folds and _adds_to_totals(op, folds):
        return lanes.tail
    return Tail.SHIFT_OR_MASK if folds else Tail.SHIFT


def _adds_to_totals(op: Sweep, folds: Set[Var]) -> bool:
    """Whether a fold is combined with an element of an array at the sweep's own index."""
    reads = ((let.vars[0], let.op) for let in op.body.lets if isinstance(let.op, Index))
    totals = {
        var for var, read in reads
        if tuple(i for i in read.indices if i != index(0)) == op.body.params  # 0: extents of 1
    }  # fmt: skip
    uses = (set(let.op.args) for let in op.body.lets if isinstance(let.op, Apply))
    return any(not args.isdisjoint(totals) and not args.isdisjoint(folds) for args in uses)


def _is_one_row_of_folds(op: Sweep) -> bool:
    """Whether elements are loops that lanes run together, and are stored: they are a row, which
    steps may overlap."""
    lets = op.body.lets
    plain = len(op.shape) == 1 and not op.reverse and op.only_stores
    folds = any(isinstance(let.op, Fold) for let in lets)
    return plain and folds and not any(isinstance(let.op, Prefix | Locate) for let in lets)


BOUNDARY_TESTS = frozenset({"minimum", "maximum", "lt", "le", "gt", "ge", "mod", "abs"})


def find_reach(op: Sweep, known: Accesses) -> int:
    """The greatest distance from an element to a neighbour whose index its body tests."""
    last, reach = op.body.params[-1], 0
    for let in walk_lets(op.body):
        tested: tuple[Atom, ...] = ()
        if isinstance(let.op, Index) and let.op.checked:
            tested = let.op.indices[-1:]
        elif isinstance(let.op, Apply) and let.op.fn in BOUNDARY_TESTS:
            tested = let.op.args
        for place in tested:
            sum_ = known.of(place)
            from_end = sum_.terms.get(last) == -1 and not any(
                known.along_term(term) for term in sum_.terms if term is not last
            )
            if sum_.terms == {last: 1} or from_end:
                reach = max(reach, abs(sum_.more))
    return reach if reach <= WIDEST else 0


def _needs_indices(op: Sweep) -> bool:
    """Whether the body uses its indices for more than reading at its own position."""
    params = set(op.body.params)
    for let in walk_lets(op.body):
        if isinstance(let.op, Index) and _own_position(let.op, op):
            continue
        if any(atom in params for atom in atoms_in(let.op)):
            return True
    return any(atom in params for atom in op.body.results)


def _own_position(read: Index, op: Sweep) -> bool:
    type_ = array_type(read.xs)
    return read.indices == op.body.params and type_.shape == op.shape


def _folds_run_along_memory(op: Sweep, known: Accesses) -> bool:
    """Whether the inner folds read along their own index rather than along the sweep's. Reads
    across rows are a gather along the fold, and one element for all lanes along the sweep. The last
    index that is no number says where, if lanes need no order: numbers after it are those of parts,
    as of a pair."""
    along_fold = along_sweep = across = 0
    last = op.body.params[-1]
    for fold in _folds(op.body):
        in_order = not is_commutative(fold.fn)
        for let in walk_lets(fold.body):
            if isinstance(let.op, Index):
                whole = in_order or all(isinstance(at, Const) for at in let.op.indices)
                *leading, final = let.op.indices if whole else _places(let.op)
                turn = fold.body.params[0]
                along_fold += turn in known.along(final)
                along_sweep += final is last
                across += any(turn in known.along(i) for i in leading)
    return along_fold > across and along_sweep == 0


def _places(read: Index) -> tuple[Atom, ...]:
    """The indices of a read up to the last one that is no number."""
    count = max((k for k, at in enumerate(read.indices, 1) if isinstance(at, Var)), default=0)
    return read.indices[:count]


def folds_down_columns(op: Sweep) -> tuple[Fold, ...]:
    """The folds of a sweep, if all columns have the same length and each iteration reads a row."""
    lets = op.body.lets
    folds = tuple(let.op for let in lets if isinstance(let.op, Fold))
    if not folds or any(isinstance(let.op, For | While | If) for let in lets):
        return ()
    known = accesses_of(op)
    return folds if all(_goes_down(fold, op, known) for fold in folds) else ()


def _goes_down(fold: Fold, op: Sweep, known: Accesses) -> bool:
    (turn,), last = fold.body.params, op.body.params[-1]
    reads = [let.op.indices for let in fold.body.lets if isinstance(let.op, Index)]
    down = (turn in known.along(i) for at in reads if at[-1] is last for i in at[:-1])
    return last not in known.along(fold.extent) and any(down)


def folds_of_one_length(op: Sweep) -> list[Let]:
    """The folds of a sweep, if all have one extent that is known outside, they and what they need
    do scalar work alone, and they go down columns or read arrays along several axes."""
    found = [let for let in op.body.lets if isinstance(let.op, Fold)]
    folds = [let.op for let in found if isinstance(let.op, Fold)]
    bound = {*op.body.params, *(var for let in op.body.lets for var in let.vars)}
    outside = tuple((fold.extent, fold.fn, fold.neutral) for fold in folds)
    if len({fold.extent for fold in folds}) != 1 or bound & free_vars(outside).keys():
        return []
    needed = needed_for(op.body.lets, [var for let in found for var in let.vars])
    scalar = [let for let in needed if let not in found]
    scalar += [let for fold in folds for let in fold.body.lets]
    if any(lambdas_in(let.op) or let.op.effect or isinstance(let.op, Prefix) for let in scalar):
        return []
    product = all(_is_product(fold, op.body) for fold in folds)
    return found if product or folds_down_columns(op) else []


def _is_product(fold: Fold, body: Lambda) -> bool:
    """Whether a fold reads arrays along several axes of the space."""
    (step,) = fold.body.params
    reads = [let.op.indices for let in fold.body.lets if isinstance(let.op, Index)]
    axes = {frozenset(place) & set(body.params) for place in reads if step in place}
    return len({axis for axis in axes if axis}) > 1


def _folds(fn: Lambda) -> Iterator[Fold]:
    """The outermost folds of a body, those of its branches and loops among them."""
    for let in fn.lets:
        if isinstance(let.op, Fold):
            yield let.op
            continue
        for inner in lambdas_in(let.op):
            yield from _folds(inner)


OUT_OF_ORDER = (Along.ROWS, Along.WARPS, Along.COST)


def in_any_order(op: Sweep) -> bool:
    """Whether elements may be visited in another order than the program's."""
    return not op.scans and all(sink.in_any_order(is_commutative) for sink in op.sinks)


def is_exact_sweep(op: Sweep) -> bool:
    """Whether any grouping of what its operators combine leaves the same bits."""
    inner = [let.op.fn for let in walk_lets(op.body) if isinstance(let.op, Fold | Prefix)]
    return all(map(_is_exact, inner)) and all(sink.in_any_order(_is_exact) for sink in op.sinks)


def is_lanewise(op: Sweep, how: RFactor) -> bool:
    """Whether a sweep does nothing but combine its elements, each lane separately."""
    return not op.scans and op.only_reduces and set(how.hows) == {How.LANEWISE}


def _is_exact(fn: Lambda) -> bool:
    """Whether an operator that is associative leaves the same bits in any grouping."""
    types = [result.type for result in fn.results]
    return is_exact(fn) or not any(isinstance(t, DType) and t.is_float for t in types)


def grouping(versions: Sequence[Version]) -> tuple[tuple[Guard, tuple[Step, ...]], ...]:
    """What decides how operands are grouped: all but where results are stored, and from what size
    on they are stored there. In register tiles each result is folded step by step, in the parts of
    its fold."""
    guards = (replace(version.guard, elements=0, multiple=1) for version in versions)
    return tuple(dict.fromkeys(zip(guards, map(_grouping_steps, versions), strict=True)))


def _grouping_steps(version: Version) -> tuple[Step, ...]:
    """The steps of a version that decide how operands are grouped."""
    if version.is_tiled:
        return Split(Axis.FOLD, version.part(Axis.FOLD)), Unroll(Axis.ROW, 1)
    return tuple(step for step in version.steps if not isinstance(step, Stream))


def broken_laws(op: Sweep, version: Version, *, scans: bool) -> Iterator[str]:
    """A sentence for each step that a sweep, which scans or not, does not allow."""
    lanes, rows = version.lanes, version.rows
    folds = [let.op.fn for let in walk_lets(op.body) if isinstance(let.op, Fold)]
    if lanes.axis is Axis.FOLD and not folds:
        yield "lanes follow a fold, and there is none"
    if lanes.axis is Axis.FOLD and any(component_functions(f) and not is_lawful(f) for f in folds):
        yield "a fold is split over lanes, and its operator is not associative"
    if lanes.axis is Axis.LAST and op.reverse:
        yield "rows are visited from their first element, and the sweep begins at its end"
    if lanes.tail in (Tail.SHIFT, Tail.SHIFT_OR_MASK) and (scans or not op.only_stores):
        yield "steps that overlap visit elements twice, which are scanned or combined"
    if version.step(Split) and (scans or not in_any_order(op)):
        yield "parts of axes change the order of elements, which are scanned or combined in order"
    if version.is_tiled and not op.only_stores:
        yield "a register tile has rows that are not there, and elements are combined"
    if (rows.mixed or rows.along in OUT_OF_ORDER) and not in_any_order(op):
        yield "rows are visited out of order, and their elements are scanned or combined in order"
    reductions = (fn for sink in op.sinks if (fn := sink.reduction()) is not None)
    for how, fn in zip(version.combines.hows, reductions, strict=False):
        if how is How.LANEWISE and not is_commutative(fn):
            yield "each lane accumulates by itself, and the operator does not commute"
