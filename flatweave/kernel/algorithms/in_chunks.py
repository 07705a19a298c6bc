"""Reductions and scans of a block whose threads take q elements each (`arrays/sequential.py`), or
whose elements stand in rows: written down as one operation, which `kernel_passes/sequentialize.py`
divides among the threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.frontend.values.scope import entered
from flatweave.frontend.values.tree import unflatten
from flatweave.kernel.algorithms.as_code import kind_of_elements, operator_on
from flatweave.kernel.algorithms.laws import Check, keep_laws
from flatweave.kernel.arrays.pulls import Pull, element_seen, static
from flatweave.kernel.arrays.pushes import Put
from flatweave.kernel.storage.stores import barrier, memory_of
from flatweave.kernel.writing.code import emit, here, numbers, trace
from flatweave.kernel.writing.elements import Kind
from flatweave.kernel_ir.arrays import UnitCode
from flatweave.kernel_ir.folds_of_blocks import ReduceAll, ScanAll
from flatweave.kernel_ir.hierarchy import THREAD
from flatweave.passes.operators import is_commutative
from flatweave.terms.syntax import Atom, Lambda, Type

Op = Callable[[Any, Any], Any]


def takes_chunks(array: Pull) -> bool:
    """Whether a block's work on an array is written as one operation: its threads take chunks, or
    it is an array of rows. A length that is found at run time is divided by the machine."""
    if isinstance(element_seen(array), Pull):
        return True
    return trace().each is not None and isinstance(array.length, int)


@record
class _Rows:
    """The elements of one row, or of an array of rows: one after the other."""

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


def reduce_in_chunks(op: Op, array: Pull, ne: Any, check: Check) -> Any:
    """The elements combined, which every thread of the block may read behind a barrier; of an array
    of rows, an array of what each combines to."""
    found = _rows(array, "reduce")
    kind = kind_of_elements(found.elements)
    if not found.count:
        none = kind.value(kind.atoms(ne, "the neutral element"))
        return none if found.rows is None else Pull(found.rows, lambda i: none)
    operator = operator_on(kind, op, ne)
    combined = operator.function(here().builder)
    keep_laws(
        op, combined, kind, found.elements, operator.neutral, "reduce", check, row=found.row
    )
    sums = memory_of(kind, found.rows or 1)

    def keep(r: Any, *values: Any) -> None:
        sums[r] = unflatten(kind.tree, list(values))

    emit(ReduceAll(
        combined, operator.neutral, found.count, found.row,
        _element(kind, found.elements), _body(kind, keep), _each(),
        is_commutative(combined),
    ))  # fmt: skip
    barrier()
    return sums.pull() if found.rows is not None else sums[0]


def scan_in_chunks(
    op: Op, array: Pull, ne: Any, before: Any, put: Put, *, exclusive: bool, check: Check
) -> None:
    """Puts all prefixes; of an array of rows those of each row, one row after the other."""
    found = _rows(array, "scan")
    if not found.count:
        return
    kind = kind_of_elements(found.elements)
    operator = operator_on(kind, op, ne)
    combined = operator.function(here().builder)
    keep_laws(
        op, combined, kind, found.elements, operator.neutral, "scan", check, row=found.row
    )
    first = () if before is None else tuple(kind.atoms(before, "what stands before"))

    def keep(i: Any, *values: Any) -> None:
        put(i, unflatten(kind.tree, list(values)))

    emit(ScanAll(
        combined, operator.neutral, found.count, found.row,
        _element(kind, found.elements), _body(kind, keep), _each(),
        exclusive, first,
    ))  # fmt: skip


def _each() -> int:
    each = trace().each
    return 1 if each is None else each


def length_of_all(array: Pull) -> Any:
    """How many elements an array has, or all rows of it."""
    first = element_seen(array)
    return array.length * first.length if isinstance(first, Pull) else array.length


def _element(kind: Kind, array: Pull) -> Lambda:
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
