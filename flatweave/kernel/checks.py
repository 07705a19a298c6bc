"""Indices and lengths of users, all of which are checked here.

    xs[i]  m[i] = x  put(i, x)      0 <= i < length
    take(n, xs)  xs[a:b]  ..        what `need` says of the lengths

A fault that is known when the kernel is written is an error then. Checks that ranges of indices and
conditions around them settle needs no test (`terms/inequalities.py`). All else is tested when the
kernel runs. In code of the host a failure ends the program. In a kernel it is reported: the access
is left out, its value is 0, loops that wait for a condition end, and the call raises the error.
`@fk.kernel(checks=False)` leaves out the tests that cost time, but for those of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flatweave.base.dtypes import DType, u64
from flatweave.base.errors import ArgumentError, IndexOutOfBounds, ShapeError
from flatweave.base.plan import CHECK_ERROR, Site
from flatweave.base.pretty import counted
from flatweave.base.records import record
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.trace.run_time_checks import KERNEL_INDEX, KERNEL_SHAPE, check_message
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.scope import Scope, entered
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.kernel.code import (
    Extent,
    KernelTrace,
    extent_of,
    here,
    numbers,
    place,
    unit_of,
    writing,
)
from flatweave.kernel.elements import leaves_of
from flatweave.kernel_ir.hierarchy import GRID, level_of
from flatweave.kernel_ir.syntax import Report
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.inequalities import is_at_least, is_index
from flatweave.terms.syntax import Atom, Const, Op, Var, constant

Act = Callable[[Any], Any]
FROM_ZERO = (
    "Indices start at 0 and stay below the length: bring others inside with fw.clip, or test them "
    "with fk.cond."
)
EMPTY = "It has no elements: ask for its length before."


@record
class Test:
    """What must hold for an access to be made; what is wrong where it does not."""

    holds: Atom
    site: Site
    values: tuple[Atom, Atom]


def guarded(
    i: Any, length: Extent, what: str, act: Act, within: tuple[Test, ...] = ()
) -> Any:
    """`act(i)` for an index below a length; `what` names the array in the error of another one.

    Where the array is a row of others, `within` says when it is there.
    """
    atom, extent = place(i), extent_of(length)
    made, scope = writing(), here()
    if is_thrown_away(scope):
        return in_row(numbers([atom])[0], within, act)
    if isinstance(atom, Const) and (atom.value < 0 or isinstance(extent, Const)):
        _expect_index(int(atom.value), extent, what)
    if not made.checks or is_index(Known(scope), atom, extent):
        return in_row(numbers([atom])[0], within, act)
    message = check_message(f"index {{0}} is outside {what} of length {{1}}.", [], FROM_ZERO)
    site = Site(KERNEL_INDEX, scope.trace.where, message, 2)
    inside = scope.apply("lt", scope.cast(atom, u64), scope.cast(extent, u64))
    return _Guard(scope, atom, extent, (*within, Test(inside, site, (atom, extent)))).of(act)


def index_of(i: Any, length: Extent) -> Tracer:
    """A number that is below a length by the way it is made: no test of it is needed here."""
    atom = place(i)
    if isinstance(atom, Var):
        here().builder.assume_below(atom, extent_of(length))
    return numbers([atom])[0]


def is_thrown_away(scope: Scope) -> bool:
    """Whether code is written only to see what it gives: nothing in it runs."""
    return any(not around.builder.hoists for around in scope.around())


def in_row(i: Tracer, within: tuple[Test, ...], act: Act) -> Any:
    """`act(i)` for an index that is inside, where a row is there."""
    return _Guard(here(), i.atom, None, within).of(act) if within else act(i)


def _expect_index(i: int, extent: Atom, what: str) -> None:
    """Refuse an index that is outside of an array of this length, or of every one."""
    length = int(extent.value) if isinstance(extent, Const) else None
    if length is not None and 0 <= i < length:
        return
    many = "a length known at run time" if length is None else counted(length, "element")
    remedy = "Indices count from 0: use fk.last(xs), or xs[xs.length - 1]."
    if length is not None and i >= 0:
        remedy = f"Indices go from 0 to {length - 1}."
    if length == 0:
        remedy = EMPTY
    raise IndexOutOfBounds.here(f"index {i} is outside {what} of {many}.", remedy)


class Known:
    """What is known of numbers in a scope: by their builder, and by the trace."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.builder = scope.builder
        self.conditions = self.builder.conditions
        self.indices = self.builder.indices

    def definition(self, atom: Atom) -> Op | None:
        """What makes a number."""
        home = self.scope.trace.homes.get(atom) if isinstance(atom, Var) else None
        return home.builder.definition(atom) if home is not None else None

    def inside(self, var: Atom) -> tuple[Atom, int] | None:
        """The extent that an index stays below, and how far from its ends."""
        found = self.builder.inside(var)
        bound = self.scope.trace.bounds.get(var) if isinstance(var, Var) else None
        return (bound, 0) if found is None and bound is not None else found

    def is_length(self, atom: Atom) -> bool:
        """Whether a number is the length of an array that there is, or the number of a unit, which
        nobody counts further."""
        return self.builder.is_length(atom) or any(
            atom in scope.extents or getattr(scope.builder, "index", None) == atom
            for scope in self.scope.around()
        )

    def least(self, extent: Atom) -> int:
        """A number that another is no less than."""
        natural = self.scope.is_natural(extent)
        return max(self.builder.least(extent), 0) if natural else self.builder.least(extent)


