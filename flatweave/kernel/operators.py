"""Operators of reductions and scans: as code of threads, their laws, and blocks in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.algorithms.operator import Combine, Operator
from flatweave.base.dtypes import i64
from flatweave.base.errors import OperatorError
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.frontend.elements.lambdas import (
    combined_by,
    is_known_neutral,
    is_lawful,
    is_ours,
    must_associate,
    name_of,
)
from flatweave.frontend.values.scope import entered
from flatweave.frontend.values.tree import unflatten
from flatweave.kernel.code import emit, extent_of, here, numbers, trace
from flatweave.kernel.elements import Kind, floats, kind_of_leaves, leaves_of
from flatweave.kernel.pulls import Pull, any_index, element_seen, static
from flatweave.kernel.pushes import Put
from flatweave.kernel.stores import barrier, memory_of
from flatweave.kernel_ir import hierarchy
from flatweave.kernel_ir.hierarchy import (
    THREAD,
    ReduceAll,
    ScanAll,
    TryOperator,
    TryOverBlocks,
    UnitCode,
    Values,
)
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Const, Lambda, Type, Var

# Functions of users on elements as code of threads, for algorithms that are written on atoms.


Op = Callable[[Any, Any], Any]


def operator_on(kind: Kind, op: Op, identity: Any) -> Operator:
    """A function of two elements as an operator on their atoms."""
    return Operator(combine_on(kind, op), tuple(kind.atoms(identity, "the neutral element")))


def function_on(kind: Kind, op: Op) -> Lambda:
    """A function of two elements as a lambda over the atoms of both."""
    combine, size = combine_on(kind, op), len(kind.dtypes)
    return here().builder.function(
        [*kind.dtypes, *kind.dtypes], lambda b, *atoms: combine(b, atoms[:size], atoms[size:])
    )


def combine_on(kind: Kind, op: Op) -> Combine:
    """A function of two elements as one of their atoms."""

    def combine(b: Builder, left: Values, right: Values) -> Values:
        with entered(trace().scope_of(b)):
            return tuple(kind.atoms(op(kind.value(left), kind.value(right)), "a combination"))

    return combine


def elements_of(kind: Kind, array: Pull) -> hierarchy.At:
    """What writes an element's atoms."""
    def at(b: Builder, i: Atom) -> Values:
        found: Values = as_thread(b, (i,), lambda at: tuple(kind.atoms(array.at(at))))
        return found

    return at


def as_thread(b: Builder, atoms: Values, write: Callable[..., Any]) -> Any:
    """What `write` gives for atoms as numbers, which writes code of a thread; that of its lane goes
    on with it."""
    code = UnitCode(b, THREAD)
    made = trace()
    scope, around = made.scope_of(code), made.scope_of(b)
    for atom in atoms:
        if isinstance(atom, Var):
            made.homes[atom] = made.scope_of(_owner(b, atom))
    with entered(scope):
        found = write(*numbers(atoms))
    scope.closed = True
    for let in code.lets:
        b.lets.append(let)
        b.adopt(let)
        made.homes.update((var, around) for var in let.vars)
    return found


def _owner(b: Builder, var: Var) -> Builder:
    """The body in which a variable is bound, which may be one around `b`."""
    while var not in b.own and b.outer is not None:
        b = b.outer
    return b


def kind_of_elements(array: Pull) -> Kind:
    """The kind of an array's elements to combine, seen in one that nobody keeps."""
    code = UnitCode(here().builder, THREAD)
    code.hoists = False
    with entered(trace().scope_of(code)):
        return kind_of_leaves(*leaves_of(floats(array.at(any_index(code, array)))))


# What reductions and scans of a block or warp rely on: that operators associate, and that a
# neutral element is neutral, as it is combined once for each part of the elements.
#
# What the operator's own functions prove wrong is an error when the kernel is written. What they
# do not prove right is tried in a first call: `TryOperator` says on which elements.


ONE_BY_ONE = "go one by one with fk.seq_reduce in a thread"
SAME_TWICE = frozenset({"minimum", "maximum", "and", "or"})
"""Functions that give x for x and x: a value that is combined twice counts once."""


@record
class Check:
    """Whether an operator is tried, and the user's line that asks for it."""

    wanted: bool
    where: Location


def keep_laws(
    op: Op, fn: Lambda, kind: Kind, array: Pull, neutral: Values, who: str, check: Check, *,
    row: int = 0,
) -> None:  # fmt: skip
    """Expect an operator to associate on an array, or on each row of it, and a neutral element to
    be neutral; OperatorError where it is known that they are not."""
    must_associate(fn, op, who, check.where, ONE_BY_ONE)
    if not check.wanted or not trace().checks or is_ours(op):
        return
    known = [is_known_neutral(fn, k, atom) for k, atom in enumerate(neutral)]
    if is_lawful(fn) and all(known):
        return
    for k, atom in enumerate(neutral):
        name = combined_by(fn, k)
        if name and isinstance(atom, Const) and not known[k] and name not in SAME_TWICE:
            raise OperatorError(
                f"{atom.value} is not neutral to {name}, by which {who} combines: it would"
                " count once for each part of the elements.",
                where=check.where, remedy=_remedy(who, op),
            )  # fmt: skip
    length, element = extent_of(array.length), _element(kind, array)
    b = here().builder
    b.where = check.where
    b.emit(TryOperator(fn, neutral, length, row, element))


