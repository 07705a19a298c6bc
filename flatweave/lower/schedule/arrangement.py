"""Along what the lanes of a step lie, so that most reads are consecutive (`plan.Lanes`)."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import i64
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.plan import Lanes, Traversal
from flatweave.ops import Fold, Index, Locate, Prefix, Store, Sweep
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets


def arrange_lanes(machine: Machine, op: Sweep, width: int, *, short: bool = False) -> Traversal:
    """The arrangement under which most reads are consecutive; threads divide by themselves.

    Where rows are `short`, lanes are not along each of them, as most would be idle.
    """
    if machine.simt:
        return Traversal(Lanes.FLAT, width)
    along_folds = _folds_run_along_memory(op)
    if along_folds and not short:
        return Traversal(Lanes.FOLDS, 0, fold_width=width)
    along_last_axis = along_folds or not short
    if along_last_axis and len(op.shape) > 1 and not op.reverse and _needs_indices(op):
        return Traversal(Lanes.ROW_BY_ROW, width, reach=find_reach(op))
    if not (along_folds or machine.one_block) and _is_one_row_of_folds(op):
        return Traversal(Lanes.ROW_BY_ROW, width, reach=find_reach(op))
    apart = len(op.shape) == 1 and not machine.one_block  # a row of its own is often all ends
    return Traversal(Lanes.FLAT, width, reach=find_reach(op) if apart else 0)


def _is_one_row_of_folds(op: Sweep) -> bool:
    """Whether elements are loops that lanes run together, and are stored: they are a row, which
    steps may overlap."""
    lets = op.body.lets
    plain = len(op.shape) == 1 and not op.reverse and all(isinstance(s, Store) for s in op.sinks)
    folds = any(isinstance(let.op, Fold) for let in lets)
    return plain and folds and not any(isinstance(let.op, Prefix | Locate) for let in lets)


BOUNDARY_TESTS = frozenset({"minimum", "maximum", "lt", "le", "gt", "ge", "mod", "abs"})
LONGEST_REACH = 64


def find_reach(op: Sweep) -> int:
    """The greatest distance from an element's own place, if its body tests such places."""
    last, reach, tests = op.body.params[-1], 0, False
    for let in walk_lets(op.body):
        if not isinstance(let.op, Apply) or let.vars[0].type is not i64:
            tests |= isinstance(let.op, Index) and let.op.checked
            tests |= isinstance(let.op, Apply) and let.op.fn in BOUNDARY_TESTS
            continue
        tests |= let.op.fn in BOUNDARY_TESTS
        if let.op.fn in ("add", "sub") and let.op.args[0] is last:
            distance = let.op.args[1]
            reach = max(reach, abs(int(distance.value)) if isinstance(distance, Const) else 0)
    return reach if tests and reach <= LONGEST_REACH else 0


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
    type_ = read.xs.type
    assert isinstance(type_, ArrayType)
    return read.indices == op.body.params and type_.shape == op.shape


def _folds_run_along_memory(op: Sweep) -> bool:
    """Whether the inner folds read along their own index rather than along the sweep's."""
    along_fold = along_sweep = 0
    last = op.body.params[-1]
    for fold in _folds(op.body):
        counter = fold.body.params[0]
        inside = _depending_on(fold.body, counter)
        for let in walk_lets(fold.body):
            if not isinstance(let.op, Index):
                continue
            final = let.op.indices[-1]
            along_fold += final in inside
            along_sweep += final is last
    return along_fold > 0 and along_sweep == 0


def folds_down_columns(op: Sweep) -> tuple[Fold, ...]:
    """The folds of a sweep, if each is as long for all columns and reads a row in each turn."""
    lets = op.body.lets
    folds = tuple(let.op for let in lets if isinstance(let.op, Fold))
    varying = _depending_on(op.body, op.body.params[-1])
    if any(isinstance(let.op, For | While | If) for let in lets):
        return ()
    return folds if all(_goes_down(fold, op, varying) for fold in folds) else ()


def _goes_down(fold: Fold, op: Sweep, varying: set[Atom]) -> bool:
    inside = _depending_on(fold.body, fold.body.params[0])
    reads = [let.op.indices for let in fold.body.lets if isinstance(let.op, Index)]
    along = [at for at in reads if at[-1] is op.body.params[-1]]
    return fold.extent not in varying and any(inside & set(at[:-1]) for at in along)


def _folds(fn: Lambda) -> Iterator[Fold]:
    """The outermost folds of a body, those of its branches and loops among them."""
    for let in fn.lets:
        if isinstance(let.op, Fold):
            yield let.op
            continue
        for inner in lambdas_in(let.op):
            yield from _folds(inner)


def _depending_on(fn: Lambda, var: Var) -> set[Atom]:
    """The variables of a body that follow from `var`."""
    found: set[Atom] = {var}
    lets: tuple[Let, ...] = fn.lets
    for let in lets:
        if any(v in found for v in free_vars(let.op)):
            found.update(let.vars)
    return found