class _Guard:
    """An access that is made only where all tests hold. Of an array of arrays it is a row, whose
    elements are tested: who asks only for its length needs no row."""

    def __init__(
        self, scope: Scope, atom: Atom, extent: Atom | None, tests: tuple[Test, ...]
    ) -> None:
        self.scope = scope
        self.atom = atom
        self.extent = extent
        self.tests = tests
        self.holds = tests[0].holds
        for test in tests[1:]:
            self.holds = scope.apply("and", self.holds, test.holds)

    def of(self, act: Act) -> Any:
        """What the access gives, 0 where it is not made."""
        made = writing()
        if isinstance(made, KernelTrace) and level_of(self.scope.builder) is not GRID:
            return self._in_kernel(made, act)
        restore = self.scope.snapshot()
        is_row = _is_row(act(numbers([self._first()])[0]))
        restore()
        if is_row:
            return self._row(act)
        for test in self.tests:
            made.must(self.scope, test.holds, test.site, test.values)
        stays = isinstance(made, KernelTrace)  # the host ends there
        return act(numbers([self.atom if stays else self._first()])[0])

    def _in_kernel(self, made: KernelTrace, act: Act) -> Any:
        restore = self.scope.snapshot()
        then = made.scope_of(self.scope.builder.inner(optional=True))
        if isinstance(self.atom, Var) and self.extent is not None:
            then.builder.assume_below(self.atom, self.extent)
        with entered(then):
            value = act(numbers([self.atom])[0])
            is_row = _is_row(value)
            leaves, tree = ([], None) if value is None or is_row else leaves_of(value)
            atoms = [cast(leaf, leaf.element).atom for leaf in leaves]
        then.closed = True
        if is_row:
            restore()
            return self._row(act)
        if made.endless:
            made.failed_at(self.scope, self.scope.apply("not", self.holds))
        other = self.scope.builder.inner(optional=True)
        self._report(made, other, self.tests)
        zeros = [constant(0, atom.type) for atom in atoms if isinstance(atom.type, DType)]
        ways = then.builder.close([], atoms), other.close([], zeros)
        found = self.scope.emit(If(self.holds, *ways))
        return None if tree is None else unflatten(tree, numbers(found))

    def _report(self, made: KernelTrace, b: Builder, tests: tuple[Test, ...]) -> None:
        """The first of the tests that fails."""
        first, rest = tests[0], tests[1:]
        if not rest:
            b.emit(Report(CHECK_ERROR, made.sites.add(first.site), unit_of(b), *first.values))
            return
        with b.branches(first.holds) as (holds, fails):
            self._report(made, holds, rest)
            self._report(made, fails, (first,))

    def _row(self, act: Act) -> Any:
        """A row that is there where the tests hold."""
        row = act(numbers([self._first()])[0])
        if hasattr(row, "there"):
            return row.there(self.tests)
        for test in self.tests:
            writing().must(self.scope, test.holds, test.site, test.values)
        return row

    def _first(self) -> Atom:
        """The index, or 0 where it is outside: known to be below the extent from now on."""
        found = self.scope.apply("select", self.holds, self.atom, index(0))
        bounds = self.scope.trace.bounds
        if isinstance(found, Var) and self.extent is not None and found not in bounds:
            bounds[found] = self.extent
        return found