def keep_law_over_blocks(
    op: Op, fn: Lambda, first: Values, block: Atom, values: Values, who: str, check: Check
) -> None:
    """Expect an operator to associate on `first` and what each block has; OperatorError where it
    is known that it does not."""
    must_associate(fn, op, who, check.where, ONE_BY_ONE)
    if check.wanted and trace().checks and not is_ours(op) and not is_lawful(fn):
        b = here().builder
        b.where = check.where
        b.emit(TryOverBlocks(fn, first, block, values))


def _remedy(who: str, op: Op) -> str:
    start = "give another start as before=" if who == "scan" else "combine the result with it"
    return f"Give the neutral element of {name_of(op)}, and {start}."


def _element(kind: Kind, array: Pull) -> Lambda:
    """Element i, in code that nothing else shares a value with."""
    elements = elements_of(kind, array)

    def write(b: Builder, i: Atom) -> Values:
        b.hoists = False
        return elements(b, i)

    return here().builder.function([i64], write)


# Reductions and scans of a block whose threads take q elements each (`kernel/chunks.py`), or
# whose elements form rows: recorded as one operation, which
# `kernel_passes/sequentialize.py` divides among the threads.


def takes_chunks(array: Pull) -> bool:
    """Whether a block's work on an array is written as one operation: its threads take chunks, or
    it is an array of rows. A length that is found at run time is divided by the machine."""
    if isinstance(element_seen(array), Pull):
        return True
    return trace().each is not None and isinstance(array.length, int)


@record
class _Rows:
    """The elements of one row, or of an array of rows, in order."""

    elements: Pull
    row: int
    rows: int | None

    @property
    def count(self) -> int:
        return self.row * (1 if self.rows is None else self.rows)


def _rows(array: Pull, who: str) -> _Rows:
    """What is combined: each row for itself."""
    length = static(array.length, who)
    first = element_seen(array)
    if not isinstance(first, Pull):
        return _Rows(array, length, None)
    row = static(first.length, who)
    if not row:
        return _Rows(Pull(0, lambda i: first[i]), 0, length)
    return _Rows(Pull(length * row, lambda i: array.at(i // row).at(i % row)), row, length)


def reduce_in_chunks(op: Op, array: Pull, identity: Any, who: str, check: Check) -> Any:
    """The elements combined, which every thread of the block may read after a barrier; for an array
    of rows, an array of what each combines to."""
    found = _rows(array, who)
    kind = kind_of_elements(found.elements)
    if not found.count:
        none = kind.value(kind.atoms(identity, "the neutral element"))
        return none if found.rows is None else Pull(found.rows, lambda i: none)
    operator = operator_on(kind, op, identity)
    combined = operator.function(here().builder)
    keep_laws(op, combined, kind, found.elements, operator.neutral, who, check, row=found.row)
    sums = memory_of(kind, found.rows or 1)

    def keep(r: Any, *values: Any) -> None:
        sums[r] = unflatten(kind.tree, list(values))

    emit(ReduceAll(
        combined, operator.neutral, found.count, found.row,
        _element_of_chunk(kind, found.elements), _body(kind, keep), _each(),
        is_commutative(combined),
    ))  # fmt: skip
    barrier()
    return sums.pull() if found.rows is not None else sums[0]


def scan_in_chunks(
    op: Op, array: Pull, identity: Any, before: Any, put: Put, *, exclusive: bool, check: Check
) -> None:
    """Puts all prefixes; of an array of rows those of each row, one row after the other."""
    found = _rows(array, "scan")
    if not found.count:
        return
    kind = kind_of_elements(found.elements)
    operator = operator_on(kind, op, identity)
    combined = operator.function(here().builder)
    keep_laws(
        op, combined, kind, found.elements, operator.neutral, "scan", check, row=found.row
    )
    first = () if before is None else tuple(kind.atoms(before, "what stands before"))

    def keep(i: Any, *values: Any) -> None:
        put(i, unflatten(kind.tree, list(values)))

    emit(ScanAll(
        combined, operator.neutral, found.count, found.row,
        _element_of_chunk(kind, found.elements), _body(kind, keep), _each(),
        exclusive, first,
    ))  # fmt: skip


def _each() -> int:
    each = trace().each
    return 1 if each is None else each


def length_of_all(array: Pull) -> Any:
    """How many elements an array has, or all rows of it."""
    first = element_seen(array)
    return array.length * first.length if isinstance(first, Pull) else array.length


def _element_of_chunk(kind: Kind, array: Pull) -> Lambda:
    """Element i, in code of a thread."""
    return _thread((), lambda i: kind.atoms(array.at(i)))


def _body(kind: Kind, act: Callable[..., None]) -> Lambda:
    """What is done with values, in code of a thread."""

    def write(i: Any, *values: Any) -> list[Atom]:
        act(i, *values)
        return []

    return _thread(kind.dtypes, write)


def _thread(types: tuple[Type, ...], write: Callable[..., list[Atom]]) -> Lambda:
    """A function of an index and values as code of a thread."""
    made = trace()
    scope = made.scope_of(UnitCode(here().builder, THREAD))
    params = [scope.builder.param("i", i64), *(scope.builder.param("x", t) for t in types)]
    with entered(scope):
        results = write(*numbers(params))
    scope.closed = True
    return scope.builder.close(params, results)