def _is_row(value: Any) -> bool:
    """Whether an element is an array, or holds one."""
    return any(type(leaf).__name__ in ("Pull", "Push") for leaf in flatten(value)[0])


# -- loops that a failure ends --------------------------------------------------------------------


@contextmanager
def until_it_fails() -> Iterator[None]:
    """Code of a loop that goes on until a condition is false: a check in it that fails ends it."""
    made = writing()
    if not isinstance(made, KernelTrace):
        yield
        return
    made.endless += 1
    try:
        yield
    finally:
        made.endless -= 1


def is_endless() -> bool:
    """Whether the code being written is that of such a loop."""
    made = writing()
    return isinstance(made, KernelTrace) and made.endless > 0


def failed_in(scope: Scope) -> Atom | None:
    """Where a check in the code of a scope has failed, which ends here; None for nowhere."""
    made = writing()
    return made.failed_in(scope) if isinstance(made, KernelTrace) else None


def failed_at(failed: Atom) -> None:
    """A check in the code being written has failed where this holds."""
    made = writing()
    if isinstance(made, KernelTrace):
        made.failed_at(here(), failed)


def need_function(*fns: Any, who: str) -> None:
    """Expect what a user gives as functions to be some."""
    for fn in fns:
        if not callable(fn):
            raise ArgumentError.here(
                f"{who} needs a function, got {kind_of(fn)}.",
                f"help(fk.{who}) shows how it is called.",
            )


# -- lengths --------------------------------------------------------------------------------------


def need(low: Any, high: Any, message: str, remedy: str, *shown: Any) -> Atom | None:
    """Expect low <= high; `message` names up to two numbers, {0} and {1}. In a kernel it gives the
    condition under which later code may rely on it.

    Raises ShapeError, when the kernel is written or when it runs.
    """
    if isinstance(low, int) and isinstance(high, int) and low <= high:
        return None
    less, more = place(low, "a length"), place(high, "a length")
    if isinstance(less, Const) and isinstance(more, Const):
        if less.value > more.value:
            known = [n if isinstance(n, int) else "n" for n in shown]
            raise ShapeError.here(message.format(*known), remedy)
        return None
    made, scope = writing(), here()
    if is_thrown_away(scope) or is_at_least(Known(scope), more, less):
        return None
    holds = scope.apply("le", less, more)
    values = [place(value, "a length") for value in shown]
    site = Site(KERNEL_SHAPE, scope.trace.where, check_message(message, [], remedy), len(values))
    values += [index(0)] * (2 - len(values))
    return holds if made.must(scope, holds, site, (values[0], values[1])) else None


def need_length(n: Any, who: str) -> None:
    """Expect a length that a user gives to be a whole number from 0 on."""
    need(0, n, f"{who} needs a length from 0 on, got {{0}}.", WHOLE, n)
    atom = place(n, "a length")
    if isinstance(atom, Var) and level_of(here().builder) is GRID:
        here().natural.add(atom)


WHOLE = "Give a whole number from 0 on, or the length of another array."


def need_space(count: Any, who: str) -> tuple[Extent, Callable[[Any], tuple[Any, ...]]]:
    """How many units there are below a length, or below each of a tuple of lengths; and the
    indices of unit u of them, the last of which changes from one unit to the next."""
    shape = count if isinstance(count, tuple) else (count,)
    if not shape:
        raise ShapeError.here(f"{who} of no lengths.", "Give one, or a tuple such as (8, 32).")
    for n in shape:
        need_length(n, who)
    total = shape[0]
    for n in shape[1:]:
        total = total * n

    def indices(u: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        for n in reversed(shape[1:]):
            found.insert(0, u % n)
            u = u // n
        found.insert(0, u)
        return tuple([index_of(i, n) for i, n in zip(found, shape, strict=True)])

    return total, indices
